import fs from 'node:fs';
import * as path from 'node:path';
import { expect } from 'vitest';
import { startSandbox } from '../../src/sandbox/server.ts';
import { wasmDir } from '../helpers/assets-dir.ts';
import { beforeWrites } from '../helpers/before-writes.ts';
import { honest, startFaultProxy } from '../helpers/fault-proxy.ts';
import { replyBytes } from '../helpers/fault-server.ts';
import { clipsDir, KEY, test, World } from '../helpers/gw.ts';
import { newDir } from '../helpers/new-dir.ts';

// Bad days of a batch: after any interruption, a second run continues; each row has one task, and its file is whole.
// The torture suite covers kills, and run.test.ts covers Ctrl-C.

const ROWS = 8;
const kinds = [
  { command: 'video alpha', model: '2.0-fast', resolution: '480p', duration: 4 },
  { command: 'video beta', duration: 3 },
  { command: 'video gamma', duration: 5, resolution: '768P', ratio: '16:9' },
  { command: 'image create' },
];
function manifest(world: World, of = kinds): string[] {
  const rows = Array.from({ length: ROWS }, (_, at) => ({
    ...of[at % of.length],
    id: `r${at}`,
    prompt: `fox number ${at}.`,
  }));
  const text = rows.map((row) => `${JSON.stringify(row)}\n`).join('');
  fs.writeFileSync(path.join(world.cwd, 'day.jsonl'), text);
  return ['batch', 'run', 'day.jsonl', '-o', 'out/{key}.{ext}'];
}

/** Checks that the gateway accepted exactly one create for each row and that each row has a saved file. */
function expectOnce(world: World, requests = world.sandbox.requests): void {
  for (let at = 0; at < ROWS; at += 1) {
    const taken = requests.filter(
      ({ method, body, status }) =>
        method === 'POST' && status === 200 && JSON.stringify(body ?? '').includes(`fox number ${at}.`),
    );
    expect(taken, `row ${at}`).toHaveLength(1);
  }
  expect(Object.keys(world.files()).filter((file) => file.startsWith('out/'))).toHaveLength(ROWS);
}

/** Calls `act` before the first wait between two looks. */
function atWait(world: World, act: () => void): void {
  const { sleep } = world.clock;
  world.clock.sleep = async (ms, signal) => {
    if (ms > 500) {
      world.clock.sleep = sleep;
      act();
    }
    return sleep.call(world.clock, ms, signal);
  };
}

test('every second create is met with a 429: the rows wait, and all are made once', async ({ world }) => {
  let creates = 0;
  const proxy = await startFaultProxy(world.sandbox.baseUrl, {
    faultOf: ({ method }) => {
      if (method !== 'POST') return honest;
      creates += 1;
      const reply = replyBytes(429, Buffer.from('{"error":{"message":"slow down"}}'), { 'retry-after': '2' });
      return creates % 2 === 0 ? honest : (socket) => void socket.write(reply);
    },
  });
  try {
    await world.ok(manifest(world), { env: { GW_BASE_URL: proxy.url } });
    expect(creates).toBeGreaterThanOrEqual(2 * ROWS);
    expectOnce(world);
  } finally {
    await proxy.close();
  }
});

test('a gateway that is away: nothing is sent; away for ten minutes in the middle: what runs is waited for', async () => {
  const stateDir = newDir();
  const world = await World.open({ stateDir, account: 'personal', keepRequests: true });
  const argv = manifest(world, kinds.slice(0, 1));
  const port = Number(new URL(world.sandbox.baseUrl).port);
  const gateways = [world.sandbox];
  const leave = () => world.sandbox.close();
  const comeBack = async () => {
    const { now } = world.clock;
    const rest = {
      account: 'personal',
      speed: 10,
      faults: [],
      clipsDir,
      wasmDir,
      port,
      stateDir,
      keepRequests: true,
      now,
    } as const;
    world.sandbox = await startSandbox({ key: KEY, ...rest });
    gateways.push(world.sandbox);
  };
  await leave();
  const away = await world.gw(argv);
  expect(away.code, away.err).toBe(8);
  expect(away.err).toMatch(
    /^8 rows: 0 saved, 8 not sent; go on with: gw batch run day\.jsonl -o 'out\/\{key\}\.\{ext\}'$/m,
  );
  await comeBack();
  // Once three tasks exist, the account's slots are all taken, so no create is under way.
  const { sleep } = world.clock;
  let awayAtMs: number | undefined;
  let isBack = false;
  world.clock.sleep = async (ms, signal) => {
    if (awayAtMs === undefined && world.sandbox.tasks().length === 3) {
      awayAtMs = world.clock.ms;
      await leave();
    } else if (!isBack && world.clock.ms > (awayAtMs ?? Number.POSITIVE_INFINITY) + 600_000) {
      isBack = true;
      await comeBack();
    }
    return sleep.call(world.clock, ms, signal);
  };
  const run = await world.gw(argv);
  expect(isBack, run.err).toBe(true);
  expect(run.code, run.err).toBe(0);
  expectOnce(
    world,
    gateways.flatMap(({ requests }) => requests),
  );
});

test('a clock that jumps an hour, as when a laptop sleeps, ends no row and pays for none again', async () => {
  const world = await World.open();
  atWait(world, () => {
    world.clock.ms += 3_600_000;
  });
  // Family C is left out, because its links expire within the hour.
  await world.ok(manifest(world, [...kinds.slice(0, 2), ...kinds.slice(3)]));
  expectOnce(world);
});

test('a clock that jumps back ends no row either', async ({ world }) => {
  const { now } = world.clock;
  let offMs = 0;
  world.clock.now = () => now() - offMs;
  atWait(world, () => {
    offMs = 3_600_000;
  });
  await world.ok(manifest(world));
  expectOnce(world);
});

test('a disk that is full from the third row on: nothing more is sent, and the next run makes the rest', async () => {
  const world = await World.open();
  const reserve = path.join(world.dir, '.local/state/gw/ledger/reserve');
  let intents = 0;
  let isMended = false;
  beforeWrites((text) => {
    if (text.includes('"event":"intent"')) intents += 1;
    const isId = text.includes('"event":"accepted"') && !fs.existsSync(reserve);
    if (!isMended && intents > 3 && text.includes('"event":"') && !isId)
      throw Object.assign(new Error('ENOSPC'), { code: 'ENOSPC', syscall: 'write' });
  });
  // There is no image row, because an image reply that could not be written to the full disk is lost.
  const argv = [...manifest(world, kinds.slice(0, 3)), '--concurrency', '3'];
  const full = await world.gw(argv);
  expect(full.code, full.err).toBe(13);
  expect(full.err.match(/the disk is full/g)?.length, full.err).toBeLessThanOrEqual(3);
  expect(world.sandbox.requests.filter(({ method }) => method === 'POST').length).toBeLessThanOrEqual(3);
  isMended = true;
  const rest = await world.gw(argv);
  expect([rest.code, rest.err.match(/unknown outcome/)], rest.err).toEqual([0, null]);
  expectOnce(world);
});
