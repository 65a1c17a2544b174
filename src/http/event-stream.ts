import { StringDecoder } from 'node:string_decoder';
import { createParser, type ParseError } from 'eventsource-parser';
import { GwError } from '../errors.ts';
import type { TakeChunk } from './client.ts';

/** Receives the data of each event in order. A promise pauses the stream until it settles. */
interface EventSink {
  onEvent(data: string): void;
  /** Called after all events received so far have been passed on. */
  onPause(): void | Promise<void>;
}

interface EventStream {
  readonly takeChunk: TakeChunk;
  /**
   * Waits for the sink at the end of the stream. With `ended`, the stream ended properly, so a last event counts even
   * without its blank line. Throws what the sink threw.
   */
  finish(ended: boolean): Promise<void>;
}

/** No real event is this long: text without an event end within it is not an event stream. */
const MAX_EVENT_CHARACTERS = 64 * 1024 * 1024;

/**
 * Decodes an event stream: UTF-8 across chunk borders, a byte order mark, comments, CRLF, data in several lines. Chunks
 * that arrive together are processed together. Throws GwError `unavailable` for an event that never ends.
 */
export function eventStream(sink: EventSink): EventStream {
  // Node's TextDecoder uses two bytes per character and takes three times as long.
  const decoder = new StringDecoder('utf8');
  let isBegun = false;
  let pieces: Uint8Array[] = [];
  let busy: Promise<void> | undefined;
  let failure: { readonly error: unknown } | undefined;

  const parser = createParser({
    maxBufferSize: MAX_EVENT_CHARACTERS,
    onEvent: ({ data }) => sink.onEvent(data),
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
    // Chunks of one socket read arrive in the same turn, so all of them are here when this continues.
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
    async finish(ended) {
      await busy;
      if (failure) throw failure.error;
      if (!ended) return;
      feed(`${decoder.end()}\n\n`);
      await sink.onPause();
    },
  };
}
