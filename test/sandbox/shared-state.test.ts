import { readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { diskStore } from '../../src/sandbox/disk-store.ts';
import { ask, bodyOf, create, createdId, handClock, json, newStateDir, query, sandbox } from './fixture.ts';

const fast = { speed: Number.POSITIVE_INFINITY };
const small = bodyOf({ resolution: '480p', ratio: '1:1', duration: 4 });

it('two servers know the same tasks and take the same links, each by its own port', async () => {
  const stateDir = await newStateDir();
  const [a, b] = [await sandbox({ stateDir, ...fast }), await sandbox({ stateDir, ...fast })];
  const id = await createdId(a, small);
  const [fromA, fromB] = [json(await query(a, id)), json(await query(b, id))];
  expect(fromB.seed).toBe(fromA.seed);
  expect(fromA.content.video_url.startsWith(a.outputUrl)).toBe(true);
  expect(fromB.content.video_url.startsWith(b.outputUrl)).toBe(true);
  const [fileA, fileB] = [await ask(fromA.content.video_url), await ask(fromB.content.video_url)];
  expect(fileA.status).toBe(200);
  expect(fileB.headers.etag).toBe(fileA.headers.etag);
  const carried = fromA.content.video_url.replace(a.outputUrl, b.outputUrl);
  expect((await ask(carried)).status).toBe(200);
});

it('a later server goes on where an earlier one ended, also at another speed', async () => {
  const clock = handClock();
  const stateDir = await newStateDir();
  const first = await sandbox({ stateDir, now: clock.now });
  const id = await createdId(first);
  await first.close();
  const second = await sandbox({ stateDir, now: clock.now, speed: 1000 });
  expect(json(await query(second, id)).status).toBe('queued');
  clock.pass(90_000);
  expect(json(await query(second, id)).status).toBe('succeeded');
  expect(second.tasks()).toMatchObject([{ id, status: 'succeeded' }]);
  expect(second.requests).toEqual([]);
});

it('two servers share places, rates and downloads', async () => {
  const clock = handClock();
  const stateDir = await newStateDir();
  const options = { stateDir, now: clock.now, account: 'personal' } as const;
  const [a, b] = [await sandbox(options), await sandbox(options)];
  const answers = await Promise.all([a, b, a, b, a, b].map((at) => create(at, small)));
  const accepted = answers.filter((answer) => answer.status === 200);
  expect(accepted).toHaveLength(3);
  clock.pass(90_000);
  const id = accepted[0] && json(accepted[0]).id;
  const url: string = json(await query(a, id)).content.video_url;
  const urls = [url, url.replace(a.outputUrl, b.outputUrl)];
  const statuses = await Promise.all(
    Array.from({ length: 104 }, (_, nth) => ask(urls[nth % 2] ?? '', { headers: { range: 'bytes=0-0' } })),
  );
  expect(statuses.filter(({ status }) => status === 206)).toHaveLength(100);
  expect(statuses.filter(({ status }) => status === 403)).toHaveLength(4);

  clock.pass(120_000);
  const looks = await Promise.all(Array.from({ length: 184 }, (_, nth) => query(nth % 2 ? a : b, 'nope')));
  expect(looks.filter(({ status }) => status === 404)).toHaveLength(180);
});

it('keeps its files to this user, leaves no temporary ones, and drops what has outlived its time', async () => {
  const clock = handClock();
  const stateDir = await newStateDir();
  const at = await sandbox({ stateDir, now: clock.now, ...fast });
  const id = await createdId(at, small);
  await ask(json(await query(at, id)).content.video_url);
  const names = await readdir(stateDir, { recursive: true });
  expect(names.filter((name) => name.endsWith('.tmp'))).toEqual([]);
  expect(names).toContain(join('tasks', `${id}.json`));
  for (const name of names) {
    const stats = await stat(join(stateDir, name));
    expect([name, stats.mode & 0o077]).toEqual([name, 0]);
  }
  clock.pass(7 * 86_400_000);
  const next = await createdId(at, small);
  const left = (await readdir(stateDir, { recursive: true })).filter(
    (name) => /vt-/.test(name) && !/^unfinished/.test(name),
  );
  expect(left).toEqual([join('tasks', `${next}.json`)]);
});

it('a record of an older sandbox, kept in another form, is as good as none', async () => {
  const stateDir = await newStateDir();
  const at = await sandbox({ stateDir, ...fast });
  const id = await createdId(at, small);
  const old = { id, family: 'alpha', model: 'x', createdAtMs: 0, startsAtMs: 0, endsAtMs: 0, output: {} };
  await writeFile(join(stateDir, 'tasks', `${id}.json`), JSON.stringify(old));
  expect((await query(at, id)).status).toBe(404);
  expect(at.tasks()).toEqual([]);
});

it('a record that was cut is as good as none', async () => {
  const stateDir = await newStateDir();
  const at = await sandbox({ stateDir, ...fast });
  const id = await createdId(at, small);
  await writeFile(join(stateDir, 'tasks', `${id}.json`), '{"id":"vt');
  expect((await query(at, id)).status).toBe(404);
  expect(at.tasks()).toEqual([]);
});

it('the marks of several stores on one directory are counted exactly', async () => {
  const stateDir = await newStateDir();
  const stores = [diskStore(stateDir), diskStore(stateDir), diskStore(stateDir)];
  const ordinals = Array.from({ length: 30 }, (_, nth) => stores[nth % 3]?.append('row', nth));
  expect(ordinals).toEqual(Array.from({ length: 30 }, (_, nth) => nth));
  expect(stores[0]?.marks('row')).toEqual(ordinals);
  expect(Buffer.compare(stores[0]?.secret ?? Buffer.of(), stores[1]?.secret ?? Buffer.of(1))).toBe(0);
});
