/** Receives the data of server-sent events in pieces. */
interface EventTaker {
  /** A piece of the current event's data; valid only during the call. */
  data(bytes: Uint8Array): void;
  /** The event is complete; `name` is the value of its `event` line, or empty. */
  dispatch(name: string): void;
}

const LF = 0x0a;
const CR = 0x0d;
/** No known event name is longer. */
const LONGEST_NAME = 200;
export const byteOrderMark = [0xef, 0xbb, 0xbf];

/**
 * Splits an event stream into events without keeping one in memory: an event may hold an image of 25 MB on a single
 * line, of which a text parser would make several copies. Lines end in LF, CR or CRLF; only the fields `data` and
 * `event` count.
 */
export class EventSplitter {
  private field = '';
  private name = '';
  private place: 'name' | 'space' | 'data' | 'event' | 'skipped' = 'name';
  private hasData = false;
  private afterCr = false;
  private seen = 0;

  constructor(private readonly taker: EventTaker) {}

  /** Throws what the taker throws. */
  push(chunk: Uint8Array): void {
    for (let at = 0; at < chunk.length; ) {
      const byte = chunk[at] ?? 0;
      if (this.seen < 3 && byte === byteOrderMark[this.seen]) {
        this.seen += 1;
        at += 1;
        continue;
      }
      this.seen = 3;
      if (this.afterCr && byte === LF) {
        this.afterCr = false;
        at += 1;
        continue;
      }
      this.afterCr = false;
      if (this.place === 'name') at = this.pastName(chunk, at);
      else at = this.pastValue(chunk, at);
    }
  }

  /** Ends the stream: a last event without its blank line counts only if the stream ended properly. */
  end(endedWell: boolean): void {
    if (endedWell) this.dispatch();
    this.hasData = false;
  }

  private pastName(chunk: Uint8Array, at: number): number {
    const byte = chunk[at] ?? 0;
    if (byte === LF || byte === CR) {
      // A line without a colon is a field without a value; an empty line ends the event.
      if (this.field === '') this.dispatch();
      else if (this.field === 'data') this.beginData();
      return this.endLine(byte, at);
    }
    if (byte !== 0x3a) {
      if (this.field.length < 16) this.field += String.fromCharCode(byte);
      return at + 1;
    }
    const isData = this.field === 'data';
    if (isData) this.beginData();
    if (this.field === 'event') this.name = '';
    this.place = isData ? 'space' : this.field === 'event' ? 'event' : 'skipped';
    return at + 1;
  }

  private pastValue(chunk: Uint8Array, from: number): number {
    if (this.place === 'space') {
      this.place = 'data';
      if (chunk[from] === 0x20) return from + 1;
    }
    const lf = chunk.indexOf(LF, from);
    const line = chunk.subarray(from, lf < 0 ? chunk.length : lf);
    const cr = line.indexOf(CR);
    const end = cr < 0 ? from + line.length : from + cr;
    if (this.place === 'data' && end > from) this.taker.data(chunk.subarray(from, end));
    if (this.place === 'event') this.keepName(chunk.subarray(from, end));
    return end === chunk.length ? end : this.endLine(chunk[end] ?? LF, end);
  }

  private beginData(): void {
    if (this.hasData) this.taker.data(Uint8Array.of(LF));
    this.hasData = true;
  }

  private keepName(bytes: Uint8Array): void {
    if (this.name.length < LONGEST_NAME) this.name += Buffer.from(bytes).toString('latin1');
  }

  private dispatch(): void {
    if (this.hasData) this.taker.dispatch(this.name.trim().slice(0, LONGEST_NAME));
    this.hasData = false;
    this.name = '';
  }

  private endLine(byte: number, at: number): number {
    this.afterCr = byte === CR;
    this.field = '';
    this.place = 'name';
    return at + 1;
  }
}
