import { jsonIn, parseJson } from '../http/parse-json.ts';
import type { Heard, ReplyReader } from './surface.ts';

/**
 * Reads the events of a stream. Where the answer is not kept whole, an event that differs from the one before in nothing but
 * its text is not parsed but for that: all else that the reader remembers of it, it remembers already.
 */
export class EventReader {
  /** What stood around the text of the event before. */
  #around: readonly [before: string, after: string] | undefined;

  constructor(
    private readonly reader: Pick<ReplyReader, 'event'>,
    private readonly keepsWhole: boolean,
  ) {}

  /** Takes the data of one event. Throws as the reader does, and SyntaxError for bad JSON. */
  read(data: string, heard: Heard): void {
    const text = this.#textOf(data);
    if (text !== undefined) {
      heard.hear('text', text);
      return;
    }
    const said: (string | undefined)[] = [];
    this.reader.event(parseJson(data), {
      hear(kind, words) {
        if (words !== '') said.push(kind === 'text' ? words : undefined);
        heard.hear(kind, words);
      },
      keep(bytes) {
        said.push(undefined);
        heard.keep(bytes);
      },
    });
    const [words, ...more] = said;
    this.#around = this.keepsWhole || more.length > 0 ? undefined : aroundOf(data, words);
  }

  #textOf(data: string): string | undefined {
    const [before, after] = this.#around ?? ['', ''];
    const end = data.length - after.length;
    if (end < before.length || !after || !data.startsWith(before) || !data.endsWith(after)) return undefined;
    const text = data.slice(before.length, end);
    // What a string of JSON may hold as it is needs no parsing.
    return /[^ !#-[\]-\uffff]/.test(text) ? (jsonIn(`"${text}"`) as string | undefined) : text;
  }
}

/** Undefined where no text was heard, or where another text of the event could be the one that was. */
function aroundOf(data: string, words: string | undefined): readonly [string, string] | undefined {
  const [before, after, ...more] = data.split(JSON.stringify(words));
  const isSure = after !== undefined && more.length === 0 && !`${before}${after}`.includes('\\');
  return isSure ? [`${before}"`, `"${after}`] : undefined;
}
