import {
  type CompleterResult,
  createInterface,
  emitKeypressEvents,
  type Interface,
  type Key,
} from 'node:readline';
import { PassThrough } from 'node:stream';
import type { Host } from '../../host.ts';
import type { Page } from '../../io/page.ts';

/** How the user ended a prompt. */
type Entered =
  | { readonly kind: 'line'; readonly text: string; readonly hasFoldedPaste: boolean }
  /** Ctrl-C on an empty line. */
  | { readonly kind: 'interrupted' }
  /** Ctrl-D, or the terminal is gone. */
  | { readonly kind: 'left' };

interface LineEditorOptions {
  readonly host: Pick<Host, 'stdin' | 'stdout' | 'platform'>;
  readonly page: Page;
  /** Newest first. */
  readonly history: readonly string[];
  readonly complete: (line: string) => CompleterResult;
  /** Called for Ctrl-C while no line is being read. */
  readonly onInterrupt: () => void;
}

type Stroke = { readonly text: string | undefined; readonly key: Key } | { readonly paste: string };

const PASTE_MODE_ON = '\x1b[?2004h';
const PASTE_MODE_OFF = '\x1b[?2004l';
const upBy = (rows: number): string => (rows > 0 ? `\x1b[${rows}A` : '');
/** The limit for keys typed while an answer arrives; more is no intended input. */
const MAX_AHEAD = 10_000;
const HISTORY_SIZE = 1_000;

/**
 * Reads lines on a terminal with editing, history and completion. The terminal is in raw mode until `close`, so that keys
 * typed during an answer are not echoed into it, and Ctrl-C is an ordinary key. Keys that arrive while no line is being
 * read wait for the next one.
 */
export class LineEditor {
  readonly #keys: PassThrough;
  readonly #lines: Interface;
  readonly #pastes: Pastes = new Map();
  #ahead: Stroke[] = [];
  #pasting: string | undefined;
  /** The line before the last key. */
  #line = '';
  #answer: ((entered: Entered) => void) | undefined;
  #hasLeft = false;
  /** The cursor's row below the first row of the prompt, to compute moves after a change of width. */
  #row = 0;

  constructor(private readonly options: LineEditorOptions) {
    const { stdin, stdout } = options.host;
    // Keys pass to readline through this stream one by one, and only while a line is being read.
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
    // Node 24 reverses a line with newlines when it reports it, as in its history, so the kept line is used.
    this.#lines.on('line', () => this.#entered(this.#line));
    this.#lines.on('SIGINT', () => this.#interrupted());
    this.#lines.on('SIGTSTP', () => this.#suspend());
    this.#lines.on('close', this.#leave);
    emitKeypressEvents(stdin);
    stdin.on('keypress', this.#arrived).on('end', this.#leave);
    stdin.on('error', this.#leave).on('close', this.#leave);
    stdout.prependListener('resize', this.#resized);
    stdout.write(PASTE_MODE_ON);
    stdin.resume();
  }

  /** Shows the prompt, which may be coloured, and resolves when the user ends it. */
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

  /** Ends an open prompt, and restores the terminal. */
  close(): void {
    const { stdin, stdout } = this.options.host;
    this.#leave();
    this.#lines.close();
    stdin.off('keypress', this.#arrived).off('end', this.#leave).off('close', this.#leave).pause();
    stdout.off('resize', this.#resized);
    if (!stdout.destroyed) stdout.write(PASTE_MODE_OFF);
  }

  readonly #arrived = (text: string | undefined, key: Key): void => {
    if (key.name === 'paste-start') this.#pasting = '';
    else if (key.name === 'paste-end') {
      const paste = this.#pasting ?? '';
      this.#pasting = undefined;
      this.#take({ paste });
    } else if (this.#pasting !== undefined) this.#pasting += key.sequence ?? text ?? '';
    else this.#take({ text, key });
  };

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
    const control = 'key' in stroke && stroke.key.ctrl === true ? stroke.key.name : undefined;
    if (control === 'c') {
      this.#ahead = [];
      this.options.onInterrupt();
    } else if (control === 'z' && this.options.host.platform !== 'win32') this.#suspend();
    else if (this.#ahead.length < MAX_AHEAD) this.#ahead.push(stroke);
  }

  /** True for Alt-Enter, or Enter after a backslash at the end. */
  #isNewline({ name, meta }: Key): boolean {
    if (name !== 'return' && name !== 'enter') return false;
    const { line, cursor } = this.#lines;
    return meta === true || (cursor === line.length && line.endsWith('\\'));
  }

  /** Inserts text. readline can edit lines with newlines, but its own keys never insert one. */
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
    // Deleted in this way, the text can be restored with Ctrl-Y.
    this.#lines.write(null, { ctrl: true, name: 'e' });
    this.#lines.write(null, { ctrl: true, name: 'u' });
  }

  /** Stops gw and its process group until the shell continues them, as Ctrl-Z does outside raw mode. */
  #suspend(): void {
    const { host, page } = this.options;
    if (this.#answer !== undefined) this.#lift();
    page.options.region.show(false);
    host.stdout.write(PASTE_MODE_OFF);
    host.stdin.setRawMode?.(false);
    // This returns when gw is continued, or at once if no shell could continue it.
    process.kill(0, 'SIGTSTP');
    host.stdin.setRawMode?.(true);
    host.stdout.write(PASTE_MODE_ON);
    page.options.region.show(true);
    if (this.#answer !== undefined) this.#restore();
  }

  readonly #leave = (): void => {
    if (this.#hasLeft) return;
    this.#hasLeft = true;
    if (this.#answer !== undefined && !this.options.host.stdout.destroyed)
      this.options.host.stdout.write('\n');
    // Once the terminal is gone, nobody reads the answer under way.
    else this.options.onInterrupt();
    this.#answered({ kind: 'left' });
  };

  #answered(entered: Entered): void {
    const answer = this.#answer;
    this.#answer = undefined;
    this.options.page.setTyped(undefined);
    answer?.(entered);
  }

  #lift(): void {
    this.options.host.stdout.write(`${upBy(this.#lines.getCursorPos().rows)}\r\x1b[J`);
  }

  #restore(): void {
    // readline moves up by the cursor's row before it redraws, so the cursor is first moved down as far.
    this.options.host.stdout.write('\n'.repeat(this.#lines.getCursorPos().rows));
    this.#lines.prompt(true);
  }

  /** After a resize the terminal rewraps lines; this moves the cursor to the row that readline expects. */
  readonly #resized = (): void => {
    if (this.#answer === undefined) return;
    const { rows } = this.#lines.getCursorPos();
    // On the last row of the screen, only newlines can move the cursor down.
    const move = rows > this.#row ? upBy(rows - this.#row) : '\n'.repeat(this.#row - rows);
    this.options.host.stdout.write(move);
    this.#row = rows;
  };
}

/** Pasted blocks that are too long to show, by the placeholder in the line. */
type Pastes = Map<string, string>;

/** A longer paste is shown as a placeholder, because it would not fit on the screen. */
const MAX_SHOWN_LINES = 12;
const MAX_SHOWN_CHARACTERS = 1_000;

/** C0 and C1 controls except newline and tab; readline would count columns for them. */
const controls = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/g;

/**
 * The form in which a pasted block goes into the line: its text, or for a long one a short placeholder that `pastes` maps
 * to the text. Line ends become newlines; newlines at the end and control characters are removed.
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
