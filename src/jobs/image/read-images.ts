import { type GatewayErrorFacts, readGatewayError } from '../../gateway/gateway-error.ts';
import { imageRole } from '../../gateway/image/job.ts';
import { type ImageInReply, readImageEvent, readImages, readRefusal } from '../../gateway/image/reply.ts';
import { jsonIn } from '../../http/parse-json.ts';
import { streamFrom } from '../../http/stream-once.ts';
import { placeOf as jsonPlaceOf } from '../../json-text.ts';
import { EventSplitter } from './event-splitter.ts';
import type { IncomingImage } from './incoming-image.ts';
import { finishedTexts, JsonLifter, type Rest } from './json-lifter.ts';

export interface PlacedImage {
  readonly index: number;
  readonly image: IncomingImage;
}

export interface ReaderOptions {
  /** Makes the place for an image that begins; `role` is what the ledger calls it for now. */
  begin(role: string): IncomingImage;
  /** An unfinished image is whole; `count` have come. */
  onPartial(count: number): void;
}

/** An event with its JSON and what was lifted out of it. */
interface EventWithImages {
  readonly come: readonly IncomingImage[];
  readonly rest: Rest;
  readonly value: unknown;
}

const isBlank = (byte: number) => byte === 0x20 || (byte >= 0x09 && byte <= 0x0d);
/** Images that need not be kept lie open at most so many at once: the final one needs a place too. */
const MOST_OPEN = 100;
const byteOrderMark = [0xef, 0xbb, 0xbf];
/** How much of what is no stream after all is kept to be named. */
const OPENING_BYTES = 1_000;

/** Reads a reply for images as it comes: a JSON text or an event stream, told apart by the first byte. */
export class ImageReader {
  /** Finished images that came as Base64, whole or with a problem. */
  readonly images: PlacedImage[] = [];
  /** Unfinished ones, in the order in which they came; `index` is the place of the image that they became. */
  readonly partials: PlacedImage[] = [];
  private readonly records: { readonly value: unknown; readonly text: string }[] = [];
  /** Images that came whole in an event that cannot be read, too deep or broken off. */
  private readonly loose: IncomingImage[] = [];
  /** Images of events that gw does not know: results, where no other event brings one. */
  private readonly held: EventWithImages[] = [];
  /** Places among the outputs that are taken. */
  private places = 0;
  /** How often each number of a partial image has come: once for each image. */
  private readonly partialsSeen = new Map<number, number>();
  /** An error that came with HTTP 200, or as an event. */
  error: GatewayErrorFacts | undefined;
  /** The text of a reply that is no JSON, for a word about it. */
  unreadable: string | undefined;
  private opening = '';
  private events = 0;
  private isLast = false;
  private isDone = false;
  private marksSeen = 0;
  private take: ((chunk: Uint8Array) => void) | undefined;
  private finish: (endedWell: boolean) => void = () => {
    this.unreadable ??= '';
  };

  constructor(private readonly options: ReaderOptions) {}

  /** Synchronous, so that the socket is read no faster than the disk is written. */
  push(chunk: Uint8Array): void {
    const bytes = this.take ? chunk : this.begin(chunk);
    this.take?.(bytes);
  }

  /** What is left of the first bytes once it is known what they begin. */
  private begin(chunk: Uint8Array): Uint8Array {
    let at = 0;
    for (; at < chunk.length; at += 1) {
      const byte = chunk[at] ?? 0;
      if (byte === byteOrderMark[this.marksSeen]) this.marksSeen += 1;
      else if (!isBlank(byte)) break;
    }
    const first = chunk[at];
    if (first === undefined) return chunk.subarray(at);
    if (streamFrom.has(first)) this.readEvents();
    else this.readJson();
    return chunk.subarray(at);
  }

  /** After the last byte; `endedWell` is false where the reply broke off. */
  end(endedWell: boolean): void {
    this.finish(endedWell);
  }

  /**
   * Whether nothing that was asked for can still come: the stream has said so, or its last event is here with all images
   * and partial ones. `finals` and `partials` are what was asked for.
   */
  isOver({ finals, partials }: { readonly finals: number; readonly partials: number }): boolean {
    return this.isDone || (this.isLast && this.hasAll(finals) && this.partials.length >= partials * finals);
  }

  /** Whether this many finished images of a stream are here, or links to them. */
  hasAll(finals: number): boolean {
    const { record, images } = this;
    const whole = images.filter(({ image }) => image.part !== undefined).length;
    return (
      this.events > 0 &&
      record !== undefined &&
      whole + readImages(record).filter(({ url }) => url).length >= finals
    );
  }

  /** The reply with Base64 left out, of one that was cut what came whole; undefined where it is not there, or not readable. */
  get record(): unknown {
    return recordOf(this.records.map(({ value }) => value));
  }

  /** The JSON of the record, as the gateway wrote it. */
  get text(): string {
    const { text: last = '' } = this.records.at(-1) ?? {};
    const usage = jsonPlaceOf(last, ['usage']);
    const beside = usage ? `,"usage":${last.slice(usage.start, usage.end)}` : '';
    return this.records.length < 2 ? last : `{"data":[${this.records.map(({ text }) => text)}]${beside}}`;
  }

  /** What the gateway says in place of images. */
  get refusal(): string | undefined {
    return readRefusal(this.record);
  }

  /** Whether a stream came that said something, but never the end of it. */
  get isOpenEnded(): boolean {
    return this.records.length === 0 && this.events > 0;
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
      const rest = endedWell ? lifter.end() : lifter.end().closed();
      const value = jsonIn(rest.text());
      if (value === undefined) {
        if (endedWell) this.unreadable = rest.text();
        // Whatever it was, what came whole is kept in the order in which it came.
        for (const [index, image] of come.entries()) this.images.push({ index, image });
        for (const image of come) if (!image.part) image.discard();
        return;
      }
      this.records.push({ value, text: rest.text() });
      if (readImages(value).length === 0) this.error = errorIn(value);
      this.place(come, rest);
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
      dispatch: (name) => {
        this.events += 1;
        if (lifter) this.event(lifter.end(), come, name);
        lifter = undefined;
        come = [];
      },
    });
    this.take = (chunk) => {
      if (this.events === 0 && this.opening.length < OPENING_BYTES)
        this.opening += Buffer.from(chunk.subarray(0, OPENING_BYTES)).toString('latin1');
      splitter.push(chunk);
    };
    this.finish = (endedWell) => {
      splitter.end(endedWell);
      if (lifter) this.keepLoose(lifter.end().text(), come);
      const hasOutput = this.images.length > 0 || readImages(this.record).length > 0;
      for (const event of this.held) {
        if (hasOutput) for (const image of event.come) image.discard();
        else this.final(event);
      }
      for (const image of this.loose) {
        image.keepAs(imageRole(this.places));
        this.images.push({ index: this.places, image });
        this.places += 1;
      }
      if (endedWell && this.records.length === 0 && !this.error) this.unreadable ??= this.opening;
    };
  }

  private event(rest: Rest, come: readonly IncomingImage[], name: string): void {
    const text = rest.text();
    if (text.trim() === '[DONE]') this.isDone = true;
    const value = jsonIn(text);
    const event = readImageEvent(value, name);
    if (event.kind === 'partial') {
      const index = this.partialsSeen.get(event.index) ?? 0;
      this.partialsSeen.set(event.index, index + 1);
      for (const image of come) {
        if (image.part && this.partials.length < MOST_OPEN) this.partials.push({ index, image });
        else image.discard();
      }
      this.options.onPartial(this.partials.length);
      return;
    }
    if (value === undefined) {
      this.keepLoose(text, come);
      return;
    }
    if (event.kind === 'error') this.error ??= event.error;
    if (event.kind === 'final') {
      this.isLast = event.isLast ?? false;
      this.final({ come, rest, value });
    } else if (event.kind === 'other' && come.some((image) => image.part)) {
      this.held.push({ come, rest, value });
      if (this.held.length > MOST_OPEN) for (const image of this.held.shift()?.come ?? []) image.discard();
    } else for (const image of come) image.discard();
  }

  /** What came whole was paid for, whatever stands around it; a partial image is none. */
  private keepLoose(text: string, come: readonly IncomingImage[]): void {
    const isPartial = text.includes('partial_image');
    for (const image of come) {
      if (image.part && !isPartial) {
        this.unreadable ??= text;
        this.loose.push(image);
      } else image.discard();
    }
  }

  private final({ come, rest, value }: EventWithImages): void {
    this.place(come, rest);
    this.records.push({ value, text: rest.text() });
  }

  /**
   * Finds the place of each image among the outputs. What stands nowhere that gw knows of has been paid for all the same
   * and comes after the others; what is unfinished (a thought's) or no image is put away.
   */
  private place(come: readonly IncomingImage[], rest: Rest): void {
    const value = jsonIn(rest.text(() => true));
    const all = readImages(value);
    const finished = finishedTexts(value, rest);
    const placed = come.map((_, lifted) => placeOf(all, rest, lifted));
    let next = (all.at(-1)?.index ?? -1) + 1;
    come.forEach((image, lifted) => {
      if (placed[lifted] !== undefined) return;
      if (image.part && finished.has(lifted)) placed[lifted] = next++;
      else image.discard();
    });
    come.forEach((image, lifted) => {
      const place = placed[lifted];
      if (place === undefined) return;
      const index = this.places + place;
      image.keepAs(imageRole(index));
      this.images.push({ index, image });
    });
    this.places += Math.max(1, next);
  }
}

/**
 * Where an image stands among those of a reply: at the URL that it was lifted from, or at the Base64 that is no longer
 * there when it is left out.
 */
function placeOf(all: readonly ImageInReply[], rest: Rest, lifted: number): number | undefined {
  const without = readImages(jsonIn(rest.text((index) => index !== lifted)));
  const isThere = (image: ImageInReply | undefined) => image?.kind === 'base64' && !image.isEmpty;
  const found = all.find((image) =>
    image.url === undefined
      ? isThere(image) && !isThere(without.find(({ index }) => index === image.index))
      : rest.indexOf(image.url) === lifted,
  );
  return found?.index;
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
