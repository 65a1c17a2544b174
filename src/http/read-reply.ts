import type { Endpoint } from '../gateway/endpoint.ts';
import type { ReceivedHead, Reply } from './client.ts';
import type { WireHead, WireReply } from './exchange.ts';
import { jsonIn } from './parse-json.ts';
import { readDateMs } from './reply-dates.ts';

/** The text of a body as UTF-8, with U+FFFD for bad bytes. */
export const textOf = ({ bytes }: Pick<WireReply, 'bytes'>): string => new TextDecoder().decode(bytes);

/** Reads a complete 2xx reply; undefined unless it is JSON that the endpoint's loose schema accepts. */
export function readReply<T>(wire: WireReply, endpoint: Endpoint<T>): Reply<T> | undefined {
  const { bytes } = wire;
  const json = jsonIn(textOf(wire));
  const parsed = json === undefined ? undefined : endpoint.reply.safeParse(json);
  if (!parsed?.success) return undefined;
  return {
    ...receivedHead(wire),
    value: parsed.data,
    json,
    bytes,
    get text() {
      return textOf({ bytes });
    },
  };
}

const requestIdHeaders = ['x-request-id', 'request-id', 'x-requestid', 'x-trace-id', 'trace-id'];

export function requestIdOf(headers: Readonly<Record<string, string>>): string | undefined {
  const name = requestIdHeaders.find((header) => headers[header]);
  return name === undefined ? undefined : headers[name];
}

/** The facts in the head of a reply. */
export const receivedHead = ({ status, headers }: WireHead): ReceivedHead => ({
  status,
  headers,
  requestId: requestIdOf(headers),
  serverDateMs: readDateMs(headers.date),
});
