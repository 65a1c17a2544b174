import { base64Bytes, readImageSize } from '../base64-image.ts';
import { refuseField } from '../request-body.ts';

/** An image of a request, as the sandbox can speak of it. */
export interface SeenImage {
  /** `PNG 640x480`, or that it is an address. */
  readonly words: string;
  readonly tokens: number;
}

/** One tile of 512 px a side costs so many tokens; an image that is not fetched counts as one tile. */
const TILE_PX = 512;
const TILE_TOKENS = 170;

/**
 * Looks at an image: a Base64 data URI is decoded and measured, an address is not fetched. Throws Refusal (400)
 * that names the field where it is neither, or holds no image.
 * @param path where it stands in the body, for the message
 */
export async function seeImage(url: string, path: readonly PropertyKey[]): Promise<SeenImage> {
  if (/^https?:\/\//i.test(url)) return { words: 'an address, not fetched', tokens: TILE_TOKENS };
  if (!/^data:[^,]*;base64,/i.test(url))
    throw refuseField(path, 'not an http or https URL and not a Base64 data URI');
  const size = await readImageSize(base64Bytes(url) ?? new Uint8Array());
  if (!size) throw refuseField(path, 'the data are not an image that can be read');
  const tiles = Math.ceil(size.width / TILE_PX) * Math.ceil(size.height / TILE_PX);
  return {
    words: `${(size.type ?? 'image').toUpperCase()} ${size.width}x${size.height}`,
    tokens: tiles * TILE_TOKENS,
  };
}
