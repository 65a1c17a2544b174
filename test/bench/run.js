// Measures start-up: the CPU time of a command against `node -e 0`, and its wall time against curl for the same request.
// Prints medians and ratios; asserts nothing.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { costsIn, median, spread } from './cost.js';

// `npm run bench -- machines` runs that file only.
if (process.argv[2] !== undefined) {
  await import(`./${process.argv[2]}.js`);
  process.exit();
}

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 25);
/** Number of jobs in the ledger that `jobs list` reads. */
const LISTED = 36;
const root = path.join(import.meta.dirname, '../..');
const gw = path.join(root, 'bin/gw.js');
const home = mkdtempSync(path.join(tmpdir(), 'gw-bench-'));
let made = 0;
const server = createServer((request, reply) => {
  made += 1;
  const id = request.method === 'POST' ? `vt-${made}` : 'vt-1';
  const task = { id, task_id: id, model: 'm', status: 'running', created_at: 1, updated_at: 1 };
  const body = request.url === '/v1/models' ? { data: [{ id: 'm' }] } : { ...task, code: 0, data: task };
  request.resume();
  reply.setHeader('content-type', 'application/json').end(JSON.stringify(body));
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const base = `http://127.0.0.1:${server.address().port}`;
const env = { PATH: process.env.PATH, HOME: home, GW_BASE_URL: base, GW_API_KEY: 'bench-key' };

const script = (name, text) => {
  writeFileSync(path.join(home, name), text);
  return [path.join(home, name)];
};
const create = ['video', 'alpha', 'create', 'a fox'];
const sdk = `import(${JSON.stringify(import.meta.resolve('openai'))}).then(({ OpenAI }) =>
  new OpenAI({ baseURL: '${base}/v1', apiKey: 'k' }).models.list()).then(({ data }) => console.log(JSON.stringify(data)));`;
const get = `require('node:http').get('${base}/v1/models', (reply) => reply.pipe(process.stdout));`;
/** Number of creates in one process, and in a shell loop for comparison. */
const CREATES = 30;
const many = `import(${JSON.stringify(path.join(root, 'bin/gw-cli.js'))}).then(async ({ gw }) => {
  for (let at = 0; at < ${CREATES}; at += 1)
    if ((await gw(${JSON.stringify(create)})).exitCode !== 0) process.exitCode = 1;
});`;
/** The arguments for Node of each command. */
const commands = {
  'node -e 0': ['-e', '0'],
  'gw --version': [gw, '--version'],
  'gw --help': [gw, '--help'],
  'gw complete (flags of create)': [gw, 'complete', '--at=--r', ...create.slice(0, 3)],
  'gw complete (tasks for wait)': [gw, 'complete', '--at=', 'video', 'alpha', 'wait'],
  'gw config list': [gw, 'config', 'list'],
  [`gw jobs list, ${LISTED} jobs`]: [gw, 'jobs', 'list'],
  'gw video alpha create … --dry-run': [gw, ...create, '--dry-run'],
  'a node:http script with one GET': script('get.cjs', get),
  'gw models list --json': [gw, 'models', 'list', '--json'],
  'the official SDK, its list of models': script('sdk.cjs', sdk),
  'gw video alpha get ID --json': [gw, 'video', 'alpha', 'get', 'vt-1', '--json'],
  'gw video alpha create …': [gw, ...create],
  'gw video beta create … --external-id': [gw, 'video', 'beta', 'create', 'a fox', '--external-id', 'ORDER'],
  [`gw video alpha create …, ${CREATES} calls of gw()`]: script('many.cjs', many),
};
// Only the wall time is known for programs other than Node: curl, and gw as one file if `npm run binaries` has made it.
const oneFile = path.join(root, `dist/binaries/gw-linux-${process.arch}`);
const others = existsSync(oneFile)
  ? {
      'gw jobs list, one file': [oneFile, 'jobs', 'list'],
      'dry run, one file': [oneFile, ...create, '--dry-run'],
    }
  : {};
if (spawnSync('curl', ['--version']).status === 0)
  others['curl (GET ID)'] = ['curl', '-s', `${base}/api/v3/contents/generations/tasks/vt-1`];

function time([file, ...args]) {
  return new Promise((resolve, reject) => {
    const startMs = performance.now();
    const child = spawn(file, args, { env, stdio: 'ignore' });
    child.on('error', reject);
    child.on('exit', (code) => resolve({ code, ms: performance.now() - startMs }));
  });
}

const runs = {};
try {
  const cost = costsIn(home);
  for (let at = 0; at < LISTED; at += 1) await cost([gw, ...create], env);
  for (let round = -3; round < ROUNDS; round += 1) {
    const measure = async (name, run) => {
      const found = await run();
      if (found.code !== 0) throw new Error(`${name} exited ${found.code}`);
      if (round >= 0) runs[name] = [...(runs[name] ?? []), found];
    };
    for (const [name, words] of Object.entries(commands)) {
      // New jobs must not enter the ledger that `jobs list` reads.
      const state = /create …(?! --dry)/.test(name)
        ? { GW_STATE_DIR: path.join(home, `created${round}`) }
        : {};
      const args = words.map((word) => (word === 'ORDER' ? `order-${round}` : word));
      await measure(name, () => cost(args, { ...env, ...state }));
    }
    for (const [name, command] of Object.entries(others)) await measure(name, () => time(command));
  }
} finally {
  server.close();
  server.closeAllConnections();
  rmSync(home, { recursive: true, force: true });
}

console.log(`Node ${process.versions.node}, ${ROUNDS} interleaved rounds, medians; x in time of a CPU\n`);
const heads = ['ms', 'CPU ms', 'least to most', 'x node -e 0'];
console.log(`${'command'.padEnd(42)}${heads.map((head) => head.padStart(14)).join('')}`);
const floor = median(runs['node -e 0'], 'cpuMs');
for (const [name, all] of Object.entries(runs)) {
  const cpuMs = median(all, 'cpuMs');
  const cells = [
    median(all, 'ms').toFixed(1),
    ...(cpuMs ? [cpuMs.toFixed(1), spread(all, 'cpuMs'), (cpuMs / floor).toFixed(2)] : []),
  ];
  console.log(`${name.padEnd(42)}${cells.map((cell) => cell.padStart(14)).join('')}`);
}
const [one, all] = Object.keys(runs).filter((name) => /alpha create …(?! --dry)/.test(name));
const loop = (CREATES * median(runs[one], 'cpuMs')) / median(runs[all], 'cpuMs');
console.log(
  `${CREATES} creates of a shell loop: ${loop.toFixed(1)} times the CPU of one process that makes them`,
);

console.log();
await import('./first-video.js');
await import('./chat.js');

console.log();
await import('./jobs.js');
console.log();
await import('./long-ledger.js');
console.log();
await import('./images.js');
await import('./slots.js');
await import('./download.js');
await import('./batch.js');
