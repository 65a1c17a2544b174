import { type Endpoint, matchPath } from '../gateway/endpoint.ts';
import type { AccountType } from '../gateway/limits.ts';
import type { Callbacks } from './callbacks.ts';
import type { Control } from './control.ts';
import type { FaultDraw } from './faults.ts';
import type { Refusal, SandboxReply } from './reply.ts';
import type { FormBody } from './request-body.ts';
import type { SandboxStore } from './store.ts';
import type { Pool } from './task.ts';

/** A request that was let in: its path parameters, its address, and its checked body or its form. */
export interface Call {
  readonly params: Readonly<Record<string, string>>;
  readonly url: URL;
  /** Checked against the route's schema; undefined where a form came, or the route takes no body. */
  readonly body: unknown;
  /** What a multipart request carried, unchecked. */
  readonly form?: FormBody;
  /** To be told of fields that were taken though the document does not list them. */
  readonly passOver: (fields: readonly string[]) => void;
}

/** What a route may want to know of a request that it refuses. */
export interface Refused {
  readonly url: URL;
  /** A fault wants family B's refusals to come with status 200. */
  readonly codeOnly: boolean;
}

/** An endpoint's row with what the embedded gateway does about it. */
export interface Route {
  readonly endpoint: Endpoint;
  /** The body is checked by `answer`, in whose words it is refused. */
  readonly checksBody?: true;
  /**
   * Rewrites what the format's public clients spell in another way than the document, where that is not forbidden, and
   * adds each rewriting to `told`: `a as b`.
   */
  readonly respell?: (body: unknown, told: Set<string>) => unknown;
  /** Also takes multipart form data; `answer` checks it. */
  readonly multipart?: true;
  /** Which rate the request counts against, from the body as it came; none: the document states no rate. */
  readonly pool?: (body: unknown) => Pool;
  /** Its refusals in another shape than `{error:{…}}`; a wrong key is refused by the gateway all the same. */
  readonly refuse?: (refusal: Refusal, asked: Refused) => SandboxReply;
  /** May throw Refusal. */
  readonly answer: (call: Call, world: World) => SandboxReply | Promise<SandboxReply>;
}

/**
 * The route of a request; `methods` where the path exists for others only; an empty list where there is no such path. Of
 * rows that differ by the `Action` of their fixed query, the one that the request names.
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

/** What every part of a running sandbox shares. */
export interface World {
  readonly store: SandboxStore;
  readonly key: string;
  readonly account: AccountType;
  /** How many times faster than the service tasks run. */
  readonly speed: number;
  /** How many tokens of an answer a chat model writes in a second, the speed counted in. */
  readonly tokensPerS: number;
  /** Shortest life of a task from `queued` to its end, in milliseconds. */
  readonly minTaskMs: number;
  /** Refuses what the document does not list, in place of passing it over. */
  readonly strict: boolean;
  /** Tells whoever runs the sandbox what no reply can say; each sentence once. */
  readonly tell: (what: string) => void;
  readonly faults: FaultDraw;
  /** Answers `/_sandbox/…`, where that is open. */
  readonly control?: Control | undefined;
  /** Posts status callbacks of families B and C. */
  readonly callbacks: Callbacks;
  /** How long the gaps of a `slow` reply are, in milliseconds. */
  readonly slowGapMs: number;
  /** The host that it listens at, and the other origins whose pages may call. */
  readonly host: string;
  readonly cors: readonly string[];
  readonly clipsDir: string;
  /** Folder of the WebAssembly files of the image codecs, by their names. */
  readonly wasmDir: string;
  /** Unix milliseconds. */
  now(): number;
  /** Origin of the output listener, `http://HOST:PORT`. */
  outputUrl(): string;
}
