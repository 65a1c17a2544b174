import {
  type CompleterResult,
  clearScreenDown,
  createInterface,
  cursorTo,
  emitKeypressEvents,
  type Interface,
  type Key,
  moveCursor,
} from 'node:readline';
import { PassThrough } from 'node:stream';
import type { Host } from '../../host.ts';
import type { Page } from '../../io/page.ts';

/** What the user did with a prompt. */
export type Entered =
  | { readonly kind: 'line'; readonly text: string; readonly hasFoldedPaste: boolean }
  /** Ctrl-C where nothing was typed. */
  | { readonly kind: 'interrupted' }
  /** Ctrl-D, or the terminal is gone. */
  | { readonly kind: 'left' };

export interface LineEditorOptions {
  readonly host: Pick<Host, 'stdin' | 'stdout'>;
  readonly page: Page;
  /** Newest first. */
  readonly history: readonly string[];
  readonly complete: (line: string) => CompleterResult;
  /** Ctrl-C while no line is being read. */
  readonly onInterrupt: () => void;
}

type Stroke = { readonly text: string | undefined; readonly key: Key } | { readonly paste: string };

const PASTE_MODE_ON = '\x1b[?2004h';
const PASTE_MODE_OFF = '\x1b[?2004l';
/** Typed ahead while an answer is coming; what is more is a cat on the keyboard. */
const MAX_AHEAD = 10_000;
const HISTORY_SIZE = 1_000;

/**
 * Reads lines on a terminal with editing, history and completion. The terminal is in raw mode from the beginning to
 * `close`, so that what is typed while an answer comes is not echoed into it, and Ctrl-C is a key like others; keys that
 * come when no line is being read wait for the next one.
 */
export class LineEditor {
  readonly #keys: PassThrough;
  readonly #lines: Interface;
  readonly #pastes: Pastes = new Map();
  #ahead: Stroke[] = [];
  #pasting: string | undefined;
  /** What stood in the line before the last key. */
  #line = '';
  #answer: ((entered: Entered) => void) | undefined;
  #hasLeft = false;
  /** Of the cursor, below the first row of the prompt: what a change of width is reckoned from. */
  #row = 0;
  readonly #stop: () => void;

  constructor(private readonly options: LineEditorOptions) {
    const { stdin, stdout } = options.host;
    // Keys reach readline one by one through here, and only while a line is being read.
    this.#keys = Object.assign(new PassThrough(), {
      setRawMode: (on: boolean) => void stdin.setRawMode?.(on),
    });
    this.#lines = createInterface({
      input: this.#keys,
      output: stdout,
      terminal: true,
      history: [...options.history],
      historySize: HISTORY_SIZE,
      completer: options.complete,
    });
    // Node 24 hands out a line that holds newlines as it keeps it in its history: turned around.
    this.#lines.on('line', () => this.#entered(this.#line));
    this.#lines.on('SIGINT', () => this.#interrupted());
    this.#lines.on('close', () => this.#leave());
    this.#lines.on('SIGCONT', () => {
      stdout.write(PASTE_MODE_ON);
      this.#lines.prompt(true);
    });
    const onKey = (text: string | undefined, key: Key) => this.#arrived(text, key);
    const onEnd = () => this.#leave();
    const onResize = () => this.#resized();
    emitKeypressEvents(stdin);
    stdin.on('keypress', onKey).on('end', onEnd).on('error', onEnd).on('close', onEnd);
    stdout.prependListener('resize', onResize);
    stdout.write(PASTE_MODE_ON);
    stdin.resume();
    this.#stop = () => {
      stdin.off('keypress', onKey).off('end', onEnd).off('close', onEnd).pause();
      stdout.off('resize', onResize);
      if (!stdout.destroyed) stdout.write(PASTE_MODE_OFF);
    };
  }

  /** Shows the prompt, which may hold colour, and resolves with what comes of it. */
  read(prompt: string): Promise<Entered> {
    if (this.#hasLeft) return Promise.resolve({ kind: 'left' });
    return new Promise((resolve) => {
      this.#answer = resolve;
      this.#lines.setPrompt(prompt);
      this.#lines.prompt();
      this.#row = 0;
      this.options.page.setTyped({ lift: () => this.#lift(), restore: () => this.#restore() });
      const ahead = this.#ahead;
      this.#ahead = [];
      for (const stroke of ahead) this.#take(stroke);
    });
  }

  /** Ends a prompt that is open, and gives the terminal back. */
  close(): void {
    if (this.#answer !== undefined) this.options.host.stdout.write('\n');
    this.#hasLeft = true;
    this.#lines.close();
    this.#answered({ kind: 'left' });
    this.#stop();
  }

  #arrived(text: string | undefined, key: Key): void {
    if (key.name === 'paste-start') this.#pasting = '';
    else if (key.name === 'paste-end') {
      const paste = this.#pasting ?? '';
      this.#pasting = undefined;
      this.#take({ paste });
    } else if (this.#pasting !== undefined) this.#pasting += key.sequence ?? text ?? '';
    else this.#take({ text, key });
  }

  #take(stroke: Stroke): void {
    if (this.#answer === undefined) {
      this.#wait(stroke);
      return;
    }
    if ('paste' in stroke) this.#insert(foldPaste(stroke.paste, this.#pastes));
    else if (this.#isNewline(stroke.key)) this.#insert('\n', /\\$/);
    else {
      this.#line = this.#lines.line;
      this.#keys.emit('keypress', stroke.text, stroke.key);
    }
    this.#row = this.#answer === undefined ? 0 : this.#lines.getCursorPos().rows;
  }

  #wait(stroke: Stroke): void {
    if ('key' in stroke && stroke.key.ctrl === true && stroke.key.name === 'c') {
      this.#ahead = [];
      this.options.onInterrupt();
    } else if (this.#ahead.length < MAX_AHEAD) this.#ahead.push(stroke);
  }

  /** Alt-Enter, or Enter behind a backslash at the end. */
  #isNewline({ name, meta }: Key): boolean {
    if (name !== 'return' && name !== 'enter') return false;
    const { line, cursor } = this.#lines;
    return meta === true || (cursor === line.length && line.endsWith('\\'));
  }

  /** readline edits lines that hold newlines, and shows them as such; only its keys never make one. */
  #insert(text: string, inPlaceOf = /$/): void {
    const { line, cursor } = this.#lines;
    const before = line.slice(0, cursor).replace(inPlaceOf, '') + text;
    Object.assign(this.#lines, { line: before + line.slice(cursor), cursor: before.length });
    this.#lines.prompt(true);
  }

  #entered(line: string): void {
    let text = line;
    let hasFoldedPaste = false;
    for (const [fold, paste] of this.#pastes) {
      if (!text.includes(fold)) continue;
      hasFoldedPaste = true;
      text = text.replaceAll(fold, () => paste);
    }
    this.#answered({ kind: 'line', text, hasFoldedPaste });
  }

  #interrupted(): void {
    if (this.#lines.line === '') {
      this.options.host.stdout.write('\n');
      this.#answered({ kind: 'interrupted' });
      return;
    }
    // What is cleared away can be had back with Ctrl-Y.
    this.#lines.write(null, { ctrl: true, name: 'e' });
    this.#lines.write(null, { ctrl: true, name: 'u' });
  }

  #leave(): void {
    if (this.#hasLeft) return;
    this.#hasLeft = true;
    if (this.#answer !== undefined && !this.options.host.stdout.destroyed)
      this.options.host.stdout.write('\n');
    // An answer on its way is for nobody once the terminal is gone.
    else this.options.onInterrupt();
    this.#answered({ kind: 'left' });
  }

  #answered(entered: Entered): void {
    const answer = this.#answer;
    this.#answer = undefined;
    this.options.page.setTyped(undefined);
    answer?.(entered);
  }

  #lift(): void {
    const { stdout } = this.options.host;
    const { rows } = this.#lines.getCursorPos();
    if (rows > 0) moveCursor(stdout, 0, -rows);
    cursorTo(stdout, 0);
    clearScreenDown(stdout);
  }

  #restore(): void {
    // readline goes up as many rows as the cursor stood below the prompt, to draw over what it drew before.
    this.options.host.stdout.write('\n'.repeat(this.#lines.getCursorPos().rows));
    this.#lines.prompt(true);
  }

  /** Terminals wrap anew what they show; readline, which draws after this, goes up as many rows as it went before. */
  #resized(): void {
    if (this.#answer === undefined) return;
    const { stdout } = this.options.host;
    const { rows } = this.#lines.getCursorPos();
    if (rows > this.#row) moveCursor(stdout, 0, this.#row - rows);
    // At the foot of the screen the cursor can go down only where newlines make room.
    else stdout.write('\n'.repeat(this.#row - rows));
    this.#row = rows;
  }
}

/** Pasted blocks that are too long to be shown, by what stands for each in the line. */
type Pastes = Map<string, string>;

/** What is longer is shown as one word: nobody edits it, and a screen would not hold it. */
const MAX_SHOWN_LINES = 12;
const MAX_SHOWN_CHARACTERS = 1_000;

/** C0 and C1 without newline and tab: no text, and readline would count columns for them. */
const controls = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/g;

/**
 * A pasted block as it goes into the line: its own text, or where that is long a short word that is remembered in
 * `pastes` and stands for it. Line ends become newlines, those at the end are dropped, control characters too.
 */
export function foldPaste(raw: string, pastes: Pastes): string {
  const text = raw.replace(/\r\n?/g, '\n').replace(controls, '').replace(/\n+$/, '');
  const lines = text.split('\n').length;
  if (lines <= MAX_SHOWN_LINES && text.length <= MAX_SHOWN_CHARACTERS) return text;
  const size = lines > 1 ? `${lines} lines` : `${text.length} characters`;
  const fold = `[paste ${pastes.size + 1}: ${size}]`;
  pastes.set(fold, text);
  return fold;
}
