import { fdatasyncSync } from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { DiskFault, faultReason } from '../../disk/disk-fault.ts';
import { SNIFF_BYTES, sniff } from '../../media/signatures.ts';
import { type DownloadJournal, forgetPart, PartFile, removePart } from '../save/part-file.ts';
import { refusalOf } from '../save/verify-part.ts';
import type { LiftedText } from './json-lifter.ts';

export interface IncomingOptions {
  /** Where the image will lie. */
  readonly dir: string;
  /** What the ledger calls it until it is known what it is. */
  readonly role: string;
  /** Never throws: a ledger that cannot be written is no reason to lose an image. */
  readonly journal: DownloadJournal;
  /** Takes the part where `dir` cannot: Base64 comes once. The system's temporary directory when absent. */
  readonly refuge?: string | undefined;
}

/** Far beyond any image; what goes on after it fills the disk. */
const LONGEST_IMAGE_BYTES = 512 * 1024 * 1024;
const COPY_BYTES = 1024 * 1024;

/**
 * One image on its way from Base64 to its part file. What goes wrong with it is kept as its `problem` and ends neither
 * the reply nor the other images; a disk that fails or is full is left for the refuge, once.
 */
export class IncomingImage implements LiftedText {
  private readonly decoder = new Base64Decoder((bytes) => this.write(bytes));
  private file: PartFile | undefined;
  private role: string;
  private refused: string | undefined;
  private isEnded = false;
  /** Why it lies in the refuge, where it does. */
  detour: string | undefined;

  constructor(private readonly options: IncomingOptions) {
    this.role = options.role;
  }

  /** Why there will be no image; a clause. */
  get problem(): string | undefined {
    return this.refused;
  }

  /** The part, once all of it has come and it is an image. */
  get part(): PartFile | undefined {
    return this.isEnded && this.refused === undefined ? this.file : undefined;
  }

  push(text: Uint8Array): void {
    this.guard(() => this.decoder.push(text));
  }

  /** The text has ended: what there is must be an image. */
  end(): void {
    this.guard(() => {
      this.decoder.end();
      if (this.file === undefined) throw new NotBase64('it is empty');
      const other = refusalOf(sniff(this.file.head(SNIFF_BYTES)), 'image');
      if (other !== undefined) this.refuse(other.replace('the server', 'the gateway'));
    });
    this.isEnded = true;
  }

  /**
   * The image is wanted: its bytes reach the disk, and the ledger learns that the part is whole, so that a later process
   * can bring it under its name.
   */
  keepAs(role: string): void {
    const { part } = this;
    if (part === undefined) return;
    const { journal } = this.options;
    const before = this.role;
    if (part.totalBytes === undefined) {
      try {
        fdatasyncSync(part.fd);
      } catch (error) {
        this.refuse(faultReason(error));
        return;
      }
      part.totalBytes = part.bytes;
    } else if (before === role) return;
    this.role = role;
    journal.part(role, { path: part.path, totalBytes: part.totalBytes });
    if (before !== role) journal.part(before, undefined);
  }

  /** The image is not wanted, or cannot be had: its part goes. */
  discard(): void {
    const { file } = this;
    this.file = undefined;
    if (!file) return;
    file.close();
    try {
      forgetPart(file.path, this.role, this.options.journal);
    } catch {
      // It stays recorded as a part, and gw jobs sync removes it.
    }
  }

  private guard(step: () => void): void {
    if (this.refused !== undefined) return;
    try {
      step();
    } catch (error) {
      if (error instanceof NotBase64) this.refuse(`the gateway sent no valid Base64: ${error.message}`);
      else if (error instanceof DiskFault) this.refuse(error.message);
      else throw error;
    }
  }

  private refuse(reason: string): void {
    this.refused = reason;
    this.discard();
  }

  private write(bytes: Uint8Array): void {
    const bytesBefore = this.file?.bytes ?? 0;
    try {
      this.file ??= this.create(this.options.dir);
      this.file.append(bytes);
    } catch (error) {
      if (!(error instanceof DiskFault) || this.detour !== undefined) throw error;
      this.file = this.flee(error, bytesBefore);
      this.file.append(bytes);
    }
    if (this.file.bytes > LONGEST_IMAGE_BYTES) throw new NotBase64('it does not end');
  }

  private create(dir: string): PartFile {
    const { journal } = this.options;
    return PartFile.create(dir, {}, (facts) => journal.part(this.role, facts));
  }

  /** Begins a part in the refuge with the bytes that had found their place. */
  private flee(why: DiskFault, bytes: number): PartFile {
    const { dir, refuge = os.tmpdir() } = this.options;
    if (path.resolve(refuge) === path.resolve(dir)) throw why;
    this.detour = why.message;
    const before = this.file;
    const after = this.create(refuge);
    for (let done = 0; before && done < bytes; done += COPY_BYTES) {
      after.append(before.read(done, Math.min(COPY_BYTES, bytes - done)));
    }
    before?.close();
    try {
      if (before) removePart(before.path);
    } catch {
      // A directory that takes no byte may not let one go either.
    }
    return after;
  }
}

/** Why a text is no Base64. */
class NotBase64 extends Error {
  override readonly name = 'NotBase64';
}

const BLANK = 64;
const PAD = 65;
const WRONG = 255;

/** The value of each character; both alphabets (RFC 4648, sections 4 and 5) are read. */
function tableOf(): Uint8Array {
  const table = new Uint8Array(256).fill(WRONG);
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  for (let value = 0; value < 64; value += 1) table[alphabet.charCodeAt(value)] = value;
  table['-'.charCodeAt(0)] = 62;
  table['_'.charCodeAt(0)] = 63;
  table['='.charCodeAt(0)] = PAD;
  for (const blank of ' \t\r\n') table[blank.charCodeAt(0)] = BLANK;
  return table;
}

/** Longest `data:…,` before the Base64 of a data URI. */
const LONGEST_PREFIX = 200;

/**
 * Decodes Base64 as it comes, in pieces of any length: both alphabets, with or without padding and blanks, with or
 * without the `data:` prefix of a URI. What is decoded is handed on at once and valid only until `take` returns.
 */
export class Base64Decoder {
  private readonly table = tableOf();
  private bits = 0;
  private bitCount = 0;
  private pads = 0;
  private characters = 0;
  /** The beginning, until it is known whether it is the prefix of a data URI. */
  private prefix: string | undefined = '';
  private out = Buffer.alloc(0);

  constructor(private readonly take: (bytes: Uint8Array) => void) {}

  /** Throws NotBase64, and what `take` throws. */
  push(text: Uint8Array): void {
    const start = this.prefix === undefined ? 0 : this.skipPrefix(text);
    this.decode(start === 0 ? text : text.subarray(start));
  }

  /** Throws NotBase64 where the text ends in mid-byte. */
  end(): void {
    const { prefix } = this;
    this.prefix = undefined;
    if (prefix) this.decode(Buffer.from(prefix, 'latin1'));
    if (this.bitCount === 6) throw new NotBase64('its last byte is cut');
  }

  /** How many bytes of the text belong to the prefix; what was held back and is none is decoded. */
  private skipPrefix(text: Uint8Array): number {
    let held = this.prefix ?? '';
    for (let at = 0; at < text.length; at += 1) {
      held += String.fromCharCode(text[at] ?? 0);
      const isData = 'data:'.startsWith(held.slice(0, 5).toLowerCase());
      if (isData && held.length < 5) continue;
      if (isData && held.length < LONGEST_PREFIX && !held.endsWith(',')) continue;
      this.prefix = undefined;
      if (!isData) this.decode(Buffer.from(held, 'latin1'));
      else if (!/;base64,$/i.test(held)) throw new NotBase64('its data URI is not Base64');
      return at + 1;
    }
    this.prefix = held;
    return text.length;
  }

  private decode(text: Uint8Array): void {
    const { table } = this;
    if (this.out.length < text.length) this.out = Buffer.allocUnsafeSlow(Math.max(text.length, 64 * 1024));
    const { out } = this;
    let { bits, bitCount } = this;
    let filled = 0;
    for (let at = 0; at < text.length; at += 1) {
      const value = table[text[at] ?? 0] ?? WRONG;
      if (value < BLANK) {
        if (this.pads > 0) throw this.wrong(text[at], at);
        bits = (bits << 6) | value;
        bitCount += 6;
        if (bitCount >= 8) {
          bitCount -= 8;
          out[filled] = bits >> bitCount;
          filled += 1;
          bits &= 0xff;
        }
      } else if (value === PAD && this.pads < 2) this.pads += 1;
      else if (value !== BLANK) throw this.wrong(text[at], at);
    }
    this.bits = bits;
    this.bitCount = bitCount;
    this.characters += text.length;
    if (filled > 0) this.take(out.subarray(0, filled));
  }

  private wrong(byte: number | undefined, at: number): NotBase64 {
    const character = String.fromCharCode(byte ?? 0);
    return new NotBase64(`character ${this.characters + at + 1} is ${JSON.stringify(character)}`);
  }
}
