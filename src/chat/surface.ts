import type * as z from 'zod';
import type { Endpoint } from '../gateway/endpoint.ts';
import type { RequestInput } from '../http/client.ts';
import type { ChatApi, ChatRequest, ChatSettings } from './chat.ts';
import type { ReplyReader } from './reply-reader.ts';

export type JsonObject = Record<string, unknown>;

/** A request before it is spelled: settings and turns laid over a body of the user's own, and over its own messages. */
export type BodyRequest = Pick<ChatRequest, 'model' | 'system' | 'turns' | 'settings' | 'stream'> & {
  /** The body that `--body` gave. */
  readonly base?: Readonly<JsonObject> | undefined;
};

/** A setting that a surface does not document. */
export interface Undocumented {
  readonly flag: string;
  /** What this surface has in its place, or how `--set` sends it all the same. */
  readonly hint: string;
}

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
  /** The body's schema with the rules of that model. */
  schema(model: string): z.ZodType;
  /** The settings among these that this surface does not document. */
  undocumented(settings: ChatSettings): readonly Undocumented[];
  /** The flag that a field of the body comes from. */
  flagOf(path: readonly PropertyKey[]): string | undefined;
  /** Reads one reply, streamed or whole. */
  reader(keepWhole: boolean): ReplyReader;
}

const loaders: { readonly [A in ChatApi]: () => Promise<Surface> } = {
  completions: async () => (await import('./completions/surface.ts')).completions,
  messages: async () => (await import('./messages/surface.ts')).messages,
  geo: async () => (await import('./geo/surface.ts')).geo,
};

/** A surface, loaded when it is asked for. */
export const loadSurface = (api: ChatApi): Promise<Surface> => loaders[api]();

/** A setting that only `--set` sends; none where it was not given. */
export const bySet = (flag: string, field: string, value: unknown): Undocumented[] =>
  value === undefined ? [] : [{ flag, hint: `--set ${field}=VALUE sends it all the same` }];
