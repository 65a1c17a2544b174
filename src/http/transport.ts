import type { Socket } from 'node:net';
import type * as v8Module from 'node:v8';
import { steadyMs } from '../host.ts';
import { codingOf, decodeBody, decodedHead, decodingHandler } from './content-coding.ts';
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
  /** Told of each new connection: where it leads, through which proxy, and how long it took. */
  readonly onConnect?: ((connected: Connected) => void) | undefined;
  /** Largest reply of `exchange`, in bytes, as it came and decoded. */
  readonly replyLimitBytes?: number;
  /** All the roots that are trusted (PEM); the built-in ones when absent. */
  readonly ca?: readonly string[] | undefined;
  /** A client's certificate (PEM), shown to this origin and to no other. */
  readonly identity?: NonNullable<TlsOptions['identity']> & { readonly origin: string };
}

export interface Connected {
  readonly origin: string;
  readonly address: string | undefined;
  readonly viaProxy: boolean;
  readonly tookMs: number;
}

/** A connection that waits for its next request. */
interface Idle {
  readonly socket: Socket;
  /** What it had brought by then: whatever it brings after that answers nothing. */
  readonly readBytes: number;
  readonly timer: NodeJS.Timeout;
}

/** How long a connection is kept for the next request where its server does not say how long that keeps it. */
const IDLE_MS = 4_000;
/** A server's own time is not used up: a request may be on its way when the server closes. */
const IDLE_MARGIN_MS = 2_000;
const LONGEST_IDLE_MS = 600_000;

const REPLY_LIMIT_BYTES = 64 * 1024 * 1024;

/** From so many bytes of replies on the memory of a run is kept small. */
const MUCH_BYTES = 1024 * 1024;

/** How much of a cut reply is kept to look for an ID in it. */
const PARTIAL_LIMIT_BYTES = 1024 * 1024;

/** The connections of a transport; idle ones are kept a few seconds. */
class Connections {
  readonly #idle = new Map<string, Idle[]>();
  readonly #all = new Set<Socket>();
  #isEnded = false;

  constructor(private readonly options: Pick<TransportOptions, 'ca' | 'identity' | 'onConnect'>) {}

  async #connect(request: WireRequest, route: Route): Promise<Socket> {
    const began = steadyMs();
    const { ca, identity, onConnect } = this.options;
    const { connectMs, signal, url, checkAddresses } = request;
    const socket = await openSocket(route, {
      connectMs,
      signal,
      checkAddresses,
      tls: { ca, identity: identity?.origin === url.origin ? identity : undefined },
    });
    if (this.#isEnded) {
      socket.destroy();
      throw new ExchangeError('gw is ending', 'no', exchangeCodes.closed);
    }
    onConnect?.({
      origin: url.origin,
      address: socket.remoteAddress,
      viaProxy: route.proxy !== undefined,
      tookMs: steadyMs() - began,
    });
    this.#all.add(socket);
    socket.once('close', () => this.#all.delete(socket));
    return socket;
  }

  /** Keeps a connection for the next request. */
  keep(socket: Socket, { key }: Route, { headers }: WireHead): void {
    const [, saidS] = /timeout=(\d+)/.exec(headers['keep-alive'] ?? '') ?? [];
    const idleMs = saidS === undefined ? IDLE_MS : Number(saidS) * 1000 - IDLE_MARGIN_MS;
    const timer = setTimeout(() => socket.destroy(), Math.min(idleMs, LONGEST_IDLE_MS)).unref();
    this.#idle.set(key, [...(this.#idle.get(key) ?? []), { socket, readBytes: socket.bytesRead, timer }]);
  }

  /** A connection that was kept and still stands. */
  #takeIdle({ key }: Route): Socket | undefined {
    for (;;) {
      const kept = this.#idle.get(key)?.pop();
      if (!kept) return undefined;
      clearTimeout(kept.timer);
      if (kept.socket.writable && kept.socket.bytesRead === kept.readBytes) return kept.socket;
      kept.socket.destroy();
    }
  }

  /** A connection on which nothing of the request has been sent yet. */
  async get(request: WireRequest, route: Route): Promise<Socket> {
    const { signal } = request;
    let isBarred = false;
    try {
      signal?.throwIfAborted();
      if (this.#isEnded) throw new ExchangeError('gw is ending', 'no', exchangeCodes.closed);
      const socket =
        (request.freshConnection ? undefined : this.#takeIdle(route)) ??
        (await this.#connect(request, route));
      try {
        signal?.throwIfAborted();
        request.onConnected?.();
      } catch (error) {
        socket.destroy();
        isBarred = true;
        throw error;
      }
      return socket;
    } catch (error) {
      if (signal?.aborted || isBarred) request.onUnsent?.();
      throw error;
    }
  }

  /** No other is opened or kept; gives those that stand. */
  end(): Socket[] {
    this.#isEnded = true;
    for (const { timer } of [...this.#idle.values()].flat()) clearTimeout(timer);
    return [...this.#all];
  }
}

/**
 * Moves requests over HTTP/1.1, one at a time on a connection; idle connections are kept a few seconds. Follows no
 * redirect and sends nothing twice. Through a proxy where one applies: plain requests in absolute form, secure ones
 * through a tunnel.
 */
export function createTransport(options: TransportOptions): Transport {
  const { proxies, replyLimitBytes = REPLY_LIMIT_BYTES } = options;
  const connections = new Connections(options);
  /** The replies that must be seen through, by their connections: each names what was paid for. */
  const paid = new Map<Socket, Promise<unknown>>();
  let cameBytes = 0;
  let letYoungSpaceGrow = () => {};

  async function send(request: WireRequest, handler: WireHandler): Promise<WireHead> {
    const route = routeTo(request.url, proxies);
    const socket = await connections.get(request, route);
    let head: WireHead;
    try {
      const trip = roundTrip(socket, request, framingOf(request, route), {
        onHead(head) {
          if (route.absoluteForm && head.status === 407) {
            const sentence = 'the proxy asks for a user and password';
            throw new ExchangeError(sentence, 'no', exchangeCodes.proxyRefused);
          }
          handler.onHead(head);
        },
        onData(chunk) {
          const isMuch = cameBytes < MUCH_BYTES && cameBytes + chunk.length >= MUCH_BYTES;
          cameBytes += chunk.length;
          if (isMuch) letYoungSpaceGrow = keepYoungSpaceSmall();
          return handler.onData(chunk);
        },
      });
      if (request.seeThrough) paid.set(socket, trip);
      head = await trip;
    } finally {
      paid.delete(socket);
    }
    if (request.freshConnection) socket.destroy();
    else if (socket.writable) connections.keep(socket, route, head);
    return head;
  }

  return {
    async exchange(request) {
      const limitBytes = Math.min(request.replyLimitBytes ?? replyLimitBytes, replyLimitBytes);
      const body = new GatheredBytes();
      let head: WireHead | undefined;
      try {
        head = await send(
          request,
          gathering(body, limitBytes, (came) => {
            head = came;
          }),
        );
        return wholeReply(head, body.bytes, limitBytes);
      } catch (error) {
        throw withPartial(error, head, body.bytes);
      }
    },

    async stream(request, handler) {
      const decoding = decodingHandler(handler, replyLimitBytes);
      try {
        const head = await send(request, decoding);
        await decoding.finished();
        return decoding.head() ?? head;
      } catch (error) {
        // What came before the break has been handed over; the decoder may still hold some of it.
        await decoding.finished().catch(() => {});
        throw withPartial(error, decoding.head(), new Uint8Array());
      }
    },

    async close() {
      letYoungSpaceGrow();
      const sockets = connections.end();
      for (const socket of sockets) if (!paid.has(socket)) socket.destroy();
      await Promise.allSettled(paid.values());
      for (const socket of sockets) socket.destroy();
      await Promise.all(sockets.map(closedSocket));
    },
  };
}

/** Gathers a whole reply of at most so many bytes. */
const gathering = (body: GatheredBytes, limitBytes: number, onHead: WireHandler['onHead']): WireHandler => ({
  onHead(head) {
    onHead(head);
    codingIn(head);
    const announced = Number(head.headers['content-length'] ?? 0);
    if (announced > 0) body.expect(Math.min(announced, limitBytes));
  },
  onData(chunk) {
    body.push(chunk);
    if (body.byteLength <= limitBytes) return;
    const sentence = `the reply is larger than ${limitBytes} bytes`;
    throw new ExchangeError(sentence, 'maybe', exchangeCodes.unreadable);
  },
});

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

/** The coding of a body; few replies have one. */
const codingIn = (head: WireHead) =>
  head.headers['content-encoding'] === undefined ? undefined : codingOf(head);

function wholeReply(head: WireHead, bytes: Uint8Array, limitBytes: number): WireReply {
  const coding = codingIn(head);
  if (!coding) return { ...head, bytes };
  return { ...decodedHead(head), bytes: decodeBody(bytes, coding, limitBytes) };
}

/** The same error with what came before the break, decoded as far as it goes. Other errors pass as they are. */
function withPartial(error: unknown, head: WireHead | undefined, came: Uint8Array): unknown {
  if (!(error instanceof ExchangeError) || !head || error.sent === 'no') return error;
  let bytes: Uint8Array = came.slice(0, PARTIAL_LIMIT_BYTES);
  try {
    const coding = codingIn(head);
    if (coding) bytes = decodeBody(bytes, coding, PARTIAL_LIMIT_BYTES, true);
  } catch {
    // What cannot be decoded is kept as it came.
  }
  return new ExchangeError(error.message, error.sent, error.code, { ...head, bytes });
}

function closedSocket(socket: Socket): Promise<void> {
  return socket.closed ? Promise.resolve() : new Promise((resolve) => socket.once('close', () => resolve()));
}

/** V8's own factor, by which the space of young objects grows. */
const USUAL_GROWTH = 2;

/**
 * Keeps V8 from growing the space of young objects, which Node 24 grows to a hundred megabytes where a long reply passes
 * through and nothing of it stays. It costs no time that could be measured. The function returned ends it: a code cache
 * that is made under another flag is rejected.
 */
function keepYoungSpaceSmall(): () => void {
  const v8: typeof v8Module = process.getBuiltinModule('node:v8');
  v8.setFlagsFromString('--semi-space-growth-factor=1');
  return () => v8.setFlagsFromString(`--semi-space-growth-factor=${USUAL_GROWTH}`);
}
