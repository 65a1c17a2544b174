import { type ErrorFacts, GwError, UnknownOutcome } from '../errors.ts';
import { type GatewayErrorFacts, readGatewayError } from '../gateway/gateway-error.ts';
import { cureOf, type ExchangeError, exchangeCodes, type WireReply } from './exchange.ts';
import { jsonIn } from './parse-json.ts';
import { textOf } from './read-reply.ts';
import {
  type AttemptContext,
  cutText,
  describeBody,
  errorTextOf,
  nameOf,
  redirectTarget,
  replyFacts,
  statusError,
} from './refused-reply.ts';
import { retryAfterMs } from './reply-dates.ts';
import type { StatusMeaning } from './reply-statuses.ts';
import { type Failure, failureOfExchange } from './retry.ts';

/** A failed attempt: the facts for the resend table, and an error for each of the two outcomes. */
export interface Failed {
  readonly failure: Failure;
  /** The error if the call simply stops. */
  readonly stopped: GwError;
  /** The error if the request may have created something. */
  readonly unknown: GwError;
}

// The hint does not suggest trying again: the user must not pay twice on our advice.
const unknownHint =
  'it was not sent again, because it may have been created: look at gw jobs list and the console first';

export const cutAnswerHint = 'nothing was sent again';

/** A failed attempt that brought no complete reply. */
export function failedExchange(error: ExchangeError, context: AttemptContext): Failed {
  const { partial } = error;
  const facts = partial && replyFacts({ ...partial, text: '' });
  const isAnswer = partial !== undefined && partial.status >= 200 && partial.status < 300;
  const toldMs = retryAfterMs(partial?.headers, context.nowMs);
  return {
    failure: { kind: failureOfExchange(error), retryAfterMs: toldMs },
    stopped: new GwError('unavailable', `${nameOf(context)} failed: ${error.message}`, {
      ...facts,
      retryAtMs: toldMs === undefined ? undefined : context.nowMs + toldMs,
      hint: isAnswer && context.resend === 'chat' ? cutAnswerHint : hintOf(error),
    }),
    unknown: unknownOutcome(
      `but its answer was lost: ${error.message}`,
      { ...facts },
      isAnswer ? textOf(partial) : undefined,
      context,
    ),
  };
}

/** A complete reply that is not a success: a status with a meaning, or a 2xx that cannot be read. */
export function failedReply(
  meaning: StatusMeaning | 'unreadable',
  wire: WireReply,
  context: AttemptContext,
): Failed {
  const { status, headers } = wire;
  const reply = { status, headers, text: errorTextOf(wire) };
  const toldMs = retryAfterMs(headers, context.nowMs);
  const retryAtMs = toldMs === undefined ? undefined : context.nowMs + toldMs;
  const facts = replyFacts(reply);
  if (meaning === 'unreadable') {
    const what = `HTTP ${status} with ${describeBody(reply.text)}`;
    const { message } = readGatewayError(jsonIn(reply.text));
    const said = message ? `, which says: ${cutText(message)}` : '';
    return {
      failure: { kind: 'unreadable', retryAfterMs: toldMs },
      stopped: new GwError('unavailable', `${nameOf(context)} brought an unreadable reply: ${what}${said}`, {
        ...facts,
        retryAtMs,
        hint: 'if every call ends like this, check the base URL: something other than the gateway answers',
      }),
      unknown: unknownOutcome(`but its answer cannot be read: ${what}`, facts, reply.text, context),
    };
  }
  const target = redirectTarget(wire);
  const redirectTo = target ? `, a redirect to ${cutText(target)}` : '';
  return {
    failure: { kind: meaning.failure, retryAfterMs: toldMs },
    stopped: statusError(reply, meaning, context, retryAtMs),
    // The server's own message is left out, because it may advise to send the request again.
    unknown: unknownOutcome(`though it answered HTTP ${wire.status}${redirectTo}`, facts, undefined, context),
  };
}

/** A 2xx reply whose body is a refusal. */
export function refusedReply(said: GatewayErrorFacts, wire: WireReply, context: AttemptContext): Failed {
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

function hintOf({ code }: ExchangeError): string {
  if (code === exchangeCodes.silence) return 'a longer silence can be allowed with --timeout';
  const name = code === 'ENOTFOUND' ? 'check the base URL' : 'check the network and the base URL';
  return cureOf(code) ?? `${name}: gw config list shows it and where it comes from`;
}
