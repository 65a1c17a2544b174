import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { expect, vi } from 'vitest';
import { rowReader } from '../../src/commands/machines/open.ts';
import { decode } from '../../src/machines/decode.ts';
import type { LogEntry, RowRecord } from '../../src/machines/row.ts';
import type { Sandbox } from '../../src/sandbox/server.ts';
import { KEY, openSandbox, Place, pause, type Running, until } from '../cli/place.ts';
import { cmd } from '../helpers/cmd.ts';
import { openRedis, type TestRedis } from '../machines/redis.ts';
import { isWhole, kinds, takenOf } from './rows.ts';
import { isLong, type Round, tell, torture } from './torture.ts';

// @module-tag redis-server
// Three workers run on separate machines. Every few seconds one is killed and replaced on a new machine, with a new ledger.
// Afterwards each row has one task, no reply was a 429, and every output is the gateway's. The worker of a row of unknown
// outcome was killed between "about to send" and the task's ID, and the row names that worker.

/** Long runs have 300 rows, or a Redis that is down for a minute. */
const longestRoundMs = isLong ? 900_000 : 120_000;

const in4k = { command: 'video alpha', model: '2.0', body: { resolution: '4k', duration: 5 } };

interface Studio {
  readonly sandbox: Sandbox;
  readonly redis: TestRedis;
  readonly laptop: Place;
  readonly rows: number;
  readonly env: Record<string, string>;
  readonly places: Map<string, Place>;
  readonly killed: Set<string>;
}

async function openStudio(
  rows: number,
  speed: number,
  after: Round['after'],
  has4k = false,
): Promise<Studio> {
  const sandbox = await openSandbox({ speed }, after);
  const redis = await openRedis({ appendOnly: true }, after);
  const laptop = new Place(sandbox);
  after(() => laptop.close());
  const lines = Array.from({ length: rows }, (_, at) =>
    JSON.stringify({
      ...(has4k && at % 25 === 0 ? in4k : kinds[at % kinds.length]),
      ...{ id: `r${at}`, prompt: `fox number ${at}.` },
    }),
  );
  fs.writeFileSync(path.join(laptop.cwd, 'day.jsonl'), `${lines.join('\n')}\n`);
  // The account allows ten tasks at once.
  const env = { GW_REDIS_URL: redis.url, GW_INTERVAL: '1s', GW_TIMEOUT: '120s' };
  await laptop.run(['config', 'set', 'account', 'enterprise']);
  return { sandbox, redis, laptop, rows, env, places: new Map(), killed: new Set() };
}

type Worker = Running & { readonly name: string };

function startWorker(studio: Studio, after: Round['after']): Worker {
  const name = `m${studio.places.size}`;
  const place = new Place(studio.sandbox);
  after(() => place.close());
  studio.places.set(name, place);
  const words = ['worker', '--listen', '0', '--redis', '--name', name];
  return Object.assign(place.start(words, { env: studio.env }), { name });
}

const batch = ({ laptop, env }: Studio) => laptop.start(['batch', 'run', 'day.jsonl', '--redis'], { env });

async function expectOnce(studio: Studio, { counts }: Round): Promise<{ unknown: number }> {
  const { sandbox, redis, places, killed, rows } = studio;
  const wrong: string[] = [];
  let unknown = 0;
  for (let at = 0; at < rows; at += 1) {
    const taken = takenOf(sandbox, at);
    const [rowKey = ''] = await redis.client.keys(`*:row:day/r${at}`);
    const row = decode(`day/r${at}`, await redis.client.hgetall(rowKey), rowReader) as RowRecord;
    const log = (await redis.client.lrange(rowKey.replace(':row:', ':log:'), 0, -1)).map(
      (line) => JSON.parse(line) as LogEntry,
    );
    if (taken > 1) counts.doubled += 1;
    if (taken > 1) wrong.push(`row ${at}: ${taken} creates`);
    if (row.state === 'unknown') {
      unknown += 1;
      const sender = log.filter(({ step }) => step === 'sending').at(-1)?.host ?? '';
      if (!killed.has(sender)) wrong.push(`row ${at}: unknown, and ${sender} was not killed`);
      if (row.family === 'beta') wrong.push(`row ${at}: family B, and unknown`);
      if (!row.error?.message.includes(sender)) wrong.push(`row ${at}: ${row.error?.message}`);
      continue;
    }
    if (row.state !== 'saved' || row.files.length !== 1 || taken !== 1) {
      counts.lost += 1;
      wrong.push(`row ${at}: ${taken} creates, ${row.state}, ${JSON.stringify(row.error)}`);
      continue;
    }
    const [file] = row.files;
    const place = places.get(row.host ?? '');
    if (
      file &&
      (await isWhole(
        file,
        (await place?.jobs())?.find(({ id }) => id === row.id),
      ))
    )
      continue;
    counts.halfFiles += 1;
    wrong.push(`row ${at}: ${file?.path} is not what was recorded, or not what the gateway has`);
  }
  const limited = sandbox.requests.filter(({ status }) => status === 429);
  if (limited.length > 0) wrong.push(`${limited.length} replies 429`);
  const everything = await redis.everything();
  if (everything.includes(KEY)) wrong.push('the key is on the queue');
  if (/https?:\/\//.test(everything)) wrong.push('a link is on the queue');
  if (wrong.length > 0) throw new Error(wrong.join('\n'));
  return { unknown };
}

interface Strikes {
  readonly workers: number;
  readonly rows: number;
  readonly speed: number;
  /** Interval at which a worker is killed and replaced, or stopped for a while. */
  readonly everyMs: number;
  readonly kills: number;
  /** Longest time that a worker is stopped: longer than the queue waits for it. When unset, no worker is stopped. */
  readonly stopMs?: number;
  /** Every 25th row asks for 4K in its body. */
  readonly has4k?: boolean;
}

/** Runs the batch to its end, and again while it reports rows that were never sent. Rows of unknown outcome stay as they are. */
async function follow(studio: Studio): Promise<void> {
  for (let tries = 0; ; tries += 1) {
    const { code, err } = await batch(studio).ended;
    expect([0, 13, 14], err).toContain(code);
    expect(err).toContain(`${studio.rows} rows: `);
    expect(err).not.toContain('fault of gw');
    if (!/never sent/.test(err) || tries === 5) return;
  }
}

async function strike(round: Round, { workers: most, everyMs, kills, stopMs, ...of }: Strikes) {
  const { random, counts, after } = round;
  const studio = await openStudio(of.rows, of.speed, after, of.has4k);
  const workers = Array.from({ length: most }, () => startWorker(studio, after));
  let isOver = false;
  const followed = follow(studio).finally(() => {
    isOver = true;
  });
  const stopped = new Set<Promise<void>>();
  const killed = counts.kills + kills;
  while (!isOver && (counts.kills < killed || stopMs !== undefined)) {
    await Promise.race([pause(everyMs * (0.5 + random())), followed]);
    if (isOver) break;
    const at = Math.floor(random() * workers.length);
    const victim = workers[at];
    if (!victim) break;
    if (stopMs !== undefined && random() < 0.5) {
      victim.child.kill('SIGSTOP');
      counts.faults += 1;
      const goesOn = pause(random() * stopMs).then(() => {
        victim.child.kill('SIGCONT');
        stopped.delete(goesOn);
      });
      stopped.add(goesOn);
    } else if (counts.kills < killed) {
      studio.killed.add(victim.name);
      victim.child.kill('SIGKILL');
      counts.kills += 1;
      workers[at] = startWorker(studio, after);
    }
  }
  await followed;
  await Promise.all(stopped);
  await expectFigures(studio, workers);
  for (const { child, ended } of workers) {
    child.kill('SIGTERM');
    expect(await ended).toMatchObject({ code: 143, err: expect.not.stringContaining('fault of gw') });
  }
  const { unknown } = await expectOnce(studio, round);
  tell('rows of several machines', { rows: of.rows, unknown });
}

/** The slots of all five pools that are taken; a task of a row of unknown outcome may still have one. */
function slotsUsed(metrics: string): number {
  const slots = [...metrics.matchAll(/^gw_slots_used\{pool="[\w-]+"\} (\d+)$/gm)].map(([, used]) =>
    Number(used),
  );
  expect(slots).toHaveLength(5);
  return slots.reduce((sum, used) => sum + used, 0);
}

/** Compares /metrics of the remaining workers with the gateway's own counts, and checks the format with promtool. */
async function expectFigures({ sandbox, redis, rows }: Studio, workers: readonly Worker[]): Promise<void> {
  const logs = await Promise.all(
    Array.from({ length: rows }, async (_, at) => {
      const lines = await redis.client.lrange((await redis.client.keys(`*:log:day/r${at}`))[0] ?? '', 0, -1);
      return lines.map((line) => JSON.parse(line) as LogEntry);
    }),
  );
  const paid = sandbox.requests.flatMap(({ server, method, body, atMs }) => {
    if (server !== 'api' || method !== 'POST') return [];
    const row = Number(/fox number (\d+)\./.exec(JSON.stringify(body ?? ''))?.[1]);
    return logs[row]?.filter(({ step, t }) => step === 'sending' && t <= atMs + 1).at(-1)?.host ?? [];
  });
  const saved = logs.flatMap((log) => log.filter(({ step }) => step === 'saved').map(({ host }) => host));
  const countOf = (hosts: readonly string[], name: string) => hosts.filter((host) => host === name).length;
  for (const { name, err } of workers) {
    await until('it listens', () => /metrics, health/.test(err()), 60_000);
    const [, url = ''] = /(http:\S+)\/metrics/.exec(err()) ?? [];
    const metrics = async () => (await fetch(`${url}/metrics`)).text();
    // A row is saved a moment before its slot is free.
    const unknown = logs.filter((log) => log.at(-1)?.step === 'lost').length;
    await vi.waitFor(async () => expect(slotsUsed(await metrics())).toBeLessThanOrEqual(unknown), 60_000);
    const text = await metrics();
    const figureOf = (figure: string) => Number(new RegExp(`^${figure} (\\d+)$`, 'm').exec(text)?.[1]);
    const told = ['gw_creates_total', 'gw_downloads_total', 'gw_replies_429_total'].map(figureOf);
    expect(told, name).toEqual([countOf(paid, name), countOf(saved, name), 0]);
    const states = [...text.matchAll(/^gw_rows\{state="\w+"\} (\d+)$/gm)].map(([, count]) => Number(count));
    expect(states.reduce((sum, count) => sum + count, 0)).toBe(rows);
    // Short runs cannot rely on promtool, because not every machine has it.
    if (!isLong) continue;
    const checked = spawnSync('promtool', ['check', 'metrics'], { input: text, encoding: 'utf8' });
    expect(`${checked.stdout}${checked.stderr}`).toBe('');
  }
}

const strikes: Readonly<Record<string, readonly [short: Strikes | undefined, long: Strikes]>> = {
  'three workers, one killed every few seconds': [
    { workers: 3, rows: 16, speed: 60, everyMs: 5_000, kills: 1 },
    { workers: 3, rows: 300, speed: 10, everyMs: 10_000, kills: 60 },
  ],
  'twenty workers, killed and stopped at random': [
    undefined,
    { workers: 20, rows: 300, speed: 2, everyMs: 4_000, kills: 100, stopMs: 25_000 },
  ],
  '1,000 rows with 4K by body, and 20 kills': [
    undefined,
    { workers: 3, rows: 1_000, speed: 20, everyMs: 10_000, kills: 20, has4k: true },
  ],
};
for (const [name, [short, long]] of Object.entries(strikes))
  torture(name, { short: short ? 1 : 0, longestRoundMs }, (round) =>
    strike(round, isLong || !short ? long : short),
  );

torture('Redis stopped in mid-run and started again', { short: 1, longestRoundMs }, async (round) => {
  const [rows, awayMs, speed] = isLong ? [60, 60_000, 10] : [8, 3_000, 60];
  const studio = await openStudio(rows, speed, round.after);
  const workers = Array.from({ length: 2 }, () => startWorker(studio, round.after));
  const running = batch(studio);
  for (
    let tries = 0;
    tries < 500 && !(await studio.redis.everything()).includes('"state":"running"');
    tries += 1
  ) {
    await pause(20);
  }
  await studio.redis.stop();
  await pause(awayMs);
  await studio.redis.start();
  round.counts.faults += 1;
  const { code, err } = await running.ended;
  expect(code, err).toBe(0);
  for (const worker of workers) {
    worker.child.kill('SIGTERM');
    await worker.ended;
  }
  const { unknown } = await expectOnce(studio, round);
  expect(unknown).toBe(0);
});

torture('followers killed while they hand over', { short: 1, longestRoundMs }, async (round) => {
  const [rows, kills] = isLong ? [900, 200] : [60, 3];
  const studio = await openStudio(rows, 300, round.after);
  const worker = startWorker(studio, round.after);
  const longest = performance.now() + longestRoundMs * 0.8;
  for (let at = 0; at < kills && performance.now() < longest; at += 1) {
    const running = batch(studio);
    await Promise.race([pause(300 + round.random() * 2_000), running.ended]);
    running.child.kill('SIGKILL');
    await running.ended;
    round.counts.kills += 1;
  }
  const last = await studio.laptop.run(cmd`batch run day.jsonl --redis --detach`, {
    env: studio.env,
  });
  expect([0, 13], last.err).toContain(last.code);
  worker.child.kill('SIGTERM');
  await worker.ended;
  const keys = await studio.redis.client.keys('*:row:day/*');
  const states = await Promise.all(keys.map((key) => studio.redis.client.hget(key, 'state')));
  round.counts.lost += rows - keys.length + states.filter((state) => state === 'unknown').length;
  const made = studio.sandbox.requests.flatMap(({ method, body, status }) =>
    method === 'POST' && status === 200
      ? (/fox number \d+\./.exec(JSON.stringify(body ?? ''))?.[0] ?? [])
      : [],
  );
  round.counts.doubled += made.length - new Set(made).size;
  tell('rows that were handed over by followers that were killed', { rows: keys.length, made: made.length });
});
