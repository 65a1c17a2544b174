import { afterAll, onTestFinished, TestRunner } from 'vitest';

/** Closes what a test has opened when that test has ended, and what its file has opened when all of them have. */
export function closing<T extends { close(): unknown }>(made: T): T {
  const close = async () => void (await made.close());
  if (TestRunner.getCurrentTest()) onTestFinished(close);
  else afterAll(close);
  return made;
}
