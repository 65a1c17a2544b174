// Measures commands with a ledger of 100,000 saved jobs (about 209 MB), against `node -e 0` and an empty ledger: wall time, and
// CPU time, which other work on the machine distorts less. Prints medians, ratios and peak memory; asserts nothing.
import { spawnSync } from 'node:child_process';
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { costsIn, median, spread } from './cost.js';

const JOBS = 100_000;
/** Interval between jobs: a busy account makes this ledger in three weeks. */
const APART_MS = 20_000;
const ROUNDS = 9;
const gw = path.join(import.meta.dirname, '../../bin/gw.js');
const dir = mkdtempSync(path.join(tmpdir(), 'gw-bench-long-'));
/** The saved file of every job. gw would download a missing file again. */
const film = path.join(dir, 'film.mp4');
writeFileSync(film, 'mp4');
const idOf = (at) => `vt-20261121001503-${String(at).padStart(20, '0')}`;

function linesOf(at, t) {
  const event = (fields) =>
    `\n${JSON.stringify({ v: 1, t, job: `gw-0${at.toString(8).padStart(25, '0')}`, ...fields })}\n`;
  const content = { video_url: `https://outputs.example/${'x'.repeat(600)}` };
  const record = { id: idOf(at), status: 'succeeded', duration: 5, usage: { total_tokens: 1000 }, content };
  return [
    event({
      ...{ event: 'intent', family: 'alpha', endpoint: 'alpha.create', model: 'm' },
      ...{ prompt: 'a fox in the snow '.repeat(10), settings: { resolution: '720p' }, media: [] },
      ...{ bodySha256: '0'.repeat(64), profile: 'default', gateway: 'https://gateway.example' },
      save: { target: '/videos/{id}.{ext}', force: false, download: true },
    }),
    event({ event: 'sent' }),
    event({ event: 'accepted', id: idOf(at), status: 'running' }),
    event({ event: 'status', status: 'running' }),
    event({ event: 'final', state: 'succeeded', status: 'succeeded', record, serverDateMs: t }),
    event({
      ...{ event: 'saved', role: 'video', path: film, bytes: 3 },
      ...{ sha256: 'a'.repeat(64), type: 'video/mp4' },
    }),
  ].join('');
}

/** Fills the journal of one month, because older journals cost the same. */
function seed(state) {
  const now = Date.now();
  const name = `${new Date(now).toISOString().slice(0, 7)}.jsonl`;
  mkdirSync(path.join(state, 'ledger'), { recursive: true, mode: 0o700 });
  const file = path.join(state, 'ledger', name);
  for (let at = 0; at < JOBS; at += 1_000) {
    let text = '';
    for (let each = at; each < at + 1_000; each += 1) text += linesOf(each, now - (JOBS - each) * APART_MS);
    appendFileSync(file, text, { mode: 0o600 });
  }
  return statSync(file).size;
}

let made = 0;
const server = createServer((request, reply) => {
  request.resume();
  made += request.method === 'POST' ? 1 : 0;
  const task = { id: `made-${made}`, task_id: `made-${made}`, status: 'submitted', task_status: 'submitted' };
  reply.setHeader('content-type', 'application/json');
  reply.end(JSON.stringify({ ...task, code: 0, message: 'ok', request_id: 'r', data: task }));
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const cost = costsIn(dir);
const run = (args, state) =>
  cost(args, {
    ...{ PATH: process.env.PATH, HOME: dir, GW_STATE_DIR: state, GW_API_KEY: 'bench-key' },
    GW_BASE_URL: `http://127.0.0.1:${server.address().port}`,
  });

const commands = {
  'node -e 0': ['-e', '0'],
  'jobs list --limit 1': [gw, 'jobs', 'list', '--limit', '1'],
  'jobs list --limit 5': [gw, 'jobs', 'list', '--limit', '5'],
  'jobs list fox, all have the word': [gw, 'jobs', 'list', 'fox'],
  'jobs list zebra, none has it': [gw, 'jobs', 'list', 'zebra'],
  'jobs list --json': [gw, 'jobs', 'list', '--json'],
  'jobs list -q': [gw, 'jobs', 'list', '-q'],
  'jobs list --batch, none is of it': [gw, 'jobs', 'list', '--batch', 'day'],
  'jobs stats': [gw, 'jobs', 'stats'],
  'jobs show ID': [gw, 'jobs', 'show', idOf(JOBS >> 1)],
  'jobs sync, nothing open': [gw, 'jobs', 'sync'],
  doctor: [gw, 'doctor'],
  'video alpha create': [gw, 'video', 'alpha', 'create', 'a fox'],
  'video beta create --external-id': [gw, 'video', 'beta', 'create', 'a fox', '--external-id', 'ORDER'],
};

try {
  const states = { long: path.join(dir, 'long'), empty: path.join(dir, 'empty') };
  const bytes = seed(states.long);
  mkdirSync(states.empty, { mode: 0o700 });
  const first = await run(commands['jobs list --limit 5'], states.long);
  console.log(
    `a ledger of ${JOBS} saved jobs, ${Math.round(bytes / 1e6)} MB, ${ROUNDS} interleaved rounds, medians`,
  );
  console.log(
    `the first command makes the index: ${first.ms.toFixed(0)} ms, ${first.cpuMs.toFixed(0)} of a CPU, ${first.mb.toFixed(0)} MB\n`,
  );
  const runs = {};
  // A create leaves an open job, so creates have separate ledgers.
  const kept = path.join(dir, 'kept');
  spawnSync('cp', ['-a', states.long, kept]);
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [name, args] of Object.entries(commands)) {
      const own = args.map((word) => (word === 'ORDER' ? `order-${round}` : word));
      for (const [which, state] of Object.entries(states)) {
        const place = name.includes('create') ? (which === 'long' ? kept : `${kept}-empty`) : state;
        runs[`${name} ${which}`] = [...(runs[`${name} ${which}`] ?? []), await run(own, place)];
      }
    }
  }
  const floor = runs['node -e 0 long'];
  const head = ['ms', 'x node -e 0', 'CPU ms', 'least to most', 'x node -e 0', 'x empty ledger', 'MB'];
  console.log(`${'command'.padEnd(34)}${head.map((word) => word.padStart(16)).join('')}`);
  for (const name of Object.keys(commands)) {
    const [long, empty] = [runs[`${name} long`], runs[`${name} empty`]];
    const [ms, cpuMs] = [median(long, 'ms'), median(long, 'cpuMs')];
    const cells = [
      ...[ms.toFixed(0), (ms / median(floor, 'ms')).toFixed(2)],
      ...[cpuMs.toFixed(0), spread(long, 'cpuMs'), (cpuMs / median(floor, 'cpuMs')).toFixed(2)],
      ...[(cpuMs / median(empty, 'cpuMs')).toFixed(2), median(long, 'mb').toFixed(0)],
    ];
    console.log(`${name.padEnd(34)}${cells.map((cell) => cell.padStart(16)).join('')}`);
  }
} finally {
  server.close();
  server.closeAllConnections();
  rmSync(dir, { recursive: true, force: true });
}
