import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What a scripted gateway answers: a status (200 when left out), headers, and a body that is sent as it stands. */
export interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

export interface FakeGateway {
  readonly url: string;
  /** `METHOD path` of each request so far. */
  readonly requests: string[];
  close(): void;
}

/** A gateway that says what a test wants it to, in any shape; every request is recorded. */
export async function fakeGateway(
  answer: (method: string, url: string, headers: IncomingHttpHeaders) => Answer,
): Promise<FakeGateway> {
  const requests: string[] = [];
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    request.resume().on('end', () => {
      const line = `${request.method} ${request.url}`;
      requests.push(line);
      const { method = '', url = '' } = request;
      const { status = 200, headers = {}, body } = answer(method, url, request.headers);
      response.writeHead(status, { 'content-type': 'application/json', ...headers });
      response.end(typeof body === 'string' ? body : JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
