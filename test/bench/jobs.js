// Measures the cost of a process that waits for 100, 1,000 and 10,000 jobs. Prints times and ratios; asserts nothing. It reads
// /proc and is left out on systems without it.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';

const root = path.join(import.meta.dirname, '../..');
const gw = path.join(root, 'bin/gw.js');
const dir = mkdtempSync(path.join(tmpdir(), 'gw-bench-jobs-'));
const sizes = [100, 1_000, 10_000];
const START_MS = 15_000;
const WAITED_MS = 20_000;

const line = (fields) => `\n${JSON.stringify(fields)}\n`;
const keyOf = (at) => `gw-0${at.toString(8).padStart(25, '0')}`;
const idOf = (at) => `vt-20261121001503-${String(at).padStart(20, '0')}`;

/** A ledger with `count` running jobs. */
function seed(state, count, { family, gateway }) {
  const now = new Date();
  const name = `${now.getUTCFullYear()}-${String(now.getUTCMonth() + 1).padStart(2, '0')}.jsonl`;
  mkdirSync(path.join(state, 'ledger'), { recursive: true, mode: 0o700 });
  let text = '';
  for (let at = 0; at < count; at += 1) {
    const event = (fields) => {
      text += line({ v: 1, t: now.getTime(), job: keyOf(at), ...fields });
    };
    event({
      event: 'intent',
      ...{ family, endpoint: `${family}.create`, model: 'm', prompt: 'a fox in the snow '.repeat(10) },
      ...{ settings: { resolution: '720p' }, media: [], bodySha256: '0'.repeat(64), profile: 'default' },
      ...{ gateway, save: { target: '/videos/{id}.{ext}', force: false, download: true } },
    });
    event({ event: 'sent' });
    event({ event: 'accepted', id: idOf(at), status: 'running' });
  }
  writeFileSync(path.join(state, 'ledger', name), text, { mode: 0o600 });
}

/** A gateway whose tasks run for ever. */
async function openGateway() {
  let requests = 0;
  const server = createServer((request, reply) => {
    requests += 1;
    const { pathname, searchParams } = new URL(request.url, 'http://x');
    const ids = searchParams.get('task_ids')?.split(',');
    const record = (id) => ({ id, status: 'running' });
    const body = ids ? { code: 0, data: ids.map(record) } : record(pathname.split('/').at(-1));
    reply.setHeader('content-type', 'application/json').end(JSON.stringify(body));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    requests: () => requests,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** CPU seconds and resident megabytes of a process so far. */
function costOf(pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const residentKb = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]);
  return { cpuS: (Number(fields[11]) + Number(fields[12])) / 100, mb: residentKb / 1024 };
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function waitFor(count, family) {
  const gateway = await openGateway();
  const home = path.join(dir, `${family}-${count}`);
  seed(path.join(home, 'state'), count, { family, gateway: gateway.url });
  const env = {
    ...{ PATH: process.env.PATH, HOME: home, GW_STATE_DIR: path.join(home, 'state') },
    ...{ GW_BASE_URL: gateway.url, GW_API_KEY: 'bench-key' },
  };
  const child = spawn(process.execPath, [gw, 'jobs', 'wait', '--all'], { env, stdio: 'ignore' });
  const ended = new Promise((resolve) => child.on('exit', resolve));
  try {
    await pause(START_MS);
    const [start, before] = [costOf(child.pid), gateway.requests()];
    await pause(WAITED_MS);
    const end = costOf(child.pid);
    const perMinute = ((gateway.requests() - before) * 60_000) / WAITED_MS;
    return { count, startS: start.cpuS, mb: end.mb, waitedS: end.cpuS - start.cpuS, perMinute };
  } finally {
    child.kill('SIGKILL');
    await ended;
    gateway.close();
  }
}

async function waitingCosts(family) {
  const costs = await Promise.all(sizes.map((count) => waitFor(count, family)));
  const [least] = costs;
  const seconds = WAITED_MS / 1000;
  console.log(
    `\ngw jobs wait, family ${family}: the first ${START_MS / 1000} s, then ${seconds} s of waiting\n`,
  );
  const head = ['jobs', 'MB', 'x', 'start s', 'x', 'CPU ms/s', 'x', 'requests/min'];
  console.log(head.map((word) => word.padStart(14)).join(''));
  for (const { count, startS, mb, waitedS, perMinute } of costs) {
    const cells = [
      ...[String(count), mb.toFixed(0), (mb / least.mb).toFixed(1), startS.toFixed(2)],
      ...[(startS / least.startS).toFixed(1), ((waitedS * 1000) / seconds).toFixed(1)],
      ...[(waitedS / Math.max(least.waitedS, 0.01)).toFixed(1), perMinute.toFixed(0)],
    ];
    console.log(cells.map((cell) => cell.padStart(14)).join(''));
  }
}

try {
  if (existsSync('/proc/self/stat')) for (const family of ['beta', 'alpha']) await waitingCosts(family);
} finally {
  rmSync(dir, { recursive: true, force: true });
}
