import type { IncomingHttpHeaders } from 'node:http';

/** True if a host, as the URL parser spells it, is this machine: localhost, 127.0.0.0/8 or ::1. */
export function isLoopback(hostname: string): boolean {
  return (
    hostname === 'localhost' ||
    hostname === '[::1]' ||
    /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(hostname) ||
    // IPv4 loopback addresses written as IPv6.
    /^\[::ffff:7f[0-9a-f]{2}:[0-9a-f]{1,4}\]$/.test(hostname)
  );
}

/** True for localhost and names below it, which RFC 6761 reserves for this machine; a trailing dot is allowed. */
export const isLocalName = (hostname: string): boolean => /(^|\.)localhost\.?$/i.test(hostname);

// Decides who may call a listener of gw. A web page can reach every port of this machine: through a host name of its
// own that resolves to loopback (the Host header reveals this), or from its own origin (the Origin header does).

const loopback = ['127.0.0.1', 'localhost', '[::1]'];

/** A host as URLs and the Host header write it: IPv6 in brackets. */
export const urlHost = (host: string): string => (host.includes(':') ? `[${host}]` : host);

/** The accepted Host values of a listener: the loopback names and the given host, with the port. */
export function ownHosts(port: number, host: string): ReadonlySet<string> {
  const names = [...loopback, urlHost(host).toLowerCase()];
  return new Set([...names.map((name) => `${name}:${port}`), ...(port === 80 ? names : [])]);
}

/**
 * Why a request is refused (promises, section 5); undefined if it is allowed. `hosts` are accepted Host values from
 * `ownHosts`; `origins` are further origins whose pages may call (`https://app.example.com`).
 */
export function strangerIn(
  { host, origin }: Pick<IncomingHttpHeaders, 'host' | 'origin'>,
  { hosts, origins }: { readonly hosts: ReadonlySet<string>; readonly origins: readonly string[] },
): 'host' | 'origin' | undefined {
  if (host === undefined || !hosts.has(host.toLowerCase())) return 'host';
  if (origin === undefined || origins.includes(origin)) return undefined;
  return origin.startsWith('http://') && hosts.has(origin.slice('http://'.length)) ? undefined : 'origin';
}

/** The URL of a request to a listener; an invalid target becomes the root path. */
export const askedUrl = (target = '/'): URL =>
  new URL(URL.canParse(target, LISTENER) ? target : '/', LISTENER);
const LISTENER = 'http://listener';
