import type { Endpoint } from './endpoint.ts';
import { type Fields, fieldsOf, isObject } from './json-value.ts';
import { type ReadStatus, taskIdPattern } from './task-state.ts';

export const taskIdOf = (value: unknown): string | undefined =>
  typeof value === 'string' && taskIdPattern.test(value) ? value : undefined;

/** What the reply to a create says of its task; undefined where the ID is not usable. */
export function createdTask({ id, status, error, message }: Fields): CreateReply | undefined {
  const usable = taskIdOf(id);
  if (usable === undefined) return undefined;
  const word = typeof status === 'string' ? status : undefined;
  return { id: usable, status: word, error: readTaskError(error ?? message) };
}

/** One file that a finished task offers. */
export interface TaskOutput {
  /** What the gateway calls it; absent where it gives no ID. */
  readonly id?: string | undefined;
  /** `video` for the main file; any other word becomes part of the saved name (`last-frame`). */
  readonly role: string;
  /** `any` where the record does not say: whatever medium its bytes are. */
  readonly type: 'video' | 'image' | 'audio' | 'any';
  /** A signed address that dies; a credential in its own right. */
  readonly url: string;
}

/** What gw understands of a task record, whichever family it came from. */
export interface TaskView extends ReadStatus {
  readonly id: string;
  /** 0-100 where the gateway gives a figure. */
  readonly progressPercent?: number | undefined;
  readonly outputs: readonly TaskOutput[];
  /** What came with the reply itself, by its roles, and comes only once. */
  readonly cameAlong?: readonly string[] | undefined;
  /** True where what was made is no file (an element of family B): nothing is missing, and nothing is saved. */
  readonly hasNoFiles?: boolean | undefined;
  readonly error?: { readonly code?: string | undefined; readonly message?: string | undefined } | undefined;
  /** What it came to, as far as the record says; for lists and sums. */
  readonly usage?: TaskUsage | undefined;
  readonly made?: MadeFacts | undefined;
}

/** What the gateway chose where the request left it open, in the record's own words. */
export type MadeFacts = Readonly<
  Partial<Record<'seed' | 'duration' | 'resolution' | 'revisedPrompt', unknown>>
>;

/** What a finished job made and cost, where its record says so. */
export interface TaskUsage {
  /** Seconds of video made. */
  readonly outputS?: number | undefined;
  readonly tokens?: number | undefined;
  /** What was deducted, item by item; a family that reports no charges has none. */
  readonly charges?: readonly Charge[] | undefined;
  /** How many items of the bill say no amount or no currency. */
  readonly unreadCharges?: number | undefined;
}

export interface Charge {
  /** Negative where it was given back. */
  readonly amount: number;
  /** `CNY`, `USD`, or the package that points were taken from: `video points`. */
  readonly unit: string;
  /** Test credit costs nothing. */
  readonly isTest?: boolean | undefined;
}

/** Whether the unit of a charge is a currency. */
export const isMoney = (unit: string): boolean => !/(^| )points$/.test(unit);

export interface CreateReply extends Pick<TaskView, 'error'> {
  readonly id: string;
  readonly status?: string | undefined;
}

/** A task or an asset that was created this recently may not be known everywhere yet (promises, section 2). */
export const YOUNG_MS = 60_000;

/**
 * What the ledger's jobs have in common, whichever way they are made: how long they live and how to read their last
 * record. `jobs/` works on this and knows no family by name.
 */
export interface Family {
  readonly name: 'alpha' | 'beta' | 'gamma' | 'image';
  /** How long the gateway keeps a record, from its creation, in milliseconds; absent where that is not documented. */
  readonly recordLifeMs?: number | undefined;
  /** How long an output link lives, from the first sight of it, in milliseconds. */
  readonly linkLifeMs: number;
  /** The document calls the links temporary, and `linkLifeMs` is what gw takes that for. */
  readonly linkLifeIsAssumed?: true;
  /** How often an output may be fetched, where documented. */
  readonly maxDownloads?: number | undefined;
  /** What the service takes where a create leaves it out, by the endpoint's name, where documented. */
  readonly implied?: Readonly<Record<string, Readonly<Record<string, string | number>>>>;
  /** Reads one task's record as it came. Throws where the record is not one. */
  readTask(record: unknown, taskId: string): TaskView;
  /** Undefined where the reply of the create endpoint names no usable task. */
  readCreateReply?(reply: unknown): CreateReply | undefined;
}

/** A family of asynchronous generation: its endpoints and pace beside what every family has. */
export interface TaskFamily extends Family {
  readonly name: 'alpha' | 'beta' | 'gamma';
  readonly query: TaskQuery;
  /** Documented pace of looking at a task, in milliseconds. */
  readonly pollIntervalMs: { readonly min: number; readonly max: number };
  readCreateReply(reply: unknown): CreateReply | undefined;
  /** How a create whose reply was lost can be found again; absent where the gateway offers no way. */
  readonly externalIds?: ExternalIds | undefined;
}

export interface TaskQuery {
  readonly endpoint: Endpoint;
  /** How many tasks one request asks for. */
  readonly maxIds: number;
  /** What fills the endpoint's row for these IDs. */
  input(ids: readonly string[]): {
    readonly params?: Readonly<Record<string, string>>;
    readonly query?: Readonly<Record<string, string>>;
  };
  /** Each task's record as it came, by ID; a task that the reply does not name is not in it. */
  records(reply: unknown, ids: readonly string[]): ReadonlyMap<string, unknown>;
}

/** A caller's own ID on a create, unique in the account, by which a lost create is found. */
export interface ExternalIds {
  /** The external ID that a create body carries; undefined where it carries none. */
  idOf(body: unknown): string | undefined;
  withId(body: Readonly<Record<string, unknown>>, externalId: string): Record<string, unknown>;
  readonly endpoint: Endpoint;
  /** What fills the endpoint's row for these external IDs; a look-up of a lost create asks for one. */
  input(externalIds: readonly string[]): { readonly query: Readonly<Record<string, string>> };
  /**
   * The task that a complete reply of `endpoint` names. Undefined means that there certainly is none: `code` 0 and an
   * empty list. Throws for a reply that says neither.
   */
  find(reply: unknown, externalId: string): { readonly id: string; readonly record: unknown } | undefined;
  /**
   * The records of a reply to several, by external ID. `hasUnnamed` where one does not say whose it is: what is missing may
   * be that one, and is asked for alone. Throws where the reply holds no list.
   */
  findMany(reply: unknown): {
    readonly records: ReadonlyMap<string, { readonly id: string; readonly record: unknown }>;
    readonly hasUnnamed: boolean;
  };
  /** When the gateway took a task, by its own clock, Unix milliseconds; undefined where the record does not say. */
  createdAtMs(record: unknown): number | undefined;
  /** How long after a create a look-up that finds nothing still tells that nothing was made, in milliseconds. */
  readonly provesForMs: number;
  /** Whether a refusal of the create says that its external ID is taken. */
  isDuplicate(refusal: {
    readonly code?: string | undefined;
    readonly message?: string | undefined;
  }): boolean;
}

/** An `error` field in any shape it may take: object, string, array, number or null. */
export function readTaskError(error: unknown): TaskView['error'] {
  if (error === null || error === undefined) return undefined;
  if (typeof error === 'string') return { message: error };
  const said: unknown = Array.isArray(error) ? error[0] : error;
  if (!isObject(said)) return { message: JSON.stringify(error) };
  const text = (value: unknown): string | undefined =>
    typeof value === 'string' ? value : JSON.stringify(value ?? undefined);
  return { code: text(said.code), message: text(said.message) };
}

/** A figure of a record; undefined for what is none, and for one that no sum can hold. */
export const amountOf = (value: unknown): number | undefined =>
  typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER ? value : undefined;

/** A record, which is an object. Throws for anything else. */
export function recordOf(value: unknown): Fields {
  if (isObject(value)) return value;
  throw new Error('the record is no object');
}

/** A record that was asked for by ID. Throws an Error, whose message is fit to be told, where it says that it is another task's. */
export function ofTask(record: unknown, id: string): unknown {
  const { id: named } = fieldsOf(record);
  const own = typeof named === 'string' || typeof named === 'number' ? String(named) : id;
  if (own !== id) throw new Error(`task ${id} was asked for, and it is the record of task ${own}`);
  return record;
}
