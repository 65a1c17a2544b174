import { GatheredBytes } from '../../http/exchange.ts';
import { closedJson, JsonTokens } from '../../json-text.ts';

/** Receives one text that is lifted out of JSON, in pieces and without its escapes. */
export interface LiftedText {
  /** The bytes are valid only during the call. */
  push(text: Uint8Array): void;
  end(): void;
}

/** If the JSON without its lifted texts is larger, it is not an image reply. */
const REST_LIMIT_BYTES = 16 * 1024 * 1024;

/** No request asks for more images than this; each has its own file. */
const MAX_LIFTED = 100;

/** Fields that hold Base64: those of "Image response" and of native parts, and names used elsewhere. */
const base64Fields: ReadonlySet<string> = new Set(
  'b64_json data base64 image_base64 partial_image_b64 b64 b64Json bytesBase64Encoded imageBytes'.split(' '),
);
const DATA_URI = 'data:image';

const BACKSLASH = 0x5c;
/** The characters that these escapes represent after a backslash. */
const escapes: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

/** The character of an escape without its backslash. One beyond Latin-1 is no Base64: NUL gets it refused. */
function meaningOf(mark: string): string {
  if (!mark.startsWith('u')) return escapes[mark] ?? mark;
  return /^u00[0-9a-f]{2}$/i.test(mark) ? String.fromCharCode(Number.parseInt(mark.slice(1), 16)) : '\0';
}

/** The JSON that remains after texts have been lifted out of it. */
export class Rest {
  constructor(
    /** The JSON with a mark in place of each lifted text. */
    private readonly marked: string,
    private readonly marks: RegExp,
  ) {}

  /** The JSON text with each lifted text emptied, or replaced by a mark if `isMarked` is true for it. */
  text(isMarked: (index: number) => boolean = () => false): string {
    return this.marked.replace(this.marks, (mark, index: string) => (isMarked(Number(index)) ? mark : ''));
  }

  /** The complete part of a JSON text that was cut. */
  closed(): Rest {
    return new Rest(closedJson(this.marked), this.marks);
  }

  /** The index of the lifted text that a mark replaces. */
  indexOf(mark: string): number | undefined {
    return [...mark.matchAll(this.marks)].map((found) => Number(found[1]))[0];
  }
}

/** Enough characters to recognize a field that holds Base64, even if each letter is an escape. */
const LONGEST_WORD = 128;

/**
 * Lifts Base64 out of JSON as it comes, so that an image of 25 MB is never kept in memory: each text in a field that
 * holds Base64, and each data URI of an image, goes to the object that `lift` returns; the rest is kept for JSON.parse.
 * No library was found that passes one text on in pieces: stream-json and @streamparser/json collect it first. Broken
 * JSON is accepted here; JSON.parse of the rest reports it.
 */
export class JsonLifter {
  private readonly mark = `lifted-${crypto.randomUUID()}-`;
  private readonly rest = new GatheredBytes();
  private readonly tokens = new JsonTokens();
  /** The kind of the current text: kept, lifted, not yet decided (`begun`), or none. */
  private within: 'none' | 'begun' | 'kept' | 'lifted' = 'none';
  /** The beginning of the last text, which is a key if a colon follows. */
  private word = '';
  private key: string | undefined;
  /** The beginning of an escape that a piece cut off. */
  private escape = '';
  private lifted: LiftedText | undefined;
  private count = 0;

  constructor(private readonly lift: (index: number) => LiftedText) {}

  /** Throws what a lifted text throws, and RangeError if the rest or the number of images is too large. */
  push(chunk: Uint8Array): void {
    const { tokens } = this;
    // In Latin-1 each byte is one character, so positions in the text are positions in the chunk.
    const text = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength).toString('latin1');
    let from = 0;
    tokens.push(text);
    while (tokens.next()) {
      const { kind, isOpen } = tokens;
      if (kind !== 'text') {
        this.key =
          kind === ':' ? this.word.replace(/\\(u.{4}|[^u])/g, (_, mark) => meaningOf(mark)) : undefined;
        continue;
      }
      const begin = this.within === 'none' ? tokens.start + 1 : tokens.start;
      const end = isOpen ? tokens.end : tokens.end - 1;
      if (this.within === 'none') {
        this.word = '';
        this.within = 'begun';
      }
      const before = this.word;
      this.word += text.slice(begin, Math.min(end, begin + LONGEST_WORD - before.length));
      if (this.within === 'begun') {
        this.keep(chunk.subarray(from, begin));
        from = begin;
        this.within = this.decide(isOpen);
        if (this.within === 'kept') this.keepText(before);
        else if (this.within === 'lifted') this.beginLifted(before);
      }
      if (this.within === 'lifted') this.passOn(chunk.subarray(begin, end));
      if (this.within !== 'kept') from = end;
      if (isOpen) continue;
      if (this.within === 'lifted') this.endLifted();
      this.key = undefined;
      this.within = 'none';
    }
    this.keep(chunk.subarray(from));
  }

  /** Returns the remaining JSON. */
  end(): Rest {
    if (this.within === 'begun') this.keepText(this.word);
    const marked = new TextDecoder().decode(this.rest.bytes);
    return new Rest(marked, new RegExp(`${this.mark}(\\d+)`, 'g'));
  }

  /** Decides whether the text that begins with `word` is lifted; undecided while only part of `data:image` has come. */
  private decide(isOpen: boolean): 'begun' | 'kept' | 'lifted' {
    const word = this.word.toLowerCase();
    const goes = base64Fields.has(this.key ?? '') ? word !== '' : word.startsWith(DATA_URI);
    if (goes) return 'lifted';
    return isOpen && DATA_URI.startsWith(word) ? 'begun' : 'kept';
  }

  private beginLifted(start: string): void {
    if (this.count >= MAX_LIFTED) throw new RangeError(`the reply holds more than ${MAX_LIFTED} images`);
    this.keepText(`${this.mark}${this.count}`);
    this.lifted = this.lift(this.count);
    this.count += 1;
    if (start !== '') this.lifted.push(Buffer.from(start, 'latin1'));
  }

  private endLifted(): void {
    // An unfinished escape is invalid. NUL is not Base64, so the image is refused.
    if (this.escape !== '') this.lifted?.push(Uint8Array.of(0));
    this.escape = '';
    this.lifted?.end();
    this.lifted = undefined;
  }

  /** Passes on lifted text with `\/`, `\n`, `\u002f` decoded; an escape that is cut off waits for the next piece. */
  private passOn(run: Uint8Array): void {
    if (this.escape === '' && !run.includes(BACKSLASH)) {
      if (run.length > 0) this.lifted?.push(run);
      return;
    }
    const text = this.escape + Buffer.from(run).toString('latin1');
    this.escape = '';
    const plain = text.replace(/\\(?:(u.{4}|[^u])|(?:u.{0,3})?$)/gs, (all, mark?: string) => {
      if (mark === undefined) this.escape = all;
      return mark === undefined ? '' : meaningOf(mark);
    });
    if (plain !== '') this.lifted?.push(Buffer.from(plain, 'latin1'));
  }

  private keepText(text: string): void {
    this.keep(Buffer.from(text, 'latin1'));
  }

  private keep(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    if (this.rest.byteLength + bytes.length > REST_LIMIT_BYTES)
      throw new RangeError(`the reply holds more than ${REST_LIMIT_BYTES} bytes beside its images`);
    this.rest.push(bytes);
  }
}

/**
 * The indexes of lifted texts that are finished images: neither in a thought nor of a partial image. `value` is the
 * reply with a mark in place of each text.
 */
export function finishedTexts(value: unknown, rest: Rest): Set<number> {
  const finished = new Set<number>();
  // No recursion, because a reply may be nested arbitrarily deep.
  const waiting: unknown[] = [value];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (typeof next === 'string') {
      const index = rest.indexOf(next);
      if (index !== undefined) finished.add(index);
    } else if (typeof next === 'object' && next !== null) {
      if (('thought' in next && next.thought === true) || 'partial_image_index' in next) continue;
      for (const [name, inner] of Object.entries(next)) {
        if (inner !== null && name !== 'partial_image_b64') waiting.push(inner);
      }
    }
  }
  return finished;
}
