/** A picture as rows of red, green, blue and alpha. */
export interface Pixels {
  readonly width: number;
  readonly height: number;
  readonly data: Uint8Array | Uint8ClampedArray;
}

/** The largest size of the picture's shape within a box; never larger than the picture. */
export function fitted({ width, height }: Pixels, maxWidth: number, maxHeight: number) {
  const scale = Math.min(1, maxWidth / width, maxHeight / height);
  return { width: Math.max(1, Math.round(width * scale)), height: Math.max(1, Math.round(height * scale)) };
}

/** A smaller picture: each pixel is the mean of those it covers, weighted by their opacity. */
export function shrunk(from: Pixels, width: number, height: number): Pixels {
  if (width === from.width && height === from.height) return from;
  const data = new Uint8Array(width * height * 4);
  for (let y = 0; y < height; y += 1) {
    const top = Math.floor((y * from.height) / height);
    const bottom = Math.max(top + 1, Math.floor(((y + 1) * from.height) / height));
    for (let x = 0; x < width; x += 1) {
      const left = Math.floor((x * from.width) / width);
      const right = Math.max(left + 1, Math.floor(((x + 1) * from.width) / width));
      data.set(meanOf(from, left, top, right, bottom), (y * width + x) * 4);
    }
  }
  return { width, height, data };
}

function meanOf({ data, width }: Pixels, left: number, top: number, right: number, bottom: number) {
  let red = 0;
  let green = 0;
  let blue = 0;
  let opacity = 0;
  for (let y = top; y < bottom; y += 1) {
    for (let at = (y * width + left) * 4; at < (y * width + right) * 4; at += 4) {
      const alpha = data[at + 3] ?? 0;
      red += (data[at] ?? 0) * alpha;
      green += (data[at + 1] ?? 0) * alpha;
      blue += (data[at + 2] ?? 0) * alpha;
      opacity += alpha;
    }
  }
  const share = Math.max(opacity, 1);
  return [red / share, green / share, blue / share, opacity / ((right - left) * (bottom - top))];
}
