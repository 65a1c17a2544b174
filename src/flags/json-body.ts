import * as path from 'node:path';
import { readInputStream, readTypedFile } from '../disk/typed-input.ts';
import { usage } from '../errors.ts';
import { MB } from '../gateway/limits.ts';
import { type Host, isObject } from '../host.ts';
import { RawJson } from '../io/escape.ts';
import { counted } from '../io/quantity-text.ts';
import { JsonTokens, jsonOf } from '../json-text.ts';
import { decodeUtf8, parseTypedJson } from '../media/decode-utf8.ts';
import { shorten } from '../media/reference.ts';

const MAX_BODY_FILE_BYTES = 256 * MB;

export type JsonObject = Record<string, unknown>;

export interface JsonBodyDeps extends Pick<Host, 'cwd' | 'stdin'> {
  readonly signal?: AbortSignal | undefined;
}

/**
 * Reads the body of `--body FILE`; `-` is stdin. Throws `usage` for a file that cannot be read or is over 256 MB, text
 * that is not UTF-8 or not JSON (with line and column), and JSON that is no object, repeats a name, has a forbidden field
 * name, is nested over 64 levels, or has an integer that would change when sent.
 */
export async function readJsonBody(source: string, deps: JsonBodyDeps, flag = '--body'): Promise<JsonObject> {
  const value = await readJsonFile(source, deps, flag);
  if (isObject(value)) return value;
  throw usage(`${flag} ${source}: must be a JSON object`, 'a body begins with {');
}

/** As {@link readJsonBody}, for a file whose JSON need not be an object. */
export async function readJsonFile(source: string, deps: JsonBodyDeps, flag: string): Promise<unknown> {
  const { text, value } = await readJsonAsWritten(source, deps, flag);
  assertExactIntegers(text, `${flag} ${source}`);
  return value;
}

/** As {@link readJsonFile}, with the original text, which keeps numbers of any length. */
export async function readJsonAsWritten(
  source: string,
  deps: JsonBodyDeps,
  flag: string,
): Promise<{ readonly text: string; readonly value: unknown }> {
  const named = `${flag} ${source}`;
  const options = { named, maxBytes: MAX_BODY_FILE_BYTES, signal: deps.signal };
  if (source === '') throw usage(`${flag} is empty`, 'give the name of a JSON file, or - for stdin');
  if (source === '-' && (deps.stdin.readableEnded || deps.stdin.destroyed))
    throw usage(`${named}: stdin has been read already`, 'only one flag of a command can take stdin');
  const bytes = await (source === '-'
    ? readInputStream(deps.stdin, options)
    : readTypedFile(path.resolve(deps.cwd, source), options));
  const text = decodeUtf8(bytes, named);
  const value = parseTypedJson(text, named);
  assertSafeJson(value, named);
  return { text, value };
}

/** A parsed `--set PATH=VALUE`. */
export interface BodySet {
  /** At least one field name or array index. */
  readonly path: readonly string[];
  readonly value: unknown;
  /** `--set content.0.text`, for messages. */
  readonly named: string;
}

/**
 * Parses `a.b.0.c=VALUE` (the contract, small print): dots separate fields, numbers are list items, `\.` is a dot in a
 * name (`\\` a backslash before one). The value is JSON, else text; nothing after `=` is an empty text. Throws `usage`
 * for a missing `=`, an empty or forbidden field name, or more than 64 levels.
 */
export function parseSet(raw: string): BodySet {
  const equals = raw.indexOf('=');
  if (equals < 0) throw usage(`--set ${shorten(raw)}: no = in it`, 'write --set PATH=VALUE');
  const named = `--set ${shorten(raw.slice(0, equals))}`;
  const path = splitPath(raw.slice(0, equals));
  if (path.includes(''))
    throw usage(`${named}: a field name is missing`, 'dots stand between names: settings.audio=native');
  if (path.length > MAX_JSON_DEPTH) throw usage(`${named}: more than ${MAX_JSON_DEPTH} levels deep`);
  for (const name of path) assertSafeName(name, named);
  const text = raw.slice(equals + 1);
  const json = jsonOf(text);
  if (json !== undefined) assertExactIntegers(text, named);
  const value = json === undefined ? text : json;
  assertSafeJson(value, named, path.length);
  return { path, value, named };
}

function splitPath(text: string): string[] {
  const names = [''];
  for (const [part] of text.matchAll(/\\[.\\]|[\s\S]/g)) {
    if (part === '.') names.push('');
    else names.push((names.pop() ?? '') + part.slice(part.length - 1));
  }
  return names;
}

/** Applies each `PATH=VALUE` to a body, in order. Throws as {@link parseSet} and {@link applySet}. */
export function applySets(body: JsonObject, raws: readonly string[]): JsonObject {
  return raws.map(parseSet).reduce(applySet, body);
}

/**
 * Applies one setting and returns a new body; `body` is not changed. Missing objects and lists on the path are created.
 * Throws `usage` for a path through a text, number or null, a name where a list needs a number, and an item beyond the
 * end of a list.
 */
export function applySet(body: JsonObject, { path, value, named }: BodySet): JsonObject {
  const root: JsonObject = { ...body };
  let holder: JsonObject | unknown[] = root;
  for (const [depth, name] of path.entries()) {
    const next = path[depth + 1];
    const key = Array.isArray(holder) ? itemIndex(holder, name, path.slice(0, depth), named) : name;
    const here: unknown = Object.hasOwn(holder, key) ? (holder as JsonObject)[key] : undefined;
    if (next === undefined) {
      (holder as JsonObject)[key] = value;
      return root;
    }
    const inner = copyOf(here, next, path.slice(0, depth + 1), named);
    (holder as JsonObject)[key] = inner;
    holder = inner;
  }
  return root;
}

function itemIndex(list: readonly unknown[], name: string, at: readonly string[], named: string): string {
  const place = shorten(at.join('.'));
  if (!/^(?:0|[1-9]\d*)$/.test(name))
    throw usage(
      `${named}: ${place} is a list, and "${shorten(name)}" is no number`,
      `write ${place}.0, ${place}.1, …`,
    );
  if (Number(name) > list.length) {
    const next = `the next that can be set is ${place}.${list.length}`;
    throw usage(`${named}: ${place} has ${counted(list.length, 'item')}`, next);
  }
  return name;
}

/** Copies the value on the path, or creates the object or list that the next name needs. */
function copyOf(here: unknown, next: string, at: readonly string[], named: string): JsonObject | unknown[] {
  if (here === undefined) return /^\d+$/.test(next) ? [] : {};
  if (Array.isArray(here)) return [...here];
  if (typeof here === 'object' && here !== null && !(here instanceof RawJson)) return { ...here };
  throw usage(`${named}: ${shorten(at.join('.'))} is no object or list, so nothing can be set in it`);
}

/**
 * Refuses JSON with an integer that parsing would change: `12345678901234567890` would be sent as another number. Throws
 * `usage` for the first one.
 */
export function assertExactIntegers(text: string, named: string): void {
  // Only numbers of 16 or more digits can lose precision.
  if (!/\d{16}/.test(text)) return;
  const tokens = new JsonTokens(text);
  while (tokens.next()) {
    const part = tokens.kind === 'word' ? text.slice(tokens.start, tokens.end) : '';
    if (!/^-?\d{16,}$/.test(part) || String(Number(part)) === part) continue;
    throw usage(
      `${named}: ${shorten(part, 40)} has more digits than a JSON number keeps`,
      'write it in quotes to send it as text',
    );
  }
}

/** Deeper than any documented body, and far below the depth at which writing JSON fails. */
const MAX_JSON_DEPTH = 64;

/** Refuses a field name that could modify object prototypes. Throws `usage`. */
function assertSafeName(name: string, named: string): void {
  if (['__proto__', 'constructor', 'prototype'].includes(name))
    throw usage(`${named}: gw sends no field named ${name}`, 'no field of the gateway has that name');
}

/**
 * Refuses JSON that cannot be sent unchanged: nested over 64 levels (including `levelsAbove`), with a forbidden name, or
 * with a number too large for JSON. It does not recurse. Throws `usage`.
 */
export function assertSafeJson(value: unknown, named: string, levelsAbove = 0): void {
  const open: { readonly value: unknown; readonly depth: number }[] = [{ value, depth: levelsAbove + 1 }];
  for (let each = open.pop(); each !== undefined; each = open.pop()) {
    // `1e999` is parsed as infinity, which JSON would write as null.
    if (typeof each.value === 'number' && !Number.isFinite(each.value))
      throw usage(`${named}: a number is too large`, 'write it in quotes to send it as text');
    if (typeof each.value !== 'object' || each.value === null) continue;
    if (each.depth > MAX_JSON_DEPTH)
      throw usage(`${named}: nested more than ${MAX_JSON_DEPTH} levels deep`, 'make the body flatter');
    if (!Array.isArray(each.value)) for (const name of Object.keys(each.value)) assertSafeName(name, named);
    for (const inner of Object.values(each.value)) open.push({ value: inner, depth: each.depth + 1 });
  }
}
