import type { Endpoint } from '../gateway/endpoint.ts';
import type { ReceivedHead, Reply } from './client.ts';
import type { WireHead, WireReply } from './exchange.ts';
import { jsonIn } from './parse-json.ts';
import { readDateMs } from './reply-dates.ts';

/** The text of a body as UTF-8, with U+FFFD for bad bytes. */
export const textOf = ({ bytes }: Pick<WireReply, 'bytes'>): string => new TextDecoder().decode(bytes);

/** Reads a complete 2xx reply. It is `ok` if it is JSON that the endpoint's loose schema accepts. */
export function readReply<T>(
  wire: WireReply,
  endpoint: Endpoint<T>,
): { readonly ok: true; readonly reply: Reply<T> } | { readonly ok: false } {
  const json = jsonIn(textOf(wire));
  if (json === undefined) return { ok: false };
  const { bytes } = wire;
  const parsed = endpoint.reply.safeParse(json);
  if (!parsed.success) return { ok: false };
  return {
    ok: true,
    reply: {
      status: wire.status,
      headers: wire.headers,
      value: parsed.data,
      json,
      bytes,
      get text() {
        return textOf({ bytes });
      },
      requestId: requestIdOf(wire.headers),
      serverDateMs: readDateMs(wire.headers.date),
    },
  };
}

const requestIdHeaders = ['x-request-id', 'request-id', 'x-requestid', 'x-trace-id', 'trace-id'];

export function requestIdOf(headers: Readonly<Record<string, string>>): string | undefined {
  const name = requestIdHeaders.find((header) => headers[header]);
  return name === undefined ? undefined : headers[name];
}

/** The facts in the head of a reply whose body is handed over in chunks. */
export const receivedHead = ({ status, headers }: WireHead): ReceivedHead => ({
  status,
  headers,
  requestId: requestIdOf(headers),
  serverDateMs: readDateMs(headers.date),
});
