import { usage } from '../errors.ts';
import { isLoopback } from '../loopback.ts';

/**
 * Parses a gateway's address: absolute, http or https, without user info, query or fragment; a trailing slash is removed.
 * A path is kept, but a path that ends in /v1 is refused, because every endpoint path begins with it. Plain http is
 * allowed for this machine, or with `insecureHttp`. `what` is the flag, variable or setting. Throws GwError `usage`.
 */
export function parseBaseUrl(
  text: string,
  what: string,
  options: { readonly insecureHttp?: boolean } = {},
): string {
  // The URL parser would silently drop tabs and newlines, and read a backslash as a slash.
  if (/[\s\\\x00-\x1f\x7f-\x9f]/.test(text)) {
    throw usage(
      `${what} holds a blank, a control character or a backslash`,
      'write it as https://HOST or https://HOST/PATH',
    );
  }
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(text)?.[1]?.toLowerCase();
  if (scheme === undefined)
    throw usage(`${what} ${shown(text)} has no scheme`, 'write it with https:// in front');
  if (scheme !== 'https' && scheme !== 'http') {
    throw usage(
      `${what} ${shown(text)} is ${scheme}://, but a gateway speaks https`,
      'write it as https://HOST',
    );
  }
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url?.hostname)
    throw usage(`${what} ${shown(text)} is not a usable address`, 'write it as https://HOST');
  if (url.username !== '' || url.password !== '' || /^[^/]*@/.test(text.slice(scheme.length + 3))) {
    throw usage(
      `${what} holds a user name or password`,
      'leave them out; the key goes into GW_API_KEY, --api-key-file or gw login',
    );
  }
  if (/[?#]/.test(text))
    throw usage(`${what} has a query or a fragment`, 'give the address up to its path only');
  if (url.protocol === 'http:' && !isLoopback(url.hostname) && !options.insecureHttp) {
    throw usage(
      `${what} ${shown(text)} is plain http:// to another machine, where anyone on the way can read the key`,
      'use https://, or allow it with --insecure-http',
    );
  }
  const address = `${url.origin}${url.pathname.replace(/\/{2,}/g, '/').replace(/\/$/, '')}`;
  if (!/\/v1$/i.test(address)) return address;
  throw usage(
    `${what} ${shown(text)} ends in /v1, which gw adds itself`,
    `write it as ${address.slice(0, -3)}`,
  );
}

/** The scheme, host and port of an address that parseBaseUrl has accepted. */
export const originOf = (baseUrl: string): string => new URL(baseUrl).origin;

/** An address for messages, without user info and query, which may be secret. */
function shown(text: string): string {
  const safe = text.replace(/[?#].*$/s, '').replace(/^([a-z][a-z0-9+.-]*:\/\/)?[^/]*@/i, '$1');
  return JSON.stringify(safe.length > 200 ? `${safe.slice(0, 200)}…` : safe);
}
