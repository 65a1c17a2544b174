import { diskFault, isDiskFault } from '../disk/disk-fault.ts';
import { FailedSync } from '../disk/durable-directory.ts';
import { errorCode, GwError } from '../errors.ts';
import { NewerFormat } from '../formats.ts';
import type { LedgerEvent } from './event.ts';

const ELSEWHERE = ', or set GW_STATE_DIR to a directory that can be written';
const THEN_SYNC = ', then run: gw jobs sync';

/** Events that are written once a job has succeeded: if writing fails, saving its output fails. */
const savingEvents: ReadonlySet<LedgerEvent['event']> = new Set(['get', 'held', 'part', 'saved']);

/**
 * The error for an event that could not be written, with path and reason. Before the request leaves it is `usage`:
 * nothing was sent, and the user can fix it. Once the job has succeeded it is `download`. In between it is `internal`,
 * the closest kind in the contract, with the ID that could not be recorded.
 */
export function writeError(error: unknown, path: string, key: string, event: LedgerEvent): unknown {
  if (!isDiskFault(error)) return error;
  const { reason, remedy } = diskFault(error);
  const failed = error instanceof FailedSync ? 'made durable' : 'written';
  const what = `the ledger ${path} could not be ${failed}: ${reason}`;
  if (event.event === 'intent' || event.event === 'sent') {
    return new GwError('usage', `${what}; nothing was sent`, { hint: remedy + ELSEWHERE, noLedger: true });
  }
  if (event.event === 'accepted') {
    return new GwError('download', `${what}; the task ${event.id} exists and is not recorded: note its ID`, {
      hint: `${remedy}, then tell the ledger of it: gw jobs resolve ${key} --as ${event.id}`,
      taskId: event.id,
    });
  }
  const saving = savingEvents.has(event.event) || (event.event === 'final' && event.state === 'succeeded');
  const kind = saving ? 'download' : 'internal';
  return new GwError(kind, what, { hint: remedy + THEN_SYNC });
}

/** The error of a claim that could not be made; it names the directory that is in the lock's place, else `path`. */
export function claimError(error: unknown, path: string, kind: 'usage' | 'download'): unknown {
  if (!isDiskFault(error)) return error;
  const { reason, remedy } = diskFault(error);
  const { path: at = path } = errorCode(error) === 'EISDIR' ? (error as NodeJS.ErrnoException) : {};
  const isUnsent = kind === 'usage';
  const what = `no job can be claimed in ${at}: ${reason}${isUnsent ? '; nothing was sent' : ''}`;
  return new GwError(kind, what, { hint: remedy + (isUnsent ? ELSEWHERE : THEN_SYNC), noLedger: true });
}

/** The error of a ledger that could not be read, or of a removal that may be half done, with path and reason. */
export function readError(error: unknown, path: string, failed: 'read' | 'rewritten' = 'read'): unknown {
  if (!isDiskFault(error)) return error;
  const { reason, remedy } = diskFault(error);
  const again = 'then run this again: some of the jobs may be removed, no other is lost';
  const hint = `${remedy}, ${failed === 'read' ? 'or set GW_STATE_DIR to another directory' : again}`;
  const message = `the ledger ${path} could not be ${failed}: ${reason}`;
  return new GwError('usage', message, { hint, noLedger: true });
}

/** True if a ledger cannot be written, or not be read, after a task has run: this must not cost the task's outputs. */
export const isForgivable = (error: unknown): error is GwError =>
  error instanceof NewerFormat ||
  (error instanceof GwError && (error.kind === 'download' || error.facts.noLedger === true));

/** For `catch`: undefined where the ledger cannot be read. Throws every other error. */
export const noneIfUnreadable = (error: unknown): undefined => {
  if (!isForgivable(error)) throw error;
};
