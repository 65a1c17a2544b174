// Start-up, side by side in one run: what a command costs against `node -e 0` and against curl for the same request.
// Prints medians and ratios; asserts nothing.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';

// `npm run bench -- machines` is that file alone.
if (process.argv[2] !== undefined) {
  await import(`./${process.argv[2]}.js`);
  process.exit();
}

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 25);
const gw = path.join(import.meta.dirname, '../../bin/gw.js');
const home = mkdtempSync(path.join(tmpdir(), 'gw-bench-'));
const record = JSON.stringify({ id: 'vt-1', model: 'm', status: 'running', created_at: 1, updated_at: 1 });
const server = createServer((_, reply) => reply.setHeader('content-type', 'application/json').end(record));
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const base = `http://127.0.0.1:${server.address().port}`;
const env = { PATH: process.env.PATH, HOME: home, GW_BASE_URL: base, GW_API_KEY: 'bench-key' };

const node = process.execPath;
const commands = {
  'node -e 0': [node, '-e', '0'],
  'gw --version': [node, gw, '--version'],
  'gw --help': [node, gw, '--help'],
  'gw complete (flags of create)': [node, gw, 'complete', '--at=--r', 'video', 'alpha', 'create'],
  'gw complete (tasks for wait)': [node, gw, 'complete', '--at=', 'video', 'alpha', 'wait'],
  'gw config list': [node, gw, 'config', 'list'],
  'gw jobs list (nothing in the ledger)': [node, gw, 'jobs', 'list'],
  'gw video alpha get ID --json': [node, gw, 'video', 'alpha', 'get', 'vt-1', '--json'],
  'gw video alpha create … --dry-run': [node, gw, 'video', 'alpha', 'create', 'a fox', '--dry-run'],
};
// gw as one file, where `npm run binaries` has made it, beside the same command on Node.
const oneFile = path.join(import.meta.dirname, `../../dist/binaries/gw-linux-${process.arch}`);
const onNode = {};
for (const name of existsSync(oneFile)
  ? ['gw jobs list (nothing in the ledger)', 'gw video alpha create … --dry-run']
  : []) {
  onNode[`${name}, one file`] = name;
  commands[`${name}, one file`] = [oneFile, ...commands[name].slice(2)];
}
if (spawnSync('curl', ['--version']).status === 0) {
  commands['curl (the same GET)'] = [
    'curl',
    '-s',
    '-H',
    'Authorization: Bearer k',
    `${base}/api/v3/contents/generations/tasks/vt-1`,
  ];
}

function time([file, ...args]) {
  return new Promise((resolve, reject) => {
    const start = process.hrtime.bigint();
    const child = spawn(file, args, { env, stdio: 'ignore' });
    child.on('error', reject);
    child.on('exit', (code) => {
      if (code !== 0) reject(new Error(`${args.join(' ')} exited ${code}`));
      else resolve(Number(process.hrtime.bigint() - start) / 1e6);
    });
  });
}

const times = Object.fromEntries(Object.keys(commands).map((name) => [name, []]));
try {
  for (let round = -3; round < ROUNDS; round += 1) {
    for (const [name, command] of Object.entries(commands)) {
      const ms = await time(command);
      if (round >= 0) times[name].push(ms);
    }
  }
} finally {
  server.close();
  rmSync(home, { recursive: true, force: true });
}

const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];
const floor = median(times['node -e 0']);
const curl = times['curl (the same GET)'] && median(times['curl (the same GET)']);
console.log(`Node ${process.versions.node}, ${ROUNDS} interleaved rounds, medians\n`);
console.log(
  `${'command'.padEnd(46)}${'ms'.padStart(8)}${'x node -e 0'.padStart(14)}${curl ? 'x curl'.padStart(10) : ''}`,
);
for (const [name, values] of Object.entries(times)) {
  const ms = median(values);
  const beside = onNode[name] ? `  ${(ms / median(times[onNode[name]])).toFixed(2)} of the same on Node` : '';
  console.log(
    `${name.padEnd(46)}${ms.toFixed(1).padStart(8)}${(ms / floor).toFixed(2).padStart(14)}${curl ? (ms / curl).toFixed(1).padStart(10) : ''}${beside}`,
  );
}

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
await import('./batch.js');
