import { GwError } from '../errors.ts';
import type { Endpoint } from '../gateway/endpoint.ts';
import type { Clock } from '../host.ts';
import type { Client, Gateway, PreparedRequest, Reply, SendOptions } from './client.ts';
import { missingKey } from './credential.ts';
import { ExchangeError, type Transport, type WireReply } from './exchange.ts';
import { type Failed, failedExchange, failedReply } from './failed-attempt.ts';
import { prepareRequest } from './prepare.ts';
import { readReply } from './read-reply.ts';
import { decide, failureOfStatus } from './retry.ts';
import type { RetryBudget } from './retry-budget.ts';
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
  readonly userAgent: string;
}

/** How long a call goes on where nobody set a deadline. */
const DEFAULT_DEADLINE_MS = 120_000;

/** The gateway's client: prepares requests, sends them, and sends again what the resend table allows. */
export function createClient(options: ClientOptions): Client {
  const { gateway, transport, clock, budget, random, userAgent } = options;

  function attempt(
    request: PreparedRequest,
    endpoint: Endpoint,
    signal: AbortSignal | undefined,
  ): Promise<WireReply> {
    const paid = endpoint.resend === 'paid';
    return transport.exchange({
      ...request,
      signal,
      freshConnection: paid,
      seeThrough: paid,
      silenceMs: options.silenceMs,
      connectMs: options.connectMs,
    });
  }

  /** One attempt, read and judged: a reply to return, or a failure with its error. */
  async function tryOnce<T>(
    request: PreparedRequest,
    endpoint: Endpoint<T>,
    { signal }: SendOptions,
  ): Promise<{ readonly reply: Reply<T> } | { readonly failed: Failed }> {
    const beganMs = clock.steady();
    const context = { request, resend: endpoint.resend, nowMs: clock.now() };
    let wire: WireReply;
    try {
      wire = await attempt(request, endpoint, signal);
    } catch (error) {
      if (!(error instanceof ExchangeError)) throw error;
      options.trace?.(`< ${error.message}`);
      return { failed: failedExchange(error, context) };
    }
    const now = { ...context, nowMs: clock.now() };
    for (const line of traceReply(wire, clock.steady() - beganMs)) options.trace?.(line);
    const kind = failureOfStatus(wire.status);
    if (kind) return { failed: failedReply(kind, wire, now) };
    const read = readReply(wire, endpoint);
    return read.ok ? { reply: read.reply } : { failed: failedReply('unreadable', wire, now) };
  }

  async function send<T>(
    endpoint: Endpoint<T>,
    input: Parameters<Client['send']>[1],
    sendOptions: SendOptions = {},
  ) {
    const { signal, onSend, retryNotFoundUntilMs } = sendOptions;
    if (gateway.key === undefined) throw missingKey();
    signal?.throwIfAborted();
    const request = prepareRequest(gateway, endpoint, input, userAgent);
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
      for (const line of options.trace ? traceRequest(request) : []) options.trace?.(line);
      onSend?.();
      const outcome = await tryOnce(request, endpoint, sendOptions);
      if ('reply' in outcome) {
        budget.earn();
        return outcome.reply;
      }
      const { failure, stopped, unknown } = outcome.failed;
      const decision = decide(endpoint.resend, failure, { ...limits, retriesDone, nowMs: clock.steady() });
      if (decision.action === 'unknown') throw unknown;
      if (decision.action === 'stop') throw withCount(stopped, retriesDone);
      if (!decision.told && !budget.take()) throw withCount(stopped, retriesDone);
      options.trace?.(
        `* sent again in ${(decision.delayMs / 1000).toFixed(1)} s: ${failure.kind.replaceAll('_', ' ')}`,
      );
      await clock.sleep(decision.delayMs, signal);
    }
  }

  return {
    gateway,
    prepare: (endpoint, input) => prepareRequest(gateway, endpoint, input, userAgent),
    send,
  };
}

/** Says how often it was tried, where that was more than once. */
function withCount(error: GwError, retriesDone: number): GwError {
  if (retriesDone === 0) return error;
  return new GwError(error.kind, `${error.message} (tried ${retriesDone + 1} times)`, error.facts);
}
