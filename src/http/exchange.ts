/** One request with everything that goes on the wire. */
export interface WireRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | StreamedBody | undefined;
  /** Opens a new connection: a stale keep-alive connection must not make a create's outcome unknown. */
  readonly freshConnection?: boolean;
  /** Timeout in milliseconds when no byte is sent or received. */
  readonly silenceMs: number;
  readonly connectMs: number;
  /** Largest whole reply, both raw and decoded; by default the transport's own limit. */
  readonly replyLimitBytes?: number | undefined;
  /** Checks a host's addresses before the connection is made; throws ExchangeError if they are not allowed. */
  readonly checkAddresses?: CheckAddresses | undefined;
  readonly signal?: AbortSignal | undefined;
  /**
   * The signal ends the exchange only until the first byte may leave; after that gw waits for the reply, because only
   * the reply names the paid task.
   */
  readonly seeThrough?: boolean;
  /** Called if the signal or `onConnected` ends the exchange before any byte has left. */
  readonly onUnsent?: (() => void) | undefined;
  /** Called once connected, directly before the first byte leaves; if it throws, the exchange ends. */
  readonly onConnected?: (() => void) | undefined;
}

/** Checks the addresses of a host before a {@link WireRequest} connects to it. */
export type CheckAddresses = (addresses: readonly string[], host: string) => Promise<void> | undefined;

/** A request body that is produced while it is sent. */
export interface StreamedBody {
  readonly byteLength: number;
  /** Throws GwError `usage` if the body cannot be produced; called before each attempt, when nothing has been sent. */
  check(): Promise<void>;
  /** The bytes from the start, pulled as the socket takes them. Throws BodyFault if they end too early. */
  open(): AsyncIterable<Uint8Array>;
}

/** A request body that could not be sent completely; the message says why. */
export class BodyFault extends Error {
  override readonly name = 'BodyFault';
}

export interface WireHead {
  readonly status: number;
  /** Names are in lower case; the values of a repeated header are joined with ", ". */
  readonly headers: Readonly<Record<string, string>>;
}

export interface WireReply extends WireHead {
  readonly bytes: Uint8Array;
}

/** Collects chunks in one growing buffer; joining them at the end would keep them in memory twice. */
export class GatheredBytes {
  #held = Buffer.alloc(0);
  #byteLength = 0;

  constructor(private readonly limitBytes = Number.POSITIVE_INFINITY) {}

  get byteLength(): number {
    return this.#byteLength;
  }

  /** Reserves the announced size; memory that is never written costs nothing. */
  expect(byteLength: number): void {
    if (this.#held.length < byteLength) this.#grow(byteLength);
  }

  /** Throws ExchangeError `UNREADABLE` for more bytes than the limit. */
  push(chunk: Uint8Array): void {
    const needed = this.#byteLength + chunk.byteLength;
    if (needed > this.#held.length)
      this.#grow(Math.max(needed, 2 * this.#held.length, SMALLEST_GATHERED_BYTES));
    this.#held.set(chunk, this.#byteLength);
    this.#byteLength = needed;
    if (needed <= this.limitBytes) return;
    const message = `the reply is larger than ${this.limitBytes} bytes`;
    throw new ExchangeError(message, 'maybe', exchangeCodes.unreadable);
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
   * Receives each chunk synchronously. While its promise is pending, the reply is paused: chunks already read (about 64
   * KiB) still come. When it resolves, reading continues; if it rejects, the exchange ends with its reason.
   */
  onData(chunk: Uint8Array): void | Promise<void>;
}

/** The failure of an exchange that brought no complete reply. */
export class ExchangeError extends Error {
  override readonly name = 'ExchangeError';
  constructor(
    message: string,
    /**
     * `no`: certainly no byte of the request left this machine for the gateway (refused, name not found, connect
     * timeout, TLS failure, closed with 0 bytes written). `maybe`: any later failure.
     */
    readonly sent: 'no' | 'maybe',
    readonly code: string | undefined,
    /** The head and first bytes (up to a limit) of a reply that broke off; gw searches them for an ID. */
    readonly partial?: WireReply | undefined,
  ) {
    super(message);
  }
}

/** Transports requests and replies. It never retries, follows no redirect and does not judge statuses. */
export interface Transport {
  /** Returns the whole reply. Throws ExchangeError, or the signal's reason when aborted. */
  exchange(request: WireRequest): Promise<WireReply>;
  /** Passes the reply to the handler in chunks; an exception from the handler ends the exchange and is rethrown. */
  stream(request: WireRequest, handler: WireHandler): Promise<WireHead>;
  /** Ends all exchanges, except those with `seeThrough`, which it waits for; nothing new is sent. */
  close(): Promise<void>;
}

/** Error codes that gw itself assigns; any other code of an ExchangeError is the system's, such as `ECONNRESET`. */
export const exchangeCodes = {
  /** No byte was sent or received for `silenceMs`. */
  silence: 'SILENCE',
  /** The reply breaks HTTP, cannot be decoded, or is too large. */
  unreadable: 'UNREADABLE',
  proxyRefused: 'PROXY_REFUSED',
  proxyAway: 'PROXY_AWAY',
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

/** Codes of errors that mean an untrusted certificate. */
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

/** True for a failure that a retry cannot fix. */
export const isPermanent = (code = ''): boolean => ownPermanent.has(code) || certificateCodes.has(code);

/** A hint for an untrusted certificate, or for a proxy that refuses or is away; undefined for other failures. */
export function cureOf(code = ''): string | undefined {
  if (code === exchangeCodes.proxyRefused || code === exchangeCodes.proxyAway)
    return 'check HTTPS_PROXY and HTTP_PROXY, or exempt the host with NO_PROXY';
  return certificateCodes.has(code)
    ? 'if the certificate is one of your own, name its root with --cacert FILE'
    : undefined;
}
