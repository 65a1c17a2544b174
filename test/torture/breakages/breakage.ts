/**
 * One deliberate fault in the product, and the tests that must notice it. The text is searched in all of `src` with any
 * white space between its words, so that an entry survives when code moves, but not when code changes.
 */
export interface Breakage {
  /** The harm to a user. */
  readonly costs: string;
  /** Text that occurs exactly once in `src`. */
  readonly find: string;
  readonly replace: string;
  /** Test files, named from `test/` on and without `.test.ts`. A test in one of them must fail. */
  readonly tests: readonly string[];
}
