import { fdatasyncSync } from 'node:fs';
import { DiskFault, faultReason } from '../../disk/disk-fault.ts';
import { quietly } from '../../host.ts';
import { GrowingPart, type PartFile } from '../save/part-file.ts';
import type { PartSinkOptions } from '../save/part-sink.ts';
import { refusalOf } from '../save/verify-part.ts';
import type { LiftedText } from './json-lifter.ts';

/** `role` is the image's temporary name in the ledger. The journal must not throw. */
interface IncomingOptions extends Pick<PartSinkOptions, 'home' | 'role' | 'journal'> {
  /** Stores the part if the target's disk cannot: Base64 comes only once. */
  readonly refuge: string;
}

/** No real image is larger; an endless one would fill the disk. */
const LONGEST_IMAGE_BYTES = 512 * 1024 * 1024;

/**
 * One image on its way from Base64 to its part file. A failure is kept as its `problem` and does not affect the reply
 * or the other images. If a disk fails or is full, the part moves to the refuge, once.
 */
export class IncomingImage implements LiftedText {
  private readonly decoder = new Base64Decoder((bytes) => this.write(bytes));
  private readonly growing: GrowingPart;
  private role: string;
  /** The reason why there will be no image, as a clause. */
  problem: string | undefined;
  private isEnded = false;

  constructor(private readonly options: IncomingOptions) {
    const { home, refuge, role, journal } = options;
    this.role = role;
    this.growing = new GrowingPart(home, refuge, (facts) => journal.part(this.role, facts));
  }

  /** Why its own disk could not store it; it is then in the refuge. */
  get fault(): DiskFault | undefined {
    return this.growing.fault;
  }

  /** The part file, once it is complete and an image. */
  get part(): PartFile | undefined {
    return this.isEnded && this.problem === undefined ? this.growing.part : undefined;
  }

  push(text: Uint8Array): void {
    this.guard(() => this.decoder.push(text));
  }

  /** Ends the text: the decoded bytes must be an image. */
  end(): void {
    this.guard(() => {
      this.decoder.end();
      const { part } = this.growing;
      if (part === undefined) throw new NotBase64('it is empty');
      const other = refusalOf(part.fileType(), 'image');
      if (other !== undefined) this.refuse(other.replace('the server', 'the gateway'));
    });
    this.isEnded = true;
  }

  /**
   * Keeps the image: its bytes are synced to disk, and the ledger records that the part is complete, so that a later
   * process can give it its final name.
   */
  keepAs(role: string): void {
    const { part } = this;
    if (part === undefined) return;
    const { journal } = this.options;
    const before = this.role;
    if (part.totalBytes === undefined) {
      try {
        this.growing.orFlee(() => sync(this.growing.part));
      } catch (error) {
        this.refuse(faultReason(error));
        return;
      }
      const kept = this.growing.part ?? part;
      kept.totalBytes = kept.bytes;
    } else if (before === role) return;
    this.role = role;
    const { path, totalBytes } = this.growing.part ?? part;
    journal.part(role, { path, totalBytes });
    if (before !== role) journal.part(before, undefined);
  }

  /** Removes the part of an image that is not needed or cannot be completed. */
  discard(): void {
    // If it cannot be removed, it stays recorded as a part, and gw jobs sync removes it.
    quietly(() => this.growing.discard());
  }

  private guard(step: () => void): void {
    if (this.problem !== undefined) return;
    try {
      step();
    } catch (error) {
      if (error instanceof NotBase64) this.refuse(`the gateway sent no valid Base64: ${error.message}`);
      else if (error instanceof DiskFault) this.refuse(error.message);
      else throw error;
    }
  }

  private refuse(reason: string): void {
    this.problem = reason;
    this.discard();
  }

  private write(bytes: Uint8Array): void {
    const { growing } = this;
    if (!growing.part) growing.orFlee(() => growing.create());
    growing.append(bytes);
    if ((growing.part?.bytes ?? 0) > LONGEST_IMAGE_BYTES) throw new NotBase64('it does not end');
  }
}

function sync(part: PartFile | undefined): void {
  try {
    if (part) fdatasyncSync(part.fd);
  } catch (error) {
    throw DiskFault.of(`${part?.path} could not be brought safely to disk`, error);
  }
}

/** The reason why a text is not Base64. */
class NotBase64 extends Error {
  override readonly name = 'NotBase64';
}

/** Longest `data:…,` before the Base64 of a data URI. */
const LONGEST_PREFIX = 200;

/**
 * Decodes Base64 in pieces of any length: both alphabets (RFC 4648, sections 4 and 5), with or without padding and
 * blanks, with or without the `data:` prefix of a URI.
 */
export class Base64Decoder {
  private pads = 0;
  private characters = 0;
  /** The beginning of the text, until it is clear whether it is the prefix of a data URI. */
  private prefix: string | undefined = '';
  /** Characters that wait for more: four of them encode three bytes. */
  private rest = '';

  constructor(private readonly take: (bytes: Uint8Array) => void) {}

  /** Throws NotBase64, and what `take` throws. */
  push(bytes: Uint8Array): void {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
    this.decode(this.prefix === undefined ? text : this.pastPrefix(this.prefix + text));
  }

  /** Throws NotBase64 if the text ends inside a byte. */
  end(): void {
    this.decode(this.prefix ?? '');
    if (this.rest.length === 1) throw new NotBase64('its last byte is cut');
    if (this.rest !== '') this.take(Buffer.from(this.rest, 'base64'));
  }

  /** The text after the prefix; empty while the prefix may still continue. */
  private pastPrefix(text: string): string {
    const isBegun = 'data:'.startsWith(text.slice(0, 5).toLowerCase());
    const comma = text.slice(0, LONGEST_PREFIX).indexOf(',');
    const mayGoOn = isBegun && comma < 0 && text.length < LONGEST_PREFIX;
    this.prefix = mayGoOn ? text : undefined;
    if (mayGoOn) return '';
    if (isBegun && !/;base64,$/i.test(text.slice(0, comma + 1)))
      throw new NotBase64('its data URI is not Base64');
    return isBegun ? text.slice(comma + 1) : text;
  }

  private decode(text: string): void {
    const padding = this.pads > 0 ? 0 : text.indexOf('=');
    const end = padding < 0 ? text.length : padding;
    const body = text.slice(0, end);
    const wrong = body.search(/[^\w+/\- \t\r\n]/);
    if (wrong >= 0) throw this.wrong(text, wrong);
    for (let at = end; at < text.length; at += 1) {
      if (text[at] === '=' && this.pads < 2) this.pads += 1;
      else if (!' \t\r\n'.includes(text[at] ?? '')) throw this.wrong(text, at);
    }
    this.characters += text.length;
    const waiting = this.rest + body.replace(/[ \t\r\n]+/g, '');
    const whole = waiting.length - (waiting.length % 4);
    this.rest = waiting.slice(whole);
    if (whole > 0) this.take(Buffer.from(waiting.slice(0, whole), 'base64'));
  }

  private wrong(text: string, at: number): NotBase64 {
    return new NotBase64(`character ${this.characters + at + 1} is ${JSON.stringify(text[at])}`);
  }
}
