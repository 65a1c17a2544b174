import { usage } from '../errors.ts';
import { assertExactIntegers } from './exact-integers.ts';
import type { JsonObject } from './json-body.ts';
import { assertSafeJson, assertSafeName, MAX_JSON_DEPTH } from './safe-json.ts';

/** One `--set PATH=VALUE`, parsed. */
export interface BodySet {
  /** At least one field name or array index. */
  readonly path: readonly string[];
  readonly value: unknown;
  /** `--set content.0.text`, for messages. */
  readonly named: string;
}

/**
 * Reads `a.b.0.c=VALUE` (the contract, small print): dots between fields, numbers for array items, `\.` for a dot in a
 * name (and `\\` for a backslash before one); the value is JSON, else text; nothing after `=` is an empty text.
 * Throws `usage` for a missing `=`, an empty field name, a forbidden one, or more than 64 levels.
 */
export function parseSet(raw: string, flag = '--set'): BodySet {
  const equals = raw.indexOf('=');
  if (equals < 0) throw usage(`${flag} ${cut(raw)}: no = in it`, `write ${flag} PATH=VALUE`);
  const named = `${flag} ${cut(raw.slice(0, equals))}`;
  const path = splitPath(raw.slice(0, equals));
  if (path.includes('')) {
    throw usage(`${named}: a field name is missing`, 'dots stand between names: settings.audio=native');
  }
  if (path.length > MAX_JSON_DEPTH) throw usage(`${named}: more than ${MAX_JSON_DEPTH} levels deep`);
  for (const name of path) assertSafeName(name, named);
  const value = parseValue(raw.slice(equals + 1), named);
  assertSafeJson(value, named, path.length);
  return { path, value, named };
}

function splitPath(text: string): string[] {
  const names = [''];
  for (const [part] of text.matchAll(/\\[.\\]|[\s\S]/g)) {
    if (part === '.') names.push('');
    else
      names.push((names.pop() ?? '') + (part.length === 2 && part.startsWith('\\') ? part.slice(1) : part));
  }
  return names;
}

function parseValue(text: string, named: string): unknown {
  if (text === '') return '';
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return text;
  }
  assertExactIntegers(text, named);
  return value;
}

/** Lays each `PATH=VALUE` over a body, in order. Throws as {@link parseSet} and {@link applySet}. */
export function applySets(body: JsonObject, raws: readonly string[]): JsonObject {
  return raws.map((raw) => parseSet(raw)).reduce(applySet, body);
}

/**
 * Lays one setting over a body and returns the new one; `body` is left as it is. Objects and lists on the way are made
 * where they are missing. Throws `usage` for a path through a text, number or null, a name where a list needs a number,
 * and an item beyond the end of a list.
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
  const place = cut(at.join('.'));
  if (!/^(?:0|[1-9]\d*)$/.test(name)) {
    throw usage(
      `${named}: ${place} is a list, and "${cut(name)}" is no number`,
      `write ${place}.0, ${place}.1, …`,
    );
  }
  if (Number(name) > list.length) {
    const items = `${list.length} ${list.length === 1 ? 'item' : 'items'}`;
    throw usage(`${named}: ${place} has ${items}`, `the next that can be set is ${place}.${list.length}`);
  }
  return name;
}

/** A copy of what a path goes through, or what the next name needs where there is nothing yet. */
function copyOf(here: unknown, next: string, at: readonly string[], named: string): JsonObject | unknown[] {
  if (here === undefined) return /^\d+$/.test(next) ? [] : {};
  if (Array.isArray(here)) return [...here];
  if (typeof here === 'object' && here !== null) return { ...here };
  throw usage(
    `${named}: ${cut(at.join('.'))} is ${here === null ? 'null' : `a ${typeof here}`}, so nothing can be set in it`,
  );
}

const MAX_SHOWN = 80;
const cut = (text: string) => (text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text);
