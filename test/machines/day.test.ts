import { expect, test } from 'vitest';
import { forward, held, type Place, until } from '../cli/place.ts';
import { make } from '../media/fixtures.ts';
import { openRedisProxy } from './redis-proxy.ts';
import { openStudio, paid, write } from './studio.ts';

// @module-tag redis-server
// The ordinary day of a batch on several machines: the manifest changes, rows are refused, and API keys are refused.

async function openDay(options: Parameters<typeof openStudio>[0] = {}) {
  const studio = await openStudio(options);
  return {
    ...studio,
    write: (rows: readonly object[]) => write(studio, rows),
    worker: (name: string, on?: Place) => studio.worker(name, [], on),
    paid: () => paid(studio),
  };
}

const image = (id: string) => ({ id, command: 'image create', prompt: `a fox ${id}`, size: '256x256' });
const alpha = (id: string) => ({
  ...{
    id,
    command: 'video alpha',
    prompt: `a fox ${id}`,
    model: '2.0-fast',
    resolution: '480p',
    duration: 4,
  },
});

test('a row that was skipped or deleted since is not made, and --limit counts what stands on the queue', async () => {
  const { batch, worker, write, paid, laptop, env } = await openDay();
  // The queue records the value of --command.
  write(['a', 'b', 'c'].map((id) => ({ ...image(id), command: undefined })));
  await batch('run', '--detach', '--command', 'image create');
  expect((await batch('status')).out).toContain('3 waiting\n');
  // This also holds when other rows name a command of their own.
  write([alpha('a'), { ...image('b'), command: undefined, size: '1024x1024' }]);
  await batch('run', '--detach', '--name', 'two', '--command', 'image create');
  expect((await batch('status', '--name', 'two')).out).toContain('2 waiting\n');
  expect((await batch('cancel', '--name', 'two')).code).toBe(0);
  write([image('a'), { ...image('b'), skip: true }]);
  const changed = await batch('run', '--detach');
  expect(changed.err).toContain('2 rows that the manifest does not hold any more taken out');
  write(['a', 'd', 'e'].map(image));
  for (let run = 0; run < 2; run += 1) expect((await batch('run', '--detach', '--limit', '2')).code).toBe(0);
  expect((await batch('status')).out).toMatch(/2 waiting\n[\s\S]*1 not handed over/);
  // Cancelled rows are put back only up to the limit.
  expect((await batch('cancel')).out).toMatch(/^2 taken out/);
  const again = await batch('run', '--detach', '--limit', '1');
  expect([again.code, again.err]).toEqual([
    0,
    expect.stringMatching(
      /^1 row handed over, 1 not done yet; .* this hands over another one: gw batch run .*--limit 1/m,
    ),
  ]);
  expect((await batch('status')).out).toMatch(/^1 waiting\n/);
  await batch('run', '--detach', '--limit', '2');
  // A row that a worker saved before this run looks at the queue no longer counts towards the limit.
  const following = laptop.start(['batch', 'run', 'day.jsonl', '--limit', '2', '--redis'], { env });
  await until('it follows', () => following.err().includes('no worker is connected'));
  worker('anna');
  const { code, err } = await following.ended;
  expect(code, err).toBe(0);
  expect(
    paid()
      .map(({ body }) => (body as { prompt: string }).prompt)
      .sort(),
  ).toEqual(['a fox a', 'a fox d']);
});

test('a follower that is killed as it hands over leaves no row of unknown outcome', async () => {
  const { batch, worker, write, paid, redis, laptop, env } = await openDay();
  const proxy = await openRedisProxy(redis.port);
  write(['a', 'b', 'c'].map(image));
  const reached = proxy.at('fox b', 'swallow');
  const killed = laptop.start(['batch', 'run', 'day.jsonl', '--redis'], {
    env: { ...env, GW_REDIS_URL: proxy.url },
  });
  await reached;
  killed.child.kill('SIGKILL');
  await killed.ended;
  worker('anna');
  const { code, err } = await batch('run');
  expect(code, err).toBe(0);
  expect(paid()).toHaveLength(3);
});

test('a row that is forbidden ends alone; a key that is refused ends the creates of a worker, which brings home what runs', async () => {
  const { batch, worker, write, paid, faults, sandbox, laptop, redis, env } = await openDay({
    fault: 'create:403:x1',
    // A task takes a minute, and an image 4 s.
    speed: 1,
  });
  write([image('a')]);
  const anna = worker('anna');
  expect((await batch('run')).code).toBe(3);
  write([image('a'), alpha('b')]);
  expect((await batch('run', '--detach')).code).toBe(13);
  await until('both were sent', () => paid().length === 2);
  await until('one runs', () => anna.err().includes(': task '));
  await faults('create:401:x1');
  write([image('a'), alpha('b'), image('c')]);
  const following = laptop.start(['batch', 'run', 'day.jsonl', '--redis'], { env });
  await until('its key is refused', () => anna.err().includes('no more rows are begun here'));
  await forward(sandbox);
  const ended = await anna.ended;
  expect(ended.code, ended.err).toBe(3);
  expect(ended.out).toMatch(/\.mp4\n/);
  const why = 'anna: it has ended: the gateway does not accept the key (HTTP 401';
  await until('the follower says why nothing is made', () => following.err().includes(why));
  expect((await batch('status')).out).toContain(why);
  const [words = ''] = await redis.client.keys('*:workers');
  const eve = {
    ...JSON.parse(String(await redis.client.hget(words, 'anna'))),
    stands: ['\u001b[31m\n::error::'],
  };
  await redis.client.hset(words, 'eve', JSON.stringify(eve));
  expect((await batch('status')).out).toContain('eve: \\x1b[31m\\n::error::\n');
  expect((await batch('status', '--row', 'c')).out).toMatch(/nothing_made\tanna\t1\t.*HTTP 401.*\n$/);
  worker('bert');
  const { code, out, err } = await following.ended;
  expect(code, err).toBe(13);
  expect(out.split('\n').filter(Boolean)).toHaveLength(2);
  expect(err).toMatch(/error: day\.jsonl:1: .*403/);
  expect(sandbox.requests.filter(({ status }) => status === 429)).toEqual([]);
});

test('a row whose file was missing is sent by the plain command once it is there', async () => {
  const { batch, worker, write, paid, machine, laptop } = await openDay();
  const frame = ['-f', 'lavfi', '-i', 'testsrc=size=768x432', '-frames:v', '1'];
  make(laptop.cwd, 'fox.png', ...frame);
  const settings = { duration: 5, resolution: '768P', ratio: '16:9' };
  write([{ id: 'a', command: 'video gamma', prompt: 'a fox', ...settings, 'first-frame': 'fox.png' }]);
  const place = machine();
  worker('anna', place);
  const missing = await batch('run');
  expect(missing.code, missing.err).toBe(2);
  expect(missing.err).toMatch(/fox\.png: no such file/);
  make(place.cwd, 'fox.png', ...frame);
  const { code, err } = await batch('run');
  expect(code, err).toBe(0);
  expect(paid()).toHaveLength(1);
});

test('a slot is taken until its task has ended, whatever became of its row and wherever its body says 4k', async () => {
  const { batch, worker, write, paid, sandbox, faults, laptop, env } = await openDay({
    ...{ ...held, account: 'personal', fault: 'create:reset-after:x1' },
  });
  const large = { command: 'video alpha', model: '2.0', duration: 4 };
  write([alpha('lost')]);
  const anna = worker('anna');
  expect((await batch('run')).code).toBe(14);
  await faults('');
  const bert = worker('bert');
  write([
    alpha('lost'),
    { ...large, id: 'set', prompt: 'a fox 1', set: { resolution: '4k' } },
    { ...large, id: 'body', prompt: 'a fox 2', body: { resolution: '4k' } },
    ...Array.from({ length: 6 }, (_, at) => ({ ...alpha(`r${at}`), 'wait-timeout': '500ms' })),
  ]);
  const running = laptop.start(['batch', 'run', 'day.jsonl', '--redis'], { env });
  // Two slots are free, and tasks end only here: after the waits of both rows are over.
  for (const rows of [2, 4, 6]) {
    await until('their waits are over', () => running.err().split('is not finished').length > rows);
    await forward(sandbox);
  }
  await until('the second row at 4k is made too', () => paid().length === 9);
  await forward(sandbox);
  const first = await running.ended;
  expect(first.code, first.err).toBe(13);
  expect(first.err).toContain('anna: a slot of alpha is kept for day/lost: once you know what became of it');
  expect(first.err).toContain('9 rows: 2 saved, 1 of unknown outcome, 6 not done');
  const last = await batch('run');
  expect(last.err).toContain('9 rows: 8 saved, 1 of unknown outcome');
  expect(paid()).toHaveLength(9);
  expect(sandbox.requests.filter(({ status }) => status === 429)).toEqual([]);
  for (const { child, ended } of [anna, bert]) {
    child.kill('SIGTERM');
    expect((await ended).code).toBe(143);
  }
});

test('images that were not saved are fetched by the printed command, by the worker that made them', async () => {
  const { batch, worker, write, paid, faults } = await openDay({ fault: 'output:404' });
  write([{ ...image('a'), model: 'legacy-image-2', 'response-format': 'url' }]);
  const anna = worker('anna');
  const failed = await batch('run');
  expect(failed.code, failed.err).toBe(12);
  expect(failed.err).toContain('1 not done; go on with: gw batch run day.jsonl --redis');
  await faults('');
  const bert = worker('bert');
  await until('both are there', () => bert.err().includes('takes rows'));
  const { code, out, err } = await batch('run');
  expect(code, err).toBe(0);
  expect(out).toMatch(/^anna:.*\n$/);
  expect(paid()).toHaveLength(1);
  for (const { child, ended } of [anna, bert]) {
    child.kill('SIGTERM');
    await ended;
  }
});

test('a job that another machine has saved is not fetched again by the first, and counts once', async () => {
  const { batch, worker, write, machine, env, sandbox } = await openDay(held);
  write([alpha('a'), alpha('b')]);
  const [first, second] = [machine(), machine()];
  const anna = worker('anna', first);
  await batch('run', '--detach');
  await until('both run', () => anna.err().match(/: task /g)?.length === 2);
  anna.child.kill('SIGTERM');
  await anna.ended;
  await forward(sandbox);
  worker('bert', second);
  const { code, err } = await batch('run');
  expect(code, err).toBe(0);
  const fetched = sandbox.requests.filter(({ server }) => server === 'output').length;
  const sync = await first.run(['jobs', 'sync'], { env });
  expect([sync.code, sync.out], sync.err).toEqual([0, '']);
  expect(sandbox.requests.filter(({ server }) => server === 'output')).toHaveLength(fetched);
  let jobs = 0;
  for (const place of [first, second]) {
    const stats = await place.run(['jobs', 'stats', '--json']);
    jobs += JSON.parse(stats.out).total.jobs;
  }
  expect(jobs).toBe(2);
});

test('the kind of account is that of whoever hands rows over, and a worker that took another says so', async () => {
  const { batch, worker, write, machine, laptop } = await openDay();
  const place = machine();
  await place.run(['config', 'set', 'account', 'personal']);
  await laptop.run(['config', 'set', 'account', 'enterprise']);
  const anna = worker('anna', place);
  await until('it is there', () => anna.err().includes('takes rows'));
  write([image('a')]);
  const { code, err } = await batch('run');
  expect(code, err).toBe(0);
  const differs = 'it is set to a personal account, and the limits of enterprise hold';
  const again = `${differs}: start this worker again to use them\n`;
  await until('it says so', () => anna.err().includes(again));
  const bert = worker('bert', place);
  await until('a later one says so', () => bert.err().includes(`${differs}\n`));
  write([image('a'), image('b')]);
  const { err: followed } = await batch('run');
  expect(followed).toContain(`anna: ${again}`);
  expect(followed).toContain(`bert: ${differs}\n`);
  for (const { child, ended } of [anna, bert]) {
    child.kill('SIGTERM');
    await ended;
  }
});
