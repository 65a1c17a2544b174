import { createHash } from 'node:crypto';

/** A box of an MP4 file. */
export function box(type: string, payload: Uint8Array): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt32BE(8 + payload.length, 0);
  head.write(type, 4, 'latin1');
  return Buffer.concat([head, payload]);
}

export const ftyp = box('ftyp', Buffer.from('isom\0\0\0\0isommp41', 'latin1'));
export const moov = box('moov', Buffer.alloc(64, 7));

/** Bytes without repetition nearby, the same for the same seed. */
export function noise(length: number, seed: number): Buffer {
  return length === 0
    ? Buffer.alloc(0)
    : createHash('shake256', { outputLength: length }).update(`${seed}`).digest();
}

/** A file that has the boxes of a whole MP4. */
export function tinyMp4(mdatBytes = 200_000, seed = 1): Buffer {
  return Buffer.concat([ftyp, moov, box('mdat', noise(mdatBytes, seed))]);
}

export const tinyPng = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

export const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
