import { FailedSync } from '../../disk/append-line.ts';
import { diskFault, isDiskFault } from '../../disk/disk-fault.ts';
import { GwError } from '../../errors.ts';

/** The error of a session that cannot be opened: `usage`, because nothing has been sent. */
export function cannotOpen(error: unknown, file: string): unknown {
  if (!isDiskFault(error)) return error;
  const { reason, remedy } = diskFault(error);
  return new GwError('usage', `the session ${file} cannot be used: ${reason}; nothing was sent`, {
    hint: `${remedy}, or set GW_STATE_DIR to a directory that can be written.`,
  });
}

/** The error of an exchange that has been shown and could not be stored. */
export function cannotStore(error: unknown, file: string): unknown {
  const cause = error instanceof FailedSync ? error.cause : error;
  if (!isDiskFault(cause)) return error;
  const { reason, remedy } = diskFault(cause);
  return new GwError('internal', `the answer could not be added to the session ${file}: ${reason}`, {
    hint: `${remedy}; the session is as it was before this question.`,
  });
}
