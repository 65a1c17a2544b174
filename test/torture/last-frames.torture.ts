import { expect, test } from 'vitest';
import { sha256OfFile } from '../../src/disk/small-file.ts';
import { machineClock } from '../../src/host.ts';
import { cutFrame } from '../../src/shots/frames.ts';
import { newDir } from '../helpers/new-dir.ts';
import { forms, numberedVideos, numberIn } from '../shots/numbered-video.ts';

test('of fifty videos whose frames bear their numbers the last one is cut', {
  tags: ['ffmpeg'],
  timeout: 180_000,
}, async () => {
  const cut: unknown[] = [];
  for (const form of forms) {
    const dir = newDir();
    const [video = ''] = numberedVideos(dir, [form]);
    const picture = await cutFrame(
      { video, sha256: await sha256OfFile(video), part: 'last_frame', named: 'it' },
      {
        cacheDir: dir,
        env: { PATH: process.env.PATH },
        signal: new AbortController().signal,
        clock: machineClock,
      },
    );
    const is = await numberIn(picture);
    if (is !== form.frames - 1) cut.push({ ...form, is });
  }
  expect([forms.length, cut]).toEqual([50, []]);
});
