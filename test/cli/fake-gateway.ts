import * as http from 'node:http';
import { listening } from '../helpers/listening.ts';

export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly headers: http.IncomingHttpHeaders;
}

export interface FakeServer {
  readonly url: string;
  readonly baseUrl: string;
  readonly seen: Seen[];
}

/** A server on loopback that answers as the test defines, for replies that the sandbox does not give; closed after the test. */
export async function openServer(
  answer: (request: http.IncomingMessage, response: http.ServerResponse) => void,
): Promise<FakeServer> {
  const seen: Seen[] = [];
  const server = http.createServer((request, response) => {
    seen.push({ method: request.method ?? '', path: request.url ?? '', headers: request.headers });
    response.on('error', () => {});
    request.resume();
    request.on('end', () => answer(request, response));
  });
  const { url } = await listening(server);
  return { url, baseUrl: url, seen };
}

export function sendJson(
  response: http.ServerResponse,
  status: number,
  value: unknown,
  headers: http.OutgoingHttpHeaders = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value));
}

export const TASK_ID = 'vt-20261120120000-0123456789abcdef0123';

/** A gateway where every task has succeeded and has its video at this address. */
export function openGateway(videoUrl: string): Promise<FakeServer> {
  const times = { created_at: 1_795_000_000, updated_at: 1_795_000_100 };
  return openServer((request, response) => {
    if (request.method === 'POST') {
      const { created_at } = times;
      return sendJson(response, 200, {
        id: TASK_ID,
        task_id: TASK_ID,
        object: 'video',
        model: 'alpha-video-2-5-260628',
        status: 'queued',
        progress: 0,
        created_at,
      });
    }
    const content = { video_url: videoUrl };
    return sendJson(response, 200, { id: TASK_ID, status: 'succeeded', content, ...times });
  });
}
