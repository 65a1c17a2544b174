import { createHash } from 'node:crypto';
import { GwError, usage } from '../errors.ts';
import { type Flag, type FlagSet, flagName, mayStandIn } from '../flags/flag.ts';
import { MAX_COUNT } from '../flags/job-flags.ts';
import { applySets, assertSafeJson, type JsonObject, parseSet } from '../flags/json-body.ts';
import { nearest } from '../flags/nearest.ts';
import { valueAt } from '../gateway/body.ts';
import { isObject } from '../host.ts';
import { jsonOf } from '../json-text.ts';
import { cellOf, truthCell } from './cells.ts';
import type { Manifest, WrittenRow } from './read-manifest.ts';

// Turns raw rows into create commands: a row's fields are the command's flags, parsed by the same table as argv.

/** The create commands of a row, by their words, with their flags. */
export type CreateFlags = Readonly<Record<string, FlagSet>>;

/** The place of a row, counted from 1: its first line, and its number in the list if several rows share the line. */
export interface Place {
  readonly line: number;
  readonly nth?: number | undefined;
}

/** The place in messages, after the file name. */
export const placeText = ({ line, nth }: Place) => (nth === undefined ? `${line}` : `${line}: row ${nth}`);

export interface Row extends Place {
  /** Position in the manifest, counted from 1. */
  readonly row: number;
  /** The `--once` key: `NAME/id`, or `NAME/` and a digest. */
  readonly key: string;
  /** The words of the command: `video alpha`. */
  readonly command: string;
  /** True if the row itself names its output path, instead of using the typed default. */
  readonly ownOut?: boolean;
  /** Parsed values under the flags' names, as parsing argv gives them. */
  readonly flags: Readonly<Record<string, unknown>>;
  /** The unparsed values under the long names, which another machine parses again. */
  readonly said?: Readonly<Record<string, unknown>> | undefined;
  /** `PATH=VALUE`, as in --set. */
  readonly set: readonly string[];
  readonly body?: Readonly<Record<string, unknown>> | undefined;
  /** For a row on a queue: settings and global flags of the machine that checked it, with which a worker makes it. */
  readonly pinned?: {
    readonly model?: string | undefined;
    readonly sidecar?: true | undefined;
    readonly validate?: false | undefined;
  };
}

/** The faults of a row: `field: message`. */
export interface RowFault extends Place {
  readonly faults: readonly string[];
  /** The row without its unknown fields, if these are its only faults, so that the rest can be checked. */
  readonly rest?: Row | undefined;
}

export interface RowsInput {
  readonly manifest: Manifest;
  /** The first part of the keys. */
  readonly name: string;
  readonly creates: CreateFlags;
  /** The command of rows that name none. */
  readonly command?: string | undefined;
  /** Typed defaults of the rows: words by flag name, media as absolute paths. */
  readonly defaults: Readonly<Record<string, unknown>>;
  /** The profile's defaults for a command, which apply after the row's fields and the typed defaults. */
  readonly storedOf?: ((command: string) => Readonly<Record<string, unknown>> | undefined) | undefined;
  /** Selects rows by their keys; absent means all. */
  readonly isWanted?: ((key: string) => boolean) | undefined;
  /** Called for each row that is not selected, with its position. */
  readonly onLeftOut?: ((key: string, row: number) => void) | undefined;
}

/**
 * Returns a test for row keys that were typed as `shots/7` or `7`; the key of a row with `count` selects all its jobs.
 * `unmet` are typed keys that no row has matched so far.
 */
export function keysOf(typed: readonly string[], name: string) {
  const keys = typed.map((key) => (key.startsWith(`${name}/`) ? key : `${name}/${key}`));
  const unmet = new Set(keys);
  const has = (key: string): boolean => {
    const met = keys.filter((each) => key === each || key.startsWith(`${each}/`));
    for (const each of met) unmet.delete(each);
    return met.length > 0;
  };
  return { has, unmet };
}

/** Fields of a row that are no flag of its command. */
const ownFields = ['id', 'command', 'skip', 'count', 'set', 'body'];
/** Flags of create commands that apply to a whole batch, or have no meaning for a row. */
export const notFields: ReadonlySet<string> = new Set(
  'events exec once again wait queue download preview maxCost unpriced'.split(' '),
);
const MAX_KEY = 200;

const isField = (key: string) => !notFields.has(key) && !ownFields.includes(key);

/** The flags of a command that a batch may set for its rows, except `count`. */
export const fieldsOf = (flags: FlagSet): [key: string, flag: Flag][] =>
  Object.entries(flags).filter(([key]) => isField(key));

export const rowFields = (flags: FlagSet): [key: string, flag: Flag][] =>
  fieldsOf(flags).filter(([, flag]) => mayStandIn(flag, 'row'));

/**
 * Yields the rows of a manifest in order: a row with `count` gives several, and skipped rows none. An unreadable row is a
 * fault, and reading continues. Throws `usage` as the manifest does.
 */
export async function* readRows(input: RowsInput): AsyncGenerator<Row | RowFault> {
  const placeOfId = new Map<string, Place>();
  const sameBefore = new Map<string, number>();
  let row = 0;
  for await (const written of input.manifest.rows()) {
    row += 1;
    const place: Place = { line: written.line, nth: written.sharesLine ? row : undefined };
    const faults: string[] = [];
    const gather = <T>(read: () => T): T | undefined => {
      try {
        return read();
      } catch (error) {
        faults.push(...faultsOf(error));
        return undefined;
      }
    };
    const made = gather(() => readRow(written, input, gather));
    if (made?.skip) {
      input.onLeftOut?.(`${input.name}/${made.id}`, row);
      continue;
    }
    if (made?.id !== undefined) {
      const before = placeOfId.get(made.id);
      const which = before?.nth ? `row ${before.nth}` : `the row of line ${before?.line}`;
      if (before !== undefined) faults.push(`id: ${made.id}: ${which} has it too`);
      placeOfId.set(made.id, place);
    }
    if (made === undefined) {
      input.onLeftOut?.(`${input.name}/${written.fields?.id}`, row);
      if (input.isWanted?.(`${input.name}/${written.fields?.id}`) ?? true) yield { ...place, faults };
      continue;
    }
    const { id, count, digest, unknown, asked } = made;
    const same = id === undefined ? (sameBefore.get(digest) ?? 0) : 0;
    if (id === undefined) sameBefore.set(digest, same + 1);
    const key = `${input.name}/${digest}${same > 0 ? `-${same + 1}` : ''}`;
    const keys = count === undefined ? [key] : Array.from({ length: count }, (_, at) => `${key}/${at + 1}`);
    const wanted = keys.filter((each) => input.isWanted?.(each) ?? true);
    for (const each of keys) if (faults.length > 0 || !wanted.includes(each)) input.onLeftOut?.(each, row);
    const rows = wanted.map((each) => ({ row, ...place, key: each, ...asked }));
    if (faults.length === 0) yield* rows;
    else if (rows.length > 0)
      yield { ...place, faults, rest: unknown === faults.length ? rows[0] : undefined };
  }
}

type Gather = <T>(read: () => T) => T | undefined;

function readRow({ fields, fault, isCells = false }: WrittenRow, input: RowsInput, gather: Gather) {
  if (fields === undefined) throw usage(fault ?? 'cannot be read');
  const said = new Map<string, unknown>();
  for (const [name, value] of Object.entries(fields)) {
    assertSafeJson({ [name]: value }, name);
    const key = name.replaceAll('_', '-');
    // An empty value counts as absent.
    if (value === null || value === undefined || value === '') continue;
    if (said.has(key)) throw usage(`${key}: given twice, as ${name} and in another spelling`, 'give it once');
    said.set(key, value);
  }
  const toSkip = said.get('skip');
  const isLeftOut = isCells && typeof toSkip === 'string' ? truthCell(toSkip) : toSkip;
  const skip = gather(() => truthOf('skip', isLeftOut)) ?? false;
  if (skip) return { skip, id: String(said.get('id') ?? '').trim() } as const;
  // The request and its key do not depend on a `skip` that is false.
  said.delete('skip');
  const command = commandOf(said.get('command'), input);
  const flags = input.creates[command] ?? {};
  const known = flagsByName(flags);
  if (isCells) readCells(said, known, gather);
  const id = gather(() => idOf(said.get('id'), input.name));
  const profile = input.storedOf?.(command) ?? {};
  const times = said.get('count') ?? input.defaults.count ?? (flags.count && profile.count);
  const count = gather(() => countOf(times));
  const set = gather(() => setsOf(said.get('set'))) ?? [];
  const body = gather(() => objectOf('body', said.get('body')));
  gather(() => refuseTypedFields(flags, body, set));
  let unknown = 0;
  const fieldsSaid = [...said].filter(([name]) => !ownFields.includes(name));
  const { values, written } = valuesOf(fieldsSaid, known, gather, (name) => {
    unknown += 1;
    refuseField(name, command, flags, isCells);
  });
  const ownOut = values.out !== undefined;
  const layUnder = (name: string, value: unknown, meant = known(name)): boolean => {
    if (!meant) return false;
    const { key, flag, isNegated } = meant;
    const ways = promptKeys.includes(key) ? promptKeys : [key];
    // Prompts and media are parts of `content`, where a body has one.
    const isPart = body?.content !== undefined && (ways.length > 1 || /\bREF$/.test(flag.value ?? ''));
    const field = isPart ? ['content'] : (flag.field ?? [key]);
    if (ways.some((way) => way in values) || valueAt(body, field) !== undefined) return false;
    written[name] = value;
    const parsed = gather(() => typedOf(flag, name, value, isNegated));
    if (parsed !== undefined) values[key] = parsed;
    return parsed !== undefined;
  };
  for (const [key, value] of Object.entries(input.defaults)) layUnder(flagName(key).slice(2), value);
  const stored: string[] = [];
  for (const [name, value] of Object.entries(profile)) {
    const limit = limitKeys.find((key) => flagName(key) === `--${name}`);
    const flag = limit && flags[limit];
    const meant = flag ? { key: limit, flag, isNegated: false } : known(name);
    if (!meant) continue;
    if (layUnder(name, value, meant)) stored.push(meant.key);
    // Values that a row itself may not set stay on this machine.
    if (!mayStandIn(meant.flag, 'row') || limit) delete written[name];
  }
  if (stored.length > 0) values.stored = stored;
  gather(() => refusePiped(values));
  const digest = id ?? digestOfRow(Object.fromEntries(said));
  const asked = { command, ownOut, flags: values, said: written, set, body };
  return { skip: false as const, id, count, digest, unknown, asked };
}

/** Restores the values of spreadsheet cells; a cell that cannot be restored is a fault and is left out. */
function readCells(said: Map<string, unknown>, known: KnownFlags, gather: Gather): void {
  for (const [name, value] of said) {
    const cells = [value].flat().map((each) => gather(() => cellOf(name, String(each), known(name)?.flag)));
    const sound = cells.filter((each) => each !== undefined);
    if (sound.length < cells.length) said.delete(name);
    else said.set(name, Array.isArray(value) ? sound : sound[0]);
  }
}

function refusePiped(values: Readonly<Record<string, unknown>>): void {
  const piped = promptKeys.find((key) => values[key] === '-');
  const hint = 'name a file with prompt-file, or write the prompt';
  if (piped !== undefined) throw usage(`${flagName(piped)} -: a row reads no stdin`, hint);
}

const typedOnly = (name: string): GwError =>
  usage(`${name}: is typed, and stands in no row`, `add --${name} to the run, for all its rows`);

/** Throws `usage` if `set` or `body` sets a field that only a typed flag may set. */
function refuseTypedFields(flags: FlagSet, body: JsonObject | undefined, set: readonly string[]): void {
  if (body === undefined && set.length === 0) return;
  const fields = Object.entries<Flag>(flags).filter(([, flag]) => flag.field && !mayStandIn(flag, 'row'));
  // The flags are not merged into the body yet, so only these fields can be checked, and no list items.
  const mayBe = (raw: string) => fields.some(([, { field }]) => field?.[0] === parseSet(raw).path[0]);
  const asked = applySets(body ?? {}, set.filter(mayBe));
  const [found] = fields.find(([, { field = [] }]) => valueAt(asked, field) !== undefined) ?? [];
  if (found !== undefined) throw typedOnly(flagName(found).slice(2));
}

type KnownFlags = ReturnType<typeof flagsByName>;

function flagsByName(flags: FlagSet) {
  const named = (name: string) => {
    const key = name.replace(/-[a-z]/g, ([, letter = '']) => letter.toUpperCase());
    const flag = isField(key) && Object.hasOwn(flags, key) ? flags[key] : undefined;
    return flag && flagName(key) === `--${name}` ? { key, flag } : undefined;
  };
  return (name: string) => {
    const negated = name.startsWith('no-') ? named(name.slice(3)) : undefined;
    const { negatable, negativeOnly } = negated?.flag ?? {};
    const meant = named(name) ?? (negatable || negativeOnly ? negated : undefined);
    return meant && { ...meant, isNegated: meant === negated };
  };
}

/**
 * Parses a row that another machine stored, like a row of a manifest; `onUnknown` is called for unknown flags. Throws
 * `usage` for a fault.
 */
export function readWritten(
  { said, ...row }: Omit<Row, 'flags' | 'said'> & { readonly said: Readonly<Record<string, unknown>> },
  creates: CreateFlags,
  onUnknown: (name: string) => void = () => {},
): Row {
  assertSafeJson({ said, body: row.body }, 'the row');
  const flags = creates[row.command] ?? {};
  refuseTypedFields(flags, row.body && { ...row.body }, row.set);
  const named = Object.entries(said).map(([name, value]) => [flagName(name).slice(2), value] as const);
  const { values } = valuesOf(named, flagsByName(flags), (read) => read(), onUnknown);
  refusePiped(values);
  return { ...row, ownOut: values.out !== undefined, flags: values, said };
}

/** Parses a row's flags: values by key, and as written. Throws `usage` for a flag that a row may not set. */
function valuesOf(
  said: Iterable<readonly [name: string, value: unknown]>,
  known: KnownFlags,
  gather: Gather,
  onUnknown: (name: string) => void,
) {
  const values: Record<string, unknown> = {};
  const written: Record<string, unknown> = {};
  for (const [name, value] of said)
    gather(() => {
      const meant = known(name);
      if (meant === undefined) return onUnknown(name);
      written[name] = value;
      if (!mayStandIn(meant.flag, 'row')) throw typedOnly(name);
      const parsed = typedOf(meant.flag, name, value, meant.isNegated);
      if (parsed !== undefined) values[meant.key] = parsed;
    });
  return { values, written };
}

/** Limits that the profile may set for a row, but not the row itself. */
const limitKeys = ['maxCost', 'unpriced'] as const;

export const promptKeys: readonly string[] = ['prompt', 'promptFile', 'shot'];

function commandOf(said: unknown, { creates, command: fallback }: RowsInput): string {
  const known = Object.keys(creates);
  const command = said ?? fallback;
  const cure = `write one of ${known.join(', ')}, or add --command to the run`;
  if (command === undefined) throw usage('command: the row names none', cure);
  // Users may write the command as they type it on the command line.
  const words = String(command)
    .trim()
    .replace(/^gw +/, '')
    .replace(/^(video \w+) create$/, '$1')
    .replace(/ +/g, ' ');
  if (Object.hasOwn(creates, words)) return words;
  const [near] = nearest(words, known);
  throw usage(`command: ${shown(command)}: one of ${known.join(', ')}`, near && `did you mean ${near}?`);
}

function idOf(said: unknown, name: string): string | undefined {
  if (said === undefined) return undefined;
  if (typeof said !== 'string' && typeof said !== 'number') throw usage('id: a text or a number names a row');
  const id = String(said);
  const fault = nameFault(id, MAX_KEY - name.length - '/100/'.length);
  if (fault !== undefined) throw usage(`id: ${shown(id)}: ${fault}`);
  return id;
}

/** Why a word cannot be part of a key; undefined if it can. */
export function nameFault(word: string, most = 100): string | undefined {
  if (word.includes('/')) return 'holds a /, which stands between the parts of a key';
  if (/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/.test(word))
    return 'holds a control character';
  if (word.trim() === '') return 'is blank';
  return word.length > most ? `has ${word.length} characters, and may have at most ${most}` : undefined;
}

function countOf(said: unknown): number | undefined {
  if (said === undefined) return undefined;
  const count = typeof said === 'string' && /^\d{1,9}$/.test(said) ? Number(said) : said;
  if (Number.isInteger(count) && Number(count) >= 1 && Number(count) <= MAX_COUNT) return Number(count);
  throw usage(`count: ${shown(said)}: give a whole number from 1 to ${MAX_COUNT}`);
}

function truthOf(name: string, said: unknown): boolean | undefined {
  if (said === undefined || typeof said === 'boolean') return said;
  if (said === 'true' || said === 'false') return said === 'true';
  throw usage(`${name}: ${shown(said)}: write true or false`);
}

/** An object; in CSV it is given as JSON. */
function objectOf(name: string, said: unknown): Record<string, unknown> | undefined {
  const value = typeof said === 'string' ? (jsonOf(said) ?? said) : said;
  if (value === undefined) return undefined;
  if (!isObject(value)) throw usage(`${name}: write an object, such as {"seed": 7}`);
  assertSafeJson(value, name);
  assertExact(value, name);
  return value;
}

const setsOf = (said: unknown): string[] =>
  Object.entries(objectOf('set', said) ?? {}).map(([at, value]) => `${at}=${JSON.stringify(value)}`);

/** Refuses an integer that parsing has already changed. */
function assertExact(value: unknown, name: string): void {
  if (typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value))
    throw usage(`${name}: an integer has more digits than can be sent exactly`, 'write it in quotes');
  if (typeof value === 'object' && value !== null)
    for (const each of Object.values(value)) assertExact(each, name);
}

/** Parses a field's value by its flag; undefined if it equals the flag's absence. */
export function typedOf(flag: Flag, name: string, said: unknown, isNegated: boolean, dashes = '--'): unknown {
  if (flag.value === undefined) {
    const truth = truthOf(name, said) !== isNegated;
    if (flag.negativeOnly) return truth ? undefined : false;
    return truth || flag.negatable ? truth : undefined;
  }
  const words = [said].flat().map((each) => wordOf(name, each));
  if (!flag.list && words.length > 1) throw usage(`${name}: give one value, not ${words.length}`);
  const parsed = words.map((word) => flag.parse(word, dashes + name));
  return flag.list ? parsed.flat() : parsed[0];
}

function wordOf(name: string, said: unknown): string {
  if (typeof said === 'string') return said;
  if (typeof said !== 'number') throw usage(`${name}: give a text or a number, not ${shown(said)}`);
  assertExact(said, name);
  return String(said);
}

function refuseField(name: string, command: string, flags: FlagSet, isCells: boolean): never {
  const dashed = `--${name.replace(/^no-/, '')}`;
  const isFlag = Object.keys(flags).some((key) => notFields.has(key) && flagName(key) === dashed);
  if (isFlag) throw usage(`${name}: only the user types it, on the command line`);
  const names = rowFields(flags).map(([key]) => flagName(key).slice(2));
  const [near] = nearest(name, [...names, ...ownFields]);
  const what = `${name.slice(0, 60)}: no flag of gw ${command}${command.startsWith('video') ? ' create' : ''}`;
  const comment = 'see its --help; in a spreadsheet a column named _NAME is a comment';
  throw usage(what, near ? `did you mean ${near}?` : isCells ? comment : `it takes ${names.join(', ')}`);
}

/** Flags that only concern waiting and saving, not the request. */
const besideAsked = /^(out|force|sidecar|stored|waitTimeout|interval)$/;

/** A digest of a row's request, without how it is waited for and where it is saved. */
export function askedDigest({ command, flags, set, body }: Row): string {
  const asked = Object.fromEntries(Object.entries(flags).filter(([key]) => !besideAsked.test(key)));
  return digestOfRow([command, asked, set, body]);
}

/** A digest of a row or a request, independent of the order of its fields. */
export const digestOfRow = (written: unknown): string =>
  digestOf(
    JSON.stringify(written, (_, value) =>
      isObject(value)
        ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
        : value,
    ),
    20,
  );

/** A short digest of a text. */
export const digestOf = (text: string, length = 24): string =>
  createHash('sha256').update(text).digest('hex').slice(0, length);

const shown = (value: unknown): string => {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
};

/**
 * Splits a `usage` error of a row into sentences of the form `field: message`. Other errors are thrown, because they are
 * no fault of the row.
 */
export function faultsOf(error: unknown): string[] {
  if (!(error instanceof GwError) || error.kind !== 'usage') throw error;
  const { hint, faults = [] } = error.facts;
  if (error.message === 'no prompt') return ['prompt: there is none'];
  const alone = [error.message, hint].filter(Boolean).join('; ');
  return (faults.length > 1 ? faults : [alone]).map(fieldFirst);
}

/** `--duration 3: too short` -> `duration: 3: too short`. */
const fieldFirst = (message: string): string => message.replace(/^--([a-z][a-z-]*):? (?!and )/, '$1: ');
