import * as path from 'node:path';
import { expect, test } from 'vitest';
import { create, creates, fetches, openPlace, sha256AtServer, sha256Of, until } from './place.ts';

// Several gw run at once with one ledger, one target or one configuration.

const times = <T>(count: number, make: (at: number) => T): T[] =>
  Array.from({ length: count }, (_, at) => make(at));

test('two and eight syncs at once fetch each file once', async () => {
  for (const count of [2, 8]) {
    const place = await openPlace({ fault: 'output:slow', slowGapMs: 15 });
    for (let made = 0; made < 3; made++) await place.run(['video', 'alpha', 'create', `fox ${made}`]);
    await until('the tasks end', () => place.sandbox.tasks().every((task) => task.status === 'succeeded'));
    const syncs = await Promise.all(times(count, () => place.run(['jobs', 'sync'])));
    for (const { code, err } of syncs) expect(code, err).toBe(0);
    const fetched = fetches(place.sandbox).map((request) => request.path.split('?')[0]);
    expect(fetched.length, `${count} syncs`).toBe(3);
    expect(new Set(fetched).size).toBe(3);
    const ids = place.sandbox.tasks().map((task) => task.id);
    expect(place.files()).toEqual(ids.map((id) => `${id}.mp4`).sort());
    for (const id of ids) {
      expect(sha256Of(path.join(place.cwd, `${id}.mp4`))).toBe(await sha256AtServer(place.sandbox, id));
    }
  }
});

test('eight creates at once lose nothing from the ledger', async () => {
  const place = await openPlace();
  const runs = await Promise.all(times(8, (at) => place.run([...create, `fox ${at}`])));
  for (const { code, err } of runs) expect(code, err).toBe(0);
  const jobs = await place.jobs();
  const ids = place.sandbox.tasks().map((task) => task.id);
  expect(creates(place.sandbox)).toHaveLength(8);
  expect(jobs.map((job) => job.id).sort()).toEqual(ids.sort());
  expect(jobs.map((job) => job.prompt).sort()).toEqual(times(8, (at) => `fox ${at}`));
  expect(place.files()).toEqual(ids.map((id) => `${id}.mp4`).sort());
  for (const job of jobs) expect(sha256Of(job.files[0]?.path ?? '')).toBe(job.files[0]?.sha256);
});

test('one task downloaded by two processes to one name is one file, or two whole ones', async () => {
  const place = await openPlace({ fault: 'output:slow', slowGapMs: 10 });
  await place.run(['video', 'alpha', 'create', 'fox']);
  const [id = ''] = place.sandbox.tasks().map((task) => task.id);
  await until('the task ends', () => place.sandbox.tasks()[0]?.status === 'succeeded');
  const download = ['video', 'alpha', 'download', id, '-o', 'same.mp4'];
  const runs = await Promise.all([place.run(download), place.run(download)]);
  for (const { code, err } of runs) expect(code, err).toBe(0);
  const whole = await sha256AtServer(place.sandbox, id);
  for (const { out } of runs) expect(sha256Of(out.trim())).toBe(whole);
  expect(place.files().every((name) => /^same(-1)?\.mp4$/.test(name))).toBe(true);
});

test('jobs download waits for another gw that saves the job, says so, and fetches nothing twice', async () => {
  const place = await openPlace({ fault: 'output:slow', slowGapMs: 20 });
  const id = (await place.run(['video', 'alpha', 'create', 'fox'])).out.trim();
  await until('the task ends', () => place.sandbox.tasks()[0]?.status === 'succeeded');
  const first = place.start(['jobs', 'download', id]);
  await until('a part grows', () => place.partBytes() > 0);
  first.child.kill('SIGSTOP');
  const second = place.start(['jobs', 'download', id]);
  await until('it waits', () => second.err().includes('\n'));
  first.child.kill('SIGCONT');
  const file = path.join(place.cwd, `${id}.mp4`);
  expect(await first.ended).toMatchObject({ code: 0, out: `${file}\n` });
  const err = `another gw (process ${first.pid}) is saving task ${id}; waiting for it\n5 s, 108,000 tokens\n`;
  expect(await second.ended).toMatchObject({ code: 0, out: `${file}\n`, err });
  expect(fetches(place.sandbox)).toHaveLength(1);
  expect(place.files()).toEqual([`${id}.mp4`]);
  expect(sha256Of(file)).toBe(await sha256AtServer(place.sandbox, id));
});
