import { seededInt } from '../seeded.ts';

const DEEPEST = 8;
const MOST_ITEMS = 10;
const MOST_CHARS = 1000;

interface JsonSchema {
  readonly [key: string]: unknown;
}
const isSchema = (value: unknown): value is JsonSchema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const schemaList = (value: unknown): JsonSchema[] => (Array.isArray(value) ? value.filter(isSchema) : []);
const number = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) ? value : undefined;

/** Texts of the formats that JSON Schema names. */
const formats: Readonly<Record<string, string>> = {
  date: '2026-11-20',
  time: '12:00:00Z',
  'date-time': '2026-11-20T12:00:00Z',
  email: 'someone@example.com',
  uri: 'https://example.com/',
  uuid: '00000000-0000-4000-8000-000000000000',
};

/**
 * A value that fits a JSON schema, the same for the same seed. Knows types (in either case), const, enum, default,
 * bounds, formats, nested objects and arrays, `anyOf`, `oneOf`, `allOf` and local `$ref`; patterns it does not.
 */
export const sampleOf = (schema: unknown, seed: string): unknown =>
  isSchema(schema) ? sample(schema, { root: schema, seed, name: 'value', depth: 0 }) : {};

interface Place {
  readonly root: JsonSchema;
  readonly seed: string;
  readonly name: string;
  readonly depth: number;
}

function sample(given: JsonSchema, place: Place): unknown {
  const schema = resolve(given, place);
  if ('const' in schema) return schema.const;
  if (Array.isArray(schema.enum) && schema.enum.length > 0) {
    return schema.enum[seededInt(place.seed, place.name) % schema.enum.length];
  }
  if ('default' in schema) return schema.default;
  switch (typeOf(schema)) {
    case 'object':
      return sampleObject(schema, place);
    case 'array':
      return sampleArray(schema, place);
    case 'integer':
      return sampleNumber(schema, place, 1);
    case 'number':
      return sampleNumber(schema, place, 0.5);
    case 'boolean':
      return seededInt(place.seed, place.name) % 2 === 0;
    case 'null':
      return null;
    default:
      return sampleText(schema, place);
  }
}

/** Follows a reference and takes the first of the alternatives. */
function resolve(schema: JsonSchema, { root, depth }: Place): JsonSchema {
  let found = schema;
  for (let steps = depth; steps < DEEPEST; steps++) {
    const parts = schemaList(found.allOf);
    const [first] = [...schemaList(found.anyOf), ...schemaList(found.oneOf)];
    if (typeof found.$ref === 'string') found = lookUp(root, found.$ref);
    else if (parts.length > 0) found = merge([{ ...found, allOf: undefined }, ...parts]);
    else if (first) found = merge([{ ...found, anyOf: undefined, oneOf: undefined }, first]);
    else return found;
  }
  return found;
}

function lookUp(root: JsonSchema, ref: string): JsonSchema {
  const path = ref
    .replace(/^#\/?/, '')
    .split('/')
    .filter((part) => part !== '');
  let at: unknown = root;
  for (const part of path) at = isSchema(at) && Object.hasOwn(at, part) ? at[part] : undefined;
  return isSchema(at) ? at : {};
}

function merge(schemas: readonly JsonSchema[]): JsonSchema {
  const properties = Object.assign({}, ...schemas.map((schema) => schema.properties));
  const merged = Object.assign({}, ...schemas) as JsonSchema;
  return Object.keys(properties).length > 0 ? { ...merged, properties } : merged;
}

/** The type's name in lower case (Gemini-style schemas write capitals); where several, the first that is not null. */
function typeOf(schema: JsonSchema): string {
  const types = [schema.type].flat().map((type) => String(type).toLowerCase());
  const type = types.find((one) => one !== 'null') ?? 'null';
  if (type !== 'undefined') return type;
  if ('properties' in schema) return 'object';
  return 'items' in schema ? 'array' : 'string';
}

function sampleObject(schema: JsonSchema, place: Place): Record<string, unknown> {
  if (!isSchema(schema.properties)) return {};
  const required = new Set([schema.required].flat());
  const entries = Object.entries(schema.properties)
    // A schema that holds itself ends where it may.
    .filter(([name]) => place.depth < DEEPEST / 2 || required.has(name))
    .filter(() => place.depth < DEEPEST)
    .map(([name, inner]): [string, unknown] => [
      name,
      isSchema(inner) ? sample(inner, { ...place, name, depth: place.depth + 1 }) : null,
    ]);
  // From entries, so that a property called __proto__ is one like any other.
  return Object.fromEntries(entries);
}

function sampleArray(schema: JsonSchema, place: Place): unknown[] {
  if (!isSchema(schema.items) || place.depth >= DEEPEST) return [];
  const { items } = schema;
  const least = Math.min(number(schema.minItems) ?? 1, MOST_ITEMS);
  const length = Math.min(Math.max(least, 1), number(schema.maxItems) ?? MOST_ITEMS);
  return Array.from({ length }, (_, nth) =>
    sample(items, { ...place, name: `${place.name} ${nth + 1}`, depth: place.depth + 1 }),
  );
}

function sampleNumber(schema: JsonSchema, place: Place, step: number): number {
  const grain = number(schema.multipleOf) ?? step;
  const open = { min: number(schema.exclusiveMinimum), max: number(schema.exclusiveMaximum) };
  const min = number(schema.minimum) ?? (open.min === undefined ? undefined : open.min + grain);
  const max = number(schema.maximum) ?? (open.max === undefined ? undefined : open.max - grain);
  const least = Math.ceil((min ?? Math.min(1, max ?? 1)) / grain);
  const most = Math.floor((max ?? Math.max(100, least * grain + 100)) / grain);
  const choices = Math.max(1, Math.min(most - least + 1, 100));
  return (least + (seededInt(place.seed, place.name) % choices)) * grain;
}

function sampleText(schema: JsonSchema, place: Place): string {
  const format = typeof schema.format === 'string' ? formats[schema.format.toLowerCase()] : undefined;
  const least = Math.min(number(schema.minLength) ?? 0, MOST_CHARS);
  const most = number(schema.maxLength) ?? MOST_CHARS;
  return (format ?? `sample ${place.name}`).padEnd(least, '.').slice(0, most);
}
