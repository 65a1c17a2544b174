import type { Endpoint, HttpMethod } from '../gateway/endpoint.ts';
import type { WireHead, WireReply } from './exchange.ts';
import type { MultipartBody } from './multipart-body.ts';

/** The gateway's address and the credentials for it. The API key is sent only to this origin. */
export interface Gateway {
  /** Without a trailing slash; may have a path. */
  readonly baseUrl: string;
  /** Absent only for `--dry-run`. */
  readonly key: string | undefined;
  /** Runs the user's key command for a new API key, if one is configured: its keys may be short-lived. */
  readonly newKey?: (() => Promise<string>) | undefined;
  /** The date for the `provider-version` header of native messages. */
  readonly providerVersion?: string | undefined;
}

/** The variable parts of a request: path parameters, query and body. */
export interface RequestInput {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** JSON text that is sent unchanged in place of `body`. */
  readonly bodyText?: string;
  /** A form with files, in place of `body`. */
  readonly multipart?: MultipartBody;
  /** Asks for an event stream; the caller itself sets the `stream` field of the body. */
  readonly stream?: boolean;
}

/** A request ready to be sent or shown; its headers hold the real credential. */
export interface PreparedRequest {
  readonly method: HttpMethod;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | undefined;
  /** A form that replaces `body`; its files are read when it is sent. */
  readonly multipart?: MultipartBody;
}

export interface SendOptions {
  /**
   * Aborting ends the call with the signal's reason. A paid call ends only while it waits or connects: once a byte may
   * have left, gw waits for the reply, because only the reply names the paid task.
   */
  readonly signal?: AbortSignal | undefined;
  /** Maximum number of retries of this call; the client's default if absent. */
  readonly retries?: number;
  /** No retry begins after this steady time or after two minutes; a later `Retry-After` ends the call at once. */
  readonly deadlineMs?: number | undefined;
  /**
   * Replaces the pause before a retry, for callers that share a rate limit. It resolves when the retry may begin; if it
   * throws, the call ends with that error.
   */
  readonly pause?: ((pause: RetryPause) => Promise<void>) | undefined;
  /** Timeout in milliseconds when no byte is sent or received; the client's default if absent. */
  readonly silenceMs?: number | undefined;
  /** Called just before an attempt may send its first byte (the ledger's `sent`). */
  readonly onSend?: (() => void) | undefined;
  /** Called directly before an attempt sends its first byte; if it throws, the call ends and no byte leaves. */
  readonly onConnected?: (() => void) | undefined;
  /** Called with true when an attempt begins and false when it ends; between attempts the call is only waiting. */
  readonly onExchange?: ((isUnderWay: boolean) => void) | undefined;
  /**
   * Called when an attempt made nothing and the call may go on: no byte left, or the gateway refused it with a 401 or 429
   * (`wasAnswered`) and another attempt follows.
   */
  readonly onUnsent?: ((wasAnswered: boolean) => void) | undefined;
  /** Called before the failure is handled if an attempt may have taken effect but no readable 2xx reply came. */
  readonly onLost?: (() => void) | undefined;
  /** Called with the complete reply that made the call fail, just before its error is thrown. */
  readonly onRefused?: ((reply: WireReply) => void) | undefined;
}

/** The reason and duration of the pause before a retry, and a function that reports it, to be called every 30 s. */
export interface RetryPause {
  readonly delayMs: number;
  /** True if the gateway answered that there were too many requests. */
  readonly isRateLimited: boolean;
  readonly tell: () => void;
}

export interface Reply<T = unknown> {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The value that the endpoint's reply schema parsed. */
  readonly value: T;
  /** The JSON exactly as it came. */
  readonly json: unknown;
  readonly text: string;
  /** The raw bytes. `text` is decoded from them on each access, so that a large reply is not kept twice. */
  readonly bytes: Uint8Array;
  readonly requestId: string | undefined;
  /** The server's `Date`, Unix milliseconds, if it sent one. */
  readonly serverDateMs: number | undefined;
}

/** Receives chunks of an event stream; a pending promise pauses reading (as for WireHandler's `onData`). */
export type TakeChunk = (chunk: Uint8Array) => void | Promise<void>;

/** Receives the body of a 2xx reply in chunks. */
export interface ReplyTaker {
  /** Called before the first byte, and at most once per call even if the request was sent several times. */
  onHead(head: WireHead): void;
  readonly takeChunk: TakeChunk;
}

/** The head of a reply whose body was handed to a receiver. */
export type ReceivedHead = Pick<Reply, 'status' | 'headers' | 'requestId' | 'serverDateMs'>;

export interface Client {
  readonly gateway: Gateway;
  /** Maximum number of retries of a request that may be sent again (`--retries`). */
  readonly retries: number;
  /** How many times faster than the service the gateway says it runs: 1, except for a sandbox on this machine. */
  speed(): number;
  prepare(endpoint: Endpoint, input: RequestInput): PreparedRequest;
  /**
   * Sends a request, and again where the resend matrix allows. Resolves with a complete, readable 2xx reply. Throws
   * GwError: `auth`, `not_found`, `rejected`, `balance`, `rate_limited`, `unavailable`, and for a paid endpoint
   * UnknownOutcome; or the signal's reason.
   */
  send<T>(endpoint: Endpoint<T>, input: RequestInput, options?: SendOptions): Promise<Reply<T>>;
  /**
   * Requests an event stream and hands over its bytes; returns the whole reply if the gateway sent one instead. A request
   * is sent again only where the resend matrix allows, and only before the first byte of an answer. Throws as `send` does,
   * `unavailable` if the stream breaks off, and whatever the receiver throws.
   */
  stream<T>(
    endpoint: Endpoint<T>,
    input: RequestInput,
    taker: ReplyTaker,
    options?: SendOptions,
  ): Promise<Reply<T> | undefined>;
  /**
   * Sends a request and hands over the body of a 2xx reply in chunks, whatever it holds: for replies too large for
   * memory, which the receiver parses. Throws as `send` does for any other reply and for one that breaks off (after its
   * chunks so far), and whatever the receiver throws. After a 2xx head nothing is sent again.
   */
  receive(
    endpoint: Endpoint,
    input: RequestInput,
    taker: ReplyTaker,
    options?: SendOptions,
  ): Promise<ReceivedHead>;
}
