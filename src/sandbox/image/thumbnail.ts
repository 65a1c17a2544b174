import { readImageSize } from '../base64-image.ts';
import { makePng } from '../png.ts';
import { decode } from './codecs.ts';

const EDGE_PX = 384;
/** Larger images are not decoded: their pixels would take more than 100 MB. */
const MOST_PIXELS = 25_000_000;
/** What is seen through a transparent image. */
const GROUND = 200;

/** A small PNG of an image, without transparency; undefined where it is of no kind that can be decoded, or too large. */
export async function makeThumbnail(bytes: Uint8Array, wasmDir: string): Promise<Uint8Array | undefined> {
  const size = await readImageSize(bytes);
  if (!size || size.width * size.height > MOST_PIXELS) return undefined;
  const image = await decode(bytes, size.type, wasmDir);
  if (!image) return undefined;
  const scale = Math.min(1, EDGE_PX / Math.max(image.width, image.height));
  const width = Math.max(1, Math.round(image.width * scale));
  const height = Math.max(1, Math.round(image.height * scale));
  return makePng(width, height, (row, y) => {
    const line = Math.floor(((y + 0.5) * image.height) / height) * image.width;
    for (let x = 0; x < width; x++) {
      const from = 4 * (line + Math.floor(((x + 0.5) * image.width) / width));
      const share = (image.data[from + 3] ?? 255) / 255;
      for (let channel = 0; channel < 3; channel++) {
        row[3 * x + channel] = Math.round((image.data[from + channel] ?? 0) * share + GROUND * (1 - share));
      }
    }
  });
}
