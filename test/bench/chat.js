// Compares a streamed chat with curl -N and with the official SDK printing the same stream: time to the first byte on stdout,
// throughput and peak memory. Prints medians; asserts nothing.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { median, peakMiB, spread } from './cost.js';

const ROUNDS = Number(process.env.BENCH_CHAT_ROUNDS ?? 7);
const here = import.meta.dirname;
const gw = path.join(here, '../../bin/gw.js');
const node = process.execPath;
const home = mkdtempSync(path.join(tmpdir(), 'gw-bench-'));

const server = spawn(node, [path.join(here, 'chat-server.js')], { stdio: ['ignore', 'pipe', 'inherit'] });
const base = await new Promise((resolve) =>
  server.stdout.once('data', (line) => resolve(String(line).trim())),
);
const env = { PATH: process.env.PATH, HOME: home, GW_BASE_URL: base, GW_API_KEY: 'bench-key' };

const body = (model) => JSON.stringify({ model, messages: [{ role: 'user', content: 'hi' }], stream: true });
const programs = {
  gw: (model) => [node, gw, 'chat', 'hi', '-m', model],
  'official SDK': (model) => [node, path.join(here, 'chat-sdk.js'), model],
};
if (spawnSync('curl', ['--version']).status === 0) {
  programs['curl -N (raw events)'] = (model) => [
    'curl',
    '-sN',
    '-H',
    'Authorization: Bearer k',
    '-H',
    'content-type: application/json',
    '-d',
    body(model),
    `${base}/v1/chat/completions`,
  ];
}

function measure([file, ...args]) {
  return new Promise((resolve, reject) => {
    const start = process.hrtime.bigint();
    const sinceMs = () => Number(process.hrtime.bigint() - start) / 1e6;
    const child = spawn(file, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
    let firstMs;
    let lastMs;
    let bytes = 0;
    let peak;
    const look = () => {
      peak = peakMiB(child.pid) ?? peak;
    };
    const timer = setInterval(look, 10);
    child.stdout.on('data', (chunk) => {
      lastMs = sinceMs();
      firstMs ??= lastMs;
      bytes += chunk.length;
    });
    child.stdout.on('end', look);
    child.on('error', reject);
    child.on('close', (code) => {
      clearInterval(timer);
      if (code === 0) resolve({ firstMs, streamMs: lastMs - firstMs, wholeMs: sinceMs(), bytes, peak });
      else reject(new Error(`${args.join(' ')} exited ${code}`));
    });
  });
}

const events = { large: Math.floor(50_000_000 / 1128), small: 20_000, many: 400_000, first: 1 };
const titles = {
  first: 'one event: time to the first byte',
  small: '20,000 small events',
  many: '400,000 small events',
  large: '50 MB of events of 1 kB',
};

try {
  console.log(`Chat streams, Node ${process.versions.node}, ${ROUNDS} interleaved rounds, medians`);
  for (const [model, title] of Object.entries(titles)) {
    const found = Object.fromEntries(Object.keys(programs).map((name) => [name, []]));
    for (let round = -2; round < ROUNDS; round += 1) {
      for (const [name, command] of Object.entries(programs)) {
        const result = await measure(command(model));
        if (round >= 0) found[name].push(result);
      }
    }
    console.log(
      `\n${title.padEnd(36)}${['first byte ms', 'least to most', 'stream ms', 'least to most', 'whole ms', 'events/s', 'peak MiB'].map((word) => word.padStart(15)).join('')}`,
    );
    for (const [name, results] of Object.entries(found)) {
      const of = (key) => median(results, key);
      const rate = events[model] > 1 ? Math.round(events[model] / (of('streamMs') / 1000)) : '';
      const cells = [
        of('firstMs').toFixed(1),
        spread(results, 'firstMs'),
        of('streamMs').toFixed(1),
        spread(results, 'streamMs'),
        of('wholeMs').toFixed(1),
        rate,
        of('peak')?.toFixed(0) ?? '?',
      ];
      console.log(`${name.padEnd(36)}${cells.map((cell) => String(cell).padStart(15)).join('')}`);
    }
  }
} finally {
  server.kill();
  rmSync(home, { recursive: true, force: true });
}
