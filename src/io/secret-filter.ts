import { visible } from './escape.ts';

const MASK = '***';

/**
 * A shorter key, such as a test double's, may be a word of ordinary text, and replacing it in a path or an answer would
 * damage that. Code that shows headers hides such a key; it is never replaced in text.
 */
const MIN_SECRET_LENGTH = 16;

/** The secrets of a run: each known form of each secret is replaced by `***` in all text that leaves gw. */
export class SecretFilter {
  readonly #asWritten: string[] = [];
  #forms: string[] = [];
  #pattern: RegExp | undefined;
  #longest = 0;

  /** Hides a secret from now on in all its forms; one shorter than 16 characters is not hidden here. */
  add(secret: string): void {
    if (secret.length < MIN_SECRET_LENGTH) return;
    this.#asWritten.push(secret, JSON.stringify(secret).slice(1, -1));
    // Longest first: if two forms begin at the same place, the longer one is the one in the text.
    this.#forms = [...new Set([...this.#forms, ...secretForms(secret)])].sort((a, b) => b.length - a.length);
    this.#longest = this.#forms[0]?.length ?? 0;
    const alternatives = this.#forms.map((form) => form.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
    this.#pattern = alternatives.length === 0 ? undefined : new RegExp(alternatives.join('|'), 'g');
  }

  /** True if a text contains a secret of 16 or more characters as it is, or as JSON writes it. */
  isIn(text: string): boolean {
    return this.#asWritten.some((form) => text.includes(form));
  }

  /** Replaces every form of every secret in a complete text. */
  hide(text: string): string {
    return this.#pattern === undefined ? text : text.replace(this.#pattern, MASK);
  }

  /**
   * Splits unfinished text into a part that can be shown, with secrets replaced, and a tail that may be the beginning
   * of a secret and must wait for more text.
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

  /** The start of the earliest unfinished form at or after `from`; the text's length if there is none. */
  #pendingFrom(text: string, from: number): number {
    for (let start = Math.max(from, text.length - this.#longest + 1); start < text.length; start++) {
      const tail = text.slice(start);
      if (this.#forms.some((form) => form.length > tail.length && form.startsWith(tail))) return start;
    }
    return text.length;
  }
}

/**
 * Makes text that comes in pieces safe to write. It finds a secret across pieces, holds half a surrogate pair until its
 * other half comes, and on a terminal gives the same result as `visible` of the whole text.
 */
export class SafeStream {
  #half = '';
  #held = '';

  constructor(
    private readonly filter: SecretFilter,
    private readonly isTerminal: boolean,
  ) {}

  /** Adds a piece and returns the text that can be shown now, including text that was held back. */
  push(piece: string): string {
    const text = this.#half + piece;
    const last = text.charCodeAt(text.length - 1);
    this.#half = last >= 0xd800 && last <= 0xdbff ? text.slice(-1) : '';
    return this.#show(this.#half === '' ? text : text.slice(0, -1));
  }

  /** Like `push` for bytes, each treated as one character; held-back text goes before them in UTF-8. */
  pushBytes(bytes: Uint8Array): string {
    const waited = Buffer.from(this.#half);
    this.#half = '';
    return this.#show(Buffer.concat([waited, bytes]).toString('latin1'));
  }

  /** Returns the held-back text as the end of a complete text. */
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

/** A shorter derived form could occur in ordinary text. */
const MIN_FRAGMENT_LENGTH = 8;

/**
 * The forms of a secret in text: itself, in a JSON string, percent-encoded (in both cases of the digits, and as a form
 * field), and in Base64 and Base64url at each of the three offsets it can have in longer data.
 */
export function secretForms(secret: string): string[] {
  if (secret === '') return [];
  // Converting to bytes and back replaces half a surrogate pair, which URI encoding refuses, as writing would.
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
    // Characters at the edges also encode bits of neighbouring data: only those wholly of the secret are used.
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
