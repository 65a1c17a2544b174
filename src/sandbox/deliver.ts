import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { SPEED_HEADER } from '../gateway/endpoint.ts';
import { bendEvents, isStreamFault, type Struck } from './faults.ts';
import type { SandboxRequest } from './listener.ts';
import type { ReplyEvent, SandboxReply } from './reply.ts';
import type { World } from './route.ts';

const SLOW_PIECES = 20;
const MISSING_BYTES = 17;

/** Applies the faults that leave a request without any reply; true if one applied. */
export function vanish(struck: Struck | undefined, request: IncomingMessage): boolean {
  if (struck?.fault.kind === 'reset-before') request.socket.resetAndDestroy();
  else if (struck?.fault.kind === 'hang') request.resume();
  else return false;
  return true;
}

/** Applies `empty`, `garbage` and the stream faults to the reply of an accepted request. */
export function mangle(struck: Struck | undefined, reply: SandboxReply): SandboxReply {
  const kind = struck?.fault.kind;
  if (kind === 'empty') return { ...withoutEvents(reply), status: 200, body: Buffer.alloc(0) };
  if (kind === 'garbage') {
    const whole = wholeBody(reply);
    const half = whole.subarray(0, Math.ceil(whole.length / 2));
    const body = Buffer.concat([half, Buffer.from('\u0000}]garbage')]);
    return { ...withoutEvents(reply), status: 200, body };
  }
  if (!reply.events || kind === undefined || !isStreamFault(kind)) return reply;
  if (kind !== 'plain-json') return { ...reply, events: bendEvents(kind, reply.events) };
  const headers = { ...reply.headers, 'content-type': 'application/json; charset=utf-8' };
  return { ...withoutEvents(reply), headers };
}

const withoutEvents = ({ events: _, ...reply }: SandboxReply): SandboxReply => reply;

const wholeBody = ({ events, body }: SandboxReply): Uint8Array =>
  events ? Buffer.from([...events].map((event) => event.text).join('')) : body;

/** An HTML page, as a proxy between client and gateway would send. */
const htmlReply: SandboxReply = {
  status: 200,
  headers: { 'content-type': 'text/html; charset=utf-8' },
  body: Buffer.from('<!doctype html>\n<title>Sign in</title>\n<p>Please sign in to use this network.</p>\n'),
};

/**
 * The reply of faults that replace an endpoint or a file.
 * @param refuse makes an error in this listener's form
 */
export function replyInstead(
  struck: Struck | undefined,
  redirect: { readonly status: number; readonly to: string },
  refuse: (status: number, headers: Readonly<Record<string, string>>) => SandboxReply,
): SandboxReply | undefined {
  if (!struck) return undefined;
  const { kind, status, retryAfterS } = struck.fault;
  if (kind === 'html') return htmlReply;
  if (kind === 'redirect') return refuse(redirect.status, { location: redirect.to });
  if (status === undefined) return undefined;
  return refuse(status, retryAfterS === undefined ? {} : { 'retry-after': String(retryAfterS) });
}

/**
 * Sends a reply at its pace, with `Date` (the sandbox's clock) and `x-request-id`, and applies `reset-after`, `cut`,
 * `slow` and `wrong-length`.
 */
export async function deliver(
  reply: SandboxReply,
  to: {
    readonly request: IncomingMessage;
    readonly response: ServerResponse;
    readonly entry: SandboxRequest;
    readonly struck: Struck | undefined;
    readonly world: Pick<World, 'now' | 'slowGapMs' | 'speed'>;
  },
): Promise<void> {
  const { request, response, entry, struck, world } = to;
  const wait = waiting(response);
  const atMs = world.now();
  if (reply.acceptedTaskId !== undefined) entry.acceptedTaskId = reply.acceptedTaskId;
  const kind = struck?.fault.kind;
  if (kind === 'reset-after') {
    request.socket.resetAndDestroy();
    return;
  }
  await wait(reply.readyAfterMs ?? 0);
  if (response.destroyed) return;
  entry.status = reply.status;
  response.sendDate = false;
  const head = {
    date: new Date(atMs).toUTCString(),
    'x-request-id': randomBytes(12).toString('hex'),
    // The header is sent only for a finite speed.
    ...(Number.isFinite(world.speed) && { [SPEED_HEADER]: String(world.speed) }),
    ...reply.headers,
  };
  const write = (bytes: string | Uint8Array) =>
    new Promise<void>((resolve) => void response.write(bytes, () => resolve()));
  const isBroken = kind === 'cut' || kind === 'wrong-length' || kind === 'slow';
  if (reply.events && !isBroken) {
    response.writeHead(reply.status, head);
    await writeEvents(reply.events, response, write, wait);
    return;
  }
  const body = wholeBody(reply);
  // A stream has no length, unless a wrong one is requested.
  const promised = body.length + (kind === 'wrong-length' ? MISSING_BYTES : 0);
  const length = reply.events && kind !== 'wrong-length' ? {} : { 'content-length': String(promised) };
  response.writeHead(reply.status, { ...length, ...head });
  if (request.method === 'HEAD') response.end();
  else if (kind === 'cut' || kind === 'wrong-length') {
    response.flushHeaders();
    await write(kind === 'cut' ? body.subarray(0, Math.floor(body.length / 2)) : body);
    request.socket.destroySoon();
  } else if (kind === 'slow') {
    const pieceBytes = Math.max(1, Math.ceil(body.length / SLOW_PIECES));
    for (let at = 0; at < body.length && !response.destroyed; at += pieceBytes) {
      await write(body.subarray(at, at + pieceBytes));
      await wait(world.slowGapMs);
    }
    response.end();
  } else response.end(body);
}

type Wait = (ms: number) => Promise<void>;

/** Returns a pause that ends early if the client disconnects; a pause of Infinity ends only then. One at a time. */
function waiting(response: ServerResponse): Wait {
  let wake: (() => void) | undefined;
  response.once('close', () => wake?.());
  return async (ms) => {
    if (!(ms > 0) || response.destroyed) return;
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      wake = resolve;
      if (Number.isFinite(ms)) timer = setTimeout(resolve, ms);
    });
    clearTimeout(timer);
  };
}

/** Writes each event at its time; stops if the client has disconnected. */
async function writeEvents(
  events: Iterable<ReplyEvent>,
  response: ServerResponse,
  write: (text: string) => Promise<void>,
  wait: Wait,
): Promise<void> {
  const startMs = performance.now();
  for (const { text, atMs } of events) {
    await wait(atMs - (performance.now() - startMs));
    if (response.destroyed) return;
    await write(text);
  }
  response.end();
}
