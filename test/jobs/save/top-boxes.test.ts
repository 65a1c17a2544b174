import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { brokenBoxes } from '../../../src/jobs/save/verify-part.ts';
import { box, ftyp, moov, tinyMp4 } from './tiny-media.ts';

const walk = (bytes: Buffer) =>
  brokenBoxes((offset, count) => bytes.subarray(offset, offset + count), bytes.length);

function largeBox(type: string, sizeBytes: bigint, payload = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(16);
  head.writeUInt32BE(1, 0);
  head.write(type, 4, 'latin1');
  head.writeBigUInt64BE(sizeBytes, 8);
  return Buffer.concat([head, payload]);
}

const toTheEnd = (type: string, payload: Buffer) => {
  const whole = box(type, payload);
  whole.writeUInt32BE(0, 0);
  return whole;
};

describe('the boxes of an MP4', () => {
  it.each([
    ['moov first', Buffer.concat([ftyp, moov, box('mdat', Buffer.alloc(10))])],
    ['moov last', Buffer.concat([ftyp, box('mdat', Buffer.alloc(10)), moov])],
    [
      'fragments',
      Buffer.concat([ftyp, moov, ...Array(50).fill(Buffer.concat([box('moof', moov), box('mdat', moov)]))]),
    ],
    ['a 64-bit size', Buffer.concat([ftyp, moov, largeBox('mdat', 116n, Buffer.alloc(100))])],
    ['a last box to the end', Buffer.concat([ftyp, moov, toTheEnd('mdat', Buffer.alloc(99))])],
    ['an empty box', Buffer.concat([ftyp, box('free', Buffer.alloc(0)), moov])],
  ])('add up with %s', (_, bytes) => expect(walk(bytes)).toBeUndefined());

  it.each([
    ['no moov', Buffer.concat([ftyp, box('mdat', Buffer.alloc(10))]), 'no moov'],
    ['moov only inside another', Buffer.concat([ftyp, box('mdat', moov)]), 'no moov'],
    ['a box that is cut', tinyMp4(100).subarray(0, -1), 'mdat box is cut off'],
    ['a header that is cut', Buffer.concat([ftyp, moov, Buffer.from([0, 0, 0])]), 'there is no box'],
    [
      'a size below its header',
      Buffer.concat([ftyp, moov, Buffer.from([0, 0, 0, 7, 1, 1, 1, 1])]),
      'there is no box',
    ],
    ['zeros behind', Buffer.concat([ftyp, moov, Buffer.alloc(64)]), 'there is no box'],
    [
      'a 64-bit size that is cut',
      Buffer.concat([ftyp, moov, largeBox('mdat', 2n ** 40n)]),
      'mdat box is cut off',
    ],
    [
      'a 64-bit size beyond all',
      Buffer.concat([ftyp, moov, largeBox('mdat', 2n ** 64n - 1n)]),
      'mdat box is cut off',
    ],
    ['a 64-bit size below its header', Buffer.concat([ftyp, moov, largeBox('mdat', 15n)]), 'there is no box'],
    ['nothing', Buffer.alloc(0), 'no moov'],
  ])('do not with %s', (_, bytes, said) => expect(walk(bytes)).toContain(said));

  it('never add up in a file that was cut anywhere', () => {
    const file = Buffer.concat([ftyp, box('mdat', Buffer.alloc(40, 9)), moov]);
    for (let length = 0; length < file.length; length++) expect(walk(file.subarray(0, length))).toBeDefined();
  });

  it('are read by their headers alone, whatever the size', () => {
    const mdat = 5n * 1024n ** 4n;
    const head = Buffer.concat([ftyp, moov, largeBox('mdat', mdat)]);
    let readBytes = 0;
    const readAt = (offset: number, count: number) => {
      const piece = head.subarray(offset, offset + count);
      readBytes += piece.length;
      return piece;
    };
    expect(brokenBoxes(readAt, ftyp.length + moov.length + Number(mdat))).toBeUndefined();
    expect(readBytes).toBe(48);
  });

  it('end the walk for any bytes', () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => void walk(Buffer.from(bytes))));
    expect(walk(Buffer.concat(Array(100_001).fill(box('free', Buffer.alloc(0)))))).toContain(
      'more than 100000 boxes',
    );
  });
});
