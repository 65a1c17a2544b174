import { expect, test } from 'vitest';
import { alphaFamily } from '../../src/gateway/alpha/task.ts';
import { imageFamily } from '../../src/gateway/image/job.ts';
import type { Job, SavedFile } from '../../src/ledger/event.ts';
import { nextShot, relatedOutputs } from '../../src/shots/related.ts';

const fileOf = (role: string, name: string, type: string): SavedFile => ({
  ...{ role, path: `/out/${name}`, bytes: 1, sha256: '', type },
});
const jobOf = (key: string, family: string, files: readonly SavedFile[], more: Partial<Job> = {}): Job =>
  ({ key, family, files, settings: {}, gateway: 'https://gw.example', profile: 'default', ...more }) as Job;

const clip = jobOf(
  'gw-clip',
  'alpha',
  [fileOf('video', 'clip.mp4', 'video/mp4'), fileOf('last-frame', 'last.png', 'image/png')],
  { id: 'cgt-clip' },
);
const images = jobOf('gw-images', 'image', [
  fileOf('image', 'one.png', 'image/png'),
  fileOf('image-2', 'two.png', 'image/png'),
]);

test.each([
  ['job:cgt-clip', 'clip.mp4'],
  ['job:gw-clip#video', 'clip.mp4'],
  ['job:cgt-clip#last_frame', 'last.png'],
  ['job:cgt-clip#first_frame', 'clip.mp4'],
  ['job:cgt-clip#audio', 'clip.mp4'],
  ['job:gw-images', 'one.png'],
  ['job:gw-images#image.2', 'two.png'],
  ['job:gw-images#image.3', 'one.png'],
  ['job:gone', undefined],
  ['row:clip', undefined],
])('an output that was made from %s is linked with %s, both ways', (name, source) => {
  const made = jobOf('gw-made', 'beta', [fileOf('video', 'made.mp4', 'video/mp4')], {
    references: [
      { name, sha256: '' },
      { name: 'fox.png', sha256: '' },
    ] as unknown as Job['references'],
  });
  const outputs = [clip, images, made].flatMap((job) => job.files.map((file) => ({ job, file })));
  const related = relatedOutputs(outputs);
  const told = outputs.map(({ job, file }) => [file.path, related(job, file, (path) => `at ${path}`)]);
  const from = { name: source ?? name, href: source === undefined ? null : `at /out/${source}` };
  expect(Object.fromEntries(told)).toEqual({
    ...Object.fromEntries(
      ['clip.mp4', 'last.png', 'one.png', 'two.png'].map((each) => [
        `/out/${each}`,
        { from: [], into: each === source ? [{ name: 'made.mp4', href: 'at /out/made.mp4' }] : [] },
      ]),
    ),
    '/out/made.mp4': { from: [from], into: [] },
  });
});

const gamma = { settings: { resolution: '2K', duration: 7 } } as Partial<Job>;
const max = { settings: { model: 'gamma-H3-Max', resolution: '480P', duration: 5 } } as Partial<Job>;
const on = "'what happens next' --first-frame";
test.each<[string, Partial<Job>, string, string | null]>([
  ['alpha', {}, 'video', `alpha create ${on} job:id --wait`],
  ['beta', {}, 'video', `beta create ${on} job:id --mode o1 --wait`],
  ['gamma', {}, 'video', `gamma create ${on} job:id --model gamma-H3 --resolution 768P --duration 5 --wait`],
  ['gamma', gamma, 'video', `gamma create ${on} job:id --model gamma-H3 --resolution 2K --duration 7 --wait`],
  [
    'gamma',
    max,
    'video',
    `gamma create ${on} job:id --model gamma-H3-Max --resolution 480P --duration 5 --wait`,
  ],
  ['alpha', {}, 'video-2', `alpha create ${on} 'job:id#last_frame.2' --wait`],
  ['alpha', {}, 'audio', null],
  ['alpha', {}, 'no role of it', null],
  ['image', {}, 'image', `alpha create ${on} job:id --wait`],
  ['image', {}, 'image-2', `alpha create ${on} 'job:id#image.2' --wait`],
  ['alpha', { profile: 'work' }, 'video', `alpha create ${on} job:id --wait --profile work`],
  ['alpha', { gateway: 'sandbox:' }, 'video', `alpha create ${on} job:id --wait --sandbox`],
])('what goes on from %s %o, its %s: %s', (family, more, role, said) => {
  const isImage = family === 'image';
  const files = isImage
    ? images.files
    : ['video', 'video-2'].map((each) => fileOf(each, `${each}.mp4`, 'video/mp4'));
  const job = jobOf('gw-1', family, [...files, fileOf('audio', 'a.mp3', 'audio/mpeg')], more);
  const next = nextShot(job, isImage ? imageFamily : alphaFamily, 'id', role);
  const sorted = (text: string | null) => text?.split(/ (?=--)/).sort();
  const where = 'profile' in more || 'gateway' in more ? '' : ' --profile default';
  expect(sorted(next)).toEqual(sorted(said === null ? null : `gw video ${said}${where}`));
});
