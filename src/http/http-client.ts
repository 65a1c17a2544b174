import type { GwError } from '../errors.ts';
import { type Endpoint, SPEED_HEADER } from '../gateway/endpoint.ts';
import { BEAT_MS, type Clock, sleepAloud } from '../host.ts';
import type {
  Client,
  Gateway,
  PreparedRequest,
  Reply,
  ReplyTaker,
  RequestInput,
  SendOptions,
} from './client.ts';
import { missingKey } from './credential.ts';
import {
  ExchangeError,
  type Transport,
  type WireHead,
  type WireReply,
  type WireRequest,
} from './exchange.ts';
import type { Failed } from './failures.ts';
import { prepareRequest } from './prepare.ts';
import { readReply, receivedHead } from './read-reply.ts';
import { meaningOfStatus } from './reply-statuses.ts';
import { CALL_LIMIT_MS, decide, type Failure, mayHaveWorked } from './retry.ts';
import { streamOnce } from './stream-once.ts';
import { traceReply, traceRequest } from './trace.ts';

/** The retries that all requests of a process share, so that a thousand rows cannot overload a failing gateway. */
type RetryBudget = ReturnType<typeof createRetryBudget>;

const CAPACITY = 60;
const PER_SECOND = 1;
const PER_SUCCESS = 0.5;

/** A full budget: 60 retries, plus 1 each second and 1 for two successes. Waits asked for by the server are free. */
export function createRetryBudget(clock: Pick<Clock, 'steady'>) {
  let left = CAPACITY;
  let lastMs = clock.steady();
  return {
    /** Takes one retry; false if none is left. */
    take(): boolean {
      const nowMs = clock.steady();
      left = Math.min(CAPACITY, left + (Math.max(0, nowMs - lastMs) / 1000) * PER_SECOND);
      lastMs = nowMs;
      if (left < 1) return false;
      left -= 1;
      return true;
    },
    /** Adds half a retry after a successful request. */
    earn(): void {
      left = Math.min(CAPACITY, left + PER_SUCCESS);
    },
  };
}

export interface ClientOptions {
  readonly transport: Transport;
  readonly gateway: Gateway;
  /** Maximum number of retries of a request that may be sent again. */
  readonly retries: number;
  /** Timeout of a silent request, and timeout of connecting, in milliseconds. */
  readonly silenceMs: number;
  readonly connectMs: number;
  readonly clock: Clock;
  /** Returns a random number in [0, 1). */
  readonly random: () => number;
  /** One budget is shared by the whole process. */
  readonly budget: RetryBudget;
  /** Receives the lines of --verbose. */
  readonly trace?: ((line: string) => void) | undefined;
  /** Shows what gw is waiting for, until the returned function is called. */
  readonly awaiting?: ((what: string) => () => void) | undefined;
  /** Receives a line about a long pause. */
  readonly say?: ((line: string) => void) | undefined;
  readonly userAgent: string;
}

/** A body of this size takes a while to send, so the waiting text states its size. */
const LARGE_BODY_BYTES = 1 << 20;

/** Failures after which certainly no byte left. */
const neverLeft: ReadonlySet<Failure['kind']> = new Set(['not_sent', 'barred']);

/** Why a request is sent again, in words for the user. */
const troubles: Readonly<Partial<Record<Failure['kind'], string>>> = {
  not_sent: 'no connection',
  rate_limited: 'the gateway asks to wait',
  server_error: 'the gateway has trouble',
};

/** Only a chat answer may reach the transport's limit; thousands of records take a tenth of this. */
const RECORDS_LIMIT_BYTES = 16 * 1024 * 1024;

/** Creates the gateway's client: it prepares requests, sends them, and retries where the resend table allows. */
export function createClient(options: ClientOptions): Client {
  const { gateway, transport, clock, userAgent } = options;
  const sender: Sender = { options, key: new Key(gateway), speed: 1 };
  const handingTo =
    (taker: ReplyTaker, takes: 'events' | 'anything') => (wire: WireRequest, stopWaiting: () => void) => {
      const beganMs = clock.steady();
      const onHead = (head: WireHead) => {
        if (options.trace) traceReply(head, clock.steady() - beganMs).forEach(options.trace);
        stopWaiting();
        taker.onHead(head);
      };
      return streamOnce(transport, wire, taker.takeChunk, onHead, takes);
    };
  return {
    gateway,
    retries: options.retries,
    speed: () => sender.speed,
    prepare: (endpoint, input) => prepareRequest(gateway, endpoint, input, userAgent),
    async send(endpoint, input, sendOptions = {}) {
      const outcome = await attempts(sender, endpoint, input, sendOptions, (wire) =>
        transport.exchange(wire),
      );
      if ('streamed' in outcome) throw new Error('a whole reply was asked for');
      return outcome.reply;
    },
    async stream(endpoint, input, taker, sendOptions = {}) {
      const exchange = handingTo(taker, 'events');
      const asked = { ...input, stream: true };
      const outcome = await attempts(sender, endpoint, asked, sendOptions, exchange, false);
      return 'reply' in outcome ? outcome.reply : undefined;
    },
    async receive(endpoint, input, taker, sendOptions = {}) {
      const exchange = handingTo(taker, 'anything');
      const outcome = await attempts(sender, endpoint, input, sendOptions, exchange);
      if ('reply' in outcome) throw new Error('a reply was to be handed over');
      return receivedHead(outcome.streamed);
    },
  };
}

/** The current API key, and how to get a new one. */
class Key {
  value: string | undefined;
  #renewing: Promise<unknown> | undefined;

  constructor(private readonly gateway: Gateway) {
    this.value = gateway.key;
  }

  /** True if the key differs from a refused one. If it is the same, the key command runs once for all callers. */
  async isOtherThan(refused: string): Promise<boolean> {
    if (this.value === refused) {
      this.#renewing ??= (this.gateway.newKey?.() ?? Promise.resolve(refused))
        .then((made) => {
          this.value = made;
        })
        .finally(() => {
          this.#renewing = undefined;
        });
      // If the key command fails, the gateway's own refusal is reported.
      await this.#renewing.catch(() => {});
    }
    return this.value !== refused;
  }
}

/** State that all requests of one client share. */
interface Sender {
  readonly options: ClientOptions;
  readonly key: Key;
  /** How many times faster than the service the gateway runs. */
  speed: number;
}

async function wireRequest(
  options: ClientOptions,
  request: PreparedRequest,
  { resend }: Endpoint,
  { signal, onConnected, onUnsent, silenceMs = options.silenceMs }: SendOptions,
): Promise<WireRequest> {
  const { multipart, ...rest } = request;
  return {
    ...rest,
    ...(multipart && { body: (await import('./stream-form.ts')).streamForm(multipart) }),
    signal,
    onConnected,
    onUnsent: () => onUnsent?.(false),
    // A stale keep-alive connection could make the outcome unknown for requests that must not be sent twice.
    freshConnection: resend !== 'read',
    seeThrough: resend === 'paid',
    silenceMs,
    connectMs: options.connectMs,
    ...(resend !== 'chat' && { replyLimitBytes: RECORDS_LIMIT_BYTES }),
  };
}

/** Makes one attempt and judges it: a reply, a stream, or a failure with its error. */
async function tryOnce<T>(
  sender: Sender,
  request: PreparedRequest,
  endpoint: Endpoint<T>,
  { onExchange }: SendOptions,
  exchange: () => Promise<WireReply | WireHead>,
): Promise<Success<T> | { readonly failed: Failed; readonly wire?: WireReply }> {
  const { options } = sender;
  const { clock } = options;
  const beganMs = clock.steady();
  const context = { request, resend: endpoint.resend, nowMs: clock.now() };
  let wire: WireReply | WireHead;
  try {
    onExchange?.(true);
    wire = await exchange();
  } catch (error) {
    if (!(error instanceof ExchangeError)) throw error;
    options.trace?.(`< ${error.message}`);
    const { failedExchange } = await import('./failures.ts');
    return { failed: failedExchange(error, context) };
  } finally {
    onExchange?.(false);
  }
  sender.speed = saidSpeed(wire.headers, request.url) ?? sender.speed;
  const now = { ...context, nowMs: clock.now() };
  if (!('bytes' in wire)) return { streamed: wire };
  if (options.trace) traceReply(wire, clock.steady() - beganMs).forEach(options.trace);
  const meaning = meaningOfStatus(wire.status, endpoint.notFoundStatus);
  const reply = meaning ? undefined : readReply(wire, endpoint);
  const refusal = reply && endpoint.refusal?.(reply.json);
  if (reply && !refusal) return { reply };
  const { failedReply, refusedReply } = await import('./failures.ts');
  const failed = refusal ? refusedReply(refusal, wire, now) : failedReply(meaning ?? 'unreadable', wire, now);
  return { failed, wire };
}

/** Makes attempts until one succeeds or the resend table says stop. */
async function attempts<T>(
  sender: Sender,
  endpoint: Endpoint<T>,
  input: RequestInput,
  sendOptions: SendOptions,
  exchange: (wire: WireRequest, stopWaiting: () => void) => Promise<WireReply | WireHead>,
  /** False if the caller itself shows that gw is waiting. */
  isSaid = true,
): Promise<Success<T>> {
  const { signal, onSend, onUnsent, onLost, onRefused } = sendOptions;
  const { options, key } = sender;
  const { gateway, clock, budget, random, userAgent } = options;
  if (key.value === undefined) throw missingKey();
  signal?.throwIfAborted();
  let sentKey = key.value;
  const prepare = () => prepareRequest({ ...gateway, key: sentKey }, endpoint, input, userAgent);
  let request = prepare();
  let wire = await wireRequest(options, request, endpoint, sendOptions);
  let isRenewed = false;
  const startMs = clock.steady();
  const limits = {
    retries: sendOptions.retries ?? options.retries,
    deadlineMs: Math.min(sendOptions.deadlineMs ?? Number.POSITIVE_INFINITY, startMs + CALL_LIMIT_MS),
    random,
  };
  for (let retriesDone = 0; ; retriesDone += 1) {
    if (options.trace) traceRequest(wire).forEach(options.trace);
    if (wire.body && 'check' in wire.body) await wire.body.check();
    onSend?.();
    const stopWaiting = (isSaid && options.awaiting?.(waitingText(wire))) || (() => {});
    const outcome = await tryOnce(sender, request, endpoint, sendOptions, () =>
      exchange(wire, stopWaiting),
    ).finally(stopWaiting);
    if (!('failed' in outcome)) {
      budget.earn();
      return outcome;
    }
    const { failure, stopped, unknown } = outcome.failed;
    if (mayHaveWorked(failure.kind)) onLost?.();
    if (gateway.newKey && stopped.facts.status === 401 && !isRenewed) {
      isRenewed = true;
      if ((await key.isOtherThan(sentKey)) && key.value !== undefined) {
        sentKey = key.value;
        request = prepare();
        wire = await wireRequest(options, request, endpoint, sendOptions);
        options.trace?.('* sent again with the key that the key command gives now');
        retriesDone -= 1;
        onUnsent?.(true);
        continue;
      }
    }
    const decision = decide(endpoint.resend, failure, { ...limits, retriesDone, nowMs: clock.steady() });
    const goesOn = decision.action === 'retry' && (decision.told || budget.take());
    // The 429 that ends a call is its result; an earlier one leaves nothing behind.
    const isLimited = failure.kind === 'rate_limited';
    if (neverLeft.has(failure.kind) || (goesOn && isLimited)) onUnsent?.(isLimited);
    if (!goesOn) {
      if (outcome.wire) onRefused?.(outcome.wire);
      throw decision.action === 'unknown' ? unknown : withCount(stopped, retriesDone);
    }
    const { delayMs } = decision;
    options.trace?.(`* sent again in ${(delayMs / 1000).toFixed(1)} s: ${failure.kind.replaceAll('_', ' ')}`);
    const said = `${troubles[failure.kind] ?? 'no whole answer'} (${request.url.host}): trying again`;
    const count = `, ${retriesDone + 1} of ${limits.retries}`;
    const line = `${said} at ${new Date(clock.now() + delayMs).toISOString()}${count}`;
    // A chat prints no line about the pause.
    const tell = () => void (delayMs > BEAT_MS && endpoint.resend !== 'chat' && options.say?.(line));
    if (sendOptions.pause) {
      await sendOptions.pause({ delayMs, isRateLimited: isLimited, tell });
    } else {
      const stopSaying = options.awaiting?.(`${said}${count}`);
      await sleepAloud(clock, delayMs, signal, tell).finally(stopSaying);
    }
  }
}

type Success<T> = { readonly reply: Reply<T> } | { readonly streamed: WireHead };

function waitingText({ body }: WireRequest): string {
  const bytes = body?.byteLength ?? 0;
  if (bytes < LARGE_BODY_BYTES) return 'waiting for the gateway';
  return `sending ${(bytes / 1e6).toFixed(1)} MB to the gateway, and waiting for its answer`;
}

/** Adds the number of attempts to an error, if there was more than one. */
const withCount = (error: GwError, retriesDone: number): GwError =>
  retriesDone === 0 ? error : error.told({}, `${error.message} (tried ${retriesDone + 1} times)`);

/** The speed that a sandbox states. gw believes only one on this machine; others could make it poll too often. */
function saidSpeed(headers: WireHead['headers'], { protocol, hostname }: URL): number | undefined {
  const said = headers[SPEED_HEADER];
  const isHere = protocol === 'http:' && /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(hostname);
  if (!isHere || said === undefined || !/^\d{1,9}(\.\d{1,9})?$/.test(said)) return undefined;
  return Math.max(1, Number(said));
}
