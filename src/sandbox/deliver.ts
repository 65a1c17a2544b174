import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Struck } from './fault-draw.ts';
import type { SandboxReply } from './reply.ts';
import type { SandboxRequest } from './request-log.ts';

const SLOW_PIECES = 20;
const MISSING_BYTES = 17;

/** Acts out the faults that leave a request without any reply; true where one did. */
export function vanish(struck: Struck | undefined, request: IncomingMessage): boolean {
  if (struck?.fault.kind === 'reset-before') request.socket.resetAndDestroy();
  else if (struck?.fault.kind === 'hang') request.resume();
  else return false;
  return true;
}

/** What `empty` and `garbage` make of the reply to a request that was taken. */
export function mangle(struck: Struck | undefined, reply: SandboxReply): SandboxReply {
  const kind = struck?.fault.kind;
  if (kind === 'empty') return { ...reply, status: 200, body: Buffer.alloc(0) };
  if (kind !== 'garbage') return reply;
  const half = reply.body.subarray(0, Math.ceil(reply.body.length / 2));
  return { ...reply, status: 200, body: Buffer.concat([half, Buffer.from('\u0000}]garbage')]) };
}

/** An HTML page, as something between client and gateway would answer. */
export const htmlReply = (): SandboxReply => ({
  status: 200,
  headers: { 'content-type': 'text/html; charset=utf-8' },
  body: Buffer.from('<!doctype html>\n<title>Sign in</title>\n<p>Please sign in to use this network.</p>\n'),
});

/**
 * Sends a reply with `Date` (the sandbox's clock) and `x-request-id`, and with what `reset-after`, `cut`, `slow` and
 * `wrong-length` do to it.
 */
export async function deliver(
  reply: SandboxReply,
  to: {
    readonly request: IncomingMessage;
    readonly response: ServerResponse;
    readonly entry: SandboxRequest;
    readonly struck: Struck | undefined;
    readonly nowMs: number;
    readonly slowGapMs: number;
  },
): Promise<void> {
  const { request, response, entry, struck } = to;
  if (reply.acceptedTaskId !== undefined) entry.acceptedTaskId = reply.acceptedTaskId;
  const kind = struck?.fault.kind;
  if (kind === 'reset-after') {
    request.socket.resetAndDestroy();
    return;
  }
  entry.status = reply.status;
  const { body } = reply;
  const promised = body.length + (kind === 'wrong-length' ? MISSING_BYTES : 0);
  response.sendDate = false;
  response.writeHead(reply.status, {
    date: new Date(to.nowMs).toUTCString(),
    'x-request-id': randomBytes(12).toString('hex'),
    'content-length': reply.headers['content-length'] ?? String(promised),
    ...reply.headers,
  });
  const write = (bytes: Uint8Array) =>
    new Promise<void>((resolve) => void response.write(bytes, () => resolve()));
  if (request.method === 'HEAD') response.end();
  else if (kind === 'cut' || kind === 'wrong-length') {
    response.flushHeaders();
    await write(kind === 'cut' ? body.subarray(0, Math.floor(body.length / 2)) : body);
    request.socket.destroySoon();
  } else if (kind === 'slow') {
    const pieceBytes = Math.max(1, Math.ceil(body.length / SLOW_PIECES));
    for (let at = 0; at < body.length && !response.destroyed; at += pieceBytes) {
      await write(body.subarray(at, at + pieceBytes));
      await new Promise((resolve) => setTimeout(resolve, to.slowGapMs));
    }
    response.end();
  } else response.end(body);
}
