import { closedJson, JsonTokens } from '../../json-text.ts';

/** Takes one text that is lifted out of a JSON text, in pieces, its escapes undone. */
export interface LiftedText {
  /** The bytes are valid only during the call. */
  push(text: Uint8Array): void;
  end(): void;
}

/** JSON beside its lifted texts that is larger than this is no image reply. */
const REST_LIMIT_BYTES = 16 * 1024 * 1024;

/** More images than this are none that were asked for; each has a file of its own. */
const MAX_LIFTED = 100;

/** Fields that hold Base64: those of "Image response" and of native parts, and the names they have elsewhere. */
const base64Fields: ReadonlySet<string> = new Set(
  'b64_json data base64 image_base64 partial_image_b64 b64 b64Json bytesBase64Encoded imageBytes'.split(' '),
);
const DATA_URI = 'data:image';

const BACKSLASH = 0x5c;
/** What stands for a character after a backslash. */
const escapes: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

/** What an escape means, without its backslash. A character beyond Latin-1 is no Base64: it becomes NUL, which is refused. */
function meaningOf(mark: string): string {
  if (!mark.startsWith('u')) return escapes[mark] ?? mark;
  return /^u00[0-9a-f]{2}$/i.test(mark) ? String.fromCharCode(Number.parseInt(mark.slice(1), 16)) : '\0';
}

/** The JSON that is left when texts have been lifted out of it. */
export class Rest {
  constructor(
    /** With a mark in the place of each lifted text. */
    private readonly marked: string,
    private readonly marks: RegExp,
  ) {}

  /** The JSON text with an empty text in the place of each lifted one, or a mark where `isMarked` says so. */
  text(isMarked: (index: number) => boolean = () => false): string {
    return this.marked.replace(this.marks, (mark, index: string) => (isMarked(Number(index)) ? mark : ''));
  }

  /** What came whole of a JSON text that was cut. */
  closed(): Rest {
    return new Rest(closedJson(this.marked), this.marks);
  }

  /** Which lifted text a mark stands for. */
  indexOf(mark: string): number | undefined {
    return [...mark.matchAll(this.marks)].map((found) => Number(found[1]))[0];
  }
}

/** As much of a text as tells whether it is the name of a field that holds Base64, each letter an escape. */
const LONGEST_WORD = 128;

/**
 * Lifts Base64 out of a JSON text as it comes, so that an image of 25 MB is never held: every text under a field that
 * holds Base64, and every data URI of an image, goes to what `lift` returns for it; the rest is kept for JSON.parse.
 * Written here because no library was found that hands on one text in pieces: stream-json and @streamparser/json collect
 * it first. It takes broken JSON as it comes; JSON.parse of the rest tells.
 */
export class JsonLifter {
  private readonly mark = `lifted-${crypto.randomUUID()}-`;
  /** Grows by doubling: a million small pieces of their own would take a hundred times their bytes. */
  private rest = Buffer.alloc(1024);
  private restBytes = 0;
  private readonly tokens = new JsonTokens();
  /** What the tokens are in: a text that stays, one that goes, one of which that is not known yet, or none. */
  private within: 'none' | 'begun' | 'kept' | 'lifted' = 'none';
  /** The beginning of the last text that was read: a key, if a colon follows it. */
  private word = '';
  private key: string | undefined;
  /** The beginning of one that its piece cut off. */
  private escape = '';
  private lifted: LiftedText | undefined;
  private count = 0;

  constructor(private readonly lift: (index: number) => LiftedText) {}

  /** Throws what a lifted text throws, and RangeError where the rest, or the number of images, is beyond all measure. */
  push(chunk: Uint8Array): void {
    const { tokens } = this;
    // One character for each byte: places in the text are places in the chunk.
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

  /** What is left. */
  end(): Rest {
    if (this.within === 'begun') this.keepText(this.word);
    const marked = new TextDecoder().decode(this.rest.subarray(0, this.restBytes));
    return new Rest(marked, new RegExp(`${this.mark}(\\d+)`, 'g'));
  }

  /** Whether the text of which `word` is the beginning goes; undecided while only a part of `data:image` has come. */
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
    // An escape that its text cuts off is none, and a NUL is no Base64.
    if (this.escape !== '') this.lifted?.push(Uint8Array.of(0));
    this.escape = '';
    this.lifted?.end();
    this.lifted = undefined;
  }

  /** `\/`, `\n`, `\u002f` in a lifted text are undone; one that is cut waits for the next piece. */
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
    const total = this.restBytes + bytes.length;
    if (total > REST_LIMIT_BYTES)
      throw new RangeError(`the reply holds more than ${REST_LIMIT_BYTES} bytes beside its images`);
    if (total > this.rest.length) {
      const larger = Buffer.alloc(Math.max(total, 2 * this.rest.length));
      larger.set(this.rest.subarray(0, this.restBytes));
      this.rest = larger;
    }
    this.rest.set(bytes, this.restBytes);
    this.restBytes = total;
  }
}

/**
 * Which of the texts lifted out of a reply are no unfinished work: neither inside a thought nor of a partial image.
 * `value` is the reply with a mark in the place of each.
 */
export function finishedTexts(value: unknown, rest: Rest): Set<number> {
  const finished = new Set<number>();
  // No recursion: a reply may be nested as deeply as it likes.
  const waiting: unknown[] = [value];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (typeof next === 'string') {
      const index = rest.indexOf(next);
      if (index !== undefined) finished.add(index);
    } else if (typeof next === 'object' && next !== null && !isUnfinished(next)) {
      for (const [name, inner] of Object.entries(next)) {
        if (inner !== null && name !== 'partial_image_b64') waiting.push(inner);
      }
    }
  }
  return finished;
}

const isUnfinished = (value: object): boolean =>
  ('thought' in value && value.thought === true) || 'partial_image_index' in value;
