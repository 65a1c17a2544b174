// Counts the system calls of a save in its target directory: all of them, and those of the trial before the create.
// GW_BENCH_SCRIPT is the bin/gw.js of another version. Prints counts; asserts nothing.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const script = process.env.GW_BENCH_SCRIPT ?? path.join(import.meta.dirname, '../../bin/gw.js');
const home = mkdtempSync(path.join(tmpdir(), 'gw-bench-saves-'));
const env = { PATH: process.env.PATH, HOME: home };
const video = ['video', 'alpha', 'create', 'a fox', '--wait', '--interval', '100ms', '-o'];
const image = ['image', 'create', 'a fox', '--size', '256x256', '-o'];
const saves = {
  'a video': [...video, 'fox.mp4'],
  'a video with its sidecar': [...video, 'fox.mp4', '--sidecar'],
  'a video in the place of another': [...video, 'fox.mp4', '--force'],
  'an image': [...image, 'fox.png'],
};

/** Lists the calls that name something in a directory. */
function callsIn(dir, argv) {
  const log = path.join(home, 'strace');
  const tracing = ['-f', '-y', '-qq', '-e', 'trace=%file,%desc', '-o', log];
  const words = argv.map((word) => (word.startsWith('fox.') ? path.join(dir, word) : word));
  const gw = [process.execPath, script, ...words, '--sandbox', '-q'];
  const { status, stderr } = spawnSync('strace', [...tracing, ...gw], { env, cwd: home, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${argv.join(' ')} exited ${status}: ${stderr}`);
  const isAbout = new RegExp(`[<"]${dir}(/|>)`);
  return readFileSync(log, 'utf8')
    .split('\n')
    .filter((line) => isAbout.test(line) && !/ execve|resumed>/.test(line))
    .map((line) => ({ name: /^\d+ +(\w+)/.exec(line)?.[1] ?? '', isTrial: line.includes('.try') }));
}

try {
  console.log('System calls about the directory of the target\n');
  for (const [at, [what, argv]] of Object.entries(saves).entries()) {
    const dir = path.join(home, `${at}`);
    mkdirSync(dir);
    const calls = callsIn(dir, argv);
    const rest = calls.filter(({ isTrial }) => !isTrial);
    const counts = new Map();
    for (const { name } of rest) counts.set(name, (counts.get(name) ?? 0) + 1);
    const told = [...counts].sort(([one], [other]) => one.localeCompare(other));
    console.log(
      `${what.padEnd(34)}${String(rest.length).padStart(5)}, and ${calls.length - rest.length} of the trial: ` +
        told.map(([name, count]) => `${count} ${name}`).join(', '),
    );
  }
} finally {
  rmSync(home, { recursive: true, force: true });
}
