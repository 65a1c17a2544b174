import { promisify } from 'node:util';
import { constants, deflate, crc32 as zlibCrc32 } from 'node:zlib';
import { type MediaLimits, type Modality, type Range, within } from '../gateway/limits.ts';
import type { Refusal } from './reply.ts';

export type Refuse = (rule: string) => Refusal;

export const inWords = ({ min, max }: Range) =>
  max === Number.POSITIVE_INFINITY ? `at least ${min}` : `${min}-${max}`;

/**
 * Checks a Base64 file against the documented limits of its kind. Throws the Refusal that `refuse` makes of the broken
 * rule.
 * @returns the length of a clip in seconds; undefined for an image
 */
export async function checkMedia(
  modality: Modality,
  bytes: Uint8Array,
  limits: MediaLimits,
  refuse: Refuse,
): Promise<{ readonly durationS?: number }> {
  const { bytes: size } = limits;
  if (size && (bytes.length > size.max || (size.exclusive && bytes.length === size.max))) {
    throw refuse(`${bytes.length} bytes, ${size.exclusive ? 'under' : 'up to'} ${size.max} bytes are taken`);
  }
  if (modality !== 'image') {
    const { checkClip } = await import('./film.ts');
    return { durationS: await checkClip(modality, bytes, limits, refuse) };
  }
  const image = await readImageSize(bytes);
  if (!image) throw refuse(`not an image (${limits.formats?.join(', ')} are taken)`);
  checkPicture(image, limits, refuse);
  return {};
}

export function checkPicture(
  { width, height }: { readonly width: number; readonly height: number },
  { edgePx, aspect }: MediaLimits,
  refuse: Refuse,
): void {
  if (edgePx && !(within(width, edgePx) && within(height, edgePx))) {
    throw refuse(`${width}x${height}; width and height must be ${inWords(edgePx)} px`);
  }
  if (aspect && !within(width / height, aspect)) {
    throw refuse(`${width}x${height}; width divided by height must be ${inWords(aspect)}`);
  }
}

export function base64Bytes(url: string): Uint8Array | undefined {
  if (!url.startsWith('data:')) return undefined;
  return Buffer.from(url.slice(url.indexOf(',') + 1), 'base64');
}

/** Width and height in pixels, and the format's name; undefined if the bytes are no image. */
export async function readImageSize(bytes: Uint8Array) {
  const { imageSize } = await import('image-size');
  try {
    // A copy, because image-size reads the memory behind a view, which may be larger than the view.
    const size = imageSize(new Uint8Array(bytes));
    return size.width > 0 && size.height > 0 ? size : undefined;
  } catch {
    return undefined;
  }
}

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

function chunk(type: string, data: Uint8Array): Buffer {
  const bytes = Buffer.alloc(12 + data.length);
  bytes.writeUInt32BE(data.length);
  bytes.write(type, 4, 'latin1');
  bytes.set(data, 8);
  bytes.writeUInt32BE(zlibCrc32(bytes.subarray(4, 8 + data.length)), 8 + data.length);
  return bytes;
}

/**
 * An 8-bit PNG, RGB or with a fourth channel RGBA.
 * @param paintRow fills the row `y` with `channels * widthPx` bytes; the buffer still holds the row above
 */
export async function makePng(
  widthPx: number,
  heightPx: number,
  paintRow: (row: Uint8Array, y: number) => void,
  channels: 3 | 4 = 3,
): Promise<Uint8Array> {
  const lineBytes = 1 + channels * widthPx;
  const raw = new Uint8Array(lineBytes * heightPx);
  const row = new Uint8Array(lineBytes - 1);
  const above = new Uint8Array(lineBytes - 1);
  for (let y = 0; y < heightPx; y++) {
    paintRow(row, y);
    const start = y * lineBytes;
    raw[start] = 2; // The filter "up": each line is stored as its difference to the line above.
    if (Buffer.compare(row, above) === 0) continue;
    for (let at = 0; at < row.length; at++) raw[start + 1 + at] = (row[at] ?? 0) - (above[at] ?? 0);
    above.set(row);
  }
  const head = Buffer.alloc(13);
  head.writeUInt32BE(widthPx);
  head.writeUInt32BE(heightPx, 4);
  head.set([8, channels === 4 ? 6 : 2, 0, 0, 0], 8);
  const packed = await promisify(deflate)(raw, { level: 1, strategy: constants.Z_RLE });
  return Buffer.concat([
    signature,
    chunk('IHDR', head),
    chunk('IDAT', packed),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}
