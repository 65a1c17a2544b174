import { createHash } from 'node:crypto';
import type { Row } from '../batch/rows.ts';
import type { SavedFile } from '../ledger/event.ts';

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
   * batch, whoever has the row.
   */
  readonly by: 'take' | 'own' | 'free';
}

/** Every step of a row. */
export const steps = {
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
  handed_back: { by: 'own', from: openStates },
  cancelled: { by: 'free', from: ['waiting'], to: 'cancelled' },
  /** The ID of a row of unknown outcome was found: in a ledger, or by a worker that was given up and came back with it. */
  cleared: { by: 'free', from: ['unknown'], to: 'running' },
  /** The same of an image, which came with its answer; also of one whose download had failed. */
  brought: { by: 'free', from: ['unknown', 'failed'], to: 'saved' },
  /** Created anew: it failed, or was taken out. */
  again: { by: 'free', from: ['failed', 'cancelled'], to: 'waiting' },
  /** It was paid for, and its wait or its download failed. */
  resumed: { by: 'free', from: ['failed'], to: 'running' },
} as const satisfies Record<string, StepRule>;
export type Step = keyof typeof steps;

/** What of a job another machine needs to go on with it: its intent without key, link and save plan. */
export interface CarriedJob {
  readonly endpoint: string;
  readonly model: string | undefined;
  readonly prompt?: string | undefined;
  readonly settings: Readonly<Record<string, unknown>>;
  readonly media: readonly string[];
  readonly attempt: number;
  readonly fields: Readonly<Record<string, string>>;
  readonly externalId?: string | undefined;
}

/** An error as the contract prints it, without links. */
export type ToldError = Readonly<Record<string, unknown>> & {
  readonly kind: string;
  readonly message: string;
};

/** What is handed over, and what came of it. */
export interface RowRecord {
  readonly state: RowState;
  /** Counts how often it was put on the queue: 0 at first. */
  readonly round: number;
  readonly row: Row;
  /** Rows of the manifest, for the width of {row}. */
  readonly rows: number;
  /** The manifest as it was typed. */
  readonly named: string;
  /** A new job is wanted where the last one ended badly. */
  readonly again: boolean;
  /** Which attempt that is: a job of an earlier one is not what is wanted. An older gw does not write it down. */
  readonly wanted?: number | undefined;
  readonly family: string;
  readonly pool: string;
  readonly id?: string | undefined;
  readonly job?: CarriedJob | undefined;
  readonly status?: string | undefined;
  /** Where it is worked on, or was last. */
  readonly host?: string | undefined;
  /** Who sent it last. */
  readonly sender?: string | undefined;
  readonly files: readonly Pick<SavedFile, 'path' | 'bytes' | 'sha256' | 'type'>[];
  readonly error?: ToldError | undefined;
}

/** What a step changes beside the state. */
export type Changes = Partial<
  Pick<
    RowRecord,
    'id' | 'job' | 'status' | 'files' | 'error' | 'again' | 'wanted' | 'round' | 'host' | 'sender'
  >
>;

/** One line of a row's log; `t` is Redis's own time, Unix milliseconds. */
export interface LogEntry {
  readonly t: number;
  readonly step: Step | 'handed_over';
  readonly host: string;
  /** Which taking it was, from 1; absent for steps of the one who follows. */
  readonly attempt?: number;
  readonly id?: string;
  readonly message?: string;
}

/** Fields of the hash; what is no text is JSON. */
export function encode(changes: Partial<RowRecord>): Record<string, string> {
  const fields = Object.entries(changes).filter(([, value]) => value !== undefined);
  return Object.fromEntries(
    fields.map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]),
  );
}

/** The record of a hash; undefined where there is none. */
export function decode(fields: Readonly<Record<string, string>>): RowRecord | undefined {
  const { state, row, family, pool, named, id, status, host, sender } = fields;
  if (state === undefined || row === undefined) return undefined;
  const json = (name: string): unknown =>
    fields[name] === undefined ? undefined : (JSON.parse(fields[name]) as unknown);
  return {
    state: state as RowState,
    round: Number(fields.round ?? 0),
    row: JSON.parse(row) as Row,
    rows: Number(fields.rows ?? 1),
    named: named ?? '',
    again: fields.again === 'true',
    wanted: json('wanted') as number | undefined,
    family: family ?? '',
    pool: pool ?? '',
    id: id || undefined,
    ...{ status, host, sender },
    job: json('job') as CarriedJob | undefined,
    files: (json('files') ?? []) as RowRecord['files'],
    error: json('error') as ToldError | undefined,
  };
}

/** The two things that are done with a row, each a queue of its own: its task, which holds a slot, and its output. */
export const stages = ['task', 'save'] as const;
export type Stage = (typeof stages)[number];

const TAKINGS = 1_000_000;

/**
 * Orders all who ever take a row: later rounds after earlier ones, saving after the task, and of one stage by how often the
 * queue gave it out. Who has a lower number than the row's may change nothing.
 */
export const fenceOf = (round: number, stage: Stage, taking: number): number =>
  (round * stages.length + stages.indexOf(stage)) * TAKINGS + taking;

/** A short name of a text, for keys in Redis. */
export const digestOf = (text: string, length = 24): string =>
  createHash('sha256').update(text).digest('hex').slice(0, length);

/** A text without links: of an address its origin is left, so that no signature stands anywhere. */
export const withoutLinks = (text: string): string =>
  text.replace(/\bhttps?:\/\/[^\s"'<>\\]+/gi, (url) => (URL.canParse(url) ? new URL(url).origin : 'a link'));
