import * as http from 'node:http';
import type { Socket } from 'node:net';
import { ExchangeError, exchangeCodes } from './exchange.ts';
import { type Address, addressName, type Route } from './proxy.ts';
import { reasonOf, systemCode } from './socket.ts';

/**
 * Opens a tunnel to the target through a proxy (`CONNECT`) on an open socket, and returns a socket to the target.
 * Throws ExchangeError with `sent: 'no'`: a request that the proxy refuses never reached the gateway.
 */
export function openTunnel(
  socket: Socket,
  proxy: NonNullable<Route['proxy']>,
  target: Address,
): Promise<Socket> {
  const name = addressName(target);
  return new Promise((resolve, reject) => {
    const refuse = (why: string, code: string | undefined) =>
      reject(
        new ExchangeError(`the proxy ${addressName(proxy)} opened no way to ${name}: ${why}`, 'no', code),
      );
    const request = http.request({
      createConnection: () => socket,
      method: 'CONNECT',
      path: name,
      setHost: false,
      headers: { host: name, ...(proxy.authorization ? { 'proxy-authorization': proxy.authorization } : {}) },
    });
    request.once('connect', ({ statusCode = 0 }, tunnel: Socket, early: Buffer) => {
      if (statusCode < 200 || statusCode > 299) {
        // A proxy's 5xx is about the connection to the target and may pass; other refusals are permanent.
        refuse(`HTTP ${statusCode}`, statusCode >= 500 ? undefined : exchangeCodes.proxyRefused);
        return;
      }
      if (early.length > 0) tunnel.unshift(early);
      resolve(tunnel);
    });
    request.once('error', (error) => refuse(reasonOf(error, systemCode(error)), exchangeCodes.proxyAway));
    request.end();
  });
}
