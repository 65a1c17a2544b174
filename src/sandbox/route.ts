import { type Endpoint, matchPath } from '../gateway/endpoint.ts';
import type { AccountType } from '../gateway/limits.ts';
import type { Callbacks } from './callbacks.ts';
import type { Control } from './control.ts';
import type { FaultDraw } from './faults.ts';
import type { Refusal, SandboxReply } from './reply.ts';
import type { FormBody } from './request-body.ts';
import type { SandboxStore } from './store.ts';
import type { Pool } from './task.ts';

/** An admitted request: its path parameters, its URL, and its checked body or its form. */
export interface Call {
  readonly params: Readonly<Record<string, string>>;
  readonly url: URL;
  /** Checked against the route's schema; undefined if a form came or the route takes no body. */
  readonly body: unknown;
  /** The content of a multipart request, unchecked. */
  readonly form?: FormBody;
  /** Reports undocumented fields that were accepted. */
  readonly passOver: (fields: readonly string[]) => void;
}

/** Facts about a refused request that its route may need. */
export interface Refused {
  readonly url: URL;
  /** True if a fault asks for family B's refusals with status 200. */
  readonly codeOnly: boolean;
}

/** An endpoint with the embedded gateway's implementation. */
export interface Route {
  readonly endpoint: Endpoint;
  /** The body is checked by `answer`, which words its refusals itself. */
  readonly checksBody?: true;
  /**
   * Rewrites spellings of public clients that differ from the document's without being forbidden, and adds each to
   * `told`: `a as b`.
   */
  readonly respell?: (body: unknown, told: Set<string>) => unknown;
  /** Also accepts multipart form data; `answer` checks it. */
  readonly multipart?: true;
  /** The rate that the request counts against, by its raw body; absent if the document states no rate. */
  readonly pool?: (body: unknown) => Pool;
  /** Makes refusals in another form than `{error:{…}}`; a wrong key is still refused in the common form. */
  readonly refuse?: (refusal: Refusal, asked: Refused) => SandboxReply;
  /** May throw Refusal. */
  readonly answer: (call: Call, world: World) => SandboxReply | Promise<SandboxReply>;
}

/**
 * The route of a request; `methods` if the path exists only for other methods; an empty list if there is no such path.
 * Routes that differ by the `Action` in their fixed query are distinguished by the request's action.
 */
export function findRoute(
  routes: readonly Route[],
  method: string,
  url: URL,
):
  | { readonly route: Route; readonly params: Readonly<Record<string, string>> }
  | { readonly methods: string[] } {
  const methods: string[] = [];
  for (const route of routes) {
    const [path = '', query] = route.endpoint.path.split('?');
    const params = matchPath(path, url.pathname);
    if (!params) continue;
    const action = new URLSearchParams(query).get('Action');
    if (action !== null && action !== url.searchParams.get('Action')) continue;
    if (route.endpoint.method === method) return { route, params };
    if (!methods.includes(route.endpoint.method)) methods.push(route.endpoint.method);
  }
  return { methods };
}

/** What its user may set of a sandbox. */
export interface SandboxSettings {
  /** The only valid API key; it gets 403 if it ends in `-restricted`. */
  readonly key: string;
  readonly account: AccountType;
  /** How much faster than the service tasks run and chat models write; above 0, may be Infinity. */
  readonly speed: number;
  /** Folder of the clips for outputs (`src/sandbox/clips`, or its copy beside the bundle). */
  readonly clipsDir: string;
  /** Folder of the image codecs' WebAssembly files (`dist/wasm`). */
  readonly wasmDir: string;
  /** The tokens per second of a chat model at speed 1 (default 50); in a {@link World} with the speed applied. */
  readonly tokensPerS: number;
  /** Shortest life of a task from `queued` to its end, in milliseconds (default 0). */
  readonly minTaskMs: number;
  /** Refuse undocumented fields; by default they are ignored and reported. */
  readonly strict: boolean;
  /** Gap between the pieces of a `slow` reply, in milliseconds (default 250). */
  readonly slowGapMs: number;
  /** The address or host name to listen at (default 127.0.0.1). */
  readonly host: string;
  /** Origins whose pages may call; none by default. */
  readonly cors: readonly string[];
}

/** The state that all parts of a running sandbox share. */
export interface World extends SandboxSettings {
  readonly store: SandboxStore;
  /** Reports facts to the user that no reply can contain; each sentence once. */
  readonly tell: (what: string) => void;
  readonly faults: FaultDraw;
  /** Answers `/_sandbox/…`, if enabled. */
  readonly control?: Control | undefined;
  /** Posts status callbacks of families B and C. */
  readonly callbacks: Callbacks;
  /** Unix milliseconds. */
  now(): number;
  /** Origin of the output listener, `http://HOST:PORT`. */
  outputUrl(): string;
}
