import { type Fields, isObject, itemsOf, numberOf } from '../../gateway/json-value.ts';
import { eventReply, jsonReply, type ReplyEvent, type SandboxReply } from '../reply.ts';
import type { World } from '../route.ts';
import { seededInt, seededRandom } from '../seeded.ts';
import type { Question, ToolOffer } from './input.ts';

/** A prompt with this text is refused by the content filter. */
export const SENSITIVE_TEXT = 'sensitive-text';

const MOST_WORDS = 100_000;
const SHOWN_PROMPT_WORDS = 12;
const CLOSING_WORDS = 28;

export interface Call {
  readonly id: string;
  readonly name: string;
  readonly arguments: unknown;
}

/** The model's answer, in tokens, so that it can be counted, cut and paced. */
export interface Answer {
  /** Decides the IDs, so that the same question gets the same ones. */
  readonly seed: string;
  readonly thoughts: readonly string[];
  readonly text: readonly string[];
  readonly calls: readonly Call[];
  readonly end: 'done' | 'stop' | 'length' | 'calls' | 'filter';
  /** The stop sequence that ended it. */
  readonly stop: string | undefined;
  /** The tokens of text and calls, without reasoning. */
  readonly outputTokens: number;
}

/** Answers a question, always in the same way. `nth` numbers further answers to it, from 1. */
export function answer(question: Question, nth = 0): Answer {
  const seed = nth === 0 ? seedOf(question) : `${seedOf(question)}-${nth}`;
  const nothing = { seed, thoughts: [], text: [], calls: [], stop: undefined, outputTokens: 0 };
  if (question.prompt.includes(SENSITIVE_TEXT)) return { ...nothing, end: 'filter' };

  const { maxTokens = Number.POSITIVE_INFINITY } = question;
  const thoughts = tokensOf(prose(`${seed} thought`, question.reasoning.tokens)).slice(0, maxTokens);
  const left = maxTokens - thoughts.length;
  if (left <= 0) return { ...nothing, thoughts, end: 'length' };

  const calls = toolsToCall(question).map((tool, nth) => ({
    id: `call_${seededInt(seed, 'call', String(nth)).toString(36)}${nth}`,
    name: tool.name,
    arguments: sampleOf(tool.parameters, seed),
  }));
  if (calls.length > 0) {
    const outputTokens = calls.reduce((sum, call) => sum + tokensOfCall(call).length, 0);
    if (outputTokens > left) return { ...nothing, thoughts, end: 'length', outputTokens: left };
    return { ...nothing, thoughts, calls, end: 'calls', outputTokens };
  }
  return { ...nothing, thoughts, ...said(question, seed, left) };
}

export const tokensOfCall = (call: Call): string[] => [
  call.name,
  ...tokensOf(JSON.stringify(call.arguments)),
];

const seedOf = (question: Question): string => {
  const { model, messages, prompt, images, toolResults } = question;
  return String(seededInt(JSON.stringify([model, messages, prompt, images, toolResults])));
};

/** The text, cut at a stop sequence or at the limit. */
function said(
  question: Question,
  seed: string,
  left: number,
): Pick<Answer, 'text' | 'end' | 'stop' | 'outputTokens'> {
  const whole = question.json ? JSON.stringify(jsonAnswer(question, seed)) : textAnswer(question, seed);
  const stop = firstStop(whole, question.stops);
  const all = tokensOf(stop === undefined ? whole : whole.slice(0, whole.indexOf(stop)));
  if (all.length > left) {
    return { text: all.slice(0, left), end: 'length', stop: undefined, outputTokens: left };
  }
  return { text: all, end: stop === undefined ? 'done' : 'stop', stop, outputTokens: all.length };
}

function firstStop(text: string, stops: readonly string[]): string | undefined {
  const found = stops.filter((stop) => stop !== '' && text.includes(stop));
  return found.sort((one, other) => text.indexOf(one) - text.indexOf(other))[0];
}

const jsonAnswer = ({ json, messages }: Question, seed: string): unknown =>
  json?.schema === undefined ? { answer: prose(seed, 7), messages } : sampleOf(json.schema, seed);

function textAnswer(question: Question, seed: string): string {
  const asked = /\b(\d{1,6}) words\b/i.exec(question.prompt)?.[1];
  if (asked !== undefined) return prose(seed, Math.min(Number(asked), MOST_WORDS));
  if (/\bmarkdown\b/i.test(question.prompt)) return markdownSample;
  return [...whatWasSeen(question), prose(seed, CLOSING_WORDS)].join(' ');
}

function* whatWasSeen({ messages, images, toolResults, prompt }: Question): Generator<string> {
  yield `I read ${messages} ${messages === 1 ? 'message' : 'messages'}.`;
  if (images.length > 0) {
    const each = images.map((image, nth) => `image ${nth + 1} is ${image.words}`).join(', ');
    yield `I saw ${images.length} ${images.length === 1 ? 'image' : 'images'}: ${each}.`;
  }
  for (const { name, content } of toolResults) yield `The tool ${name} said: ${firstWords(content)}.`;
  if (prompt.trim() !== '') yield `You wrote: "${firstWords(prompt)}".`;
}

function firstWords(text: string): string {
  const words = text.trim().slice(0, 1000).split(/\s+/);
  return words.length > SHOWN_PROMPT_WORDS
    ? `${words.slice(0, SHOWN_PROMPT_WORDS).join(' ')} …`
    : words.join(' ');
}

/**
 * Chooses the tools to call: the forced tool, or the tools that the prompt names, or the first one if a call is required.
 * None if their results are already there.
 */
function toolsToCall({ tools, toolChoice, toolResults, prompt }: Question): readonly ToolOffer[] {
  if (toolResults.length > 0 || toolChoice === 'none') return [];
  if (typeof toolChoice === 'object') return tools.filter((tool) => tool.name === toolChoice.name);
  const named = tools.filter((tool) => isNamed(tool.name, prompt));
  return toolChoice === 'any' && named.length === 0 ? tools.slice(0, 1) : named;
}

/** True if a prompt names a tool: `get_weather`, or the same words with blanks. */
function isNamed(name: string, prompt: string): boolean {
  const pattern = name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/[_-]/g, '[_ -]');
  return new RegExp(`(?<![\\w-])${pattern}(?![\\w-])`, 'i').test(prompt);
}

// The invented text of answers. Some words are not ASCII, to reveal clients that split characters.

const words = (
  'amber anchor basin birch café candle cedar cloud coast copper delta dune ember fern field flint forest ' +
  'garden glass harbor hazel heron island ivory jade kelp lake lantern linen marble meadow mist moss naïve ' +
  'north oak orchard otter pebble pine quartz quill rain reed ridge river saddle sand shore silver slate ' +
  'snow sparrow spruce stone summit thistle tide timber valley velvet violet water willow winter 日本 🦊'
).split(' ');

/** Makes this many words in sentences of seven, always the same for the same seed. */
function prose(seed: string, count: number): string {
  const random = seededRandom(seededInt(seed));
  const said = Array.from({ length: count }, (_, nth) => {
    const word = words[Math.floor(random() * words.length)] ?? 'and';
    const begun = nth % 7 === 0 ? word.charAt(0).toUpperCase() + word.slice(1) : word;
    return nth % 7 === 6 || nth === count - 1 ? `${begun}.` : begun;
  });
  return said.join(' ');
}

/** An answer with all elements of Markdown, for clients that render it. */
const markdownSample = `# A heading

Some *emphasis*, some **strength**, \`code\` and a [link](https://example.com/).

- first
- second
  1. nested

> A quote.

| name | value |
|---|---:|
| one | 1 |

\`\`\`ts
const answer = 42;
\`\`\``;

const DEEPEST = 8;
const MOST_ITEMS = 10;
const MOST_CHARS = 1000;

type JsonSchema = Fields;
const schemaList = (value: unknown): JsonSchema[] => itemsOf(value).filter(isObject);

/** Sample texts of the formats that JSON Schema names. */
const formats: Readonly<Record<string, string>> = {
  date: '2026-11-20',
  time: '12:00:00Z',
  'date-time': '2026-11-20T12:00:00Z',
  email: 'someone@example.com',
  uri: 'https://example.com/',
  uuid: '00000000-0000-4000-8000-000000000000',
};

/**
 * Makes a value that matches a JSON schema, always the same for the same seed. It supports types (in either case), const,
 * enum, default, bounds, formats, nested objects and arrays, `anyOf`, `oneOf`, `allOf` and local `$ref`, but no patterns.
 */
export const sampleOf = (schema: unknown, seed: string): unknown =>
  isObject(schema) ? sample(schema, { root: schema, seed, name: 'value', depth: 0 }) : {};

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

/** Resolves a reference, and takes the first alternative. */
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
  for (const part of path) at = isObject(at) && Object.hasOwn(at, part) ? at[part] : undefined;
  return isObject(at) ? at : {};
}

function merge(schemas: readonly JsonSchema[]): JsonSchema {
  const properties = Object.assign({}, ...schemas.map((schema) => schema.properties));
  const merged = Object.assign({}, ...schemas) as JsonSchema;
  return Object.keys(properties).length > 0 ? { ...merged, properties } : merged;
}

/** The type's name in lower case (Gemini-style schemas use capitals); of several, the first that is not null. */
function typeOf(schema: JsonSchema): string {
  const types = [schema.type].flat().map((type) => String(type).toLowerCase());
  const type = types.find((one) => one !== 'null') ?? 'null';
  if (type !== 'undefined') return type;
  if ('properties' in schema) return 'object';
  return 'items' in schema ? 'array' : 'string';
}

function sampleObject(schema: JsonSchema, place: Place): Record<string, unknown> {
  if (!isObject(schema.properties)) return {};
  const required = new Set([schema.required].flat());
  const entries = Object.entries(schema.properties)
    // A recursive schema ends as soon as only optional properties remain.
    .filter(([name]) => place.depth < DEEPEST / 2 || required.has(name))
    .filter(() => place.depth < DEEPEST)
    .map(([name, inner]): [string, unknown] => [
      name,
      isObject(inner) ? sample(inner, { ...place, name, depth: place.depth + 1 }) : null,
    ]);
  // Built from entries, so that a property called __proto__ is an ordinary one.
  return Object.fromEntries(entries);
}

function sampleArray(schema: JsonSchema, place: Place): unknown[] {
  if (!isObject(schema.items) || place.depth >= DEEPEST) return [];
  const { items } = schema;
  const least = Math.min(numberOf(schema.minItems) ?? 1, MOST_ITEMS);
  const length = Math.min(Math.max(least, 1), numberOf(schema.maxItems) ?? MOST_ITEMS);
  return Array.from({ length }, (_, nth) =>
    sample(items, { ...place, name: `${place.name} ${nth + 1}`, depth: place.depth + 1 }),
  );
}

function sampleNumber(schema: JsonSchema, place: Place, step: number): number {
  const grain = numberOf(schema.multipleOf) ?? step;
  const open = { min: numberOf(schema.exclusiveMinimum), max: numberOf(schema.exclusiveMaximum) };
  const min = numberOf(schema.minimum) ?? (open.min === undefined ? undefined : open.min + grain);
  const max = numberOf(schema.maximum) ?? (open.max === undefined ? undefined : open.max - grain);
  const least = Math.ceil((min ?? Math.min(1, max ?? 1)) / grain);
  const most = Math.floor((max ?? Math.max(100, least * grain + 100)) / grain);
  const choices = Math.max(1, Math.min(most - least + 1, 100));
  return (least + (seededInt(place.seed, place.name) % choices)) * grain;
}

function sampleText(schema: JsonSchema, place: Place): string {
  const format = typeof schema.format === 'string' ? formats[schema.format.toLowerCase()] : undefined;
  const least = Math.min(numberOf(schema.minLength) ?? 0, MOST_CHARS);
  const most = numberOf(schema.maxLength) ?? MOST_CHARS;
  return (format ?? `sample ${place.name}`).padEnd(least, '.').slice(0, most);
}

/** Longest run of characters that counts as one token. */
const COUNTED_CHARS = 16;

/** Splits a text into tokens: each is a word with the white space before it; long words are cut. */
export const tokensOf = (text: string): string[] => text.match(/\s*\S{1,16}|\s+$/gu) ?? [];

/** Counts the tokens of a text without making them, because it may be megabytes long. */
export function countTokens(text: string): number {
  let tokens = 0;
  let inWord = 0;
  for (let at = 0; at < text.length; at++) {
    if (text.charCodeAt(at) <= 0x20) inWord = 0;
    else if (inWord++ % COUNTED_CHARS === 0) tokens++;
  }
  return tokens;
}

/** A reply as a stream of events, or as a whole after its last token. */
export function chatReply(
  whole: unknown,
  events: Iterable<ReplyEvent> | undefined,
  answers: readonly Answer[],
  pace: Pace,
): SandboxReply {
  if (events) return eventReply(events, whole);
  const tokens = answers.reduce((sum, { thoughts, outputTokens }) => sum + thoughts.length + outputTokens, 0);
  return { ...jsonReply(200, whole), readyAfterMs: pace(tokens) };
}

/** The speed of a medium chat model, at speed 1. */
export const TOKENS_PER_S = 50;

/** The first token takes as long as this many others. */
const FIRST_TOKENS = 20;

/** The time of the nth token in milliseconds after the request. */
export type Pace = (nthToken: number) => number;

export const paceOf =
  ({ tokensPerS }: Pick<World, 'tokensPerS'>): Pace =>
  (nthToken) =>
    ((FIRST_TOKENS + nthToken) * 1000) / tokensPerS;
