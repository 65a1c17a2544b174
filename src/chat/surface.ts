import type * as z from 'zod/mini';
import { usage } from '../errors.ts';
import { flagName } from '../flags/flag.ts';
import { type SaidBy, toldAs } from '../flags/yielding.ts';
import type { Endpoint } from '../gateway/endpoint.ts';
import { type Fields, fieldsOf, isObject, textOf } from '../gateway/json-value.ts';
import type { RequestInput } from '../http/client.ts';
import { jsonIn, MAX_JSON_DEPTH, parseJson } from '../http/parse-json.ts';
import { holdsRaw, jsonText, RawJson } from '../io/escape.ts';
import { compactJson, membersOf } from '../json-text.ts';
import type { ChatApi, ChatPart, ChatRequest, ChatSettings, ChatUsage, ToolCall } from './chat.ts';

export type JsonObject = Record<string, unknown>;

/** The input for a body: settings and turns that are merged over the user's own body and messages. */
export type BodyRequest = Pick<ChatRequest, 'model' | 'system' | 'turns' | 'settings' | 'stream'> & {
  /** The body from `--body`. */
  readonly base?: Readonly<JsonObject> | undefined;
};

/**
 * The hint for a setting that a surface does not document: the surface's own alternative, or the `--set` that sends it. A
 * function returns a hint for some values only.
 */
type Instead = string | ((value: unknown) => string | undefined);

/** One of the three ways to send a conversation to the gateway. */
export interface Surface {
  readonly api: ChatApi;
  /** The field of the body with the conversation, in the surface's own form. */
  readonly historyField: 'messages' | 'contents';
  endpoint(stream: boolean): Endpoint;
  /** The input for the endpoint, made from a finished body. */
  input(model: string, body: Readonly<JsonObject>, stream: boolean): RequestInput;
  /** The body of a request, in the surface's own fields. A pure function. */
  body(request: BodyRequest): JsonObject;
  schema(model: string): z.ZodMiniType;
  readonly undocumented: Readonly<Partial<Record<keyof ChatSettings, Instead>>>;
  /** Maps fields of the body to the flags that set them. */
  readonly flags: Readonly<Record<string, string>>;
  reader(keepWhole: boolean): ReplyReader;
}

const loaders: { readonly [A in ChatApi]: () => Promise<Surface> } = {
  completions: async () => (await import('./completions/surface.ts')).completions,
  messages: async () => (await import('./messages/surface.ts')).messages,
  geo: async () => (await import('./geo/surface.ts')).geo,
};

export const loadSurface = (api: ChatApi): Promise<Surface> => loaders[api]();

/** The flag that sets a field of the body; undefined for a field inside the conversation. */
export function flagOf({ historyField, flags }: Surface, path: readonly PropertyKey[]): string | undefined {
  const [field, inner, deep] = path;
  if (field === historyField && typeof inner === 'number') return undefined;
  const names = field === 'generationConfig' ? [deep, inner] : [field];
  return names.map((name) => flags[String(name)]).find((flag) => flag !== undefined);
}

/** Throws `usage` for the first setting that a surface does not document, with a way to send it. */
export function refuseUndocumented(settings: ChatSettings & SaidBy, { api, undocumented }: Surface): void {
  for (const [key, instead] of Object.entries(undocumented)) {
    const value = settings[key as keyof ChatSettings];
    const hint = typeof instead === 'string' ? instead : instead(value);
    if (value === undefined || value === false || hint === undefined) continue;
    const name = toldAs(flagName(key), settings, 'chat');
    const flag = typeof instead === 'string' ? name : `${name} ${value}`;
    const other = hint.includes('--set ') ? '' : '; any other field goes through --set PATH=VALUE';
    throw usage(`${flag}: not documented for --api ${api}`, `${hint}${other}`);
  }
}

/** The hint for a setting that only `--set` can send. */
export const bySet = (field: string): string => `--set ${field}=VALUE sends it all the same`;

/** Joins text parts into one text; with an image, the parts stay separate. */
export const contentOf = (parts: readonly ChatPart[], image: (url: string) => JsonObject): unknown =>
  parts.every((part) => part.type === 'text')
    ? parts.map(({ text }) => text).join('\n\n')
    : parts.map((part) => (part.type === 'text' ? { type: 'text', text: part.text } : image(part.url)));

/**
 * The schema in a file that already is a whole `response_format` (`{"type":"json_schema","json_schema":{…}}`); undefined
 * if the file is the schema itself.
 */
export function wrappedSchema(format: Fields): Fields | undefined {
  const { type, json_schema: wrapped } = fieldsOf(format);
  const { schema } = fieldsOf(wrapped);
  return type === 'json_schema' && typeof schema === 'object' && schema !== null
    ? fieldsOf(schema)
    : undefined;
}

export function splitDataUri(url: string): { readonly mime: string; readonly base64: string } | undefined {
  if (!url.startsWith('data:')) return undefined;
  // No regular expression over the whole URL, because images are megabytes.
  const comma = url.indexOf(',');
  const mime = url.slice('data:'.length, comma).replace(/;.*$/, '');
  return { mime, base64: url.slice(comma + 1) };
}

export const given = (fields: Fields): JsonObject =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

/** The input of a request, its body spelled out as text if that holds integers that JavaScript would round. */
export const spelled = (input: RequestInput): RequestInput =>
  holdsRaw(input.body) ? { ...input, bodyText: jsonText(input.body) } : input;

const isRounded = (text: string): boolean => /^-?\d{16,}$/.test(text) && !Number.isSafeInteger(Number(text));

/** Parses JSON, unless its `value` is known; integers that JavaScript would round become RawJson. */
export function exactJson(text: string, value = jsonIn(text)): unknown {
  // Such an integer alone stays a text.
  if (isRounded(text.trim())) return undefined;
  if (/\d{16}/.test(text)) keepTexts(value, text, MAX_JSON_DEPTH, (_, source) => isRounded(source));
  return value;
}

/** The arguments of a tool call as an object; empty if their JSON is missing or cut. */
export const argumentsOf = (text: string): JsonObject => ({ ...fieldsOf(exactJson(text)) });

/** As `argumentsOf`, for a reply: the model's spelling and long integers stay. */
export const spelledArguments = (text: string): JsonObject | RawJson =>
  isObject(jsonIn(text)) ? new RawJson(compactJson(text)) : {};

/** A call's arguments as the JSON text that all surfaces share. */
export function argumentsText(value: unknown): string {
  if (value instanceof RawJson) return value.text;
  return typeof value === 'string' ? value : JSON.stringify(value ?? {});
}

/**
 * Parses a reply or an event, unless its `value` is known. The arguments of calls become RawJson unless they are a string,
 * because their spelling must stay, and so do integers that JavaScript would round. Throws UnreadableJson.
 */
export function parseReply(text: string, value = parseJson(text)): unknown {
  // No call lies deeper than eight levels (geo, in a list of events); a limit keeps this quick for any reply.
  if (/"(?:arguments|input|args)"\s*:\s*[{[]|\d{16}/.test(text)) keepTexts(value, text, 8, isKept);
  return value;
}

const isKept = (name: string | number, source: string): boolean =>
  isRounded(source) || (/^(?:arguments|input|args)$/.test(`${name}`) && /^[{[]/.test(source));

/** Replaces members of a parsed value by the RawJson of their text, down to a number of levels. */
function keepTexts(value: unknown, text: string, levels: number, isToKeep: typeof isKept): void {
  const fields: JsonObject = Object(value);
  for (const { name, start, end } of membersOf(text, 0)) {
    const source = text.slice(start, end);
    if (isToKeep(name, source)) fields[name] = new RawJson(compactJson(source));
    else if (levels > 1) keepTexts(fields[name], source, levels - 1, isToKeep);
  }
}

/** Receives the parts of an event or of a whole reply. */
export interface Heard {
  hear(kind: 'text' | 'thinking', words: string): void;
  /** Counts the bytes of tool calls, which are kept even if the answer is not kept whole. */
  keep(bytes: number): void;
}

/** The memory that each tool call counts for beside its arguments, which limits the number of calls. */
export const CALL_BYTES = 4096;

/** An error in the middle of a stream, in the surface's own form. */
export class StreamedError extends Error {
  override readonly name = 'StreamedError';
  constructor(
    /** The body of the error, in the form of an error reply. */
    readonly body: unknown,
  ) {
    super('the stream told of an error');
  }
}

/** Collects the second and later answers; the first one is reported while it arrives. */
export class FurtherAnswers {
  readonly #answers = new Map<number, { readonly text: string; readonly finishReason: string | undefined }>();

  add(index: number, words: string, reason: unknown, heard: Heard): void {
    const { text = '', finishReason } = this.#answers.get(index) ?? {};
    this.#answers.set(index, { text: text + words, finishReason: textOf(reason) || finishReason });
    heard.keep(words.length);
  }

  inOrder() {
    return [...this.#answers].sort(([one], [other]) => one - other).map(([, answer]) => answer);
  }
}

/** Reads one reply of a surface and keeps the facts that the verdict needs. */
export interface ReplyReader {
  /** Reads an event of `parseReply` without a schema, which would be slower. Throws StreamedError for an error. */
  event(value: unknown, heard: Heard): void;
  whole(reply: unknown, heard: Heard): void;
  /** True if the surface has marked the answer as complete. */
  isFinished(): boolean;
  readonly toolCalls: readonly ToolCall[];
  readonly further?: FurtherAnswers;
  readonly finishReason: string | undefined;
  readonly usage: ChatUsage;
  /** The equivalent whole reply; only if the answer is kept whole. */
  reply(): unknown;
  /** The turn in the surface's own form, if it is kept whole and plain text would not suffice for the next request. */
  native?(): unknown;
}
