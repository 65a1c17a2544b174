/** What a listener is about to send; the delivery adds `Date`, `x-request-id` and `Content-Length`. */
export interface SandboxReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** The task that this reply created. */
  readonly acceptedTaskId?: string;
  /** How long after the request the reply begins, in milliseconds; at once where absent. */
  readonly readyAfterMs?: number;
  /** A streamed reply: its events. `body` is then what the same request would have got unstreamed. */
  readonly events?: Iterable<ReplyEvent>;
}

/** A piece of a streamed reply that is sent on its own. */
export interface ReplyEvent {
  readonly text: string;
  /** When it is due, in milliseconds after the request; never where Infinity. */
  readonly atMs: number;
}

/** The words that go with a status ("Errors"); the document does not list types and codes, these are plausible ones. */
const words: Readonly<
  Record<number, { readonly type: string; readonly code: string; readonly message: string }>
> = {
  400: { type: 'invalid_request_error', code: 'InvalidParameter', message: 'The request is not valid.' },
  401: {
    type: 'authentication_error',
    code: 'InvalidApiKey',
    message: 'The API key is missing or not valid.',
  },
  402: {
    type: 'billing_error',
    code: 'InsufficientBalance',
    message: 'The balance or video quota is used up.',
  },
  403: {
    type: 'permission_error',
    code: 'AccessDenied',
    message: 'The API key has no permission for this request.',
  },
  404: { type: 'not_found_error', code: 'NotFound', message: 'There is nothing at this path.' },
  405: {
    type: 'invalid_request_error',
    code: 'MethodNotAllowed',
    message: 'The path does not take this method.',
  },
  422: {
    type: 'invalid_request_error',
    code: 'SensitiveContentDetected',
    message: 'The content review refused it.',
  },
  429: { type: 'rate_limit_error', code: 'RateLimitExceeded', message: 'Too many requests.' },
};
const serverWords = {
  type: 'server_error',
  code: 'InternalServiceError',
  message: 'The service cannot answer now.',
};
const clientWords = {
  type: 'invalid_request_error',
  code: 'InvalidRequest',
  message: 'The request was refused.',
};

const wordsOf = (status: number) => words[status] ?? (status >= 500 ? serverWords : clientWords);

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

/** A stream of events; `body` is the JSON that the same request would have got unstreamed. */
export function eventReply(events: Iterable<ReplyEvent>, body: unknown): SandboxReply {
  const headers = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' };
  return { ...jsonReply(200, body, headers), events };
}

/** What stands under `error` in the body of a refusal. */
export function errorObject(
  status: number,
  said: { readonly code?: string; readonly message?: string },
): object {
  const { type, code, message } = wordsOf(status);
  return { message: said.message ?? message, type, code: said.code ?? code };
}

/** An error body `{error:{message,type,code}}` ("Errors"); `code` and `message` default to the status's own words. */
export function errorReply(
  status: number,
  said: { readonly code?: string; readonly message?: string } = {},
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

/** A request that the gateway refuses: thrown while it is looked at, sent as an error body. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  constructor(
    readonly status: number,
    message: string,
    readonly code?: string,
    readonly headers: Readonly<Record<string, string>> = {},
    /** What was refused, where it is a field. */
    readonly field?: string,
  ) {
    super(message);
  }
  toReply(): SandboxReply {
    return errorReply(
      this.status,
      { message: this.message, ...(this.code === undefined ? {} : { code: this.code }) },
      this.headers,
    );
  }
}
