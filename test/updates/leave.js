// Makes what one version of gw leaves behind: a home with jobs of all families and states, a half-downloaded output, a chat
// session, the tasks of a sandbox, a half-finished batch, and the rows of a queue. Prints all of it as one JSON text for the
// tests of later versions:
//
//   node test/updates/leave.js NAME [path of that version's bin/gw.js] > test/updates/left-by-NAME.json
//
// The text has no path, address or host of the machine: `{HOME}` is the home. Needs redis-server.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { hostname, tmpdir } from 'node:os';
import path from 'node:path';
import { Redis } from 'ioredis';

const [name, gw = path.join(import.meta.dirname, '../../bin/gw.js')] = process.argv.slice(2);
if (name === undefined) throw new Error('give the name of the version');
const home = fs.mkdtempSync(path.join(tmpdir(), 'gw-leave-'));
const state = path.join(home, '.local/state/gw');
const config = path.join(home, '.config/gw');
const work = path.join(home, 'work');
const cacheDir = path.join(home, 'cache');
for (const dir of [work, path.join(config, 'presets')]) fs.mkdirSync(dir, { recursive: true, mode: 0o700 });

const running = new Set();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
  fs.rmSync(home, { recursive: true, force: true });
});

function start(argv, { env = {}, shell } = {}) {
  const words =
    shell === undefined
      ? [process.execPath, gw, ...argv]
      : ['bash', '-c', shell, process.execPath, gw, ...argv];
  const child = spawn(words[0], words.slice(1), {
    cwd: work,
    env: { PATH: process.env.PATH, HOME: home, XDG_CACHE_HOME: cacheDir, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  let [out, err] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text) => {
    out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text) => {
    err += text;
  });
  const ended = new Promise((resolve) =>
    child.once('close', (code) => {
      running.delete(child);
      resolve({ code, out, err });
    }),
  );
  return { child, ended, err: () => err };
}

/** Runs gw, and throws unless it ends with this exit code. */
async function run(argv, code = 0, options = {}) {
  const ended = await start(argv, options).ended;
  if (ended.code === code) return ended;
  throw new Error(`gw ${argv.join(' ')} ended with ${ended.code}, not ${code}: ${ended.err}`);
}

async function until(what, holds) {
  for (let tries = 0; tries < 3000; tries += 1) {
    if (await holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`never happened: ${what}`);
}

/** Starts gw and kills it as soon as a condition holds. */
async function killWhen(argv, what, holds, options) {
  const { child, ended } = start(argv, options);
  await until(what, holds);
  child.kill('SIGKILL');
  await ended;
}

const journals = () => {
  const dir = path.join(state, 'ledger');
  return fs.existsSync(dir) ? fs.readdirSync(dir).filter((each) => each.endsWith('.jsonl')) : [];
};
const journal = () => path.join(state, 'ledger', journals()[0] ?? 'none.jsonl');
const journalText = () => (journals().length === 0 ? '' : fs.readFileSync(journal(), 'utf8'));
const lines = () =>
  journalText()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));

// A gateway of family A whose answer depends on the prompt.
const stub = http.createServer((request, response) => {
  let body = '';
  request.on('data', (piece) => {
    body += piece;
  });
  request.on('end', () => {
    const send = (status, value) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    const times = { created_at: Math.floor(Date.now() / 1000), updated_at: Math.floor(Date.now() / 1000) };
    const id = (word) => `vt-20261123120000-${createHash('sha256').update(word).digest('hex').slice(0, 20)}`;
    if (request.method === 'POST') {
      if (body.includes('swallowed')) return;
      if (body.includes('reset')) return void response.socket.destroy();
      if (body.includes('refused'))
        return send(400, { error: { code: 'InvalidParameter', message: 'not this one' } });
      const made = id(body.includes('fails') ? 'fails' : 'is lost');
      const answer = {
        id: made,
        task_id: made,
        object: 'video',
        model: 'alpha-video-2-5-260628',
        status: 'queued',
      };
      return send(200, { ...answer, progress: 0, created_at: times.created_at });
    }
    if (request.url.includes(id('fails'))) {
      const error = { code: 'OutputVideoSensitiveContentDetected', message: 'it may not be shown' };
      return send(200, { id: id('fails'), status: 'failed', error, ...times });
    }
    send(404, { error: { code: 'ResourceNotFound', message: 'no such task' } });
  });
});
await new Promise((resolve) => stub.listen(0, '127.0.0.1', resolve));
const stubUrl = `http://127.0.0.1:${stub.address().port}`;
const elsewhere = { env: { GW_BASE_URL: stubUrl, GW_API_KEY: 'a-key-of-the-fixture-1234567890' } };

const alpha = ['video', 'alpha', 'create', '--model', '2.0-fast', '--resolution', '480p', '--duration', '4'];
const gamma = ['--resolution', '768P', '--duration', '4', '--ratio', '16:9'];
const small = ['--interval', '200ms'];

// 1. A half-downloaded output: no file may grow beyond 12 kB.
await run([...alpha, 'a half fetched fox', '--sandbox'], 0);
await until(
  'the task ends',
  async () =>
    (await start(['jobs', 'wait', '--all', '--sandbox', '--no-download', ...small]).ended).code === 0,
);
await start(['jobs', 'sync', '--sandbox'], { shell: 'ulimit -f 12; exec "$0" "$@"' }).ended;
if (!fs.readdirSync(work).some((each) => each.endsWith('.part'))) throw new Error('no part was left');
const half = lines()[0].job;

// 2. A saved job of every family, and a job that is not saved.
await run([...alpha, 'a saved fox', '--wait', '--sandbox', ...small]);
await run([...alpha, 'a fox that is not saved', '--wait', '--no-download', '--sandbox', ...small]);
await run([
  'video',
  'beta',
  'create',
  'a saved boat',
  '--duration',
  '3',
  '--once',
  'k1',
  '--wait',
  '--sandbox',
  ...small,
]);
await run(['video', 'gamma', 'create', 'a saved tree', ...gamma, '--wait', '--sandbox', ...small]);
await run(['image', 'create', 'a saved hill', '--size', '256x256', '--sandbox', '-o', 'hill.png']);

// 3. Jobs that failed or whose outcome is unknown.
await run([...alpha, 'it is refused'], 5, elsewhere);
await run([...alpha, 'its reply is reset'], 14, elsewhere);
await start([...alpha, 'nobody is there'], {
  env: { ...elsewhere.env, GW_BASE_URL: 'http://127.0.0.1:9', GW_RETRIES: '0' },
}).ended;
await start([...alpha, 'it fails', '--wait', ...small], elsewhere).ended;
/** Kills a create as soon as it is sent. */
const killSent = (prompt) =>
  killWhen(
    [...alpha, prompt],
    `${prompt} is sent`,
    () => {
      const job = lines().find((line) => line.prompt === prompt)?.job;
      return lines().some((line) => line.job === job && line.event === 'sent');
    },
    elsewhere,
  );
await killSent('it is swallowed');
await killSent('it is swallowed before it is sent');
// Change the ledger to the state after a kill before the first byte was sent.
const last = lines().findLast(({ event }) => event === 'intent').job;
fs.writeFileSync(
  journal(),
  journalText()
    .split('\n')
    .filter((line) => !(line.includes(last) && line.includes('"event":"sent"')))
    .join('\n'),
  { mode: 0o600 },
);
await run([...alpha, 'it is lost'], 0, elsewhere);
// Change the ledger to the state after a sync that finds no such task after a minute.
const { job: lost } = lines().findLast(({ event }) => event === 'intent');
const lostLine = {
  v: 1,
  t: Date.now(),
  job: lost,
  event: 'lost',
  message: 'the gateway no longer knows this task',
};
fs.appendFileSync(journal(), `\n${JSON.stringify(lostLine)}\n`);

// 4. A half-finished batch, and a running job of each family.
const rows = [1, 2, 3, 4].map((row) => ({
  id: `s${row}`,
  command: 'video beta',
  prompt: `row ${row}`,
  duration: 3,
}));
fs.writeFileSync(path.join(work, 'shots.jsonl'), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
await killWhen(
  ['batch', 'run', 'shots.jsonl', '--sandbox', '--concurrency', '2', '-q'],
  'two rows are accepted',
  () => lines().filter(({ event }) => event === 'accepted').length >= 9,
);

// 5. A queue: one row is saved, and the others wait or run when their worker is killed.
const server = net.createServer();
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const { port } = server.address();
await new Promise((resolve) => server.close(resolve));
const redisServer = spawn('redis-server', ['--port', String(port), '--save', '', '--bind', '127.0.0.1'], {
  cwd: home,
  stdio: 'ignore',
});
running.add(redisServer);
const redis = new Redis(port, '127.0.0.1', { maxRetriesPerRequest: null });
redis.on('error', () => {});
await redis.ping();
const queue = ['--redis', `redis://127.0.0.1:${port}`, '--sandbox'];
const queued = [
  { id: 'q1', command: 'video alpha', prompt: 'row 1', model: '2.0-fast', resolution: '480p', duration: 4 },
  { id: 'q2', command: 'video beta', prompt: 'row 2', duration: 3 },
  { id: 'q3', command: 'image create', prompt: 'row 3', size: '256x256' },
  { id: 'q4', command: 'video beta', prompt: 'row 4', duration: 3 },
];
fs.writeFileSync(path.join(work, 'queued.jsonl'), queued.map((row) => `${JSON.stringify(row)}\n`).join(''));
const follower = start(['batch', 'run', 'queued.jsonl', ...queue, '-q']);
const rowKeys = async () => (await redis.keys('gw:*:row:*')).sort();
const states = async () => Promise.all((await rowKeys()).map((key) => redis.hget(key, 'state')));
await until('the rows are on the queue', async () => (await states()).length === queued.length);
const worker = start(['worker', ...queue, '--name', 'anna', '--concurrency', '1']);
await until('a row is saved and another runs', async () => {
  const now = await states();
  return now.includes('saved') && now.includes('running') && now.includes('waiting');
});
for (const { child, ended } of [worker, follower]) {
  child.kill('SIGKILL');
  await ended;
}

// 6. A chat session, settings, a preset, prices, and a listener that was killed.
await run(['chat', '--session', 'trip', 'where to?', '--model', 'chat-pro', '--sandbox']).catch(() =>
  run(['chat', '--session', 'trip', 'where to?', '--sandbox']),
);
await run(['chat', '--session', 'trip', 'and then?', '--sandbox']);
await run(['config', 'set', 'interval', '2s']);
fs.writeFileSync(path.join(config, 'presets', 'small.yaml'), 'resolution: 480p\nduration: 4\n', {
  mode: 0o600,
});
fs.writeFileSync(
  path.join(work, 'prices.yaml'),
  'alpha-video-2-0-fast-260628: {per_second: 0.1, currency: CNY}\n',
);
await killWhen(['listen', '--port', '0', '--sandbox'], 'it listens', () => {
  const dir = path.join(state, 'listeners');
  return fs.existsSync(dir) && fs.readdirSync(dir).some((each) => each.endsWith('.json'));
});

// 7. Jobs that still run when this script ends.
await run([
  'video',
  'beta',
  'create',
  'a boat that sails on',
  '--duration',
  '3',
  '--once',
  'k2',
  '--sandbox',
]);
await run(['video', 'gamma', 'create', 'a tree that grows on', ...gamma, '--sandbox']);

/** A text of the home without the parts that differ by machine. */
const plain = (text) =>
  text
    .replaceAll(home, '{HOME}')
    .replaceAll(stubUrl, 'http://127.0.0.1:9')
    .replaceAll(`127.0.0.1:${port}`, '127.0.0.1:6379')
    .replace(/("host":")[^"]*/g, (whole, before) => (whole.includes('anna') ? whole : `${before}somewhere`))
    .replaceAll(hostname(), 'somewhere');

const files = {};
function keep(dir) {
  for (const each of fs
    .readdirSync(dir, { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const file = path.join(dir, each.name);
    const named = path.relative(home, file);
    // Locks name a process of this machine, a rate file is obsolete after a minute, and saved outputs are large.
    if (each.name === 'locks' || each.name === 'reserve' || each.name === 'cache') continue;
    if (each.isDirectory()) keep(file);
    else if (dir === work && /\.(mp4|png)$/.test(each.name)) continue;
    else {
      const bytes = fs.readFileSync(file);
      const isText = Buffer.from(bytes.toString('utf8')).equals(bytes) && !bytes.includes(0);
      files[named] = isText
        ? plain(bytes.toString('utf8')).split('\n')
        : { base64: bytes.toString('base64') };
    }
  }
}
keep(state);
keep(config);
keep(work);

// The output of this version about its jobs.
const answers = [];
for (const argv of [
  ['jobs', 'list', '--json'],
  ['jobs', 'stats', '--json'],
]) {
  answers.push({ argv, answer: JSON.parse(plain((await run(argv)).out)) });
}

const keys = [];
for (const key of (await redis.keys('*')).sort()) {
  const type = await redis.type(key);
  const read = {
    string: () => redis.get(key),
    hash: () => redis.hgetall(key),
    list: () => redis.lrange(key, 0, -1),
    set: () => redis.smembers(key),
    zset: () => redis.zrange(key, '0', '-1', 'WITHSCORES'),
    stream: () => redis.xrange(key, '-', '+'),
  }[type];
  // BullMQ's momentary state: the lock of a dead worker would have expired.
  if (key.endsWith(':lock') || key.includes(':stalled-check')) continue;
  keys.push({ key, type, value: JSON.parse(plain(JSON.stringify(await read()))) });
}
const left = { version: name, atMs: Date.now(), half, answers, files, redis: keys };
fs.writeSync(1, `${JSON.stringify(left, null, 1)}\n`);

redis.disconnect();
stub.closeAllConnections();
stub.close();
process.exit();
