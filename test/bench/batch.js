// Measures manifests of 10,000 rows: `batch check` of mixed rows and of rows of one kind, and `batch run` when all rows are
// already saved. For comparison a process only parses the JSON of the file. Prints wall time, CPU time and peak memory;
// asserts nothing.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { buildSync } from 'esbuild';
import { costsIn, median, spread } from './cost.js';

const root = path.join(import.meta.dirname, '../..');
const gw = path.join(root, 'bin/gw.js');
const ROWS = 10_000;
const ROUNDS = 5;
const GATEWAY = 'https://gateway.example';

const dir = mkdtempSync(path.join(tmpdir(), 'gw-bench-batch-'));
const env = { PATH: process.env.PATH, HOME: dir, GW_BASE_URL: GATEWAY, GW_API_KEY: 'bench-key', CI: 'true' };

const kinds = [
  { command: 'video alpha', model: '2.0-fast', resolution: '480p', duration: 4 },
  { command: 'video beta', duration: 3 },
  { command: 'video gamma', duration: 5, resolution: '768P', ratio: '16:9' },
  { command: 'image create', size: '1024x1024' },
];

/** The body that each kind of row sends, with the prompt PROMPT. */
function bodyOf({ command, ...flags }) {
  const words = command.startsWith('video') ? [...command.split(' '), 'create'] : command.split(' ');
  const typed = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const { stdout } = spawnSync(process.execPath, [gw, ...words, 'PROMPT', ...typed, '--dry-run', '--json'], {
    env,
  });
  return stdout.toString().replace(/\n$/, '');
}

/** Makes a ledger in which every row is saved. */
async function seed() {
  const outfile = path.join(dir, 'once.mjs');
  const contents = `export { fieldDigests } from './src/jobs/create/once.ts'; export { onceJobKey } from './src/ledger/job-key.ts';`;
  buildSync({
    ...{
      stdin: { contents, resolveDir: root, loader: 'ts' },
      bundle: true,
      platform: 'node',
      format: 'esm',
      outfile,
    },
  });
  const { fieldDigests, onceJobKey } = await import(outfile);
  const bodies = kinds.map(bodyOf);
  const now = new Date();
  const month = `${now.getUTCFullYear()}-${String(now.getUTCMonth() + 1).padStart(2, '0')}`;
  let text = '';
  for (let at = 0; at < ROWS; at += 1) {
    const family = kinds[at % 4].command.replace(/^video |^(image).*/, '$1');
    const { body } = JSON.parse(bodies[at % 4].replace('PROMPT', promptOf(at)));
    const once = { key: `day/r${at}`, attempt: 1, fields: fieldDigests(body) };
    const key = onceJobKey(GATEWAY, once.key);
    const id = `vt-20261121001503-${String(at).padStart(20, '0')}`;
    const line = (fields) => {
      text += `\n${JSON.stringify({ v: 1, t: now.getTime(), job: key, ...fields })}\n`;
    };
    const link = `https://outputs.example/${'x'.repeat(300)}`;
    const record = {
      id,
      status: 'succeeded',
      content: { video_url: link, url: link },
      outputs: [{ type: 'video', url: link }],
      data: [{ url: '' }],
    };
    line({
      ...{
        event: 'intent',
        family,
        endpoint: `${family}.create`,
        model: 'm',
        prompt: promptOf(at),
        settings: {},
        media: [],
      },
      ...{ bodySha256: '0'.repeat(64), profile: 'default', gateway: GATEWAY, once },
      save: { target: `${dir}/`, force: false, download: true },
    });
    line({ event: 'sent' });
    if (family !== 'image') line({ event: 'accepted', id, status: 'running' });
    line({ event: 'final', state: 'succeeded', status: 'succeeded', record, serverDateMs: now.getTime() });
    const role = family === 'image' ? 'image' : 'video';
    writeFileSync(path.join(dir, id), 'mp4');
    line({ event: 'saved', role, path: `${dir}/${id}`, bytes: 3, sha256: 'a'.repeat(64), type: 'video/mp4' });
  }
  const ledger = path.join(dir, '.local/state/gw/ledger');
  mkdirSync(ledger, { recursive: true, mode: 0o700 });
  writeFileSync(path.join(ledger, `${month}.jsonl`), text, { mode: 0o600 });
}

const promptOf = (at) => `fox number ${at} runs through the snow at dawn while a paper boat sails by`;

function writeManifest(name, of) {
  const rows = Array.from({ length: ROWS }, (_, at) =>
    JSON.stringify({ ...of[at % of.length], id: `r${at}`, prompt: promptOf(at) }),
  );
  writeFileSync(path.join(dir, name), `${rows.join('\n')}\n`);
}

writeManifest('day.jsonl', kinds);
writeManifest('alpha.jsonl', [kinds[0]]);
writeManifest('images.jsonl', [kinds[3]]);
await seed();
const parse = `for (const line of require('fs').readFileSync('day.jsonl', 'utf8').split('\\n')) if (line) JSON.parse(line)`;
const works = {
  'the JSON parser alone': ['-e', parse],
  'gw batch check': [gw, 'batch', 'check', 'day.jsonl', '--name', 'new'],
  'gw batch check, alpha alone': [gw, 'batch', 'check', 'alpha.jsonl'],
  'gw batch check, images alone': [gw, 'batch', 'check', 'images.jsonl'],
  'gw batch run, all saved': [gw, 'batch', 'run', 'day.jsonl'],
};
const cost = costsIn(dir);
const seen = Object.fromEntries(Object.keys(works).map((what) => [what, []]));
for (let round = 0; round < ROUNDS; round += 1)
  for (const [what, args] of Object.entries(works)) seen[what].push(await cost(args, env));
console.log(`\na manifest of ${ROWS} rows, ${ROUNDS} interleaved rounds, medians\n`);
console.log(
  `${'what'.padEnd(32)}${['ms', 'least to most', 'CPU ms', 'x parser', 'MB'].map((word) => word.padStart(14)).join('')}`,
);
const floor = median(seen['the JSON parser alone'], 'cpuMs');
for (const [what, runs] of Object.entries(seen)) {
  const failed = runs.find(({ code }) => code !== 0);
  if (failed) console.log(`${what}: exit ${failed.code}`);
  const cells = [
    ...[median(runs, 'ms').toFixed(0), spread(runs, 'ms'), median(runs, 'cpuMs').toFixed(0)],
    ...[(median(runs, 'cpuMs') / floor).toFixed(1), median(runs, 'mb').toFixed(0)],
  ];
  console.log(`${what.padEnd(32)}${cells.map((cell) => cell.padStart(14)).join('')}`);
}
rmSync(dir, { recursive: true });
