import type { IncomingHttpHeaders } from 'node:http';

/** Whether a host, as the URL parser spells it, is this machine: localhost, 127.0.0.0/8 or ::1. */
export function isLoopback(hostname: string): boolean {
  return (
    hostname === 'localhost' ||
    hostname === '[::1]' ||
    /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(hostname) ||
    // The same addresses as IPv6 spells them.
    /^\[::ffff:7f[0-9a-f]{2}:[0-9a-f]{1,4}\]$/.test(hostname)
  );
}

/** Whether a name is kept for this machine (RFC 6761): localhost and what lies below it, also with the dot of the root. */
export const isLocalName = (hostname: string): boolean => /(^|\.)localhost\.?$/i.test(hostname);

// Who may talk to a listener of ours. A page in a browser can reach any port of this machine: under a name of its own
// that it points here (then Host gives it away), or from its own origin (then Origin does).

const loopback = ['127.0.0.1', 'localhost', '[::1]'];

/** An address as it stands in URLs and in Host: IPv6 in brackets. */
export const urlHost = (host: string): string => (host.includes(':') ? `[${host}]` : host);

/** What Host may say to a listener: the usual names of loopback, and the host that it was given, with its port. */
export function ownHosts(port: number, host: string): ReadonlySet<string> {
  const names = [...loopback, urlHost(host).toLowerCase()];
  return new Set([...names.map((name) => `${name}:${port}`), ...(port === 80 ? names : [])]);
}

/**
 * Why a request is not answered (promises, section 5); undefined where it is. `hosts` are values of Host, as `ownHosts` gives
 * them; `origins` are other ones whose pages may call (`https://app.example.com`).
 */
export function strangerIn(
  { host, origin }: Pick<IncomingHttpHeaders, 'host' | 'origin'>,
  { hosts, origins }: { readonly hosts: ReadonlySet<string>; readonly origins: readonly string[] },
): 'host' | 'origin' | undefined {
  if (host === undefined || !hosts.has(host.toLowerCase())) return 'host';
  if (origin === undefined || origins.includes(origin)) return undefined;
  return origin.startsWith('http://') && hosts.has(origin.slice('http://'.length)) ? undefined : 'origin';
}

/** The URL that a listener is asked for; what is none has the path of the root. */
export const askedUrl = (target = '/', base = 'http://listener'): URL =>
  new URL(URL.canParse(target, base) ? target : '/', base);
