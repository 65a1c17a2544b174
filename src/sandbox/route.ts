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
  /** Rewrites public clients' spellings that the document does not forbid; `told` receives each as `a as b`. */
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

/** The state that all parts of a running sandbox share. */
export interface World {
  readonly store: SandboxStore;
  readonly key: string;
  readonly account: AccountType;
  /** How much faster than the service tasks run. */
  readonly speed: number;
  /** The tokens per second of a chat model, with the speed applied. */
  readonly tokensPerS: number;
  /** Shortest life of a task from `queued` to its end, in milliseconds. */
  readonly minTaskMs: number;
  /** True to refuse undocumented fields instead of ignoring them. */
  readonly strict: boolean;
  /** Reports facts to the user that no reply can contain; each sentence once. */
  readonly tell: (what: string) => void;
  readonly faults: FaultDraw;
  /** Answers `/_sandbox/…`, if enabled. */
  readonly control?: Control | undefined;
  /** Posts status callbacks of families B and C. */
  readonly callbacks: Callbacks;
  /** The gaps of a `slow` reply, in milliseconds. */
  readonly slowGapMs: number;
  /** The host that it listens at, and the other origins whose pages may call. */
  readonly host: string;
  readonly cors: readonly string[];
  readonly clipsDir: string;
  /** Folder of the WebAssembly files of the image codecs. */
  readonly wasmDir: string;
  /** Unix milliseconds. */
  now(): number;
  /** Origin of the output listener, `http://HOST:PORT`. */
  outputUrl(): string;
}
