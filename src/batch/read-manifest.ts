import { createReadStream, statSync } from 'node:fs';
import * as path from 'node:path';
import { setImmediate as pause } from 'node:timers/promises';
import { oddKind } from '../disk/small-file.ts';
import { fileFault } from '../disk/typed-input.ts';
import { GwError, usage } from '../errors.ts';
import { nearest } from '../flags/nearest.ts';
import { isObject } from '../host.ts';
import { findJsonFault, JsonTokens, jsonOf } from '../json-text.ts';
import { decodeUtf8 } from '../media/decode-utf8.ts';

// Reads a manifest into its raw rows, one after the other, each with its first line. An unreadable row is a fault with a
// line, and reading continues after it if the format allows that.

/** A raw row: its fields, or a fault. */
export interface WrittenRow {
  /** The row's first line, counted from 1. */
  readonly line: number;
  /** True if the line may contain several rows, so that it does not identify this one. */
  readonly sharesLine?: boolean;
  readonly fields?: Readonly<Record<string, unknown>>;
  /** True if the values are cells of a spreadsheet. */
  readonly isCells?: boolean;
  /** A sentence without file and line. */
  readonly fault?: string;
}

/** The longest row: media belong into files, and no body that the gateway accepts is longer. */
export const MAX_ROW_BYTES = 8 * 1024 * 1024;

type Reader = (file: string) => AsyncGenerator<WrittenRow> | Promise<AsyncGenerator<WrittenRow>>;

// The libraries are loaded only when they are needed.
const readSheet: Reader = async (file) => (await import('./read-csv.ts')).readCsv(file);
const readYaml: Reader = async (file) => (await import('./read-yaml.ts')).readYaml(file);

const readers: Readonly<Record<string, Reader>> = {
  '.jsonl': readJsonLines,
  '.ndjson': readJsonLines,
  '.json': readJsonArray,
  '.csv': readSheet,
  '.tsv': readSheet,
  '.yaml': readYaml,
  '.yml': readYaml,
};

/** A manifest on disk, which is read twice and must not change in between. */
export interface Manifest {
  /** The name as typed, for messages. */
  readonly named: string;
  readonly file: string;
  /** Streams the rows, so that memory does not grow with the file (except YAML). Throws `usage` if it changed. */
  rows(): AsyncGenerator<WrittenRow>;
}

/**
 * Opens a manifest in the format of its file ending. Throws `usage` for an unknown ending, and for a file that is
 * missing, a directory or unreadable.
 */
export function openManifest(named: string, cwd: string): Manifest {
  const file = path.resolve(cwd, named);
  const ending = path.extname(named).toLowerCase();
  const read = readers[ending];
  if (read === undefined) {
    const [near] = nearest(ending, Object.keys(readers));
    const kinds = 'write it as .jsonl, .json, .csv, .tsv or .yaml, or give JSONL on stdin with -';
    const what = ending ? `no format of a manifest ends in ${ending}` : 'a manifest needs an ending';
    throw usage(`${named}: ${what}`, near ? `did you mean ${near}?` : kinds);
  }
  return manifestOf(named, file, read);
}

/** JSON Lines from another source, such as stdin, stored in a file. */
export const openJsonLines = (named: string, file: string): Manifest =>
  manifestOf(named, file, readJsonLines);

function manifestOf(named: string, file: string, read: Reader): Manifest {
  const identity = () => {
    try {
      const stats = statSync(file, { bigint: true });
      const odd = oddKind(stats);
      if (odd) throw usage(`${named}: is ${odd}, not a file`);
      return `${stats.ino} ${stats.size} ${stats.mtimeNs}`;
    } catch (error) {
      throw error instanceof GwError ? error : fileFault(error, named);
    }
  };
  const before = identity();
  return {
    named,
    file,
    async *rows() {
      const unchanged = () => {
        if (identity() === before) return;
        throw usage(`${named}: changed while it was read`, 'run the command again when it is written');
      };
      unchanged();
      let heardMs = performance.now();
      for await (const row of await read(file)) {
        // One read may contain thousands of rows, so this lets a signal arrive between them.
        if (performance.now() - heardMs > 50) {
          await pause();
          heardMs = performance.now();
        }
        unchanged();
        yield row;
      }
      unchanged();
    },
  };
}

export interface TextLine {
  readonly line: number;
  /** The line without its ending. */
  readonly text: string;
  readonly fault?: string;
}

/** The lines of a UTF-8 text without byte order mark; an overlong line has a fault in place of its text. */
export async function* linesOf(
  bytesOfFile: AsyncIterable<Buffer>,
  mostBytes: number,
): AsyncGenerator<TextLine, undefined> {
  let carried: Buffer[] = [];
  let bytes = 0;
  let line = 0;
  const take = (piece: Buffer) => {
    bytes += piece.length;
    if (bytes <= mostBytes) carried.push(piece);
    else carried = [];
  };
  const whole = (): TextLine => {
    line += 1;
    const size = bytes;
    const raw = carried.length === 1 ? (carried[0] as Buffer) : Buffer.concat(carried);
    carried = [];
    bytes = 0;
    if (size > mostBytes) return { line, text: '', fault: tooLong(size) };
    return { line, ...textOf(raw.subarray(0, raw.at(-1) === 0x0d ? -1 : undefined)) };
  };
  for await (const chunk of bytesOfFile) {
    let from = 0;
    for (let at = chunk.indexOf(0x0a); at >= 0; at = chunk.indexOf(0x0a, from)) {
      take(chunk.subarray(from, at));
      from = at + 1;
      yield whole();
    }
    if (from < chunk.length) take(chunk.subarray(from));
  }
  if (bytes > 0) yield whole();
}

/** Converts a file's bytes to UTF-8: a byte order mark shows whether they are UTF-16. */
const decoderOf = ([first, second]: Uint8Array) => {
  const isBig = first === 0xfe && second === 0xff;
  if (!isBig && (first !== 0xff || second !== 0xfe)) return (bytes: Buffer) => bytes;
  const [strict, lenient] = [true, false].map(
    (fatal) => new TextDecoder(`utf-16${isBig ? 'be' : 'le'}`, { fatal }),
  );
  return (bytes: Buffer, stream: boolean) => {
    const text = Buffer.from(lenient?.decode(bytes, { stream }) ?? '');
    try {
      strict?.decode(bytes, { stream });
      return text;
    } catch {
      // Invalid UTF-16 becomes an invalid UTF-8 byte, so that its line is refused.
      return Buffer.from(text.toString('latin1').replaceAll('\xef\xbf\xbd', '\xff'), 'latin1');
    }
  };
};

/** The bytes of a file as UTF-8; spreadsheets and PowerShell write UTF-16. */
export async function* utf8Of(file: string): AsyncGenerator<Buffer> {
  let decode: ReturnType<typeof decoderOf> | undefined;
  for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
    decode ??= decoderOf(chunk);
    yield decode(chunk, true);
  }
  if (decode) yield decode(Buffer.alloc(0), false);
}

export const tooLong = (bytes: number): string =>
  `the row has ${(bytes / 1024 / 1024).toFixed(1)} MiB, and at most ${MAX_ROW_BYTES / 1024 / 1024} MiB are read: name media as files`;

export function textOf(bytes: Uint8Array): { text: string; fault?: string } {
  try {
    return { text: decodeUtf8(bytes, 'the row') };
  } catch (error) {
    const [, fault] = (error as Error).message.split('the row: ');
    return { text: '', fault: `${fault}; save the file as UTF-8` };
  }
}

export function rowOf(line: number, value: unknown): WrittenRow {
  if (isObject(value)) return { line, fields: value };
  return { line, fault: 'a row is an object of fields, such as {"prompt": "a fox"}' };
}

/** `from` is the position of the text in its first line. */
function rowOfJson(line: number, text: string, from = 0): WrittenRow {
  const value = jsonOf(text);
  const fault = findJsonFault(text, true);
  if (fault === undefined) return value === undefined ? { line, fault: 'not JSON' } : rowOf(line, value);
  const at = fault.line > 1 ? `line ${line + fault.line - 1}, ` : '';
  const column = fault.column + (fault.line > 1 ? 0 : from);
  return { line, fault: `${value === undefined ? 'not JSON: ' : ''}${at}column ${column}: ${fault.problem}` };
}

async function* readJsonLines(file: string): AsyncGenerator<WrittenRow> {
  for await (const { line, text, fault } of linesOf(utf8Of(file), MAX_ROW_BYTES)) {
    if (fault !== undefined) yield { line, fault };
    else if (text.trim() !== '') yield rowOfJson(line, text);
  }
}

/** A list on one line may be long, because the limit for rows applies to each of its items. */
const MAX_JSON_LINE_BYTES = 256 * 1024 * 1024;

const notAList = 'not a list: a manifest in JSON begins with [';

/** The messages for a token where another one is expected. */
const misplaced = {
  list: () => notAList,
  first: (token: string) => `a row begins with {, not with ${token}`,
  item: (token: string) => `a row begins with {, not with ${token}`,
  comma: (token: string) => `a comma or ] is missing before ${token}`,
  end: () => 'more text after the end of the list',
};

/** Finds the items of the outermost list; each item is then parsed by itself. */
async function* readJsonArray(file: string): AsyncGenerator<WrittenRow> {
  let item: { row: WrittenRow; column: number; pieces: string[]; bytes: number } | undefined;
  let depth = 0;
  let expected: keyof typeof misplaced = 'list';
  let last = 1;
  const tokens = new JsonTokens();
  for await (const { line, text, fault } of linesOf(utf8Of(file), MAX_JSON_LINE_BYTES)) {
    last = line;
    if (fault !== undefined) return yield { line, fault };
    let from = 0;
    const keep = (end: number, more: string) => {
      if (item) item.bytes += end - from;
      if (item && item.bytes <= MAX_ROW_BYTES) item.pieces.push(text.slice(from, end), more);
    };
    tokens.push(text);
    while (tokens.next()) {
      const { kind, start, end } = tokens;
      const opens = kind === '{' || kind === '[';
      // An item that is no object becomes a faulty row, so that reading continues after it.
      const isValue = opens || kind === 'text' || kind === 'word';
      if (!item && isValue && (expected === 'first' || expected === 'item')) {
        const row = { line, sharesLine: text.slice(0, start).trim() !== '' };
        item = { row, column: start, pieces: [], bytes: 0 };
        from = start;
      }
      if (item) {
        if (opens) depth += 1;
        if (kind === '}' || kind === ']') depth -= 1;
        if (depth > 0 || tokens.isOpen) continue;
        keep(end, '');
        const { row, column, bytes, pieces } = item;
        const isLong = bytes > MAX_ROW_BYTES;
        const read = isLong ? { fault: tooLong(bytes) } : rowOfJson(row.line, pieces.join(''), column);
        yield { ...row, ...read };
        item = undefined;
        expected = 'comma';
      } else if (kind === '[' && expected === 'list') expected = 'first';
      else if (kind === ']' && (expected === 'first' || expected === 'comma')) expected = 'end';
      else if (kind === ',' && expected === 'comma') expected = 'item';
      else return yield { line, fault: misplaced[expected](JSON.stringify(text[start])) };
    }
    if (tokens.isOpen) {
      // The end of a line within a text is passed on as a newline.
      tokens.push('\n');
      tokens.next();
    }
    keep(text.length, '\n');
  }
  if (expected !== 'end')
    yield { line: last, fault: expected === 'list' ? notAList : 'the text ends before its ]' };
}
