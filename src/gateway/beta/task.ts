import * as z from 'zod';
import type { Endpoint } from '../endpoint.ts';
import { type ExternalIds, type TaskFamily, TaskId, taskState } from '../task.ts';
import { BETA_DEFAULT_DURATION_S, betaDefaults } from './modes.ts';
import { betaCharges, betaOutputS, betaOutputs, isElementsOnly } from './outputs.ts';
import { betaRefusal, isBetaSuccess } from './reply.ts';

// Family B as it is followed ("Family B video task", "Query by ID"): apart from the create bodies, so that a look at a
// task does not load them.

const CreatedTask = z.looseObject({ data: z.looseObject({ id: TaskId, status: z.unknown().optional() }) });

/** The create reply: a refusal, or one that names a task; anything else leaves open what became of the request. */
export const BetaCreateReply = z
  .unknown()
  .refine((reply) => betaRefusal(reply) !== undefined || CreatedTask.safeParse(reply).success, {
    error: 'the reply names no task',
  });

/** A task record; what is read of `outputs` and `billing` is looked at item by item. */
export const BetaTask = z.looseObject({
  id: z.union([z.string(), z.number()]).optional(),
  status: z.unknown().optional(),
  message: z.unknown().optional(),
  external_id: z.unknown().optional(),
  create_time: z.unknown().optional(),
  outputs: z.unknown().optional(),
  billing: z.unknown().optional(),
});

const TasksReply = z.looseObject({ data: z.array(BetaTask) });

/** The records of a reply that the schema has read; what the schema hands over has its fields in another order. */
const recordsAsTheyCame = (reply: unknown): readonly unknown[] =>
  (reply as { readonly data: readonly unknown[] }).data;

/** A refusal, or a list of records. */
const BetaTasksReply = z
  .unknown()
  .refine((reply) => betaRefusal(reply) !== undefined || TasksReply.safeParse(reply).success, {
    error: 'the reply holds no list of tasks',
  });

export const betaTasksPath = '/tasks';

/** "Query by ID": exactly one of `task_ids` and `external_task_ids`, with commas between several. */
export const betaTasks: Endpoint = {
  name: 'beta.tasks',
  method: 'GET',
  path: betaTasksPath,
  credential: 'bearer',
  resend: 'read',
  reply: BetaTasksReply,
  refusal: betaRefusal,
};

const HOUR_MS = 3_600_000;
const CENTURY_MS = Date.UTC(2000);
/** The document bounds no batch; fifty IDs keep the URL well below what servers on the way take. */
const MAX_IDS = 50;

/** What a refusal of a create may say when its external ID is taken; the codes are not documented. */
const duplicateWords = /external|duplicat|already|unique|conflict|repeat|in use|taken|(?<!not )\bexists?\b/i;

const externalIds: ExternalIds = {
  endpoint: betaTasks,
  idOf(body) {
    const id = (body as { options?: { external_task_id?: unknown } | null } | null)?.options
      ?.external_task_id;
    return typeof id === 'string' && id !== '' ? id : undefined;
  },
  withId(body, externalId) {
    const { options } = body;
    // Options that are no object can hold no ID; the rules say what is wrong with them.
    if (
      options !== undefined &&
      (typeof options !== 'object' || options === null || Array.isArray(options))
    ) {
      return { ...body };
    }
    // What was given there, null among it, is sent as it is.
    return { ...body, options: { external_task_id: externalId, ...options } };
  },
  input: (ids) => ({ query: { external_task_ids: ids.join(',') } }),
  find(reply, externalId) {
    const { data } = TasksReply.parse(reply);
    const own = data.find(({ external_id: id }) => id === externalId);
    // One ID was asked for: a single record that names none is the one.
    const [only, ...others] = data;
    const isUnnamed = others.length === 0 && (only?.external_id === undefined || only.external_id === null);
    const record = own ?? (isUnnamed ? only : undefined);
    if (record) {
      const id = TaskId.parse(record.id === undefined ? undefined : String(record.id));
      return { id, record: recordsAsTheyCame(reply)[data.indexOf(record)] };
    }
    // Only a success with an empty list proves that there is no such task.
    z.literal(true, { error: 'the reply neither names the task nor says that there is none' }).parse(
      data.length === 0 && isBetaSuccess(reply),
    );
    return undefined;
  },
  findMany(reply) {
    const { data } = TasksReply.parse(reply);
    const records = new Map<string, { id: string; record: unknown }>();
    let hasUnnamed = false;
    for (const [at, { id: raw, external_id: externalId }] of data.entries()) {
      const id = TaskId.safeParse(raw === undefined ? undefined : String(raw));
      if (!id.success || typeof externalId !== 'string') hasUnnamed = true;
      else records.set(externalId, { id: id.data, record: recordsAsTheyCame(reply)[at] });
    }
    return { records, hasUnnamed };
  },
  createdAtMs(record) {
    const created = BetaTask.safeParse(record).data?.create_time;
    // A figure that is no moment of this century in milliseconds says nothing.
    return typeof created === 'number' && created > CENTURY_MS ? created : undefined;
  },
  // A cursor query reaches back 30 days by itself; how long records are kept is not stated.
  provesForMs: 30 * 24 * HOUR_MS,
  // It leads to a look-up and no further, so a refusal that says nothing may be one.
  isDuplicate: ({ code = '', message = '' }) => message === '' || duplicateWords.test(`${code} ${message}`),
};

export const betaFamily: TaskFamily = {
  name: 'beta',
  implied: { resolution: betaDefaults.resolution, duration: BETA_DEFAULT_DURATION_S },
  query: {
    endpoint: betaTasks,
    maxIds: MAX_IDS,
    input: (ids) => ({ query: { task_ids: ids.join(',') } }),
    records(reply, ids) {
      const came = recordsAsTheyCame(reply);
      const { data } = TasksReply.parse(reply);
      const byId = new Map(data.map(({ id }, at) => [String(id), came[at]]));
      return new Map(ids.flatMap((id) => (byId.has(id) ? [[id, byId.get(id)]] : [])));
    },
  },
  // The document names no pace for family B; this one lies between those of the other two families.
  pollIntervalMs: { min: 5000, max: 20_000 },
  // How long records are kept is not stated; "output URLs are removed after 30 days".
  linkLifeMs: 30 * 24 * HOUR_MS,
  externalIds,
  readCreateReply(reply) {
    const { id, status } = CreatedTask.parse(reply).data;
    return { id, status: typeof status === 'string' ? status : undefined };
  },
  readTask(record, taskId) {
    const task = BetaTask.parse(record);
    const { state, known, word } = taskState(task.status);
    const message = typeof task.message === 'string' && task.message !== '' ? task.message : undefined;
    return {
      id: taskId,
      status: word,
      state,
      statusKnown: known,
      outputs: betaOutputs(task.outputs),
      hasNoFiles: isElementsOnly(task.outputs) || undefined,
      error: state === 'failed' ? { message } : undefined,
      usage: { outputS: betaOutputS(task.outputs), ...betaCharges(task.billing) },
    };
  },
};
