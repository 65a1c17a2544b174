import * as path from 'node:path';
import { crc32 } from 'node:zlib';
import { refuseNewer } from '../formats.ts';
import { isObject, quietly } from '../host.ts';
import type { LedgerLine } from './event.ts';

type Check = (value: unknown) => boolean;
type Shape = Readonly<Record<string, Check>>;
const text: Check = (value) => typeof value === 'string';
const flag: Check = (value) => typeof value === 'boolean';
const count: Check = (value) => typeof value === 'number' && Number.isFinite(value);
/** Unix milliseconds within the range of a Date: an invalid time must not break the list that shows it. */
const moment: Check = (value) => typeof value === 'number' && Math.abs(value) <= 8.64e15;
const fields: Check = isObject;
const texts: Check = (value) => Array.isArray(value) && value.every(text);
const textFields: Check = (value) => isObject(value) && texts(Object.values(value));
const maybe = (check: Check) => (value: unknown) => value === undefined || check(value);
const shaped = (shape: Shape) => (value: unknown) => matches(value, shape);
const reference = shaped({ name: text, sha256: maybe(text) });

const request = shaped({
  command: text,
  flags: fields,
  set: maybe(texts),
  body: maybe(fields),
  prompted: flag,
  files: textFields,
  outputs: maybe(textFields),
  lacks: maybe(texts),
});

/** A stored path must not depend on the working directory of a later gw, and must not contain a NUL. */
export const isPlace = (value: unknown): value is string =>
  typeof value === 'string' && path.isAbsolute(value) && !value.includes('\0');

const savePlan = shaped({ target: isPlace, force: flag, download: flag, sidecar: maybe(text) });

const common: Shape = { v: count, t: moment, job: text, event: text };

/** The shape that each event must have if its line has no checksum. */
const shapes: Readonly<Record<LedgerLine['event'], Shape>> = {
  intent: {
    family: text,
    endpoint: text,
    model: maybe(text),
    prompt: maybe(text),
    settings: fields,
    media: texts,
    references: maybe((value) => Array.isArray(value) && value.every(reference)),
    request: maybe(request),
    bodySha256: text,
    profile: text,
    keyId: maybe(text),
    gateway: text,
    externalId: maybe(text),
    once: maybe(shaped({ key: text, attempt: count, fields })),
    estimate: maybe(shaped({ amount: count, unit: text })),
    save: savePlan,
    via: maybe(text),
  },
  sent: { sending: maybe(text) },
  not_made: { sending: text },
  accepted: { id: text, status: maybe(text), reply: maybe(text) },
  refused: { kind: text, message: text, status: maybe(count) },
  unknown: { message: text, unconfirmedId: maybe(text), serverDateMs: maybe(moment) },
  absent: { serverDateMs: maybe(moment) },
  status: { status: text },
  final: {
    state: (value) => value === 'succeeded' || value === 'failed',
    status: text,
    serverDateMs: moment,
    recordText: maybe(text),
  },
  lost: { message: text },
  plan: { save: savePlan },
  get: { role: text },
  held: { role: text, forMs: moment },
  part: {
    role: text,
    path: maybe(isPlace),
    etag: maybe(text),
    totalBytes: maybe(count),
    to: maybe(isPlace),
    sha256: maybe(text),
  },
  saved: {
    role: text,
    path: text,
    bytes: count,
    sha256: text,
    type: text,
    rescued: maybe(flag),
    cut: maybe(flag),
  },
};

/**
 * Parses one line of a journal. `bad` is a torn or damaged line, to be skipped and counted. `foreign` is an event that
 * this build does not know, to be skipped. Throws GwError `usage` with the file for a line of a newer format.
 */
export function parseLine(line: string, file: string): LedgerLine | 'bad' | 'foreign' {
  const value: unknown = quietly(() => JSON.parse(line));
  const isOurs = isSumRight(line);
  if (isOurs === false || !matches(value, common)) return 'bad';
  const found = value as { v: number; event: string };
  refuseNewer('ledger', found.v, file);
  if (!Object.hasOwn(shapes, found.event)) return 'foreign';
  return isOurs || matches(value, shapes[found.event as LedgerLine['event']]) ? (value as LedgerLine) : 'bad';
}

/** Adds a checksum of the text before it, always last, so that damage shows even if the line is valid JSON. */
export function withSum(json: string): string {
  const begun = json.slice(0, -1);
  return `${begun},"sum":"${crc32(begun).toString(16).padStart(8, '0')}"}`;
}

/** True if a line's checksum is right; undefined for a line of an older gw, which has none. */
function isSumRight(line: string): boolean | undefined {
  const [, sum] = /,"sum":"([0-9a-f]{8})"\}$/.exec(line.slice(-SUM_CHARS)) ?? [];
  return sum === undefined ? undefined : crc32(line.slice(0, -SUM_CHARS)) === Number.parseInt(sum, 16);
}
const SUM_CHARS = ',"sum":"01234567"}'.length;

const head = /^\{"v":\d+,"t":[\d.e+-]+,"job":"([^"\\]*)"/;

/** The job of a line, without parsing it; undefined if gw did not write the line in its usual field order. */
export const jobOfLine = (line: string): string | undefined => head.exec(line)?.[1];

/** The probable job of a damaged line: its key is near the start. */
export const keyIn = (line: string): string | undefined =>
  jobOfLine(line) ?? /"(gw-[0-9a-z]{26})"/.exec(line.slice(0, 120))?.[1];

function matches(value: unknown, shape: Shape): boolean {
  if (!isObject(value)) return false;
  for (const name in shape) {
    if (shape[name]?.(Object.hasOwn(value, name) ? value[name] : undefined) !== true) return false;
  }
  return true;
}
