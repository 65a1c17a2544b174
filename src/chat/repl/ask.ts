import { ClosedPipe } from '../../errors.ts';
import type { Io } from '../../io/io.ts';
import type { ChatAnswer, ChatEvent, ChatTurn } from '../chat.ts';
import type { AnswerView } from './show-answer.ts';

/** A question as it is put: the whole conversation, and what it is asked with. */
export interface Question {
  readonly turns: readonly ChatTurn[];
  readonly model: string;
  readonly system: string | undefined;
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
}

/** Puts a question to the gateway and tells of the answer as it comes; throws as `converse` does. */
export type Ask = (
  question: Question,
  onEvent: (event: ChatEvent) => void | Promise<void>,
) => Promise<ChatAnswer>;

export interface AskOptions {
  readonly ask: Ask;
  readonly view: AnswerView;
  readonly io: Pick<Io, 'aside' | 'note' | 'error' | 'awaiting'>;
  readonly showThoughts: boolean;
}

/** What came of a question. */
export interface Asked {
  /** The turn to keep; undefined where nothing came that could be gone on from. */
  readonly turn: Extract<ChatTurn, { role: 'assistant' }> | undefined;
  /** Absent where the answer was stopped or broke off. */
  readonly answer?: ChatAnswer;
}

/**
 * Asks and shows what comes. A stopped answer and one that breaks off are kept as far as they came; an error is shown
 * and the conversation goes on. Throws only what ends the conversation.
 */
export async function askAndShow(question: Question, options: AskOptions): Promise<Asked> {
  const { ask, view, io, showThoughts } = options;
  let came = '';
  const stopWaiting = io.awaiting(`waiting for ${question.model}`);
  try {
    const answer = await ask(question, (event) => {
      if (event.type === 'text' || showThoughts) stopWaiting();
      if (event.type === 'text') {
        came += event.text;
        view.text(event.text);
      } else if (event.type === 'thinking' && showThoughts) io.aside(event.text);
    });
    stopWaiting();
    view.end();
    return { turn: answer.turn, answer };
  } catch (error) {
    stopWaiting();
    view.end();
    if (error instanceof ClosedPipe) throw error;
    if (question.signal.aborted) io.note(came === '' ? 'stopped' : 'stopped; what came is kept');
    else io.error(error);
    return { turn: came === '' ? undefined : { role: 'assistant', text: came } };
  }
}
