import type * as z from 'zod/mini';
import { GwError, usage } from '../errors.ts';
import { issuesOf, oddities, saysOf, valueAt } from '../gateway/body.ts';
import { unlistedFields } from '../gateway/unlisted.ts';
import { isObject } from '../host.ts';
import type { Io } from '../io/io.ts';
import { leavesOf } from '../io/layout.ts';
import { shorten } from '../media/reference.ts';
import type { BodyFlags } from './body-flags.ts';
import { flagName, type GlobalFlags } from './flag.ts';
import { applySet, type JsonObject, parseSet } from './json-body.ts';
import { nearest } from './nearest.ts';
import { toldAs, type WithStored } from './yielding.ts';

// Turns a breach of a documented rule into a sentence: the flag or field, its value, the rule, and what to do.

/** Maps a path in the body to the flag that set it, if one did. */
export type FlagOfPath = (path: readonly PropertyKey[]) => string | undefined;

/** The flags from whose value gw makes the text of another flag's field: a message does not show that text as typed. */
const madeFor: Readonly<Record<string, string>> = {
  '--prompt-file': '--prompt',
  '--shot': '--prompt',
  '--system-file': '--system',
};

/**
 * The flag of a path in a body, for messages: the flag that was typed or is missing. A value from a profile or preset is
 * named by its source, and a value that --set replaced by its field. `words` are the prompt.
 */
export const typedFlagAt =
  (
    { flagAt, lay }: Pick<BodyFlags, 'flagAt'> & Partial<Pick<BodyFlags, 'lay'>>,
    body: Readonly<Record<string, unknown>>,
    typed: WithStored,
    words: readonly string[],
    command: string,
  ): FlagOfPath =>
  (path) => {
    const name = flagAt(path, body);
    const laid = lay && valueAt(lay({}, typed), path);
    if (name === undefined || (laid !== undefined && laid !== valueAt(body, path))) return undefined;
    const told = toldAs(name, typed, command);
    if (told !== name) return told;
    const flags = Object.keys(typed).flatMap((key) => (typed[key] === undefined ? [] : flagName(key)));
    const maker = flags.find((flag) => madeFor[flag] === name);
    if (maker) return maker;
    // An item of a list is never a missing flag.
    const isAbsent = valueAt(body, path) === undefined && !path.some((key) => typeof key === 'number');
    return isAbsent || flags.includes(name) || (name === '--prompt' && words.length > 0) ? name : undefined;
  };

/** A broken rule as a sentence, with the reason: the document's words or a remark of gw. */
interface Breach {
  readonly text: string;
  readonly says?: string | undefined;
  /** The missing flag or field with its accepted values; several are joined in one sentence. */
  readonly missing?: string | undefined;
  /** True if the document does not state the rule: --no-validate then hides it. */
  readonly isUndocumented?: boolean | undefined;
}

/** Further facts about a body beside its schema. */
export interface FieldVerdict {
  /** Fields whose breaches are ignored. */
  readonly exempt?: readonly string[];
  /** Words that may have been meant, beside those of the schema. */
  readonly suggestions?: readonly string[];
  /** True if --body or --set gives a value: no flag is named then, and an undocumented value is only odd. */
  readonly isGiven?: ((path: readonly PropertyKey[], value: unknown) => boolean) | undefined;
}

/** The parts of a run that checking a body needs. */
export interface CheckedRun {
  readonly io: Io;
  readonly globals: Pick<GlobalFlags, 'validate' | 'set' | 'body'>;
}

export type Look = Readonly<Record<'breaches' | 'oddities', readonly Breach[]>>;

/** The breaches of a body, or its oddities if there are none; `exempt` fields are ignored. */
export function lookAtBody(
  schema: z.ZodMiniType,
  body: unknown,
  flagAt: FlagOfPath,
  { exempt = [], suggestions = [], isGiven = () => false }: FieldVerdict = {},
): Look {
  const flagOf: FlagOfPath = (at) => (isGiven(at, valueAt(body, at) ?? '') ? undefined : flagAt(at));
  const found = issuesOf(schema, body);
  const said = found.unstated.filter(({ path }) => !isGiven(path, valueAt(body, path)));
  const breaches = new Map<string, Breach>();
  for (const issue of [...found.broken, ...said]) {
    const at = issue.path.map(String).join('.');
    if (exempt.includes(at)) continue;
    // A value of the table that breaks another rule is no useful suggestion.
    const brokenBy = (value: string) => issuesOf(schema, withValueAt(body, issue.path, value)).broken;
    const helps = (value: string) =>
      suggestions.includes(value) ||
      !brokenBy(value).some(({ path, message }) => path.join('.') === at && message !== issue.message);
    const { text, missing } = sentenceOf(issue, body, flagOf, suggestions, helps);
    breaches.set(text, { text, missing, says: fitting(text, issue, saysOf(schema, at)) });
  }
  const odd = breaches.size > 0 ? [] : oddities(schema, found);
  return {
    breaches: [...breaches.values()],
    oddities: odd.map(({ path, message, known = [], rule, sentence }) => {
      const value = String(valueAt(body, path));
      const [near] = nearest(value, known);
      const where = [flagOf(path) ?? path.map(String).join('.'), near && value].filter(Boolean).join(' ');
      // A message about the whole body needs no field name.
      const text = [where, near ? `${message}; did you mean ${near}?` : message].filter(Boolean).join(': ');
      const says = quoted(sentence ?? rule.sentence) ?? rule.remark;
      return { text, says, isUndocumented: rule.remark !== undefined };
    }),
  };
}

const quoted = (sentence: string | undefined): string | undefined =>
  sentence && `the document says: ${sentence.replace(/\.$/, '')}`;

const linesOf80 = (text: string): number => text.match(/\S.{0,79}(?!\S)/gu)?.length ?? 0;

/** The document's sentence, cut at a word so that message and hint fit into three lines. */
function fitting(text: string, issue: z.core.$ZodIssue, of?: string): string | undefined {
  const room = Math.max(1, 3 - linesOf80(`error: ${text}`));
  let says = quoted((issue.code === 'custom' && issue.params?.sentence) || of);
  while (says && linesOf80(`hint: ${says}`) > room) says = says.replace(/(?: …)? \S+(?: …)?$/, ' …');
  return says;
}

/** Makes a sentence such as `--duration 3: 2.0 takes 4-15 seconds`. */
function sentenceOf(
  issue: z.core.$ZodIssue,
  body: unknown,
  flagOf: FlagOfPath,
  suggestions: readonly string[],
  helps: (value: string) => boolean,
): Pick<Breach, 'text' | 'missing'> {
  const value = valueAt(body, issue.path);
  const where = flagOf(issue.path) ?? issue.path.map(String).join('.');
  const known = issue.code === 'custom' ? (issue.params?.known as readonly string[] | undefined) : undefined;
  const meant =
    issue.code === 'invalid_value' ? issue.values.map(String) : known && [...known, ...suggestions];
  const near = meant && value !== undefined ? nearest(String(value), meant).find(helps) : undefined;
  const rule = near ? `${issue.message}; did you mean ${near}?` : issue.message;
  const isMissing = value === undefined && (known !== undefined || issue.code === 'invalid_type');
  return {
    text: `${[where, !Object.hasOwn(madeFor, where) && shortValue(value)].filter(Boolean).join(' ') || 'body'}: ${rule}`,
    missing: isMissing ? `${where}${known?.length ? ` (${known.join(', ')})` : ''}` : undefined,
  };
}

const withValueAt = (body: unknown, [step, ...rest]: readonly PropertyKey[], value: string): unknown => {
  if (step === undefined) return value;
  if (Array.isArray(body))
    return body.map((each, at) => (at === step ? withValueAt(each, rest, value) : each));
  return isObject(body) ? { ...body, [step]: withValueAt(body[String(step)], rest, value) } : body;
};

/** A value as a message shows it; objects are left out, and long values are cut. */
export function shortValue(value: unknown): string {
  // The value of a boolean flag was never typed, and an object is too long.
  if (value === undefined || value === true || (typeof value === 'object' && value !== null)) return '';
  return shorten(String(value), 40);
}

/**
 * Refuses a request that breaks a documented rule; with --no-validate it warns instead. Throws GwError `usage` with the
 * first breach; the hint has the document's words on it and the other breaches.
 */
export function refuseOrWarn(breaches: readonly (Breach | string)[], validate: boolean, io: Io): void {
  const [first, ...others] = breaches.map((each) => (typeof each === 'string' ? { text: each } : each));
  if (first === undefined) return;
  if (!validate) {
    for (const { text } of [first, ...others]) io.warn(text);
    return;
  }
  const fieldOf = (text: string) => text.split(': ', 1)[0];
  const told = others.filter(({ text }) => io.mode.verbose || fieldOf(text) !== fieldOf(first.text));
  const all = [first, ...told];
  const missing = all.flatMap((each) => each.missing ?? []);
  const inOne = `${missing.slice(0, -1).join(', ')} and ${missing.at(-1)} are required`;
  const texts = all.map((each) => (each.missing && missing.length > 1 ? inOne : each.text));
  const [message = '', ...also] = new Set(texts);
  const hints = [...(first.says ? [first.says] : []), ...also.map((text) => `also: ${text}`)];
  const faults = all.map(({ text }) => text);
  throw new GwError('usage', message, { hint: hints.join('; ') || undefined, faults });
}

/**
 * Refuses a body with breaches. The returned function prints the warnings once nothing else can refuse the command:
 * breaches under --no-validate, oddities, and fields that the document does not list.
 */
export function refuseLook(
  { breaches, oddities }: Look,
  { globals, io }: CheckedRun,
  sent: { readonly schema: z.ZodMiniType; readonly body: unknown; readonly messages?: string | undefined },
): () => void {
  const validate = globals.validate === undefined;
  if (validate) refuseOrWarn(breaches, validate, io);
  return () => {
    refuseOrWarn(breaches, validate, io);
    for (const { text, says, isUndocumented } of oddities)
      if (validate || !isUndocumented) io.warn(says === undefined ? text : `${text} (${says})`);
    if (globals.set ?? globals.body ?? sent.messages) warnOfUnlisted(sent.schema, sent.body, { globals, io });
  };
}

/**
 * Warns once of undocumented fields from --set, --body or --messages, each with the nearest documented name, because a
 * misspelt field may change the paid result. With --no-validate it prints nothing.
 */
function warnOfUnlisted(schema: z.ZodMiniType, body: unknown, ctx: CheckedRun): void {
  if (ctx.globals.validate !== undefined) return;
  const { unlisted, listed } = unlistedFields(schema, body);
  if (unlisted.length === 0) return;
  const named = unlisted.slice(0, MOST_UNLISTED).map((field) => {
    const near = nearestField(field, listed);
    return near === undefined ? field : `${field} (did you mean ${near}?)`;
  });
  const more = unlisted.length > MOST_UNLISTED ? `, and ${unlisted.length - MOST_UNLISTED} more` : '';
  ctx.io.warn(
    `sent as given, though the document does not list ${unlisted.length === 1 ? 'it' : 'them'}: ${named.join(', ')}${more}`,
  );
}

const MOST_UNLISTED = 20;

/** The documented field that was probably meant: the same name elsewhere, a similar one beside it, or one anywhere. */
function nearestField(field: string, listed: readonly string[]): string | undefined {
  const [name, above] = nameAndPlace(field);
  const places = listed.map((each) => [each, ...nameAndPlace(each)] as const);
  const named = (of: typeof places, word?: string) => of.find(([, other]) => other === word)?.[0];
  const names = (of: typeof places) => of.map(([, other]) => other);
  const near = (of: typeof places) => named(of, nearest(name, names(of))[0]);
  return named(places, name) ?? near(places.filter(([, , place]) => place === above)) ?? near(places);
}

/** `settings.duration` -> `duration`, `settings`. */
function nameAndPlace(field: string): readonly [name: string, above: string] {
  const at = field.lastIndexOf('.');
  return [field.slice(at + 1), field.slice(0, Math.max(0, at))];
}

/** Tests whether --body (`base`) or --set (`sets`) gives the value of a path in the body. */
export const givenIn =
  (base: JsonObject, sets: readonly string[] = []) =>
  (path: readonly PropertyKey[], value: unknown): boolean =>
    JSON.stringify(valueAt(base, path)) === JSON.stringify(value) ||
    sets.some((raw) => parseSet(raw).path.every((step, at) => step === String(path[at])));

/** Checks a body that starts from `base`; refuses it or returns its warnings, as {@link refuseLook} does. */
export function checkBody(
  schema: z.ZodMiniType,
  body: JsonObject,
  flagOf: FlagOfPath,
  base: JsonObject,
  ctx: CheckedRun,
): () => void {
  const look = lookAtBody(schema, body, flagOf, { isGiven: givenIn(base, ctx.globals.set) });
  return refuseLook(look, ctx, { schema, body });
}

/**
 * Returns a function that applies each --set to the body that the flags make of `base`. It warns once of a --set of an
 * object or list that overwrites what a typed flag has put into it; a stored default yields without a word. It
 * throws `usage` where that value is the external ID: without it, a task whose answer is lost could not be found.
 */
export function setOver(base: JsonObject, flagsOf: (made: JsonObject) => FlagOfPath, ctx: CheckedRun) {
  const sets = (ctx.globals.set ?? []).map(parseSet);
  const told = new Set<string>();
  return (made: JsonObject): JsonObject => {
    const body = sets.reduce(applySet, made);
    for (const [at, value] of sets.length > 0 ? leavesOf(made) : []) {
      const last = sets.findLast(({ path }) => `${at}.`.startsWith(`${path.join('.')}.`));
      const path = at.split('.').map((step) => (/^\d+$/.test(step) ? Number(step) : step));
      if (!last || last.path.length === path.length || valueAt(body, path) === value) continue;
      const [flag, above] = [path, path.slice(0, -1)].map(flagsOf(made));
      if (flag?.startsWith('defaults.') || (!flag && valueAt(base, path) === value)) continue;
      // A flag of a whole item has more than one value in the body.
      const what = flag === above ? (flag ?? at) : `${flag} ${shortValue(value)}`.trim();
      const text = `${what}: ${last.named} overwrites it`;
      if (at === 'options.external_task_id') throw usage(text, `write ${last.named}.NAME=VALUE`);
      if (!told.has(flag ?? last.named)) ctx.io.warn(`${text}; ${last.named}.NAME=VALUE keeps it`);
      told.add(flag ?? last.named);
    }
    return body;
  };
}
