import type { ImageSize } from '../gateway/image/size.ts';
import { readImageSize } from './media-check.ts';
import { refuseField } from './request-body.ts';

/** An image counts this many tokens per tile of 512 px; an image that is not downloaded counts as one tile. */
const TILE_PX = 512;
export const TILE_TOKENS = 170;

/** The facts about an image of a request. */
export interface SeenImage {
  /** `PNG 320x200`, or a description of an image that was not downloaded. */
  readonly words: string;
  readonly tokens: number;
  readonly bytes?: Uint8Array;
  readonly size?: ImageSize;
}

/** Measures the bytes of an image. Throws Refusal (400) naming the field if they are no image. */
export async function seeBytes(bytes: Uint8Array, path: readonly PropertyKey[]): Promise<SeenImage> {
  const size = await readImageSize(bytes);
  // image-size recognises zeros as a format, but without a size.
  if (!size?.width || !size.height) throw refuseField(path, 'the data are not an image that can be read');
  return {
    words: `${(size.type ?? 'image').toUpperCase()} ${size.width}x${size.height}`,
    tokens: Math.ceil(size.width / TILE_PX) * Math.ceil(size.height / TILE_PX) * TILE_TOKENS,
    bytes,
    size: { widthPx: size.width, heightPx: size.height },
  };
}
