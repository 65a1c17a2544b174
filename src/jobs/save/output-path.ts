import { randomBytes } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { MAX_NAME_BYTES } from '../../disk/disk-fault.ts';
import { usage } from '../../errors.ts';
import type { MadeFacts, TaskOutput } from '../../gateway/task.ts';
import { quietly } from '../../host.ts';
import { localDay } from '../../io/quantity-text.ts';
import type { Job, SavePlan } from '../../ledger/event.ts';
import {
  deviceName,
  type PatternPiece,
  type Placeholder,
  parsePattern,
  parseTarget,
  placeholdersOf,
  windowsFault,
} from '../../placeholders.ts';

/** The facts that file names are made of: gw's own, never a header or the path of a link. */
export interface Naming {
  readonly id: string;
  readonly family: string;
  readonly model: string | undefined;
  /** When the job was made, in Unix ms, so that a later run makes the same `{date}` and `{time}`. */
  readonly atMs: number;
  readonly prompt?: string | undefined;
  /** The scalar values of the body, as requested. */
  readonly settings?: Readonly<Record<string, unknown>> | undefined;
  /** The record's values for those that the request left open. */
  readonly made?: MadeFacts | undefined;
  /** The key of `--once`, or of a batch's row. */
  readonly once?: { readonly key: string } | undefined;
}

/** The facts for the names of a job's outputs, from the ledger. */
export const namingOf = (job: Job): Naming => ({ ...job, id: job.id ?? job.key, atMs: job.createdAtMs });

/** The target of an output; its extension is known only once its bytes are. */
export interface OutputPath {
  readonly dir: string;
  /** The file name for bytes of this kind; `copy` 1, 2, … is the next free name. With `isWhole` it is not shortened. */
  name(extension: string, copy: number, isWhole?: boolean): string;
}

const DEFAULT_NAME = '{id}.{ext}';

/** Bytes reserved in the stem for `-1`, `-2`, … */
const COPY_BYTES = 6;
/** A value is not shortened below this to make room for others. */
const SHORTEST_VALUE = 8;

/** Splits a target into the patterns of directory and name. */
export function splitTarget(target: string): { dir: string; name: string } {
  const cut = target.search(path.sep === '\\' ? /[^\\/]*$/ : /[^/]*$/);
  return { dir: target.slice(0, cut), name: target.slice(cut) || DEFAULT_NAME };
}

/** Joins a stem and an end; if that is too long for any disk, with what may follow, the stem is shortened. */
export const withEnd = (stem: string, end: string, after = ''): string =>
  joinUpTo(MAX_NAME_BYTES - Buffer.byteLength(end + after), lettersOf(stem)) + end;

/** The target path of one of a job's outputs; `index` counts from 1. */
export function outputPath(
  { target, sidecar }: Pick<SavePlan, 'target' | 'sidecar'>,
  naming: Naming,
  output: TaskOutput,
  index: number,
): OutputPath {
  const split = splitTarget(target);
  const values = valuesOf(naming, index, placeholdersOf(parsePattern(target)));
  const pieces = parsePattern(split.name);
  const { stem, extension } = splitExtension(pieces);
  const isMain = output.role === output.type;
  const isPlain = isMain || placeholdersOf(pieces).has('index');
  return {
    dir: render(parsePattern(split.dir), values),
    name(ext, copy, isWhole = false) {
      // The role is left out if the extension already says it.
      const suffix = isPlain || output.role === ext ? '' : `-${cleanNameValue(output.role)}`;
      const all = { ...values, ext };
      const tail = extension.length === 0 ? '' : isMain ? render(extension, all) : `.${ext}`;
      const end = suffix + (copy === 0 ? '' : `-${copy}`);
      const fitted = fitStem(stem, all, MAX_STEM_BYTES - COPY_BYTES - Buffer.byteLength(suffix));
      // A typed name that is too long is refused; a name that gw completes is shortened before its end.
      const isAsTyped = isWhole || (end === '' && placeholdersOf(pieces).size === 0);
      return isAsTyped ? fitted + tail : withEnd(fitted, end + tail, sidecar && besideOf(''));
    },
  };
}

/** The values of the placeholders that are known before the create. */
export function knownBefore(naming: Omit<Naming, 'id'>): Partial<Record<Placeholder, string>> {
  const { family, model, date, prompt, key, row } = valuesOf({ ...naming, id: '' }, 1);
  const asked = Object.fromEntries(openValues.map((name) => [name, askedFor(naming, name)]));
  return { family, model, date, prompt, key, row, ...asked };
}

/** Values that a request may leave to the gateway. */
const openValues = ['seed', 'duration', 'resolution'] as const;
const NOT_THERE = 'none';

/** A value of the request; undefined if it is left to the gateway (`-1`, `auto`). */
function askedFor({ settings }: Pick<Naming, 'settings'>, name: keyof MadeFacts): string | undefined {
  const value = settings?.[name];
  const text = typeof value === 'string' || typeof value === 'number' ? String(value) : '';
  return text === '' || text.startsWith('-') || text === 'auto' ? undefined : cleanNameValue(text);
}

/** The values of all placeholders. Two of them load V8's Unicode tables, so they are computed only if used. */
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
    // A batch has already filled in its own.
    row: NOT_THERE,
  };
}

/** Fills in a pattern. */
export function render(
  pieces: readonly PatternPiece[],
  values: Partial<Record<Placeholder, string>>,
): string {
  return pieces
    .map((piece) => ('literal' in piece ? piece.literal : (values[piece.placeholder] ?? '')))
    .join('');
}

/** Fills in a stem; values are shortened, the prompt first and then the longest, until it has at most `room` bytes. */
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
    // One character at a time: a value used twice in the pattern shortens the stem twice.
    cut[shortened] = cut[shortened].replace(/.\p{M}*$/su, '');
  }
}

/** Splits a pattern before the dot of its extension: `.{ext}`, or the text after the last dot that the user typed. */
function splitExtension(pieces: readonly PatternPiece[]): Record<'stem' | 'extension', PatternPiece[]> {
  const none = { stem: [...pieces], extension: [] };
  const last = pieces.at(-1);
  const isExt = last !== undefined && 'placeholder' in last && last.placeholder === 'ext';
  const at = pieces.length - (isExt ? 2 : 1);
  const piece = pieces[at];
  if (!piece || !('literal' in piece)) return none;
  const dot = piece.literal.lastIndexOf('.');
  if (dot === -1 || (dot === 0 && at === 0) || (isExt && dot !== piece.literal.length - 1)) return none;
  const head = piece.literal.slice(0, dot);
  return {
    stem: [...pieces.slice(0, at), ...(head === '' ? [] : [{ literal: head }])],
    extension: [{ literal: piece.literal.slice(dot) }, ...pieces.slice(at + 1)],
  };
}

/** Maximum length in bytes of a name made by gw, without the extension. */
const MAX_STEM_BYTES = 120;

/**
 * Makes a value from outside (a task ID, a model) a safe part of a file name on every system: `[A-Za-z0-9._-]`, no dot
 * or dash at its start, no dot at its end, no device name, at most 120 bytes.
 */
export function cleanNameValue(value: string, odd = /[^A-Za-z0-9._-]+/g): string {
  const letters = lettersOf(value.replace(odd, '_').replace(/^[.-]+/, ''));
  const reduced = joinUpTo(MAX_STEM_BYTES, letters).replace(/\.+$/, '');
  return reduced === '' ? 'unnamed' : guardDeviceName(reduced);
}

/** Cleans the user's own name of a job; letters of any script stay. */
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
 * The first words of a prompt as part of a file name: letters with their marks and digits of any script (NFC), joined
 * by `-`, as many whole words as fit; empty if there are none.
 */
export function slugOf(prompt: string): string {
  // Much more than can be used, so that even a prompt of megabytes costs nothing.
  const beginning = prompt.slice(0, 4096).normalize('NFC').toLowerCase();
  const [first = '', ...more] = beginning.match(/[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu) ?? [];
  // A script without blanks forms one long word, which is cut.
  const start = joinUpTo(MAX_SLUG_BYTES, first.match(/[\p{L}\p{N}]\p{M}*/gu));
  const words = more.map((word) => `-${word}`);
  return guardDeviceName(joinUpTo(MAX_SLUG_BYTES, words, start));
}

/** Puts an underscore before a name that is a device on Windows (`con`, `nul.mp4`). */
const guardDeviceName = (name: string): string => (deviceName.test(name) ? `_${name}` : name);

/** Escapes a literal path for use in a pattern. */
export const escapePattern = (path: string): string => path.replaceAll('{', '{{').replaceAll('}', '}}');

/** A hidden, unpredictable name for an unfinished file. */
export const newPartName = (): string => `.gw-${randomBytes(16).toString('hex')}.part`;

/** The name of the file beside an output (`--sidecar`). */
export const besideOf = (output: string): string => `${output}.json`;

/** The temporary name of the file beside an output, derived from the output's part, so that a later run finds it. */
export const besidePart = (part: string): string => part.replace(/\.part$/, '.json.part');

/** True for names made by newPartName; gw resumes and removes no other files. */
export const isPartName = (name: string): boolean => /^\.gw-[0-9a-f]{32}\.part$/.test(name);

/**
 * Turns `--out` into the target of a save plan: an absolute pattern, which ends in the separator for a directory.
 * Without a value: `{id}.{ext}` in the working directory. An existing directory counts as one, and several `images` are
 * numbered in it. Throws `usage` as `parseTarget` does, and for names that Windows forbids there.
 */
export function planTarget(
  out: string | undefined,
  cwd: string,
  images = 1,
  platform: NodeJS.Platform = process.platform,
): string {
  const base = escapePattern(cwd);
  const numbered = images > 1 ? '{id}-{index}.{ext}' : '';
  if (out === undefined) return path.join(base, numbered || DEFAULT_NAME);
  const pieces = parseTarget(out);
  const fault = platform === 'win32' ? windowsFault(out) : undefined;
  if (fault !== undefined)
    throw usage(`--out: Windows forbids ${fault}`, 'choose another name; nothing was sent');
  const absolute = path.resolve(base, out);
  const isThere = placeholdersOf(pieces).size === 0 && isDirectory(render(parsePattern(absolute), {}));
  if (!isThere && !out.endsWith('/') && !out.endsWith(path.sep)) return absolute;
  return (absolute.endsWith(path.sep) ? absolute : absolute + path.sep) + numbered;
}

/** True if a target is the same file name for every task. */
export const isFixedName = (target: string): boolean =>
  !target.endsWith(path.sep) && placeholdersOf(parsePattern(target)).size === 0;

/** The target of one of several jobs, with its number as `{index}`; unchanged if there is only one job. */
export function withIndex(target: string, index: number | undefined): string {
  if (index === undefined) return target;
  const fill = (name: string) => (name === 'index' ? String(index) : `{${name}}`);
  return parsePattern(target)
    .map((piece) => ('literal' in piece ? escapePattern(piece.literal) : fill(piece.placeholder)))
    .join('');
}

/** False for a path that cannot be looked at: checkTarget reports what is wrong with it. */
const isDirectory = (file: string): boolean => quietly(() => fs.statSync(file).isDirectory()) ?? false;

const KNOWN_ENDINGS = ['mp4', 'mov', 'webm', 'png', 'jpg', 'jpeg', 'webp', 'gif', 'mp3', 'wav'];

/** A warning if a saved file's name has an extension of another type than its bytes; `extension` is theirs. */
export function misnamed(file: string, extension: string | undefined): string | undefined {
  const written = path.extname(file).slice(1).toLowerCase();
  const isOdd = KNOWN_ENDINGS.includes(written) && written.replace('jpeg', 'jpg') !== extension;
  return extension && isOdd ? `${file} holds ${extension.toUpperCase()}, whatever its name says` : undefined;
}
