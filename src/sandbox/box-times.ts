/** Seconds from 1904-01-01, where MP4 and MOV count from, to 1970-01-01. */
const MP4_EPOCH_S = 2_082_844_800;
const parents = new Set(['moov', 'trak', 'mdia']);
const dated = new Set(['mvhd', 'tkhd', 'mdhd']);

/**
 * Sets every creation and modification time of an MP4 or MOV in place, so that the same task gives the same bytes
 * whenever its file is made.
 * @param unixS Unix seconds
 */
export function setBoxTimes(file: DataView, unixS: number, start = 0, end = file.byteLength): void {
  for (let at = start; at + 8 <= end; ) {
    const shortSize = file.getUint32(at);
    const header = shortSize === 1 ? 16 : 8;
    const size = shortSize === 1 ? Number(file.getBigUint64(at + 8)) : shortSize === 0 ? end - at : shortSize;
    if (size < header) return;
    const type = String.fromCharCode(...[4, 5, 6, 7].map((offset) => file.getUint8(at + offset)));
    if (parents.has(type)) setBoxTimes(file, unixS, at + header, at + size);
    if (dated.has(type)) {
      const isLong = file.getUint8(at + header) === 1;
      for (const nth of [0, 1]) {
        const field = at + header + 4 + nth * (isLong ? 8 : 4);
        if (isLong) file.setBigUint64(field, BigInt(unixS + MP4_EPOCH_S));
        else file.setUint32(field, unixS + MP4_EPOCH_S);
      }
    }
    at += size;
  }
}

/** A `free` box that holds a text: bytes that players skip, at the end of a file. */
export function freeBox(text: string): Uint8Array {
  const content = Buffer.from(text);
  const box = Buffer.alloc(8 + content.length);
  box.writeUInt32BE(box.length);
  box.write('free', 4, 'latin1');
  content.copy(box, 8);
  return box;
}
