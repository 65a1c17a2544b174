import * as fs from 'node:fs';
import * as path from 'node:path';
import { expect, test } from 'vitest';
import { isOpenImageJob, syncImageJob } from '../../../src/jobs/image/sync-image-job.ts';
import { newPartName } from '../../../src/jobs/save/output-path.ts';
import { serveFile, startOutputServer } from '../../helpers/output-server.ts';
import { leftLedger } from '../../ledger/fixtures.ts';
import { sha256, tinyPng } from '../save/tiny-media.ts';
import { fakePng, saveTo, world } from './harness.ts';

// Each ledger and directory is in the state that a process leaves when it is killed at some point of its work.

const left = (here: ReturnType<typeof world>, changes = {}) => {
  const ledger = leftLedger({ dir: path.dirname(here.deps.ledger.dir), clock: here.deps.clock });
  const key = ledger.begin(here.request({ ...saveTo(here, 'x-{index}.{ext}'), ...changes }).intent);
  const part = (role: string, bytes: Uint8Array, totalBytes?: number) => {
    const file = path.join(here.dir, newPartName());
    fs.writeFileSync(file, bytes);
    ledger.append(key, { event: 'part', role, path: file, totalBytes });
    return file;
  };
  const append = (event: Parameters<typeof ledger.append>[1]) => ledger.append(key, event);
  const succeeded = (record: unknown) => {
    const serverDateMs = here.deps.clock.now();
    append({ event: 'final', state: 'succeeded', status: 'succeeded', record, serverDateMs });
  };
  return { key, part, append, succeeded };
};

test('before the request: nothing was created', async () => {
  const here = world('http://127.0.0.1:1');
  left(here);
  expect(isOpenImageJob(await here.job(), here.deps.clock.now())).toBe(true);
  await syncImageJob(await here.job(), here.deps);
  const job = await here.job();
  expect([job.state, isOpenImageJob(job, here.deps.clock.now())]).toEqual(['not_sent', false]);
});

test('in the middle of the reply: whole images are saved, halves go, the outcome is unknown', async () => {
  const here = world('http://127.0.0.1:1');
  const { part, append } = left(here);
  append({ event: 'sent' });
  const whole = fakePng(500, 1);
  part('image', whole, whole.length);
  part('image-2', fakePng(500, 2).subarray(0, 200));
  const synced = await syncImageJob(await here.job(), here.deps);
  expect(synced).toMatchObject({ status: 'unknown', files: [{ role: 'image', bytes: 500 }] });
  expect(here.listing()).toEqual(['x-1.png']);
  expect(fs.readFileSync(path.join(here.dir, 'x-1.png')).equals(whole)).toBe(true);
  const job = await here.job();
  expect(job).toMatchObject({ state: 'unknown', parts: {} });
  expect(job.message).toContain('the image that had come whole is saved');
  expect(isOpenImageJob(job, here.deps.clock.now())).toBe(false);
});

test('a part that stands under two names while it learns which image it is', async () => {
  const here = world('http://127.0.0.1:1');
  const { part, append } = left(here);
  append({ event: 'sent' });
  const file = part('event-image-1', tinyPng);
  append({ event: 'part', role: 'image', path: file, totalBytes: tinyPng.length });
  await syncImageJob(await here.job(), here.deps);
  expect([here.listing(), (await here.job()).parts]).toEqual([['x-1.png'], {}]);
});

test('after the last record: the second image gets its name, and again finds nothing to do', async () => {
  const here = world('http://127.0.0.1:1');
  const { part, append, succeeded } = left(here);
  append({ event: 'sent' });
  part('image-2', tinyPng, tinyPng.length);
  succeeded({ data: [{ b64_json: '' }, { b64_json: '' }] });
  expect(isOpenImageJob(await here.job(), here.deps.clock.now())).toBe(true);
  expect(await syncImageJob(await here.job(), here.deps)).toMatchObject({
    status: 'succeeded',
    files: [{ role: 'image-2' }],
  });
  expect(here.listing()).toEqual(['x-2.png']);
  expect(isOpenImageJob(await here.job(), here.deps.clock.now())).toBe(false);
});

test('between the name and its record: no second copy', async () => {
  const here = world('http://127.0.0.1:1');
  const { part, append, succeeded } = left(here);
  append({ event: 'sent' });
  const file = part('image', tinyPng, tinyPng.length);
  succeeded({ data: [{ b64_json: '' }] });
  fs.linkSync(file, path.join(here.dir, 'x-1.png'));
  await syncImageJob(await here.job(), here.deps);
  expect(here.listing()).toEqual(['x-1.png']);
  expect((await here.job()).files).toHaveLength(1);
});

test('links are followed while they live', async () => {
  const outputs = await startOutputServer((request, response) =>
    serveFile(tinyPng, request, response, { type: 'image/png' }),
  );
  const here = world('http://127.0.0.1:1');
  const { append, succeeded } = left(here);
  append({ event: 'sent' });
  succeeded({ data: [{ url: `${outputs.url}/a` }] });
  const job = await here.job();
  expect(isOpenImageJob(job, here.deps.clock.now())).toBe(true);
  expect(isOpenImageJob(job, here.deps.clock.now() + 25 * 3_600_000)).toBe(false);
  expect(await syncImageJob(await here.job(), here.deps)).toMatchObject({ files: [{ role: 'image' }] });
  await outputs.close();
  expect(isOpenImageJob(await here.job(), here.deps.clock.now())).toBe(false);
});

test('a job whose process lives is left alone', async () => {
  const here = world('http://127.0.0.1:1');
  const { key } = left(here);
  const hold = await here.deps.ledger.hold(key);
  expect(await syncImageJob(await here.job(), here.deps)).toBeUndefined();
  hold?.release();
  expect((await here.job()).state).toBe('intent');
});

test('the part of a download is gone on with, and none that a crash of the machine may have spoilt', async () => {
  const png = fakePng(5_000);
  const outputs = await startOutputServer((request, response) => {
    serveFile(png, request, response, { type: 'image/png', etag: '"one"' });
  });
  const here = world('http://127.0.0.1:1');
  const { key, append, succeeded } = left(here);
  append({ event: 'sent' });
  succeeded({ data: [{ url: `${outputs.url}/a` }, { url: `${outputs.url}/b` }] });
  const download = (role: string, bytes: Uint8Array, atMs: number) => {
    const clock = { ...here.deps.clock, now: () => atMs };
    const ledger = leftLedger({ dir: path.dirname(here.deps.ledger.dir), clock });
    const file = path.join(here.dir, newPartName());
    fs.writeFileSync(file, bytes);
    ledger.append(key, { event: 'get', role });
    ledger.append(key, { event: 'part', role, path: file, etag: '"one"', totalBytes: png.length });
  };
  download('image', png.subarray(0, 2_000), here.deps.clock.now());
  download('image-2', Buffer.alloc(png.length), here.deps.clock.now() - 400 * 24 * 3_600_000);
  const synced = await syncImageJob(await here.job(), here.deps);
  expect(synced).toMatchObject({ status: 'succeeded', files: [{ role: 'image' }, { role: 'image-2' }] });
  expect(here.listing()).toEqual(['x-1.png', 'x-2.png']);
  for (const name of here.listing())
    expect(fs.readFileSync(path.join(here.dir, name)).equals(png)).toBe(true);
  expect(outputs.gets.map(({ headers }) => headers.range)).toEqual(['bytes=2000-', undefined]);
  expect(await here.job()).toMatchObject({ parts: {}, files: [{}, {}] });
});

test.each([
  ['was about to be renamed', ''],
  ['had been renamed', undefined],
])('an image that %s, where there are no hard links, is not told to be lost', async (_, empty) => {
  const here = world('http://127.0.0.1:1');
  const { part, append, succeeded } = left(here);
  append({ event: 'sent' });
  const file = part('image', tinyPng, tinyPng.length);
  succeeded({ data: [{ b64_json: '' }] });
  const to = path.join(here.dir, 'x-1.png');
  append({
    event: 'part',
    role: 'image',
    path: file,
    totalBytes: tinyPng.length,
    to,
    sha256: sha256(tinyPng),
  });
  if (empty === undefined) fs.renameSync(file, to);
  else fs.writeFileSync(to, empty);
  const synced = await syncImageJob(await here.job(), here.deps);
  expect(synced).toMatchObject({ status: 'succeeded', files: [{ role: 'image', path: to }] });
  expect(here.listing()).toEqual(['x-1.png']);
  expect(fs.readFileSync(to).equals(tinyPng)).toBe(true);
  expect((await here.job()).parts).toEqual({});
});
