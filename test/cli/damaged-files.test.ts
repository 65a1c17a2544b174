import * as fs from 'node:fs';
import * as path from 'node:path';
import { expect, test } from 'vitest';
import { endlessClip, make, picture, pngHead, temporaryDirectory, tone } from '../media/fixtures.ts';
import { openPlace } from './place.ts';

// Promises, section 5: every command that takes a file ends, whatever the file is. Real processes, ended from outside
// where they hang.

const LONGEST_MS = 10_000;

/** Lengths in the middle of a sound file made extreme: what sent readers around for ever. */
function extreme(file: string): Buffer {
  const bytes = fs.readFileSync(file);
  for (const [at, value] of [
    [0.02, 0],
    [0.05, 0xffffffff],
    [0.3, 0x7fffffff],
    [0.6, 1],
  ] as const)
    bytes.writeUInt32BE(value, Math.max(16, Math.floor(at * (bytes.length - 4))));
  return bytes;
}

const cut = (file: string): Buffer => {
  const bytes = fs.readFileSync(file);
  return bytes.subarray(0, Math.ceil(bytes.length / 10));
};

function endlessMovie(file: string): Buffer {
  const bytes = fs.readFileSync(file);
  bytes.writeUInt32BE(0xffffffff, bytes.indexOf('stsc') + 16);
  return bytes;
}

/** Names of the damaged files, made in a directory. */
function damagedFiles(directory: string): string[] {
  const made = temporaryDirectory();
  const sound = (kind: string, ...options: string[]) => make(made, `sound.${kind}`, ...options);
  const files: Record<string, Buffer> = {
    'cut.png': pngHead(640, 480).subarray(0, 20),
    'cut.flac': cut(sound('flac', ...tone(20))),
    'endless.mp4': endlessClip(),
    'endless.mov': endlessMovie(make(made, 'film.mov', ...picture('320x240', 2))),
    'extreme.aac': extreme(sound('aac', ...tone(5))),
    'extreme.mp3': extreme(sound('mp3', ...tone(5))),
    'extreme.mkv': extreme(make(made, 'film.mkv', ...picture('320x240', 2))),
  };
  for (const [name, bytes] of Object.entries(files)) fs.writeFileSync(path.join(directory, name), bytes);
  return Object.keys(files);
}

const alpha = ['video', 'alpha', 'create', 'x'];
const beta = ['video', 'beta', 'create', '--mode', 'o1', 'x'];
const gamma = ['video', 'gamma', 'create', 'x', '--duration', '5', '--resolution', '2k'];

/** Every command with every flag that takes a medium; the file's name follows. */
const commands = [
  ['chat', 'x', '--image'],
  ['image', 'create', 'x', '--image'],
  ['image', 'edit', 'x', '--image'],
  ['image', 'edit', 'x', '--image', 'cut.png', '--mask'],
  ['image', 'native', 'x', '-m', 'img-2', '--image'],
  [...alpha, '--first-frame'],
  [...alpha, '--first-frame', 'cut.png', '--last-frame'],
  [...alpha, '--image'],
  [...alpha, '--video'],
  [...alpha, '--image', 'cut.png', '--audio'],
  [...beta, '--first-frame'],
  [...beta, '--first-frame', 'cut.png', '--last-frame'],
  [...beta, '--image'],
  [...beta, '--feature-video'],
  [...beta, '--base-video'],
  [...gamma, '--first-frame'],
  [...gamma, '--last-frame'],
  [...gamma, '--image'],
  [...gamma, '--video'],
  [...gamma, '--audio'],
  ['asset', 'upload', '--group', 'group-1', '--url'],
  ['asset', 'upload'],
] as const;

test('every command ends within 10 s on every damaged file', {
  tags: ['ffmpeg'],
  timeout: 400_000,
}, async () => {
  const place = await openPlace();
  const files = damagedFiles(place.cwd);
  const gammaRow = { command: 'video gamma', prompt: 'x', duration: 5, resolution: '768P', ratio: '16:9' };
  for (const file of files) {
    const rows = [
      { ...gammaRow, video: [file] },
      { ...gammaRow, audio: [file] },
      { command: 'video alpha', prompt: 'x', image: [file] },
      { command: 'image create', prompt: 'x', image: [file] },
    ];
    const text = rows.map((row) => `${JSON.stringify(row)}\n`).join('');
    fs.writeFileSync(path.join(place.cwd, `${file}.jsonl`), text);
  }
  const runs = [
    ...commands.flatMap((command) => files.map((file) => [...command, file, '--dry-run'])),
    ...files.map((file) => ['batch', 'check', `${file}.jsonl`]),
  ];
  const waiting = runs.values();
  const slow: string[] = [];
  const worker = async () => {
    for (const argv of waiting) {
      const running = place.start(argv);
      const timer = setTimeout(() => {
        slow.push(argv.join(' '));
        running.child.kill('SIGKILL');
      }, LONGEST_MS);
      const { code, signal, err } = await running.ended;
      clearTimeout(timer);
      if (signal === null) expect([0, 2], `${argv.join(' ')}\n${err}`).toContain(code);
    }
  };
  await Promise.all([worker(), worker(), worker()]);
  expect(slow).toEqual([]);
});
