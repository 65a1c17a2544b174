import { jsonOf } from '../json-text.ts';
import { type Heard, parseReply, type ReplyReader } from './surface.ts';

/** After this many events in a row that differ in more than their text, comparing costs more than it saves and stops. */
const MOST_UNLIKE = 8;

/**
 * Reads the events of a stream. If the answer is not kept whole, an event that differs from the previous one only in its
 * text is not fully parsed, because everything else in it is known already.
 */
export class EventReader {
  /** The data around the text of the previous event. */
  #around: readonly [before: string, after: string] | undefined;
  #unlike = 0;

  constructor(
    private readonly reader: Pick<ReplyReader, 'event'>,
    private readonly keepsWhole: boolean,
  ) {}

  /** Reads the data of one event. Throws as the reader does, and SyntaxError for bad JSON. */
  read(data: string, heard: Heard): void {
    const text = this.#textOf(data);
    if (text !== undefined) {
      this.#unlike = 0;
      heard.hear('text', text);
    } else if (this.keepsWhole || this.#unlike >= MOST_UNLIKE) this.reader.event(parseReply(data), heard);
    else this.#remember(data, heard);
  }

  #remember(data: string, heard: Heard): void {
    const said: (string | undefined)[] = [];
    const listener: Heard = {
      hear(kind, words) {
        if (words !== '') said.push(kind === 'text' ? words : undefined);
        heard.hear(kind, words);
      },
      keep(bytes) {
        said.push(undefined);
        heard.keep(bytes);
      },
    };
    this.reader.event(parseReply(data), listener);
    this.#unlike += 1;
    this.#around = this.#unlike < MOST_UNLIKE ? aroundOf(data, said) : undefined;
  }

  #textOf(data: string): string | undefined {
    const [before, after] = this.#around ?? ['', ''];
    const end = data.length - after.length;
    const length = end - before.length;
    const isLike = after && length >= 0 && data.startsWith(before) && data.endsWith(after);
    if (!isLike || length > MOST_COMPARED) return undefined;
    const text = data.slice(before.length, end);
    // A text without escapes needs no parsing; in a long text only quotes and backslashes are searched for.
    const isPlain =
      length < LONG_TEXT ? !/[^ !#-[\]-\uffff]/.test(text) : !text.includes('"') && !text.includes('\\');
    return isPlain ? text : (jsonOf(data.slice(before.length - 1, end + 1)) as string | undefined);
  }
}

/** Lengths in characters; an event with a text above the second one is parsed in full, with all limits for JSON. */
const LONG_TEXT = 200;
const MOST_COMPARED = 1024 * 1024;

/** Undefined unless the event has exactly one text that occurs only once in its data. */
function aroundOf(data: string, [words, ...others]: readonly (string | undefined)[]) {
  if (words === undefined || others.length > 0) return undefined;
  const [before, after, ...more] = data.split(JSON.stringify(words));
  if (after === undefined || more.length > 0 || `${before}${after}`.includes('\\')) return undefined;
  return [`${before}"`, `"${after}`] as const;
}
