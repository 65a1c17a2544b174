import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { jsonIn } from '../http/parse-json.ts';
import { placeOf } from '../json-text.ts';
import { askedUrl, ownHosts, strangerIn, urlHost } from '../loopback.ts';

/** More than a hundred times the size of any documented callback. */
const MAX_BODY_BYTES = 1024 * 1024;
/** A challenge must be echoed within 3 s; a sender that takes longer than this for its body is cut off. */
const BODY_MS = 10_000;
/** The maximum number of tasks in one callback, and the maximum length of an ID. */
const MAX_TASKS = 100;
const MAX_ID_CHARS = 200;

export interface CallbackServerOptions {
  readonly port: number;
  readonly host: string;
  /** The address for outside callers; its path is put before the token. */
  readonly publicUrl?: URL | undefined;
  /** Called after the reply, with the IDs of the tasks that a callback names. */
  onCallback(callback: {
    readonly ids: readonly string[];
    readonly body: Buffer;
    readonly type: string;
  }): void;
}

export interface CallbackServer {
  /** The callback URL for creates. */
  readonly url: string;
  /** Drops every connection and stops. */
  close(): Promise<void>;
}

/** Receives status callbacks under a secret path. A `challenge` is echoed first ("Events": within 3 s), in its
 * original spelling, because parsing would round a long number. Any other body is only a hint to look at tasks.
 * Rejects with the system's error if it cannot listen. */
export async function startCallbackServer(options: CallbackServerOptions): Promise<CallbackServer> {
  const { host, publicUrl } = options;
  const token = randomBytes(16).toString('hex');
  const base = publicUrl?.pathname.replace(/\/+$/, '') ?? '';
  // A proxy may remove the public path or keep it.
  const paths = new Set([`/${token}`, `${base}/${token}`]);
  let hosts: ReadonlySet<string> = new Set();
  const origins = publicUrl ? [publicUrl.origin] : [];
  // By default Node checks for slow requests only twice a minute.
  const limits = { requestTimeout: BODY_MS, headersTimeout: BODY_MS, connectionsCheckingInterval: 1_000 };
  const server = createServer(limits, (request, response) => {
    answer(request, response).catch(() => request.socket.destroy());
  });
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { pathname, searchParams } = askedUrl(request.url);
    if (strangerIn(request.headers, { hosts, origins })) return end(request, response, 403);
    if (!paths.has(pathname)) return end(request, response, 404);
    const asked = searchParams.get('challenge');
    if (request.method === 'GET' && asked !== null) return echo(response, JSON.stringify(asked));
    if (request.method !== 'POST') return end(request, response.setHeader('allow', 'GET, POST'), 405);
    const body = await readBody(request);
    if (body === undefined) return end(request, response, 413);
    const text = new TextDecoder().decode(body);
    const said = jsonIn(text);
    if (said === undefined) return end(request, response, 400);
    const isEchoed = /^(string|number)$/.test(typeof fieldOf(said, 'challenge'));
    const place = isEchoed && placeOf(text, ['challenge']);
    if (place) return echo(response, text.slice(place.start, place.end));
    const ids = taskIdsIn(said);
    end(request, response, ids.length > 0 ? 200 : 204);
    options.onCallback({ ids, body, type: request.headers['content-type'] ?? 'application/json' });
  };
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, host, resolve);
  });
  const { port } = server.address() as AddressInfo;
  hosts = new Set([...ownHosts(port, host), ...publicHosts(publicUrl)]);
  const origin = publicUrl?.origin ?? `http://${urlHost(host)}:${port}`;
  return {
    url: `${origin}${base}/${token}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** The accepted Host values behind a proxy: the public name, with its port if given. */
function publicHosts(url: URL | undefined): string[] {
  if (url === undefined) return [];
  const usual = url.protocol === 'https:' ? '443' : '80';
  return url.port === '' ? [url.hostname, `${url.hostname}:${usual}`] : [url.host];
}

function end(request: IncomingMessage, response: ServerResponse, status: number): void {
  // The rest of an unread body must not be parsed as the next request.
  if (!request.complete) response.setHeader('connection', 'close');
  response.writeHead(status, status === 204 ? {} : { 'content-length': 0 }).end();
}

function echo(response: ServerResponse, challenge: string): void {
  const headers = { 'content-type': 'application/json', 'x-content-type-options': 'nosniff' };
  response.writeHead(200, headers).end(`{"challenge":${challenge}}`);
}

/** The body; undefined if it is too large. */
async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  if (Number(request.headers['content-length'] ?? 0) > MAX_BODY_BYTES) return undefined;
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** The IDs in a callback. Its body is not documented ("Events"), so every place where records have an ID is checked. */
function taskIdsIn(said: unknown): string[] {
  const data = fieldOf(said, 'data');
  const records = [said, fieldOf(said, 'task'), ...(Array.isArray(data) ? data.slice(0, MAX_TASKS) : [data])];
  const ids = records.flatMap((record) => idFields.map((name) => fieldOf(record, name)));
  const usable = ids.filter((id) => typeof id === 'string' && id !== '' && id.length <= MAX_ID_CHARS);
  return [...new Set(usable as string[])];
}

const idFields = ['task_id', 'id', 'external_task_id'];

const fieldOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;
