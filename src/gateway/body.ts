import * as z from 'zod/mini';
import type { Modality, Range } from './limits.ts';

// How a request body is declared: each field once, with its flag and the values that each model takes, and the rules
// between fields as rows. Types, flags, help, checks, model sheets and the sandbox all read these declarations.

/** Makes the object schemas of a body, either loose or strict; both have the same type. */
export type ObjectMaker = typeof z.object;

/** Caches fields that several bodies use: they are built once loose and once strict. */
export function shared<S>(make: (object: ObjectMaker) => S): (object: ObjectMaker) => S {
  const made = new Map<ObjectMaker, S>();
  return (object) => {
    const fields = made.get(object) ?? make(object);
    made.set(object, fields);
    return fields;
  };
}

/** The values that a model takes for a field: a set of words, or a range with one extra value. */
export type Takes = readonly string[] | (Range & { readonly also?: number });

/** Facts about a field that its schema does not hold. */
interface FieldFacts<Model = unknown> {
  /** The flag's key, if it differs from the field's name: `watermark` for `aigc_watermark`. */
  readonly flag?: string;
  readonly short?: string;
  /** Placeholder of the value in help; a set of words or a switch needs none. */
  readonly value?: string;
  /** Only the user may set this field; a row, a preset or a sidecar may not. */
  readonly typed?: true;
  /** `--no-NAME` exists too. */
  readonly negatable?: true;
  /** Values for help and completion when the schema is not a set. */
  readonly choices?: readonly string[];
  /** Values for completion when other values are allowed too. */
  readonly offers?: readonly string[];
  readonly completes?: `model:${string}`;
  /** Words that the user may type for a value: `auto` for -1. */
  readonly words?: Readonly<Record<string, unknown>>;
  /** The value that a switch sets, if it is not `true`. */
  readonly sets?: unknown;
  /** The values that each model takes; undefined if the model does not have this field. */
  readonly takes?: (model: Model) => Takes | undefined;
  /** The field's name in a model sheet; absent if the sheet does not show it. */
  readonly row?: string;
  /** The document's literal sentence about the field. */
  readonly says?: string;
  /** The gateway's default, if the document states one. */
  readonly fallback?: string | number | boolean;
  /** References to media, with a flag for each kind of item; the command turns them into the body's items. */
  readonly items?: Readonly<Record<string, ItemFlag>>;
}

/** A flag that adds an item to a list such as `content`. */
export interface ItemFlag {
  /** The item's `role`, or its `type` if it has no role. */
  readonly kind: string;
  /** Absent if the item is not a file, such as an element. */
  readonly modality?: Modality;
  readonly many?: true;
  readonly value: string;
  readonly help: string;
}

const facts = new WeakMap<z.ZodMiniType, FieldFacts>();

function declare<S extends z.ZodMiniType>(schema: S, told: FieldFacts): S {
  facts.set(schema, told);
  return schema;
}

const helps = new WeakMap<z.ZodMiniType, string>();

/** A copy of a schema with its own help text. */
export function described<S extends z.ZodMiniType>(schema: S, help: string): S {
  const own = schema.clone();
  helps.set(own, help);
  return own;
}

/** The help text of a {@link described} schema; empty if there is none. */
export const helpOf = (schema: z.ZodMiniType): string => helps.get(schema) ?? '';

export const withoutOptional = (schema: z.ZodMiniType): z.ZodMiniType =>
  schema instanceof z.ZodMiniOptional ? (schema.def.innerType as z.ZodMiniType) : schema;

/** An optional field and its flag; `help` is the flag's line in help. */
export function field<S extends z.ZodMiniType, Model = unknown>(
  schema: S,
  help: string,
  extra: FieldFacts<Model> = {},
): z.ZodMiniOptional<S> {
  const optional = z.optional(schema);
  helps.set(optional, help);
  return declare(optional, extra as FieldFacts);
}

export const requiredField = <S extends z.ZodMiniType>(schema: S, help: string, extra: FieldFacts = {}): S =>
  declare(described(schema, help), extra);

/** A whole number within a range; `rule` is the message if it is not: `3-15 seconds are taken`. */
export function whole({ min, max }: Range, rule = `a whole number from ${min} to ${max}`) {
  return z.int().check(z.gte(min, rule), z.lte(max, rule));
}

/**
 * Checks a body: `broken` are the schema's issues, `unstated` those that the document does not state ({@link
 * unstated}), `unshown` those of a shape it does not show (`open` in `open.ts`), and `read` is the parsed body.
 */
export function issuesOf(schema: z.ZodMiniType, body: unknown) {
  const ctx = { error: inOurWords, async: false };
  const { value: read, issues } = schema._zod.run({ value: body, issues: [] }, ctx) as z.core.ParsePayload;
  const said = issues.map((issue) => z.util.finalizeIssue(issue, ctx, z.config()));
  const marked = (mark: string) => said.filter((each) => each.code === 'custom' && each.params?.[mark]);
  const [unstated, unshown] = [marked('isUnstated'), marked('isUnshown')];
  const broken = said.filter((issue) => !unstated.includes(issue) && !unshown.includes(issue));
  return { broken, unstated, unshown, read };
}

export interface Field {
  /** The path in the body, such as `settings`, `duration`. */
  readonly path: readonly string[];
  /** The flag's key: `duration`. */
  readonly key: string;
  readonly help: string;
  /** The schema without its `optional` wrapper. */
  readonly schema: z.ZodMiniType;
  readonly facts: FieldFacts;
}

/** The declared fields of a body in order, including those of nested objects. */
export function fieldsOf(body: z.ZodMiniType, at: readonly string[] = []): Field[] {
  const object = withoutOptional(body);
  if (!(object instanceof z.ZodMiniObject)) return [];
  return Object.entries(object.shape as Record<string, z.ZodMiniType>).flatMap(([name, schema]) => {
    const path = [...at, name];
    const told = facts.get(schema);
    if (!told) return fieldsOf(schema, path);
    const key = told.flag ?? name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    return [{ path, key, help: helpOf(schema), schema: withoutOptional(schema), facts: told }];
  });
}

/** The document's sentence about the field at a path such as `settings.duration`. */
export const saysOf = (body: z.ZodMiniType, at: string): string | undefined =>
  fieldsOf(body).find(({ path }) => path.join('.') === at)?.facts.says;

/** The words of a field that is a set; undefined for any other field. */
export const setOf = (schema: z.ZodMiniType): readonly string[] | undefined =>
  schema instanceof z.ZodMiniEnum ? schema.options.map(String) : undefined;

/** A message about a field of a body: a broken rule, or a warning. */
export interface Note {
  readonly path: readonly PropertyKey[];
  readonly message: string;
  /** The allowed values, if the message should suggest the nearest one. */
  readonly known?: readonly string[];
  /** The document's sentence about this field, if the rule has one for each field. */
  readonly sentence?: string | undefined;
}

/**
 * A rule that needs more than one field, or the model. `refuse` if the document states it; `warn` if the document is
 * silent or ambiguous: then the body is sent with a warning.
 */
export interface Rule<Body> {
  /** Unique across all bodies: `gamma.text-needs-a-ratio`. */
  readonly name: string;
  readonly verdict: 'refuse' | 'warn';
  /** The document's literal words; ` … ` separates words from different places. */
  readonly sentence?: string;
  /** Replaces `sentence` when the document is silent: the reason for our warning. */
  readonly remark?: string;
  /** Yields each breach with its remedy; `fields` returns the fields that the body declares. */
  check(body: Body, fields: () => readonly Field[]): Iterable<Note>;
}

const rules = new WeakMap<z.ZodMiniType, readonly Rule<unknown>[]>();

/** The rules between the fields of a body; empty if it has none. */
export const rulesOf = (body: z.ZodMiniType): readonly Rule<unknown>[] => rules.get(body) ?? [];

/** Adds rules to a body's schema, such as those of one model. */
export function addRules<S extends z.ZodMiniObject>(body: S, of: readonly Rule<z.infer<S>>[]): S {
  let declared: readonly Field[] | undefined;
  const fields = () => (declared ??= fieldsOf(body));
  const schema = body.check(
    z.superRefine((value, ctx) => {
      for (const rule of of) {
        if (rule.verdict === 'warn') continue;
        for (const { path, message, known, sentence } of rule.check(value as z.infer<S>, fields)) {
          const params = { rule: rule.name, sentence: sentence ?? rule.sentence, ...(known && { known }) };
          ctx.addIssue({ code: 'custom', path: [...path], message, params });
        }
      }
    }),
  );
  rules.set(schema, [...rulesOf(body), ...of] as readonly Rule<unknown>[]);
  const others = readings.get(body);
  if (others) readings.set(schema, others);
  return schema;
}

/**
 * A loose body schema with its rules; fields and shapes that the document does not list pass. Its strict schema ({@link
 * strictOf}) is made on first use.
 */
export function withRules<S extends z.ZodMiniObject>(
  make: (object: ObjectMaker) => S,
  of: readonly Rule<z.infer<S>>[] = [],
): S {
  const checked = (object: unknown) => addRules(make(object as ObjectMaker), of);
  const loose = checked(z.looseObject);
  readings.set(loose, z.lazy(() => checked(z.strictObject)) as unknown as z.ZodMiniType);
  return loose;
}

/** The strict schema of each loose body. */
const readings = new WeakMap<z.ZodMiniType, z.ZodMiniType>();

/** The schema that also refuses fields the document does not list; the loose schema if the document shows no body. */
export const strictOf = (loose: z.ZodMiniType): z.ZodMiniType => readings.get(loose) ?? loose;

/** The warnings about a body in which {@link issuesOf} found nothing broken, including each breach of a `warn` rule. */
export const oddities = (
  schema: z.ZodMiniType,
  { unstated, unshown, read }: ReturnType<typeof issuesOf>,
): (Note & { readonly rule: Rule<unknown> })[] => [
  ...[...unstated, ...unshown].map(({ path, message }) => ({ path, message, rule: notForbidden })),
  ...rulesOf(schema)
    .filter(({ verdict }) => verdict === 'warn')
    .flatMap((rule) => [...rule.check(read, () => fieldsOf(schema))].map((note) => ({ ...note, rule }))),
];

const notForbidden: Rule<unknown> = {
  name: 'value-not-forbidden',
  verdict: 'warn',
  remark: 'sent as given: the document does not forbid it',
  *check() {},
};

/**
 * A rule for fields whose values differ by model: `gamma-H3 takes 768P, 2K; 480P is for gamma-H3-Max`. `models` is
 * keyed by the names that users type; `nameOf` gives the body's model; `family` is a prefix for names that are unclear
 * alone.
 */
export function takenByModel<Body, Model>(
  rule: Pick<Rule<Body>, 'name' | 'sentence'>,
  models: Readonly<Record<string, Model>>,
  nameOf: (body: Body) => string,
  family = '',
): Rule<Body> {
  return {
    ...rule,
    verdict: 'refuse',
    *check(body, fields) {
      const name = nameOf(body);
      const model = Object.hasOwn(models, name) ? models[name] : undefined;
      if (model === undefined) return;
      for (const { path, facts } of fields()) {
        const value = valueAt(body, path);
        if (!facts.takes || value === undefined) continue;
        const takes = facts.takes(model);
        if (takes !== undefined && isTaken(takes, value)) continue;
        const others = Object.keys(models).filter((other) => {
          const taken = facts.takes?.(models[other]);
          if (taken === undefined) return false;
          return 'min' in taken ? value === taken.also : isTaken(taken, value);
        });
        const rule = takes
          ? `${family}${name} takes ${takesInWords(takes, facts, ' seconds')}`
          : `not a setting of ${family}${name}`;
        const shown = typeof value === 'boolean' ? 'it' : String(value);
        const elsewhere = others.length === 0 ? '' : `; ${shown} is for ${others.join(', ')}`;
        yield { path, message: `${rule}${elsewhere}`, sentence: facts.says };
      }
    },
  };
}

/** The value at a path of a body; undefined if there is none. */
export const valueAt = (body: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>(
    (value, key) =>
      typeof value === 'object' && value !== null && Object.hasOwn(value, key)
        ? (value as Record<PropertyKey, unknown>)[key]
        : undefined,
    body,
  );

const isTaken = (takes: Takes, value: unknown): boolean =>
  'min' in takes
    ? (Number(value) >= takes.min && Number(value) <= takes.max) || value === takes.also
    : takes.includes(String(value));

/** The allowed values as text: `768P, 2K`, `4-15 seconds`, or `4-30 seconds, or -1 (auto)`. */
export function takesInWords(takes: Takes, { words = {} }: FieldFacts, unit = ''): string {
  if (!('min' in takes)) return takes.join(', ');
  const range = `${takes.min}-${takes.max}${unit}`;
  const [word] = Object.entries(words).find(([, value]) => value === takes.also) ?? [];
  return takes.also === undefined ? range : `${range}, or ${takes.also}${word ? ` (${word})` : ''}`;
}

const typeWords: Readonly<Record<string, string>> = {
  int: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  string: 'a text',
  array: 'a list',
  object: 'an object',
  record: 'an object',
};

/**
 * The message of a limit that has none of its own, so that users never see zod's messages. Pass it to every check of a
 * body: `schema.safeParse(body, { error: inOurWords })`.
 */
export function inOurWords(issue: z.core.$ZodRawIssue): string {
  const of = (count: unknown) =>
    issue.origin === 'string'
      ? `${count} characters`
      : issue.origin === 'array'
        ? `${count} items`
        : `${count}`;
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined
        ? 'is required'
        : `must be ${typeWords[issue.expected] ?? `of type ${issue.expected}`}`;
    case 'invalid_value':
      return `${issue.values.length === 1 ? 'must be' : 'one of'} ${issue.values.map(String).join(', ')}`;
    case 'too_small':
      if (issue.minimum === 1 && (issue.origin === 'string' || issue.origin === 'array')) return 'is empty';
      return `${issue.inclusive === false ? 'more than' : 'at least'} ${of(issue.minimum)}`;
    case 'too_big':
      return `${issue.inclusive === false ? 'less than' : 'at most'} ${of(issue.maximum)}`;
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`;
    case 'unrecognized_keys':
      return `has ${issue.keys.length === 1 ? 'a field that is' : 'fields that are'} not documented: ${issue.keys.join(', ')}`;
    case 'invalid_union':
      return issue.discriminator
        ? 'not a known type of content item'
        : 'is in no form that the gateway takes';
    default:
      return 'is not in a form that the gateway takes';
  }
}

// The forms of a media reference in a body: a URL, a Base64 data URI, bare Base64.

// Control characters are written as ranges: loading the table of \p{Cc} costs 0.3 ms at each start.
const webUrl = /^https?:\/\/[^\s\x00-\x1f\x7f-\x9f]+$/i;

/** True if a text is a complete http or https URL without white space or control characters, and with a valid port. */
export const isWebUrl = (text: string): boolean => webUrl.test(text) && URL.canParse(text);

/** True if the text is Base64 from `start` on. It makes a single search, because a text may have megabytes. */
function isBase64From(text: string, start: number): boolean {
  const odd = /[^A-Za-z0-9+/]/g;
  odd.lastIndex = start;
  const end = odd.exec(text)?.index ?? text.length;
  const padding = text.length - end;
  if (end === start || padding > 2 || text.slice(end) !== '='.repeat(padding)) return false;
  return (end - start) % 4 !== 1 && (padding === 0 || (text.length - start) % 4 === 0);
}

/** True if the whole text is Base64. */
export const isBase64 = (text: string): boolean => isBase64From(text, 0);

/** True if a text is plain Base64 of an image; a shorter text is more likely an ID or a file name. */
export const isBareImage = (text: string): boolean => text.length >= 64 && isBase64(text);

export const base64Text = () => z.string().check(z.refine(isBase64, { error: 'not Base64' }));

/** True if a text is a Base64 data URI of this modality, with one of the MIME `subtypes` if they are given. */
export function isDataUri(text: string, modality: string, subtypes?: readonly string[]): boolean {
  const [head, subtype = ''] = /^data:[a-z]+\/([a-z0-9.+-]{1,64});base64,/.exec(text.slice(0, 120)) ?? [];
  if (head === undefined || !head.startsWith(`data:${modality}/`)) return false;
  return (subtypes === undefined || subtypes.includes(subtype)) && isBase64From(text, head.length);
}

export const isImageUrl = (text: string): boolean =>
  text.startsWith('data:') ? isDataUri(text, 'image') : isWebUrl(text);
