// Uses one gw as a user would, even a file of `npm run binaries` under wine or qemu: `node test/binaries/drive.js ROUNDS
// COMMAND…`. Runs common jobs, then ROUNDS creates that are killed at random moments, each followed by `gw jobs sync`: nothing
// may be lost, doubled or partial. Prints the counts, and exits with 1 if a promise is broken.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import { createInterface } from 'node:readline';

const [rounds = '0', ...gw] = process.argv.slice(2);
const root = path.join(import.meta.dirname, '../..');
const KEY = 'drive-key-1234567890';
const LONGEST_MS = 120_000;
const dir = fs.mkdtempSync(path.join(tmpdir(), 'gw-drive-'));
const cwd = path.join(dir, 'out');
fs.mkdirSync(cwd);

const { NODE_EXTRA_CA_CERTS: _, ...outer } = process.env;
const env = {
  ...outer,
  HOME: path.join(dir, 'home'),
  GW_STATE_DIR: path.join(dir, 'state'),
  GW_CONFIG_DIR: path.join(dir, 'config'),
  GW_API_KEY: KEY,
};
fs.mkdirSync(env.HOME);

/** The streams of gw are files, because Node's pipes are sockets, which wine does not accept as streams. */
function start([file, ...args], stdin = '') {
  const at = fs.mkdtempSync(path.join(dir, 'run-'));
  const [input, out, err] = ['in', 'out', 'err'].map((name) => path.join(at, name));
  fs.writeFileSync(input, stdin);
  const fds = [fs.openSync(input, 'r'), fs.openSync(out, 'w'), fs.openSync(err, 'w')];
  const child = spawn(file, args, { cwd, env, stdio: fds });
  for (const fd of fds) fs.closeSync(fd);
  const timer = setTimeout(() => child.kill('SIGKILL'), LONGEST_MS);
  const read = (name) => fs.readFileSync(name, 'utf8').replaceAll('\r', '');
  const ended = new Promise((resolve) => {
    child.on('close', (code) => {
      clearTimeout(timer);
      resolve({ code, out: read(out), err: read(err) });
    });
  });
  return { child, ended };
}
const run = (...words) => start([...gw, ...words]).ended;
async function good(...words) {
  const { code, out, err } = await run(...words);
  assert.equal(code, 0, `${words.join(' ')}: ${code}: ${err}`);
  return out.trimEnd();
}

const serving = spawn(
  process.execPath,
  [
    path.join(root, 'bin/gw.js'),
    'sandbox',
    'serve',
    '--json',
    '-q',
    '--fresh',
    '--speed',
    '60',
    '--key',
    KEY,
  ],
  { env: { ...outer, HOME: path.join(dir, 'gateway') }, stdio: ['ignore', 'pipe', 'inherit'] },
);
const [line] = await new Promise((resolve) =>
  createInterface(serving.stdout).once('line', (text) => resolve([text])),
);
env.GW_BASE_URL = JSON.parse(line).base_url;

const tasksAt = async () => {
  const { out } = await start([
    process.execPath,
    path.join(root, 'bin/gw.js'),
    'video',
    'beta',
    'list',
    '--all',
    '--json',
  ]).ended;
  return out.trim().split('\n').filter(Boolean).length;
};
const filesOf = (pattern) => fs.readdirSync(cwd).filter((name) => pattern.test(name));

try {
  const version = await good('--version');
  const gamma = ['--resolution', '768P', '--duration', '4', '--ratio', '16:9'];
  for (const [family, ...more] of [['alpha'], ['beta'], ['gamma', ...gamma]]) {
    const began = Date.now();
    await good('video', family, 'create', 'a paper boat', '--wait', '-o', `${family}-{id}.{ext}`, ...more);
    console.log(`${version}: a video of ${family} in ${Date.now() - began} ms`);
  }
  await good('image', 'create', 'a fox', '-o', 'fox.png');
  assert.match(await good('chat', 'hello'), /./);
  fs.writeFileSync(
    path.join(cwd, 'rows.csv'),
    'id,command,prompt,out\r\nrow1,video alpha,a tree,row1.mp4\r\nrow2,image create,a hat,row2.png\r\n',
  );
  await good('batch', 'run', 'rows.csv');
  assert.equal((await good('jobs', 'list', '-q')).split('\n').length, 6);
  assert.match(await good('completion', 'bash'), /complete/);
  assert.match(await good('complete', '--at=vid'), /video/);
  assert.match(await good('help', 'man'), /^\.TH GW 1/);
  const asked = {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'drive', version: '1' } },
  };
  const served = await start([...gw, 'mcp'], `${JSON.stringify(asked)}\n`).ended;
  assert.equal(JSON.parse(served.out.split('\n')[0]).result.serverInfo.name, 'gw', served.err);
  assert.deepEqual(filesOf(/^(fox|row\d)/).sort(), ['fox.png', 'row1.mp4', 'row2.png']);

  const began = Date.now();
  await good('video', 'beta', 'create', 'how long one takes', '--wait', '-o', 'round-{id}.mp4');
  const tookMs = Date.now() - began;
  let kills = 0;
  const beta = ['video', 'beta', 'create', '--wait', '-o', 'round-{id}.mp4'];
  for (let round = 0; round < Number(rounds); round += 1) {
    const { child, ended } = start([...gw, ...beta, `round ${round}`, '--once', `round ${round}`]);
    await new Promise((resolve) => setTimeout(resolve, Math.random() * tookMs));
    if (child.kill('SIGKILL')) kills += 1;
    await ended;
    // A sync sends no create. When the gateway never got a create, only the same command can make its task, once.
    if ((await run('jobs', 'sync')).code === 14)
      await good(...beta, `round ${round}`, '--once', `round ${round}`);
  }
  const until = Date.now() + LONGEST_MS;
  const open = async () =>
    (await good('jobs', 'list', '--json'))
      .split('\n')
      .flatMap((text) => JSON.parse(text))
      .filter(({ status }) => !/succeeded|not_sent/.test(status));
  while ((await open()).length > 0) {
    assert.ok(Date.now() < until, `not finished: ${JSON.stringify(await open())}`);
    if ((await run('jobs', 'sync')).code !== 14) continue;
    // The killed process had not ended yet, so the sync of its round could not hold the job.
    for (const { once_key: key } of await open())
      if (/^round/.test(key)) await good(...beta, key, '--once', key);
  }
  // A kill in the trial of a disk leaves the trial's files, which the first save after ten seconds clears.
  if (filesOf(/\.try/).length > 0) {
    await new Promise((resolve) => setTimeout(resolve, 11_000));
    await good(...beta, 'the last');
  }
  const [tasks, files, parts] = [
    await tasksAt(),
    filesOf(/^(beta|round)-.*\.mp4$/),
    filesOf(/\.part$|\.try/),
  ];
  console.log(
    `${version}: ${kills} kills, ${tasks} tasks, ${files.length} files, ${parts.length} parts left`,
  );
  assert.equal(files.length, tasks);
  assert.ok(tasks <= Number(rounds) + 3, `${tasks} tasks of ${rounds} rounds`);
  assert.deepEqual(parts, []);
  for (const name of files) assert.ok(fs.statSync(path.join(cwd, name)).size > 1_000, name);
} finally {
  const closed = new Promise((resolve) => serving.once('close', resolve));
  serving.kill('SIGKILL');
  await closed;
  fs.rmSync(dir, { recursive: true, force: true, maxRetries: 9 });
}
