import { StringDecoder } from 'node:string_decoder';
import { createParser, type ParseError } from 'eventsource-parser';
import { GwError } from '../errors.ts';
import type { TakeChunk } from './client.ts';

/** Takes the data of each event of one piece of the stream, in order. A promise holds the stream back. */
export interface EventSink {
  onEvent(data: string): void;
  /** Called when all that has come has been told. */
  onPause(): void | Promise<void>;
}

export interface EventStream {
  readonly takeChunk: TakeChunk;
  /** How many events have been told. */
  readonly count: number;
  /**
   * After the stream: waits for the sink; `ended` tells that it ended well, so that a last event without its blank line
   * counts. Throws what the sink threw.
   */
  finish(ended: boolean): Promise<void>;
}

/** Far beyond any event; what does not end within it is no event stream. */
const MAX_EVENT_CHARACTERS = 64 * 1024 * 1024;

/**
 * Decodes an event stream as it comes off the wire: UTF-8 across the borders of chunks, a byte order mark, comments,
 * CRLF, data in several lines. Pieces that come off the socket together are told together. Throws GwError `unavailable`
 * for an event that does not end.
 */
export function eventStream(sink: EventSink): EventStream {
  // Node's TextDecoder makes two bytes of each character, and takes three times as long.
  const decoder = new StringDecoder('utf8');
  let isBegun = false;
  let count = 0;
  let pieces: Uint8Array[] = [];
  let busy: Promise<void> | undefined;
  let failure: { readonly error: unknown } | undefined;

  const parser = createParser({
    maxBufferSize: MAX_EVENT_CHARACTERS,
    onEvent: ({ data }) => {
      count += 1;
      sink.onEvent(data);
    },
    onError: ({ type }: ParseError) => {
      if (type !== 'max-buffer-size-exceeded') return;
      throw new GwError('unavailable', 'the stream brought an event that does not end', {
        hint: 'look at what comes with --verbose, or ask for the answer in one piece with --no-stream',
      });
    },
  });

  function feed(text: string): void {
    parser.feed(isBegun || text[0] !== '\ufeff' ? text : text.slice(1));
    isBegun ||= text !== '';
  }

  async function work(): Promise<void> {
    // Chunks of one read off the socket arrive in one go; all of them are there when this runs.
    await undefined;
    try {
      while (pieces.length > 0) {
        const [first] = pieces;
        const bytes = pieces.length === 1 && first ? first : Buffer.concat(pieces);
        pieces = [];
        feed(decoder.write(bytes));
        await sink.onPause();
      }
    } catch (error) {
      failure = { error };
      throw error;
    } finally {
      busy = undefined;
    }
  }

  return {
    takeChunk(chunk) {
      if (failure) throw failure.error;
      pieces.push(chunk);
      busy ??= work();
      return busy;
    },
    get count() {
      return count;
    },
    async finish(ended) {
      await busy;
      if (failure) throw failure.error;
      if (!ended) return;
      feed(`${decoder.end()}\n\n`);
      await sink.onPause();
    },
  };
}
