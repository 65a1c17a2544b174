/** The bytes of a Base64 data URI; undefined for an address. */
export function base64Bytes(url: string): Uint8Array | undefined {
  if (!url.startsWith('data:')) return undefined;
  return Buffer.from(url.slice(url.indexOf(',') + 1), 'base64');
}

/** Width and height in pixels and the format's name; undefined where the bytes are no image. */
export async function readImageSize(bytes: Uint8Array) {
  const { imageSize } = await import('image-size');
  try {
    return imageSize(bytes);
  } catch {
    return undefined;
  }
}
