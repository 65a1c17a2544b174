import type { ChatEvent } from './chat.ts';
import type { Heard } from './reply-reader.ts';

/** Gathers what the events of one piece of a stream say, neighbours of a kind as one, and tells it in one go. */
export class EventQueue implements Heard {
  /** All text so far, where it is kept. */
  text = '';
  hasText = false;
  #waiting: ChatEvent[] = [];
  #kind: 'text' | 'thinking' | undefined;
  #words = '';
  #failure: { readonly error: unknown } | undefined;

  constructor(
    private readonly tell: (event: ChatEvent) => void | Promise<void>,
    private readonly keepsText: boolean,
  ) {}

  hear(kind: 'text' | 'thinking', words: string): void {
    if (words === '' || this.#failure) return;
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
