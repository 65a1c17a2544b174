import { MB } from '../gateway/limits.ts';
import type { ByteSource } from './local-file.ts';

interface ImageSize {
  readonly widthPx?: number;
  readonly heightPx?: number;
}

const KB = 1024;
/** The first size is nearly always enough; a JPEG can hold megabytes of other data before its dimensions. */
const headBytes = [64 * KB, MB, 8 * MB];
/** Formats whose directory can be at the end of the file. */
const wholeFile: readonly string[] = ['tiff', 'heic', 'heif', 'avif'];
const MAX_WHOLE_BYTES = 64 * MB;

/** Width and height from an image's header, read in growing pieces; empty if they cannot be read. */
export async function readImageSize(source: ByteSource, format: string): Promise<ImageSize> {
  const { imageSize } = await import('image-size');
  const pieces = wholeFile.includes(format) ? [...headBytes, MAX_WHOLE_BYTES] : headBytes;
  for (const piece of pieces) {
    const head = await source.read(0, Math.min(piece, source.bytes));
    try {
      // A copy is passed, because image-size reads the memory behind a view, which can be larger than the view.
      const { width, height } = imageSize(new Uint8Array(head));
      if (width > 0 && height > 0) return { widthPx: width, heightPx: height };
    } catch {
      // The piece is too short, or the file is damaged: a longer piece shows which.
    }
    if (piece >= source.bytes) break;
  }
  return {};
}
