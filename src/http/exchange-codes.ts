/** Codes of an ExchangeError that gw itself decides on; every other code is the system's (`ECONNRESET`, `ENOTFOUND`, …). */
export const exchangeCodes = {
  /** No connection within `connectMs`: name, TCP, proxy and TLS together. */
  connectTimeout: 'CONNECT_TIMEOUT',
  /** No byte sent or received for `silenceMs`. */
  silence: 'SILENCE',
  /** A reply that breaks HTTP, cannot be decoded, or is larger than allowed. */
  unreadable: 'UNREADABLE',
  /** The proxy would not pass the request on. */
  proxyRefused: 'PROXY_REFUSED',
  /** The body of the request could not be made to its end. */
  bodyFault: 'BODY_FAULT',
  /** The address is not one that may be asked. */
  refusedAddress: 'REFUSED_ADDRESS',
  /** The transport was closed under the request. */
  closed: 'TRANSPORT_CLOSED',
} as const;

const ownPermanent: ReadonlySet<string> = new Set([
  exchangeCodes.proxyRefused,
  exchangeCodes.refusedAddress,
  exchangeCodes.closed,
  exchangeCodes.bodyFault,
]);

/** Failures that no second try mends: what answers is not trusted, or the proxy said no. */
const permanentCodes: ReadonlySet<string> = new Set([
  ...ownPermanent,
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

export const isPermanent = (code: string | undefined): boolean =>
  code !== undefined && permanentCodes.has(code);

/** Whether the other side's certificate was the trouble: its hint differs. */
export const isCertificateTrouble = (code: string | undefined): boolean =>
  isPermanent(code) && !ownPermanent.has(code ?? '');
