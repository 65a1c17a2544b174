/** Servers send a few: a 100, hints, a 102 now and then. */
const MAX_HEADS = 1000;
const MAX_BYTES = 256 * 1024;

const LF = 0x0a;
const CR = 0x0d;

/** How the status line of a head with 1xx begins; `?` is any digit. */
const MARK = 'HTTP/1.? 1??';

/** Skips the heads with 1xx before a reply (RFC 9110, 15.2), wherever they are cut. */
export class InterimHeads {
  /** The head that counts has begun: nothing more is to be skipped. */
  isOver = false;
  /** The first bytes of a head, while it may be one with 1xx. */
  private start: number[] = [];
  private isInside = false;
  /** Whether the line of the head so far holds anything. */
  private isLineEmpty = false;
  private heads = 0;
  private bytes = 0;

  /** What is left of a chunk. Throws an Error for a 101, and where heads come without end. */
  skip(chunk: Uint8Array): Uint8Array {
    for (let at = 0; at < chunk.byteLength; at += 1) {
      const byte = chunk[at] ?? 0;
      if (this.isInside) this.pastHead(byte);
      else if (!isAt(this.start.length, byte)) {
        this.isOver = true;
        const rest = chunk.subarray(at);
        return this.start.length === 0 ? rest : Buffer.concat([Uint8Array.from(this.start), rest]);
      } else {
        this.start.push(byte);
        if (this.start.length === MARK.length) this.enter();
      }
    }
    return chunk.subarray(chunk.byteLength);
  }

  private enter(): void {
    // What follows a 101 is no HTTP, and nobody asked for it.
    if (String.fromCharCode(...this.start).endsWith('101'))
      throw new Error('it switches to another protocol');
    this.heads += 1;
    this.count(this.start.length);
    this.start = [];
    this.isInside = true;
    this.isLineEmpty = false;
  }

  private pastHead(byte: number): void {
    this.count(1);
    if (byte === LF && this.isLineEmpty) this.isInside = false;
    else if (byte === LF) this.isLineEmpty = true;
    else if (byte !== CR) this.isLineEmpty = false;
  }

  private count(bytes: number): void {
    this.bytes += bytes;
    if (this.bytes > MAX_BYTES || this.heads > MAX_HEADS) throw new Error('heads with 1xx come without end');
  }
}

function isAt(at: number, byte: number): boolean {
  const wanted = MARK[at];
  return wanted === '?' ? byte >= 0x30 && byte <= 0x39 : byte === wanted?.charCodeAt(0);
}
