import { type GatewayErrorFacts, readGatewayError } from '../../gateway/gateway-error.ts';
import { readImageEvent } from '../../gateway/image-events.ts';
import { imageRole } from '../../gateway/image-job.ts';
import { type ImageInReply, readImages, readRefusal } from '../../gateway/image-reply.ts';
import { EventSplitter } from './event-splitter.ts';
import type { IncomingImage } from './incoming-image.ts';
import { JsonLifter, type Rest } from './json-lifter.ts';

/** An image that has a place among the outputs, `index` from 0. */
export interface PlacedImage {
  readonly index: number;
  readonly image: IncomingImage;
}

/** What a reply for images has brought. */
export interface ImageReading {
  /** Finished images that came as Base64, whole or with a problem. */
  readonly images: readonly PlacedImage[];
  /** Unfinished ones, in the order in which they came. */
  readonly partials: readonly IncomingImage[];
  /** The reply with Base64 left out; undefined where it is not (yet) there, or not readable. */
  readonly record: unknown;
  /** What the gateway says in place of images. */
  readonly refusal: string | undefined;
  /** An error that came with HTTP 200, or as an event. */
  readonly error: GatewayErrorFacts | undefined;
  /** The text of a reply that is no JSON, for a word about it. */
  readonly unreadable: string | undefined;
}

export interface ReaderOptions {
  /** Makes the place for an image that begins; `role` is what the ledger calls it for now. */
  begin(role: string): IncomingImage;
  /** An unfinished image is whole; `count` have come. */
  onPartial(count: number): void;
}

const isBlank = (byte: number) => byte === 0x20 || (byte >= 0x09 && byte <= 0x0d);
/** What begins with one of these is no event stream, whatever was asked for: JSON, or a page. */
const wholeFrom = new Set(['{', '[', '<'].map((mark) => mark.charCodeAt(0)));

/** Reads a reply for images as it comes: a JSON text or an event stream, told apart by the first byte. */
export class ImageReader {
  private readonly images: PlacedImage[] = [];
  private readonly partials: IncomingImage[] = [];
  private readonly records: unknown[] = [];
  private error: GatewayErrorFacts | undefined;
  private unreadable: string | undefined;
  private take: ((chunk: Uint8Array) => void) | undefined;
  private finish: (endedWell: boolean) => void = () => {
    this.unreadable ??= '';
  };

  constructor(private readonly options: ReaderOptions) {}

  /** Synchronous, so that the socket is read no faster than the disk is written. */
  push(chunk: Uint8Array): void {
    if (!this.take) {
      const first = chunk.find((byte) => !isBlank(byte));
      if (first === undefined) return;
      if (wholeFrom.has(first)) this.readJson();
      else this.readEvents();
    }
    this.take?.(chunk);
  }

  /** After the last byte; `endedWell` is false where the reply broke off. */
  end(endedWell: boolean): void {
    this.finish(endedWell);
  }

  /** How many finished images are whole. */
  get wholeCount(): number {
    return this.images.filter(({ image }) => image.part !== undefined).length;
  }

  get reading(): ImageReading {
    const { images, partials, error, unreadable, records } = this;
    const record = recordOf(records);
    return { images, partials, record, refusal: readRefusal(record), error, unreadable };
  }

  private readJson(): void {
    const come: IncomingImage[] = [];
    const lifter = new JsonLifter((index) => {
      const image = this.options.begin(imageRole(index));
      come.push(image);
      return {
        push: (text) => image.push(text),
        end: () => {
          image.end();
          // Durable at once: what has been paid for is not to wait for the rest of the reply.
          image.keepAs(imageRole(index));
        },
      };
    });
    this.take = (chunk) => lifter.push(chunk);
    this.finish = (endedWell) => {
      const rest = lifter.end();
      const parsed = parse(rest.text());
      if (!parsed || !endedWell) {
        if (endedWell) this.unreadable = rest.text();
        // Whatever it was, what came whole is kept in the order in which it came.
        this.images.push(...come.map((image, index) => ({ index, image })));
        for (const image of come) if (!image.part) image.discard();
        return;
      }
      this.records.push(parsed.value);
      if (readImages(parsed.value).length === 0) this.error = errorIn(parsed.value);
      this.place(come, rest, 0);
    };
  }

  private readEvents(): void {
    let lifter: JsonLifter | undefined;
    let come: IncomingImage[] = [];
    let begun = 0;
    const splitter = new EventSplitter({
      data: (bytes) => {
        lifter ??= new JsonLifter(() => {
          begun += 1;
          const image = this.options.begin(`event-image-${begun}`);
          come.push(image);
          return image;
        });
        lifter.push(bytes);
      },
      dispatch: () => {
        if (lifter) this.event(lifter.end(), come);
        lifter = undefined;
        come = [];
      },
    });
    this.take = (chunk) => splitter.push(chunk);
    this.finish = (endedWell) => {
      splitter.end(endedWell);
      for (const image of come) image.discard();
      if (endedWell && this.records.length === 0 && !this.error) this.unreadable ??= '';
    };
  }

  private event(rest: Rest, come: readonly IncomingImage[]): void {
    const text = rest.text();
    const parsed = text.trim() === '[DONE]' ? undefined : parse(text);
    const event = readImageEvent(parsed?.value);
    if (event.kind === 'partial') {
      for (const image of come) {
        if (image.part) this.partials.push(image);
        else image.discard();
      }
      this.options.onPartial(this.partials.length);
      return;
    }
    if (event.kind === 'error') this.error ??= event.error;
    if (event.kind === 'final') {
      this.place(come, rest, this.images.length);
      this.records.push(parsed?.value);
      return;
    }
    for (const image of come) image.discard();
  }

  /** Finds the place of each image among the outputs; one that has none (a thought's) is put away. */
  private place(come: readonly IncomingImage[], rest: Rest, from: number): void {
    const places = come.map((_, index) => placeOf(rest, index));
    come.forEach((image, index) => {
      if (places[index] === undefined) image.discard();
    });
    come.forEach((image, index) => {
      const place = places[index];
      if (place === undefined) return;
      image.keepAs(imageRole(from + place));
      this.images.push({ index: from + place, image });
    });
  }
}

/**
 * Where an image stands among those of a reply: at the URL that it was lifted from, or at the Base64 that is no longer
 * there when it is left out.
 */
function placeOf(rest: Rest, lifted: number): number | undefined {
  const all = readImages(parse(rest.text(() => true))?.value);
  const without = readImages(parse(rest.text((index) => index !== lifted))?.value);
  const isThere = (image: ImageInReply | undefined) => image?.kind === 'base64' && !image.isEmpty;
  const found = all.find((image) =>
    image.url === undefined
      ? isThere(image) && !isThere(without[image.index])
      : rest.indexOf(image.url) === lifted,
  );
  return found?.index;
}

function parse(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

/** One final event is the reply itself; several are the images of one. */
function recordOf(records: readonly unknown[]): unknown {
  const last = records.at(-1);
  if (records.length < 2) return last;
  const usage = (last as { readonly usage?: unknown } | null)?.usage;
  return { data: records, ...(usage !== undefined && { usage }) };
}

/** What a whole reply says of an error, where it does. */
function errorIn(value: unknown): GatewayErrorFacts | undefined {
  const error = (value as { readonly error?: unknown } | null)?.error;
  return error === undefined || error === null ? undefined : readGatewayError(value);
}
