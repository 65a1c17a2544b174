import type * as z from 'zod/mini';
import { GwError } from '../errors.ts';
import { inOurWords, oddities, valueAt } from '../gateway/body.ts';
import type { Io } from '../io/io.ts';
import { nearest } from './nearest.ts';

// A breach of a documented rule, as the sentence a person reads: which flag or field, its value, the rule, what to do.

/** Where in the body -> the flag that set it, if one did. */
export type FlagOfPath = (path: readonly PropertyKey[]) => string | undefined;

/** A broken rule as a sentence, and the document's own where the rule rests on one. */
export interface Breach {
  readonly text: string;
  readonly says?: string | undefined;
}

/** What is known of a body beside its schema. */
export interface FieldVerdict {
  /** Fields whose breaches do not count. */
  readonly exempt?: readonly string[];
  /** Words that may have been meant, beside those that the schema knows. */
  readonly suggestions?: readonly string[];
}

/** What a body breaks, and what is odd about one that breaks nothing; of fields that are `exempt`, nothing is said. */
export function lookAtBody(
  schema: z.ZodMiniType,
  body: unknown,
  flagOf: FlagOfPath,
  { exempt = [], suggestions = [] }: FieldVerdict = {},
): { readonly breaches: readonly Breach[]; readonly oddities: readonly Breach[] } {
  const issues = schema.safeParse(body, { error: inOurWords }).error?.issues ?? [];
  const breaches = new Map<string, Breach>();
  for (const issue of issues) {
    if (exempt.includes(issue.path.map(String).join('.'))) continue;
    const text = sentenceOf(issue, body, flagOf, suggestions);
    breaches.set(text, { text, says: issue.code === 'custom' ? issue.params?.sentence : undefined });
  }
  if (issues.length > 0) return { breaches: [...breaches.values()], oddities: [] };
  return {
    breaches: [],
    oddities: oddities(schema, body).map(({ path, message, known = [], rule }) => {
      const value = String(valueAt(body, path));
      const [near] = nearest(value, known, 1);
      const where = [flagOf(path) ?? path.map(String).join('.'), near && value].filter(Boolean).join(' ');
      // What concerns the body as a whole says so itself.
      const text = [where, message].filter(Boolean).join(': ');
      return { text: `${text}${near ? `; did you mean ${near}?` : ''}`, says: rule.sentence };
    }),
  };
}

/** Every rule of the schema that the body breaks, as sentences. Empty when it fits. */
export const breachesOf = (
  schema: z.ZodMiniType,
  body: unknown,
  flagOf: FlagOfPath,
  verdict?: FieldVerdict,
): string[] => lookAtBody(schema, body, flagOf, verdict).breaches.map(({ text }) => text);

/** `--duration 3: 2.0 takes 4-15 seconds`. */
export function sentenceOf(
  issue: z.core.$ZodIssue,
  body: unknown,
  flagOf: FlagOfPath,
  suggestions: readonly string[] = [],
): string {
  const value = shortValue(valueAt(body, issue.path));
  const where = flagOf(issue.path) ?? issue.path.map(String).join('.');
  return `${[where, value].filter(Boolean).join(' ') || 'body'}: ${ruleOf(issue, valueAt(body, issue.path), suggestions)}`;
}

function ruleOf(issue: z.core.$ZodIssue, value: unknown, suggestions: readonly string[]): string {
  const known = issue.code === 'custom' ? (issue.params?.known as readonly string[] | undefined) : undefined;
  const meant =
    issue.code === 'invalid_value' ? issue.values.map(String) : known && [...known, ...suggestions];
  const [near] = meant && value !== undefined ? nearest(String(value), meant, 1) : [];
  return near ? `${issue.message}; did you mean ${near}?` : issue.message;
}

const MAX_SHOWN = 60;

/** A value as it may stand in a sentence; long ones and objects are left out. */
function shortValue(value: unknown): string {
  // A switch's value was never typed, and an object is no word.
  if (value === undefined || value === true || (typeof value === 'object' && value !== null)) return '';
  const text = String(value);
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}

/**
 * Refuses a request that breaks a documented rule, or with --no-validate says what it breaks and goes on.
 * Throws GwError `usage` with the first breach; what the document says of it and the other breaches stand in the hint.
 */
export function refuseOrWarn(breaches: readonly (Breach | string)[], validate: boolean, io: Io): void {
  const [first, ...others] = breaches.map((each) => (typeof each === 'string' ? { text: each } : each));
  if (first === undefined) return;
  if (!validate) {
    for (const { text } of [first, ...others]) io.warn(text);
    return;
  }
  const says = first.says === undefined ? [] : [`the document says: ${first.says.replace(/\.$/, '')}`];
  const hints = [...says, ...others.map(({ text }) => `also: ${text}`)];
  throw new GwError('usage', first.text, {
    hint: hints.length > 0 ? hints.join('; ') : undefined,
    also: others.map(({ text }) => text),
  });
}

/** Refuses a body as a look found it, or warns of it, as {@link refuseOrWarn}; what is odd is a warning. */
export function refuseLook(
  { breaches, oddities }: ReturnType<typeof lookAtBody>,
  validate: boolean,
  io: Io,
): void {
  refuseOrWarn(breaches, validate, io);
  for (const { text, says } of oddities) io.warn(says === undefined ? text : `${text} (${says})`);
}

/** An answer the gateway gave that a schema cannot read. */
export const unreadable = (what: string): GwError =>
  new GwError('unavailable', `${what} cannot be read`, { hint: 'see it whole with --verbose' });
