import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { SandboxRequest } from './request-log.ts';

export type NoteRequest = (entry: SandboxRequest, done: boolean) => void;

/**
 * A request listener that notes each request when it comes and when it is over, and turns what a handler throws into
 * a dropped connection: a handler answers its own refusals.
 */
export function listen(
  server: SandboxRequest['server'],
  now: () => number,
  note: NoteRequest,
  handle: (
    request: IncomingMessage,
    response: ServerResponse,
    url: URL,
    entry: SandboxRequest,
  ) => Promise<void>,
): RequestListener {
  return (request, response) => {
    const path = request.url ?? '/';
    const entry: SandboxRequest = {
      server,
      method: request.method ?? 'GET',
      path,
      headers: { ...request.headers },
      atMs: now(),
    };
    note(entry, false);
    response.once('close', () => note(entry, true));
    const url = URL.canParse(path, 'http://sandbox')
      ? new URL(path, 'http://sandbox')
      : new URL('http://sandbox/');
    handle(request, response, url, entry).catch(() => request.socket.destroy());
  };
}
