import type { Modality } from '../gateway/limits.ts';
import { quietly } from '../host.ts';

/** The type of a file by its first bytes. `format` is the gateway's name, if it has one. */
export interface FileType {
  readonly format: string;
  readonly modality: Modality | 'text' | 'other';
  readonly mime: string;
  /** The file name extension without the dot. */
  readonly extension: string;
}

/** How many first bytes {@link sniff} uses at most. */
export const SNIFF_BYTES = 4096;

function at(bytes: Uint8Array, offset: number, text: string): boolean {
  for (let index = 0; index < text.length; index += 1) {
    if (bytes[offset + index] !== text.charCodeAt(index)) return false;
  }
  return true;
}

const isRiff = (bytes: Uint8Array, kind: string) =>
  (at(bytes, 0, 'RIFF') || at(bytes, 0, 'RF64')) && at(bytes, 8, kind);

/** Texts may begin with "BM" too, so the size of the second header must also be a known one. */
const bmpHeaderBytes = [12, 16, 40, 52, 56, 64, 108, 124];
const isBmp = (bytes: Uint8Array) =>
  at(bytes, 0, 'BM') && bmpHeaderBytes.includes(bytes[14] ?? 0) && at(bytes, 15, '\0\0\0');

const isTiff = (bytes: Uint8Array) => ['II*\0', 'MM\0*', 'II+\0', 'MM\0+'].some((mark) => at(bytes, 0, mark));

/** An ID3 tag, or the header of an MPEG layer III frame with valid rates. */
function isMp3(bytes: Uint8Array): boolean {
  if (at(bytes, 0, 'ID3')) return true;
  const [first = 0, second = 0, third = 0] = bytes;
  const isLayer3 = first === 0xff && (second & 0xe6) === 0xe2 && (second & 0x18) !== 0x08;
  return isLayer3 && third >> 4 !== 0 && third >> 4 !== 15 && (third & 0x0c) !== 0x0c;
}

/** The brands of an ISO base media file: the major one first, then the compatible ones. */
function brandsOf(bytes: Uint8Array): string[] {
  if (!at(bytes, 4, 'ftyp')) return [];
  const boxBytes = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getUint32(0);
  const end = Math.min(boxBytes, bytes.length, 256);
  const brands: string[] = [];
  for (let offset = 8; offset + 4 <= end; offset += 4) {
    if (offset !== 12) brands.push(String.fromCharCode(...bytes.subarray(offset, offset + 4)));
  }
  return brands;
}

const hasBrand = (bytes: Uint8Array, brands: RegExp) => brands.test(brandsOf(bytes)[0] ?? '');

const isHeif = /^m(?:if|sf)1$/;
const isAvif = (bytes: Uint8Array) =>
  hasBrand(bytes, /^avi[fs]$/) || (hasBrand(bytes, isHeif) && brandsOf(bytes).includes('avif'));

/** Old QuickTime files have no brands and begin with one of QuickTime's own boxes. */
const isOldQuickTime = (bytes: Uint8Array) =>
  ['moov', 'mdat', 'wide', 'pnot', 'skip', 'free'].some((box) => at(bytes, 4, box)) && (bytes[0] ?? 1) < 0x20;

const isIcon = (bytes: Uint8Array) => at(bytes, 0, '\0\0\x01\0') && (bytes[4] ?? 0) > 0 && bytes[5] === 0;

const isMatroska = (bytes: Uint8Array) => at(bytes, 0, '\x1aE\xdf\xa3');
const isWebm = (bytes: Uint8Array) =>
  isMatroska(bytes) &&
  Array.from({ length: 60 }, (_, index) => index).some((index) => at(bytes, index, 'webm'));

const isTransportStream = (bytes: Uint8Array) =>
  bytes[0] === 0x47 && bytes[188] === 0x47 && bytes[376] === 0x47;

/** `mark` is the first bytes of such a file, or a test of them; `extension` is given if it differs from the format. */
type Signature = readonly [
  modality: FileType['modality'],
  format: string,
  mime: string,
  mark: string | ((bytes: Uint8Array) => boolean),
  extension?: string,
];

// The first match counts, so specific signatures come before general ones.
const signatures: readonly Signature[] = [
  ['image', 'png', 'image/png', '\x89PNG\r\n\x1a\n'],
  ['image', 'jpeg', 'image/jpeg', '\xff\xd8\xff', 'jpg'],
  ['image', 'gif', 'image/gif', (bytes) => at(bytes, 0, 'GIF87a') || at(bytes, 0, 'GIF89a')],
  ['image', 'webp', 'image/webp', (bytes) => isRiff(bytes, 'WEBP')],
  ['image', 'bmp', 'image/bmp', isBmp],
  ['other', 'cr2', 'image/x-canon-cr2', (bytes) => isTiff(bytes) && at(bytes, 8, 'CR')],
  ['image', 'tiff', 'image/tiff', isTiff],
  ['image', 'avif', 'image/avif', isAvif],
  ['image', 'heic', 'image/heic', (bytes) => hasBrand(bytes, /^(hei[cxms]|hev[cxms])$/)],
  ['image', 'heif', 'image/heif', (bytes) => hasBrand(bytes, isHeif)],
  ['image', 'jxl', 'image/jxl', (bytes) => at(bytes, 0, '\xff\x0a') || at(bytes, 4, 'JXL \r\n\x87\n')],
  ['image', 'psd', 'image/vnd.adobe.photoshop', '8BPS'],
  ['image', 'ico', 'image/x-icon', isIcon],
  ['video', 'mov', 'video/quicktime', (bytes) => hasBrand(bytes, /^qt {2}$/)],
  ['audio', 'm4a', 'audio/mp4', (bytes) => hasBrand(bytes, /^M4[ABP] $/)],
  ['other', 'cr3', 'image/x-canon-cr3', (bytes) => hasBrand(bytes, /^crx $/)],
  ['video', '3gp', 'video/3gpp', (bytes) => hasBrand(bytes, /^3g/)],
  ['video', 'mp4', 'video/mp4', (bytes) => brandsOf(bytes).length > 0],
  ['video', 'mov', 'video/quicktime', isOldQuickTime],
  ['video', 'webm', 'video/webm', isWebm],
  ['video', 'mkv', 'video/x-matroska', isMatroska],
  ['video', 'avi', 'video/x-msvideo', (bytes) => isRiff(bytes, 'AVI ')],
  ['video', 'flv', 'video/x-flv', 'FLV\x01'],
  ['video', 'mpeg', 'video/mpeg', '\0\0\x01\xba', 'mpg'],
  ['video', 'ts', 'video/mp2t', isTransportStream],
  ['audio', 'wav', 'audio/wav', (bytes) => isRiff(bytes, 'WAVE')],
  ['audio', 'mp3', 'audio/mpeg', isMp3],
  ['audio', 'aac', 'audio/aac', (bytes) => bytes[0] === 0xff && ((bytes[1] ?? 0) & 0xf6) === 0xf0],
  ['audio', 'flac', 'audio/flac', 'fLaC'],
  ['audio', 'ogg', 'audio/ogg', 'OggS'],
  ['audio', 'aiff', 'audio/aiff', (bytes) => at(bytes, 0, 'FORM') && at(bytes, 8, 'AIF')],
  ['audio', 'amr', 'audio/amr', '#!AMR'],
  ['other', 'pdf', 'application/pdf', '%PDF-'],
  ['other', 'zip', 'application/zip', 'PK\x03\x04'],
  ['other', 'gzip', 'application/gzip', '\x1f\x8b\x08', 'gz'],
];

/** The type of a file by its first bytes (preferably {@link SNIFF_BYTES}); undefined if it is unknown. */
export function sniff(firstBytes: Uint8Array): FileType | undefined {
  for (const [modality, format, mime, mark, extension = format] of signatures) {
    const matches = typeof mark === 'string' ? at(firstBytes, 0, mark) : mark(firstBytes);
    if (matches) return { format, modality, mime, extension };
  }
  return sniffText(firstBytes.subarray(0, SNIFF_BYTES));
}

/** A modality with its article, for sentences. */
export const modalityInWords: Readonly<Record<Modality, string>> = {
  image: 'an image',
  video: 'a video',
  audio: 'audio',
};

/** A file type in words: `HTML`, `plain text`, `JPEG (an image)`. */
export function typeInWords(fileType: Pick<FileType, 'format' | 'modality'> | undefined): string {
  if (!fileType || fileType.format === 'unknown') return 'data of no known type';
  if (fileType.format === 'text') return 'plain text';
  const name = fileType.format.toUpperCase();
  if (fileType.modality === 'text' || fileType.modality === 'other') return name;
  return `${name} (${modalityInWords[fileType.modality]})`;
}

const html: FileType = { format: 'html', modality: 'text', mime: 'text/html', extension: 'html' };
const xml: FileType = { format: 'xml', modality: 'text', mime: 'application/xml', extension: 'xml' };
const json: FileType = { format: 'json', modality: 'text', mime: 'application/json', extension: 'json' };
const plain: FileType = { format: 'text', modality: 'text', mime: 'text/plain', extension: 'txt' };
const svg: FileType = { format: 'svg', modality: 'image', mime: 'image/svg+xml', extension: 'svg' };

// Control characters that no text file contains; tab, newlines, form feed and ESC are allowed.
const binaryCharacters = /[\0-\x08\x0e-\x1a\x1c-\x1f]/;
const htmlTags =
  /^<(?:!doctype\s+html|html|head|body|title|meta|script|style|div|span|p|h[1-6]|center|pre)\b/i;
const leadingComments = /^(?:\s*<!--[\s\S]*?-->)+\s*/;

/** The type of a text by its beginning: HTML, XML, SVG, JSON or plain text; undefined if the bytes are not text. */
function sniffText(firstBytes: Uint8Array): FileType | undefined {
  const text = decodeBeginning(firstBytes);
  if (text === undefined || binaryCharacters.test(text)) return undefined;
  const start = text.trimStart().replace(leadingComments, '');
  if (htmlTags.test(start)) return html;
  if (/^<svg\b/i.test(start)) return svg;
  if (/^<\?xml\b/i.test(start)) {
    const root = /<([A-Za-z][\w:.-]*)/.exec(start)?.[1]?.toLowerCase();
    if (root === 'svg') return svg;
    return root === 'html' ? html : xml;
  }
  if (/^<[A-Za-z!]/.test(start)) return xml;
  if (/^(?:\{\s*["}]|\[\s*(?:["{[\]\d-]|true|false|null))/.test(start)) return json;
  return plain;
}

/** Decodes UTF-8 (even with a character cut off at the end) or UTF-16 with a byte order mark. */
function decodeBeginning(bytes: Uint8Array): string | undefined {
  if (bytes.length === 0) return undefined;
  const encoding =
    bytes[0] === 0xff && bytes[1] === 0xfe
      ? 'utf-16le'
      : bytes[0] === 0xfe && bytes[1] === 0xff
        ? 'utf-16be'
        : 'utf-8';
  return quietly(() => new TextDecoder(encoding, { fatal: true }).decode(bytes, { stream: true }));
}
