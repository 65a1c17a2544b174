import type { Socket } from 'node:net';
import { Client } from 'undici';
import { exchangeCodes } from './exchange.ts';

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
    maxHeaderSize: 16 << 10,
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

/** Stands between what a socket brings and undici's parser. */
interface ReadGate {
  /** Nothing more is read until the promise settles; a later promise replaces an earlier one. */
  hold(until: Promise<void>): void;
  isHeld(): boolean;
  /** A request goes out: heads with 1xx before its reply are skipped. */
  awaitReply(): void;
}

/**
 * A gate between a socket and undici's parser. undici 7 ends the process when its parser is paused and the server closes
 * the connection (nodejs/undici#5360), so the parser is never paused: it finds the socket empty instead. The socket's own
 * buffer then fills, and the kernel's, and the server waits. An end behind unread bytes is told after them, as ever.
 * undici 7 also ends the connection at a `100 Continue` that nobody asked for, so the parser sees no head with 1xx.
 */
function gateOn(socket: Socket): ReadGate {
  let waitingFor: Promise<void> | undefined;
  let interim: InterimHeads | undefined;
  const read = socket.read;
  socket.read = (size?: number) => {
    // Node itself reads 0 bytes to start reading and to notice the end.
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

/** Servers send a few: a 100, hints, a 102 now and then. */
const MAX_HEADS = 1000;
const MAX_BYTES = 256 * 1024;
const LF = 0x0a;
const CR = 0x0d;

/** How the status line of a head with 1xx begins; `?` is any digit. */
const MARK = 'HTTP/1.? 1??';

/** Skips the heads with 1xx before a reply (RFC 9110, 15.2), wherever they are cut. */
class InterimHeads {
  /** The head that counts has begun: nothing more is to be skipped. */
  isOver = false;
  /** The first bytes of a head, while it may be one with 1xx. */
  private start: number[] = [];
  private isInside = false;
  /** Whether the line of the head so far holds anything. */
  private isLineEmpty = false;
  private heads = 0;
  private bytes = 0;

  /** What is left of a chunk. Throws an Error for a 101, and where heads come without end. */
  skip(chunk: Uint8Array): Uint8Array {
    for (let at = 0; at < chunk.byteLength; at += 1) {
      const byte = chunk[at] ?? 0;
      if (this.isInside) this.pastHead(byte);
      else if (!isAt(this.start.length, byte)) {
        this.isOver = true;
        const rest = chunk.subarray(at);
        return this.start.length === 0 ? rest : Buffer.concat([Uint8Array.from(this.start), rest]);
      } else {
        this.start.push(byte);
        if (this.start.length === MARK.length) this.enter();
      }
    }
    return chunk.subarray(chunk.byteLength);
  }

  private enter(): void {
    // What follows a 101 is no HTTP, and nobody asked for it.
    if (String.fromCharCode(...this.start).endsWith('101'))
      throw new Error('it switches to another protocol');
    this.heads += 1;
    this.count(this.start.length);
    this.start = [];
    this.isInside = true;
    this.isLineEmpty = false;
  }

  private pastHead(byte: number): void {
    this.count(1);
    if (byte === LF && this.isLineEmpty) this.isInside = false;
    else if (byte === LF) this.isLineEmpty = true;
    else if (byte !== CR) this.isLineEmpty = false;
  }

  private count(bytes: number): void {
    this.bytes += bytes;
    if (this.bytes > MAX_BYTES || this.heads > MAX_HEADS) throw new Error('heads with 1xx come without end');
  }
}

function isAt(at: number, byte: number): boolean {
  const wanted = MARK[at];
  return wanted === '?' ? byte >= 0x30 && byte <= 0x39 : byte === wanted?.charCodeAt(0);
}
