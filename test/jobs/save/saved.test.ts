import * as fs from 'node:fs';
import * as path from 'node:path';
import { expect, test } from 'vitest';
import { alphaFamily } from '../../../src/gateway/alpha/task.ts';
import { imageFamily } from '../../../src/gateway/image/job.ts';
import { outputsBySize, savedOutputs } from '../../../src/jobs/save/saved.ts';
import type { Job, SavedFile } from '../../../src/ledger/event.ts';
import { newDir } from '../../helpers/new-dir.ts';
import { sha256 } from './tiny-media.ts';

const dir = newDir();
/** A file of three bytes, as the ledger records it for a job. */
const fileOf = (name: string, role = 'video', more: Partial<SavedFile> = {}): SavedFile => ({
  ...{ role, path: path.join(dir, name), bytes: 3, sha256: sha256(Buffer.from('fox')), type: 'video/mp4' },
  ...more,
});
for (const [name, text] of Object.entries({ whole: 'fox', copy: 'fox', changed: 'cat', longer: 'foxes' }))
  fs.writeFileSync(path.join(dir, name), text);
fs.mkdirSync(path.join(dir, 'folder'));

const [whole, copy, rescued] = [fileOf('whole'), fileOf('copy'), fileOf('whole', 'video', { rescued: true })];
const [changed, longer, gone] = [fileOf('changed'), fileOf('longer'), fileOf('gone')];
const missing = (file: SavedFile) => ({ role: 'video', path: file.path });

test.each<[string, SavedFile[], { files: SavedFile[]; missing: object[] }]>([
  ['nothing that is saved', [], { files: [], missing: [{ role: 'video' }] }],
  ['a file', [whole], { files: [whole], missing: [] }],
  ['a file and its copy', [whole, copy], { files: [whole], missing: [] }],
  ['a copy of a file that is gone', [gone, copy], { files: [copy], missing: [] }],
  ['a file that is longer than it was', [longer], { files: [], missing: [missing(longer)] }],
  ['a folder in its place', [fileOf('folder')], { files: [], missing: [missing(fileOf('folder'))] }],
  ['a file that is kept elsewhere', [rescued], { files: [], missing: [{ role: 'video', rescued }] }],
  [
    'two outputs',
    [whole, fileOf('gone', 'video-2')],
    {
      files: [whole],
      missing: [{ role: 'video-2', path: gone.path }],
    },
  ],
])('a task whose record names no output, with %s', async (_, files, expected) => {
  const job = { key: 'gw-1', family: 'alpha', files } as unknown as Job;
  expect(outputsBySize(job, alphaFamily)).toEqual(expected);
  expect(await savedOutputs(job, alphaFamily, new AbortController().signal)).toEqual(expected);
});

test('a file of the same length is told by what it holds, where that is asked for', async () => {
  const job = { key: 'gw-1', family: 'alpha', files: [changed] } as unknown as Job;
  expect(outputsBySize(job, alphaFamily).files).toEqual([changed]);
  const { signal } = new AbortController();
  expect(await savedOutputs(job, alphaFamily, signal)).toEqual({ files: [], missing: [missing(changed)] });
});

test.each([imageFamily, undefined])('what is no task lacks no output of its own: %o', (family) => {
  const job = { key: 'gw-1', family: 'image', files: [] as SavedFile[] } as unknown as Job;
  expect(outputsBySize(job, family)).toEqual({ files: [], missing: [] });
});
