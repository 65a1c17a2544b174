import { randomBytes } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { MAX_NAME_BYTES } from '../../disk/disk-fault.ts';
import { usage } from '../../errors.ts';
import type { MadeFacts, TaskOutput } from '../../gateway/task.ts';
import { localDay } from '../../io/quantity-text.ts';
import type { Job } from '../../ledger/event.ts';
import {
  deviceName,
  type PatternPiece,
  type Placeholder,
  parsePattern,
  parseTarget,
  placeholdersOf,
  windowsFault,
} from '../../placeholders.ts';

/** What names are made of: facts of our own, never a header or the path of a link. */
export interface Naming {
  readonly id: string;
  readonly family: string;
  readonly model: string | undefined;
  /** When the job was made, Unix milliseconds: a later run gives the same `{date}` and `{time}`. */
  readonly atMs: number;
  readonly prompt?: string | undefined;
  /** The body's plain values, as asked for. */
  readonly settings?: Readonly<Record<string, unknown>> | undefined;
  /** What the record says instead where the request left it open. */
  readonly made?: MadeFacts | undefined;
  /** The key of `--once`, and of a batch's row. */
  readonly once?: { readonly key: string } | undefined;
}

/** What the names of a job's outputs are made of, as far as the ledger knows it. */
export const namingOf = (job: Job): Naming => ({ ...job, id: job.id ?? job.key, atMs: job.createdAtMs });

/** Where an output belongs: the extension is known only when its bytes are. */
export interface OutputPath {
  readonly dir: string;
  /** A file name for bytes of this kind; `copy` 1, 2, … is the next free name. One `isWhole` is not cut for any disk. */
  name(extension: string, copy: number, isWhole?: boolean): string;
}

const DEFAULT_NAME = '{id}.{ext}';

/** Room kept in the stem for `-1`, `-2`, … */
const COPY_BYTES = 6;
/** A value is not cut shorter than this to make room for others. */
const SHORTEST_VALUE = 8;

/** Splits a target into the pattern of its directory and that of the name. */
export function splitTarget(target: string): { dir: string; name: string } {
  const cut = target.search(path.sep === '\\' ? /[^\\/]*$/ : /[^/]*$/);
  return { dir: target.slice(0, cut), name: target.slice(cut) || DEFAULT_NAME };
}

/** A name of a stem and an end, which takes the place of the stem's own where no disk would take the whole. */
export const withEnd = (stem: string, end: string): string =>
  joinUpTo(MAX_NAME_BYTES - Buffer.byteLength(end), lettersOf(stem)) + end;

/** The target's path of one of a job's outputs; `index` counts from 1. */
export function outputPath(target: string, naming: Naming, output: TaskOutput, index: number): OutputPath {
  const split = splitTarget(target);
  const values = valuesOf(naming, index, placeholdersOf(parsePattern(target)));
  const pieces = parsePattern(split.name);
  const { stem, extension } = splitExtension(pieces);
  const isMain = output.role === output.type;
  const isPlain = isMain || placeholdersOf(pieces).has('index');
  return {
    dir: render(parsePattern(split.dir), values),
    name(ext, copy, isWhole = false) {
      // What the extension says already is not said twice.
      const suffix = isPlain || output.role === ext ? '' : `-${cleanNameValue(output.role)}`;
      const all = { ...values, ext };
      const room = MAX_STEM_BYTES - COPY_BYTES - Buffer.byteLength(suffix);
      const tail = extension.length === 0 ? '' : isMain ? render(extension, all) : `.${ext}`;
      const end = suffix + (copy === 0 ? '' : `-${copy}`);
      const fitted = fitStem(stem, all, room);
      // A typed name that is too long is refused; what gw puts into a name and behind it takes the place of its end.
      const isAsTyped = isWhole || (end === '' && placeholdersOf(pieces).size === 0);
      return isAsTyped ? fitted + tail : withEnd(fitted, end + tail);
    },
  };
}

/** Fills in the placeholders that are known before there is a task. */
export function knownBefore(naming: Omit<Naming, 'id'>): Partial<Record<Placeholder, string>> {
  const { family, model, date, prompt, key, row } = valuesOf({ ...naming, id: '' }, 1);
  const asked = Object.fromEntries(openValues.map((name) => [name, askedFor(naming, name)]));
  return { family, model, date, prompt, key, row, ...asked };
}

/** What a request may leave to the gateway. */
const openValues = ['seed', 'duration', 'resolution'] as const;
const NOT_THERE = 'none';

/** A value of the request; undefined where it is left to the gateway (`-1`, `auto`). */
function askedFor({ settings }: Pick<Naming, 'settings'>, name: keyof MadeFacts): string | undefined {
  const value = settings?.[name];
  const text = typeof value === 'string' || typeof value === 'number' ? String(value) : '';
  return text === '' || text.startsWith('-') || text === 'auto' ? undefined : cleanNameValue(text);
}

/** The values of all placeholders but the two that take V8's tables of all scripts: those only where they are used. */
function valuesOf(naming: Naming, index: number, used = new Set<string>(['prompt', 'key'])) {
  const at = new Date(naming.atMs);
  const two = (value: number) => String(value).padStart(2, '0');
  const open = (name: keyof MadeFacts) =>
    askedFor(naming, name) ?? askedFor({ settings: naming.made }, name) ?? NOT_THERE;
  return {
    id: cleanNameValue(naming.id),
    family: cleanNameValue(naming.family),
    model: cleanNameValue(naming.model ?? NOT_THERE),
    index: String(index),
    date: localDay(naming.atMs),
    time: `${two(at.getHours())}${two(at.getMinutes())}${two(at.getSeconds())}`,
    ext: '',
    prompt: (used.has('prompt') && slugOf(naming.prompt ?? '')) || NOT_THERE,
    seed: open('seed'),
    duration: open('duration'),
    resolution: open('resolution'),
    key: used.has('key') ? cleanKey(naming.once?.key ?? NOT_THERE) : NOT_THERE,
    // A batch has filled in its own.
    row: NOT_THERE,
  };
}

/** Writes a pattern out. */
export function render(
  pieces: readonly PatternPiece[],
  values: Partial<Record<Placeholder, string>>,
): string {
  return pieces
    .map((piece) => ('literal' in piece ? piece.literal : (values[piece.placeholder] ?? '')))
    .join('');
}

/** Writes a stem out, its values cut, the prompt first and then the longest, until the whole has at most `room` bytes. */
function fitStem(stem: readonly PatternPiece[], values: Record<Placeholder, string>, room: number): string {
  const used = placeholdersOf(stem);
  if (used.size === 0) return render(stem, values);
  const cut = { ...values };
  for (;;) {
    const rendered = render(stem, cut);
    const excess = Buffer.byteLength(rendered) - room;
    const canGive = (each: Placeholder) => cut[each].length > SHORTEST_VALUE;
    const longest = [...used].reduce((a, b) => (cut[a].length >= cut[b].length ? a : b));
    const shortened = used.has('prompt') && canGive('prompt') ? 'prompt' : longest;
    if (excess <= 0 || !canGive(shortened)) return guardDeviceName(rendered);
    // One at a time: a value that stands twice in a pattern shrinks the stem by more than it is cut.
    cut[shortened] = cut[shortened].replace(/.\p{M}*$/su, '');
  }
}

/** The pieces before and from the dot of the extension: `.{ext}`, or what follows the last dot that the user wrote. */
function splitExtension(pieces: readonly PatternPiece[]): Record<'stem' | 'extension', PatternPiece[]> {
  const none = { stem: [...pieces], extension: [] };
  const last = pieces.at(-1);
  const isExt = last !== undefined && 'placeholder' in last && last.placeholder === 'ext';
  const at = pieces.length - (isExt ? 2 : 1);
  const piece = pieces[at];
  if (!piece || !('literal' in piece)) return none;
  const dot = piece.literal.lastIndexOf('.');
  if (dot === -1 || (dot === 0 && at === 0)) return none;
  if (isExt && dot !== piece.literal.length - 1) return none;
  const head = piece.literal.slice(0, dot);
  return {
    stem: [...pieces.slice(0, at), ...(head === '' ? [] : [{ literal: head }])],
    extension: [{ literal: piece.literal.slice(dot) }, ...pieces.slice(at + 1)],
  };
}

/** Most bytes of a name that gw makes up, before the extension. */
const MAX_STEM_BYTES = 120;

/**
 * Reduces a value from outside (a task ID, a model) to something that is a safe piece of a file name on every
 * system: `[A-Za-z0-9._-]`, no dot or dash at its start, no dot at its end, no device name, at most 120 bytes.
 */
export function cleanNameValue(value: string, odd = /[^A-Za-z0-9._-]+/g): string {
  const letters = lettersOf(value.replace(odd, '_').replace(/^[.-]+/, ''));
  const reduced = joinUpTo(MAX_STEM_BYTES, letters).replace(/\.+$/, '');
  return reduced === '' ? 'unnamed' : guardDeviceName(reduced);
}

/** The user's own name of a job, in which letters of any script stay. */
export const cleanKey = (key: string): string =>
  cleanNameValue(key.normalize('NFC').replaceAll('/', '-'), /[^\p{L}\p{N}\p{M}._-]+/gu);

const lettersOf = (text: string): readonly string[] | null =>
  /^[\0-\x7f]*$/.test(text) ? text.split('') : text.match(/.\p{M}*/gsu);

function joinUpTo(maxBytes: number, pieces: readonly string[] | null, start = ''): string {
  let joined = start;
  for (const piece of pieces ?? []) {
    if (Buffer.byteLength(joined + piece) > maxBytes) break;
    joined += piece;
  }
  return joined;
}

const MAX_SLUG_BYTES = 48;

/**
 * A prompt's first words as a piece of a file name: letters with their marks and digits, of any script (NFC), joined by `-`, whole
 * words as far as they fit; empty where there are none.
 */
export function slugOf(prompt: string): string {
  // Far more than can be used, so that a prompt of megabytes costs nothing.
  const beginning = prompt.slice(0, 4096).normalize('NFC').toLowerCase();
  const [first = '', ...more] = beginning.match(/[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu) ?? [];
  // A script without blanks is one long word.
  const start = joinUpTo(MAX_SLUG_BYTES, first.match(/[\p{L}\p{N}]\p{M}*/gu));
  const words = more.map((word) => `-${word}`);
  return guardDeviceName(joinUpTo(MAX_SLUG_BYTES, words, start));
}

/** Puts an underscore before a name that is a device on Windows (`con`, `nul.mp4`). */
const guardDeviceName = (name: string): string => (deviceName.test(name) ? `_${name}` : name);

/** A path that is to be taken as written, as a pattern. */
export const escapePattern = (path: string): string => path.replaceAll('{', '{{').replaceAll('}', '}}');

/** A hidden name that nobody can foresee, for a file that is not finished. */
export const newPartName = (): string => `.gw-${randomBytes(16).toString('hex')}.part`;

/** What the file beside an output is called until it has its name, by the output's part, so that a later run finds it. */
export const besidePart = (part: string): string => part.replace(/\.part$/, '.json.part');

/** True for names that newPartName makes: nothing else is ever resumed or removed. */
export const isPartName = (name: string): boolean => /^\.gw-[0-9a-f]{32}\.part$/.test(name);

/**
 * Turns `--out` into the target of a save plan: an absolute pattern, which ends in the separator where it is a
 * directory. Without a value: `{id}.{ext}` in the working directory. What already is a directory is one.
 * Throws `usage` as `parseTarget` does, and for what Windows forbids in names there.
 */
export function planTarget(
  out: string | undefined,
  cwd: string,
  platform: NodeJS.Platform = process.platform,
): string {
  const base = escapePattern(cwd);
  if (out === undefined) return path.join(base, DEFAULT_NAME);
  const pieces = parseTarget(out);
  const fault = platform === 'win32' ? windowsFault(out) : undefined;
  if (fault !== undefined)
    throw usage(`--out: Windows forbids ${fault}`, 'choose another name; nothing was sent');
  const absolute = path.resolve(base, out);
  const isThere = placeholdersOf(pieces).size === 0 && isDirectory(render(parsePattern(absolute), {}));
  if (!isThere && !endsInSeparator(out)) return absolute;
  return absolute.endsWith(path.sep) ? absolute : absolute + path.sep;
}

/** Whether a planned target is one file name, whatever task it is for. */
export const isFixedName = (target: string): boolean =>
  !target.endsWith(path.sep) && placeholdersOf(parsePattern(target)).size === 0;

/** The target of one job of several, in which `{index}` is the job's number; as it is where there is but one. */
export function withIndex(target: string, index: number | undefined): string {
  if (index === undefined) return target;
  const fill = (name: string) => (name === 'index' ? String(index) : `{${name}}`);
  return parsePattern(target)
    .map((piece) => ('literal' in piece ? escapePattern(piece.literal) : fill(piece.placeholder)))
    .join('');
}

const endsInSeparator = (out: string): boolean => out.endsWith('/') || out.endsWith(path.sep);

function isDirectory(file: string): boolean {
  try {
    return fs.statSync(file, { throwIfNoEntry: false })?.isDirectory() ?? false;
  } catch {
    return false; // what is wrong with the path is said by the check of the target
  }
}

const KNOWN_ENDINGS = ['mp4', 'mov', 'webm', 'png', 'jpg', 'jpeg', 'webp', 'gif', 'mp3', 'wav'];

/** What is said of a saved file whose name tells another kind than its bytes are, by the extension of those. */
export function misnamed(file: string, extension: string | undefined): string | undefined {
  const written = path.extname(file).slice(1).toLowerCase();
  const isOdd = KNOWN_ENDINGS.includes(written) && written.replace('jpeg', 'jpg') !== extension;
  return extension && isOdd ? `${file} holds ${extension.toUpperCase()}, whatever its name says` : undefined;
}
