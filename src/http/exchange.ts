/** One request on the wire, fully spelled out. */
export interface WireRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | StreamedBody | undefined;
  /** Open a connection of its own: a stale keep-alive must not make a create's outcome unknown. */
  readonly freshConnection?: boolean;
  /** Longest silence (no byte sent or received), in milliseconds. */
  readonly silenceMs: number;
  readonly connectMs: number;
  /** Largest whole reply, as it came and decoded; unset, it is the transport's own limit. */
  readonly replyLimitBytes?: number | undefined;
  /** Asked before a connection to these addresses of a host is made; throws ExchangeError where there may be none. */
  readonly checkAddresses?: CheckAddresses | undefined;
  readonly signal?: AbortSignal | undefined;
  /**
   * The signal ends the exchange only until its first byte may leave; then the reply is waited for, because it names
   * what was paid for.
   */
  readonly seeThrough?: boolean;
  /** Called where the signal, or `onConnected`, ends the exchange before it has begun: no byte has left. */
  readonly onUnsent?: (() => void) | undefined;
  /** Called on the connection, directly before the first byte leaves; what it throws ends the exchange. */
  readonly onConnected?: (() => void) | undefined;
}

/** What {@link WireRequest} asks of the addresses that a host has. */
export type CheckAddresses = (addresses: readonly string[], host: string) => Promise<void> | undefined;

/** A body that is made while it is sent. */
export interface StreamedBody {
  readonly byteLength: number;
  /** Throws GwError `usage` where it cannot be made; asked before each attempt, when nothing has been sent. */
  check(): Promise<void>;
  /** The bytes from their beginning, asked for as the socket takes them. Throws BodyFault where they end too early. */
  open(): AsyncIterable<Uint8Array>;
}

/** A body that cannot be sent to its end; the message says why. */
export class BodyFault extends Error {
  override readonly name = 'BodyFault';
}

export interface WireHead {
  readonly status: number;
  /** Lower-case names; a header sent several times is joined with ", ". */
  readonly headers: Readonly<Record<string, string>>;
}

export interface WireReply extends WireHead {
  readonly bytes: Uint8Array;
}

/** Bytes that come in pieces, gathered in one place: pieces put together at the end would be held twice. */
export class GatheredBytes {
  #held = Buffer.alloc(0);
  #byteLength = 0;

  get byteLength(): number {
    return this.#byteLength;
  }

  /** Makes room for as much as is announced; memory that is not used costs nothing. */
  expect(byteLength: number): void {
    if (this.#held.length < byteLength) this.#grow(byteLength);
  }

  push(chunk: Uint8Array): void {
    const needed = this.#byteLength + chunk.byteLength;
    if (needed > this.#held.length)
      this.#grow(Math.max(needed, 2 * this.#held.length, SMALLEST_GATHERED_BYTES));
    this.#held.set(chunk, this.#byteLength);
    this.#byteLength = needed;
  }

  #grow(byteLength: number): void {
    const larger = Buffer.allocUnsafeSlow(byteLength);
    this.#held.copy(larger, 0, 0, this.#byteLength);
    this.#held = larger;
  }

  get bytes(): Uint8Array {
    return this.#held.subarray(0, this.#byteLength);
  }
}

const SMALLEST_GATHERED_BYTES = 16 * 1024;

export interface WireHandler {
  onHead(head: WireHead): void;
  /**
   * Takes each chunk synchronously. A promise that it returns holds the reply back: what has been read off the socket
   * (64 KiB or so) still comes, more is read when the promise resolves; if it rejects, the exchange ends with its reason.
   */
  onData(chunk: Uint8Array): void | Promise<void>;
}

/** What an exchange that brought no complete reply says of it. */
export class ExchangeError extends Error {
  override readonly name = 'ExchangeError';
  constructor(
    message: string,
    /**
     * `no`: certainly no byte of the request left this machine for the gateway (refused, name not found, connect
     * timeout, TLS failure, closed with 0 bytes written). `maybe`: anything later.
     */
    readonly sent: 'no' | 'maybe',
    readonly code: string | undefined,
    /** What came of a cut reply: its head and the bytes so far (capped), for finding an ID in it. */
    readonly partial?: WireReply | undefined,
  ) {
    super(message);
  }
}

/** Moves requests and replies; no retry, no redirect, no opinion on statuses. */
export interface Transport {
  /** The whole reply. Throws ExchangeError, or the signal's reason when aborted. */
  exchange(request: WireRequest): Promise<WireReply>;
  /** The reply piece by piece; an exception from the handler ends the exchange and is thrown on. */
  stream(request: WireRequest, handler: WireHandler): Promise<WireHead>;
  /** Ends every exchange but those that are seen through, which are waited for; nothing new is sent. */
  close(): Promise<void>;
}

/** Codes of an ExchangeError that gw itself decides on; every other code is the system's (`ECONNRESET`, `ENOTFOUND`, …). */
export const exchangeCodes = {
  /** No connection within `connectMs`: name, TCP, proxy and TLS together. */
  connectTimeout: 'CONNECT_TIMEOUT',
  /** No byte sent or received for `silenceMs`. */
  silence: 'SILENCE',
  /** A reply that breaks HTTP, cannot be decoded, or is larger than allowed. */
  unreadable: 'UNREADABLE',
  proxyRefused: 'PROXY_REFUSED',
  bodyFault: 'BODY_FAULT',
  refusedAddress: 'REFUSED_ADDRESS',
  closed: 'TRANSPORT_CLOSED',
} as const;

const ownPermanent: ReadonlySet<string> = new Set([
  exchangeCodes.proxyRefused,
  exchangeCodes.refusedAddress,
  exchangeCodes.closed,
  exchangeCodes.bodyFault,
]);

/** What answers is not trusted. */
const certificateCodes: ReadonlySet<string> = new Set([
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'CERT_REVOKED',
  'CERT_UNTRUSTED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/** Whether no second try mends a failure. */
export const isPermanent = (code = ''): boolean => ownPermanent.has(code) || certificateCodes.has(code);

/** What helps where a certificate is not trusted, or a proxy refuses. */
export function cureOf(code = ''): string | undefined {
  if (code === exchangeCodes.proxyRefused)
    return 'check HTTPS_PROXY and HTTP_PROXY, or exempt the host with NO_PROXY';
  return certificateCodes.has(code)
    ? 'if the certificate is one of your own, name its root with --cacert FILE'
    : undefined;
}
