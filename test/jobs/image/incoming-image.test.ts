import * as fs from 'node:fs';
import * as path from 'node:path';
import { expect, test } from 'vitest';
import { IncomingImage } from '../../../src/jobs/image/incoming-image.ts';
import { json } from '../../helpers/fault-server.ts';
import { newDir } from '../../helpers/new-dir.ts';
import { MemoryJournal } from '../save/harness.ts';
import { tinyPng } from '../save/tiny-media.ts';
import { saveTo, serve, world } from './harness.ts';

const base64 = Buffer.from(tinyPng.toString('base64'));

test('an image whose directory fails goes on elsewhere, because it comes once', () => {
  const journal = new MemoryJournal();
  const elsewhere = newDir();
  const image = new IncomingImage({
    home: { dir: path.join(import.meta.filename, 'below-a-file') },
    role: 'image',
    journal,
    refuge: elsewhere,
  });
  image.push(base64.subarray(0, 20));
  image.push(base64.subarray(20));
  image.end();
  image.keepAs('image');
  expect(image.problem).toBeUndefined();
  expect(image.fault?.message).toContain('cannot be made');
  expect(fs.readFileSync(image.part?.path ?? '').equals(tinyPng)).toBe(true);
  expect(path.dirname(journal.parts.image?.path ?? '')).toBe(elsewhere);
  expect(journal.parts.image?.totalBytes).toBe(tinyPng.length);
  image.discard();
  expect([fs.readdirSync(elsewhere), journal.parts]).toEqual([[], {}]);
});

test('where the refuge fails as well, there is a reason and no file', () => {
  const journal = new MemoryJournal();
  const nowhere = path.join(import.meta.filename, 'a');
  const image = new IncomingImage({ home: { dir: nowhere }, role: 'image', journal, refuge: `${nowhere}b` });
  image.push(base64);
  image.end();
  expect([image.part, image.problem]).toEqual([undefined, expect.stringContaining('cannot be made')]);
});

test('a target that went away after it was checked: the image is saved elsewhere, and that is said', async () => {
  const server = await serve([json(200, { data: [{ b64_json: tinyPng.toString('base64') }] })]);
  const here = world(server.url);
  fs.writeFileSync(path.join(here.dir, 'pictures'), 'a file');
  const { files, error } = await here.create(saveTo(here, 'pictures/{id}.{ext}'));
  const [file] = files;
  expect(error).toMatchObject({ kind: 'download' });
  expect(String(error)).toContain(`it is kept as ${file?.path}`);
  expect(file).toMatchObject({ rescued: true, path: expect.stringContaining(`/rescued/`) });
  expect(fs.readFileSync(file?.path ?? '').equals(tinyPng)).toBe(true);
});

test('a ledger that cannot record a part costs no image', async () => {
  const server = await serve([json(200, { data: [{ b64_json: tinyPng.toString('base64') }] })]);
  const here = world(server.url);
  const { ledger } = here.deps;
  const append = ledger.append.bind(ledger);
  ledger.append = (key, event) => {
    if (event.event === 'part') throw Object.assign(new Error('no space left'), { code: 'ENOSPC' });
    append(key, event);
  };
  const { files, error } = await here.create();
  expect([files.length, error, here.warnings.length]).toEqual([1, undefined, 1]);
  expect(here.listing()).toEqual(['fox.png']);
});
