import type { Socket } from 'node:net';
import type { Dispatcher } from 'undici';
import { steadyMs } from '../host.ts';
import { type Connection, destroyConnection } from './connection.ts';
import {
  BodyFault,
  ExchangeError,
  exchangeCodes,
  type WireHandler,
  type WireHead,
  type WireRequest,
} from './exchange.ts';
import { reasonOf, systemCode } from './socket.ts';

/** Size of one write: small enough that a slow uplink makes progress within any silence timeout. */
const SLICE_BYTES = 16 * 1024;

/** What the route adds to a request: for a plain request through a proxy, the whole URL and the proxy's credential. */
export interface Framing {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Sends a request on a connection and hands the reply to the handler in chunks. undici is never paused; when the
 * handler asks for it, the socket is held back. Resolves with the head when the reply is complete. Throws
 * ExchangeError, the signal's reason, or the handler's error; then the connection is closed.
 */
export function roundTrip(
  connection: Connection,
  request: WireRequest,
  framing: Framing,
  handler: WireHandler,
): Promise<WireHead> {
  const { client, socket, gate } = connection;
  const { silenceMs, url } = request;
  const signal = request.seeThrough ? undefined : request.signal;
  return new Promise((resolve, reject) => {
    let head: WireHead | undefined;
    /** Bytes that the socket had written before this request; undefined until undici is about to write it. */
    let bytesBefore: number | undefined;
    let over = false;
    /** Counts what is still open: the reply, and each chunk that the handler is still processing. */
    let openCount = 1;
    const finish = () => {
      over = true;
      stopWatch();
      signal?.removeEventListener('abort', onAbort);
    };
    const fail = (error: unknown) => {
      if (over) return;
      finish();
      reject(error);
      destroyConnection(connection);
    };
    const sent = () => ((bytesBefore ?? socket.bytesWritten) !== socket.bytesWritten ? 'maybe' : 'no');
    const onAbort = () => fail(signal?.reason);
    const stopWatch = watchSilence(connection, silenceMs, () => {
      const quiet = head ? 'its reply stopped' : 'it did not answer';
      const message = `no word from ${url.host} for ${silenceMs / 1000} s: ${quiet}`;
      fail(new ExchangeError(message, sent(), exchangeCodes.silence));
    });
    const settle = () => {
      openCount -= 1;
      // If the handler failed on the last chunk, the reply does not count as received.
      if (over || openCount > 0) return;
      finish();
      if (head) resolve(head);
      else reject(new ExchangeError(`${url.host} sent no reply`, sent(), exchangeCodes.unreadable));
    };
    const guarded = (step: () => void) => {
      if (over) return;
      try {
        step();
      } catch (error) {
        fail(error);
      }
    };
    if (signal?.aborted) return onAbort();
    signal?.addEventListener('abort', onAbort, { once: true });

    gate.awaitReply();
    client.dispatch(dispatchOptions(request, framing), {
      // undici calls this last before it writes, in the same turn. gw may have been stopped since it connected.
      onRequestStart() {
        guarded(() => request.onConnected?.());
        if (over) throw barred(request);
        bytesBefore = socket.bytesWritten;
      },
      onResponseStart(_controller, status, headers) {
        head = { status, headers: flatHeaders(headers) };
        guarded(() => head && handler.onHead(head));
      },
      onResponseData(_controller, chunk) {
        guarded(() => {
          const busy = handler.onData(chunk);
          if (!busy) return;
          openCount += 1;
          gate.hold(busy);
          busy.then(settle, fail);
        });
      },
      onResponseEnd: settle,
      onResponseError: (_controller, error) =>
        fail(brokenReply(earlyEnd(socket, error) ?? error, url.host, head !== undefined, sent())),
    });
  });
}

/** The error that keeps undici from writing a request. */
function barred({ onUnsent }: WireRequest): Error {
  onUnsent?.();
  return new Error('the request must not leave any more');
}

function dispatchOptions(request: WireRequest, { path, headers }: Framing): Dispatcher.DispatchOptions {
  const { body } = request;
  const whole = body instanceof Uint8Array || body === undefined;
  const sliced = whole && body !== undefined && body.byteLength > SLICE_BYTES;
  const made = sliced ? slices(body) : whole ? undefined : body.open();
  return {
    path,
    method: request.method,
    headers: { ...headers, ...(made ? { 'content-length': String(body?.byteLength) } : {}) },
    // undici accepts any iterable of bytes; its types name fewer kinds.
    body: made ? (made as unknown as Uint8Array) : ((body as Uint8Array | undefined) ?? null),
    ...(request.freshConnection ? { reset: true } : {}),
  };
}

function* slices(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.byteLength; at += SLICE_BYTES) yield bytes.subarray(at, at + SLICE_BYTES);
}

function flatHeaders(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): Record<string, string> {
  // The object has no prototype, so that a header named `constructor` works like any other.
  const flat: Record<string, string> = Object.create(null);
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined) flat[name.toLowerCase()] = Array.isArray(value) ? value.join(', ') : value;
  return flat;
}

/** The kernel may buffer at most this much of an upload after it has left the process. */
const KERNEL_BUFFER_BYTES = 8 * 1024 * 1024;

/** A timer this late means that gw was stopped, not merely busy. */
const STOPPED_MS = 500;

/**
 * Calls `onSilence` when the socket has neither sent nor received a byte for `silenceMs`. It compares the socket's byte
 * counters, so slow bytes of a head or a body count as activity. The end of an upload leaves the kernel's buffer
 * unseen: until the reply begins, it gets as much time as the same amount took before. Time while the reply is held
 * back does not count, nor time while gw was stopped (Ctrl-Z, suspended machine): a late timer restarts the timeout,
 * and waiting bytes are read first.
 */
function watchSilence(
  { socket, gate }: Pick<Connection, 'socket' | 'gate'>,
  silenceMs: number,
  onSilence: () => void,
): () => void {
  const startMs = steadyMs();
  const sentBefore = socket.bytesWritten - socket.writableLength;
  const readBefore = socket.bytesRead;
  let sentBytes = 0;
  let readBytes = 0;
  let lastSentMs = startMs;
  let lastMs = startMs;
  let lookedMs = startMs;
  let lastLook: NodeJS.Immediate | undefined;
  const everyMs = Math.min(Math.max(silenceMs / 8, 5), 1000);
  const unseenMs = () =>
    readBytes > 0 ? 0 : (lastSentMs - startMs) * Math.min(1, KERNEL_BUFFER_BYTES / Math.max(sentBytes, 1));
  const look = () => {
    const nowMs = steadyMs();
    // After a close the counters may be gone.
    const sent = (socket.bytesWritten ?? 0) - socket.writableLength - sentBefore;
    const read = socket.bytesRead - readBefore;
    if (sent > sentBytes) lastSentMs = nowMs;
    const wasStopped = nowMs - lookedMs > everyMs + STOPPED_MS;
    if (sent > sentBytes || read > readBytes || gate.isHeld() || wasStopped) lastMs = nowMs;
    sentBytes = Math.max(sent, sentBytes);
    readBytes = read;
    lookedMs = nowMs;
    return nowMs - lastMs >= silenceMs + unseenMs();
  };
  const timer = setInterval(() => {
    // The timer runs before data that arrived meanwhile is read; this immediate runs after it.
    if (look()) {
      lastLook ??= setImmediate(() => {
        lastLook = undefined;
        if (look()) onSilence();
      });
    }
  }, everyMs);
  return () => {
    clearInterval(timer);
    clearImmediate(lastLook);
  };
}

const unreadableCodes = new Set([
  'UND_ERR_HEADERS_OVERFLOW',
  'UND_ERR_RES_CONTENT_LENGTH_MISMATCH',
  'UND_ERR_RESPONSE',
]);

/** undici reports a connection that ends inside a reply as broken HTTP; this finds the real cause, if any. */
function earlyEnd(socket: Socket, told: Error): Error | undefined {
  if (told.name !== 'HTTPParserError' && systemCode(told) !== 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH')
    return undefined;
  if (socket.errored && socket.errored !== told) return socket.errored;
  return socket.readableEnded ? Object.assign(new Error('closed'), { code: 'UND_ERR_SOCKET' }) : undefined;
}

function brokenReply(error: Error, host: string, begun: boolean, sent: 'no' | 'maybe'): ExchangeError {
  if (error instanceof BodyFault) return new ExchangeError(error.message, sent, exchangeCodes.bodyFault);
  const code = systemCode(error);
  if (code === exchangeCodes.unreadable)
    return new ExchangeError(`the reply of ${host} breaks HTTP: ${error.message}`, sent, code);
  if (code?.startsWith('HPE_') || (code && unreadableCodes.has(code)) || error.name === 'HTTPParserError')
    return new ExchangeError(
      `the reply of ${host} breaks HTTP: ${reasonOf(error, code)}`,
      sent,
      exchangeCodes.unreadable,
    );
  const when = begun ? 'in the middle of its reply' : 'before it answered';
  return new ExchangeError(`${host} broke off ${when}: ${reasonOf(error, code)}`, sent, code);
}
