import type { ImageSize } from '../gateway/image/size.ts';
import { readImageSize } from './media-check.ts';
import { refuseField } from './request-body.ts';

/** An image counts so many tokens a tile of 512 px a side; one that is not looked at counts as one tile. */
const TILE_PX = 512;
export const TILE_TOKENS = 170;

/** An image of a request, as the sandbox can speak of it. */
export interface SeenImage {
  /** `PNG 320x200`, or what is known of one that is not here. */
  readonly words: string;
  readonly tokens: number;
  readonly bytes?: Uint8Array;
  readonly size?: ImageSize;
}

/** Measures the bytes of an image. Throws Refusal (400) that names the field where they are none. */
export async function seeBytes(bytes: Uint8Array, path: readonly PropertyKey[]): Promise<SeenImage> {
  const size = await readImageSize(bytes);
  // Zeros pass for an image of some format without a size.
  if (!size?.width || !size.height) throw refuseField(path, 'the data are not an image that can be read');
  return {
    words: `${(size.type ?? 'image').toUpperCase()} ${size.width}x${size.height}`,
    tokens: Math.ceil(size.width / TILE_PX) * Math.ceil(size.height / TILE_PX) * TILE_TOKENS,
    bytes,
    size: { widthPx: size.width, heightPx: size.height },
  };
}
