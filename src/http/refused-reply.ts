import { type ErrorFacts, GwError } from '../errors.ts';
import type { Resend } from '../gateway/endpoint.ts';
import { type GatewayErrorFacts, readGatewayError } from '../gateway/gateway-error.ts';
import type { PreparedRequest } from './client.ts';
import type { WireHead, WireReply } from './exchange.ts';
import { BROKEN_JSON, jsonIn, parseJson, type UnreadableJson } from './parse-json.ts';
import { requestIdOf, textOf } from './read-reply.ts';
import type { StatusMeaning } from './reply-statuses.ts';

/** No real error is longer; only this much of a longer body is read. */
const LONGEST_ERROR_BYTES = 1024 * 1024;

/** The text of a reply that is not a success; only the beginning if it is very long. */
export const errorTextOf = ({ bytes }: Pick<WireReply, 'bytes'>): string =>
  textOf({ bytes: bytes.subarray(0, LONGEST_ERROR_BYTES) });

/** A complete reply with a status other than 2xx. */
interface RefusedReply extends WireHead {
  readonly text: string;
}

/** Facts about an attempt that its reply does not hold. */
export interface AttemptContext {
  readonly request: Pick<PreparedRequest, 'method' | 'url'>;
  readonly resend: Resend;
  /** Unix milliseconds. */
  readonly nowMs: number;
}

/** The request of an attempt, for messages: `POST /v1/images/generations`. */
export const nameOf = ({ request }: AttemptContext) => `${request.method} ${request.url.pathname}`;

/** Text from outside is shown unchanged up to this length. */
const LONGEST_MESSAGE = 500;

const wrongPath =
  'check the path of the base URL (gw config list); then the model, and any ID that the request names';
const movedAway = 'if the gateway has moved, give its new address with --base-url';

/**
 * Turns a refused reply into a GwError: its kind comes from the status, its sentence from the status and the body's
 * message, its facts from body and headers. Any body is accepted: HTML, empty, cut, `null`, `[]`. `retryAtMs` is when the
 * gateway says that it may be asked again, in Unix milliseconds.
 */
export function statusError(
  reply: RefusedReply,
  meaning: StatusMeaning,
  context: AttemptContext,
  retryAtMs?: number,
): GwError {
  const { kind, sentence } = meaning;
  const said = readGatewayError(jsonIn(reply.text));
  const message = said.message ?? missingMessage(reply);
  return new GwError(kind, `${sentence} (HTTP ${reply.status}, ${nameOf(context)}): ${cutText(message)}`, {
    ...replyFacts(reply, said),
    hint: hintOf(reply, meaning, context),
    ...(retryAtMs !== undefined && { retryAtMs, when: describeWhen(retryAtMs, context.nowMs) }),
  });
}

/** Status, type, code and request ID of a reply, each cut to the longest allowed length. */
export function replyFacts(
  reply: RefusedReply,
  said: GatewayErrorFacts = readGatewayError(jsonIn(reply.text)),
): ErrorFacts {
  const cut = (text: string | undefined) => (text === undefined ? undefined : cutText(text));
  return {
    status: reply.status,
    type: cut(said.type),
    code: cut(said.code),
    // The request ID in the body is the documented one (family B, the asset library).
    requestId: cut(said.requestId ?? requestIdOf(reply.headers)),
  };
}

/** Cuts a text at 500 characters, never inside a character. */
export function cutText(text: string): string {
  if (text.length <= LONGEST_MESSAGE) return text;
  const characters = [...text.slice(0, 2 * LONGEST_MESSAGE + 2)];
  return characters.length <= LONGEST_MESSAGE ? text : `${characters.slice(0, LONGEST_MESSAGE).join('')}…`;
}

/** Proxies send HTML pages that may begin with a heading or a comment, or as XHTML. */
const htmlPage =
  /^(?:<(?:\?xml\b|!--)[^>]*>\s*)*<(?:!doctype|html|head|body|title|meta|script|style|div|p|h[1-6]|center|pre)\b/i;

/** Says in a few words what a body is that should have been JSON. */
export function describeBody(text: string): string {
  const trimmed = text.trimStart();
  if (trimmed === '') return 'an empty body';
  if (htmlPage.test(trimmed)) return 'an HTML page';
  if (trimmed.startsWith('<')) return 'XML';
  if (/^(null|true|false|-?\d+(\.\d+)?)\s*$/.test(trimmed))
    return `the JSON value ${trimmed.trim().slice(0, 40)}`;
  if (!/^[[{"]/.test(trimmed)) return 'plain text';
  try {
    return Array.isArray(parseJson(trimmed)) ? 'a JSON list' : 'other JSON than documented';
  } catch (error) {
    const { message } = error as UnreadableJson;
    // A long text may be broken JSON only because gw itself cut it off.
    const isCut = message === BROKEN_JSON && text.length >= LONGEST_ERROR_BYTES / 4;
    return isCut ? 'a long text that is not the JSON that is documented' : message;
  }
}

function missingMessage({ status, text, headers }: RefusedReply): string {
  const target = redirectTarget({ status, headers });
  if (target !== undefined) return target === '' ? 'to nowhere' : `to ${target}`;
  return `it sent ${describeBody(text)} instead of a message`;
}

function hintOf(reply: RefusedReply, { failure, hint }: StatusMeaning, { resend }: AttemptContext) {
  // A create names nothing that could be missing, so that a 404 must be about its path.
  const isCreate = resend === 'paid' || resend === 'chat';
  const moved = redirectTarget(reply) && movedAway;
  return moved || (isCreate && failure === 'not_found' ? wrongPath : hint);
}

const DAY_MS = 24 * 3_600_000;

/** `the gateway may be asked again in 90 s, at 2026-11-20T21:00:00Z`. */
function describeWhen(atMs: number, nowMs: number): string {
  const aheadMs = Math.max(0, atMs - nowMs);
  const may = 'the gateway may be asked again in';
  if (aheadMs > 366 * DAY_MS) return `${may} more than a year`;
  return `${may} ${Math.ceil(aheadMs / 1000)} s, at ${new Date(atMs).toISOString().replace(/\.\d+Z$/, 'Z')}`;
}

/** A redirect's target without its secret parts; empty if it names none, undefined if it is no redirect. */
export function redirectTarget({ status, headers }: WireHead): string | undefined {
  if (status < 300 || status >= 400 || status === 304) return undefined;
  return (headers.location ?? '').replace(/[?#].*$/s, '').replace(/\/\/[^/@]*@/, '//');
}
