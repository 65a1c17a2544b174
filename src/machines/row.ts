import type * as z from 'zod/mini';
import type { Row } from '../batch/rows.ts';
import { type ErrorKind, errorKinds, shellQuote } from '../errors.ts';
import type { carriedJob, logEntry, record } from './decode.ts';

// The states of a row on the queue, and the steps between them (README.md has a drawing). This table is the only source:
// the script in Redis receives the states from which a step is allowed.

export const rowStates = [
  'waiting', // nothing was sent
  'sending', // a create may be under way, or may have been lost
  'running', // the gateway has accepted it, and its ID is known
  'ended', // its task has succeeded and its slot is free; its output is to be saved
  'saved',
  'failed',
  'unknown', // its job may exist; it is never sent again
  'cancelled', // it was taken out before it was sent
] as const;
export type RowState = (typeof rowStates)[number];

/** True for states that a row leaves only by a user's request. */
export const isOver = (state: RowState): boolean => overStates.has(state);
const overStates: ReadonlySet<RowState> = new Set(['saved', 'failed', 'unknown', 'cancelled']);
const openStates = rowStates.filter((state) => !overStates.has(state));

interface StepRule {
  readonly from: readonly RowState[];
  /** Absent if the state does not change. */
  readonly to?: RowState;
  /**
   * Who may do the step. `take`: a later taker than before; `own`: only the last taker; `free`: any follower of the
   * batch; `sender`: the one who announced the last sending; `new`: the one who adds a row that is not there yet.
   */
  readonly by: 'take' | 'own' | 'free' | 'sender' | 'new';
}

export const steps = {
  handed_over: { by: 'new', from: [] },
  taken: { by: 'take', from: openStates },
  /** Done before each sending. */
  sending: { by: 'own', from: ['waiting', 'sending'], to: 'sending' },
  /** It is certain that nothing was created. */
  nothing_made: { by: 'own', from: ['waiting', 'sending'], to: 'waiting' },
  /** Also from `waiting`, if the worker's own ledger already had the job. */
  accepted: { by: 'own', from: ['waiting', 'sending'], to: 'running' },
  ended: { by: 'own', from: ['running'], to: 'ended' },
  saved: { by: 'own', from: openStates, to: 'saved' },
  failed: { by: 'own', from: openStates, to: 'failed' },
  /** Also from `waiting`, if the worker's own ledger has the job with an unknown outcome. */
  lost: { by: 'own', from: ['waiting', 'sending'], to: 'unknown' },
  /** The sending that made it unknown never left the machine; the next run sends the row. */
  never_sent: { by: 'sender', from: ['unknown'], to: 'cancelled' },
  handed_back: { by: 'own', from: openStates },
  cancelled: { by: 'free', from: ['waiting', 'unknown'], to: 'cancelled' },
  /** A user has found that nothing was created, so the row waits again. */
  denied: { by: 'free', from: ['unknown', 'cancelled'], to: 'waiting' },
  /** The task ID of a waiting or unknown row was found, in a ledger or by a worker that had lost the row. */
  cleared: { by: 'free', from: ['waiting', 'unknown', 'cancelled'], to: 'running' },
  /** The same for what is saved already: an image, which came with its reply, also after a failed download. */
  brought: { by: 'free', from: ['waiting', 'unknown', 'failed', 'cancelled'], to: 'saved' },
  /** Created again after it failed or was taken out, or as the user asked for it anew. */
  again: { by: 'free', from: ['failed', 'cancelled', 'saved'], to: 'waiting' },
  /** The manifest has changed, and the row is to be created as it now stands. */
  changed: { by: 'free', from: ['waiting', 'cancelled', 'failed', 'saved'], to: 'waiting' },
  /** It was paid for, and only its wait or download failed. */
  resumed: { by: 'free', from: ['failed'], to: 'running' },
  /** The same for images, which have to be saved on the machine that received them, and for saved files that are gone. */
  unsaved: { by: 'free', from: ['failed', 'saved'], to: 'ended' },
} as const satisfies Record<string, StepRule>;
export type Step = keyof typeof steps;

export const isEnd = (step: Step): boolean => isOver((steps[step] as StepRule).to ?? 'waiting');

type Deep<T> = T extends object ? { readonly [K in keyof T]: Deep<T[K]> } : T;

/**
 * The checked request of a row, from which another machine creates the row or continues its job. It contains the fields
 * that a ledger keeps, without API key and save plan.
 */
export type CarriedJob = Deep<z.infer<typeof carriedJob>>;

/** An error in the printed form of the contract, without links. */
export type ToldError = Readonly<Record<string, unknown>> & {
  readonly kind: string;
  readonly message: string;
};

/** The error of a row whose job may exist. */
export const unknownError = (message: string, hint?: string): ToldError =>
  toldAs('unknown_outcome', message, hint);

export const tellsUnknown = (error: ToldError | undefined): boolean => error?.kind === 'unknown_outcome';

export const toldAs = (kind: ErrorKind, message: string, hint?: string): ToldError => ({
  kind,
  message,
  ...(hint !== undefined && { hint }),
  exit_code: errorKinds[kind].exitCode,
});

/** The row that was handed over, and its outcome. */
export interface RowRecord extends Deep<Omit<z.infer<typeof record>, 'row' | 'error'>> {
  readonly row: Row;
  readonly error?: ToldError | undefined;
  /** Set if this gw cannot read the record (see `error`): `isSent` if it may have been sent, `newer` its format. */
  readonly fault?: { readonly isSent: boolean; readonly newer?: number } | undefined;
}

/** The fields that a step changes beside the state. */
export type Changes = Partial<Omit<RowRecord, 'state' | 'fault'>>;

/** One line of a row's log; `t` is Redis's own time in Unix milliseconds. */
export interface LogEntry extends Readonly<Omit<z.infer<typeof logEntry>, 'step'>> {
  readonly step: Step;
}

/** Encodes the fields of the hash; values that are no text become JSON. The row is stored as it was written. */
export function encode({ row, ...changes }: Partial<RowRecord>): Record<string, string> {
  const written = row && { ...row, flags: row.said ? undefined : row.flags };
  const fields = Object.entries({ row: written, ...changes }).filter(([, value]) => value !== undefined);
  return Object.fromEntries(
    fields.map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]),
  );
}

/** The two stages of a row, each with its own queue: its task, which holds a slot, and saving its output. */
const stages = ['task', 'save'] as const;
export type Stage = (typeof stages)[number];

/** The number of the attempt after the known ones of a row. */
export const nextAttempt = ({ job, wanted = 1 }: RowRecord): number =>
  Math.max(job?.attempt ?? 1, wanted) + 1;

const TAKINGS = 1_000_000;

/**
 * Orders all takers of a row: by round, then by stage (saving after the task), then by how often the queue gave it out. A
 * taker with a lower number than the row's may change nothing.
 */
export const fenceOf = (round: number, stage: Stage, taking: number): number =>
  (round * stages.length + stages.indexOf(stage)) * TAKINGS + taking;

export function closingHint({ family, row }: Pick<RowRecord, 'family' | 'row'>): string {
  const [what, as] =
    family === 'image' ? ['that nothing was made', 'none'] : ['what became of it', 'ID|none'];
  return `once you know ${what}, close it with: gw jobs resolve ${shellQuote(row.key)} --as ${as} --redis`;
}

/** Replaces each link by its origin, so that no signature is stored. */
export const withoutLinks = (text: string): string =>
  text.replace(/\bhttps?:\/\/[^\s"'<>\\]+/gi, (url) => (URL.canParse(url) ? new URL(url).origin : 'a link'));
