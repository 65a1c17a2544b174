// Measures the share of an account's slots that several gw of one user fill with `create --wait --interval 1s`, all started at
// once. The gateway's tasks last 5 s and 29 s, three run at once, and it counts the share: the tasks' time divided by three
// times the time from the first create to the end of the last task. Prints the shares; asserts nothing.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { openGateway, usedSlots } from './slot-gateway.js';

const gw = path.join(import.meta.dirname, '../../bin/gw.js');
const SLOTS = 3;

/** Runs `count` creates with tasks that last `lastMs`. Resolves with the gateway's counts. */
async function round(lastMs, count) {
  const gateway = await openGateway({ lastMs, slots: SLOTS });
  const home = mkdtempSync(path.join(tmpdir(), 'gw-bench-slots-'));
  const { PATH } = process.env;
  const env = { PATH, HOME: home, GW_BASE_URL: gateway.base, GW_API_KEY: 'bench-key' };
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
    return {
      used: usedSlots(gateway.seen, { lastMs, slots: SLOTS }),
      made: gateway.seen.tasks.size,
      refused: gateway.seen.tooManyTasks,
      failed: codes.filter((code) => code !== 0).length,
    };
  } finally {
    gateway.close();
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
