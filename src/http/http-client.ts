import { type ErrorFacts, GwError, UnknownOutcome } from '../errors.ts';
import { type Endpoint, type Resend, SPEED_HEADER } from '../gateway/endpoint.ts';
import type { GatewayErrorFacts } from '../gateway/gateway-error.ts';
import { BEAT_MS, type Clock, sleepAloud } from '../host.ts';
import type { Client, Gateway, PreparedRequest, Reply, RequestInput, SendOptions } from './client.ts';
import { missingKey } from './credential.ts';
import {
  ExchangeError,
  exchangeCodes,
  isCertificateTrouble,
  type Transport,
  type WireHead,
  type WireReply,
  type WireRequest,
} from './exchange.ts';
import { prepareRequest } from './prepare.ts';
import {
  cutText,
  describeBody,
  errorTextOf,
  readReply,
  receivedHead,
  redirectTarget,
  replyFacts,
  requestIdOf,
  statusError,
  textOf,
} from './read-reply.ts';
import { meaningOfStatus, type StatusMeaning } from './reply-statuses.ts';
import {
  DEFAULT_DEADLINE_MS,
  decide,
  type Failure,
  failureOfExchange,
  mayHaveWorked,
  parseRetryAfter,
  type RetryBudget,
  readDateMs,
} from './retry.ts';
import { type StreamedReply, streamOnce } from './stream-once.ts';
import { traceReply, traceRequest } from './trace.ts';

export interface ClientOptions {
  readonly transport: Transport;
  readonly gateway: Gateway;
  /** Retries of a request that may be sent again. */
  readonly retries: number;
  /** Longest silence of one request, and longest wait for a connection, in milliseconds. */
  readonly silenceMs: number;
  readonly connectMs: number;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** One a process. */
  readonly budget: RetryBudget;
  /** Takes verbose lines. */
  readonly trace?: ((line: string) => void) | undefined;
  /** Says what is awaited, until the returned function is called. */
  readonly awaiting?: ((what: string) => () => void) | undefined;
  /** Takes lines that tell of a long pause. */
  readonly say?: ((line: string) => void) | undefined;
  readonly userAgent: string;
}

/** Bodies from here on take a while to go out: their size is said. */
const LARGE_BODY_BYTES = 1 << 20;

/** Failures of which no byte left. */
const neverLeft: ReadonlySet<Failure['kind']> = new Set(['not_sent', 'barred']);

/** Why a request is sent again, as a person would say it. */
const troubles: Readonly<Partial<Record<Failure['kind'], string>>> = {
  not_sent: 'no connection',
  rate_limited: 'the gateway asks to wait',
  server_error: 'the gateway has trouble',
};

/** Only an answer of a model may be as large as the transport allows: thousands of records take a tenth of this. */
const RECORDS_LIMIT_BYTES = 16 * 1024 * 1024;

/** The gateway's client: prepares requests, sends them, and sends again what the resend table allows. */
export function createClient(options: ClientOptions): Client {
  const { gateway, transport, clock, userAgent } = options;
  const sender: Sender = { options, key: new Key(gateway), speed: 1 };
  return {
    gateway,
    speed: () => sender.speed,
    prepare: (endpoint, input) => prepareRequest(gateway, endpoint, input, userAgent),
    async send(endpoint, input, sendOptions = {}) {
      const outcome = await attempts(sender, endpoint, input, sendOptions, (wire) =>
        transport.exchange(wire),
      );
      if ('streamed' in outcome) throw new Error('a whole reply was asked for');
      return outcome.reply;
    },
    async stream(endpoint, input, takeChunk, sendOptions = {}) {
      const outcome = await attempts(
        sender,
        endpoint,
        { ...input, stream: true },
        sendOptions,
        (wire) => {
          const beganMs = clock.steady();
          return streamOnce(transport, wire, takeChunk, (head) => {
            if (options.trace) traceReply(head, clock.steady() - beganMs).forEach(options.trace);
          });
        },
        false,
      );
      if ('reply' in outcome) return { streamed: false, reply: outcome.reply };
      return { streamed: true, requestId: requestIdOf(outcome.streamed.headers) };
    },
    async receive(endpoint, input, taker, sendOptions = {}) {
      const outcome = await attempts(sender, endpoint, input, sendOptions, (wire, stopWaiting) => {
        const beganMs = clock.steady();
        const onHead = (head: WireHead) => {
          if (options.trace) traceReply(head, clock.steady() - beganMs).forEach(options.trace);
          stopWaiting();
          taker.onHead(head);
        };
        return streamOnce(transport, wire, taker.takeChunk, onHead, 'anything');
      });
      if ('reply' in outcome) throw new Error('a reply was to be handed over');
      return receivedHead(outcome.streamed);
    },
  };
}

/** The key in force, and how another is got. */
class Key {
  value: string | undefined;
  #renewing: Promise<unknown> | undefined;

  constructor(private readonly gateway: Gateway) {
    this.value = gateway.key;
  }

  /** Whether there is another key now than one that was refused; who finds none asks for it, once for all who wait. */
  async isOtherThan(refused: string): Promise<boolean> {
    if (this.value === refused) {
      this.#renewing ??= (this.gateway.newKey?.() ?? Promise.resolve(refused))
        .then((made) => {
          this.value = made;
        })
        .finally(() => {
          this.#renewing = undefined;
        });
      // A command that gives none leaves the gateway's own word.
      await this.#renewing.catch(() => {});
    }
    return this.value !== refused;
  }
}

/** What the attempts of one client share. */
interface Sender {
  readonly options: ClientOptions;
  readonly key: Key;
  /** How fast the time of the gateway runs. */
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
    onUnsent,
    // A stale keep-alive would make the outcome of what is not sent twice unknown.
    freshConnection: resend !== 'read',
    seeThrough: resend === 'paid',
    silenceMs,
    connectMs: options.connectMs,
    ...(resend !== 'chat' && { replyLimitBytes: RECORDS_LIMIT_BYTES }),
  };
}

/** One attempt, read and judged: a reply or a stream to return, or a failure with its error. */
async function tryOnce<T>(
  sender: Sender,
  request: PreparedRequest,
  endpoint: Endpoint<T>,
  exchange: () => Promise<WireReply | StreamedReply>,
): Promise<Success<T> | { readonly failed: Failed; readonly wire?: WireReply }> {
  const { options } = sender;
  const { clock } = options;
  const beganMs = clock.steady();
  const context = { request, resend: endpoint.resend, nowMs: clock.now() };
  let wire: WireReply | StreamedReply;
  try {
    wire = await exchange();
  } catch (error) {
    if (!(error instanceof ExchangeError)) throw error;
    options.trace?.(`< ${error.message}`);
    return { failed: failedExchange(error, context) };
  }
  sender.speed = saidSpeed(wire.headers, request.url) ?? sender.speed;
  const now = { ...context, nowMs: clock.now() };
  if (!(wire.bytes instanceof Uint8Array)) return { streamed: wire };
  if (options.trace) traceReply(wire, clock.steady() - beganMs).forEach(options.trace);
  const whole = { ...wire, bytes: wire.bytes };
  const meaning = meaningOfStatus(wire.status, endpoint.notFoundStatus);
  if (meaning) return { failed: failedReply(meaning, whole, now), wire: whole };
  const read = readReply(whole, endpoint);
  if (!read.ok) return { failed: failedReply('unreadable', whole, now), wire: whole };
  const refusal = endpoint.refusal?.(read.reply.json);
  return refusal ? { failed: refusedReply(refusal, whole, now), wire: whole } : { reply: read.reply };
}

/** Attempts, until one is to be returned or the resend table says stop. */
async function attempts<T>(
  sender: Sender,
  endpoint: Endpoint<T>,
  input: RequestInput,
  sendOptions: SendOptions,
  exchange: (wire: WireRequest, stopWaiting: () => void) => Promise<WireReply | StreamedReply>,
  /** Whoever shows an answer as it comes says so itself. */
  isSaid = true,
): Promise<Success<T>> {
  const { signal, onSend, onUnsent, onLost, onRefused, retryNotFoundUntilMs } = sendOptions;
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
    deadlineMs: sendOptions.deadlineMs ?? startMs + DEFAULT_DEADLINE_MS,
    // Turned into steady time once: a wall clock that steps must not change it.
    youngUntilMs:
      retryNotFoundUntilMs === undefined ? undefined : startMs + (retryNotFoundUntilMs - clock.now()),
    random,
  };
  for (let retriesDone = 0; ; retriesDone += 1) {
    if (options.trace) traceRequest(wire).forEach(options.trace);
    if (wire.body && 'check' in wire.body) await wire.body.check();
    onSend?.();
    const stopWaiting = (isSaid && options.awaiting?.(waitingText(wire))) || (() => {});
    const outcome = await tryOnce(sender, request, endpoint, () => exchange(wire, stopWaiting)).finally(
      stopWaiting,
    );
    if (!('failed' in outcome)) {
      budget.earn();
      return outcome;
    }
    const { failure, stopped, unknown } = outcome.failed;
    if (neverLeft.has(failure.kind)) onUnsent?.();
    if (mayHaveWorked(failure.kind)) onLost?.();
    if (gateway.newKey && stopped.facts.status === 401 && !isRenewed) {
      isRenewed = true;
      if ((await key.isOtherThan(sentKey)) && key.value !== undefined) {
        sentKey = key.value;
        request = prepare();
        wire = await wireRequest(options, request, endpoint, sendOptions);
        options.trace?.('* sent again with the key that the key command gives now');
        retriesDone -= 1;
        continue;
      }
    }
    const decision = decide(endpoint.resend, failure, { ...limits, retriesDone, nowMs: clock.steady() });
    const goesOn = decision.action === 'retry' && (decision.told || budget.take());
    if (!goesOn) {
      if (outcome.wire) onRefused?.(outcome.wire);
      throw decision.action === 'unknown' ? unknown : withCount(stopped, retriesDone);
    }
    options.trace?.(
      `* sent again in ${(decision.delayMs / 1000).toFixed(1)} s: ${failure.kind.replaceAll('_', ' ')}`,
    );
    const { delayMs } = decision;
    if (sendOptions.pause) {
      await sendOptions.pause({ delayMs, isRateLimited: failure.kind === 'rate_limited' });
    } else {
      const trouble = troubles[failure.kind] ?? 'no whole answer';
      const said = `${trouble} (${request.url.host}): trying again`;
      const count = `, ${retriesDone + 1} of ${limits.retries}`;
      const stopSaying = options.awaiting?.(`${said}${count}`);
      const line = `${said} at ${new Date(clock.now() + delayMs).toISOString()}${count}`;
      // In a pipe a chat says nothing.
      const isTold = delayMs > BEAT_MS && endpoint.resend !== 'chat';
      const tell = () => (isTold ? options.say?.(line) : undefined);
      await sleepAloud(clock, delayMs, signal, tell).finally(stopSaying);
    }
  }
}

type Success<T> = { readonly reply: Reply<T> } | { readonly streamed: StreamedReply };

function waitingText({ body }: WireRequest): string {
  const bytes = body?.byteLength ?? 0;
  if (bytes < LARGE_BODY_BYTES) return 'waiting for the gateway';
  return `sending ${(bytes / 1e6).toFixed(1)} MB to the gateway, and waiting for its answer`;
}

/** Says how often it was tried, where that was more than once. */
function withCount(error: GwError, retriesDone: number): GwError {
  if (retriesDone === 0) return error;
  return error.told({}, `${error.message} (tried ${retriesDone + 1} times)`);
}

/** The speed of a sandbox; one on another machine has no say, because that would be a way to be asked too often. */
function saidSpeed(headers: WireHead['headers'], { protocol, hostname }: URL): number | undefined {
  const said = headers[SPEED_HEADER];
  const isHere = protocol === 'http:' && /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(hostname);
  if (!isHere || said === undefined || !/^\d{1,9}(\.\d{1,9})?$/.test(said)) return undefined;
  return Math.max(1, Number(said));
}

/** A failed attempt: what the table needs to decide, and the error for either way of giving up. */
interface Failed {
  readonly failure: Failure;
  /** Where it stops here. */
  readonly stopped: GwError;
  /** Where it may have created something. */
  readonly unknown: GwError;
}

export interface AttemptContext {
  readonly request: Pick<PreparedRequest, 'method' | 'url'>;
  readonly resend: Resend;
  /** Unix milliseconds. */
  readonly nowMs: number;
}

// No word of trying again: the user must not pay twice on our advice.
const unknownHint =
  'it was not sent again, because it may have been created: look at gw jobs list and the console first';

const cutAnswerHint = 'what came is kept; nothing was sent again';

/** An attempt that brought no complete reply. */
function failedExchange(error: ExchangeError, context: AttemptContext): Failed {
  const partial = error.partial;
  const isAnswer = partial !== undefined && partial.status >= 200 && partial.status < 300;
  return {
    failure: { kind: failureOfExchange(error) },
    stopped: new GwError('unavailable', `${nameOf(context)} failed: ${error.message}`, {
      status: partial?.status,
      hint: isAnswer && context.resend === 'chat' ? cutAnswerHint : hintOf(error),
    }),
    unknown: unknownOutcome(
      `but its answer was lost: ${error.message}`,
      { status: partial?.status },
      isAnswer ? textOf(partial) : undefined,
      context,
    ),
  };
}

/** A complete reply that is no success: what its status means, or a 2xx that cannot be read. */
function failedReply(
  meaning: StatusMeaning | 'unreadable',
  wire: WireReply,
  context: AttemptContext,
): Failed {
  const text = errorTextOf(wire);
  const reply = { status: wire.status, headers: wire.headers, text };
  // Dates are compared with the server's own clock where it shows it: ours may be years off.
  const retryAfterMs = parseRetryAfter(
    wire.headers['retry-after'],
    readDateMs(wire.headers.date) ?? context.nowMs,
  );
  const facts = replyFacts(reply);
  if (meaning === 'unreadable') {
    const what = `HTTP ${wire.status} with ${describeBody(text)}`;
    return {
      failure: { kind: 'unreadable' },
      stopped: new GwError('unavailable', `${nameOf(context)} brought an unreadable reply: ${what}`, {
        ...facts,
        hint: 'if every call ends like this, check the base URL: something other than the gateway answers',
      }),
      unknown: unknownOutcome(`but its answer cannot be read: ${what}`, facts, text, context),
    };
  }
  const target = redirectTarget(wire);
  const redirectTo = target ? `, a redirect to ${cutText(target)}` : '';
  const stopped = statusError(reply, meaning, {
    request: nameOf(context),
    nowMs: context.nowMs,
    isCreate: context.resend === 'paid' || context.resend === 'chat',
    retryAtMs: retryAfterMs === undefined ? undefined : context.nowMs + retryAfterMs,
  });
  return {
    failure: { kind: meaning.failure, retryAfterMs },
    stopped,
    // Not in the server's own words: they may say to send it again.
    unknown: unknownOutcome(`though it answered HTTP ${wire.status}${redirectTo}`, facts, undefined, context),
  };
}

/** A 2xx reply that refuses in its body. */
function refusedReply(said: GatewayErrorFacts, wire: WireReply, context: AttemptContext): Failed {
  const facts = replyFacts({ status: wire.status, headers: wire.headers, text: '' }, said);
  const reason = [said.code, said.message].filter(Boolean).join(': ');
  const message = `the gateway refused the request (${nameOf(context)}): ${cutText(reason)}`;
  const stopped = new GwError('rejected', message, facts);
  return { failure: { kind: 'refused' }, stopped, unknown: stopped };
}

function unknownOutcome(
  what: string,
  facts: ErrorFacts,
  partialText: string | undefined,
  context: AttemptContext,
): UnknownOutcome {
  const taken = context.resend === 'paid' ? 'this job' : 'this request';
  const message = `the gateway may have taken ${taken}, ${what} (${nameOf(context)})`;
  return new UnknownOutcome(message, { ...facts, hint: unknownHint }, partialText);
}

const nameOf = ({ request }: AttemptContext) => `${request.method} ${request.url.pathname}`;

function hintOf({ code }: ExchangeError): string {
  if (isCertificateTrouble(code)) {
    return 'if the certificate is one of your own, name its root with --cacert FILE';
  }
  if (code === exchangeCodes.silence) return 'a longer silence can be allowed with --timeout';
  if (code === exchangeCodes.proxyRefused)
    return 'check HTTPS_PROXY and HTTP_PROXY, or exempt the gateway with NO_PROXY';
  if (code === 'ENOTFOUND') return 'check the base URL: gw config list shows it and where it comes from';
  return 'check the network and the base URL: gw config list shows it and where it comes from';
}
