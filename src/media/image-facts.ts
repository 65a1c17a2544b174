import { MB } from '../gateway/limits.ts';
import type { ByteSource } from './local-file.ts';

interface ImageSize {
  readonly widthPx?: number;
  readonly heightPx?: number;
}

const KB = 1024;
/** Nearly always the first is enough; a JPEG can carry megabytes of other data before its size. */
const headBytes = [64 * KB, MB, 8 * MB];
/** Formats whose directory can lie at the end of the file. */
const wholeFile: readonly string[] = ['tiff', 'heic', 'heif', 'avif'];
const MAX_WHOLE_BYTES = 64 * MB;

/** Width and height from an image's header, read in growing pieces; empty where they cannot be read. */
export async function readImageSize(source: ByteSource, format: string): Promise<ImageSize> {
  const { imageSize } = await import('image-size');
  const pieces = wholeFile.includes(format) ? [...headBytes, MAX_WHOLE_BYTES] : headBytes;
  for (const piece of pieces) {
    const head = await source.read(0, Math.min(piece, source.bytes));
    try {
      // A copy, because image-size looks at the memory behind a view, which can hold more than the view.
      const { width, height } = imageSize(new Uint8Array(head));
      if (width > 0 && height > 0) return { widthPx: width, heightPx: height };
    } catch {
      // Cut too early, or damaged: a longer piece tells.
    }
    if (piece >= source.bytes) break;
  }
  return {};
}
