import { request as beginRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { steadyMs } from '../host.ts';
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

/** Heads with 1xx before a reply (RFC 9110, 15.2): servers send a few. */
const MOST_INTERIM_HEADS = 1000;

/** What the route adds to a request: the whole URL and a proxy's credential, where it goes through one in the plain. */
export interface Framing {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Sends a request on an open socket, which carries one at a time, and hands the reply to the handler as it comes. Resolves
 * with the head when the reply is complete. Throws ExchangeError, the signal's reason, or what the handler threw; after any
 * of these the socket is gone, and also where the reply says so or came before the request had left.
 */
export const roundTrip = (
  socket: Socket,
  request: WireRequest,
  framing: Framing,
  handler: WireHandler,
): Promise<WireHead> =>
  new Promise((resolve, reject) => new RoundTrip(socket, request, handler, resolve, reject).begin(framing));

class RoundTrip {
  readonly #bytesBefore: number;
  readonly #stopWatch: () => void;
  #reply: IncomingMessage | undefined;
  #head: WireHead | undefined;
  #isOver = false;
  /** The handler is busy with a piece, and no other is read. */
  #isHeld = false;
  #hasEnded = false;
  #interimHeads = 0;

  constructor(
    private readonly socket: Socket,
    private readonly request: WireRequest,
    private readonly handler: WireHandler,
    private readonly resolve: (head: WireHead) => void,
    private readonly reject: (error: unknown) => void,
  ) {
    this.#bytesBefore = socket.bytesWritten;
    const { silenceMs } = request;
    this.#stopWatch = watchSilence(
      socket,
      silenceMs,
      () => this.#isHeld,
      () => {
        const quiet = this.#head ? 'its reply stopped' : 'it did not answer';
        const sentence = `no word from ${this.#host} for ${silenceMs / 1000} s: ${quiet}`;
        this.#fail(new ExchangeError(sentence, this.#sent, exchangeCodes.silence));
      },
    );
  }

  begin({ path, headers }: Framing): void {
    const { method, url, body, freshConnection } = this.request;
    const signal = this.#signal;
    if (signal?.aborted) {
      this.#onAbort();
      return;
    }
    signal?.addEventListener('abort', this.#onAbort, { once: true });
    let outgoing: ClientRequest;
    try {
      outgoing = beginRequest({
        method,
        path,
        headers: {
          host: url.host,
          connection: freshConnection ? 'close' : 'keep-alive',
          ...headers,
          ...(body && { 'content-length': String(body.byteLength) }),
        },
        createConnection: () => this.socket,
      });
    } catch (error) {
      this.#onError(error as Error);
      return;
    }
    outgoing.on('error', this.#onError);
    outgoing.on('close', () => this.#onError(Object.assign(new Error('closed'), { code: 'ECONNRESET' })));
    outgoing.on('information', () => {
      this.#interimHeads += 1;
      if (this.#interimHeads > MOST_INTERIM_HEADS) this.#failUnreadable('heads with 1xx come without end');
    });
    const onReply = (reply: IncomingMessage) => this.#onReply(reply, outgoing);
    outgoing.on('response', onReply).on('upgrade', onReply);
    sendBody(outgoing, body).catch(this.#onError);
  }

  #onReply(reply: IncomingMessage, outgoing: ClientRequest): void {
    if (reply.statusCode === 101) {
      this.#failUnreadable('it switches to another protocol');
      return;
    }
    const head = { status: reply.statusCode ?? 0, headers: flatHeaders(reply.rawHeaders) };
    this.#reply = reply;
    this.#head = head;
    const settle = () => {
      // Where the handler fails with the last of the reply, the reply was not taken.
      if (this.#isOver || !this.#hasEnded || this.#isHeld) return;
      this.#finish();
      if (!outgoing.writableFinished) this.socket.destroy();
      this.resolve(head);
    };
    reply.on('error', this.#onError);
    reply.on('end', () => {
      this.#hasEnded = true;
      settle();
    });
    reply.on('data', (chunk: Uint8Array) =>
      this.#guarded(() => {
        const busy = this.handler.onData(chunk);
        if (!busy) return;
        this.#isHeld = true;
        reply.pause();
        const goOn = () => {
          this.#isHeld = false;
          reply.resume();
          settle();
        };
        busy.then(goOn, this.#fail);
      }),
    );
    this.#guarded(() => this.handler.onHead(head));
  }

  get #host(): string {
    return this.request.url.host;
  }

  get #signal(): AbortSignal | undefined {
    return this.request.seeThrough ? undefined : this.request.signal;
  }

  get #sent(): 'no' | 'maybe' {
    return this.socket.bytesWritten === this.#bytesBefore ? 'no' : 'maybe';
  }

  #guarded(step: () => void): void {
    if (this.#isOver) return;
    try {
      step();
    } catch (error) {
      this.#fail(error);
    }
  }

  readonly #onAbort = () => this.#fail(this.#signal?.reason);

  readonly #onError = (error: Error) => {
    // What comes behind a whole reply says nothing of it.
    if (this.#hasEnded || this.#reply?.complete) return;
    this.#fail(brokenReply(error, this.socket, this.#host, this.#head !== undefined, this.#sent));
  };

  #failUnreadable(why: string): void {
    const sentence = `the reply of ${this.#host} breaks HTTP: ${why}`;
    this.#fail(new ExchangeError(sentence, this.#sent, exchangeCodes.unreadable));
  }

  readonly #fail = (error: unknown) => {
    if (this.#isOver) return;
    this.#finish();
    this.reject(error);
    this.socket.destroy();
  };

  #finish(): void {
    this.#isOver = true;
    this.#stopWatch();
    this.#signal?.removeEventListener('abort', this.#onAbort);
  }
}

/** Writes a body as the socket takes it. Throws what the body throws; a request that is over ends it. */
async function sendBody(outgoing: ClientRequest, body: WireRequest['body']): Promise<void> {
  if (body === undefined) return void outgoing.end();
  if (body instanceof Uint8Array && body.byteLength <= SLICE_BYTES) return void outgoing.end(body);
  for await (const part of body instanceof Uint8Array ? slices(body) : body.open()) {
    if (outgoing.destroyed) return;
    if (!outgoing.write(part)) await nextOf(outgoing, ['drain', 'close']);
  }
  outgoing.end();
}

function nextOf(outgoing: ClientRequest, names: readonly string[]): Promise<void> {
  return new Promise((resolve) => {
    const heard = () => {
      for (const name of names) outgoing.off(name, heard);
      resolve();
    };
    for (const name of names) outgoing.on(name, heard);
  });
}

function* slices(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.byteLength; at += SLICE_BYTES) yield bytes.subarray(at, at + SLICE_BYTES);
}

/** Names and values in turns, as they came. */
function flatHeaders(raw: readonly string[]): Record<string, string> {
  // Without a prototype: a header named `constructor` is a header, and one that is absent is absent.
  const flat: Record<string, string> = Object.create(null);
  for (let at = 0; at < raw.length; at += 2) {
    const name = raw[at]?.toLowerCase() ?? '';
    const value = raw[at + 1] ?? '';
    flat[name] = name in flat ? `${flat[name]}, ${value}` : value;
  }
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
  socket: Socket,
  silenceMs: number,
  isHeld: () => boolean,
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
    if (sent > sentBytes || read > readBytes || isHeld() || wasStopped) lastMs = nowMs;
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

/** Whether the parser of Node's could not read what came. */
const breaksHttp = (code: string | undefined) => code?.startsWith('HPE_') && code !== 'HPE_INVALID_EOF_STATE';

function brokenReply(
  told: Error,
  socket: Socket,
  host: string,
  begun: boolean,
  sent: 'no' | 'maybe',
): ExchangeError {
  if (told instanceof BodyFault) return new ExchangeError(told.message, sent, exchangeCodes.bodyFault);
  const error = socket.errored ?? told;
  const code = systemCode(error);
  if (breaksHttp(code)) {
    const sentence = `the reply of ${host} breaks HTTP: ${reasonOf(error, code)}`;
    return new ExchangeError(sentence, sent, exchangeCodes.unreadable);
  }
  // Node says that a connection was reset where it only ended too soon.
  const hasOnlyEnded = code === 'ECONNRESET' && !socket.errored;
  const reason = hasOnlyEnded ? 'the connection was closed' : reasonOf(error, code);
  const when = begun ? 'in the middle of its reply' : 'before it answered';
  return new ExchangeError(`${host} broke off ${when}: ${reason}`, sent, code);
}
