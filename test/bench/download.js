// Compares a download of 1 GiB by gw (with SHA-256, as always), by `curl -o` and by `curl | sha256sum`. The server and the
// disk are in memory. Prints medians and ratios; asserts nothing.
import { fork, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { median, spread } from './cost.js';

const GIB = 1024 ** 3;
const ROUNDS = 5;
const id = 'vt-20261120120000-00000000000000000001';

/** Serves the record of one task, and its output: a small clip that is filled up with zeros to 1 GiB. */
function serve() {
  const clips = path.join(import.meta.dirname, '../../src/sandbox/clips');
  const clip = readFileSync(
    path.join(
      clips,
      readdirSync(clips).find((name) => name.endsWith('.mp4')),
    ),
  );
  const free = Buffer.alloc(16);
  free.writeUInt32BE(1, 0);
  free.write('free', 4, 'latin1');
  free.writeBigUInt64BE(BigInt(GIB - clip.length), 8);
  const head = Buffer.concat([clip, free]);
  const zeros = Buffer.alloc(1024 * 1024);
  const server = createServer((request, reply) => {
    if (!request.url.startsWith('/out')) {
      const content = { video_url: `http://127.0.0.1:${server.address().port}/out.mp4` };
      const record = { id, model: 'm', status: 'succeeded', content, created_at: 1, updated_at: 1 };
      return reply.setHeader('content-type', 'application/json').end(JSON.stringify(record));
    }
    reply.writeHead(200, { 'content-type': 'video/mp4', 'content-length': GIB, etag: '"one"' });
    let at = head.length;
    reply.write(head);
    const more = () => {
      while (at < GIB) {
        const piece = zeros.subarray(0, Math.min(zeros.length, GIB - at));
        at += piece.length;
        if (!reply.write(piece)) return reply.once('drain', more);
      }
      reply.end();
    };
    more();
  });
  server.listen(0, '127.0.0.1', () => process.send(server.address().port));
}

if (process.argv.includes('--serve')) serve();
else await compare();

async function compare() {
  const dir = mkdtempSync(path.join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'gw-bench-'));
  const server = fork(import.meta.filename, ['--serve']);
  const port = await new Promise((resolve) => server.once('message', resolve));
  const gw = path.join(import.meta.dirname, '../../bin/gw.js');
  const env = {
    PATH: process.env.PATH,
    HOME: dir,
    GW_BASE_URL: `http://127.0.0.1:${port}`,
    GW_API_KEY: 'bench-key',
  };
  const link = `http://127.0.0.1:${port}/out.mp4`;
  const commands = {
    'curl -o': ['curl', '-s', '-o', 'out.mp4', link],
    'gw (with SHA-256)': [process.execPath, gw, 'video', 'alpha', 'download', id, '-o', 'out.mp4', '-q'],
    'curl | tee | sha256sum': ['sh', '-c', `curl -s ${link} | tee out.mp4 | sha256sum`],
  };
  const times = Object.fromEntries(Object.keys(commands).map((name) => [name, []]));
  try {
    for (let round = -1; round < ROUNDS; round += 1) {
      for (const [name, [file, ...args]] of Object.entries(commands)) {
        const startMs = performance.now();
        const child = spawn(file, args, { env, cwd: dir, stdio: ['ignore', 'ignore', 'inherit'] });
        const code = await new Promise((resolve) => child.on('exit', resolve));
        if (code !== 0) throw new Error(`${name} exited ${code}`);
        if (round >= 0) times[name].push({ ms: performance.now() - startMs });
        // Remove the ledger too, so that each round downloads everything. The code cache stays.
        for (const left of ['out.mp4', '.local'])
          rmSync(path.join(dir, left), { recursive: true, force: true });
      }
    }
    console.log(
      `A download of 1 GiB, Node ${process.versions.node}, ${ROUNDS} interleaved rounds, medians\n`,
    );
    for (const [name, runs] of Object.entries(times)) {
      const ms = median(runs, 'ms');
      const speed = median(times['curl -o'], 'ms') / ms;
      console.log(
        `${name.padEnd(26)}${ms.toFixed(0).padStart(8)} ms (${spread(runs, 'ms')})   ${speed.toFixed(2)} of curl's speed`,
      );
    }
  } finally {
    server.kill();
    rmSync(dir, { recursive: true, force: true });
  }
}
