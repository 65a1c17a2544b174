import type { ChatAnswer, ChatEvent } from '../../chat/chat.ts';
import { LongText } from '../../chat/long-text.ts';
import type { AnswerView } from '../../chat/repl/show-answer.ts';
import { RawJson, safeJson } from '../../io/escape.ts';
import type { Io } from '../../io/io.ts';
import { compactJson } from '../../json-text.ts';

interface PrintOptions {
  /** Events as one line of JSON each, the whole reply, or text. */
  readonly form: 'events' | 'reply' | 'text';
  readonly showThoughts: boolean;
  /** Opens the renderer of text for a terminal; without it, text is printed as it arrives. */
  readonly draw?: (() => Promise<AnswerView>) | undefined;
}

interface AnswerPrinter {
  onEvent(event: ChatEvent): void | Promise<void>;
  finish(answer: ChatAnswer): Promise<void>;
  /** Ends an answer that broke off; `came` is the partial reply, if there is one. */
  breakOff(came?: unknown): Promise<void>;
}

export function answerPrinter(io: Io, { form, showThoughts, draw }: PrintOptions): AnswerPrinter {
  let last = '\n';
  let thoughtIsOpen = false;
  let view: AnswerView | undefined;

  const show = async (text: string) => {
    view ??= await draw?.();
    view?.text(text);
  };
  /** Output after the rendered text starts on a new line. */
  const endDrawing = () => {
    view?.end();
    view = undefined;
  };
  const print = (text: string) => {
    if (text === '') return undefined;
    last = text;
    return io.out(text);
  };
  const think = (text: string) => {
    if (!showThoughts || text === '') return;
    thoughtIsOpen = !text.endsWith('\n');
    io.aside(text);
  };
  const closeThought = () => {
    if (thoughtIsOpen) io.aside('\n');
    thoughtIsOpen = false;
  };
  /** On a terminal the output ends with a line break; a pipe gets exactly the answer's bytes. */
  const closeLine = async () => {
    if (form === 'text' && io.stdoutIsTerminal && !last.endsWith('\n')) await print('\n');
  };

  return {
    onEvent(event) {
      if (event.type === 'thinking') return think(event.text);
      if (event.type === 'raw') {
        // An event's data is JSON, so line breaks in it are white space.
        return form === 'events' ? io.out(`${event.data.replaceAll('\n', ' ')}\n`) : undefined;
      }
      closeThought();
      if (form !== 'text') return undefined;
      return draw && event.text !== '' ? show(event.text) : print(event.text);
    },
    async finish({ toolCalls, further = [], reply, replyBytes }) {
      closeThought();
      endDrawing();
      if (form === 'reply') {
        if (replyBytes === undefined) return printReply(reply, io);
        await io.out(replyBytes);
        if (replyBytes.at(-1) !== LINE_END) await io.out('\n');
      }
      if (form === 'events' && replyBytes !== undefined)
        await io.outJson(new RawJson(compactJson(new TextDecoder().decode(replyBytes))));
      if (form !== 'text') return;
      for (const { text } of further) {
        if (!last.endsWith('\n')) await print('\n');
        await print(`${BETWEEN_ANSWERS}\n${text}`);
      }
      if (toolCalls.length === 0) return closeLine();
      // Text may precede the calls, but each call needs a line of its own.
      if (!last.endsWith('\n')) await print('\n');
      for (const { id, name, arguments: text } of toolCalls) await io.outJson({ id, name, arguments: text });
    },
    async breakOff(came) {
      closeThought();
      endDrawing();
      if (form === 'reply' && came !== undefined) await printReply(came, io);
      await closeLine();
    },
  };
}

const BETWEEN_ANSWERS = '---';
const LINE_END = 0x0a;
const PIECE_CHARACTERS = 32 * 1024;

/** Prints a reply as JSON on one line. Long texts are written in pieces, because one string would be held three times. */
async function printReply(reply: unknown, io: Io): Promise<void> {
  const mark = globalThis.crypto.randomUUID();
  const texts: Iterable<string>[] = [];
  const framed = (value: unknown): string => {
    const isLong = value instanceof LongText;
    if (isLong || (typeof value === 'string' && value.length > PIECE_CHARACTERS)) {
      texts.push(pieces(isLong ? value.pieces : [value]));
      return `"${mark}"`;
    }
    if (Array.isArray(value)) return `[${value.map(framed).join(',')}]`;
    if (typeof value !== 'object' || value === null || value instanceof RawJson) return safeJson(value);
    const members = Object.entries(value).filter(([, field]) => field !== undefined);
    return `{${members.map(([name, field]) => `${safeJson(name)}:${framed(field)}`).join(',')}}`;
  };
  const [first = '', ...others] = `${framed(reply)}\n`.split(mark);
  await io.out(first);
  for (const [index, after] of others.entries()) {
    for (const piece of texts[index] ?? []) await io.out(safeJson(piece).slice(1, -1));
    await io.out(after);
  }
}

/** Joins short texts into larger writes. A surrogate pair stays in one piece. */
function* pieces(texts: readonly string[]): Generator<string> {
  let text = '';
  for (const more of texts) {
    text += more;
    while (text.length > PIECE_CHARACTERS) {
      const isInPair = (text.charCodeAt(PIECE_CHARACTERS - 1) & 0xfc00) === 0xd800;
      const end = isInPair ? PIECE_CHARACTERS - 1 : PIECE_CHARACTERS;
      yield text.slice(0, end);
      text = text.slice(end);
    }
  }
  yield text;
}
