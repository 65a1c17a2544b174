import { chmodSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { sha256OfFile } from '../../src/disk/small-file.ts';
import { machineClock } from '../../src/host.ts';
import { cutFrame, type FrameDeps } from '../../src/shots/frames.ts';
import { newDir } from '../helpers/new-dir.ts';
import { forms, numberedVideos, numberIn } from './numbered-video.ts';

const path_ = process.env.PATH ?? '';
const cut = async (
  video: string,
  part: 'first_frame' | 'last_frame',
  dir: string,
  deps: Partial<FrameDeps> = {},
) =>
  cutFrame(
    { video, sha256: await sha256OfFile(video), part, named: '--image job:x' },
    {
      cacheDir: path.join(dir, 'cache'),
      env: { PATH: path_ },
      signal: new AbortController().signal,
      clock: machineClock,
      ...deps,
    },
  );

describe('the last frame is the one that is shown last', { tags: ['ffmpeg'] }, () => {
  // A sample of the forms; the torture suite runs all fifty.
  const some = forms.filter((_, at) => at % 7 === 0 || at > 47);
  const made = newDir();
  let videos: readonly string[];
  beforeAll(() => {
    videos = numberedVideos(made, some);
  });
  test.each(some)(
    '$codec in $container, $frames frames, B $bFrames, variable $isVariable, sound $soundS',
    async (form) => {
      const dir = newDir();
      const video = videos[some.indexOf(form)] ?? '';
      expect(await numberIn(await cut(video, 'last_frame', dir))).toBe(form.frames - 1);
      expect(await numberIn(await cut(video, 'first_frame', dir))).toBe(0);
      expect(readdirSync(path.join(dir, 'cache/frames'))).toHaveLength(2);
    },
  );

  test('a video that ffmpeg cannot read is refused with its last line', async () => {
    const dir = newDir();
    const video = path.join(dir, 'odd.mp4');
    writeFileSync(video, 'no video at all');
    await expect(cut(video, 'last_frame', dir)).rejects.toMatchObject({
      kind: 'usage',
      message: expect.stringMatching(/^--image job:x: ffmpeg cannot read the video: .*Invalid data/),
      facts: { hint: expect.stringContaining('--return-last-frame') },
    });
    expect(readdirSync(path.join(dir, 'cache/frames'))).toEqual([]);
  });
});

describe('an ffmpeg that is none', () => {
  const withScript = (script: string | undefined) => {
    const dir = newDir();
    const video = path.join(dir, 'shot.mp4');
    writeFileSync(video, 'x');
    if (script !== undefined) {
      writeFileSync(path.join(dir, 'ffmpeg'), `#!/bin/sh\n${script}\n`);
      chmodSync(path.join(dir, 'ffmpeg'), 0o755);
    }
    return { dir, video, env: { PATH: script === undefined ? dir : `${dir}:/usr/bin:/bin` } };
  };
  test.each([
    ['is not there', undefined, /there is no ffmpeg here/],
    ['fails without a word', 'exit 3', /it ended without a word/],
    ['prints without end', 'yes "a very long story" >&2', /a very long story/],
    ['hangs, with a child that holds its pipe', 'sleep 30 & sleep 30', /no picture within 20 s/],
    ['makes nothing and says that all went well', 'exit 0', /found no picture/],
  ])('%s', async (name, script, said) => {
    const { dir, video, env } = withScript(script);
    const started = performance.now();
    const deadlineMs = name.startsWith('hangs') ? 400 : 15_000;
    await expect(cut(video, 'last_frame', dir, { env, deadlineMs })).rejects.toMatchObject({
      kind: 'usage',
      message: expect.stringMatching(said),
      facts: { hint: expect.stringContaining('--return-last-frame') },
    });
    expect(performance.now() - started).toBeLessThan(15_000);
  });

  test('it finds the named environment, one file behind -i, and no other protocol', async () => {
    const { dir, video, env } = withScript(
      'for word; do last=$word; done; echo "$*" >> "$0.said"; env >> "$0.said"; echo picture > "$last"',
    );
    const picture = await cut(video, 'first_frame', dir, { env: { ...env, GW_MARK: 'x' } });
    expect(statSync(picture).mode & 0o777).toBe(0o600);
    const { readFileSync } = await import('node:fs');
    const said = readFileSync(path.join(dir, 'ffmpeg.said'), 'utf8');
    expect(said).toContain(`-protocol_whitelist file -max_pixels 67108864 -i ${video} `);
    expect(said).not.toContain('GW_API_KEY');
    // The picture is cached by the video's content, so ffmpeg is not asked again.
    await cut(video, 'first_frame', dir, { env: { PATH: dir } });
  });
});
