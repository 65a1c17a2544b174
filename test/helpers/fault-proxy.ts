import * as net from 'node:net';
import { type FaultServer, replyBytes, type SeenRequest, startFaultServer } from './fault-server.ts';

/** A complete reply of the server behind the proxy, without its transfer coding. */
export interface Upstream {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** The bytes that the proxy sends on. */
  readonly bytes: Buffer;
}

/** Decides what happens to one request. `forward` sends it to the server and returns the reply; it may be called once. */
export type Fault = (socket: net.Socket, forward: () => Promise<Upstream>) => void | Promise<void>;

/** Answers as the server does; the connection stays open. */
export const honest: Fault = async (socket, forward) => void socket.write((await forward()).bytes);

interface ProxyOptions {
  /** Chooses the fault for each complete request. */
  readonly faultOf: (request: SeenRequest) => Fault;
  /** Texts to replace in replies, such as the address of the outputs when they go through a proxy too. */
  readonly replaced?: () => Readonly<Record<string, string>>;
}

/** A TCP proxy on loopback before a local server; the test decides what happens to each request. */
export function startFaultProxy(target: string, { faultOf, replaced }: ProxyOptions): Promise<FaultServer> {
  const forward = async (request: SeenRequest): Promise<Upstream> => {
    const reply = readReply(await ask(new URL(target), request));
    const texts = Object.entries(replaced?.() ?? {});
    if (texts.length === 0) return reply;
    let text = reply.body.toString('latin1');
    for (const [from, to] of texts) text = text.replaceAll(from, to);
    return replyOf(reply.status, reply.headers, Buffer.from(text, 'latin1'));
  };
  const step = (socket: net.Socket, request: SeenRequest) => {
    const done = async () => await faultOf(request)(socket, () => forward(request));
    done().catch(() => socket.destroy());
  };
  return startFaultServer({ steps: [step] });
}

/** Sends the request to the server under the server's own address, and returns the bytes of the reply. */
function ask(target: URL, { method, target: path, headers, body }: SeenRequest): Promise<Buffer> {
  const head = Object.entries({ ...headers, host: target.host, connection: 'close' });
  const lines = head.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = net.connect({ host: target.hostname, port: Number(target.port) });
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    socket.on('end', () => resolve(Buffer.concat(chunks)));
    socket.on('error', reject);
    socket.write(Buffer.concat([Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines}\r\n`, 'latin1'), body]));
  });
}

function readReply(bytes: Buffer): Upstream {
  const end = bytes.indexOf('\r\n\r\n');
  const [line = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n');
  const headers: Record<string, string> = {};
  for (const each of lines) {
    const colon = each.indexOf(':');
    headers[each.slice(0, colon).toLowerCase()] = each.slice(colon + 1).trim();
  }
  const coded = bytes.subarray(end + 4);
  const body = headers['transfer-encoding'] === 'chunked' ? unchunked(coded) : coded;
  return replyOf(Number(line.split(' ')[1]), headers, body);
}

export function replyOf(status: number, headers: Upstream['headers'], body: Buffer): Upstream {
  const { 'transfer-encoding': _, 'content-length': __, connection: ___, ...kept } = headers;
  return { status, headers: kept, body, bytes: replyBytes(status, body, kept) };
}

function unchunked(coded: Buffer): Buffer {
  const chunks: Buffer[] = [];
  for (let at = 0; at < coded.length; ) {
    const lineEnd = coded.indexOf('\r\n', at);
    const size = Number.parseInt(coded.toString('latin1', at, lineEnd), 16);
    if (!(size > 0)) break;
    chunks.push(coded.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = lineEnd + 2 + size + 2;
  }
  return Buffer.concat(chunks);
}
