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

// How gw follows a family B task ("Family B video task", "Query by ID"). This file is separate from the create bodies,
// so that a status query does not load the schemas.

const readBetaCreate = (reply: unknown) => createdTask(fieldsOf(fieldsOf(reply).data));

/** Accepts a refusal, or a reply for which `holds` is true; any other leaves the request's result unknown. */
export const refusalOr = (holds: (reply: unknown) => unknown) =>
  replyThat((reply) => betaRefusal(reply) ?? holds(reply));

/** The create reply: a refusal, or one that names a task. */
export const betaCreateReply = refusalOr(readBetaCreate);

/** True if a value can be a task record; its other fields are checked where they are read. */
const isBetaTask = (value: unknown): value is Fields =>
  isObject(value) && (value.id === undefined || typeof value.id === 'string' || typeof value.id === 'number');

/** Whether a value is a list of task records. */
export const areBetaTasks = (value: unknown): value is readonly Fields[] =>
  Array.isArray(value) && value.every(isBetaTask);

/** A value that the document has as text, also if it came as a number, unless JSON has lost digits of it. */
export const asText = (value: unknown): unknown => (Number.isSafeInteger(value) ? String(value) : value);

function tasksIn(reply: unknown): readonly Fields[] {
  const { data } = fieldsOf(reply);
  if (areBetaTasks(data)) return data;
  throw new Error('the reply holds no list of tasks');
}

export const betaTasksPath = '/tasks';

/** "Query by ID": exactly one of `task_ids` and `external_task_ids`; commas separate several IDs. */
export const betaTasks: Endpoint = {
  name: 'beta.tasks',
  method: 'GET',
  path: betaTasksPath,
  resend: 'read',
  reply: refusalOr((reply) => areBetaTasks(fieldsOf(reply).data)),
  refusal: betaRefusal,
};

const CENTURY_MS = Date.UTC(2000);
/** The document states no maximum; with fifty IDs the URL stays short enough for common servers and proxies. */
const MAX_IDS = 50;

/** Words in a refusal that may mean that the external ID is taken; the document lists no code for this. */
const duplicateWords = /external|duplicat|already|unique|conflict|repeat|in use|taken|(?<!not )\bexists?\b/i;

const externalIds: ExternalIds = {
  endpoint: betaTasks,
  idOf: (body) => wordOf(fieldsOf(fieldsOf(body).options).external_task_id),
  withId(body, externalId) {
    const { options } = body;
    // If `options` is not an object, no ID can be added to it; the rules report the wrong type.
    if (options !== undefined && !isObject(options)) return { ...body };
    // An external ID in the user's own options wins, even if it is null.
    return { ...body, options: { external_task_id: externalId, ...options } };
  },
  input: (ids) => ({ query: { external_task_ids: ids.join(',') } }),
  find(reply, externalId) {
    const data = tasksIn(reply);
    const own = data.find(({ external_id: id }) => id === externalId);
    // One ID was queried, so a single record without an external ID is the queried task.
    const [only, ...others] = data;
    const isUnnamed = others.length === 0 && (only?.external_id === undefined || only.external_id === null);
    const record = own ?? (isUnnamed ? only : undefined);
    if (record) {
      const id = taskIdOf(asText(record.id));
      if (id === undefined) throw new Error('the record has no usable ID');
      return { id, record };
    }
    // Only a success reply with an empty list proves that the task does not exist.
    if (data.length === 0 && isBetaSuccess(reply)) return undefined;
    throw new Error('the reply neither names the task nor says that there is none');
  },
  findMany(reply) {
    const records = new Map<string, { id: string; record: unknown }>();
    let hasUnnamed = false;
    for (const record of tasksIn(reply)) {
      const { external_id: externalId } = record;
      const id = taskIdOf(asText(record.id));
      if (id === undefined || typeof externalId !== 'string') hasUnnamed = true;
      else records.set(externalId, { id, record });
    }
    return { records, hasUnnamed };
  },
  createdAtMs(record) {
    const created = isBetaTask(record) ? record.create_time : undefined;
    // A number before the year 2000 is not a time in milliseconds and is ignored.
    return typeof created === 'number' && created > CENTURY_MS ? created : undefined;
  },
  // By default a cursor query covers 30 days. The document does not state how long records are kept.
  provesForMs: 30 * 24 * HOUR_MS,
  // The result is only a look-up, so a refusal without a message may count as a duplicate too.
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
  // The document states no poll interval for family B; this one lies between those of the other two families.
  pollIntervalMs: { min: 5000, max: 20_000 },
  // "output URLs are removed after 30 days"; the document does not state how long records are kept.
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

// The outputs and the cost in a family B record ("Output items by `type`", "Billing items").

/** The objects in a list. Other items, or a value that is no list, are skipped; the raw record still holds them. */
const objectsOf = (value: unknown) => itemsOf(value).filter(isObject);

const isLink = (value: unknown): boolean => typeof value === 'string' && /^https?:\/\//i.test(value);

/**
 * The files of a record. The first video or image gets the plain role, and so the file name that the user chose; later
 * ones are numbered. Files beside them have their own role: `watermarked`, `mp3`, `wav`, `voice`. An element has no
 * file. An item of an unknown type with a link gets its type as the role.
 */
function betaOutputs(outputs: unknown): TaskOutput[] {
  const found: TaskOutput[] = [];
  const times = new Map<string, number>();
  const numbered = (role: string, type: string): string => {
    const count = (times.get(role) ?? 0) + 1;
    times.set(role, count);
    // Only one file gets the plain role; an image beside a video has another role, so it needs no number.
    const isPlain = count === 1 && (role !== type || !found.some((other) => other.role === other.type));
    return isPlain ? role : `${role}-${count}`;
  };
  for (const { type, ...item } of objectsOf(outputs)) {
    // When one item has several files, each file's ID is the item's ID plus a word.
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

/** True if all outputs are elements, which are used by ID and have no file. */
function isElementsOnly(outputs: unknown): boolean {
  const items = objectsOf(outputs);
  return items.length > 0 && items.every(({ type }) => type === 'element');
}

/** Reads a number that may come as text, such as `duration` and `amount`. */
function figure(value: unknown): number | undefined {
  return amountOf(typeof value === 'string' && value.trim() !== '' ? Number(value) : value);
}

/** The duration of each video that states one, in seconds. */
const betaLengths = (outputs: unknown): number[] =>
  objectsOf(outputs)
    .filter(({ type }) => type === 'video')
    .flatMap(({ duration }) => figure(duration) ?? []);

/** Total seconds of video; undefined if no video states its duration. */
function betaOutputS(outputs: unknown): number | undefined {
  const lengths = betaLengths(outputs);
  return lengths.length > 0 ? lengths.reduce((sum, each) => sum + each, 0) : undefined;
}

/** Reads a number that may be negative, as in a refund. */
function signedFigure(value: unknown): number | undefined {
  const isRefund = typeof value === 'string' ? value.trim().startsWith('-') : Number(value) < 0;
  if (!isRefund) return figure(value);
  const amount = figure(typeof value === 'string' ? value.trim().slice(1) : -Number(value));
  return amount === undefined ? undefined : -amount;
}

/** What was charged or refunded (money by currency, points by package), and how many items lack amount or currency. */
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

/** True if the reply's code is 0; gw also tolerates "0". */
export const isBetaSuccess = (reply: unknown): boolean => {
  const code = codeOf(reply);
  return code === 0 || code === '0';
};

/** The error of a 2xx reply whose `code` is not 0. A reply without a code counts neither as success nor as refusal. */
export function betaRefusal(reply: unknown): GatewayErrorFacts | undefined {
  if (codeOf(reply) === undefined || isBetaSuccess(reply)) return undefined;
  const { message, code, requestId } = readGatewayError(reply);
  return { message, code, requestId };
}

/** A warning about an unusual reply that gw still treats as a success. */
export function betaReplyWarning(reply: unknown): string | undefined {
  const code = codeOf(reply);
  if (code === '0') return 'the gateway answered with the code "0", a text; it is taken for 0';
  return code === undefined ? 'the gateway answered without a code; it is taken for a success' : undefined;
}
