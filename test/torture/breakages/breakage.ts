/**
 * One deliberate fault in the product. The text is searched in all of `src` with any white space between its words, so that an
 * entry survives when code moves, but not when code changes. `killers.json` names the test that must notice it.
 */
export interface Breakage {
  /** The harm to a user. */
  readonly costs: string;
  /** Text that occurs exactly once in `src`. */
  readonly find: string;
  /** The text in its place; when unset, the found text is left out. */
  readonly replace?: string;
}
