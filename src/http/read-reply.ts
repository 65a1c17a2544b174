import type { Endpoint } from '../gateway/endpoint.ts';
import type { Reply } from './client.ts';
import type { WireReply } from './exchange.ts';
import { parseJson } from './parse-json.ts';
import { readDateMs } from './retry-after.ts';
import { requestIdOf } from './status-error.ts';

/** The text of a body: UTF-8, bad bytes as U+FFFD. */
export const textOf = ({ bytes }: Pick<WireReply, 'bytes'>): string => new TextDecoder().decode(bytes);

/** Reads a complete 2xx reply: JSON that the endpoint's loose schema knows. Anything else is not `ok`. */
export function readReply<T>(
  wire: WireReply,
  endpoint: Endpoint<T>,
): { readonly ok: true; readonly reply: Reply<T> } | { readonly ok: false } {
  const text = textOf(wire);
  let json: unknown;
  try {
    json = parseJson(text);
  } catch {
    return { ok: false };
  }
  const parsed = endpoint.reply.safeParse(json);
  if (!parsed.success) return { ok: false };
  return {
    ok: true,
    reply: {
      status: wire.status,
      headers: wire.headers,
      value: parsed.data,
      json,
      text,
      requestId: requestIdOf(wire.headers),
      serverDateMs: readDateMs(wire.headers.date),
    },
  };
}
