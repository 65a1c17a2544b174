import type { Socket } from 'node:net';
import { Client } from 'undici';
import { exchangeCodes } from './exchange.ts';

/** One socket and the HTTP client on it. It carries one request at a time and never reconnects. */
export interface Connection {
  readonly client: Client;
  readonly socket: Socket;
  readonly gate: ReadGate;
}

/**
 * Puts undici's client on an open socket. Its connector works only once: after some closes undici would resend a
 * request on a new connection, but only the resend table may decide to send again.
 */
export function connectionOn(socket: Socket, origin: string): Connection {
  let used = false;
  const client = new Client(origin, {
    headersTimeout: 0,
    bodyTimeout: 0,
    maxHeaderSize: 16 << 10,
    connect: (_options, callback) => {
      const first = !used;
      used = true;
      // undici misses the connection if the callback runs synchronously.
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

/** A gate between a socket and undici's parser. */
interface ReadGate {
  /** Stops reading until the promise settles; a later promise replaces an earlier one. */
  hold(until: Promise<void>): void;
  isHeld(): boolean;
  /** Called when a request is sent: the 1xx heads before its reply are skipped. */
  awaitReply(): void;
}

/**
 * A gate between a socket and undici's parser. undici 7 ends the process if its parser is paused while the server
 * closes the connection (nodejs/undici#5360). So the parser is never paused: the gate lets the socket look empty, the
 * buffers of socket and kernel fill, and the server waits. undici sees the stream's end after the unread bytes. undici
 * 7 also closes the connection at an unrequested `100 Continue`, so the gate hides 1xx heads.
 */
function gateOn(socket: Socket): ReadGate {
  let waitingFor: Promise<void> | undefined;
  let interim: InterimHeads | undefined;
  const read = socket.read;
  socket.read = (size?: number) => {
    // Node itself calls read(0) to start reading and to notice the end.
    if (size === 0) return read.call(socket, size);
    while (waitingFor === undefined && !socket.destroyed) {
      const chunk: Uint8Array | null = read.call(socket, size);
      if (chunk === null || !interim) return chunk;
      try {
        const rest = interim.skip(chunk);
        if (interim.isOver) interim = undefined;
        if (rest.byteLength > 0) return rest;
      } catch (error) {
        socket.destroy(Object.assign(error as Error, { code: exchangeCodes.unreadable }));
      }
    }
    return null;
  };
  return {
    hold(until) {
      if (waitingFor === until) return;
      waitingFor = until;
      const open = () => {
        if (waitingFor !== until) return;
        waitingFor = undefined;
        if (!socket.destroyed) socket.emit('readable');
      };
      until.then(open, open);
    },
    isHeld: () => waitingFor !== undefined,
    awaitReply() {
      interim = new InterimHeads();
    },
  };
}

/** Servers send only a few 1xx heads, such as 100, 102 or early hints. */
const MAX_HEADS = 1000;
const MAX_BYTES = 256 * 1024;

/** How a 1xx head begins; its version and its status may have other digits. */
const SAMPLE = 'HTTP/1.1 100';

/** Skips the 1xx heads before a reply (RFC 9110, 15.2), even if chunks cut them anywhere. */
class InterimHeads {
  /** True once the final head has begun: nothing more is skipped. */
  isOver = false;
  /** The bytes of a head that is, or may still be, a 1xx head; of a long one only its start and a last line feed. */
  private held = Buffer.alloc(0);
  private heads = 0;
  private bytes = 0;

  /** Returns the rest of a chunk after the skipped heads. Throws an Error for a 101, and for too many heads. */
  skip(chunk: Uint8Array): Uint8Array {
    this.held = Buffer.concat([this.held, chunk]);
    for (;;) {
      const start = this.held.toString('latin1', 0, SAMPLE.length);
      this.isOver = !/^HTTP\/1\.\d 1\d\d$/.test(start + SAMPLE.slice(start.length));
      if (this.isOver) return this.held;
      // After a 101 the connection no longer speaks HTTP, and gw never asks for that.
      if (start.endsWith(' 101')) throw new Error('it switches to another protocol');
      const text = this.held.toString('latin1');
      const end = /\n\r*\n/.exec(text);
      if (end) this.heads += 1;
      // A server may send a long head in very many chunks, and each chunk is read together with what is kept.
      const cut = start + (/\n\r*$/.test(text) ? '\n' : '');
      const rest = end ? text.slice(end.index + end[0].length) : cut;
      this.bytes += text.length - rest.length;
      if (this.bytes > MAX_BYTES || this.heads > MAX_HEADS)
        throw new Error('heads with 1xx come without end');
      this.held = Buffer.from(rest, 'latin1');
      if (!end) return new Uint8Array();
    }
  }
}
