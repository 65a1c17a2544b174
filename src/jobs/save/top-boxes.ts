/** Reads bytes at a place in a file; fewer come at its end. */
export type ReadAt = (offset: number, count: number) => Uint8Array;

/** Far more than any real file has: even a fragmented hour has some thousands. */
const MAX_BOXES = 100_000;

/**
 * Walks the top-level boxes of an MP4 or MOV file by their headers alone (ISO/IEC 14496-12, 4.2).
 * Says what is wrong, or nothing where they add up to the file and `moov` is among them.
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
  // A size beyond what a number holds is beyond any file too.
  return large >= 16n ? { type, bytes: Number(large) } : undefined;
}
