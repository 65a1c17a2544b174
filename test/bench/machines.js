// Several machines on one account: each worker is a process with its own home, on one redis-server. The gateway runs ten tasks
// at once, accepts 600 requests a minute and counts everything above. `npm run bench -- machines` measures the share of slots
// that three workers use with tasks of 5 s and 29 s and one look per second, then many workers that are killed at random, then
// the memory of a row in Redis. Small machines set GW_BENCH_WORKERS (20) and GW_BENCH_ROWS (2000) lower. Asserts nothing.
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { cpus, tmpdir } from 'node:os';
import path from 'node:path';
import { Redis } from 'ioredis';
import { openGateway, usedSlots } from './slot-gateway.js';

const gw = path.join(import.meta.dirname, '../../bin/gw.js');
const clips = path.join(import.meta.dirname, '../../src/sandbox/clips');
const clip = readFileSync(
  path.join(
    clips,
    readdirSync(clips).find((name) => name.endsWith('.mp4')),
  ),
);
const SLOTS = 10;
const A_MINUTE = 600;

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const freePort = () =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });

async function openRedis(dir) {
  const port = await freePort();
  const options = { port, bind: '127.0.0.1', save: '', appendonly: 'yes', appendfsync: 'always' };
  const words = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const child = spawn('redis-server', words, { cwd: dir, stdio: 'ignore' });
  const client = new Redis(port, '127.0.0.1');
  client.on('error', () => {});
  await client.ping();
  const close = () => {
    client.disconnect();
    child.kill();
  };
  return { client, url: `redis://127.0.0.1:${port}`, close };
}

/** The bytes that Redis uses for the first key of each pattern. */
async function bytesOf(client, patterns) {
  let bytes = 0;
  for (const pattern of patterns) {
    const [key] = await client.keys(pattern);
    if (key !== undefined) bytes += Number(await client.call('MEMORY', 'USAGE', key));
  }
  return bytes;
}

const figure = (info, name) => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? 0);

/** Runs `rows` rows on `workers` workers, one of which is killed and replaced every `killMs`. */
async function simulate({ rows, workers, lastMs, killMs }) {
  const dir = mkdtempSync(path.join(tmpdir(), 'gw-bench-machines-'));
  const [gateway, redis] = [
    await openGateway({ lastMs, slots: SLOTS, aMinute: A_MINUTE, clip }),
    await openRedis(dir),
  ];
  const alive = [];
  let made = 0;
  const start = (words, name) => {
    const home = path.join(dir, name);
    mkdirSync(home, { recursive: true });
    const env = {
      PATH: process.env.PATH,
      HOME: home,
      GW_BASE_URL: gateway.base,
      GW_API_KEY: 'bench-key-0123456789',
    };
    const child = spawn(process.execPath, [gw, ...words], {
      env: { ...env, GW_REDIS_URL: redis.url, GW_INTERVAL: '1s' },
      cwd: home,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let said = '';
    child.stderr.on('data', (text) => {
      said = (said + text).slice(-20_000);
    });
    return { child, said: () => said, ended: new Promise((resolve) => child.on('close', resolve)) };
  };
  const worker = () => {
    made += 1;
    alive.push(start(['worker', '--redis', '--name', `m${made}`], `m${made}`));
  };
  try {
    const laptop = path.join(dir, 'laptop');
    mkdirSync(laptop);
    const row = { command: 'video alpha', model: '2.0-fast', resolution: '480p', duration: 4 };
    const lines = Array.from({ length: rows }, (_, at) =>
      JSON.stringify({ ...row, id: `r${at}`, prompt: `fox ${at}` }),
    );
    writeFileSync(path.join(laptop, 'day.jsonl'), `${lines.join('\n')}\n`);
    await start(['config', 'set', 'account', 'enterprise'], 'laptop').ended;
    await start(['batch', 'run', 'day.jsonl', '--redis', '--detach'], 'laptop').ended;
    const waiting = await bytesOf(redis.client, ['*:row:day/r7', '*:log:day/r7', '*:alpha:*-0']);
    await redis.client.config('RESETSTAT');
    const startedMs = performance.now();
    for (let at = 0; at < workers; at += 1) worker();
    const follower = start(['batch', 'run', 'day.jsonl', '--redis'], 'laptop');
    let isOver = false;
    const ended = follower.ended.then(() => {
      isOver = true;
    });
    let kills = 0;
    while (!isOver) {
      await Promise.race([ended, pause(killMs ?? 60_000)]);
      if (isOver || killMs === undefined) continue;
      const [victim] = alive.splice(Math.floor(Math.random() * alive.length), 1);
      victim.child.kill('SIGKILL');
      kills += 1;
      worker();
    }
    const tookS = (performance.now() - startedMs) / 1000;
    const stats = await redis.client.info('commandstats');
    const calls = [...stats.matchAll(/cmdstat_([^:]+):calls=(\d+)/g)].map(([, name, count]) => [
      name,
      Number(count),
    ]);
    const total = calls.reduce((sum, [, count]) => sum + count, 0);
    const network = await redis.client.info('stats');
    const done = await bytesOf(redis.client, ['*:row:day/r7', '*:log:day/r7']);
    const { seen } = gateway;
    console.log(
      [
        `${workers} workers, ${rows} rows, tasks of ${lastMs / 1000} s${kills > 0 ? `, ${kills} killed` : ''}: ${tookS.toFixed(0)} s`,
        `  slots used ${(100 * usedSlots(gateway.seen, { lastMs, slots: SLOTS })).toFixed(1)} %, looks ${seen.looks}`,
        `  429: ${seen.tooManyTasks} of tasks, ${seen.tooManyRequests} of requests; rows created twice ${[...seen.byPrompt.values()].filter((count) => count > 1).length}`,
        `  ${follower.said().trim().split('\n').at(-1)}`,
        `  Redis, a row: ${(total / rows).toFixed(0)} commands (${calls
          .sort((one, other) => other[1] - one[1])
          .slice(0, 6)
          .map(([name, count]) => `${name} ${(count / rows).toFixed(1)}`)
          .join(
            ', ',
          )}), ${(figure(network, 'total_net_input_bytes') / rows / 1024).toFixed(1)} kB in, ${(figure(network, 'total_net_output_bytes') / rows / 1024).toFixed(1)} kB out;`,
        `  it holds ${waiting} bytes of a row that waits, ${done} of one that is done`,
      ].join('\n'),
    );
  } finally {
    for (const { child } of alive) child.kill('SIGKILL');
    await Promise.all(alive.map(({ ended }) => ended));
    gateway.close();
    redis.close();
    rmSync(dir, { recursive: true, force: true });
  }
}

const only = process.env.GW_BENCH_ONLY ?? '5s 29s many';
if (only.includes('5s')) await simulate({ rows: 80, workers: 3, lastMs: 5_000 });
if (only.includes('29s')) await simulate({ rows: 60, workers: 3, lastMs: 29_000 });
if (only.includes('many')) {
  const small = cpus().length < 8;
  const workers = Number(process.env.GW_BENCH_WORKERS ?? (small ? 6 : 20));
  const rows = Number(process.env.GW_BENCH_ROWS ?? (small ? 200 : 2_000));
  await simulate({ rows, workers, lastMs: 1_000, killMs: 10_000 });
}
