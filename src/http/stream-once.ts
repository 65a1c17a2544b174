import type { TakeChunk } from './client.ts';
import {
  GatheredBytes,
  type Transport,
  type WireHead,
  type WireReply,
  type WireRequest,
} from './exchange.ts';

/** Largest whole reply that may come instead of a stream, and largest stream that is kept whole. */
export const WHOLE_LIMIT_BYTES = 64 * 1024 * 1024;

const isBlank = (byte: number) => byte === 0x20 || (byte >= 0x09 && byte <= 0x0d);
const byteOrderMark: readonly number[] = [0xef, 0xbb, 0xbf];
/** First bytes of an event stream's line (`data`, `event`, `id`, `retry`, comment); other text is JSON or a page. */
export const streamFrom: ReadonlySet<number> = new Set(Buffer.from('deir:'));

/**
 * Makes one attempt at an event stream and hands over the body of a 2xx reply in chunks. An error's body, and JSON or a
 * page that comes instead of a stream (whatever its content type), is returned whole; otherwise only the head is. If the
 * caller takes anything, every 2xx reply is handed over. Calls `onStream` when a stream begins. Throws as Transport's `stream` does.
 */
export async function streamOnce(
  transport: Transport,
  request: WireRequest,
  takeChunk: TakeChunk,
  onStream: (head: WireHead) => void,
  takes: 'events' | 'anything' = 'events',
): Promise<WireReply | WireHead> {
  const whole = new GatheredBytes(WHOLE_LIMIT_BYTES);
  let isStream: boolean | undefined;
  let begun: WireHead | undefined;
  const head = await transport.stream(request, {
    onHead(came) {
      begun = came;
      if (came.status < 200 || came.status >= 300) isStream = false;
      else if (takes === 'anything') {
        isStream = true;
        onStream(came);
      }
    },
    onData(chunk) {
      if (isStream === undefined) {
        isStream = looksLikeStream(chunk);
        if (isStream && begun) onStream(begun);
      }
      if (isStream) return takeChunk(chunk);
      whole.push(chunk);
    },
  });
  return isStream ? head : { ...head, bytes: whole.bytes };
}

/** Whether the chunk begins an event stream; undefined while only blanks and a byte order mark have come. */
function looksLikeStream(chunk: Uint8Array): boolean | undefined {
  const first = chunk.find((byte) => !isBlank(byte) && !byteOrderMark.includes(byte));
  return first === undefined ? undefined : streamFrom.has(first);
}
