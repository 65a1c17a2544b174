import { writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { expect } from 'vitest';
import { cmd } from '../helpers/cmd.ts';
import { test } from '../helpers/gw.ts';
import { endlessClip, pngHead } from '../media/fixtures.ts';

// What each command does with a damaged file (promises, section 5): every command ends.

/** A TIFF directory whose first entry points at itself and claims 65,535 entries. */
const tiff = Buffer.alloc(64);
tiff.write('II*\0\x08\0\0\0\xff\xff', 'latin1');
/** A box of length zero where the picture's size would be. */
const heic = Buffer.alloc(4096);
heic.write('\0\0\0\x10ftypheic\0\0\0\0\0\0\0\0meta', 'latin1');
/** An ID3 tag that claims 256 MB, and no audio frame. */
const mp3 = Buffer.alloc(200_000);
mp3.write('ID3\x03\0\0\x7f\x7f\x7f\x7f', 'latin1');

const files = {
  'cut.png': pngHead(640, 480).subarray(0, 20),
  'loop.tif': tiff,
  'loop.heic': heic,
  'tag.mp3': mp3,
  'a.mp4': endlessClip(),
  'b.mp4': endlessClip(),
};
const gamma = ['video', 'gamma', 'create', 'x', '--duration', '5', '--resolution', '2k'];
const pictures = ['cut.png', 'loop.tif', 'loop.heic'];

test.for<[string[], number, RegExp]>([
  ...pictures.flatMap((file): [string[], number, RegExp][] => {
    const noSize = new RegExp(`--image ${file}: .*(width and height cannot be read|is TIFF)`);
    return [
      [['video', 'alpha', 'create', 'x', '--image', file], 2, noSize],
      [[...gamma, '--image', file], 2, noSize],
      // gw does not read the size where the document states no limit for it.
      [['chat', 'x', '--image', file], 0, /^/],
      [['image', 'edit', 'x', '--image', file], 0, /^/],
      [['image', 'create', 'x', '--image', file], 0, /^/],
    ];
  }),
  [cmd`video alpha create x --image cut.png --audio tag.mp3`, 2, /--audio tag.mp3: its length/],
  [cmd`${gamma} --video a.mp4 --video b.mp4`, 2, /a\.mp4: could not be read as MP4 within 5 s/],
  [cmd`video alpha create x --video a.mp4`, 2, /--video a\.mp4: is a file/],
  [cmd`video beta create x --base-video a.mp4`, 2, /--base-video/],
])('%j ends with code %i', async ([argv, code, sentence], { world }) => {
  for (const [name, bytes] of Object.entries(files)) writeFileSync(path.join(world.cwd, name), bytes);
  const run = await world.gw([...argv, '--dry-run']);
  expect(run.err).toMatch(sentence);
  expect(run.code).toBe(code);
});
