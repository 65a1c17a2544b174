import * as fs from 'node:fs';
import * as path from 'node:path';
import { expect, test } from 'vitest';
import { openPlace, openSandbox, Place, pause, until } from '../cli/place.ts';
import { cmd } from '../helpers/cmd.ts';
import { openRedis } from '../machines/redis.ts';
import { openRedisProxy } from '../machines/redis-proxy.ts';
import { kinds } from './rows.ts';
import { isLong, type Round, tell, torture } from './torture.ts';

// @module-tag redis-server
// A worker that is about to send is stopped, or loses its connection to Redis, for longer than the queue waits for it. Once
// the queue has called the row lost, the worker must send nothing, whatever happens first when it is back, and the row can
// still be made.

async function oneRow({ random, pick, after, counts }: Round): Promise<{ unknown: number }> {
  const sandbox = await openSandbox({ speed: 100 }, after);
  const redis = await openRedis({ appendOnly: true }, after);
  const proxy = await openRedisProxy(redis.port, after);
  const place = () => {
    const made = new Place(sandbox);
    after(() => made.close());
    return made;
  };
  const [laptop, anna] = [place(), place()];
  const direct = { GW_INTERVAL: '200ms', GW_TIMEOUT: '60s', GW_REDIS_URL: redis.url };
  // The gateway may get a row of family B again, under its external ID.
  const row = { id: 'r0', prompt: 'a fox', ...pick(kinds.filter(({ command }) => command !== 'video beta')) };
  fs.writeFileSync(path.join(laptop.cwd, 'day.jsonl'), `${JSON.stringify(row)}\n`);
  const run = (...words: string[]) => laptop.run(cmd`batch run day.jsonl --redis ${words}`, { env: direct });
  const how = pick(['stopped', 'stopped behind the answer', 'cut off'] as const);
  const isAlone = random() < 0.5;
  const pauseMs = 15_000 + random() * 10_000;
  const paid = () => sandbox.requests.filter(({ server, method }) => server === 'api' && method === 'POST');

  const worker = anna.start(cmd`worker --redis --name anna`, {
    env: { ...direct, GW_REDIS_URL: proxy.url },
  });
  await until('the worker is there', () => worker.err().includes('takes rows'), 60_000);
  const reached = proxy.at('"step":"sending"', how === 'cut off' ? 'swallow' : 'none');
  expect((await run('--detach')).code).toBe(0);
  await reached;
  if (how === 'stopped behind the answer') await pause(random() * 20);
  if (how !== 'cut off') worker.child.kill('SIGSTOP');
  counts.faults += 1;
  const others = isAlone ? [] : [place().start(['worker', '--redis', '--name', 'bert'], { env: direct })];
  await pause(pauseMs);
  const logOf = async () =>
    (await redis.client.lrange((await redis.client.keys('*:log:day/r0'))[0] ?? '', 0, -1)).join('\n');
  const [isLost, before] = [(await logOf()).includes('"step":"lost"'), paid().length];
  if (how === 'cut off') proxy.fault = 'none';
  else worker.child.kill('SIGCONT');
  // Give the worker time to resume and to report what it knows.
  await pause(4_000);
  if (isLost && paid().length > before) throw new Error(`a request after "lost" (${how}, ${row.command})`);
  let ended = await run();
  for (let tries = 0; tries < 3 && ended.code !== 0; tries += 1) ended = await run();
  const what = `${how}, ${row.command}, ${isAlone ? 'alone' : 'with another'}: ${ended.err}\n${await logOf()}`;
  expect(ended.code, what).toBe(0);
  for (const each of [worker, ...others]) {
    each.child.kill('SIGTERM');
    const { err } = await each.ended;
    expect(err, what).not.toContain('fault of gw');
  }
  if (paid().length !== 1) throw new Error(`${paid().length} creates: ${what}`);
  return { unknown: isLost ? 1 : 0 };
}

torture('a pause of 15 to 25 s at "about to send"', { short: 0, atOnce: 10 }, async (round) => {
  const { unknown } = await oneRow(round);
  tell('rows that were called lost by another meanwhile', { unknown });
});

// A gw is stopped for longer than --timeout while its reply comes in pieces. It must read the bytes that have arrived, and
// not count the stopped time as silence. A phase is the time in milliseconds since the gateway got the request.

const commands: Readonly<Record<string, readonly string[]>> = {
  alpha: ['video', 'alpha', 'create', 'a fox', '--duration', '4', '--wait'],
  beta: ['video', 'beta', 'create', 'a fox', '--duration', '3', '--wait'],
  gamma: 'video gamma create fox --duration 4 --resolution 768P --ratio 16:9 --wait'.split(' '),
  image: ['image', 'create', 'a fox'],
  stream: ['image', 'create', 'a fox', '--stream'],
  native: ['image', 'native', 'a fox'],
  chat: ['chat', 'a fox'],
  batch: ['batch', 'run', 'day.jsonl'],
};
const phases = [0, 150, 400, 800, 1500] as const;

async function stoppedRun(
  argv: readonly string[],
  phaseMs: number,
  round: Pick<Round, 'after'>,
): Promise<number | null> {
  const fault = 'create:slow,chat:slow,output:slow';
  const place = await openPlace({ speed: 100, fault, slowGapMs: 25 }, round.after);
  const row = {
    id: 'r',
    command: 'video gamma',
    prompt: 'a fox',
    resolution: '768P',
    ratio: '16:9',
    duration: 4,
  };
  fs.writeFileSync(path.join(place.cwd, 'day.jsonl'), `${JSON.stringify(row)}\n`);
  const running = place.start(argv, { env: { GW_TIMEOUT: '3s', GW_INTERVAL: '200ms' } });
  await until(
    'the request is there',
    () => place.sandbox.requests.some(({ method }) => method === 'POST'),
    60_000,
  );
  await pause(phaseMs);
  running.child.kill('SIGSTOP');
  await pause(7_000);
  running.child.kill('SIGCONT');
  const { code, err } = await running.ended;
  if (code !== 0) console.log(`${argv.join(' ')}, stopped after ${phaseMs} ms: exit ${code}: ${err}`);
  return code;
}

if (isLong) {
  test('phase of the stop x command: no reply that has come is thrown away', {
    timeout: 600_000,
  }, async () => {
    const cleaning: (() => unknown)[] = [];
    const after = (clean: () => unknown) => void cleaning.unshift(clean);
    const table: Record<string, Record<string, number | null>> = {};
    try {
      for (const [name, argv] of Object.entries(commands)) {
        const codes = await Promise.all(phases.map((phaseMs) => stoppedRun(argv, phaseMs, { after })));
        table[name] = Object.fromEntries(phases.map((phaseMs, at) => [`${phaseMs} ms`, codes[at] ?? null]));
      }
    } finally {
      for (const clean of cleaning) await clean();
    }
    console.table(table);
    expect(
      Object.values(table)
        .flatMap((row) => Object.values(row))
        .filter((code) => code !== 0),
    ).toEqual([]);
  });
}
