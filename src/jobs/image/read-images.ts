import { type GatewayErrorFacts, readGatewayError } from '../../gateway/gateway-error.ts';
import { imageRole } from '../../gateway/image/job.ts';
import { type ImageInReply, readImageEvent, readImages, readRefusal } from '../../gateway/image/reply.ts';
import { jsonIn } from '../../http/parse-json.ts';
import { streamFrom } from '../../http/stream-once.ts';
import { placeOf as jsonPlaceOf } from '../../json-text.ts';
import { byteOrderMark, EventSplitter } from './event-splitter.ts';
import type { IncomingImage } from './incoming-image.ts';
import { finishedTexts, JsonLifter, type Rest } from './json-lifter.ts';

export interface PlacedImage {
  readonly index: number;
  readonly image: IncomingImage;
}

interface ReaderOptions {
  /** Makes the object for a new image; `role` is its temporary name in the ledger. */
  begin(role: string): IncomingImage;
  /** Called when an unfinished image is complete; `count` is how many have come. */
  onPartial(count: number): void;
}

/** A parsed event with the images that were lifted out of it. */
interface EventWithImages {
  readonly come: readonly IncomingImage[];
  readonly rest: Rest;
  readonly value: unknown;
}

/** At most this many unneeded images are held open at once: the final one needs room too. */
const MOST_OPEN = 100;
/** How much of a reply that is neither JSON nor a stream is kept for the message. */
const OPENING_BYTES = 1_000;

/** Reads images from a reply as it comes. The first byte tells whether it is JSON or an event stream. */
export class ImageReader {
  /** Finished images that came as Base64, complete or with a problem. */
  readonly images: PlacedImage[] = [];
  /** Partial images in order of arrival; `index` is that of their final image. */
  readonly partials: PlacedImage[] = [];
  private readonly records: { readonly value: unknown; readonly text: string }[] = [];
  /** Images that came whole in an event that cannot be read, because it is too deep or broken off. */
  private readonly loose: IncomingImage[] = [];
  /** Images of unknown events, which count as results if no other event brings any. */
  private readonly held: EventWithImages[] = [];
  /** How many indexes among the outputs are taken. */
  private places = 0;
  /** How often each partial index has come: once for each image. */
  private readonly partialsSeen = new Map<number, number>();
  /** An error that came with HTTP 200, or as an event. */
  error: GatewayErrorFacts | undefined;
  /** The text of a reply that is not JSON, for the message. */
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

  /** Skips blanks and a byte order mark, decides what the reply is, and returns the rest of the chunk. */
  private begin(chunk: Uint8Array): Uint8Array {
    let at = 0;
    for (; at < chunk.length; at += 1) {
      const byte = chunk[at] ?? 0;
      if (byte === byteOrderMark[this.marksSeen]) this.marksSeen += 1;
      else if (byte !== 0x20 && (byte < 0x09 || byte > 0x0d)) break;
    }
    const first = chunk[at];
    if (first === undefined) return chunk.subarray(at);
    if (streamFrom.has(first)) this.readEvents();
    else this.readJson();
    return chunk.subarray(at);
  }

  /** Ends the reply; `endedWell` is false if it broke off. */
  end(endedWell: boolean): void {
    this.finish(endedWell);
  }

  /**
   * True if nothing requested can still come: the stream said so, or its last event came with all images and partial
   * ones. `finals` and `partials` are the requested numbers.
   */
  isOver({ finals, partials }: { readonly finals: number; readonly partials: number }): boolean {
    return this.isDone || (this.isLast && this.hasAll(finals) && this.partials.length >= partials * finals);
  }

  /** True if this many finished images of a stream, or links to them, have come. */
  hasAll(finals: number): boolean {
    const { record, images } = this;
    const whole = images.filter(({ image }) => image.part !== undefined).length;
    return (
      this.events > 0 &&
      record !== undefined &&
      whole + readImages(record).filter(({ url }) => url).length >= finals
    );
  }

  /** The reply without Base64, or the complete part of a cut one; undefined if there is none or it is unreadable. */
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

  /** The gateway's message in place of images. */
  get refusal(): string | undefined {
    return readRefusal(this.record);
  }

  /** True if a stream began but its end never came. */
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
          // Synced to disk at once: a paid image must not wait for the rest of the reply.
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
        // The reply cannot be read, but its complete images are kept in order of arrival.
        for (const [index, image] of come.entries()) this.images.push({ index, image });
        for (const image of come) if (!image.part) image.discard();
        return;
      }
      this.records.push({ value, text: rest.text() });
      const { error = null } = (value ?? {}) as { readonly error?: unknown };
      if (readImages(value).length === 0) this.error = error === null ? undefined : readGatewayError(value);
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

  /** Keeps complete images of an unreadable event, which were paid for; partial images are dropped. */
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
   * Finds the index of each image among the outputs. An image in an unknown place was paid for too and comes after the
   * others; an unfinished one (of a thought) or one that is not an image is dropped.
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
 * The index of an image among those of a reply: the image whose URL is its mark, or whose Base64 disappears when its
 * mark is left out.
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

/** One final event is the reply itself; several are combined as the images of one reply. */
function recordOf(records: readonly unknown[]): unknown {
  const last = records.at(-1);
  if (records.length < 2) return last;
  const usage = (last as { readonly usage?: unknown } | null)?.usage;
  return { data: records, ...(usage !== undefined && { usage }) };
}
