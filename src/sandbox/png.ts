import { promisify } from 'node:util';
import { deflate, crc32 as zlibCrc32 } from 'node:zlib';

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

function chunk(type: string, data: Uint8Array): Buffer {
  const bytes = Buffer.alloc(12 + data.length);
  bytes.writeUInt32BE(data.length);
  bytes.write(type, 4, 'latin1');
  bytes.set(data, 8);
  bytes.writeUInt32BE(zlibCrc32(bytes.subarray(4, 8 + data.length)), 8 + data.length);
  return bytes;
}

/**
 * An 8-bit PNG, RGB or with a fourth channel RGBA.
 * @param paintRow fills the row `y` with `channels * widthPx` bytes
 */
export async function makePng(
  widthPx: number,
  heightPx: number,
  paintRow: (row: Uint8Array, y: number) => void,
  channels: 3 | 4 = 3,
): Promise<Uint8Array> {
  const rowBytes = channels * widthPx;
  const raw = Buffer.alloc((1 + rowBytes) * heightPx);
  let above = new Uint8Array(rowBytes);
  let row = new Uint8Array(rowBytes);
  for (let y = 0; y < heightPx; y++) {
    paintRow(row, y);
    const at = y * (1 + rowBytes);
    raw[at] = 2; // filter "up": a picture that changes slowly becomes mostly zeros
    for (let x = 0; x < rowBytes; x++) raw[at + 1 + x] = (row[x] ?? 0) - (above[x] ?? 0);
    [above, row] = [row, above];
  }
  const head = Buffer.alloc(13);
  head.writeUInt32BE(widthPx);
  head.writeUInt32BE(heightPx, 4);
  head.set([8, channels === 4 ? 6 : 2, 0, 0, 0], 8);
  const packed = await promisify(deflate)(raw, { level: 3 });
  return Buffer.concat([
    signature,
    chunk('IHDR', head),
    chunk('IDAT', packed),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}
