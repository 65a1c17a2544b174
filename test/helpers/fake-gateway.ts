import type { IncomingHttpHeaders } from 'node:http';
import { recordingGateway } from './recording-gateway.ts';

/** The answer of a scripted gateway: a status (200 when left out), headers, and a body that is sent unchanged. */
export interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

export interface FakeGateway {
  readonly url: string;
  /** The `METHOD path` of each request so far. */
  readonly requests: string[];
  close(): void;
}

/** A gateway that answers as a test defines, in any shape; it records every request. */
export async function fakeGateway(
  answer: (method: string, url: string, headers: IncomingHttpHeaders) => Answer,
): Promise<FakeGateway> {
  const requests: string[] = [];
  const gateway = await recordingGateway(({ method, url, headers }, response) => {
    requests.push(`${method} ${url}`);
    const { status = 200, headers: own = {}, body } = answer(method, url, headers);
    response.writeHead(status, { 'content-type': 'application/json', ...own });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  });
  return { ...gateway, requests };
}
