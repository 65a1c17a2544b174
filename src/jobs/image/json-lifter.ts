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
const base64Fields: ReadonlySet<string> = new Set([
  'b64_json',
  'data',
  'base64',
  'image_base64',
  'partial_image_b64',
  'b64',
  'b64Json',
  'bytesBase64Encoded',
  'imageBytes',
]);
const DATA_URI = 'data:image';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const LOWER_U = 0x75;
const isBlank = (byte: number) => byte === 0x20 || (byte >= 0x09 && byte <= 0x0d);
/** What stands for a character after a backslash. */
const escapes: Readonly<Record<number, number>> = { 98: 8, 102: 12, 110: 10, 114: 13, 116: 9 };

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

  /** Which lifted text a mark stands for. */
  indexOf(mark: string): number | undefined {
    const [index] = [...mark.matchAll(this.marks)].map((found) => Number(found[1]));
    return index;
  }
}

/**
 * Lifts Base64 out of a JSON text as it comes, byte by byte, so that an image of 25 MB is never held: every text under a
 * field that holds Base64, and every data URI of an image, goes to what `lift` returns for it; the rest is kept for
 * JSON.parse. Written here because no library was found that hands on one text in pieces: stream-json and
 * @streamparser/json collect it first. It takes broken JSON as it comes; JSON.parse of the rest tells.
 */
export class JsonLifter {
  private readonly mark = `lifted-${crypto.randomUUID()}-`;
  /** Grows by doubling: a million small pieces of their own would take a hundred times their bytes. */
  private rest = Buffer.alloc(1024);
  private restBytes = 0;
  private state: 'between' | 'text' | 'start' | 'lifted' = 'between';
  /** The last text that was read: a key, if a colon follows it. */
  private word = '';
  private key: string | undefined;
  /** The beginning of a text of which it is not known yet whether it is a data URI. */
  private start = '';
  private escape: 'none' | 'begun' | { digits: string } = 'none';
  private lifted: LiftedText | undefined;
  private count = 0;
  /** No quote of this chunk stands before this place. */
  private quoteAt = -1;

  constructor(private readonly lift: (index: number) => LiftedText) {}

  /** Throws what a lifted text throws, and RangeError where the rest, or the number of images, is beyond all measure. */
  push(chunk: Uint8Array): void {
    this.quoteAt = -1;
    for (let at = 0; at < chunk.length; ) {
      if (this.state === 'lifted') at = this.passOn(chunk, at);
      else if (this.state === 'start') at = this.begin(chunk, at);
      else if (this.state === 'text') at = this.pastText(chunk, at);
      else at = this.pastStructure(chunk, at);
    }
  }

  /** What is left. */
  end(): Rest {
    if (this.state === 'start') this.keepText(this.start);
    const marked = new TextDecoder().decode(this.rest.subarray(0, this.restBytes));
    return new Rest(marked, new RegExp(`${this.mark}(\\d+)`, 'g'));
  }

  private pastStructure(chunk: Uint8Array, from: number): number {
    for (let at = from; at < chunk.length; at += 1) {
      const byte = chunk[at] ?? 0;
      if (byte === QUOTE) {
        this.keep(chunk.subarray(from, at + 1));
        this.word = '';
        this.start = '';
        this.state = 'start';
        return at + 1;
      }
      if (byte === COLON) this.key = this.word;
      else if (!isBlank(byte)) this.key = undefined;
    }
    this.keep(chunk.subarray(from));
    return chunk.length;
  }

  /** A text that stays; `word` keeps as much of it as a key may have. */
  private pastText(chunk: Uint8Array, from: number): number {
    for (let at = from; at < chunk.length; at += 1) {
      const byte = chunk[at] ?? 0;
      if (this.escape !== 'none') this.escape = 'none';
      else if (byte === BACKSLASH) this.escape = 'begun';
      else if (byte === QUOTE) {
        this.keep(chunk.subarray(from, at + 1));
        this.key = undefined;
        this.state = 'between';
        return at + 1;
      }
      if (this.word.length < 64) this.word += String.fromCharCode(byte);
    }
    this.keep(chunk.subarray(from));
    return chunk.length;
  }

  /** The first characters of a value: whether it is one to be lifted. */
  private begin(chunk: Uint8Array, from: number): number {
    const isBase64 = base64Fields.has(this.key ?? '');
    for (let at = from; at < chunk.length; at += 1) {
      const byte = chunk[at] ?? 0;
      if (isBase64 && byte !== QUOTE) {
        this.beginLifted('');
        return at;
      }
      const next = this.start + String.fromCharCode(byte);
      if (byte === QUOTE || !DATA_URI.startsWith(next.toLowerCase())) {
        this.keepText(this.start);
        this.word = this.start;
        this.start = '';
        this.state = 'text';
        return at;
      }
      this.start = next;
      if (next.length === DATA_URI.length) {
        this.beginLifted(next);
        return at + 1;
      }
    }
    return chunk.length;
  }

  private beginLifted(start: string): void {
    if (this.count >= MAX_LIFTED) throw new RangeError(`the reply holds more than ${MAX_LIFTED} images`);
    this.keepText(`${this.mark}${this.count}`);
    this.lifted = this.lift(this.count);
    this.count += 1;
    this.start = '';
    this.state = 'lifted';
    if (start !== '') this.lifted.push(Buffer.from(start, 'latin1'));
  }

  private passOn(chunk: Uint8Array, from: number): number {
    if (this.escape !== 'none') return this.pastEscape(chunk[from] ?? 0, from);
    if (this.quoteAt < from) this.quoteAt = endOr(chunk.indexOf(QUOTE, from), chunk);
    const run = chunk.subarray(from, this.quoteAt);
    const backslash = run.indexOf(BACKSLASH);
    const end = backslash < 0 ? this.quoteAt : from + backslash;
    if (end > from) this.lifted?.push(chunk.subarray(from, end));
    if (backslash >= 0) {
      this.escape = 'begun';
      return end + 1;
    }
    if (end === chunk.length) return end;
    this.keep(chunk.subarray(end, end + 1));
    this.lifted?.end();
    this.lifted = undefined;
    this.key = undefined;
    this.state = 'between';
    return end + 1;
  }

  /** `\/`, `\n`, `\u002f` in a lifted text; each comes byte by byte, because it may lie across chunks. */
  private pastEscape(byte: number, at: number): number {
    if (this.escape === 'begun') {
      if (byte === LOWER_U) this.escape = { digits: '' };
      else this.unescaped(escapes[byte] ?? byte);
    } else if (this.escape !== 'none') {
      const digits = this.escape.digits + String.fromCharCode(byte);
      if (digits.length < 4) this.escape = { digits };
      // Beyond Latin-1 nothing is Base64; a NUL is refused as well as any.
      else this.unescaped(/^00[0-9a-f]{2}$/i.test(digits) ? Number.parseInt(digits, 16) : 0);
    }
    if (this.quoteAt === at) this.quoteAt = -1;
    return at + 1;
  }

  private unescaped(byte: number): void {
    this.escape = 'none';
    this.lifted?.push(Uint8Array.of(byte));
  }

  private keepText(text: string): void {
    this.keep(Buffer.from(text, 'latin1'));
  }

  private keep(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    const total = this.restBytes + bytes.length;
    if (total > REST_LIMIT_BYTES) {
      throw new RangeError(`the reply holds more than ${REST_LIMIT_BYTES} bytes beside its images`);
    }
    if (total > this.rest.length) {
      const larger = Buffer.alloc(Math.max(total, 2 * this.rest.length));
      larger.set(this.rest.subarray(0, this.restBytes));
      this.rest = larger;
    }
    this.rest.set(bytes, this.restBytes);
    this.restBytes = total;
  }
}

const endOr = (index: number, chunk: Uint8Array): number => (index < 0 ? chunk.length : index);

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
