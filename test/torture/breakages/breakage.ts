/**
 * One point of the product made wrong, and the tests that must notice. The text is looked for in all of `src`, with
 * any white space between its words, so that an entry outlives moves of code, not changes of it.
 */
export interface Breakage {
  /** What it would do to a user. */
  readonly costs: string;
  /** Stands once in `src`. */
  readonly find: string;
  readonly replace: string;
  /** Under `test/`, without `.test.ts`; one of them must turn red. */
  readonly tests: readonly string[];
}
