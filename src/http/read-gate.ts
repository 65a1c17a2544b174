import type { Socket } from 'node:net';

/** Holds back what a socket brings, while whoever takes it is busy. */
export interface ReadGate {
  /** Nothing more is read until the promise settles; a later promise replaces an earlier one. */
  hold(until: Promise<void>): void;
  isHeld(): boolean;
}

/**
 * A gate between a socket and undici's parser. undici 7 ends the process when its parser is paused and the server closes
 * the connection (nodejs/undici#5360), so the parser is never paused: it finds the socket empty instead. The socket's own
 * buffer then fills, and the kernel's, and the server waits. An end behind unread bytes is told after them, as ever.
 */
export function gateOn(socket: Socket): ReadGate {
  let waitingFor: Promise<void> | undefined;
  const read = socket.read;
  socket.read = (size?: number) =>
    // Node itself reads 0 bytes to start reading and to notice the end.
    waitingFor !== undefined && size !== 0 ? null : read.call(socket, size);
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
  };
}
