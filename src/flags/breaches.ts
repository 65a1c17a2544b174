import type * as z from 'zod';
import { GwError, usage } from '../errors.ts';
import type { Io } from '../io/io.ts';
import { nearest } from './nearest.ts';

// A breach of a documented rule, as the sentence a person reads: which flag or field, its value, the rule, what to do.

/** Where in the body -> the flag that set it, if one did. */
export type FlagOfPath = (path: readonly PropertyKey[]) => string | undefined;

/** Every rule of the schema that the body breaks, as sentences; of fields that are `exempt`, none. Empty when it fits. */
export function breachesOf(
  schema: z.ZodType,
  body: unknown,
  flagOf: FlagOfPath,
  { exempt = [], suggestions = [] }: FieldVerdict = {},
): string[] {
  const issues = schema.safeParse(body).error?.issues ?? [];
  const told = issues.filter(({ path }) => !exempt.includes(path.map(String).join('.')));
  return [...new Set(told.map((issue) => sentenceOf(issue, body, flagOf, suggestions)))];
}

/** What is known of a body beside its schema. */
export interface FieldVerdict {
  /** Fields whose breaches do not count. */
  readonly exempt?: readonly string[];
  /** Words that may have been meant, beside those that the schema knows. */
  readonly suggestions?: readonly string[];
}

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
  if (issue.code === 'invalid_value') {
    const values = issue.values.map(String);
    const [near] = nearest(String(value), values, 1);
    return `${values.length === 1 ? 'must be' : 'one of'} ${values.join(', ')}${near ? `; did you mean ${near}?` : ''}`;
  }
  if (issue.code === 'invalid_type')
    return value === undefined ? 'is required' : `must be ${wordOf(issue.expected)}`;
  if (issue.code === 'invalid_union' && issue.discriminator) return 'not a known type of content item';
  const known = issue.code === 'custom' ? (issue.params?.known as readonly string[] | undefined) : undefined;
  const [near] = known ? nearest(String(value), [...known, ...suggestions], 1) : [];
  return near ? `${issue.message}; did you mean ${near}?` : issue.message;
}

const wordOf = (expected: string): string =>
  ({
    int: 'a whole number',
    number: 'a number',
    boolean: 'true or false',
    string: 'a text',
    array: 'a list',
  })[expected] ?? `of type ${expected}`;

function valueAt(body: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, key) =>
      typeof value === 'object' && value !== null && Object.hasOwn(value, key)
        ? (value as Record<PropertyKey, unknown>)[key]
        : undefined,
    body,
  );
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
 * Throws GwError `usage` with the first breach; the others stand in the hint.
 */
export function refuseOrWarn(breaches: readonly string[], validate: boolean, io: Io): void {
  const [first, ...others] = breaches;
  if (first === undefined) return;
  if (!validate) {
    for (const breach of breaches) io.warn(breach);
    return;
  }
  throw usage(first, others.length > 0 ? `also: ${others.join('; also: ')}` : undefined);
}

/** An answer the gateway gave that a schema cannot read. */
export const unreadable = (what: string): GwError =>
  new GwError('unavailable', `${what} cannot be read`, { hint: 'see it whole with --verbose' });
