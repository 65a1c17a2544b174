import { type GwError, usage } from '../errors.ts';
import { isLoopback } from '../loopback.ts';
import { isExempt } from './no-proxy.ts';

/** Proxy addresses as the environment gives them. */
export interface Proxies {
  readonly httpProxy?: string | undefined;
  readonly httpsProxy?: string | undefined;
  readonly noProxy?: string | undefined;
}

export interface ChosenProxy {
  readonly url: URL;
  /** `Proxy-Authorization`, where the address holds a user. */
  readonly authorization: string | undefined;
}

/** Reads `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`; as in curl the lower-case spelling wins. Empty means not set. */
export function proxiesFromEnv(env: Readonly<Record<string, string | undefined>>): Proxies | undefined {
  const read = (name: string) => env[name.toLowerCase()] || env[name] || undefined;
  const httpProxy = read('HTTP_PROXY');
  const httpsProxy = read('HTTPS_PROXY');
  return httpProxy || httpsProxy ? { httpProxy, httpsProxy, noProxy: read('NO_PROXY') } : undefined;
}

/**
 * The proxy that applies to a URL, if one does; never for this machine, where it would get the key in clear. Throws `usage` for
 * an address that is no HTTP proxy.
 */
export function proxyFor(url: URL, proxies: Proxies | undefined): ChosenProxy | undefined {
  const secure = url.protocol === 'https:';
  const address = secure ? proxies?.httpsProxy : proxies?.httpProxy;
  if (!address || isLoopback(url.hostname) || isExempt(url, proxies?.noProxy)) return undefined;
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
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw unusable(variable, `names a ${url.protocol.slice(0, -1)} proxy, which gw cannot use`);
  }
  if (url.username === '' && url.password === '') return { url, authorization: undefined };
  let user: string;
  try {
    user = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  } catch {
    throw unusable(variable, 'holds a user or password that is not percent-encoded');
  }
  return { url, authorization: `Basic ${Buffer.from(user).toString('base64')}` };
}

// The address itself is not shown: it may hold a password.
function unusable(variable: string, what: string): GwError {
  return usage(
    `${variable} ${what}`,
    `set ${variable} to an address such as http://proxy.example:3128, or exempt the gateway with NO_PROXY`,
  );
}
