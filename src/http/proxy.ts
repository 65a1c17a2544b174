import * as net from 'node:net';
import { type GwError, usage } from '../errors.ts';
import { isLocalName, isLoopback } from '../loopback.ts';

/** Proxy addresses from the environment. */
export interface Proxies {
  readonly httpProxy?: string | undefined;
  readonly httpsProxy?: string | undefined;
  readonly noProxy?: string | undefined;
}

interface ChosenProxy {
  readonly url: URL;
  /** `Proxy-Authorization`, if the address holds a user. */
  readonly authorization: string | undefined;
}

/** Reads `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`; as in curl, the lower-case name wins. Empty means not set. */
export function proxiesFromEnv(env: Readonly<Record<string, string | undefined>>): Proxies | undefined {
  const read = (name: string) => env[name.toLowerCase()] || env[name] || undefined;
  const httpProxy = read('HTTP_PROXY');
  const httpsProxy = read('HTTPS_PROXY');
  return httpProxy || httpsProxy ? { httpProxy, httpsProxy, noProxy: read('NO_PROXY') } : undefined;
}

/**
 * The proxy for a URL, if any. A URL on this machine never uses a proxy, which would see the API key in plain text.
 * Throws `usage` for an address that is not an HTTP proxy.
 */
export function proxyFor(url: URL, proxies: Proxies | undefined): ChosenProxy | undefined {
  const secure = url.protocol === 'https:';
  const address = secure ? proxies?.httpsProxy : proxies?.httpProxy;
  const isHere = isLoopback(url.hostname) || isLocalName(url.hostname);
  if (!address || isHere || isExempt(url, proxies?.noProxy)) return undefined;
  return readProxy(address, secure ? 'HTTPS_PROXY' : 'HTTP_PROXY');
}

function readProxy(address: string, variable: string): ChosenProxy {
  const spelled = /^[a-z][a-z0-9+.-]*:\/\//i.test(address) ? address : `http://${address}`;
  let url: URL;
  try {
    url = new URL(spelled);
  } catch {
    throw unusable(variable, 'is not the address of a proxy');
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw unusable(variable, `names a ${url.protocol.slice(0, -1)} proxy, which gw cannot use`);
  if (url.username === '' && url.password === '') return { url, authorization: undefined };
  let user: string;
  try {
    user = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  } catch {
    throw unusable(variable, 'holds a user or password that is not percent-encoded');
  }
  return { url, authorization: `Basic ${Buffer.from(user).toString('base64')}` };
}

// The message omits the address, which may hold a password.
function unusable(variable: string, what: string): GwError {
  return usage(
    `${variable} ${what}`,
    `set ${variable} to an address such as http://proxy.example:3128, or exempt the gateway with NO_PROXY`,
  );
}

/**
 * True if `NO_PROXY` exempts a URL, by curl's rules: `*` exempts all; entries are separated by commas or blanks; a name
 * matches itself and its subdomains, with or without a leading dot (or `*.`); an entry may name a port; addresses may
 * be given as a network (`10.0.0.0/8`).
 */
export function isExempt(url: URL, noProxy: string | undefined): boolean {
  const entries = (noProxy ?? '').split(/[\s,]+/).filter((entry) => entry !== '');
  const host = bare(url.hostname);
  const port = url.port || (url.protocol === 'https:' ? '443' : '80');
  return entries.some((entry) => {
    if (entry === '*') return true;
    const network = /^\[?([0-9a-f:.]+)\]?\/(\d{1,3})$/i.exec(entry);
    if (network) return isInNetwork(host, String(network[1]), Number(network[2]));
    const withPort = /^(\[[^\]]*\]|[^:]+):(\d{1,5})$/.exec(entry);
    if (withPort && withPort[2] !== port) return false;
    const name = bare((withPort?.[1] ?? entry).replace(/^\*?\.+/, ''));
    return name !== '' && (host === name || (net.isIP(host) === 0 && host.endsWith(`.${name}`)));
  });
}

/** A host name in lower case, without the brackets of IPv6 and without a final dot. */
function bare(name: string): string {
  return name
    .toLowerCase()
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '');
}

function isInNetwork(host: string, network: string, bits: number): boolean {
  const family = net.isIPv6(network) ? 'ipv6' : 'ipv4';
  if (net.isIP(network) === 0 || net.isIP(host) !== net.isIP(network)) return false;
  if (bits > (family === 'ipv6' ? 128 : 32)) return false;
  const list = new net.BlockList();
  list.addSubnet(network, bits, family);
  return list.check(host, family);
}

export interface Address {
  readonly host: string;
  readonly port: number;
  readonly secure: boolean;
}

/** The route of a request: where the socket connects, and what it asks of a proxy. */
export interface Route {
  /** Requests with equal keys may share a kept connection. */
  readonly key: string;
  readonly target: Address;
  readonly proxy: (Address & { readonly authorization: string | undefined }) | undefined;
  /** True for a plain request through a proxy, which names the whole URL; a secure one goes through a tunnel. */
  readonly absoluteForm: boolean;
}

/** Finds the route to a URL. Throws `usage` if its proxy is unusable. */
export function routeTo(url: URL, proxies: Proxies | undefined): Route {
  const target = addressOf(url);
  const proxy = proxyFor(url, proxies);
  return {
    key: `${url.origin} ${proxy?.url.origin ?? ''}`,
    target,
    proxy: proxy && { ...addressOf(proxy.url), authorization: proxy.authorization },
    absoluteForm: proxy !== undefined && !target.secure,
  };
}

export const addressName = ({ host, port }: Address): string =>
  `${host.includes(':') ? `[${host}]` : host}:${port}`;

function addressOf(url: URL): Address {
  const secure = url.protocol === 'https:';
  return {
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: url.port === '' ? (secure ? 443 : 80) : Number(url.port),
    secure,
  };
}
