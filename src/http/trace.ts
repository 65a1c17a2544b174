import type { Clock } from '../host.ts';
import type { PreparedRequest } from './client.ts';
import { HIDDEN } from './credential.ts';
import type { Transport, WireHead } from './exchange.ts';

/** Headers whose values may be shown; any other header counts as secret. */
const shownHeaders: ReadonlySet<string> = new Set([
  'accept',
  'accept-encoding',
  'accept-ranges',
  'age',
  'cache-control',
  'connection',
  'content-encoding',
  'content-length',
  'content-range',
  'content-type',
  'date',
  'etag',
  'last-modified',
  'provider-version',
  'range',
  'request-id',
  'retry-after',
  'server',
  'trace-id',
  'transfer-encoding',
  'user-agent',
  'vary',
  'x-request-id',
  'x-requestid',
  'x-sandbox-verdict',
  'x-trace-id',
]);

/** Query parameters of the gateway's own endpoints; any other may be part of a signature and is hidden. */
const shownParameters: ReadonlySet<string> = new Set([
  'Action',
  'Version',
  'alt',
  'cursor',
  'external_task_ids',
  'group_id',
  'limit',
  'name',
  'offset',
  'page',
  'project',
  'status',
  'task_ids',
]);

/** The lines of a request for --verbose: method, URL, headers with secrets hidden, size of the body. */
export function traceRequest({
  method,
  url,
  headers,
  body,
}: Pick<PreparedRequest, 'url' | 'headers'> & {
  readonly method: string;
  readonly body?: { readonly byteLength: number } | undefined;
}): string[] {
  return [
    `> ${method} ${shownUrl(url)}${body ? ` (${body.byteLength} bytes)` : ''}`,
    ...shownLines('>', headers),
  ];
}

/** The lines of a reply: status, milliseconds, size if it is complete, headers with secrets hidden. */
export function traceReply(
  { status, headers, bytes }: WireHead & { readonly bytes?: { readonly byteLength: number } },
  tookMs: number,
): string[] {
  return [
    `< HTTP ${status} in ${Math.round(tookMs)} ms${bytes ? ` (${bytes.byteLength} bytes)` : ''}`,
    ...shownLines('<', headers),
  ];
}

/** A header's value, or `***` if the header may be secret. */
const shownHeader = (name: string, value: string): string =>
  shownHeaders.has(name.toLowerCase()) ? value : HIDDEN;

function shownLines(mark: string, headers: Readonly<Record<string, string>>): string[] {
  return Object.entries(headers).map(([name, value]) => `${mark} ${name}: ${shownHeader(name, value)}`);
}

function shownUrl(url: URL): string {
  const query = [...url.searchParams].map(
    ([name, value]) =>
      `${encodeURIComponent(name)}=${shownParameters.has(name) ? encodeURIComponent(value) : HIDDEN}`,
  );
  return `${url.origin}${url.pathname}${query.length > 0 ? `?${query.join('&')}` : ''}`;
}

/** A transport that traces its streamed exchanges (outputs), as the client traces its own. */
export function tracedTransport(
  transport: Transport,
  clock: Pick<Clock, 'steady'>,
  trace: (line: string) => void,
): Transport {
  return {
    exchange: (request) => transport.exchange(request),
    close: () => transport.close(),
    async stream(request, handler) {
      for (const line of traceRequest(request)) trace(line);
      const beganMs = clock.steady();
      return transport.stream(request, {
        ...handler,
        onHead(head) {
          for (const line of traceReply(head, clock.steady() - beganMs)) trace(line);
          return handler.onHead(head);
        },
        onData: (chunk) => handler.onData(chunk),
      });
    },
  };
}
