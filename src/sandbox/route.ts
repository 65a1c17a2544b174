import type * as z from 'zod';
import type { Endpoint } from '../gateway/endpoint.ts';
import type { FormBody } from './form-body.ts';
import type { Refusal, SandboxReply } from './reply.ts';
import type { Pool } from './task.ts';
import type { World } from './world.ts';

/** A request that was let in: its path parameters, its address, and its checked body or its form. */
export interface Call {
  readonly params: Readonly<Record<string, string>>;
  readonly url: URL;
  /** Checked against the route's schema; undefined where a form came, or the route takes no body. */
  readonly body: unknown;
  /** What a multipart request carried, unchecked. */
  readonly form?: FormBody;
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
  /** The body's schema, refusing fields that the document does not list. */
  readonly body?: z.ZodType;
  /** Also takes multipart form data; `answer` checks it. */
  readonly multipart?: true;
  /** Which rate the request counts against, from the body as it came; none: the document states no rate. */
  readonly pool?: (body: unknown) => Pool;
  /** Its refusals in another shape than `{error:{…}}`; a wrong key is refused by the gateway all the same. */
  readonly refuse?: (refusal: Refusal, asked: Refused) => SandboxReply;
  /** May throw Refusal. */
  readonly answer: (call: Call, world: World) => SandboxReply | Promise<SandboxReply>;
}

const escapeForRegExp = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** The parameters of a path that fits a row's pattern (`/tasks/{task_id}`); undefined where it does not fit. */
function matchPath(pattern: string, path: string): Record<string, string> | undefined {
  const source = pattern
    .split(/(\{\w+\})/)
    .map((part) => (/^\{\w+\}$/.test(part) ? `(?<${part.slice(1, -1)}>[^/]+?)` : escapeForRegExp(part)))
    .join('');
  const match = new RegExp(`^${source}$`).exec(path);
  if (!match) return undefined;
  try {
    return Object.fromEntries(
      Object.entries(match.groups ?? {}).map(([name, raw]) => [name, decodeURIComponent(raw)]),
    );
  } catch {
    return undefined;
  }
}

/** The route of a request; `methods` where the path exists for others only; an empty list where there is no such path. */
export function findRoute(
  routes: readonly Route[],
  method: string,
  path: string,
):
  | { readonly route: Route; readonly params: Readonly<Record<string, string>> }
  | { readonly methods: string[] } {
  const methods: string[] = [];
  for (const route of routes) {
    const params = matchPath(route.endpoint.path, path);
    if (!params) continue;
    if (route.endpoint.method === method) return { route, params };
    methods.push(route.endpoint.method);
  }
  return { methods };
}
