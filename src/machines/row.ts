import type * as z from 'zod/mini';
import type { Row } from '../batch/rows.ts';
import { type ErrorKind, errorKinds, shellQuote } from '../errors.ts';
import type { carriedJob, logEntry, record } from './decode.ts';

// A row of a batch as the queue knows it: where it stands, and which step may follow (README.md has the drawing). The
// table is the one source: the script in Redis is given the states that a step may follow.

export const rowStates = [
  'waiting', // nothing was sent
  'sending', // a create may be under way, or may have been lost
  'running', // the gateway has it, and its ID is known
  'ended', // its task has succeeded and its slot is free; its output is to be saved
  'saved',
  'failed',
  'unknown', // it may exist; never sent again
  'cancelled', // taken out before it was sent
] as const;
export type RowState = (typeof rowStates)[number];

/** The states in which nothing more happens to a row by itself. */
export const isOver = (state: RowState): boolean => overStates.has(state);
const overStates: ReadonlySet<RowState> = new Set(['saved', 'failed', 'unknown', 'cancelled']);
const openStates = rowStates.filter((state) => !overStates.has(state));

interface StepRule {
  readonly from: readonly RowState[];
  /** Absent: it stays where it is. */
  readonly to?: RowState;
  /**
   * `take`: who takes a row must come after whoever had it before; `own`: only the last who took it; `free`: who follows the
   * batch, whoever has the row; `sender`: whoever announced its last sending; `new`: whoever has a row that is not there yet.
   */
  readonly by: 'take' | 'own' | 'free' | 'sender' | 'new';
}

export const steps = {
  handed_over: { by: 'new', from: [] },
  taken: { by: 'take', from: openStates },
  /** Before each sending. */
  sending: { by: 'own', from: ['waiting', 'sending'], to: 'sending' },
  /** It is certain that nothing was made. */
  nothing_made: { by: 'own', from: ['waiting', 'sending'], to: 'waiting' },
  /** Also from `waiting`: the worker's own ledger had the job already. */
  accepted: { by: 'own', from: ['waiting', 'sending'], to: 'running' },
  ended: { by: 'own', from: ['running'], to: 'ended' },
  saved: { by: 'own', from: openStates, to: 'saved' },
  failed: { by: 'own', from: openStates, to: 'failed' },
  /** Also from `waiting`: the worker's own ledger has the job, and does not know what became of it. */
  lost: { by: 'own', from: ['waiting', 'sending'], to: 'unknown' },
  /** The sending for which it was called unknown never left: the next run sends it. */
  never_sent: { by: 'sender', from: ['unknown'], to: 'cancelled' },
  handed_back: { by: 'own', from: openStates },
  cancelled: { by: 'free', from: ['waiting', 'unknown'], to: 'cancelled' },
  /** Whoever looked says that nothing was made: it waits again. */
  denied: { by: 'free', from: ['unknown', 'cancelled'], to: 'waiting' },
  /** The ID of a row that waits or is unknown was found: in a ledger, or by a worker that was given up and came back with it. */
  cleared: { by: 'free', from: ['waiting', 'unknown', 'cancelled'], to: 'running' },
  /** The same of an image, which came with its answer; also of one whose download had failed. */
  brought: { by: 'free', from: ['waiting', 'unknown', 'failed'], to: 'saved' },
  /** Created anew: it failed, or was taken out. */
  again: { by: 'free', from: ['failed', 'cancelled'], to: 'waiting' },
  /** The manifest says something else now, and nothing was made of what it said. */
  changed: { by: 'free', from: ['waiting', 'cancelled', 'failed'], to: 'waiting' },
  /** It was paid for, and its wait or its download failed. */
  resumed: { by: 'free', from: ['failed'], to: 'running' },
  /** The same of images, which are to be saved where they were made. */
  unsaved: { by: 'free', from: ['failed'], to: 'ended' },
} as const satisfies Record<string, StepRule>;
export type Step = keyof typeof steps;

export const isEnd = (step: Step): boolean => isOver((steps[step] as StepRule).to ?? 'waiting');

type Deep<T> = T extends object ? { readonly [K in keyof T]: Deep<T[K]> } : T;

/**
 * What a row asks for, as it was checked where it was handed over: with it another machine makes the row, or goes on with its
 * job. It holds what a ledger keeps, and neither key nor save plan.
 */
export type CarriedJob = Deep<z.infer<typeof carriedJob>>;

/** An error as the contract prints it, without links. */
export type ToldError = Readonly<Record<string, unknown>> & {
  readonly kind: string;
  readonly message: string;
};

/** What a row is told with whose job may exist. */
export const unknownError = (message: string, hint?: string): ToldError =>
  toldAs('unknown_outcome', message, hint);

export const tellsUnknown = (error: ToldError | undefined): boolean => error?.kind === 'unknown_outcome';

export const toldAs = (kind: ErrorKind, message: string, hint?: string): ToldError => ({
  kind,
  message,
  ...(hint !== undefined && { hint }),
  exit_code: errorKinds[kind].exitCode,
});

/** What is handed over, and what came of it. */
export interface RowRecord extends Deep<Omit<z.infer<typeof record>, 'row' | 'error'>> {
  readonly row: Row;
  readonly error?: ToldError | undefined;
  /** It does not fit what this gw knows, as `error` says; `isSent`: a create of it may have been sent; `newer`: its format. */
  readonly fault?: { readonly isSent: boolean; readonly newer?: number } | undefined;
}

/** What a step changes beside the state. */
export type Changes = Partial<Omit<RowRecord, 'state' | 'fault'>>;

/** One line of a row's log; `t` is Redis's own time, Unix milliseconds. */
export interface LogEntry extends Readonly<Omit<z.infer<typeof logEntry>, 'step'>> {
  readonly step: Step;
}

/** Fields of the hash; what is no text is JSON. A row stands there as it was written. */
export function encode({ row, ...changes }: Partial<RowRecord>): Record<string, string> {
  const written = row && { ...row, flags: row.said ? undefined : row.flags };
  const fields = Object.entries({ row: written, ...changes }).filter(([, value]) => value !== undefined);
  return Object.fromEntries(
    fields.map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]),
  );
}

/** The two things that are done with a row, each a queue of its own: its task, which holds a slot, and its output. */
const stages = ['task', 'save'] as const;
export type Stage = (typeof stages)[number];

/** How the task of a row itself ends badly, or is lost at the gateway. */
export const badEnds: ReadonlySet<string> = new Set(['task_failed', 'not_found']);

/** Whether the task of a row that is over may still take a slot of the account: for how long is for its worker to find out. */
export const mayRun = ({ state, id, error }: RowRecord): boolean =>
  state === 'unknown' || (state === 'failed' && id !== undefined && !badEnds.has(error?.kind ?? ''));

/** The attempt that comes after those that are known of a row. */
export const nextAttempt = ({ job, wanted = 1 }: RowRecord): number =>
  Math.max(job?.attempt ?? 1, wanted) + 1;

const TAKINGS = 1_000_000;

/**
 * Orders all who ever take a row: later rounds after earlier ones, saving after the task, and of one stage by how often the
 * queue gave it out. Who has a lower number than the row's may change nothing.
 */
export const fenceOf = (round: number, stage: Stage, taking: number): number =>
  (round * stages.length + stages.indexOf(stage)) * TAKINGS + taking;

export function closingHint({ family, row }: Pick<RowRecord, 'family' | 'row'>): string {
  const [what, as] =
    family === 'image' ? ['that nothing was made', 'none'] : ['what became of it', 'ID|none'];
  return `once you know ${what}, close it with: gw jobs resolve ${shellQuote(row.key)} --as ${as} --redis`;
}

/** A text without links: of an address its origin is left, so that no signature stands anywhere. */
export const withoutLinks = (text: string): string =>
  text.replace(/\bhttps?:\/\/[^\s"'<>\\]+/gi, (url) => (URL.canParse(url) ? new URL(url).origin : 'a link'));
