import { usage } from '../errors.ts';

/**
 * Reads a gateway's address: absolute, http or https, no user info, query or fragment, no trailing slash in what comes
 * out; a path is kept. Plain http is for this machine, unless `insecureHttp`. `what` is the flag, variable or setting.
 * Throws GwError `usage`.
 */
export function parseBaseUrl(
  text: string,
  what: string,
  options: { readonly insecureHttp?: boolean } = {},
): string {
  // The URL parser would drop tabs and newlines without a word and take a backslash for a slash.
  if (/[\s\\\p{Cc}]/u.test(text)) {
    throw usage(
      `${what} holds a blank, a control character or a backslash`,
      'Write it as https://HOST or https://HOST/PATH.',
    );
  }
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(text)?.[1]?.toLowerCase();
  if (scheme === undefined) {
    throw usage(`${what} ${shown(text)} has no scheme`, `Write it with https:// in front.`);
  }
  if (scheme !== 'https' && scheme !== 'http') {
    throw usage(
      `${what} ${shown(text)} is ${scheme}://, but a gateway speaks https`,
      'Write it as https://HOST.',
    );
  }
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url?.hostname)
    throw usage(`${what} ${shown(text)} is not a usable address`, 'Write it as https://HOST.');
  if (url.username !== '' || url.password !== '' || /^[^/]*@/.test(text.slice(scheme.length + 3))) {
    throw usage(
      `${what} holds a user name or password`,
      'Leave them out; the key goes into GW_API_KEY, --api-key-file or gw login.',
    );
  }
  if (/[?#]/.test(text)) {
    throw usage(`${what} has a query or a fragment`, 'Give the address up to its path only.');
  }
  if (url.protocol === 'http:' && !isLoopback(url.hostname) && !options.insecureHttp) {
    throw usage(
      `${what} ${shown(text)} is plain http:// to another machine, where anyone on the way can read the key`,
      'Use https://, or allow it with --insecure-http.',
    );
  }
  return `${url.origin}${url.pathname.replace(/\/{2,}/g, '/').replace(/\/$/, '')}`;
}

/** Whether a host, as the URL parser spells it, is this machine. */
export function isLoopback(hostname: string): boolean {
  return (
    hostname === 'localhost' || hostname === '[::1]' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(hostname)
  );
}

/** Scheme, host and port of an address that parseBaseUrl has passed. */
export function originOf(baseUrl: string): string {
  return new URL(baseUrl).origin;
}

/** An address for a message: never its user info or query, which may be secret. */
function shown(text: string): string {
  const safe = text.replace(/[?#].*$/s, '').replace(/^([a-z][a-z0-9+.-]*:\/\/)?[^/]*@/i, '$1');
  return JSON.stringify(safe.length > 200 ? `${safe.slice(0, 200)}…` : safe);
}
