import { visible } from './escape.ts';

const MASK = '***';

/**
 * A shorter key, such as a test double's, is also a word of ordinary text: `***` in a path or an answer is damage. It is
 * hidden where it is a credential, by those who show headers, and never by replacing text.
 */
const MIN_SECRET_LENGTH = 16;

/** The secrets of a run: each known form of each is replaced by `***` in all text that leaves. */
export class SecretFilter {
  readonly #asWritten: string[] = [];
  #forms: string[] = [];
  #pattern: RegExp | undefined;
  #longest = 0;

  /** Hides a secret from now on, in all its forms; one of fewer than 16 characters is left to who shows credentials. */
  add(secret: string): void {
    if (secret.length < MIN_SECRET_LENGTH) return;
    this.#asWritten.push(secret, JSON.stringify(secret).slice(1, -1));
    // Longest first: where two forms begin at one place, the longer one is what stands there.
    this.#forms = [...new Set([...this.#forms, ...secretForms(secret)])].sort((a, b) => b.length - a.length);
    this.#longest = this.#forms[0]?.length ?? 0;
    const alternatives = this.#forms.map((form) => form.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
    this.#pattern = alternatives.length === 0 ? undefined : new RegExp(alternatives.join('|'), 'g');
  }

  /** Whether a secret of 16 characters or more stands in a text as it is, or as JSON writes it. */
  isIn(text: string): boolean {
    return this.#asWritten.some((form) => text.includes(form));
  }

  /** Replaces every form of every secret in a complete text. */
  hide(text: string): string {
    return this.#pattern === undefined ? text : text.replace(this.#pattern, MASK);
  }

  /**
   * Splits text of which more may come: what can be shown now, secrets replaced, and a tail that may be the beginning
   * of a secret and has to wait for what follows.
   */
  split(text: string): { shown: string; held: string } {
    const pattern = this.#pattern;
    if (pattern === undefined) return { shown: text, held: '' };
    let shown = '';
    let position = 0;
    for (;;) {
      const heldFrom = this.#pendingFrom(text, position);
      pattern.lastIndex = position;
      const match = pattern.exec(text);
      if (match === null || match.index >= heldFrom) {
        return { shown: shown + text.slice(position, heldFrom), held: text.slice(heldFrom) };
      }
      shown += text.slice(position, match.index) + MASK;
      position = match.index + match[0].length;
    }
  }

  /** Where the earliest unfinished form begins, at or after `from`; the text's length if there is none. */
  #pendingFrom(text: string, from: number): number {
    for (let start = Math.max(from, text.length - this.#longest + 1); start < text.length; start++) {
      const tail = text.slice(start);
      if (this.#forms.some((form) => form.length > tail.length && form.startsWith(tail))) return start;
    }
    return text.length;
  }
}

/**
 * A text that comes in pieces, as it may leave. A secret is found across the borders of pieces, half a surrogate pair waits for
 * its other half, and on a terminal the pieces put together read as `visible` of the whole.
 */
export class SafeStream {
  #half = '';
  #held = '';

  constructor(
    private readonly filter: SecretFilter,
    private readonly isTerminal: boolean,
  ) {}

  /** Takes the next piece and returns what can be shown of it and of what was held back. */
  push(piece: string): string {
    const text = this.#half + piece;
    const last = text.charCodeAt(text.length - 1);
    this.#half = last >= 0xd800 && last <= 0xdbff ? text.slice(-1) : '';
    return this.#show(this.#half === '' ? text : text.slice(0, -1));
  }

  /** As `push` of bytes, each of which stands for one character; what waited goes before them in UTF-8. */
  pushBytes(bytes: Uint8Array): string {
    const waited = Buffer.from(this.#half);
    this.#half = '';
    return this.#show(Buffer.concat([waited, bytes]).toString('latin1'));
  }

  /** Returns what was held back, as the end of a complete text. */
  end(): string {
    const shown = this.#show(this.#half) + this.filter.hide(this.#held);
    this.#half = this.#held = '';
    return shown;
  }

  #show(text: string): string {
    const { shown, held } = this.filter.split(this.#held + (this.isTerminal ? visible(text) : text));
    this.#held = held;
    return shown;
  }
}

/** Shorter derived forms would be found in innocent text. */
const MIN_FRAGMENT_LENGTH = 8;

/**
 * The ways a secret can stand in text: itself, inside a JSON string, percent-encoded (both cases of the digits, as a
 * form field too), and in Base64 and Base64url at each of the three offsets it can have in longer data.
 */
export function secretForms(secret: string): string[] {
  if (secret === '') return [];
  // Through bytes and back: half a surrogate pair, which URI encoding refuses, becomes what would be written.
  const percent = encodeURIComponent(Buffer.from(secret, 'utf8').toString('utf8'));
  const forms = [
    secret,
    JSON.stringify(secret).slice(1, -1),
    percent,
    percent.replace(/%[0-9A-F]{2}/g, (digits) => digits.toLowerCase()),
    new URLSearchParams({ '': secret }).toString().slice(1),
    ...base64Forms(secret),
  ];
  return [...new Set(forms)];
}

function base64Forms(secret: string): string[] {
  const bytes = Buffer.from(secret, 'utf8');
  const forms = [bytes.toString('base64'), bytes.toString('base64url')].filter(isLongEnough);
  for (const before of [0, 1, 2]) {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes])
      .toString('base64')
      .replace(/=+$/, '');
    // Characters at the edges also hold bits of the neighbours: only those wholly of the secret are looked for.
    const first = Math.ceil((before * 8) / 6);
    const end = Math.floor(((before + bytes.length) * 8) / 6);
    const core = encoded.slice(first, end);
    if (isLongEnough(core)) forms.push(core, core.replaceAll('+', '-').replaceAll('/', '_'));
  }
  return forms;
}

function isLongEnough(form: string): boolean {
  return form.length >= MIN_FRAGMENT_LENGTH;
}
