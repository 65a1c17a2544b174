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

/** What goes out in one write. Small enough that a slow uplink shows progress within any silence limit. */
const SLICE_BYTES = 16 * 1024;

/** What the route adds to a request: the whole URL and a proxy's credential, where it goes through one in the plain. */
export interface Framing {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Sends a request on a connection and hands the reply to the handler as it comes; undici is never paused, the socket is
 * held back where the handler asks for it. Resolves with the head when the reply is complete. Throws ExchangeError, the signal's reason, or what the handler threw; after any
 * of these the connection is gone.
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
    /** What the socket had written before this request; undefined until undici is about to write it. */
    let bytesBefore: number | undefined;
    let over = false;
    /** What has not ended: the reply, and each chunk with which the handler is busy. */
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
      // Where the handler fails with the last of the reply, the reply was not taken.
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
      // The last call before undici writes, in the same turn: gw may have been stopped since it was connected.
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

/** What keeps undici from writing a request. */
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
    // undici takes any iterable of bytes; its types name fewer kinds.
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
  // Without a prototype: a header named `constructor` is a header, and one that is absent is absent.
  const flat: Record<string, string> = Object.create(null);
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined) flat[name.toLowerCase()] = Array.isArray(value) ? value.join(', ') : value;
  return flat;
}

/** What the kernel may hold of an upload after it has left the process, at most. */
const KERNEL_BUFFER_BYTES = 8 * 1024 * 1024;

/** A look that comes so much later than it was to come found gw stopped, and not only busy. */
const STOPPED_MS = 500;

/**
 * Calls `onSilence` when the socket has neither taken nor brought a byte for `silenceMs`. The socket's own counters are
 * looked at, so a head that dribbles in and a body that drips out both count as life. The end of an upload travels on
 * unseen in the kernel's buffer: until the reply begins it is given the time that as much of the upload took before. Time
 * in which the reply is held back is nobody's silence, and so is time in which gw itself was stopped (Ctrl-Z, a frozen
 * machine): a look that comes late starts the silence anew, and what lies in the socket is read before it is called silent.
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
    // A timer comes before what has arrived meanwhile, and this one after it.
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

/** undici takes a connection that ends in mid-reply for broken HTTP; what really happened, where that is so. */
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
