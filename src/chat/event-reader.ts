import { parseJson } from '../http/parse-json.ts';
import { jsonOf } from '../json-text.ts';
import type { Heard, ReplyReader } from './surface.ts';

/** After so many events in a row that are unlike the one before, none is compared any more: it would cost more than it saves. */
const MOST_UNLIKE = 8;

/**
 * Reads the events of a stream. Where the answer is not kept whole, an event that differs from the one before in nothing but
 * its text is not parsed but for that: all else that the reader remembers of it, it remembers already.
 */
export class EventReader {
  /** What stood around the text of the event before. */
  #around: readonly [before: string, after: string] | undefined;
  #unlike = 0;

  constructor(
    private readonly reader: Pick<ReplyReader, 'event'>,
    private readonly keepsWhole: boolean,
  ) {}

  /** Takes the data of one event. Throws as the reader does, and SyntaxError for bad JSON. */
  read(data: string, heard: Heard): void {
    const text = this.#textOf(data);
    if (text !== undefined) {
      this.#unlike = 0;
      heard.hear('text', text);
    } else if (this.keepsWhole || this.#unlike >= MOST_UNLIKE)
      this.reader.event(parseJson(data), heard, data);
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
    this.reader.event(parseJson(data), listener, data);
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
    // What a string of JSON may hold as it is needs no parsing; a long text is searched for what ends or escapes it alone.
    const isPlain =
      length < LONG_TEXT ? !/[^ !#-[\]-\uffff]/.test(text) : !text.includes('"') && !text.includes('\\');
    return isPlain ? text : (jsonOf(data.slice(before.length - 1, end + 1)) as string | undefined);
  }
}

/** Characters of a text; one that is longer than the second is read with the limits of all JSON from outside. */
const LONG_TEXT = 200;
const MOST_COMPARED = 1024 * 1024;

/** Undefined where not one text alone was heard, or where another one of the event could be meant. */
function aroundOf(data: string, [words, ...others]: readonly (string | undefined)[]) {
  if (words === undefined || others.length > 0) return undefined;
  const [before, after, ...more] = data.split(JSON.stringify(words));
  if (after === undefined || more.length > 0 || `${before}${after}`.includes('\\')) return undefined;
  return [`${before}"`, `"${after}`] as const;
}
