import * as http from 'node:http';
import * as net from 'node:net';
import { closing } from './closing.ts';

export interface ProxyServer {
  readonly url: string;
  readonly port: number;
  /** The request lines as they arrived: `CONNECT host:port`, `GET http://host/path`. */
  readonly asked: string[];
  readonly headers: http.IncomingHttpHeaders[];
  close(): Promise<void>;
}

export interface ProxyServerOptions {
  /** Answers everything with this status instead of passing it on. */
  readonly refuseWith?: number;
  /** The `Proxy-Authorization` value that the proxy requires. */
  readonly authorization?: string;
}

/** Names under `.test` resolve to this machine, because clients never proxy loopback itself. */
const here = (hostname: string): string => (hostname.endsWith('.test') ? '127.0.0.1' : hostname);

/** A forward proxy on loopback that records its requests. */
export async function startProxyServer(options: ProxyServerOptions = {}): Promise<ProxyServer> {
  const asked: string[] = [];
  const headers: http.IncomingHttpHeaders[] = [];
  const sockets = new Set<net.Socket>();
  const refusal = (request: http.IncomingMessage) => {
    asked.push(`${request.method} ${request.url}`);
    headers.push(request.headers);
    if (options.refuseWith) return options.refuseWith;
    const given = request.headers['proxy-authorization'];
    return options.authorization && given !== options.authorization ? 407 : undefined;
  };
  const server = http.createServer((request, response) => {
    const status = refusal(request);
    if (status) return void response.writeHead(status).end();
    const { 'proxy-authorization': _, ...passed } = request.headers;
    const to = new URL(String(request.url));
    to.hostname = here(to.hostname);
    const onward = http.request(to, { method: request.method, headers: passed }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    onward.on('error', () => response.destroy());
    request.pipe(onward);
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => {});
  });
  server.on('connect', (request, socket: net.Socket) => {
    const status = refusal(request);
    if (status) return void socket.end(`HTTP/1.1 ${status} No\r\ncontent-length: 0\r\n\r\n`);
    const to = new URL(`http://${request.url}`);
    const onward = net.connect(Number(to.port), here(to.hostname), () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      onward.pipe(socket).pipe(onward);
    });
    sockets.add(onward);
    onward.on('error', () => socket.destroy());
    socket.on('error', () => onward.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as net.AddressInfo;
  return closing({
    url: `http://127.0.0.1:${port}`,
    port,
    asked,
    headers,
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  });
}
