import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { askedUrl, ownHosts, strangerIn } from '../loopback.ts';
import { errorReply, type SandboxReply, xmlErrorReply } from './reply.ts';
import type { World } from './route.ts';

export type NoteRequest = (entry: SandboxRequest, done: boolean) => void;

/**
 * A request listener that logs each request at its start and end, and refuses requests for other hosts or from pages of
 * other origins. If a handler throws, the connection is dropped, because handlers answer their own refusals.
 */
export function listen(
  server: SandboxRequest['server'],
  world: World,
  note: NoteRequest,
  handle: (
    request: IncomingMessage,
    response: ServerResponse,
    url: URL,
    entry: SandboxRequest,
  ) => Promise<void>,
): RequestListener {
  return (request, response) => {
    const path = request.url ?? '/';
    const entry: SandboxRequest = {
      server,
      method: request.method ?? 'GET',
      path,
      headers: { ...request.headers },
      atMs: world.now(),
    };
    note(entry, false);
    response.once('close', () => note(entry, true));
    const instead = answerForBrowsers(request, response, world, server);
    if (instead) {
      entry.status = instead.status;
      response.writeHead(instead.status, instead.headers).end(instead.body);
      return;
    }
    handle(request, response, askedUrl(path), entry).catch(() => request.socket.destroy());
  };
}

/** The reply headers that a page of an allowed origin may read beside the usual ones. */
const exposed =
  'date, etag, content-length, content-range, accept-ranges, retry-after, x-request-id, x-sandbox-verdict';
const PREFLIGHT_S = '600';

/** The reply to a forbidden origin or a preflight; undefined for a request to answer, with its CORS headers set. */
function answerForBrowsers(
  { headers, method, socket }: IncomingMessage,
  response: ServerResponse,
  { host, cors }: World,
  server: SandboxRequest['server'],
): SandboxReply | undefined {
  const stranger = strangerIn(headers, { hosts: ownHosts(socket.localPort ?? 0, host), origins: cors });
  const refuse = (code: string, message: string) =>
    server === 'api' ? errorReply(403, { code, message }) : xmlErrorReply(403, code, message);
  if (stranger === 'host') return refuse('HostNotAllowed', 'The sandbox answers under its own address only.');
  const { origin } = headers;
  if (stranger === 'origin')
    return refuse(
      'OriginNotAllowed',
      'Pages of this origin may not call: start it with --cors and the origin.',
    );
  if (origin === undefined) return undefined;
  response.setHeader('access-control-allow-origin', origin).setHeader('vary', 'origin');
  const asked = headers['access-control-request-method'];
  if (method !== 'OPTIONS' || asked === undefined) {
    response.setHeader('access-control-expose-headers', exposed);
    return undefined;
  }
  return {
    status: 204,
    headers: {
      'access-control-allow-methods': asked,
      'access-control-allow-headers': String(headers['access-control-request-headers'] ?? ''),
      'access-control-max-age': PREFLIGHT_S,
      ...('access-control-request-private-network' in headers && {
        'access-control-allow-private-network': 'true',
      }),
    },
    body: Buffer.alloc(0),
  };
}

/** One request as the sandbox saw it. Headers and output URLs contain credentials, so printing code must select fields. */
export interface SandboxRequest {
  readonly server: 'api' | 'output';
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Unix milliseconds. */
  readonly atMs: number;
  /** The JSON body, once it is read; of a form its fields, and the sizes of its files. */
  body?: unknown;
  /** Absent if no reply was begun. */
  status?: number;
  /** The fault that struck this request, as in the SPEC. */
  fault?: string;
  acceptedTaskId?: string;
  /** Undocumented fields that were accepted without effect. */
  passedOver?: readonly string[];
  /** Undocumented spellings and how they were read: `a as b`. */
  respelled?: readonly string[];
  /** The verdict in its reply. */
  verdict?: string;
  /** Why it was refused: the error's code, and the field if one broke a rule. */
  refusal?: string;
}
