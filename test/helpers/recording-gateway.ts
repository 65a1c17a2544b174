import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { listening } from './listening.ts';

export interface RecordedRequest {
  readonly method: string;
  /** The target of the request line. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface RecordingGateway {
  readonly url: string;
  readonly requests: readonly RecordedRequest[];
  close(): Promise<void>;
}

/** A gateway that records each complete request and lets the test answer it. */
export async function recordingGateway(
  answer: (request: RecordedRequest, response: ServerResponse) => void,
): Promise<RecordingGateway> {
  const requests: RecordedRequest[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      const recorded = { method, url, headers, body: Buffer.concat(chunks).toString() };
      requests.push(recorded);
      answer(recorded, response);
    });
  });
  return { ...(await listening(server)), requests };
}
