/** What stdout and stderr know of each other where both are the terminal. */
export interface TerminalCursor {
  /** Whether the last thing written ended its line. */
  atLineStart: boolean;
}
