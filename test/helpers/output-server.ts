import * as http from 'node:http';
import { listening } from './listening.ts';

export interface SeenGet {
  readonly method: string;
  readonly path: string;
  readonly headers: http.IncomingHttpHeaders;
}

/** Answers a GET; `number` counts the requests from 1. */
export type Answer = (request: http.IncomingMessage, response: http.ServerResponse, number: number) => void;

export interface OutputServer {
  readonly url: string;
  readonly gets: SeenGet[];
  /** Set this to change the following answers. */
  answer: Answer;
  close(): Promise<void>;
}

/** A server of outputs on loopback that answers as the test defines and records its requests. */
export async function startOutputServer(answer: Answer): Promise<OutputServer> {
  const gets: SeenGet[] = [];
  const server = http.createServer((request, response) => {
    gets.push({ method: request.method ?? '', path: request.url ?? '', headers: request.headers });
    response.on('error', () => {});
    handle.answer(request, response, gets.length);
  });
  const handle: OutputServer = { ...(await listening(server)), gets, answer };
  return handle;
}

export interface ServeOptions {
  readonly etag?: string;
  readonly type?: string;
  /** Destroys the connection after this many bytes of the body. */
  readonly cutAfter?: number;
  /** Sends no `content-length`. */
  readonly unannounced?: boolean;
  readonly ignoreRange?: boolean;
}

/** Sends a file as an object store would, with ranges, `If-Range` and strong tags; or cut, or without a length. */
export function serveFile(
  bytes: Buffer,
  request: http.IncomingMessage,
  response: http.ServerResponse,
  options: ServeOptions = {},
): void {
  const { etag, type = 'video/mp4', cutAfter, unannounced, ignoreRange } = options;
  const range = /^bytes=(\d+)-$/.exec(request.headers.range ?? '');
  const ifRange = request.headers['if-range'];
  const start = range && !ignoreRange && (ifRange === undefined || ifRange === etag) ? Number(range[1]) : 0;
  if (start > 0 && start >= bytes.length) {
    response.writeHead(416, { 'content-range': `bytes */${bytes.length}` }).end();
    return;
  }
  const body = bytes.subarray(start);
  response.writeHead(start > 0 ? 206 : 200, {
    'content-type': type,
    ...(etag ? { etag } : {}),
    ...(unannounced ? {} : { 'content-length': String(body.length) }),
    ...(start > 0 ? { 'content-range': `bytes ${start}-${bytes.length - 1}/${bytes.length}` } : {}),
  });
  if (cutAfter === undefined) {
    response.end(body);
    return;
  }
  response.write(body.subarray(0, cutAfter), () => setTimeout(() => response.destroy(), 5));
}
