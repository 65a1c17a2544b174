/** A colour, each channel 0-255. */
export type Colour = readonly [red: number, green: number, blue: number];

const isLittleEndian = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1;

/** A pixel of RGBA as it stands in a Uint32Array over the bytes. */
export const pixelOf = ([red, green, blue]: Colour, alpha = 255): number =>
  (isLittleEndian
    ? red | (green << 8) | (blue << 16) | (alpha << 24)
    : (red << 24) | (green << 16) | (blue << 8) | alpha) >>> 0;

/** A picture in memory: RGBA, 8 bits each, row by row. All drawing is clipped to it. */
export class Canvas {
  readonly data: Uint8ClampedArray<ArrayBuffer>;
  /** The same memory, a number a pixel: a row is filled many times faster than byte by byte. */
  readonly pixels: Uint32Array<ArrayBuffer>;

  constructor(
    readonly width: number,
    readonly height: number,
  ) {
    const bytes = new ArrayBuffer(4 * width * height);
    this.data = new Uint8ClampedArray(bytes);
    this.pixels = new Uint32Array(bytes);
  }

  /** Fills a rectangle. */
  fill(left: number, top: number, width: number, height: number, pixel: number): void {
    const from = Math.max(0, left);
    const to = Math.min(this.width, left + width);
    if (to <= from) return;
    for (let y = Math.max(0, top); y < Math.min(this.height, top + height); y++) {
      this.pixels.fill(pixel, y * this.width + from, y * this.width + to);
    }
  }

  /** Lays a colour over `from`-`to` of the row `y`, `share` of it 0-1; what was transparent stays so. */
  tint(y: number, from: number, to: number, [red, green, blue]: Colour, share: number): void {
    const part = Math.round(share * 256);
    const rest = 256 - part;
    const { data } = this;
    const end = 4 * (y * this.width + Math.min(this.width, to));
    for (let at = 4 * (y * this.width + Math.max(0, from)); at < end; at += 4) {
      data[at] = ((data[at] ?? 0) * rest + red * part) >> 8;
      data[at + 1] = ((data[at + 1] ?? 0) * rest + green * part) >> 8;
      data[at + 2] = ((data[at + 2] ?? 0) * rest + blue * part) >> 8;
    }
  }

  /** Tints a disc. */
  disc(centreX: number, centreY: number, radius: number, colour: Colour, share: number): void {
    const bottom = Math.min(this.height - 1, Math.ceil(centreY + radius));
    for (let y = Math.max(0, Math.floor(centreY - radius)); y <= bottom; y++) {
      const half = Math.sqrt(Math.max(0, radius ** 2 - (y - centreY) ** 2));
      this.tint(y, Math.round(centreX - half), Math.round(centreX + half), colour, share);
    }
  }

  /** Makes everything transparent that lies outside a rectangle with round corners. */
  clearAround(left: number, top: number, width: number, height: number, radius: number): void {
    for (let y = 0; y < this.height; y++) {
      const start = y * this.width;
      const past = Math.max(top + radius - y - 0.5, y + 0.5 - (top + height - radius), 0);
      if (past > radius) {
        this.pixels.fill(0, start, start + this.width);
        continue;
      }
      const inset = Math.round(left + radius - Math.sqrt(radius ** 2 - past ** 2));
      this.pixels.fill(0, start, start + inset);
      this.pixels.fill(0, start + Math.round(2 * left + width) - inset, start + this.width);
    }
  }

  /** Draws another picture into a rectangle, scaled by taking the nearest pixel, over what is there. */
  place(picture: Pixels, left: number, top: number, width: number, height: number): void {
    const from = new Uint32Array(
      picture.data.buffer,
      picture.data.byteOffset,
      picture.width * picture.height,
    );
    for (let y = 0; y < height; y++) {
      const row = Math.floor(((y + 0.5) * picture.height) / height) * picture.width;
      const to = (top + y) * this.width + left;
      for (let x = 0; x < width; x++) {
        this.pixels[to + x] = from[row + Math.floor(((x + 0.5) * picture.width) / width)] ?? 0;
      }
    }
  }

  /** A copy in square blocks of `edge` pixels, each as its middle one is. */
  inBlocks(edge: number): Canvas {
    const coarse = new Canvas(this.width, this.height);
    for (let top = 0; top < this.height; top += edge) {
      const bottom = Math.min(this.height, top + edge);
      const middle = Math.floor((top + bottom) / 2) * this.width;
      const first = top * this.width;
      for (let left = 0; left < this.width; left += edge) {
        const right = Math.min(this.width, left + edge);
        const pixel = this.pixels[middle + Math.floor((left + right) / 2)] ?? 0;
        coarse.pixels.fill(pixel, first + left, first + right);
      }
      for (let y = top + 1; y < bottom; y++) {
        coarse.pixels.copyWithin(y * this.width, first, first + this.width);
      }
    }
    return coarse;
  }
}

/** A decoded picture: RGBA, 8 bits each, row by row. */
export interface Pixels {
  readonly width: number;
  readonly height: number;
  readonly data: Uint8ClampedArray;
}
