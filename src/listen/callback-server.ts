import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { jsonIn } from '../http/parse-json.ts';
import { placeOf } from '../json-text.ts';
import { askedUrl, ownHosts, strangerIn, urlHost } from '../loopback.ts';

/** No callback that the document describes is a hundredth as large. */
const MAX_BODY_BYTES = 1024 * 1024;
/** The echo of a challenge must be there within 3 s: a sender that takes longer to send its body is cut off. */
const BODY_MS = 10_000;
/** How many tasks one callback may name, and how long a name may be. */
const MAX_TASKS = 100;
const MAX_ID_CHARS = 200;

export interface CallbackServerOptions {
  readonly port: number;
  readonly host: string;
  /** Where callers from outside reach it; a path is put before the token. */
  readonly publicUrl?: URL | undefined;
  /** Called after the answer, with the IDs of the tasks that a callback names. */
  onCallback(callback: {
    readonly ids: readonly string[];
    readonly body: Buffer;
    readonly type: string;
  }): void;
}

export interface CallbackServer {
  /** What a create gives as its callback URL. */
  readonly url: string;
  /** Drops every connection and stops. */
  close(): Promise<void>;
}

/**
 * Receives status callbacks under a path that only their senders know. A `challenge` is echoed ("Events": within 3 s), before
 * anything else is done and as it was written (a long number that is read loses digits); what else comes is a hint and nothing more. Rejects with the system's error where it cannot listen.
 */
export async function startCallbackServer(options: CallbackServerOptions): Promise<CallbackServer> {
  const { host, publicUrl } = options;
  const token = randomBytes(16).toString('hex');
  const base = publicUrl?.pathname.replace(/\/+$/, '') ?? '';
  // A proxy before it may take the public path off or leave it on.
  const paths = new Set([`/${token}`, `${base}/${token}`]);
  let hosts: ReadonlySet<string> = new Set();
  const origins = publicUrl ? [publicUrl.origin] : [];
  // Node looks for what takes too long twice a minute where it is not told how often.
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
    if (request.method !== 'POST') return end(request, response.setHeader('allow', 'POST'), 405);
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

/** What Host may say behind a proxy: the public name, with its port where it is written out. */
function publicHosts(url: URL | undefined): string[] {
  if (url === undefined) return [];
  const usual = url.protocol === 'https:' ? '443' : '80';
  return url.port === '' ? [url.hostname, `${url.hostname}:${usual}`] : [url.host];
}

function end(request: IncomingMessage, response: ServerResponse, status: number): void {
  // What is left of a body that nobody reads must not be taken for the next request.
  if (!request.complete) response.setHeader('connection', 'close');
  response.writeHead(status, status === 204 ? {} : { 'content-length': 0 }).end();
}

function echo(response: ServerResponse, challenge: string): void {
  const headers = { 'content-type': 'application/json', 'x-content-type-options': 'nosniff' };
  response.writeHead(200, headers).end(`{"challenge":${challenge}}`);
}

/** The body; undefined where it is too large. */
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

/** The IDs that a callback names; its body is not documented ("Events"), so each place where a record has one is looked at. */
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
