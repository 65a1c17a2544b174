import { afterAll, onTestFinished, TestRunner } from 'vitest';

/** Closes something when its test ends, or when all tests of the file have ended if it was opened outside a test. */
export function closing<T extends { close(): unknown }>(made: T): T {
  const close = async () => void (await made.close());
  if (TestRunner.getCurrentTest()) onTestFinished(close);
  else afterAll(close);
  return made;
}
