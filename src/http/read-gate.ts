import type { Socket } from 'node:net';
import { exchangeCodes } from './exchange-codes.ts';
import { InterimHeads } from './interim-heads.ts';

/** Stands between what a socket brings and undici's parser. */
export interface ReadGate {
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
export function gateOn(socket: Socket): ReadGate {
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
