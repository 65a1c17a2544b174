import type { Endpoint, HttpMethod } from '../gateway/endpoint.ts';
import type { WireHead, WireReply } from './exchange.ts';
import type { MultipartBody } from './multipart-body.ts';

/** Where requests go and who sends them. The key stays with this origin. */
export interface Gateway {
  /** Without a trailing slash; may have a path. */
  readonly baseUrl: string;
  /** Absent only for `--dry-run`. */
  readonly key: string | undefined;
  /** Asks for the key anew, where a command gives it: its keys may live shortly. */
  readonly newKey?: (() => Promise<string>) | undefined;
  /** The date that native messages carry in `provider-version`. */
  readonly providerVersion?: string | undefined;
}

/** What fills an endpoint's row: path parameters, query and body. */
export interface RequestInput {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** JSON text in place of `body`, sent as it was written. */
  readonly bodyText?: string;
  /** A form with files, in place of `body`. */
  readonly multipart?: MultipartBody;
  /** Asks for an event stream; the field of the body that does so is the caller's. */
  readonly stream?: boolean;
}

/** A request ready to be sent or shown; headers hold the real credential. */
export interface PreparedRequest {
  readonly method: HttpMethod;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | undefined;
  /** In place of `body`: a form, whose files are read when it is sent. */
  readonly multipart?: MultipartBody;
}

export interface SendOptions {
  /**
   * Ends the call with its reason. Of a paid endpoint it ends waiting and connecting only: once a byte may have left, the
   * reply is waited for, because it names what was paid for.
   */
  readonly signal?: AbortSignal | undefined;
  /** Retries of this one call; the client's own number when absent. */
  readonly retries?: number;
  /** Milliseconds of the steady clock after which no retry is begun; a `Retry-After` beyond it ends the call at once. */
  readonly deadlineMs?: number | undefined;
  /** A 404 is retried until this Unix millisecond (a task just created may not be known everywhere yet). */
  readonly retryNotFoundUntilMs?: number | undefined;
  /**
   * Takes the place of the pause before a further attempt: for who shares a rate with others. Resolves when the attempt
   * may be made; what it throws ends the call.
   */
  readonly pause?: ((pause: RetryPause) => Promise<void>) | undefined;
  /** Longest silence of this call, in milliseconds; the client's own when absent. */
  readonly silenceMs?: number | undefined;
  /** Called just before the first byte of each attempt may leave (the ledger's `sent`). */
  readonly onSend?: (() => void) | undefined;
  /** Called directly before the first byte of an attempt leaves: what it throws ends the call, and no byte has left. */
  readonly onConnected?: (() => void) | undefined;
  /** Tells when an attempt is under way, and when it is over: between attempts it is only waited for. */
  readonly onExchange?: ((isUnderWay: boolean) => void) | undefined;
  /** Called when no byte of an attempt left, before what follows from it: it was not sent after all. */
  readonly onUnsent?: (() => void) | undefined;
  /** Called when an attempt may have done its work and no complete, readable 2xx reply came, before what follows from it. */
  readonly onLost?: (() => void) | undefined;
  /** Takes the complete reply that ended the call without being a success, just before its error is thrown. */
  readonly onRefused?: ((reply: WireReply) => void) | undefined;
}

/** Why and how long a call waits before it is sent again. */
export interface RetryPause {
  readonly delayMs: number;
  /** Whether the gateway said that there were too many requests. */
  readonly isRateLimited: boolean;
}

export interface Reply<T = unknown> {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** What the endpoint's loose reply schema found. */
  readonly value: T;
  /** The JSON exactly as it came. */
  readonly json: unknown;
  readonly text: string;
  /** What `text` is read from, each time that it is asked for: a large reply is not held twice. */
  readonly bytes: Uint8Array;
  readonly requestId: string | undefined;
  /** The server's `Date`, Unix milliseconds, if it sent one. */
  readonly serverDateMs: number | undefined;
}

/** Takes an event stream as it comes; as WireHandler's `onData`, a promise holds the rest back. */
export type TakeChunk = (chunk: Uint8Array) => void | Promise<void>;

/** How a call that asked for an event stream ended. */
export type StreamEnd<T = unknown> =
  /** Every byte has been handed over; what the taker still holds is its own affair. */
  | { readonly streamed: true; readonly requestId: string | undefined }
  /** A whole reply came in place of a stream. */
  | { readonly streamed: false; readonly reply: Reply<T> };

/** Takes the body of a 2xx reply as it comes. */
export interface ReplyTaker {
  /** Before the first byte; at most once, whatever was sent how often. */
  onHead(head: WireHead): void;
  readonly takeChunk: TakeChunk;
}

/** The head of a reply whose body has been handed over. */
export type ReceivedHead = Pick<Reply, 'status' | 'headers' | 'requestId' | 'serverDateMs'>;

export interface Client {
  readonly gateway: Gateway;
  /** How many times faster than the service the gateway says it is: 1, but for a sandbox on this machine. */
  speed(): number;
  prepare(endpoint: Endpoint, input: RequestInput): PreparedRequest;
  /**
   * Sends and, where the resend matrix allows, sends again. Resolves with a complete, readable 2xx reply.
   * Throws GwError: `auth`, `not_found`, `rejected`, `balance`, `rate_limited`, `unavailable`, and for a paid endpoint
   * UnknownOutcome; or the signal's reason.
   */
  send<T>(endpoint: Endpoint<T>, input: RequestInput, options?: SendOptions): Promise<Reply<T>>;
  /**
   * Sends, asking for an event stream, and hands over the stream's bytes. Sends again only what the resend matrix allows
   * and only before the first byte of an answer. Throws as `send`, and `unavailable` for a stream that breaks off.
   */
  stream<T>(
    endpoint: Endpoint<T>,
    input: RequestInput,
    takeChunk: TakeChunk,
    options?: SendOptions,
  ): Promise<StreamEnd<T>>;
  /**
   * Sends, and hands over the body of a 2xx reply as it comes, whatever it holds: for replies too large to be held, whose
   * meaning is the taker's to find. Throws as `send` for every other reply and for one that breaks off (what came has
   * been handed over), and what the taker threw; after a 2xx head nothing is sent again.
   */
  receive(
    endpoint: Endpoint,
    input: RequestInput,
    taker: ReplyTaker,
    options?: SendOptions,
  ): Promise<ReceivedHead>;
}
