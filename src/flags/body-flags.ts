import type * as z from 'zod/mini';
import { type ConfinedPath, OutsideFile } from '../disk/confined-path.ts';
import { GwError, usage } from '../errors.ts';
import {
  fieldsOf as bodyFields,
  type Field,
  helpOf,
  type ItemFlag,
  setOf,
  type Takes,
  takesInWords,
  valueAt,
  withoutOptional,
} from '../gateway/body.ts';
import { parseReference } from '../media/reference.ts';
import { everywhere, type Flag, type FlagSet, flagName, withValue } from './flag.ts';
import { applySet } from './json-body.ts';

// Maps the fields of a body to flags, typed values to the body, and a path in the body to its flag.

type TypedValues = Readonly<Record<string, unknown>>;

/** The flags of a body's fields, and the list items that flags make. */
export interface BodyFlags {
  readonly flags: FlagSet;
  /** The kinds of media and element items, by the key of their flag, in the order of the request. */
  readonly items: Readonly<Record<string, ItemFlag>>;
  /** Merges typed fields over a body; a flag replaces its field. Throws `usage` if the body has no place for it. */
  lay(base: Readonly<Record<string, unknown>>, typed: TypedValues): Record<string, unknown>;
  /** The flag of a path in the body: a field, an item by index, or a kind of item by its word. */
  flagAt(path: readonly PropertyKey[], body: Readonly<Record<string, unknown>>): string | undefined;
}

/**
 * Makes a flag from a field of a body's schema, which is the only source of description and choices. The value stays as
 * typed, because the schema checks it with the rest of the body.
 */
export function fromField(field: z.ZodMiniType, value?: string): Flag<string> {
  const choices = setOf(withoutOptional(field));
  return {
    value: value ?? choices?.join('|') ?? 'VALUE',
    summary: helpOf(field),
    choices,
    parse: (raw) => raw,
  };
}

/**
 * The flags of the fields of these bodies; a field in several bodies is one flag. Help says which values each of `models`
 * accepts, under the short name of the model.
 */
export function flagsOfBodies(
  bodies: readonly z.ZodMiniType[],
  models: readonly (readonly [name: string, model: unknown])[] = [],
): BodyFlags {
  const fields = new Map<string, Field>();
  for (const field of bodies.flatMap((body) => bodyFields(body))) {
    if (!fields.has(field.key)) fields.set(field.key, field);
  }
  const items: Record<string, ItemFlag> = {};
  const flags: Record<string, Flag> = {};
  for (const [key, field] of fields) {
    for (const [name, item] of Object.entries(field.facts.items ?? {})) {
      items[name] = item;
      flags[name] = { ...itemFlag(item), field: [...field.path, name] };
    }
    if (!field.facts.items) flags[key] = flagOf(field, models);
  }
  return {
    flags,
    items,
    lay(base, typed) {
      let body: Record<string, unknown> = { ...base };
      for (const { key, path, facts } of fields.values()) {
        const value = typed[key] === true ? (facts.sets ?? true) : typed[key];
        if (value !== undefined && !facts.items) body = applySet(body, { path, value, named: flagName(key) });
      }
      return body;
    },
    flagAt(path, body) {
      const [name, at] = path;
      const field = [...fields.values()].find(({ path: of }) =>
        of.every((step, depth) => step === path[depth]),
      );
      if (name === 'prompt') return '--prompt';
      if (field && !field.facts.items) return flagName(field.key);
      if (!field) return undefined;
      const kindsHere = Object.keys(field.facts.items ?? {});
      if (kindsHere.length === 1) return flagName(kindsHere[0] ?? '');
      const words = ['role', 'type'].map((word) => valueAt(body, [...path.slice(0, 2), word]));
      const kinds = typeof at === 'number' ? words : [at];
      const [key] = Object.entries(items).find(([, { kind }]) => kinds.includes(kind)) ?? [];
      if (key !== undefined) return flagName(key);
      return kinds.includes('text') || kinds.includes('prompt') ? '--prompt' : undefined;
    },
  };
}

function itemFlag({ value, help, many }: ItemFlag): Flag {
  const parse = (raw: string) => (many ? [raw] : raw);
  return { value, summary: help, group: 'what', from: everywhere, ...(many && { list: true }), parse };
}

function flagOf(field: Field, models: readonly (readonly [string, unknown])[]): Flag {
  const { facts, schema, help } = field;
  const taken = models.flatMap(([name, model]): [string, Takes][] => {
    const takes = facts.takes?.(model);
    return takes ? [[name, takes]] : [];
  });
  const union = [...new Set(taken.flatMap(([, takes]) => ('min' in takes ? [] : takes)))];
  const choices = facts.choices ?? setOf(schema) ?? (union.length > 0 ? union : undefined);
  const summary = [help, takenInHelp(taken, field)].filter(Boolean).join(': ');
  const isSwitch = schema.type === 'boolean' || facts.sets !== undefined;
  return {
    ...(facts.short && { short: facts.short }),
    ...(!isSwitch && { value: facts.value ?? choices?.join('|') ?? 'VALUE' }),
    ...(facts.negatable && { negatable: true }),
    ...(field.key === 'model' && { group: 'what' as const }),
    summary,
    field: field.path,
    ...(!facts.typed && { from: everywhere }),
    ...(choices && { choices }),
    ...(facts.offers && { offers: facts.offers }),
    ...(facts.completes && { completes: facts.completes }),
    parse: (raw, flag) => (isSwitch ? true : wordAs(field, raw, flag, summary)),
  };
}

/** `768P, 2K (gamma-H3); 480P, 768P (gamma-H3-Max)`; empty if all models accept the whole set. */
function takenInHelp(taken: readonly (readonly [string, Takes])[], { facts, schema }: Field): string {
  if (schema.type === 'boolean') return '';
  const names = new Map<string, string[]>();
  for (const [name, takes] of taken) {
    const words = takesInWords(takes, facts);
    names.set(words, [...(names.get(words) ?? []), name]);
  }
  if (names.size === 1 && names.has(setOf(schema)?.join(', ') ?? '')) return '';
  return [...names].map(([words, of]) => `${words} (${of.join(', ')})`).join('; ');
}

/** Converts a word to the field's type; an invalid word is kept for the schema to refuse. */
function wordAs({ schema, facts }: Field, raw: string, flag: string, summary: string): unknown {
  if (facts.words && Object.hasOwn(facts.words, raw)) return facts.words[raw];
  if (schema.type !== 'number') return raw;
  if (/^-?\d{1,9}$/.test(raw)) return Number(raw);
  const unit = facts.value === 'SECONDS' ? ' of seconds' : '';
  throw usage(`${withValue(flag, raw)}: not a whole number${unit}`, summary);
}

/** A typed reference to a medium or an element. */
interface TypedReference extends ItemFlag {
  readonly flag: string;
  readonly id: string | undefined;
  readonly raw: string;
}

/** The references of the flags, in request order. `[ID=]REF` may begin with an ID, unlike a path, URL or data URI. */
export const referencesOf = (items: BodyFlags['items'], typed: TypedValues): TypedReference[] =>
  Object.entries(items).flatMap(([key, item]) =>
    [(typed[key] ?? []) as string | readonly string[]].flat().map((raw) => {
      const [, id, rest] =
        (item.value.startsWith('[ID=]') && /^([\p{L}\p{N}_-]{1,64})=([\s\S]*)$/u.exec(raw)) || [];
      return { ...item, flag: flagName(key), id, raw: rest ?? raw };
    }),
  );

/** Applies `place` to each file name in the values: in references, and in flags that read a FILE. */
export function placeFiles(
  values: Readonly<Record<string, unknown>>,
  flags: FlagSet,
  place: (file: string, flag: string) => string,
): Record<string, unknown> {
  const placed = (key: string, value: unknown): unknown => {
    const kind = /\b(REF|FILE)$/.exec(flags[key]?.value ?? '')?.[1];
    if (kind === undefined || value === undefined) return value;
    const flag = flagName(key);
    const of = (raw: string): string => {
      if (kind === 'FILE')
        return raw === '-' || flags[key]?.value?.split('|').includes(raw) ? raw : place(raw, flag);
      const [, id = '', rest = raw] = /^([\p{L}\p{N}_-]{1,64}=)([\s\S]*)$/u.exec(raw) ?? [];
      const reference = parseReference(rest, flag);
      return reference.kind === 'file' ? id + place(reference.path, flag) : raw;
    };
    return Array.isArray(value) ? value.map((raw) => of(String(raw))) : of(String(value));
  };
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, placed(key, value)]));
}

/**
 * Replaces each file name of an untrusted record with its real path, if it may be read. Throws `usage` with all
 * faults, or an OutsideFile if there are no other faults.
 */
export function confineFiles(
  values: Readonly<Record<string, unknown>>,
  flags: FlagSet,
  confined: ConfinedPath,
): Record<string, unknown> {
  const faults: GwError[] = [];
  const placed = placeFiles(values, flags, (file, flag) => {
    try {
      return confined(file, `${flag} ${file}`);
    } catch (error) {
      if (!(error instanceof GwError)) throw error;
      faults.push(error);
      return file;
    }
  });
  // The user may allow outside files, so other faults are reported first.
  const wrong = faults.filter((fault) => !(fault instanceof OutsideFile));
  if (wrong[0] !== undefined) throw wrong[0].told({ faults: wrong.map(({ message }) => message) });
  const [outside] = faults;
  if (outside !== undefined) throw outside;
  return placed;
}
