import { GwError } from '../errors.ts';
import { WHOLE_LIMIT_BYTES } from '../http/stream-once.ts';
import type { ChatEvent } from './chat.ts';
import type { Heard } from './reply-reader.ts';

/** A few bytes are an object of their own all the same. */
const LEAST_EVENT_BYTES = 64;

/** Gathers what the events of one piece of a stream say, neighbours of a kind as one, and tells it in one go. */
export class EventQueue implements Heard {
  /** All text so far, where it is kept. */
  text = '';
  hasText = false;
  #waiting: ChatEvent[] = [];
  #kind: 'text' | 'thinking' | undefined;
  #words = '';
  /** Bytes heard, of these those counted as kept, and all that count. */
  #heard = 0;
  #counted = 0;
  #kept = 0;
  #failure: { readonly error: unknown } | undefined;

  constructor(
    private readonly tell: (event: ChatEvent) => void | Promise<void>,
    private readonly keepsText: boolean,
  ) {}

  /** No more is kept: what follows is not read. */
  get isFull(): boolean {
    return this.#kept > WHOLE_LIMIT_BYTES;
  }

  /** Counts what is kept of an answer; beyond the bound the answer has failed (promises, section 5). */
  keep(bytes: number): void {
    this.#kept += bytes;
    if (this.isFull) this.fail(tooLong());
  }

  /**
   * Counts an event of an answer that is kept whole: what it says, and a quarter of the rest, because most of that is its
   * envelope.
   */
  keepEvent(data: string): void {
    const said = this.#heard - this.#counted;
    this.#counted = this.#heard;
    this.keep(said + Math.max(LEAST_EVENT_BYTES, (data.length - said) / 4));
  }

  hear(kind: 'text' | 'thinking', words: string): void {
    if (words === '' || this.#failure) return;
    this.#heard += Buffer.byteLength(words);
    if (this.#kind !== kind) this.#close();
    this.#kind = kind;
    this.#words += words;
  }

  raw(data: string): void {
    if (this.#failure) return;
    this.#close();
    this.#waiting.push({ type: 'raw', data });
  }

  /** Nothing after this counts; `flush` throws it when what came before has been told. */
  fail(error: unknown): void {
    this.#failure ??= { error };
  }

  /** Tells what has gathered. Throws what the listener throws, or the failure that came after. */
  async flush(): Promise<void> {
    this.#close();
    const events = this.#waiting;
    this.#waiting = [];
    for (const event of events) await this.tell(event);
    if (this.#failure) throw this.#failure.error;
  }

  #close(): void {
    const type = this.#kind;
    if (type === undefined) return;
    const text = this.#words;
    this.#kind = undefined;
    this.#words = '';
    this.#waiting.push({ type, text });
    if (type !== 'text') return;
    this.hasText = true;
    if (this.keepsText) this.text += text;
  }
}

const tooLong = () =>
  new GwError(
    'unavailable',
    `the answer grew beyond ${WHOLE_LIMIT_BYTES / 2 ** 20} MiB, more than gw keeps of one, and was broken off`,
    {
      hint: 'what came is shown; text without --session and --json --stream take an answer of any length',
    },
  );
