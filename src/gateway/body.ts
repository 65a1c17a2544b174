import * as z from 'zod/mini';
import type { Modality, Range } from './limits.ts';

// How a request's body is declared: each field once, with the flag that sets it and what each model takes of it, and the
// rules between fields as rows. Types, flags, help, checks, model sheets and the sandbox are read from here.

/** Makes the objects of a body: loose or strict; one type serves for both. */
export type ObjectMaker = typeof z.object;

/** Fields that several bodies have: made once loose and once strict, however many bodies there are. */
export function shared<S>(make: (object: ObjectMaker) => S): (object: ObjectMaker) => S {
  const made = new Map<ObjectMaker, S>();
  return (object) => {
    const fields = made.get(object) ?? make(object);
    made.set(object, fields);
    return fields;
  };
}

/** What a model takes of a field: words of a set, or a range and a value beside it. */
export type Takes = readonly string[] | (Range & { readonly also?: number });

/** What a field says beside its schema. */
export interface FieldFacts<Model = unknown> {
  /** Key of the flag, where it is not the field's own name: `watermark` for `aigc_watermark`. */
  readonly flag?: string;
  readonly short?: string;
  /** Placeholder of the value in help; a set of words or a switch has one by itself. */
  readonly value?: string;
  /** Only the user's own word may set it: no row, preset or sidecar. */
  readonly typed?: true;
  /** `--no-NAME` exists too. */
  readonly negatable?: true;
  /** Offered in help and completion where the schema holds no set. */
  readonly choices?: readonly string[];
  /** Offered in completion, where others are taken too. */
  readonly offers?: readonly string[];
  readonly completes?: `model:${string}`;
  /** Words that stand for a value: `auto` for -1. */
  readonly words?: Readonly<Record<string, unknown>>;
  /** The value that a switch sets where it is not `true`. */
  readonly sets?: unknown;
  /** What each model takes of it; undefined: the field is not one of that model. */
  readonly takes?: (model: Model) => Takes | undefined;
  /** The field's name in a model sheet, where it has a row. */
  readonly row?: string;
  /** What the document says of it, literally. */
  readonly says?: string;
  /** What the service takes where it is left out, where documented. */
  readonly fallback?: string | number | boolean;
  /** References to media: one flag for each kind of item. The command puts them into the body. */
  readonly items?: Readonly<Record<string, ItemFlag>>;
}

/** A flag that makes an item of a list such as `content`. */
export interface ItemFlag {
  /** The item's `role`, or `type` where it has no role. */
  readonly kind: string;
  /** Absent for what is no file: an element. */
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

/** A schema of its own that says what its field is about. */
export function described<S extends z.ZodMiniType>(schema: S, help: string): S {
  const own = schema.clone();
  helps.set(own, help);
  return own;
}

/** What {@link described} was told; empty where it was not. */
export const helpOf = (schema: z.ZodMiniType): string => helps.get(schema) ?? '';

export const withoutOptional = (schema: z.ZodMiniType): z.ZodMiniType =>
  schema instanceof z.ZodMiniOptional ? (schema.def.innerType as z.ZodMiniType) : schema;

/** A field that may be left out, and its flag: `help` is what the flag's line says. */
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

/** A whole number of a range that says itself: `3-15 seconds are taken`. */
export function whole({ min, max }: Range, rule = `a whole number from ${min} to ${max}`) {
  return z.int().check(z.gte(min, rule), z.lte(max, rule));
}

/**
 * What a body breaks of its schema; what is wrong with it where the document says nothing ({@link unstated}), or shows no shape
 * (`open` in `open.ts`); and the body as it is read.
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
  /** `settings`, `duration`. */
  readonly path: readonly string[];
  /** Key of its flag: `duration`. */
  readonly key: string;
  readonly help: string;
  /** Without what makes it optional. */
  readonly schema: z.ZodMiniType;
  readonly facts: FieldFacts;
}

/** The declared fields of a body, in order, also those of objects within it. */
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

/** What the document says of the field at a path such as `settings.duration`. */
export const saysOf = (body: z.ZodMiniType, at: string): string | undefined =>
  fieldsOf(body).find(({ path }) => path.join('.') === at)?.facts.says;

/** The words of a field that is a set; undefined for any other. */
export const setOf = (schema: z.ZodMiniType): readonly string[] | undefined =>
  schema instanceof z.ZodMiniEnum ? schema.options.map(String) : undefined;

/** A sentence about a field of a body: what it breaks, or what is odd about it. */
export interface Note {
  readonly path: readonly PropertyKey[];
  readonly message: string;
  /** The values that would do, where the nearest one is worth naming. */
  readonly known?: readonly string[];
  /** The document's sentence of this field, where the rule has one for each. */
  readonly sentence?: string | undefined;
}

/**
 * A rule that no single field can tell. `refuse` where the document states it; `warn` where the document is silent or can
 * be read in two ways: the body is sent all the same.
 */
export interface Rule<Body> {
  /** Unique over all bodies: `gamma.text-needs-a-ratio`. */
  readonly name: string;
  readonly verdict: 'refuse' | 'warn';
  /** What the document says, literally; words of several of its places are parted by ` … `. */
  readonly sentence?: string;
  /** In its place where the document is silent: why we say it. */
  readonly remark?: string;
  /** Each breach, with what to do about it; `fields` gives those that the body declares. */
  check(body: Body, fields: () => readonly Field[]): Iterable<Note>;
}

const rules = new WeakMap<z.ZodMiniType, readonly Rule<unknown>[]>();

/** The rules between the fields of a body; none where none are declared. */
export const rulesOf = (body: z.ZodMiniType): readonly Rule<unknown>[] => rules.get(body) ?? [];

/** A body's schema with further rules, such as those of one model. */
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
 * A body's schema with its rules: what the document neither lists nor shows passes. Its strict reading ({@link strictOf}) is
 * made when it is first used.
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

/** The strict readings of loose bodies. */
const readings = new WeakMap<z.ZodMiniType, z.ZodMiniType>();

/** The schema that refuses what the document does not list; the same one where the document shows no body. */
export const strictOf = (loose: z.ZodMiniType): z.ZodMiniType => readings.get(loose) ?? loose;

/** What is odd about a body, as {@link issuesOf} found it to break nothing: also each breach of a rule that only warns. */
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
 * A rule for the fields of which each model takes its own part: `gamma-H3 takes 768P, 2K; 480P is for gamma-H3-Max`.
 * `models` by the names that people type; `nameOf` is the one that a body is for; `family` goes before a name that says
 * too little alone.
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

/** What stands at a path of a body; undefined where nothing does. */
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

/** `768P, 2K`, `4-15 seconds`, or `4-30 seconds, or -1 (auto)`. */
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
 * The sentence of a limit that has none of its own, so that no message is zod's. Given to every check of a body:
 * `schema.safeParse(body, { error: inOurWords })`.
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

// The forms in which a body names a file or an address: a URL, a Base64 data URI, bare Base64.

// Control characters as ranges: the table behind \p{Cc} takes a third of a millisecond of every start.
const webUrl = /^https?:\/\/[^\s\x00-\x1f\x7f-\x9f]+$/i;

/** Whether a text is a complete http or https address: no white space or control character, a port that exists. */
export const isWebUrl = (text: string): boolean => webUrl.test(text) && URL.canParse(text);

/** Whether Base64 stands from `start` to the end. One search for a wrong character: megabytes are looked at once. */
function isBase64From(text: string, start: number): boolean {
  const odd = /[^A-Za-z0-9+/]/g;
  odd.lastIndex = start;
  const end = odd.exec(text)?.index ?? text.length;
  const padding = text.length - end;
  if (end === start || padding > 2 || text.slice(end) !== '='.repeat(padding)) return false;
  return (end - start) % 4 !== 1 && (padding === 0 || (text.length - start) % 4 === 0);
}

/** Whether a text is Base64 and nothing else. */
export const isBase64 = (text: string): boolean => isBase64From(text, 0);

export const base64Text = () => z.string().check(z.refine(isBase64, { error: 'not Base64' }));

/** Whether a text is the Base64 data URI of a medium; of one of these MIME subtypes where they are given. */
export function isDataUri(text: string, modality: string, subtypes?: readonly string[]): boolean {
  const [head, subtype = ''] = /^data:[a-z]+\/([a-z0-9.+-]{1,64});base64,/.exec(text.slice(0, 120)) ?? [];
  if (head === undefined || !head.startsWith(`data:${modality}/`)) return false;
  return (subtypes === undefined || subtypes.includes(subtype)) && isBase64From(text, head.length);
}

export const isImageUrl = (text: string): boolean =>
  text.startsWith('data:') ? isDataUri(text, 'image') : isWebUrl(text);
