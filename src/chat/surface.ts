import type * as z from 'zod/mini';
import { usage } from '../errors.ts';
import { flagName } from '../flags/flag.ts';
import { type SaidBy, toldAs } from '../flags/yielding.ts';
import type { Endpoint } from '../gateway/endpoint.ts';
import { type Fields, fieldsOf } from '../gateway/json-value.ts';
import type { RequestInput } from '../http/client.ts';
import { jsonIn } from '../http/parse-json.ts';
import { compactJson, placeOf } from '../json-text.ts';
import type { ChatApi, ChatPart, ChatRequest, ChatSettings, ChatUsage, ToolCall } from './chat.ts';

export type JsonObject = Record<string, unknown>;

/** A request before it is spelled: settings and turns laid over a body of the user's own, and over its own messages. */
export type BodyRequest = Pick<ChatRequest, 'model' | 'system' | 'turns' | 'settings' | 'stream'> & {
  /** The body that `--body` gave. */
  readonly base?: Readonly<JsonObject> | undefined;
};

/**
 * What to say of a setting that a surface does not document: what this surface has in its place, or how `--set` sends it all
 * the same. A function says it of some values only.
 */
export type Instead = string | ((value: unknown) => string | undefined);

/** One of the three ways to put a conversation to the gateway. */
export interface Surface {
  readonly api: ChatApi;
  /** The field of the body that holds the conversation, in this surface's own form. */
  readonly historyField: 'messages' | 'contents';
  endpoint(stream: boolean): Endpoint;
  /** What fills the endpoint's row for a finished body. */
  input(model: string, body: Readonly<JsonObject>, stream: boolean): RequestInput;
  /** The body of a request: what is asked for in this surface's own words, and nothing else. Pure. */
  body(request: BodyRequest): JsonObject;
  schema(model: string): z.ZodMiniType;
  readonly undocumented: Readonly<Partial<Record<keyof ChatSettings, Instead>>>;
  /** The flags that fields of the body come from, by the fields' names. */
  readonly flags: Readonly<Record<string, string>>;
  reader(keepWhole: boolean): ReplyReader;
}

const loaders: { readonly [A in ChatApi]: () => Promise<Surface> } = {
  completions: async () => (await import('./completions/surface.ts')).completions,
  messages: async () => (await import('./messages/surface.ts')).messages,
  geo: async () => (await import('./geo/surface.ts')).geo,
};

export const loadSurface = (api: ChatApi): Promise<Surface> => loaders[api]();

/** The flag that a field of the body comes from; none for a field inside the conversation. */
export function flagOf({ historyField, flags }: Surface, path: readonly PropertyKey[]): string | undefined {
  const [field, inner, deep] = path;
  if (field === historyField && typeof inner === 'number') return undefined;
  const names = field === 'generationConfig' ? [deep, inner] : [field];
  return names.map((name) => flags[String(name)]).find((flag) => flag !== undefined);
}

/** Throws `usage` for the first setting that a surface does not document, naming how it can still be sent. */
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

/** For a setting that only `--set` sends. */
export const bySet = (field: string): string => `--set ${field}=VALUE sends it all the same`;

/** Text parts as one text; where an image is among them, each part by itself. */
export const contentOf = (parts: readonly ChatPart[], image: (url: string) => JsonObject): unknown =>
  parts.every((part) => part.type === 'text')
    ? parts.map(({ text }) => text).join('\n\n')
    : parts.map((part) => (part.type === 'text' ? { type: 'text', text: part.text } : image(part.url)));

/**
 * The schema inside a file that is a whole `response_format` already (`{"type":"json_schema","json_schema":{…}}`);
 * undefined for a file that is the schema itself.
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
  // No pattern over the whole: images are megabytes.
  const comma = url.indexOf(',');
  const mime = url.slice('data:'.length, comma).replace(/;.*$/, '');
  return { mime, base64: url.slice(comma + 1) };
}

export const given = (fields: Fields): JsonObject =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

/** The JSON of a tool call's arguments as a value; an empty object where there is none or it is cut. */
export const argumentsOf = (text: string): JsonObject => ({ ...fieldsOf(jsonIn(text)) });

/** A call's arguments as the JSON text that all surfaces share: as written at a path of the text that they were read from. */
export function argumentsText(value: unknown, source = '', ...path: string[]): string {
  if (typeof value === 'string') return value;
  const { start, end } = placeOf(source, path) ?? {};
  return value && end ? compactJson(source.slice(start, end)) : JSON.stringify(value ?? {});
}

/** What an event of a stream, or a whole reply, says at once. */
export interface Heard {
  hear(kind: 'text' | 'thinking', words: string): void;
  /** Tells of what is kept even of an answer that is not kept whole: about so many bytes of tool calls. */
  keep(bytes: number): void;
}

/** What a tool call costs to keep beside its arguments: few enough calls that all can be gone through. */
export const CALL_BYTES = 4096;

/** An error that a stream told of in mid-stream, in the surface's own shape. */
export class StreamedError extends Error {
  override readonly name = 'StreamedError';
  constructor(
    /** The body of the error, as it would stand in an error reply. */
    readonly body: unknown,
  ) {
    super('the stream told of an error');
  }
}

/** The texts of the answers after the first one, which is told as it comes. */
export class FurtherTexts {
  readonly #texts = new Map<number, string>();

  add(index: number, words: string, heard: Heard): void {
    this.#texts.set(index, (this.#texts.get(index) ?? '') + words);
    heard.keep(words.length);
  }

  inOrder(): string[] {
    return [...this.#texts].sort(([one], [other]) => one - other).map(([, text]) => text);
  }
}

/** Reads one reply of one surface and remembers what the verdict needs. */
export interface ReplyReader {
  /** Takes an event's value, and its text, by hand: a schema would cost more. Throws StreamedError for an error. */
  event(value: unknown, heard: Heard, text: string): void;
  whole(reply: unknown, heard: Heard, text: string): void;
  /** Whether the surface has said that the answer is complete. */
  isFinished(): boolean;
  readonly toolCalls: readonly ToolCall[];
  readonly further?: FurtherTexts;
  readonly finishReason: string | undefined;
  readonly usage: ChatUsage;
  /** The reply as it would have come unstreamed; only where all is kept. */
  reply(): unknown;
  /** What the surface wants back in the next request; only where all is kept, and where plain text would not do. */
  native(): unknown;
}
