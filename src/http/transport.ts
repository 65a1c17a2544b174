import type * as v8Module from 'node:v8';
import { type Connection, connectionOn, destroyConnection } from './connection.ts';
import { type Decoding, decodingOf } from './content-coding.ts';
import {
  ExchangeError,
  exchangeCodes,
  GatheredBytes,
  type Transport,
  type WireHandler,
  type WireHead,
  type WireReply,
  type WireRequest,
} from './exchange.ts';
import { type Proxies, type Route, routeTo } from './proxy.ts';
import { type Framing, roundTrip } from './round-trip.ts';
import { openSocket, type TlsOptions } from './socket.ts';

export { proxiesFromEnv } from './proxy.ts';

export interface TransportOptions {
  readonly proxies: Proxies | undefined;
  /** Whether to set V8's flags while the first reply is read; on by default. */
  readonly tuneFirstReply?: boolean;
  /** All trusted roots (PEM); the built-in ones if absent. */
  readonly ca?: readonly string[] | undefined;
  /** A client certificate (PEM) that only this origin gets. */
  readonly identity?: NonNullable<TlsOptions['identity']> & { readonly origin: string };
}

/** Largest whole reply in bytes, raw and decoded; for a stream, the size from which the bomb check applies. */
const REPLY_LIMIT_BYTES = 64 * 1024 * 1024;

/** After this many bytes of replies, the memory of the process is kept small. */
const MUCH_BYTES = 1024 * 1024;

/** How much of a reply that broke off is kept to search it for an ID. */
const PARTIAL_LIMIT_BYTES = 1024 * 1024;

/**
 * Transports requests over HTTP/1.1, one at a time per connection; idle connections are kept for a few seconds. It
 * follows no redirect and sends nothing twice. Through a proxy, plain requests use the absolute form and secure ones a
 * tunnel.
 */
export class HttpTransport implements Transport {
  readonly #idle = new Map<string, Connection[]>();
  readonly #all = new Set<Connection>();
  /** Replies that gw must wait for, by connection: each names a paid task. */
  readonly #paid = new Map<Connection, Promise<unknown>>();
  #closed = false;
  #untuned: boolean;
  #cameBytes = 0;
  #letYoungSpaceGrow = () => {};

  constructor(private readonly options: TransportOptions) {
    this.#untuned = options.tuneFirstReply ?? true;
  }

  async #connect(request: WireRequest, route: Route): Promise<Connection> {
    const { ca, identity } = this.options;
    const { connectMs, signal, url, checkAddresses } = request;
    const socket = await openSocket(route, {
      connectMs,
      signal,
      checkAddresses,
      tls: { ca, identity: identity?.origin === url.origin ? identity : undefined },
    });
    if (this.#closed) {
      socket.destroy();
      throw new ExchangeError('gw is ending', 'no', exchangeCodes.closed);
    }
    const connection = connectionOn(socket, url.origin);
    this.#all.add(connection);
    socket.once('close', () => {
      this.#all.delete(connection);
      const kept = this.#idle.get(route.key)?.filter((other) => other !== connection);
      if (kept?.length) this.#idle.set(route.key, kept);
      else this.#idle.delete(route.key);
    });
    return connection;
  }

  /** A connection on which no byte of the request has been sent yet. */
  async #connectionFor(request: WireRequest, route: Route): Promise<Connection> {
    const { signal } = request;
    try {
      signal?.throwIfAborted();
      if (this.#closed) throw new ExchangeError('gw is ending', 'no', exchangeCodes.closed);
      const kept = request.freshConnection ? undefined : this.#idle.get(route.key)?.pop();
      const connection = kept && !kept.socket.destroyed ? kept : await this.#connect(request, route);
      if (signal?.aborted) destroyConnection(connection);
      signal?.throwIfAborted();
      return connection;
    } catch (error) {
      if (signal?.aborted) request.onUnsent?.();
      throw error;
    }
  }

  async #send(request: WireRequest, handler: WireHandler): Promise<WireHead> {
    const route = routeTo(request.url, this.options.proxies);
    const connection = await this.#connectionFor(request, route);
    const untune = this.#untuned ? tuneFirstReply() : undefined;
    this.#untuned = false;
    let head: WireHead;
    try {
      const trip = roundTrip(connection, request, framingOf(request, route), {
        onHead: (head) => {
          untune?.();
          if (route.absoluteForm && head.status === 407) {
            throw new ExchangeError(
              'the proxy asks for a user and password',
              'no',
              exchangeCodes.proxyRefused,
            );
          }
          handler.onHead(head);
        },
        onData: (chunk) => {
          const isMuch = this.#cameBytes < MUCH_BYTES && this.#cameBytes + chunk.length >= MUCH_BYTES;
          this.#cameBytes += chunk.length;
          if (isMuch) this.#letYoungSpaceGrow = keepYoungSpaceSmall();
          return handler.onData(chunk);
        },
      });
      if (request.seeThrough) this.#paid.set(connection, trip);
      head = await trip;
    } finally {
      this.#paid.delete(connection);
      untune?.();
    }
    if (request.freshConnection) destroyConnection(connection);
    else if (!connection.socket.destroyed) {
      this.#idle.set(route.key, [...(this.#idle.get(route.key) ?? []), connection]);
    }
    return head;
  }

  async exchange(request: WireRequest): Promise<WireReply> {
    const limitBytes = request.replyLimitBytes ?? REPLY_LIMIT_BYTES;
    const body = new GatheredBytes(limitBytes);
    const handler: WireHandler = {
      onHead({ headers }) {
        const announced = Number(headers['content-length'] ?? 0);
        if (announced > 0) body.expect(Math.min(announced, limitBytes));
      },
      onData: (chunk) => body.push(chunk),
    };
    const head = await this.#decoded(request, handler, () => body.bytes);
    return { ...head, bytes: body.bytes };
  }

  stream(request: WireRequest, handler: WireHandler): Promise<WireHead> {
    return this.#decoded(request, handler, () => new Uint8Array());
  }

  /** Sends a request and decodes its reply; if the reply breaks off, the error holds the bytes from `came`. */
  async #decoded(request: WireRequest, handler: WireHandler, came: () => Uint8Array): Promise<WireHead> {
    let head: WireHead | undefined;
    let decoding: Decoding | undefined;
    const reading: WireHandler = {
      onHead(wire) {
        head = wire;
        if ('content-encoding' in wire.headers) decoding = decodingOf(wire, handler, REPLY_LIMIT_BYTES);
        if (decoding) ({ head } = decoding);
        handler.onHead(head);
      },
      onData: (chunk) => (decoding ?? handler).onData(chunk),
    };
    try {
      const sent = await this.#send(request, reading);
      await decoding?.finished();
      return head ?? sent;
    } catch (error) {
      // The chunks so far have been handed over, but the decoder may still hold some.
      await decoding?.finished().catch(() => {});
      if (!(error instanceof ExchangeError) || !head || error.sent === 'no') throw error;
      const partial = { ...head, bytes: came().slice(0, PARTIAL_LIMIT_BYTES) };
      throw new ExchangeError(error.message, error.sent, error.code, partial);
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#letYoungSpaceGrow();
    this.#idle.clear();
    const connections = [...this.#all];
    for (const connection of connections) if (!this.#paid.has(connection)) destroyConnection(connection);
    await Promise.allSettled(this.#paid.values());
    for (const connection of connections) destroyConnection(connection);
    await Promise.all(connections.map(({ socket }) => closedSocket(socket)));
  }
}

function framingOf({ url, headers }: WireRequest, { absoluteForm, proxy }: Route): Framing {
  const path = `${url.pathname}${url.search}`;
  if (!absoluteForm) return { path, headers };
  return {
    path: `${url.origin}${path}`,
    headers: {
      ...headers,
      host: url.host,
      ...(proxy?.authorization ? { 'proxy-authorization': proxy.authorization } : {}),
    },
  };
}

function closedSocket(socket: Connection['socket']): Promise<void> {
  return socket.closed ? Promise.resolve() : new Promise((resolve) => socket.once('close', () => resolve()));
}

/**
 * Keeps V8 of Node 20 from optimising undici's parser while the first reply is read: that costs some 45 ms of CPU, and
 * the exit waits for it. Later versions of Node do not have the problem. The flag is set as late and as briefly as
 * possible, because it is part of the key of V8's code caches.
 */
function tuneFirstReply(): () => void {
  if (!process.versions.node.startsWith('20.')) return () => {};
  const v8: typeof v8Module = process.getBuiltinModule('node:v8');
  v8.setFlagsFromString('--liftoff-only');
  return () => v8.setFlagsFromString('--no-liftoff-only');
}

/** V8's default growth factor for the young generation. */
const USUAL_GROWTH = 2;

/**
 * Keeps V8 from growing its young generation: Node 24 grows it to a hundred megabytes for a long reply of which nothing
 * is kept. This has no measurable cost. The returned function undoes it, because V8 rejects a code cache made under
 * another flag.
 */
export function keepYoungSpaceSmall(): () => void {
  const v8: typeof v8Module = process.getBuiltinModule('node:v8');
  const grow = (factor: number) => v8.setFlagsFromString(`--semi-space-growth-factor=${factor}`);
  // V8 resets the flag whenever a thread begins.
  grow(1);
  const keeper = {};
  keepers.add(keeper);
  return () => {
    if (keepers.delete(keeper) && keepers.size === 0) grow(USUAL_GROWTH);
  };
}
/** Callers that want it small: the flag applies to the whole process. */
const keepers = new Set<object>();
