import { type ErrorKind, GwError } from '../../errors.ts';

export type FindingState = 'ok' | 'warning' | 'error' | 'skipped';

/** What one check of `gw doctor` came to. */
export interface Finding {
  readonly check: string;
  readonly state: FindingState;
  readonly message: string;
  /** What to do, one sentence. */
  readonly hint?: string | undefined;
  /** Of an error: what decides the exit code. */
  readonly kind?: ErrorKind;
}

export const ok = (check: string, message: string): Finding => ({ check, state: 'ok', message });
export const skipped = (check: string, message: string): Finding => ({ check, state: 'skipped', message });
export const warning = (check: string, message: string, hint: string): Finding => ({
  check,
  state: 'warning',
  message,
  hint,
});

/** An error that a check met; `what` goes before its own message. Anything but a GwError is thrown on. */
export function failed(check: string, error: unknown, what?: string): Finding {
  if (!(error instanceof GwError)) throw error;
  const message = what === undefined ? error.message : `${what}: ${error.message}`;
  return { check, state: 'error', message, hint: error.facts.hint, kind: error.kind };
}

/** The error of a run of checks: the first in their order, as what comes later rests on what comes before. */
export function worstOf(findings: readonly Finding[]): GwError | undefined {
  const found = findings.find(({ state }) => state === 'error');
  return (
    found && new GwError(found.kind ?? 'internal', `${found.check}: ${found.message}`, { hint: found.hint })
  );
}
