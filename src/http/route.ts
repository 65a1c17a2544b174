import { type ChosenProxy, type Proxies, proxyFor } from './proxy.ts';

export interface Address {
  readonly host: string;
  readonly port: number;
  readonly secure: boolean;
}

/** The way a request takes: where the socket goes, and what is asked of a proxy on it. */
export interface Route {
  /** Requests with equal keys may share a kept connection. */
  readonly key: string;
  readonly target: Address;
  readonly proxy: (Address & { readonly authorization: string | undefined }) | undefined;
  /** A plain request through a proxy names the whole URL; a secure one goes through a tunnel. */
  readonly absoluteForm: boolean;
}

/** Finds the way to a URL. Throws `usage` where the proxy that applies is unusable. */
export function routeTo(url: URL, proxies: Proxies | undefined): Route {
  const target = addressOf(url);
  const proxy = proxyFor(url, proxies);
  return {
    key: `${url.origin} ${proxy?.url.origin ?? ''}`,
    target,
    proxy: proxy && proxyAddress(proxy),
    absoluteForm: proxy !== undefined && !target.secure,
  };
}

export const addressName = ({ host, port }: Address): string =>
  `${host.includes(':') ? `[${host}]` : host}:${port}`;

function proxyAddress(proxy: ChosenProxy): NonNullable<Route['proxy']> {
  return { ...addressOf(proxy.url), authorization: proxy.authorization };
}

function addressOf(url: URL): Address {
  const secure = url.protocol === 'https:';
  return {
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: url.port === '' ? (secure ? 443 : 80) : Number(url.port),
    secure,
  };
}
