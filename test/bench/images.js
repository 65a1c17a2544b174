// Measures two promised figures for images: the memory for saving a large image, relative to its size, and the cost of sending
// sixteen large images as a form. Compares each with curl doing the same transfer. Prints medians; asserts nothing.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { median, peakMiB } from './cost.js';

const ROUNDS = Number(process.env.BENCH_IMAGE_ROUNDS ?? 5);
const MIB = 1024 * 1024;
const SAVED_MIB = 25;
const SENT_MIB = 20;
const SENT = 16;
const SMALL = 'gw image create (1 kB as Base64)';
const gw = path.join(import.meta.dirname, '../../bin/gw.js');
const home = mkdtempSync(path.join(tmpdir(), 'gw-bench-'));

/** Bytes that begin and end like a PNG and do not compress. */
function fakePng(bytes) {
  const png = Buffer.alloc(bytes);
  for (let at = 0, block = 0; at < bytes; at += 32, block += 1) {
    createHash('sha256').update(String(block)).digest().copy(png, at);
  }
  Buffer.from('89504e470d0a1a0a', 'hex').copy(png);
  Buffer.from('0000000049454e44ae426082', 'hex').copy(png, bytes - 12);
  return png;
}

const image = fakePng(SAVED_MIB * MIB);
const large = Buffer.from(JSON.stringify({ created: 1, data: [{ b64_json: image.toString('base64') }] }));
const small = JSON.stringify({ created: 1, data: [{ b64_json: fakePng(1000).toString('base64') }] });
let received = 0;
const server = createServer((request, reply) => {
  let head;
  request.on('data', (chunk) => {
    head ??= chunk.toString('latin1');
    received += chunk.length;
  });
  request.on('end', () => {
    reply.setHeader('content-type', 'application/json');
    reply.end(request.url.endsWith('/edits') || head?.includes('small') ? small : large);
  });
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const base = `http://127.0.0.1:${server.address().port}`;
const env = { PATH: process.env.PATH, HOME: home, GW_BASE_URL: base, GW_API_KEY: 'bench-key' };
const inputs = Array.from({ length: SENT }, (_, index) => {
  const file = path.join(home, `input-${index}.png`);
  writeFileSync(file, fakePng(SENT_MIB * MIB));
  return file;
});

function measure([file, ...args]) {
  const dir = mkdtempSync(path.join(home, 'run-'));
  return new Promise((resolve, reject) => {
    const start = process.hrtime.bigint();
    const child = spawn(file, args, { cwd: dir, env, stdio: ['ignore', 'ignore', 'inherit'] });
    let peak;
    const timer = setInterval(() => {
      peak = peakMiB(child.pid) ?? peak;
    }, 4);
    child.on('error', reject);
    child.on('close', (code) => {
      clearInterval(timer);
      const files = readdirSync(dir);
      rmSync(dir, { recursive: true, force: true });
      const ms = Number(process.hrtime.bigint() - start) / 1e6;
      if (code === 0) resolve({ ms, peak: peak ?? Number.NaN, files });
      else reject(new Error(`${args.slice(0, 3).join(' ')} exited ${code}`));
    });
  });
}

const node = process.execPath;
const forms = inputs.flatMap((file) => ['--image', file]);
const programs = {
  'node -e 0': [node, '-e', 'setTimeout(()=>{},50)'],
  [SMALL]: [node, gw, 'image', 'create', 'a small fox', '-q'],
  [`gw image create (${SAVED_MIB} MiB as Base64)`]: [node, gw, 'image', 'create', 'a fox', '-q'],
  [`gw image edit (${SENT} x ${SENT_MIB} MiB as a form)`]: [
    node,
    gw,
    'image',
    'edit',
    'a fox',
    ...forms,
    '-q',
  ],
};
if (spawnSync('curl', ['--version']).status === 0) {
  const auth = ['-s', '-o', 'out', '-H', 'Authorization: Bearer k'];
  programs['curl (the same reply, not decoded)'] = [
    'curl',
    ...auth,
    '-d',
    '{}',
    `${base}/v1/images/generations`,
  ];
  programs['curl (the same form)'] = [
    'curl',
    ...auth,
    ...inputs.flatMap((file) => ['-F', `image[]=@${file}`]),
    `${base}/v1/images/edits`,
  ];
}

try {
  console.log(`Images, Node ${process.versions.node}, ${ROUNDS} interleaved rounds, medians\n`);
  const found = Object.fromEntries(Object.keys(programs).map((name) => [name, []]));
  for (let round = -1; round < ROUNDS; round += 1) {
    for (const [name, command] of Object.entries(programs)) {
      const result = await measure(command);
      if (round >= 0) found[name].push(result);
    }
  }
  const columns = ['ms', 'peak MiB', 'for it MiB', 'x image'];
  console.log(`${''.padEnd(42)}${columns.map((word) => word.padStart(15)).join('')}`);
  // Memory that gw needs for any image does not count as the cost of a large one.
  const floor = median(found[SMALL], 'peak');
  for (const [name, results] of Object.entries(found)) {
    const peak = median(results, 'peak');
    const isSaved = name.includes(`${SAVED_MIB} MiB`);
    const costs = isSaved || name.startsWith('gw image edit') ? peak - floor : undefined;
    const cells = [
      median(results, 'ms').toFixed(0),
      peak.toFixed(0),
      costs?.toFixed(0) ?? '',
      isSaved && costs !== undefined ? (costs / SAVED_MIB).toFixed(2) : '',
    ];
    console.log(`${name.padEnd(42)}${cells.map((cell) => cell.padStart(15)).join('')}`);
  }
  console.log(`\nthe server took ${(received / MIB).toFixed(0)} MiB`);
} finally {
  server.close();
  rmSync(home, { recursive: true, force: true });
}
