import type { FileType } from '../../media/signatures.ts';

/** What is looked at of an image on its disk. */
interface ImageBytes {
  readonly bytes: number;
  read(offset: number, count: number): Uint8Array;
}

/** What little may follow the end of an image: a mark and some padding. */
const TAIL_BYTES = 64;
const PNG_SIGNATURE_BYTES = 8;

/**
 * What an image lacks that looks cut, as a clause; undefined for one that is whole, and for a format without an end of
 * its own. Base64 may be cut where it decodes all the same. Throws DiskFault.
 */
export function missingEnd(format: FileType['format'] | undefined, image: ImageBytes): string | undefined {
  if (format === 'png' && !hasPngEnd(image)) return 'its last chunk is missing';
  if (format === 'jpeg' && !tailOf(image).includes('\xff\xd9')) return 'its end mark is missing';
  if (format === 'webp') {
    const head = Buffer.from(image.read(0, 8));
    const announced = head.length < 8 ? 0 : head.readUInt32LE(4) + 8;
    if (image.bytes < announced) return `it has ${image.bytes} of ${announced} bytes`;
  }
  return undefined;
}

const tailOf = (image: ImageBytes): string =>
  Buffer.from(image.read(Math.max(0, image.bytes - TAIL_BYTES), TAIL_BYTES)).toString('latin1');

/** Whether the last chunk is there: at the end, as ever, or before bytes that do not belong to the image. */
function hasPngEnd(image: ImageBytes): boolean {
  if (tailOf(image).includes('IEND\xae\x42\x60\x82')) return true;
  for (let at = PNG_SIGNATURE_BYTES; at + 12 <= image.bytes; ) {
    const head = Buffer.from(image.read(at, 8));
    if (head.length < 8) return false;
    if (head.toString('latin1', 4) === 'IEND') return true;
    at += 12 + head.readUInt32BE(0);
  }
  return false;
}
