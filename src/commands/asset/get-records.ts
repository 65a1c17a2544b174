import { askLibrary } from '../../assets/ask-library.ts';
import type { Outcome } from '../../command.ts';
import type { Context } from '../../context.ts';
import type { Endpoint } from '../../gateway/endpoint.ts';
import type { Reply, RequestInput } from '../../http/client.ts';
import { compactJson, oneLine } from '../../io/escape.ts';
import { showInstead } from '../show-instead.ts';
import { oneByOne } from './library-ids.ts';

/** A record that was looked up. */
export interface SeenRecord {
  readonly reply: Reply;
  readonly record: unknown;
  /** Whether there are others: then each reply stays on a line of its own. */
  readonly many: boolean;
}

/** One look-up an ID. */
export const getRecords = (
  ids: readonly string[],
  request: {
    readonly endpoint: Endpoint;
    input(id: string): RequestInput;
    recordOf(reply: unknown): unknown;
  },
  ctx: Context,
): AsyncGenerator<Outcome<SeenRecord>> =>
  oneByOne<SeenRecord>(ids, async (id) => {
    const shown = await showInstead(request.endpoint, request.input(id), ctx);
    if (shown !== undefined) return { value: shown };
    const { client } = await ctx.gateway();
    const reply = await askLibrary(client, request.endpoint, request.input(id), { signal: ctx.signal });
    return { value: { reply, record: request.recordOf(reply.json), many: ids.length > 1 } };
  });

export const recordJson = ({ reply, many }: SeenRecord): string =>
  many ? `${compactJson(reply.text)}\n` : reply.text;

/** A record for people: one field a line; the query of an address, which may be its key, left out. */
export function recordText({ record }: SeenRecord): string {
  const rows = [...fieldsOf(record, '')].map((row) => row.map((text) => oneLine(text)));
  const width = Math.max(...rows.map(([name = '']) => name.length), 0);
  return rows.map(([name = '', value]) => `${name.padEnd(width)}  ${value}\n`).join('');
}

function* fieldsOf(value: unknown, name: string): Generator<[string, string]> {
  if (typeof value === 'object' && value !== null) {
    for (const [key, inner] of Object.entries(value))
      yield* fieldsOf(inner, name === '' ? key : `${name}.${key}`);
  } else if (value !== undefined && value !== null && value !== '') {
    yield [name, String(value).replace(/^(https?:\/\/[^?]*\?).*$/s, '$1…')];
  }
}
