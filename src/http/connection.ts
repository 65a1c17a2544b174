import type { Socket } from 'node:net';
import { Client } from 'undici';
import { gateOn, type ReadGate } from './read-gate.ts';

/** One socket and the HTTP client on it. It carries one request at a time and is never opened anew. */
export interface Connection {
  readonly client: Client;
  readonly socket: Socket;
  readonly gate: ReadGate;
}

/**
 * Puts undici's client on an open socket. Its connector serves once: undici sends a request again on a new connection
 * after some closes, and whether to send again is for the resend table alone.
 */
export function connectionOn(socket: Socket, origin: string): Connection {
  let used = false;
  const client = new Client(origin, {
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: (_options, callback) => {
      const first = !used;
      used = true;
      // Called back at once, undici would miss that the connection stands.
      queueMicrotask(() => {
        if (first) callback(null, socket);
        else callback(Object.assign(new Error('the connection was closed'), { code: 'ECONNRESET' }), null);
      });
    },
  });
  return { client, socket, gate: gateOn(socket) };
}

export function destroyConnection({ client, socket }: Pick<Connection, 'client' | 'socket'>): void {
  socket.destroy();
  if (!client.destroyed) void client.destroy();
}
