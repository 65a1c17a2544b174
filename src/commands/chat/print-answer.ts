import type { ChatAnswer, ChatEvent } from '../../chat/chat.ts';
import type { Io } from '../../io/io.ts';

export interface PrintOptions {
  /** Each event as it came, one a line; the whole reply; or text. */
  readonly form: 'events' | 'reply' | 'text';
  readonly showThoughts: boolean;
}

/** Prints an answer as it comes. */
export interface AnswerPrinter {
  onEvent(event: ChatEvent): void | Promise<void>;
  /** The end of a finished answer. */
  finish(answer: ChatAnswer): Promise<void>;
  /** The end of one that broke off; `came` is the reply as far as it came, if it did. */
  breakOff(came?: unknown): Promise<void>;
}

export function answerPrinter(io: Io, { form, showThoughts }: PrintOptions): AnswerPrinter {
  let last = '\n';
  let thoughtIsOpen = false;

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
  /** A terminal's next line begins at its left edge; a pipe gets the bytes and nothing else. */
  const closeLine = async () => {
    if (form === 'text' && io.stdoutIsTerminal && !last.endsWith('\n')) await print('\n');
  };

  return {
    onEvent(event) {
      if (event.type === 'thinking') return think(event.text);
      if (event.type === 'raw') {
        // Data in several lines is JSON all the same: its line breaks are blanks.
        return form === 'events' ? io.outRaw(`${event.data.replaceAll('\n', ' ')}\n`) : undefined;
      }
      closeThought();
      return form === 'text' ? print(event.text) : undefined;
    },
    async finish({ toolCalls, reply, replyText }) {
      closeThought();
      if (form === 'reply') {
        if (replyText !== undefined) await io.outRaw(replyText.endsWith('\n') ? replyText : `${replyText}\n`);
        else await io.outJson(reply);
      }
      if (form === 'events' && replyText !== undefined) await io.outJson(reply);
      if (form !== 'text') return;
      if (toolCalls.length === 0) return closeLine();
      // Words may come before the calls: each call stands on a line of its own all the same.
      if (!last.endsWith('\n')) await print('\n');
      for (const { id, name, arguments: text } of toolCalls) {
        await io.outJson({ id, name, arguments: text });
      }
    },
    async breakOff(came) {
      closeThought();
      if (form === 'reply' && came !== undefined) await io.outJson(came);
      await closeLine();
    },
  };
}
