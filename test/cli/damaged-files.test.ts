import * as fs from 'node:fs';
import * as path from 'node:path';
import { expect, test } from 'vitest';
import { endlessClip, make, picture, pngHead, temporaryDirectory, tone } from '../media/fixtures.ts';
import { builtGw } from './built.ts';
import { openPlace } from './place.ts';

// Promises, section 5: every command that takes a file ends, whatever the file contains. Each file gets a process, which is
// killed from outside if it hangs.

const LONGEST_MS = 10_000;

/** Sets length fields in the middle of a valid file to extreme values, which once sent readers into endless loops. */
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

/** Makes the damaged files in a directory and returns their names. */
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

/** Every command with every flag that takes a media file; the file's name follows. */
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
  const script = path.join(place.temp, 'all.cjs');
  fs.writeFileSync(
    script,
    `const { gw } = require(${JSON.stringify(path.join(path.dirname(builtGw().script), 'gw-cli.js'))});
(async () => {
  for (const words of JSON.parse(process.argv[2])) {
    console.log(words.join(' '));
    console.log((await gw(words)).exitCode);
  }
})();`,
  );
  const goOver = async (file: string) => {
    const all = [
      ...commands.map((command) => [...command, file, '--dry-run']),
      // `batch check` reads a clip as the command does. Reading an endless clip costs five seconds, so it is done once only.
      ...(file === 'endless.mov' ? [] : [['batch', 'check', `${file}.jsonl`]]),
    ];
    const running = place.start([JSON.stringify(all)], { script });
    const timer = setTimeout(() => running.child.kill('SIGKILL'), LONGEST_MS);
    running.child.stdout?.on('data', () => timer.refresh());
    const { code, signal, out, err } = await running.ended;
    clearTimeout(timer);
    const lines = out.trimEnd().split('\n');
    expect({ code, signal, last: lines.at(-1), err }).toMatchObject({ code: 0, signal: null });
    expect(lines.filter((_, nth) => nth % 2 === 1)).toHaveLength(all.length);
    for (const [nth, line] of lines.entries())
      if (nth % 2 === 1) expect(['0', '2'], `${lines[nth - 1]} ended with ${line}`).toContain(line);
  };
  await Promise.all(files.map(goOver));
});
