import type { TaskOutput } from '../../gateway/task.ts';
import { type FileType, modalityInWords, typeInWords } from '../../media/signatures.ts';
import type { PartFile } from './part-file.ts';

/** The type of a complete part, or why it is not the output: another type, or truncated. */
export type Finding =
  | { readonly is: 'whole'; readonly fileType: FileType }
  | { readonly is: 'other'; readonly reason: string }
  | { readonly is: 'broken'; readonly reason: string };

/**
 * Verifies a part that has all its bytes: its first bytes must match the output's type, and its container must be
 * complete.
 */
export function verifyPart(part: PartFile, expected: TaskOutput['type']): Finding {
  const fileType = part.fileType();
  const other = refusalOf(fileType, expected);
  if (other !== undefined || !fileType) return { is: 'other', reason: other ?? '' };
  const isBoxes = fileType.format === 'mp4' || fileType.format === 'mov';
  const broken = isBoxes ? brokenBoxes((offset, count) => part.read(offset, count), part.bytes) : undefined;
  return broken === undefined ? { is: 'whole', fileType } : notWhole(broken);
}

/**
 * Verifies a part of unannounced length: only its own end can show whether the server truncated it. Undefined if it is
 * not truncated. Throws DiskFault.
 */
export function verifyEnd(part: PartFile): Extract<Finding, { is: 'broken' }> | undefined {
  const missing = missingEnd(part.fileType()?.format, part);
  return missing === undefined ? undefined : notWhole(missing);
}

const notWhole = (reason: string) => ({ is: 'broken', reason: `the file is not whole: ${reason}` }) as const;

/** Why the first bytes cannot be the output's: text, not a media file, or another kind of media. */
export function refusalOf(fileType: FileType | undefined, expected: TaskOutput['type']): string | undefined {
  // SVG counts as an image, but it is XML: no model makes it.
  const isExpected = fileType !== undefined && (expected === 'any' || fileType.modality === expected);
  if (isExpected && fileType.format !== 'svg') return undefined;
  const wanted = expected === 'any' ? 'a video, an image or audio' : modalityInWords[expected];
  return `the server sent ${typeInWords(fileType)} where ${wanted} was expected`;
}

/** The bytes of an image on its disk. */
interface ImageBytes {
  readonly bytes: number;
  read(offset: number, count: number): Uint8Array;
}

/** At most this many bytes may follow the end of an image: a mark and some padding. */
const TAIL_BYTES = 64;

/**
 * What a truncated image lacks, as a clause; undefined for a complete one, and for a format without an end mark. If all
 * announced bytes came, the caller warns and keeps the image. Throws DiskFault.
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

/** True if the last chunk exists: at the end as usual, or before bytes that do not belong to the image. */
function hasPngEnd(image: ImageBytes): boolean {
  if (tailOf(image).includes('IEND\xae\x42\x60\x82')) return true;
  let at = 8; // bytes of the signature
  for (let count = 0; count < MAX_BOXES && at + 12 <= image.bytes; count++) {
    const head = Buffer.from(image.read(at, 8));
    if (head.length < 8) return false;
    if (head.toString('latin1', 4) === 'IEND') return true;
    at += 12 + head.readUInt32BE(0);
  }
  return false;
}

/** Reads bytes at an offset in a file; fewer at its end. */
type ReadAt = (offset: number, count: number) => Uint8Array;

/** More boxes, or PNG chunks, than any real file has: even a fragmented hour has some thousands. */
const MAX_BOXES = 100_000;

/**
 * Walks the top-level boxes of an MP4 or MOV file by their headers only (ISO/IEC 14496-12, 4.2). Returns the problem,
 * or undefined if they add up to the file's size and include `moov`.
 */
export function brokenBoxes(readAt: ReadAt, fileBytes: number): string | undefined {
  let offset = 0;
  let hasMoov = false;
  for (let count = 0; offset < fileBytes; count++) {
    if (count === MAX_BOXES) return `it has more than ${MAX_BOXES} boxes`;
    const header = readAt(offset, 16);
    const box = readBox(header, fileBytes - offset);
    if (box === undefined) return `at byte ${offset} there is no box`;
    if (offset + box.bytes > fileBytes) return `its ${box.type} box is cut off`;
    hasMoov ||= box.type === 'moov';
    offset += box.bytes;
  }
  return hasMoov ? undefined : 'it has no moov box';
}

function readBox(header: Uint8Array, restBytes: number): { type: string; bytes: number } | undefined {
  if (header.length < 8) return undefined;
  const view = new DataView(header.buffer, header.byteOffset, header.byteLength);
  const type = String.fromCharCode(...header.subarray(4, 8));
  if (!/^[\x20-\x7e\xa9]{4}$/.test(type)) return undefined;
  const size = view.getUint32(0);
  if (size === 0) return { type, bytes: restBytes }; // the last box, to the end of the file
  if (size !== 1) return size >= 8 ? { type, bytes: size } : undefined;
  if (header.length < 16) return undefined;
  const large = view.getBigUint64(8);
  // A size too large for a number is larger than any file too.
  return large >= 16n ? { type, bytes: Number(large) } : undefined;
}
