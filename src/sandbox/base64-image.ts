/** The bytes of a Base64 data URI; undefined for an address. */
export function base64Bytes(url: string): Uint8Array | undefined {
  if (!url.startsWith('data:')) return undefined;
  return Buffer.from(url.slice(url.indexOf(',') + 1), 'base64');
}

/** Width and height in pixels and the format's name; undefined where the bytes are no image. */
export async function readImageSize(bytes: Uint8Array) {
  const { imageSize } = await import('image-size');
  try {
    // A copy, because image-size looks at the memory behind a view, which can hold more than the view.
    const size = imageSize(new Uint8Array(bytes));
    return size.width > 0 && size.height > 0 ? size : undefined;
  } catch {
    return undefined;
  }
}
