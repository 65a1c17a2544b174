import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Access } from '../../context.ts';
import { GwError } from '../../errors.ts';
import type { Endpoint } from '../../gateway/endpoint.ts';
import type { Clock } from '../../host.ts';
import type { RetryPause, SendOptions } from '../../http/client.ts';
import { askedUrl, isLoopback, ownHosts, strangerIn, urlHost } from '../../loopback.ts';
import { ANSWER_MS, within } from '../../machines/door.ts';
import { Durations, figureLines } from '../../machines/metrics.ts';
import { rowStates } from '../../machines/row.ts';
import { cannotListen } from '../own-address.ts';
import type { ListenAt } from '../worker.ts';
import type { OpenQueue } from './open.ts';

// The health and the metrics of a worker, for its operator.

/** Counts of this worker's work since its start. */
export class Counters {
  creates = 0;
  tooMany = 0;
  downloads = 0;
  readonly steps = new Durations();
  isGatewayAway = false;
}

/** Wraps the sending of each request, with its options. */
export type Around = <T>(
  endpoint: Endpoint,
  options: SendOptions,
  send: (options: SendOptions) => Promise<T>,
) => Promise<T>;

/** A gateway that sends each request through `around`. */
export const accessAround = ({ client, ...access }: Access, around: Around): Access => ({
  ...access,
  client: {
    ...client,
    send: (endpoint, request, options = {}) =>
      around(endpoint, options, (mine) => client.send(endpoint, request, mine)),
    receive: (endpoint, request, taker, options = {}) =>
      around(endpoint, options, (mine) => client.receive(endpoint, request, taker, mine)),
  },
});

/** A gateway whose replies are counted. */
export function countedAccess(access: Access, counters: Counters, clock: Clock): Access {
  return accessAround(access, async ({ resend }, options, send) => {
    const isPaid = resend === 'paid';
    const pause = async (pause: RetryPause) => {
      if (pause.isRateLimited) counters.tooMany += 1;
      await (options.pause?.(pause) ?? clock.sleep(pause.delayMs, options.signal));
    };
    const onSend = () => {
      options.onSend?.();
      if (isPaid) counters.creates += 1;
    };
    const onUnsent = (wasAnswered: boolean) => {
      if (isPaid && !wasAnswered) counters.creates -= 1;
      options.onUnsent?.(wasAnswered);
    };
    try {
      const reply = await send({ ...options, pause, onSend, onUnsent });
      counters.isGatewayAway = false;
      return reply;
    } catch (error) {
      if (!(error instanceof GwError)) throw error;
      if (error.kind === 'rate_limited') counters.tooMany += 1;
      counters.isGatewayAway = error.kind === 'unavailable';
      throw error;
    }
  });
}

/** Serves `/healthz` and `/metrics` until it is closed. Throws `usage` if it cannot listen there. */
export async function startObserver(
  { host, port }: ListenAt,
  queue: OpenQueue,
  counters: Counters,
): Promise<{ readonly url: string; close(): void }> {
  const server = createServer((request, response) => {
    const { pathname } = askedUrl(request.url);
    const { headers, socket } = request;
    const named = headers.host?.toLowerCase() ?? '';
    // At a non-loopback address, clients may use any name that the network gives it.
    const isAlone = isLoopback(urlHost(host));
    const hosts = isAlone ? ownHosts(socket.localPort ?? port, host) : new Set([named]);
    const stranger = strangerIn({ host: named, origin: headers.origin }, { hosts, origins: [] });
    if (stranger) return answer(response, 403, `wrong ${stranger}\n`);
    if (pathname !== '/healthz' && pathname !== '/metrics')
      return answer(response, 404, 'healthz or metrics\n');
    if (request.method !== 'GET' && request.method !== 'HEAD') return answer(response, 405, 'GET\n');
    if (pathname === '/healthz') return health(response, queue, counters);
    // The query to Redis lasts as long as needed, but the client waits only for a limited time.
    return within(ANSWER_MS, metrics(queue, counters)).then(
      (text) => answer(response, 200, text),
      (error: unknown) => answer(response, 503, `${(error as Error).message}\n`),
    );
  });
  server.listen(port, host);
  await once(server, 'listening').catch((error: unknown) => {
    throw cannotListen(error, { host, flag: '--listen' });
  });
  const at = (server.address() as AddressInfo).port;
  return {
    url: `http://${urlHost(host)}:${at}`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

function answer(response: ServerResponse, status: number, text: string): ServerResponse {
  response.writeHead(status, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' });
  return response.end(text);
}

function health(response: ServerResponse, { store }: OpenQueue, { isGatewayAway }: Counters) {
  if (store.door.awayMs() > 0) return answer(response, 503, 'Redis is away\n');
  if (isGatewayAway) return answer(response, 503, 'the gateway is away\n');
  return answer(response, 200, 'ok\n');
}

async function metrics(queue: OpenQueue, counters: Counters): Promise<string> {
  const { engine, store } = queue;
  const [counts, states, oldest] = await Promise.all([
    engine.counts(),
    store.counts(),
    engine.oldestWaitingS(),
  ]);
  const byState = rowStates.map((state) => [`{state="${state}"}`, states[state]] as const);
  const ofPool = (name: string, value: number) => [`{pool="${name}"}`, value] as const;
  const used = counts.pools.map(({ name, taken }) => ofPool(name, taken));
  const allowed = counts.pools.map(({ name, atOnce }) => ofPool(name, atOnce));
  const waited = oldest.map(({ name, seconds }) => ofPool(name, seconds));
  const waits = 'How long the oldest row that waits has been on the queue.';
  const told = 'Replies of the gateway to this worker that there were too many requests.';
  const { creates, tooMany, downloads } = counters;
  const lines = [
    ...figureLines('gauge', 'gw_rows', 'Rows on the queue by state.', byState),
    ...figureLines('gauge', 'gw_slots_used', 'Tasks that run at once, over all workers.', used),
    ...figureLines('gauge', 'gw_slots_allowed', 'Tasks that the account may run at once.', allowed),
    ...figureLines('gauge', 'gw_oldest_waiting_row_seconds', waits, waited),
    ...figureLines('counter', 'gw_creates_total', 'Creates that this worker has sent.', [['', creates]]),
    ...figureLines('counter', 'gw_replies_429_total', told, [['', tooMany]]),
    ...figureLines('counter', 'gw_downloads_total', 'Outputs that this worker has saved.', [['', downloads]]),
    ...counters.steps.lines('gw_step_seconds', 'How long the steps of rows took on this worker.'),
  ];
  return `${lines.join('\n')}\n`;
}
