import * as net from 'node:net';
import * as tls from 'node:tls';
import { closing } from './closing.ts';

/** A complete request as it arrived. */
export interface SeenRequest {
  readonly method: string;
  /** The target of the request line: a path or an absolute address. */
  readonly target: string;
  /** Header names are in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** The number of its connection, counted from 1. */
  readonly connection: number;
}

/** What the server does after it has received a complete request. */
export type Step = (socket: net.Socket, request: SeenRequest) => void;

export interface FaultServer {
  readonly url: string;
  readonly port: number;
  /** Every complete request: what a gateway would have accepted. */
  readonly requests: SeenRequest[];
  readonly connections: () => number;
  close(): Promise<void>;
}

export interface FaultServerOptions {
  /** One step for each request, in order; the last one repeats. */
  readonly steps: readonly Step[];
  /** Sees each connection first; when it returns true, the server does not read from the connection. */
  readonly onConnection?: (socket: net.Socket) => boolean;
  /** Pauses this long after each read. */
  readonly readDelayMs?: number;
  readonly tls?: Pick<tls.TlsOptions, 'key' | 'cert' | 'requestCert' | 'rejectUnauthorized'>;
}

/** A server on loopback that follows a script of faults. */
export async function startFaultServer(options: FaultServerOptions): Promise<FaultServer> {
  const requests: SeenRequest[] = [];
  const sockets = new Set<net.Socket>();
  let connections = 0;
  const onSocket = (socket: net.Socket) => {
    connections += 1;
    const connection = connections;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => {});
    if (options.onConnection?.(socket)) return;
    let waiting: Uint8Array[] = [];
    let held = 0;
    // Chunks are joined only when a complete request may have arrived, because a large upload comes in thousands of pieces.
    let needed = 0;
    const take = (chunk: Uint8Array) => {
      waiting.push(chunk);
      held += chunk.byteLength;
      while (held > 0 && held >= needed) {
        const bytes = Buffer.concat(waiting);
        waiting = [bytes];
        const taken = readRequest(bytes, connection);
        needed = taken.needed;
        if (!taken.request) break;
        waiting = [taken.rest];
        held = taken.rest.byteLength;
        requests.push(taken.request);
        const step = options.steps[Math.min(requests.length, options.steps.length) - 1];
        step?.(socket, taken.request);
      }
    };
    socket.on('data', (chunk: Buffer) => {
      if (options.readDelayMs !== undefined) {
        socket.pause();
        setTimeout(() => socket.resume(), options.readDelayMs);
      }
      take(chunk);
    });
  };
  const server = options.tls ? tls.createServer(options.tls, onSocket) : net.createServer(onSocket);
  server.on('tlsClientError', () => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as net.AddressInfo;
  return closing({
    url: `${options.tls ? 'https' : 'http'}://127.0.0.1:${port}`,
    port,
    requests,
    connections: () => connections,
    close: () =>
      new Promise<void>((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  });
}

interface Taken {
  readonly request: SeenRequest | undefined;
  readonly rest: Uint8Array;
  /** The number of bytes needed before reading again is useful. */
  readonly needed: number;
}

function readRequest(bytes: Buffer, connection: number): Taken {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return { request: undefined, rest: bytes, needed: 0 };
  const [line = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n');
  const [method = '', target = ''] = line.split(' ');
  const headers: Record<string, string> = {};
  for (const each of lines) {
    const colon = each.indexOf(':');
    headers[each.slice(0, colon).toLowerCase()] = each.slice(colon + 1).trim();
  }
  const bodyEnd = end + 4 + Number(headers['content-length'] ?? 0);
  if (bytes.length < bodyEnd) return { request: undefined, rest: bytes, needed: bodyEnd };
  const body = Buffer.from(bytes.subarray(end + 4, bodyEnd));
  return {
    request: { method, target, headers, body, connection },
    rest: Buffer.from(bytes.subarray(bodyEnd)),
    needed: 0,
  };
}

/** The bytes of a reply. `content-length` is added unless a framing header or `connection: close` is given. */
export function replyBytes(
  status: number,
  body: string | Uint8Array = '',
  headers: Readonly<Record<string, string>> = {},
): Buffer {
  const bytes = Buffer.from(body as string);
  const all: Record<string, string> =
    'content-length' in headers || 'transfer-encoding' in headers || headers.connection === 'close'
      ? { ...headers }
      : { 'content-length': String(bytes.length), ...headers };
  const head = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([Buffer.from(`HTTP/1.1 ${status} X\r\n${head.join('')}\r\n`, 'latin1'), bytes]);
}

export const reply =
  (...parts: Parameters<typeof replyBytes>): Step =>
  (socket) =>
    void socket.write(replyBytes(...parts));

export const json = (status: number, value: unknown, headers: Readonly<Record<string, string>> = {}): Step =>
  reply(status, JSON.stringify(value), { 'content-type': 'application/json', ...headers });

/** Sends the bytes unchanged and leaves the connection open. */
export const raw =
  (bytes: Uint8Array | string): Step =>
  (socket) =>
    void socket.write(bytes);

/** Sends the first `at` bytes, then closes the connection in order (`close`) or resets it. */
export const cut =
  (bytes: Buffer, at: number, how: 'close' | 'reset'): Step =>
  (socket) => {
    const leave = () => (how === 'close' ? socket.end() : void socket.resetAndDestroy());
    if (at === 0) leave();
    // A reset can overtake bytes that are still being sent, so it waits a moment.
    else socket.write(bytes.subarray(0, at), () => setTimeout(leave, how === 'close' ? 0 : 3));
  };

// A TLS socket cannot send a reset, so it is closed without the closing message of TLS.
export const reset: Step = (socket) =>
  void (socket instanceof tls.TLSSocket ? socket.destroy() : socket.resetAndDestroy());
export const close: Step = (socket) => void socket.end();
export const silence: Step = () => {};

/** Sends one byte every `everyMs` milliseconds. */
export const dribble =
  (bytes: Buffer, everyMs: number): Step =>
  (socket) => {
    let at = 0;
    const timer = setInterval(() => {
      if (at >= bytes.length || socket.destroyed) clearInterval(timer);
      else socket.write(bytes.subarray(at, ++at));
    }, everyMs);
  };
