import type { IncomingHttpHeaders } from 'node:http';
import { recordingGateway } from './recording-gateway.ts';

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
  const gateway = await recordingGateway(({ method, url, headers }, response) => {
    requests.push(`${method} ${url}`);
    const { status = 200, headers: own = {}, body } = answer(method, url, headers);
    response.writeHead(status, { 'content-type': 'application/json', ...own });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  });
  return { ...gateway, requests };
}
