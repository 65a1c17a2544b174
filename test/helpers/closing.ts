import { onTestFinished, TestRunner } from 'vitest';

/** Closes what a test has opened when that test has ended; what is opened outside a test its file closes itself. */
export function closing<T extends { close(): unknown }>(made: T): T {
  if (TestRunner.getCurrentTest()) onTestFinished(async () => void (await made.close()));
  return made;
}
