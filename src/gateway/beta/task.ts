import { type Endpoint, replyThat } from '../endpoint.ts';
import { type GatewayErrorFacts, readGatewayError } from '../gateway-error.ts';
import { type Fields, fieldsOf, isObject, itemsOf } from '../json-value.ts';
import { HOUR_MS } from '../limits.ts';
import {
  amountOf,
  type Charge,
  createdTask,
  type ExternalIds,
  ofTask,
  type TaskFamily,
  type TaskOutput,
  type TaskUsage,
  taskIdOf,
} from '../task.ts';
import { taskState } from '../task-state.ts';
import { betaImplied } from './modes.ts';

// Family B as it is followed ("Family B video task", "Query by ID"): apart from the create bodies, so that a look at a
// task does not load them.

const readBetaCreate = (reply: unknown) => createdTask(fieldsOf(fieldsOf(reply).data));

/** A reply is a refusal, or one of which something holds; anything else leaves open what became of the request. */
export const refusalOr = (holds: (reply: unknown) => unknown) =>
  replyThat((reply) => betaRefusal(reply) ?? holds(reply));

/** The create reply: a refusal, or one that names a task. */
export const betaCreateReply = refusalOr(readBetaCreate);

/** Whether a value is a task record; what is read of it is looked at field by field. */
const isBetaTask = (value: unknown): value is Fields =>
  isObject(value) && (value.id === undefined || typeof value.id === 'string' || typeof value.id === 'number');

/** Whether a value is a list of task records. */
export const areBetaTasks = (value: unknown): value is readonly Fields[] =>
  Array.isArray(value) && value.every(isBetaTask);

function tasksIn(reply: unknown): readonly Fields[] {
  const { data } = fieldsOf(reply);
  if (areBetaTasks(data)) return data;
  throw new Error('the reply holds no list of tasks');
}

export const betaTasksPath = '/tasks';

/** "Query by ID": exactly one of `task_ids` and `external_task_ids`, with commas between several. */
export const betaTasks: Endpoint = {
  name: 'beta.tasks',
  method: 'GET',
  path: betaTasksPath,
  resend: 'read',
  reply: refusalOr((reply) => areBetaTasks(fieldsOf(reply).data)),
  refusal: betaRefusal,
};

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
    const data = tasksIn(reply);
    const own = data.find(({ external_id: id }) => id === externalId);
    // One ID was asked for: a single record that names none is the one.
    const [only, ...others] = data;
    const isUnnamed = others.length === 0 && (only?.external_id === undefined || only.external_id === null);
    const record = own ?? (isUnnamed ? only : undefined);
    if (record) {
      const id = taskIdOf(String(record.id));
      if (record.id === undefined || id === undefined) throw new Error('the record has no usable ID');
      return { id, record };
    }
    // Only a success with an empty list proves that there is no such task.
    if (data.length === 0 && isBetaSuccess(reply)) return undefined;
    throw new Error('the reply neither names the task nor says that there is none');
  },
  findMany(reply) {
    const records = new Map<string, { id: string; record: unknown }>();
    let hasUnnamed = false;
    for (const record of tasksIn(reply)) {
      const { id: raw, external_id: externalId } = record;
      const id = raw === undefined ? undefined : taskIdOf(String(raw));
      if (id === undefined || typeof externalId !== 'string') hasUnnamed = true;
      else records.set(externalId, { id, record });
    }
    return { records, hasUnnamed };
  },
  createdAtMs(record) {
    const created = isBetaTask(record) ? record.create_time : undefined;
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
  implied: betaImplied,
  query: {
    endpoint: betaTasks,
    maxIds: MAX_IDS,
    input: (ids) => ({ query: { task_ids: ids.join(',') } }),
    records(reply, ids) {
      const data = tasksIn(reply);
      const [id, ...others] = ids;
      if (id !== undefined && others.length === 0 && data.length === 1) ofTask(data[0], id);
      const byId = new Map(data.map((record) => [String(record.id), record]));
      return new Map(ids.flatMap((id) => (byId.has(id) ? [[id, byId.get(id)]] : [])));
    },
  },
  // The document names no pace for family B; this one lies between those of the other two families.
  pollIntervalMs: { min: 5000, max: 20_000 },
  // How long records are kept is not stated; "output URLs are removed after 30 days".
  linkLifeMs: 30 * 24 * HOUR_MS,
  externalIds,
  readCreateReply: readBetaCreate,
  readTask(task, taskId) {
    if (!isBetaTask(task)) throw new Error('the record is none of a task');
    const read = taskState(task.status);
    const message = typeof task.message === 'string' && task.message !== '' ? task.message : undefined;
    return {
      id: taskId,
      ...read,
      outputs: betaOutputs(task.outputs),
      hasNoFiles: isElementsOnly(task.outputs) || undefined,
      error: read.state === 'failed' ? { message } : undefined,
      made: { duration: betaLengths(task.outputs)[0] },
      usage: { outputS: betaOutputS(task.outputs), ...betaCharges(task.billing) },
    };
  },
};

// What a record of family B offers and what it cost ("Output items by `type`", "Billing items").

/** The objects of a list; anything else in it, or in its place, is left to the record as it came. */
const objectsOf = (value: unknown) => itemsOf(value).filter(isObject);

const isLink = (value: unknown): boolean => typeof value === 'string' && /^https?:\/\//i.test(value);

/**
 * The files of a record. The first video or image has the plain role and so the name that was asked for; further ones
 * are numbered, and what lies beside them says what it is: `watermarked`, `mp3`, `wav`, `voice`. An element has none.
 * What the document does not list is offered where it has a link, under its own word.
 */
function betaOutputs(outputs: unknown): TaskOutput[] {
  const found: TaskOutput[] = [];
  const times = new Map<string, number>();
  const numbered = (role: string, type: string): string => {
    const count = (times.get(role) ?? 0) + 1;
    times.set(role, count);
    // One file has the plain name; an image beside a video is no second one of it.
    const isPlain = count === 1 && (role !== type || !found.some((other) => other.role === other.type));
    return isPlain ? role : `${role}-${count}`;
  };
  for (const { type, ...item } of objectsOf(outputs)) {
    // Several files of one item have its ID and a word of their own.
    const offer = (role: string, type: TaskOutput['type'], value: unknown, word = '') => {
      const url = wordOf(value);
      const id = typeof item.id === 'string' || typeof item.id === 'number' ? `${item.id}${word}` : undefined;
      if (url !== undefined) found.push({ ...(id !== undefined && { id }), role, type, url });
    };
    const add = (role: string, type: TaskOutput['type'], value: unknown) => {
      if (wordOf(value) !== undefined) offer(numbered(role, type), type, value, ` ${role}`);
    };
    if (type === 'video' || type === 'image') {
      if ((wordOf(item.url) ?? wordOf(item.watermark_url)) === undefined) continue;
      const role = numbered(type, type);
      offer(role, type, item.url);
      offer(role === type ? 'watermarked' : `${role}-watermarked`, type, item.watermark_url, ' watermark');
    } else if (type === 'audio') {
      add('mp3', 'audio', item.mp3_url);
      add('wav', 'audio', item.wav_url);
    } else if (type === 'voice') {
      add('voice', 'audio', item.url);
    } else if (type !== 'element' && isLink(item.url)) {
      add(
        typeof type === 'string' && /^[a-z][a-z0-9_-]{0,31}$/.test(type) ? type : 'output',
        'any',
        item.url,
      );
    }
  }
  return found;
}

/** Whether all that was made is elements, which are used by their ID and have no file. */
function isElementsOnly(outputs: unknown): boolean {
  const items = objectsOf(outputs);
  return items.length > 0 && items.every(({ type }) => type === 'element');
}

/** A figure that may come as a text: `duration` and `amount` do. */
function figure(value: unknown): number | undefined {
  return amountOf(typeof value === 'string' && value.trim() !== '' ? Number(value) : value);
}

/** The length of each video that says it, in seconds. */
const betaLengths = (outputs: unknown): number[] =>
  objectsOf(outputs)
    .filter(({ type }) => type === 'video')
    .flatMap(({ duration }) => figure(duration) ?? []);

/** Seconds of video in all; undefined where no video says its length. */
function betaOutputS(outputs: unknown): number | undefined {
  const lengths = betaLengths(outputs);
  return lengths.length > 0 ? lengths.reduce((sum, each) => sum + each, 0) : undefined;
}

/** A figure that may be negative: a refund. */
function signedFigure(value: unknown): number | undefined {
  const isRefund = typeof value === 'string' ? value.trim().startsWith('-') : Number(value) < 0;
  if (!isRefund) return figure(value);
  const amount = figure(typeof value === 'string' ? value.trim().slice(1) : -Number(value));
  return amount === undefined ? undefined : -amount;
}

/**
 * What was deducted or given back: money by currency, points by package; and how many items say no amount or no currency.
 */
function betaCharges(billing: unknown): Pick<TaskUsage, 'charges' | 'unreadCharges'> {
  const items = itemsOf(billing);
  const charges = objectsOf(items).flatMap((item): Charge[] => {
    const amount = signedFigure(item.amount);
    if (amount === undefined) return [];
    const kind = wordOf(item.package_type);
    if (item.charge_type === 'unit')
      return [{ amount, unit: kind === undefined ? 'points' : `${kind} points` }];
    const unit = wordOf(item.currency);
    return unit === undefined
      ? []
      : [{ amount, unit, ...(item.cash_type === 'test_balance' && { isTest: true }) }];
  });
  const unread = items.length - charges.length;
  return { ...(charges.length > 0 && { charges }), ...(unread > 0 && { unreadCharges: unread }) };
}

const wordOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

// The envelope of every reply of family B: `code`, `message`, `request_id`, `data` ("Family B video task", "Errors").

function codeOf(reply: unknown): number | string | undefined {
  const { code } = fieldsOf(reply);
  return typeof code === 'number' || (typeof code === 'string' && code !== '') ? code : undefined;
}

/** Whether the reply says success: 0, and for tolerance "0". */
export const isBetaSuccess = (reply: unknown): boolean => {
  const code = codeOf(reply);
  return code === 0 || code === '0';
};

/** A 2xx reply whose `code` is other than 0 is a refusal. One without a code says neither. */
export function betaRefusal(reply: unknown): GatewayErrorFacts | undefined {
  if (codeOf(reply) === undefined || isBetaSuccess(reply)) return undefined;
  const { message, code, requestId } = readGatewayError(reply);
  return { message, code, requestId };
}

/** What is odd about a reply that is taken for a success all the same. */
export function betaReplyWarning(reply: unknown): string | undefined {
  const code = codeOf(reply);
  if (code === '0') return 'the gateway answered with the code "0", a text; it is taken for 0';
  return code === undefined ? 'the gateway answered without a code; it is taken for a success' : undefined;
}
