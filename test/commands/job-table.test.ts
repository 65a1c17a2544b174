import { expect } from 'vitest';
import { jobTable } from '../../src/commands/jobs/job-table.ts';
import { displayWidth } from '../../src/io/display-width.ts';
import { alignedLines, idLines, tabbedLines } from '../../src/io/table-text.ts';
import type { JobView } from '../../src/jobs/job-view.ts';
import { EMBEDDED } from '../../src/ledger/job-key.ts';
import { test } from '../helpers/gw.ts';
import { acceptedJob } from './jobs-seed.ts';

// On a terminal of any width, `jobs list` shows jobs that can be told apart and always marks a sandbox job.

const NOW_MS = Date.UTC(2026, 10, 22, 12);
const view = (id: string, changes: Partial<JobView> = {}): JobView => ({
  ...{
    id,
    job: 'gw-0',
    once_key: null,
    family: 'alpha',
    model: 'alpha-video-2-5-260628',
    status: 'succeeded',
  },
  ...{
    prompt: 'a fox in the snow runs far away',
    settings: {},
    profile: 'default',
    gateway: 'https://g.example',
  },
  ...{ created_at: new Date(NOW_MS - 180_000).toISOString(), finished_at: null },
  ...{
    link_expires_at: new Date(NOW_MS + 82_800_000).toISOString(),
    record_expires_at: null,
    link_expiry_assumed: false,
    saved: true,
  },
  ...{ downloads: 1, message: null, usage: null },
  files: [{ path: `/home/me/clips/${id}.mp4`, bytes: 1, sha256: '', type: 'video/mp4' }],
  ...changes,
});
const ids = ['vt-20261122020311-169450c684f8047b2847', 'vt-20261122020312-b762d17229faeeb64a43', 'cgt-fox'];
const views = [
  view(ids[0] ?? ''),
  view(ids[1] ?? '', { prompt: '雪の中の狐が走っている、とても長い' }),
  view('cgt-fox'),
];
const on = (stdoutIsTerminal: boolean) =>
  ({ clock: { now: () => NOW_MS }, io: { stdoutIsTerminal } }) as Parameters<typeof jobTable>[1];
const [terminal, pipe] = [on(true), on(false)];
const linesAt = (columns: number, of = views): string[] =>
  alignedLines(jobTable(of, terminal), columns).trimEnd().split('\n');

const bodyAt = (columns: number, of = views) => linesAt(columns, of).slice(1);

test('at 80 columns: beginnings that differ, state, age, 20 columns of prompt, model, the end of the file name', () => {
  const [header = '', ...rows] = linesAt(80);
  expect(header.trim().split(/ +/)).toEqual(['ID', 'STATUS', 'AGE', 'PROMPT', 'MODEL', 'FILE']);
  expect(rows.map((row) => row.split(' ')[0])).toEqual(['vt-20261122020311', 'vt-20261122020312', 'cgt-fox']);
  for (const row of rows) expect(row).toMatch(/ succeeded +3m .* alpha-\S*…? +\S+\.mp4$/);
  for (const row of rows.slice(0, 2)) expect(row).toMatch(/ …\S+\.mp4$/);
  expect(rows[0]).toContain(' a fox in the snow r… ');
  expect(rows[1]).toContain(' 雪の中の狐が走って… ');
});

test('no line is wider than the terminal, whatever its width and whatever the letters', () => {
  for (let columns = 60; columns <= 200; columns += 1) {
    for (const line of linesAt(columns)) expect(displayWidth(line)).toBeLessThanOrEqual(columns);
  }
});

test.each([120, 160])('at %i columns the name of the file is whole, and no directory is shown', (columns) => {
  const rows = bodyAt(columns);
  for (const [at, { id }] of views.entries()) expect(rows[at]).toContain(` ${id}.mp4`);
  expect(rows.join()).not.toContain('/home/me');
});

test.each([60, 80, 120, 160])('at %i columns a sandbox job says so', (columns) => {
  const rows = bodyAt(columns, [...views, view('cgt-play', { gateway: EMBEDDED, profile: 'sandbox' })]);
  expect(rows.filter((row) => row.includes(' sandbox '))).toHaveLength(1);
  expect(rows[3]).toContain(' sandbox ');
});

test('a pipe and -q have whole IDs and paths, in the order that scripts count on', () => {
  const table = jobTable(views, pipe);
  expect(idLines(table).trimEnd().split('\n')).toEqual(views.map(({ id }) => id));
  const [row = ''] = tabbedLines(table).split('\n');
  expect(row.split('\t')).toEqual([
    ...[ids[0], 'succeeded', '3m', '23h', '-', 'yes', 'a fox in the snow runs far away', 'alpha'],
    ...['alpha-video-2-5-260628', `/home/me/clips/${ids[0]}.mp4`, 'default', '-'],
  ]);
});

test.for([0, 40])(
  'a short ID is one that a command takes, whatever %i of the jobs are listed',
  async (more, { world }) => {
    try {
      acceptedJob(world, 'cgt-20261122-aaaaaa1', 5000);
      acceptedJob(world, 'cgt-20261122-aaaaaa2', 4000, { family: 'gamma', endpoint: 'gamma.create' });
      for (let at = 0; at < more; at += 1) acceptedJob(world, `vt-${at}-x${at}`, 3000);
      acceptedJob(world, 'cgt-20261122-bbbbbb1', 1000);
      const run = await world.gw(['jobs', 'list', '--since', '2s'], { terminal: true });
      expect(run.out).toMatch(/^cgt-20261122-b /m);
      const narrowed = await world.gw(['jobs', 'list', '--family', 'alpha'], { terminal: true });
      const shown = [...narrowed.out.matchAll(/^(?:cgt|vt)-\S+/gm)].map(([id]) => id);
      expect(shown).toContain('cgt-20261122-aaaaaa1');
      expect(shown).toHaveLength(more + 2);
      for (const id of shown.slice(0, 3)) expect((await world.gw(['jobs', 'show', id])).code, id).toBe(0);
    } finally {
      await world.close();
    }
  },
);

test('from 60 to 200 columns no column goes as the terminal grows, with four images, Chinese words and long names', () => {
  const names = ['fox-1.png', 'fox-2.png', 'fox-3.png', 'fox-4.png'];
  const images = names.map((name) => ({ path: `/home/me/${name}`, bytes: 1, sha256: '', type: 'image/png' }));
  const tables = [
    [...views, view('gw-four', { family: 'image', files: images })],
    [
      ...views,
      view('gw-long', { files: [{ ...images[0], path: `/x/${'long'.repeat(30)}.mp4` }] as typeof images }),
    ],
    [...views, view('gw-play', { gateway: EMBEDDED, profile: 'sandbox', files: images })],
    [
      ...[
        view('gw-key', { once_key: 'day/boat' }),
        view('gw-long', { once_key: `night/${'雪の狐'.repeat(20)}` }),
      ],
      view('gw-play', { gateway: EMBEDDED, profile: 'sandbox', files: images }),
    ],
  ];
  for (const table of tables) {
    let before: string[] = [];
    for (let columns = 60; columns <= 200; columns += 1) {
      const [header = '', ...rows] = linesAt(columns, table);
      const shown = header.trim().split(/ +/);
      expect(
        before.filter((name) => !shown.includes(name)),
        `${columns}`,
      ).toEqual([]);
      if (columns >= 100) expect(shown).toContain('FILE');
      for (const row of rows) expect(displayWidth(row)).toBeLessThanOrEqual(columns);
      before = shown;
    }
  }
  expect(bodyAt(120, tables[0]).join('\n')).toMatch(/ fox-1\.png \+3/);
  const named = views.map((each) => ({ ...each, once_key: `day/${each.id}` }));
  for (const [at, { id }] of views.entries())
    expect(bodyAt(120, named)[at]).toMatch(new RegExp(` \\S+${id.slice(-4)} .* ${id}\\.mp4$`));
  for (const columns of [120, 200])
    expect(linesAt(columns, tables[3])[1]).toMatch(/^gw-key +succeeded .* day\/boat /);
});
