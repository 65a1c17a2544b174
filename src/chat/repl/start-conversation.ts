import * as path from 'node:path';
import { stateDir } from '../../config/dirs.ts';
import { readSwitch } from '../../config/environment.ts';
import type { Context } from '../../context.ts';
import { diskFault, isDiskFault } from '../../disk/disk-fault.ts';
import { appendLine, ensureDirectory, replaceFile } from '../../disk/durable-directory.ts';
import { readLines } from '../../disk/read-lines.ts';
import { readSmallFile } from '../../disk/typed-input.ts';
import { ClosedPipe, GwError, usage } from '../../errors.ts';
import { oneLine, visible } from '../../io/escape.ts';
import { jsonOf } from '../../json-text.ts';
import { readTextFile } from '../../media/text-input.ts';
import type { ChatAnswer, ChatApi, ChatEvent, ChatPart, ChatTurn } from '../chat.ts';
import type { Session, SessionContext } from '../session/session.ts';
import { wordsSoFar } from '../verdict.ts';
import { type CommandContext, completerFor, expandHome, parseCommand, runCommand } from './commands.ts';
import { Conversation, saveConversation } from './conversation.ts';
import { LineEditor } from './line-editor.ts';
import { loadLex } from './markdown/markdown-stream.ts';
import { loadInk } from './markdown/spans.ts';
import { type AnswerView, type AnswerViewOptions, showAnswer } from './show-answer.ts';

export interface ConversationOptions {
  readonly api: ChatApi;
  /** Undefined if neither flag nor profile names a model; the user then chooses one with `/model`. */
  readonly model: string | undefined;
  readonly system?: string | undefined;
  /** The settings that a session stores beside those of the conversation. */
  readonly held?: Session['settings'];
  /** The images of the first question (`--image`). */
  readonly images?: readonly ChatPart[] | undefined;
  readonly session?: Session | undefined;
  readonly showThoughts?: boolean | undefined;
  /** Start with unrendered answers (`/raw`). */
  readonly raw?: boolean | undefined;
  readonly models?: readonly string[] | undefined;
  /** Converts typed references to the images that are sent. Throws GwError `usage`. */
  readonly readImages: (references: readonly string[]) => Promise<ChatPart[]>;
  /** Asks a question: `converse` with the settings of the flags. */
  readonly ask: Ask;
  /** Prints usage and warnings after each answer. A returned error means that the answer is unusable. */
  readonly judge?: ((answer: ChatAnswer) => GwError | undefined) | undefined;
}

/**
 * Holds a conversation on the terminal until the user leaves it. Throws GwError `usage` if stdin or stdout is no terminal
 * or JSON is requested, and the reason of the run's signal.
 */
export async function startConversation(options: ConversationOptions, ctx: Context): Promise<void> {
  const { io, host } = ctx;
  if (!host.stdin.isTTY || !io.stdoutIsTerminal)
    throw usage('a conversation needs a terminal', 'give the prompt as words, with --prompt, or on stdin');
  if (io.mode.json) throw usage('--json: a conversation on a terminal has no JSON form', 'give a prompt');
  const page = await io.page();
  const [ink, lex, endGuard] = await Promise.all([
    loadInk(page.options.hasColor),
    loadLex(),
    host.guardTerminal(),
  ]);
  const talk = new Talk(options, { page, ink, lex }, ctx);
  const close = () => talk.editor.close();
  ctx.signal.addEventListener('abort', close, { once: true });
  try {
    await talk.hold();
    ctx.signal.throwIfAborted();
  } finally {
    ctx.signal.removeEventListener('abort', close);
    talk.editor.close();
    page.close();
    endGuard();
  }
}

type Terminal = Pick<AnswerViewOptions, 'page' | 'ink' | 'lex'>;

/** A running conversation on a terminal. */
class Talk {
  readonly #conversation: Conversation;
  readonly #history: History;
  readonly editor: LineEditor;
  readonly #commands: CommandContext;
  #answering: AbortController | undefined;

  constructor(
    private readonly options: ConversationOptions,
    private readonly terminal: Terminal,
    private readonly ctx: Context,
  ) {
    const { page } = terminal;
    this.#conversation = new Conversation(options.api, options, options.session);
    this.#conversation.images = options.images ?? [];
    this.#conversation.raw = options.raw ?? false;
    this.#history = openHistory(ctx);
    this.editor = new LineEditor({
      host: ctx.host,
      page,
      history: this.#history.lines,
      complete: completerFor(ctx.host, options.models),
      onInterrupt: () => this.#answering?.abort(),
    });
    const { host, io, signal } = ctx;
    const conversation = this.#conversation;
    const inHome = (file: string) => expandHome(file, host.homeDir);
    this.#commands = {
      conversation,
      show: (text) => this.#show(text),
      copy: (text) => page.copy(visible(text)),
      columns: () => page.size().columns,
      readImages: (references) => options.readImages(references.map(inHome)),
      readText: async (value) => {
        if (!value.startsWith('@')) return value;
        const file = inHome(value.slice(1));
        // Only regular files are read: stdin carries the keys, and waiting for a pipe could not be stopped.
        return readTextFile(file, `/system @${file}`, { cwd: host.cwd, signal }, readSmallFile);
      },
      save: async (file) =>
        saveConversation(conversation, file, { host, hideSecret: (text) => io.withoutSecrets(text) }),
    };
  }

  async hold(): Promise<void> {
    this.#show(welcome(this.#conversation));
    for (let entered = await this.#read(); entered !== undefined; entered = await this.#read()) {
      if (entered.text.trim() === '') continue;
      if (!entered.hasFoldedPaste) this.#history.add(entered.text);
      try {
        if (await this.#take(entered.text)) break;
      } catch (error) {
        // An error that the user can correct does not end the conversation.
        if (!(error instanceof GwError) || this.ctx.signal.aborted) throw error;
        this.ctx.io.error(error);
      }
    }
  }

  #show(text: string): void {
    const { page, ink } = this.terminal;
    page.print(`${ink.faint(visible(text))}\n`);
  }

  /** Undefined if the user left. */
  async #read() {
    for (;;) {
      const entered = await this.editor.read(this.terminal.ink.strong('> '));
      if (entered.kind === 'interrupted') this.#show('Ctrl-D or /exit leaves');
      else return entered.kind === 'left' ? undefined : entered;
    }
  }

  /** True if the input ends the conversation. */
  async #take(text: string): Promise<boolean> {
    const command = parseCommand(text);
    if (command) return runCommand(command.name, command.rest, this.#commands);
    const parts: ChatPart[] = [{ type: 'text', text: messageOf(text) }, ...this.#conversation.images];
    await this.#put([{ role: 'user', parts }]);
    return false;
  }

  /** Sends the turns, shows the answer, and asks the user for the results of the model's calls. */
  async #put(asked: readonly ChatTurn[]): Promise<void> {
    const { model, system, turns: earlier, raw } = this.#conversation;
    if (model === undefined) throw usage('no model is set', 'name one with /model NAME');
    this.#answering = new AbortController();
    const signal = AbortSignal.any([this.#answering.signal, this.ctx.signal]);
    const view = showAnswer({ ...this.terminal, clock: this.ctx.clock, raw });
    const { said, answer } = await this.#ask({ turns: [...earlier, ...asked], model, system, signal }, view);
    this.#answering = undefined;
    if (said && said.text !== '') this.terminal.page.print('\n');
    const fault = answer && this.options.judge?.(answer);
    if (fault) this.ctx.io.error(fault);
    const turn = fault ? wordsSoFar(answer.text) : said;
    if (turn === undefined) return;
    const { toolCalls: calls = [] } = turn;
    if (calls.length === 0) return turn.text === '' ? undefined : this.#conversation.add([...asked, turn]);
    const results: ChatTurn[] = [];
    for (const { id, name, arguments: given } of calls) {
      this.#show(`the model calls ${oneLine(name, 100)} with ${oneLine(given, 2_000)}`);
      const entered = await this.editor.read(this.terminal.ink.strong(`result of ${oneLine(name, 40)}> `));
      if (entered.kind !== 'line' || entered.text === '') {
        this.#show('no result was given: the question is taken back');
        return;
      }
      results.push({ role: 'tool', toolCallId: id, name, content: entered.text });
    }
    await this.#put([...asked, turn, ...results]);
  }

  /**
   * Asks and shows the answer. A stopped or broken answer is kept as far as it came; an error is shown and the
   * conversation goes on. Throws only errors that end the conversation. Returns the turn to keep, if there is one, and
   * the answer, if it is complete.
   */
  async #ask(question: Question, view: AnswerView) {
    const { ask, showThoughts = false } = this.options;
    const { io } = this.ctx;
    let came = '';
    const stopWaiting = io.awaiting(`waiting for ${question.model}`);
    const stop = () => {
      stopWaiting();
      view.end();
    };
    try {
      const answer = await ask(question, (event) => {
        if (event.type === 'text' || showThoughts) stopWaiting();
        if (event.type === 'text') {
          came += event.text;
          view.text(event.text);
        } else if (event.type === 'thinking' && showThoughts) io.aside(event.text);
      });
      for (const { text } of answer.further ?? []) view.text(`\n\n---\n\n${text}`);
      stop();
      return { said: answer.turn, answer };
    } catch (error) {
      stop();
      if (error instanceof ClosedPipe) throw error;
      if (question.signal.aborted) io.note(came === '' ? 'stopped' : 'stopped; what came is kept');
      else io.error(error);
      return { said: wordsSoFar(came) };
    }
  }
}

/** A blank before a leading / makes it a message and not a command; the blank is removed here. */
const messageOf = (typed: string) => typed.replace(/^ (?=\/)/, '').trimEnd();

function welcome({ model, session }: Conversation): string {
  const parts = [model ?? 'no model yet: /model NAME'];
  if (session?.isNamed) {
    const turns = session.turns.length;
    parts.push(`session ${session.name}${turns === 0 ? '' : `, ${turns} turns so far`}`);
  }
  return [...parts, '/help, or Ctrl-D to leave'].join(' · ');
}

/** A complete question: the whole conversation and its settings. */
interface Question {
  readonly turns: readonly ChatTurn[];
  readonly model: string;
  readonly system: string | undefined;
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
}

/** Asks the gateway and reports the answer as it arrives; throws as `converse` does. */
export type Ask = (
  question: Question,
  onEvent: (event: ChatEvent) => void | Promise<void>,
) => Promise<ChatAnswer>;

const KEPT = 1_000;
/** Longer inputs are documents, which nobody wants in the history. */
const MAX_CHARACTERS = 10_000;

/** The input lines of all this user's conversations. */
export interface History {
  /** Newest first. */
  readonly lines: readonly string[];
  /** Stores a line, with the API key masked. A disk error is reported once. */
  add(line: string): void;
}

/**
 * Opens the history in the state directory (0600). An unreadable or unwritable history is only a warning, because it must
 * not prevent a conversation. `GW_LEDGER_PROMPTS=off` applies here too.
 */
export function openHistory(ctx: SessionContext): History {
  if (readSwitch(ctx.host.env, 'GW_LEDGER_PROMPTS') === false) return { lines: [], add: () => {} };
  const dir = path.join(stateDir(ctx.host), 'chat');
  const file = path.join(dir, 'history.jsonl');
  let works = true;
  const tolerating = (work: () => void) => {
    try {
      if (works) work();
    } catch (error) {
      if (!isDiskFault(error)) throw error;
      works = false;
      ctx.io.warn(`the history ${file} cannot be used: ${diskFault(error).reason}`);
    }
  };
  let lines: string[] = [];
  tolerating(() => {
    ensureDirectory(dir);
    lines = readHistory(file);
    // A line that another process adds at this moment may be lost.
    const newest = lines.slice(-KEPT).map((line) => `${JSON.stringify(line)}\n`);
    if (lines.length > 2 * KEPT) replaceFile(file, newest.join(''));
  });
  return {
    lines: lines.slice(-KEPT).reverse(),
    add: (line) => {
      if (line.length > MAX_CHARACTERS) return;
      tolerating(() => appendLine(file, JSON.stringify(ctx.io.withoutSecrets(line))));
    },
  };
}

/** A damaged line is skipped. */
const readHistory = (file: string): string[] =>
  [...readLines(file)]
    .map(jsonOf)
    .filter((text, index, all): text is string => typeof text === 'string' && text !== all[index - 1]);
