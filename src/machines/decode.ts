import * as z from 'zod/mini';
import { unportable } from '../batch/portable.ts';
import { type CreateFlags, faultsOf, type Row, readWritten } from '../batch/rows.ts';
import { usage } from '../errors.ts';
import { formatOf } from '../formats.ts';
import { taskIdPattern } from '../gateway/task-state.ts';
import { jsonOf } from '../json-text.ts';
import { type LogEntry, type RowRecord, rowStates, steps, toldAs } from './row.ts';

// Data from Redis is untrusted. Every row is parsed here only: by a schema, with its flags parsed like a manifest. An
// invalid row counts as failed, with the reason, and does not affect other rows.

/** A larger round would win over every later attempt to take the row. */
export const MAX_ROUND = 1_000_000;

const text = (most: number) => z.string().check(z.maxLength(most));
const whole = (least: number, most = Number.MAX_SAFE_INTEGER) => z.int().check(z.gte(least), z.lte(most));
const words = z.record(z.string(), z.string());
const sha256 = z.string().check(z.regex(/^[0-9a-f]{64}$/));
const LONGEST = 1_000_000;

const writtenRow = z.object({
  row: whole(1),
  line: whole(1),
  key: text(200),
  command: text(100),
  /** The row as written, by the flags' long names; an older gw stored parsed values under the flags' keys. */
  said: z.optional(z.record(z.string(), z.unknown())),
  flags: z.optional(z.record(z.string(), z.unknown())),
  set: z.array(text(LONGEST)),
  body: z.optional(z.record(z.string(), z.unknown())),
  pinned: z.optional(
    z.object({
      model: z.optional(text(200)),
      sidecar: z.optional(z.literal(true)),
      validate: z.optional(z.literal(false)),
    }),
  ),
});

export const carriedJob = z.object({
  /** gw's own key of the job, once there is one. */
  key: z.optional(z.string().check(z.regex(/^gw-[\w-]{1,60}$/))),
  endpoint: text(200),
  model: z.optional(text(200)),
  prompt: z.optional(text(LONGEST)),
  /** The given prompt, if `prompt` holds further texts of the body. */
  ownPrompt: z.optional(text(LONGEST)),
  settings: z.record(z.string(), z.unknown()),
  media: z.array(text(LONGEST)),
  references: z.optional(z.array(z.object({ name: text(LONGEST), sha256: z.optional(sha256) }))),
  attempt: whole(1),
  /** A digest of each field of the body, by path; a worker creates nothing that differs from it. */
  fields: words,
  /** SHA-256 of each local file, by the name in the row. */
  files: z._default(z.record(z.string(), sha256), {}),
  /** The job outputs that it uses, `job:ID#PART`, by the reference that names them. */
  outputs: z.optional(words),
  externalId: z.optional(text(200)),
});

/** Fields of the hash that are JSON; the others are texts. */
const jsonFields = ['round', 'row', 'rows', 'again', 'wanted', 'job', 'files', 'declined', 'error'];

/** The hash of a row. Further fields in it belong to the queue's script alone. */
export const record = z.object({
  state: z.enum(rowStates),
  /** How often the row was put on the queue again; 0 at first. */
  round: whole(0, MAX_ROUND),
  row: writtenRow,
  /** The number of rows in the manifest, for the width of {row}. */
  rows: whole(1),
  /** The manifest's name as typed. */
  named: text(4_096),
  /** True if a new job is wanted when the last one failed. */
  again: z.boolean(),
  /** The wanted attempt; a job of an earlier attempt does not count. An older gw does not store it. */
  wanted: z.optional(whole(1)),
  family: text(100),
  pool: text(100),
  id: z.optional(z.union([z.literal(''), z.string().check(z.regex(taskIdPattern))])),
  job: z.optional(carriedJob),
  status: z.optional(text(500)),
  /** The machine that works on it, or worked on it last. */
  host: z.optional(text(255)),
  /** The machine that sent it last. */
  sender: z.optional(text(255)),
  files: z._default(z.array(z.object({ path: text(4_096), bytes: whole(0), sha256, type: text(200) })), []),
  /** Workers that lack something which the row needs. */
  declined: z.optional(z.array(text(255))),
  error: z.optional(z.looseObject({ kind: text(100), message: text(10_000) })),
});

export interface RowReader {
  /** The create commands of rows, with their flags. */
  readonly creates: CreateFlags;
  poolsOf(command: string): { readonly family: string; readonly pools: readonly string[] };
}

/** Parses a hash; undefined if there is none. An invalid or newer record has a `fault` and counts as failed. */
export function decode(
  key: string,
  fields: Readonly<Record<string, string>>,
  reader: RowReader,
): RowRecord | undefined {
  if (Object.keys(fields).length === 0) return undefined;
  const format = fields.v ?? '1';
  if (!/^\d+$/.test(format)) return damaged(key, fields, 'v', 'is no number of a format');
  if (Number(format) > formatOf('rows'))
    return { ...damaged(key, fields, 'v', ''), fault: { isSent: true, newer: Number(format) }, error: NEWER };
  const values: Record<string, unknown> = { ...fields };
  for (const name of jsonFields) {
    const value = fields[name];
    if (value !== undefined) values[name] = jsonOf(value) ?? new Error('no JSON');
  }
  const read = record.safeParse(values);
  if (!read.success) {
    const [place = 'row', ...deeper] = (read.error.issues[0]?.path ?? []).map(String);
    return damaged(key, fields, [place, ...deeper].join('.'), 'its value is none that gw writes');
  }
  const { row: written, id, ...rest } = read.data;
  const fault = (place: string, why: string) => damaged(key, fields, place, why);
  if (written.key !== key) return fault('row.key', 'names another row');
  if (!Object.hasOwn(reader.creates, written.command))
    return fault('row.command', `${written.command.slice(0, 60)} is no create of this gw`);
  const { family, pools } = reader.poolsOf(written.command);
  if (rest.family !== family) return fault('family', `is not ${family}`);
  if (!pools.includes(rest.pool)) return fault('pool', `is none of ${family}`);
  const hasTask = rest.state === 'running' || rest.state === 'ended';
  if (hasTask && family !== 'image' && !id) return fault('id', `is not there, and the row is ${rest.state}`);
  if (rest.state === 'failed' && !rest.error) return fault('error', 'is not there, and the row is failed');
  const { said = written.flags ?? {}, pinned, flags: _older, ...own } = written;
  let row: Row;
  try {
    row = readWritten({ ...own, said, ...(pinned && { pinned }) }, reader.creates, (name) => {
      throw usage(`${name.slice(0, 60)} is no flag of gw ${written.command}`);
    });
    const [unfit] = unportable(row, reader.creates, (text) => text).faults;
    if (unfit !== undefined) return fault('row', unfit);
  } catch (error) {
    const [why = 'does not fit'] = faultsOf(error);
    return fault('row', why);
  }
  return { ...rest, row, id: id || undefined };
}

const NEWER = toldAs('usage', 'its row is of a newer gw, and stays as it is', 'upgrade gw and run it again');

function damaged(
  key: string,
  { id, sender, state }: Readonly<Record<string, string>>,
  place: string,
  why: string,
): RowRecord {
  const isSent = sender !== undefined || state === 'unknown' || (id !== undefined && id !== '');
  const task = id !== undefined && taskIdPattern.test(id) ? `; its task was ${id}` : '';
  const hint = isSent
    ? `it was sent once: say what came of it with gw jobs resolve ${key} --as ID|none --redis`
    : 'gw batch run with --redis and --retry-failed hands it over anew';
  return {
    state: 'failed',
    round: 0,
    rows: 1,
    named: '',
    again: false,
    family: '',
    pool: '',
    files: [],
    row: { row: 1, line: 1, key, command: '', flags: {}, set: [] },
    fault: { isSent },
    error: toldAs('usage', `the queue's record of ${key} cannot be used: ${place}: ${why}${task}`, hint),
  };
}

export const logEntry = z.object({
  t: z._default(z.number(), 0),
  step: z.string(),
  host: z._default(text(255), '?'),
  /** The number of times the row was taken, from 1; absent for steps of a follower. */
  attempt: z.optional(z.number()),
  id: z.optional(text(128)),
  message: z.optional(text(10_000)),
});

/** Parses a line of a row's log or an event of its batch; undefined if it is invalid. */
export function decodeEntry(line: string): LogEntry | undefined {
  const read = logEntry.safeParse(jsonOf(line));
  if (!read.success) return undefined;
  const { step } = read.data;
  return Object.hasOwn(steps, step) ? { ...read.data, step: step as LogEntry['step'] } : undefined;
}
