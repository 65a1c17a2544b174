import type { Endpoint } from './endpoint.ts';
import { type Fields, fieldsOf, isObject } from './json-value.ts';
import { type ReadStatus, taskIdPattern, taskState } from './task-state.ts';

export const taskIdOf = (value: unknown): string | undefined =>
  typeof value === 'string' && taskIdPattern.test(value) ? value : undefined;

/** Reads the task in a create reply; undefined if its ID is not usable. */
export function createdTask({ id, status, error, message }: Fields): CreateReply | undefined {
  const usable = taskIdOf(id);
  if (usable === undefined) return undefined;
  return { id: usable, status: taskState(status).status, error: readTaskError(error ?? message) };
}

/** One file that a finished task offers. */
export interface TaskOutput {
  /** The gateway's ID of the output; absent if it gives none. */
  readonly id?: string | undefined;
  /** `video` for the main file; any other word becomes part of the saved name (`last-frame`). */
  readonly role: string;
  /** `any` if the record does not state the type: the file's bytes decide. */
  readonly type: 'video' | 'image' | 'audio' | 'any';
  /** A signed URL that expires; whoever has it can fetch the output, so it is secret. */
  readonly url: string;
}

/** A task record of any family, as gw reads it. */
export interface TaskView extends ReadStatus {
  readonly id: string;
  /** 0-100, if the gateway states it. */
  readonly progressPercent?: number | undefined;
  readonly outputs: readonly TaskOutput[];
  /** Roles of the outputs that came inside the reply itself and cannot be fetched again. */
  readonly cameAlong?: readonly string[] | undefined;
  /** True if the result is not a file (an element of family B): nothing is missing, and nothing is saved. */
  readonly hasNoFiles?: boolean | undefined;
  readonly error?: { readonly code?: string | undefined; readonly message?: string | undefined } | undefined;
  /** Usage and charges, as far as the record states them; for lists and sums. */
  readonly usage?: TaskUsage | undefined;
  readonly made?: MadeFacts | undefined;
}

/** Values that the gateway chose because the request left them open, as the record states them. */
export type MadeFacts = Readonly<
  Partial<Record<'seed' | 'duration' | 'resolution' | 'revisedPrompt', unknown>>
>;

/** The output length and the cost of a finished job, if its record states them. */
export interface TaskUsage {
  /** Seconds of video produced. */
  readonly outputS?: number | undefined;
  readonly tokens?: number | undefined;
  /** Charges item by item; absent for a family that reports none. */
  readonly charges?: readonly Charge[] | undefined;
  /** How many billing items have no amount or no currency. */
  readonly unreadCharges?: number | undefined;
}

export interface Charge {
  /** Negative for a refund. */
  readonly amount: number;
  /** `CNY`, `USD`, or the package that points were taken from: `video points`. */
  readonly unit: string;
  /** True for test credit, which costs nothing. */
  readonly isTest?: boolean | undefined;
}

/** True if the unit of a charge is a currency. */
export const isMoney = (unit: string): boolean => !/(^| )points$/.test(unit);

export interface CreateReply extends Pick<TaskView, 'error'> {
  readonly id: string;
  readonly status?: string | undefined;
}

/** A task or asset created less than this long ago may not be known everywhere yet (promises, section 2). */
export const YOUNG_MS = 60_000;

/**
 * The facts that all jobs in the ledger need, however they are made: how long their records and links live, and how to
 * read a record. `jobs/` uses only these and knows no family by name.
 */
export interface Family {
  readonly name: 'alpha' | 'beta' | 'gamma' | 'image';
  /** How long the gateway keeps a record after its creation, in milliseconds; absent if not documented. */
  readonly recordLifeMs?: number | undefined;
  /** How long an output link lives after gw first sees it, in milliseconds. */
  readonly linkLifeMs: number;
  /** True if the document only calls the links temporary, so that `linkLifeMs` is gw's assumption. */
  readonly linkLifeIsAssumed?: true;
  /** How often an output may be fetched, if documented. */
  readonly maxDownloads?: number | undefined;
  /** The gateway's defaults by endpoint name, if documented. */
  readonly implied?: Readonly<Record<string, Readonly<Record<string, string | number>>>>;
  /** Reads a task's record as it came. Throws if it is not a record. */
  readTask(record: unknown, taskId: string): TaskView;
  /** Reads a create reply; undefined if it names no usable task. */
  readCreateReply?(reply: unknown): CreateReply | undefined;
}

/** A family of asynchronous generation: its endpoints and poll interval, besides the facts of every family. */
export interface TaskFamily extends Family {
  readonly name: 'alpha' | 'beta' | 'gamma';
  readonly query: TaskQuery;
  /** Documented poll interval in milliseconds. */
  readonly pollIntervalMs: { readonly min: number; readonly max: number };
  readCreateReply(reply: unknown): CreateReply | undefined;
  /** How to find a create whose reply was lost; absent if the gateway offers no way. */
  readonly externalIds?: ExternalIds | undefined;
}

interface TaskQuery {
  readonly endpoint: Endpoint;
  /** Maximum number of tasks in one query. */
  readonly maxIds: number;
  /** The parameters of a query for these IDs. */
  input(ids: readonly string[]): {
    readonly params?: Readonly<Record<string, string>>;
    readonly query?: Readonly<Record<string, string>>;
  };
  /** Each task's record as it came, by ID; tasks that the reply does not name are missing. */
  records(reply: unknown, ids: readonly string[]): ReadonlyMap<string, unknown>;
}

/** An ID that the caller puts on a create, unique in the account; gw finds a lost create by it. */
export interface ExternalIds {
  /** The external ID in a create body; undefined if it has none. */
  idOf(body: unknown): string | undefined;
  withId(body: Readonly<Record<string, unknown>>, externalId: string): Record<string, unknown>;
  readonly endpoint: Endpoint;
  /** The parameters of a query for these external IDs; the look-up of a lost create queries one. */
  input(externalIds: readonly string[]): { readonly query: Readonly<Record<string, string>> };
  /**
   * The task that a complete reply of `endpoint` names. Undefined means that the task certainly does not exist: `code`
   * is 0 and the list is empty. Throws for a reply that proves neither.
   */
  find(reply: unknown, externalId: string): { readonly id: string; readonly record: unknown } | undefined;
  /**
   * The records in a reply for several external IDs, by external ID. `hasUnnamed` if a record has no external ID: it
   * may be a missing one, which is then queried alone. Throws if the reply holds no list.
   */
  findMany(reply: unknown): {
    readonly records: ReadonlyMap<string, { readonly id: string; readonly record: unknown }>;
    readonly hasUnnamed: boolean;
  };
  /** When the gateway took a task, by the gateway's clock, in Unix ms; undefined if the record does not say. */
  createdAtMs(record: unknown): number | undefined;
  /** For how long after a create an empty look-up proves that no task was made, in milliseconds. */
  readonly provesForMs: number;
  /** True if a refusal of the create may mean that its external ID is taken. */
  isDuplicate(refusal: {
    readonly code?: string | undefined;
    readonly message?: string | undefined;
  }): boolean;
}

/** Reads an `error` field of any type: object, string, array, number or null. */
export function readTaskError(error: unknown): TaskView['error'] {
  if (error === null || error === undefined) return undefined;
  if (typeof error === 'string') return { message: error };
  const said: unknown = Array.isArray(error) ? error[0] : error;
  if (!isObject(said)) return { message: JSON.stringify(error) };
  const text = (value: unknown): string | undefined =>
    typeof value === 'string' ? value : JSON.stringify(value ?? undefined);
  return { code: text(said.code), message: text(said.message) };
}

/** A non-negative number of a record; undefined for any other value, or for one too large to sum exactly. */
export const amountOf = (value: unknown): number | undefined =>
  typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER ? value : undefined;

/** A record, which must be an object. Throws for any other value. */
export function recordOf(value: unknown): Fields {
  if (isObject(value)) return value;
  throw new Error('the record is no object');
}

/** Returns a record that was queried by ID. Throws an Error for the user if the record is of another task. */
export function ofTask(record: unknown, id: string): unknown {
  const { id: named } = fieldsOf(record);
  const own = typeof named === 'string' || typeof named === 'number' ? String(named) : id;
  if (own !== id) throw new Error(`task ${id} was asked for, and it is the record of task ${own}`);
  return record;
}
