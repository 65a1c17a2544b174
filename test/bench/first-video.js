// Measures the README's first command from the return key to a saved video: on a machine that has just run `npm ci`, and a
// second time. Prints the times of the steps; asserts nothing.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const root = path.join(import.meta.dirname, '../..');
const home = mkdtempSync(path.join(tmpdir(), 'gw-bench-first-'));
const readme = readFileSync(path.join(root, 'README.md'), 'utf8');
const [, line] = /^\$ npm ci && (npx gw .*)$/m.exec(readme) ?? [];
if (line === undefined) throw new Error('the README begins with no `npm ci && npx gw …`');
const { NODE_EXTRA_CA_CERTS: _, ...env } = process.env;

/** Records the start of each Node process of the run: npx is one, gw is another. */
const starts = path.join(home, 'starts');
const notes = path.join(home, 'note-start.cjs');
const entry = "process.argv[1] + ' ' + performance.timeOrigin + '\\n'";
writeFileSync(notes, `require('node:fs').appendFileSync(${JSON.stringify(starts)}, ${entry});`);

/** The events on stdout of --events, and the time of each. */
async function run() {
  const beganMs = performance.now();
  const beganAtMs = performance.timeOrigin + beganMs;
  writeFileSync(starts, '');
  const child = spawn('sh', ['-c', `${line} --events -o '${home}/'`], {
    cwd: root,
    env: {
      ...env,
      ...{ NODE_OPTIONS: `--require ${notes}`, HOME: home, npm_config_update_notifier: 'false' },
      // These are the settings and the cache that npm ci used.
      npm_config_userconfig: path.join(env.HOME ?? home, '.npmrc'),
      npm_config_cache: env.npm_config_cache ?? path.join(env.HOME ?? home, '.npm'),
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const seen = [];
  let rest = '';
  child.stdout.setEncoding('utf8').on('data', (piece) => {
    const lines = (rest + piece).split('\n');
    rest = lines.pop() ?? '';
    for (const each of lines) seen.push({ ...JSON.parse(each), atMs: performance.now() - beganMs });
  });
  const code = await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  if (code !== 0) throw new Error(`${line} ended with ${code}`);
  const first = (event) => seen.find((each) => each.event === event)?.atMs ?? Number.NaN;
  const done = seen.findLast((each) => each.event === 'status')?.atMs ?? Number.NaN;
  const saved = seen.find((each) => each.event === 'saved');
  if (!(statSync(saved.path).size > 0)) throw new Error('no video was saved');
  const [, startedAtMs] = /(?:bin\/gw(?:\.js)?) (\S+)/.exec(readFileSync(starts, 'utf8')) ?? [];
  const steps = [
    ['npx, before it starts gw', Number(startedAtMs) - beganAtMs],
    ['the start, and that of the embedded gateway', first('intent')],
    ['the create, until it is accepted', first('accepted')],
    ['the task runs, and is looked at', done],
    ['the download, checked and published', saved.atMs],
    ['the end', performance.now() - beganMs],
  ];
  return steps.map(([name, atMs], at) => [name, atMs - (steps[at - 1]?.[1] ?? 0), atMs]);
}

try {
  for (const when of ['after npm ci', 'again']) {
    console.log(`README's first line, ${when}: what takes the time, in seconds\n`);
    for (const [name, tookMs, atMs] of await run())
      console.log(
        `${name.padEnd(44)}${(tookMs / 1000).toFixed(2).padStart(8)}${(atMs / 1000).toFixed(2).padStart(8)}`,
      );
    console.log();
  }
} finally {
  rmSync(home, { recursive: true, force: true });
}
