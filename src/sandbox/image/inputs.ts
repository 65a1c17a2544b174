import { createHash } from 'node:crypto';
import type { ImageSize } from '../../gateway/image/size.ts';
import { base64Bytes, readImageSize } from '../base64-image.ts';
import { refuseField } from '../request-body.ts';
import { makeThumbnail } from './thumbnail.ts';

/** IDs that begin so stand for files that were uploaded once; the document shows no way to upload one. */
export const KNOWN_FILE_ID_START = 'file-';

/** An image counts so many tokens a tile; one that is not looked at counts as one tile. */
const TILE_PX = 512;
const TILE_TOKENS = 170;

/** An image of a request, as the sandbox can speak of it. */
export interface InputImage {
  /** `PNG 320x200`, or what is known of one that is not here. */
  readonly words: string;
  readonly tokens: number;
  readonly bytes?: Uint8Array;
  readonly size?: ImageSize;
}

/** Measures the bytes of an image. Throws Refusal (400) that names the field where they are none. */
export async function seeBytes(bytes: Uint8Array, path: readonly PropertyKey[]): Promise<InputImage> {
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

/** Looks at an image given as an address, a Base64 data URL or plain Base64; an address is not fetched. */
export async function seeUrl(url: string, path: readonly PropertyKey[]): Promise<InputImage> {
  if (/^https?:/.test(url)) return { words: `an address ${shortHash(url)}`, tokens: TILE_TOKENS };
  return seeBytes(base64Bytes(url) ?? Buffer.from(url, 'base64'), path);
}

/** Looks at an image given as `file_id` or `image_url`. Throws Refusal (400) for a file that is not known. */
export async function seeSource(
  source: { readonly file_id?: string | undefined; readonly image_url?: string | undefined },
  path: readonly PropertyKey[],
): Promise<InputImage> {
  const { file_id: fileId, image_url: url } = source;
  if (fileId === undefined) return seeUrl(url ?? '', [...path, 'image_url']);
  if (!fileId.startsWith(KNOWN_FILE_ID_START))
    throw refuseField([...path, 'file_id'], `there is no file ${fileId}`);
  return { words: fileId, tokens: TILE_TOKENS };
}

const shortHash = (data: string | Uint8Array) => createHash('sha256').update(data).digest('hex').slice(0, 12);

/** How the inputs of a request go into its pictures: in words, and the first as a small one where it can be decoded. */
export async function shownInputs(images: readonly InputImage[], wasmDir: string) {
  const [first] = images;
  const thumbnail = first?.bytes && (await makeThumbnail(first.bytes, wasmDir));
  const hash = first?.bytes && !thumbnail ? ` sha256 ${shortHash(first.bytes)}` : '';
  return {
    inputs: images.map(({ words }, nth) => (nth === 0 ? `${words}${hash}` : words)),
    ...(thumbnail && { thumbnail: Buffer.from(thumbnail).toString('base64') }),
  };
}
