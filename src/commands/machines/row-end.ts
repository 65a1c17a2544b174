import { type RowRecord, tellsUnknown } from '../../machines/row.ts';

// How a finished row has ended, and what follows from that: the one table for followers, workers and `batch cancel`.

interface End {
  /** The sum of a run in which the row counts. */
  readonly sum: 'saved' | 'open' | 'failed' | 'unknown' | 'cancelled';
  /** When a run makes the row: always, or only with a flag. */
  readonly makes?: 'always' | 'retryFailed' | 'refill';
  /** The step with which a run goes on with the paid job. */
  readonly goesOn?: 'resumed' | 'unsaved';
  /** True if the task may still hold a slot of the account; its worker finds out for how long. */
  readonly mayRun?: true;
  /** True if the same command does not go on with the row. */
  readonly isStuck?: true;
}

export const ends = {
  saved: { sum: 'saved' },
  /** Its worker lacked something, or its source is not saved: nothing was sent. */
  unsent: { sum: 'open', makes: 'always' },
  /** The task is paid, and only its wait or download failed. */
  unsaved: { sum: 'open', goesOn: 'resumed', mayRun: true },
  /** Paid images are not saved; another machine would make and pay for them again. */
  lacksImages: { sum: 'open', goesOn: 'unsaved' },
  failed: { sum: 'failed', makes: 'retryFailed' },
  unknown: { sum: 'unknown', mayRun: true },
  takenOut: { sum: 'cancelled', makes: 'always' },
  /** It was taken out while its outcome was unknown. */
  doubtful: { sum: 'cancelled', makes: 'refill', isStuck: true },
  /** A newer gw wrote its record. */
  newer: { sum: 'open' },
} as const satisfies Record<string, End>;

/** The errors that mean a failed task, or a task that the gateway has lost. */
export const badEnds: ReadonlySet<string> = new Set(['task_failed', 'not_found']);

/** How a row has ended; undefined if it is unfinished. */
export function endOf({ state, family, id, sender, error, fault }: Ended): End | undefined {
  if (fault?.newer) return ends.newer;
  if (state === 'saved') return ends.saved;
  if (state === 'cancelled') return tellsUnknown(error) ? ends.doubtful : ends.takenOut;
  if (state === 'unknown' || fault?.isSent) return ends.unknown;
  if (state !== 'failed') return undefined;
  if (tellsUnknown(error)) return ends.unknown;
  if (fault) return ends.failed;
  const kind = error?.kind ?? '';
  if (id === undefined && sender === undefined && /^(usage|partial)$/.test(kind)) return ends.unsent;
  if (family === 'image') return kind === 'download' ? ends.lacksImages : ends.failed;
  return id !== undefined && !badEnds.has(kind) ? ends.unsaved : ends.failed;
}

type Ended = Pick<RowRecord, 'state' | 'family' | 'id' | 'sender' | 'error' | 'fault'>;
