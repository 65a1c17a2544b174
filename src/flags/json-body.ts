import * as path from 'node:path';
import { usage } from '../errors.ts';
import { MB } from '../gateway/media-limits.ts';
import type { Host } from '../host.ts';
import { decodeUtf8, readInputFile, readInputStream } from '../media/read-input.ts';
import { assertExactIntegers } from './exact-integers.ts';
import { findJsonFault } from './json-syntax.ts';
import { assertSafeJson } from './safe-json.ts';

export { applySet, applySets, type BodySet, parseSet } from './body-set.ts';

const MAX_BODY_FILE_BYTES = 256 * MB;

export type JsonObject = Record<string, unknown>;

export interface JsonBodyDeps {
  readonly cwd: string;
  readonly stdin: Host['stdin'];
  readonly signal?: AbortSignal | undefined;
}

/**
 * The body that `--body FILE` starts from; `-` is stdin.
 * Throws `usage` for a file that cannot be read or is over 256 MB, text that is not UTF-8 or not JSON (with line and
 * column), JSON that is no object, nested over 64 levels, with a field name that is not taken, or with an integer that
 * would be sent as another.
 */
export async function readJsonBody(source: string, deps: JsonBodyDeps, flag = '--body'): Promise<JsonObject> {
  const value = await readJsonFile(source, deps, flag);
  return checkedObject(value, `${flag} ${source}`);
}

/** As {@link readJsonBody}, for a file whose JSON need not be an object. */
export async function readJsonFile(source: string, deps: JsonBodyDeps, flag: string): Promise<unknown> {
  const { text, value } = await readJsonAsWritten(source, deps, flag);
  assertExactIntegers(text, `${flag} ${source}`);
  return value;
}

/** As {@link readJsonFile}, with the text as it was written, in which numbers of any length are kept. */
export async function readJsonAsWritten(
  source: string,
  deps: JsonBodyDeps,
  flag: string,
): Promise<{ readonly text: string; readonly value: unknown }> {
  const named = `${flag} ${source}`;
  const options = { named, maxBytes: MAX_BODY_FILE_BYTES, signal: deps.signal };
  if (source === '') throw usage(`${flag} is empty`, 'give the name of a JSON file, or - for stdin');
  if (source === '-' && (deps.stdin.readableEnded || deps.stdin.destroyed)) {
    throw usage(`${named}: stdin has been read already`, 'only one flag of a command can take stdin');
  }
  const bytes = await (source === '-'
    ? readInputStream(deps.stdin, options)
    : readInputFile(path.resolve(deps.cwd, source), options));
  const text = decodeUtf8(bytes, named);
  const value = parseJson(text, named);
  assertSafeJson(value, named);
  return { text, value };
}

/** A JSON text that must be an object. Throws `usage` as {@link readJsonBody}. */
export function parseJsonObject(text: string, named: string): JsonObject {
  const value = checkedObject(parseJson(text, named), named);
  assertSafeJson(value, named);
  assertExactIntegers(text, named);
  return value;
}

function checkedObject(value: unknown, named: string): JsonObject {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as JsonObject;
  throw usage(`${named}: must be a JSON object, not ${kindOf(value)}`, 'a body begins with {');
}

function parseJson(text: string, named: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    const fault = findJsonFault(text);
    const place = fault ? `, line ${fault.line}, column ${fault.column}: ${fault.problem}` : '';
    throw usage(`${named}: not JSON${place}`);
  }
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return (
    { string: 'a text', number: 'a number', boolean: 'true or false' }[typeof value as 'string'] ?? 'this'
  );
}
