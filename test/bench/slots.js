// Measures the share of an account's slots that several gw of one user fill with `create --wait --interval 1s`, all started at
// once. The gateway's tasks last 5 s and 29 s, three run at once, and it counts the share: the tasks' time divided by three
// times the time from the first create to the end of the last task. Prints the shares; asserts nothing.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';

const gw = path.join(import.meta.dirname, '../../bin/gw.js');
const SLOTS = 3;

/** Runs `count` creates with tasks that last `lastMs`. Resolves with the gateway's counts. */
async function round(lastMs, count) {
  const tasks = new Map();
  let refused = 0;
  const server = createServer((request, reply) => {
    reply.setHeader('content-type', 'application/json');
    request.resume().on('end', () => {
      const nowMs = performance.now();
      if (request.method === 'POST') {
        const running = [...tasks.values()].filter((startMs) => nowMs < startMs + lastMs).length;
        if (running >= SLOTS) {
          refused += 1;
          reply.writeHead(429).end('{"error":{"message":"too many tasks at once"}}');
          return;
        }
        const id = `vt-20261121001503-${String(tasks.size).padStart(20, '0')}`;
        tasks.set(id, nowMs);
        reply.end(JSON.stringify({ id, task_id: id, object: 'video', model: 'm', status: 'queued' }));
        return;
      }
      const id = path.basename(request.url ?? '');
      const isDone = nowMs >= (tasks.get(id) ?? 0) + lastMs;
      const content = { video_url: 'https://outputs.example/clip.mp4' };
      reply.end(
        JSON.stringify({
          id,
          model: 'm',
          status: isDone ? 'succeeded' : 'running',
          ...(isDone && { content }),
        }),
      );
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const home = mkdtempSync(path.join(tmpdir(), 'gw-bench-slots-'));
  const { PATH } = process.env;
  const url = `http://127.0.0.1:${server.address().port}`;
  const env = { PATH, HOME: home, GW_BASE_URL: url, GW_API_KEY: 'bench-key' };
  try {
    spawnSync(process.execPath, [gw, 'config', 'set', 'account', 'personal'], { env });
    const words = ['video', 'alpha', 'create', 'a fox', '--wait', '--no-download', '--interval', '1s'];
    const codes = await Promise.all(
      Array.from(
        { length: count },
        () =>
          new Promise((resolve) => {
            spawn(process.execPath, [gw, ...words], { env, cwd: home, stdio: 'ignore' }).on('close', resolve);
          }),
      ),
    );
    const starts = [...tasks.values()];
    const wholeMs = Math.max(...starts) + lastMs - Math.min(...starts);
    return {
      used: (starts.length * lastMs) / (SLOTS * wholeMs),
      made: starts.length,
      refused,
      failed: codes.filter((code) => code !== 0).length,
    };
  } finally {
    server.close();
    rmSync(home, { recursive: true, force: true });
  }
}

console.log(`\nslots used of ${SLOTS}, by creates that wait, each looking every second\n`);
console.log(
  `${'tasks'.padEnd(20)}${'used'.padStart(8)}${'made'.padStart(8)}${'429'.padStart(8)}${'failed'.padStart(8)}`,
);
for (const [lastMs, count] of [
  [5_000, 12],
  [29_000, 6],
]) {
  const { used, made, refused, failed } = await round(lastMs, count);
  const cells = [`${Math.round(used * 100)} %`, made, refused, failed].map((cell) =>
    String(cell).padStart(8),
  );
  console.log(`${`${count} of ${lastMs / 1000} s`.padEnd(20)}${cells.join('')}`);
}
