/** A reply that is to be sent; delivery adds `Date`, `x-request-id` and `Content-Length`. */
export interface SandboxReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  readonly acceptedTaskId?: string;
  /** The delay before the reply begins, in milliseconds after the request; none if absent. */
  readonly readyAfterMs?: number;
  /** The events of a streamed reply; `body` is then the equivalent whole reply. */
  readonly events?: Iterable<ReplyEvent>;
}

/** A piece of a streamed reply that is sent by itself. */
export interface ReplyEvent {
  readonly text: string;
  /** Its time in milliseconds after the request; Infinity means never. */
  readonly atMs: number;
}

/** The error type, code and message of each status ("Errors"); types and codes are invented, as none are documented. */
const words: Readonly<Record<number, readonly [type: string, code: string, message: string]>> = {
  400: ['invalid_request_error', 'InvalidParameter', 'The request is not valid.'],
  401: ['authentication_error', 'InvalidApiKey', 'The API key is missing or not valid.'],
  402: ['billing_error', 'InsufficientBalance', 'The balance or video quota is used up.'],
  403: ['permission_error', 'AccessDenied', 'The API key has no permission for this request.'],
  404: ['not_found_error', 'NotFound', 'There is nothing at this path.'],
  405: ['invalid_request_error', 'MethodNotAllowed', 'The path does not take this method.'],
  422: ['invalid_request_error', 'SensitiveContentDetected', 'The content review refused it.'],
  429: ['rate_limit_error', 'RateLimitExceeded', 'Too many requests.'],
};
const serverWords = ['server_error', 'InternalServiceError', 'The service cannot answer now.'] as const;
const clientWords = ['invalid_request_error', 'InvalidRequest', 'The request was refused.'] as const;

export function jsonReply(
  status: number,
  value: unknown,
  headers: Readonly<Record<string, string>> = {},
): SandboxReply {
  return {
    status,
    headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
    body: Buffer.from(JSON.stringify(value)),
  };
}

/** A stream of events; `body` is the equivalent whole reply as JSON. */
export function eventReply(events: Iterable<ReplyEvent>, body: unknown): SandboxReply {
  const headers = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' };
  return { ...jsonReply(200, body, headers), events };
}

/** The value of `error` in the body of a refusal. */
export function errorObject(status: number, said: Partial<Pick<Refusal, 'code' | 'message'>>): object {
  const [type, code, message] = words[status] ?? (status >= 500 ? serverWords : clientWords);
  return { message: said.message ?? message, type, code: said.code ?? code };
}

/** An error body `{error:{message,type,code}}` ("Errors"); `code` and `message` default to the status's own. */
export function errorReply(
  status: number,
  said: Partial<Pick<Refusal, 'code' | 'message'>> = {},
  headers: Readonly<Record<string, string>> = {},
): SandboxReply {
  return jsonReply(status, { error: errorObject(status, said) }, headers);
}

const escapeXml = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

/** An error of the output origin: XML, as object stores answer. */
export function xmlErrorReply(
  status: number,
  code: string,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): SandboxReply {
  const xml = `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${escapeXml(code)}</Code><Message>${escapeXml(message)}</Message></Error>\n`;
  return { status, headers: { 'content-type': 'application/xml', ...headers }, body: Buffer.from(xml) };
}

/** A request that the gateway refuses: thrown by checks, and sent as an error body. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  constructor(
    readonly status: number,
    message: string,
    readonly code?: string,
    readonly headers: Readonly<Record<string, string>> = {},
    /** The refused field, if it is one. */
    readonly field?: string,
  ) {
    super(message);
  }
  toReply(): SandboxReply {
    return errorReply(this.status, this, this.headers);
  }
}
