import { lookup } from 'node:dns';
import * as net from 'node:net';
import type { SecureContext } from 'node:tls';
import { errorCode } from '../errors.ts';
import { isLocalName } from '../loopback.ts';
import { type CheckAddresses, ExchangeError, exchangeCodes } from './exchange.ts';
import { type Address, addressName, type Route } from './proxy.ts';

/** PEM texts for the connections to one target. */
export interface TlsOptions {
  /** All trusted roots; the built-in ones if absent. */
  readonly ca?: readonly string[] | undefined;
  /** The client certificate for the target; a proxy never gets it. */
  readonly identity?: { readonly cert: string; readonly key: string } | undefined;
}

interface OpenSocketOptions {
  /** Timeout for name, TCP, proxy and TLS together, in milliseconds. */
  readonly connectMs: number;
  readonly signal: AbortSignal | undefined;
  readonly tls: TlsOptions;
  readonly checkAddresses?: CheckAddresses | undefined;
}

const KEEP_ALIVE_PROBE_MS = 60_000;

/**
 * Opens a socket whose next byte goes to the target (or, for a plain request, to its proxy): TCP, then the proxy's
 * tunnel, then TLS. Throws ExchangeError, always with `sent: 'no'`, or the signal's reason.
 */
export async function openSocket(route: Route, options: OpenSocketOptions): Promise<net.Socket> {
  const { connectMs, signal } = options;
  signal?.throwIfAborted();
  const opened: net.Socket[] = [];
  let timer: NodeJS.Timeout | undefined;
  let onAbort: (() => void) | undefined;
  const cutShort = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const way = route.proxy ? ` through the proxy ${addressName(route.proxy)}` : '';
      const sentence = `no connection to ${addressName(route.target)}${way} within ${connectMs / 1000} s`;
      reject(new ExchangeError(sentence, 'no', route.proxy && exchangeCodes.proxyAway));
    }, connectMs);
    onAbort = () => reject(signal?.reason);
    signal?.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([open(route, options, opened), cutShort]);
  } catch (error) {
    for (const socket of opened) socket.destroy();
    throw error;
  } finally {
    clearTimeout(timer);
    if (onAbort) signal?.removeEventListener('abort', onAbort);
  }
}

async function open(
  route: Route,
  { tls, checkAddresses }: OpenSocketOptions,
  opened: net.Socket[],
): Promise<net.Socket> {
  const { target, proxy } = route;
  if (net.isIP(target.host) !== 0 || isLocalName(target.host))
    await checkAddresses?.([target.host], target.host);
  const first = proxy ?? target;
  let socket = net.connect({
    host: first.host,
    port: first.port,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: KEEP_ALIVE_PROBE_MS,
    // A proxy resolves names itself.
    ...(checkAddresses && !proxy && { lookup: checkedLookup(checkAddresses) }),
  });
  opened.push(socket);
  await settled(
    socket,
    'connect',
    (reason) => `cannot connect to ${proxy ? 'the proxy ' : ''}${addressName(first)}: ${reason}`,
    proxy && exchangeCodes.proxyAway,
  );
  if (proxy?.secure) socket = await secure(socket, proxy, { ca: tls.ca }, opened);
  if (proxy && !route.absoluteForm) {
    const { openTunnel } = await import('./proxy-tunnel.ts');
    socket = await openTunnel(socket, proxy, target);
  }
  if (target.secure) socket = await secure(socket, target, tls, opened);
  return socket;
}

/** Like Node's own lookup, but checks the result first, so that the checked addresses are the ones used. */
function checkedLookup(check: CheckAddresses): net.LookupFunction {
  return (host, options, done) => {
    lookup(host, options, (error, found, family) => {
      const addresses = typeof found === 'string' ? [found] : (found ?? []).map(({ address }) => address);
      const refused = error ? undefined : check(addresses, host);
      if (refused === undefined) done(error, found, family);
      else
        refused.then(
          () => done(null, found, family),
          (reason) => done(reason, '', 0),
        );
    });
  };
}

/** Cached by roots and identity, because each new context reads the trusted certificates again. */
const contexts: { readonly of: TlsOptions; readonly value: SecureContext }[] = [];

async function secure(under: net.Socket, address: Address, of: TlsOptions, opened: net.Socket[]) {
  const [tls, { X509Certificate }] = await Promise.all([import('node:tls'), import('node:crypto')]);
  const { ca, identity } = of;
  let context = contexts.find(({ of }) => of.ca === ca && of.identity === identity);
  if (!context) {
    context = { of, value: tls.createSecureContext({ ...(ca && { ca: [...ca] }), ...identity }) };
    contexts.push(context);
  }
  const socket = tls.connect({
    socket: under,
    host: address.host,
    ...(net.isIP(address.host) === 0 ? { servername: address.host } : {}),
    // Node 22.23 mistakes an IPv6 address for a name and refuses every certificate for it.
    checkServerIdentity: (host, certificate) =>
      net.isIPv6(host) && new X509Certificate(certificate.raw).checkIP(host) !== undefined
        ? undefined
        : tls.checkServerIdentity(host, certificate),
    ALPNProtocols: ['http/1.1'],
    secureContext: context.value,
    // Set explicitly, so that NODE_TLS_REJECT_UNAUTHORIZED has no effect.
    rejectUnauthorized: true,
  });
  opened.push(socket);
  await settled(
    socket,
    'secureConnect',
    (reason) => `no secure connection to ${addressName(address)}: ${reason}`,
  );
  return socket;
}

/** Waits for a socket's next stage; `sentence` makes the message of a failure, which has the system's code or `as`. */
function settled(socket: net.Socket, event: string, sentence: (reason: string) => string, as?: string) {
  return new Promise<void>((resolve, reject) => {
    const fail = (error: unknown) => {
      if (error instanceof ExchangeError) return reject(error);
      const code = systemCode(error);
      reject(new ExchangeError(sentence(reasonOf(error, code)), 'no', as ?? code));
    };
    // The listener stays for the socket's life: an error after its request must not end the process.
    socket.on('error', fail);
    socket.once('close', () => fail(Object.assign(new Error('closed'), { code: 'ECONNRESET' })));
    socket.once(event, () => resolve());
  });
}

/** The system's error code, even if several addresses of one name failed. */
export function systemCode(error: unknown): string | undefined {
  return errorCode(error) ?? (error instanceof AggregateError ? errorCode(error.errors[0]) : undefined);
}

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'the connection was reset',
  EHOSTUNREACH: 'no route to the host',
  ENETUNREACH: 'the network is unreachable',
  ENOTFOUND: 'the name was not found',
  EAI_AGAIN: 'the name could not be looked up now',
  ERR_SSL_WRONG_VERSION_NUMBER: 'what answers there does not speak TLS (http:// in place of https://?)',
  EPIPE: 'the connection was closed',
  ETIMEDOUT: 'the connection timed out',
  UND_ERR_SOCKET: 'the connection was closed',
};

/** A system error in words, without the addresses and causes that its own message may hold. */
export function reasonOf(error: unknown, code: string | undefined): string {
  const known = code === undefined ? undefined : reasons[code];
  if (known) return known;
  const message = error instanceof Error ? error.message.split('\n')[0]?.slice(0, 200) : undefined;
  return message && code ? `${message} (${code})` : message || code || 'unknown failure';
}
