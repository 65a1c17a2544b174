import * as fs from 'node:fs';
import * as path from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { linesOf } from '../../src/disk/read-lines.ts';
import { Contents } from '../../src/ledger/contents.ts';
import {
  type IntentEvent,
  type Job,
  jobStates,
  type LedgerEvent,
  type LedgerLine,
} from '../../src/ledger/event.ts';
import { currentJournal } from '../../src/ledger/journal-files.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { openLedger } from '../../src/ledger/open-ledger.ts';
import { loadSettled } from '../../src/ledger/settled.ts';
import { ContentsWriter, loadWriter } from '../../src/ledger/write-contents.ts';
import { foldJobs, handClock, intent, tempDir } from './fixtures.ts';

// A find with the index must give the same jobs as the journals, whatever has happened to the index.

const gateway = 'https://gateway.example';
const saved = (role = 'video'): LedgerEvent => ({
  ...{ event: 'saved', role, path: `/videos/${role}.mp4`, bytes: 3, sha256: 'a', type: 'video/mp4' },
});
const succeeded = (id: string): LedgerEvent => ({
  ...{ event: 'final', state: 'succeeded', status: 'succeeded', serverDateMs: 7 },
  record: { id, status: 'succeeded', content: { video_url: `https://outputs.example/${id}?secret` } },
});

/** Appends a line as any other process would. */
function write(journals: string, clock: { now(): number }, job: string, event: LedgerEvent): void {
  fs.mkdirSync(journals, { recursive: true, mode: 0o700 });
  const line = JSON.stringify({ v: 1, t: clock.now(), job, ...event });
  fs.appendFileSync(currentJournal(journals, clock.now()), `\n${line}\n`, { mode: 0o600 });
}

/** A ledger of `count` jobs; more than 40 of them are enough for an index. */
function seeded(count: number, dir = tempDir()) {
  const clock = handClock();
  const open = () => openLedger({ dir, clock, keepPrompts: true });
  const ledger = open();
  const key = (at: number) => `gw-${String(at).padStart(26, '0')}`;
  const add = (at: number, ...events: LedgerEvent[]) => {
    for (const event of events) {
      clock.set(clock.now() + 1);
      write(journals, clock, key(at), event);
    }
  };
  const journals = path.join(dir, 'ledger');
  let text = '';
  for (let at = 0; at < count; at += 1) {
    const events = [
      intent({ prompt: 'a fox in the snow '.repeat(400), externalId: `order-${at}` }),
      { event: 'sent' },
      { event: 'accepted', id: `t-${at}`, status: 'queued' },
      ...(at % 10 === 9 ? [] : [succeeded(`t-${at}`), saved()]),
    ];
    for (const event of events) {
      clock.set(clock.now() + 1);
      text += `\n${JSON.stringify({ v: 1, t: clock.now(), job: key(at), ...event })}\n`;
    }
  }
  fs.mkdirSync(journals, { mode: 0o700 });
  fs.writeFileSync(path.join(journals, '2026-11.jsonl'), text, { mode: 0o600 });
  return { dir, clock, open, ledger, key, add, journals, index: path.join(journals, 'contents') };
}

/** Folds all lines of all journals into jobs, without an index. */
function folded(journals: string): Job[] {
  const lines: LedgerLine[] = [];
  for (const name of fs.readdirSync(journals).filter((each) => each.endsWith('.jsonl'))) {
    for (const { text } of linesOf(path.join(journals, name))) {
      try {
        lines.push(JSON.parse(text));
      } catch {
        // A torn line is no JSON and is left out.
      }
    }
  }
  return foldJobs(lines);
}

describe.each([
  ['without an index', 8],
  ['with an index', 100],
])('%s', (_, count) => {
  test('a process sees what others appended since', async () => {
    const { add, journals, key, open } = seeded(count);
    const asking = open();
    expect(await asking.find()).toEqual(folded(journals));
    // Add a line to a settled job, a line to an open job, and a new job.
    add(3, { event: 'plan', save: { target: '/elsewhere/', force: true, download: true } });
    add(5, { event: 'status', status: 'running' });
    add(count, intent(), { event: 'accepted', id: 'late' });
    for (const ledger of [asking, open()]) {
      expect(await ledger.find({ ids: ['t-3'] })).toMatchObject([{ save: { target: '/elsewhere/' } }]);
      expect(await ledger.find({ ids: ['late'] })).toMatchObject([{ key: key(count), state: 'running' }]);
      expect(await ledger.find()).toEqual(folded(journals));
      expect(await countIn(ledger)).toBe(count + 1);
    }
  });

  test('a last line that lacks its newline counts as soon as it is whole', async () => {
    const { add, clock, journals, key, open } = seeded(count);
    add(count, intent());
    const file = path.join(journals, '2026-11.jsonl');
    fs.appendFileSync(file, `\n${JSON.stringify({ v: 1, t: clock.now(), job: key(count), event: 'sent' })}`);
    for (let look = 0; look < 2; look += 1) {
      expect((await open().find({ limit: 1 }))[0]).toMatchObject({ key: key(count), state: 'sent' });
      expect(await open().find()).toEqual(folded(journals));
    }
  });

  test('a process forgets what another one removed, also where the journal is as long again', async () => {
    const { add, journals, key, ledger, open } = seeded(count);
    const asking = open();
    await asking.find();
    await open().remove(new Set([key(2), key(4)]));
    add(count, intent({ prompt: 'x'.repeat(20_000) }), { event: 'accepted', id: 'late' });
    for (const each of [asking, open(), ledger]) {
      expect(await each.find({ ids: ['t-2', key(4)] })).toEqual([]);
      expect(await each.find()).toEqual(folded(journals));
    }
    await open().remove(new Set((await asking.find()).map((job) => job.key)));
    expect(await asking.find()).toEqual([]);
    expect(await countIn(asking)).toBe(0);
  });

  test('other text under the same file number is read anew', async () => {
    const { journals, open } = seeded(count);
    const asking = open();
    await asking.find();
    const file = path.join(journals, '2026-11.jsonl');
    fs.writeFileSync(file, `${fs.readFileSync(file, 'utf8').replaceAll('"t-', '"u-')}\n\n`);
    expect(await asking.find({ ids: ['t-1', 'u-1'] })).toMatchObject([{ id: 'u-1' }]);
    expect(await open().find()).toEqual(folded(journals));
  });

  test('a line that is being written counts when it is whole, and one that cannot be read counts once', async () => {
    const { journals, key, open } = seeded(count);
    const asking = open();
    const file = path.join(journals, '2026-11.jsonl');
    const look = async () => [
      (await asking.find({ ids: [key(count - 1)] }))[0]?.status,
      asking.unreadable.length,
    ];
    const before = (await look())[0];
    const text = `{"v":1,"t":1,"job":"${key(count - 1)}","event":"part","role":"image","path":"/x"}\n`;
    fs.appendFileSync(file, `\n${text.slice(0, 30)}`);
    expect([await look(), await look()]).toEqual([
      [before, 1],
      [before, 1],
    ]);
    fs.appendFileSync(file, text.slice(30));
    expect(await look()).toEqual([before, 0]);
    expect((await asking.find({ ids: [key(count - 1)] }))[0]?.parts.image?.path).toBe('/x');
    fs.appendFileSync(file, '\nnot a line\n');
    const lines = fs.readFileSync(file, 'utf8').split('\n');
    expect([await look(), await look()]).toEqual([
      [before, 1],
      [before, 1],
    ]);
    for (const ledger of [asking, open()]) {
      await ledger.find();
      expect(ledger.unreadable.map(({ line }) => lines[line - 1])).toEqual(['not a line']);
    }
  });

  test.each([
    ['gw’s own key', { ids: ['gw-00000000000000000000000003'] }],
    ['task ID', { ids: ['t-3', 't-5', 'nobody'] }],
    ['very many IDs', { ids: Array.from({ length: 50 }, (_, at) => `t-${at * 2}`) }],
    ['external ID', { externalId: 'order-4' }],
    ['the digest of its body', { bodySha256: (id?: string) => (id === 'order-4' ? '0' : 'f').repeat(64) }],
    ['state', { states: ['succeeded'] as const }],
    ['a state that is not settled', { states: ['running', 'unknown'] as const }],
    ['family', { family: 'alpha', limit: 5 }],
    ['another family', { family: 'beta' }],
    ['gateway', { gateway, limit: 3 }],
    ['another gateway', { gateway: 'https://other.example' }],
    ['time', { sinceMs: 1_795_176_000_000 + 200 }],
    ['a condition', { where: (job: Job) => job.id?.endsWith('7') ?? false, limit: 2 }],
  ])('by %s, newest first', async (_, wanted) => {
    const { open, journals } = seeded(count);
    await open().find();
    const { limit } = wanted as Wanted;
    expect(await open().find(wanted)).toEqual(
      folded(journals)
        .filter((job) => isMeant(job, wanted))
        .slice(0, limit),
    );
  });
});

/** Whether a job matches `wanted`, apart from `isOpen` and `limit`. */
function isMeant(job: Job, wanted: Wanted): boolean {
  const { ids, bodySha256, externalId, states, family, gateway: of, sinceMs, where } = wanted;
  return (
    (!ids || ids.includes(job.key) || ids.includes(job.id ?? '')) &&
    (!externalId || job.externalId === externalId) &&
    (!bodySha256 || job.bodySha256 === bodySha256(job.externalId)) &&
    (!states || states.includes(job.state)) &&
    (!family || job.family === family) &&
    (!of || job.gateway === of) &&
    (!sinceMs || job.createdAtMs >= sinceMs) &&
    (!where || where(job))
  );
}

type Wanted = NonNullable<Parameters<ReturnType<typeof openLedger>['find']>[0]>;

test('the index is private, is there when it saves something, and holds no prompt, record or link', async () => {
  const few = seeded(8);
  await few.ledger.find();
  expect(fs.existsSync(few.index)).toBe(false);
  const { index, ledger } = seeded(100);
  await ledger.find();
  expect(fs.statSync(index).mode & 0o777).toBe(0o600);
  const text = fs.readFileSync(index, 'utf8');
  for (const kept of ['fox', 'outputs.example', 'gateway.example']) expect(text).not.toContain(kept);
  expect(text.length / 100).toBeLessThan(200);
});

test('what is open is told without what is settled', async () => {
  const { open, journals } = seeded(100);
  await open().find();
  const left = (await open().find({ isOpen: true })).map(({ id }) => id);
  expect(left).toEqual(
    folded(journals)
      .filter(({ state }) => state === 'running')
      .map(({ id }) => id),
  );
});

describe('an index that', () => {
  test.each<[string, (index: string, other: string) => void]>([
    ['is lost', (index) => fs.rmSync(index)],
    ['is empty', (index) => fs.writeFileSync(index, '')],
    ['is cut short', (index) => fs.truncateSync(index, fs.statSync(index).size - 1)],
    ['was written by another version', (index) => replace(index, 'gw-contents-2', 'gw-contents-3')],
    [
      'was written by the version before',
      (index) => fs.writeFileSync(index, 'gw-contents-1 0\n{"journals":[]}\n'),
    ],
    ['has rows and no end', (index) => replace(index, 'gw-contents-2', 'gw-dontents-2')],
    ['is a directory', (index) => replaceBy(index, () => fs.mkdirSync(index))],
    ['cannot be opened', (index) => replaceBy(index, () => fs.symlinkSync('/nowhere/at/all', index))],
    ['is that of another ledger', (index, other) => fs.copyFileSync(other, index)],
  ])('%s is not trusted', async (_, spoil) => {
    const other = seeded(60);
    await other.open().find();
    const { add, index, journals, open } = seeded(100);
    await open().find();
    spoil(index, other.index);
    const all = folded(journals);
    expect(await open().find()).toEqual(all);
    expect(await open().find({ ids: ['t-7'] })).toEqual(all.filter(({ id }) => id === 't-7'));
    expect(await countIn(open())).toBe(100);
    add(100, intent(), { event: 'accepted', id: 'late' });
    expect(await open().find()).toEqual(folded(journals));
  });

  test('leads to nothing is made anew', async () => {
    const { index: file, journals, open } = seeded(100);
    await open().find();
    // This index is sound, but its spans belong to no job.
    const contents = Contents.open(journals);
    const rows = [...contents.newestFirst({})]
      .reverse()
      .map((row) => ({ ...row, spans: [[0, 1, 2]] as const }));
    const change = { added: rows, replaced: new Set(rows.map(({ key }) => key)) };
    expect((await loadWriter()).write(contents, journals, change, contents.table)).toBe(true);
    expect(await open().find({ ids: ['t-7'] })).toMatchObject([{ id: 't-7', state: 'succeeded' }]);
    expect(await open().find()).toEqual(folded(journals));
    expect(fs.existsSync(file)).toBe(true);
  });

  test('a killed process left half-written is put away later', async () => {
    const { index, open } = seeded(100);
    fs.writeFileSync(`${index}.0a1b2c.fresh`, 'half');
    fs.writeFileSync(`${index}.3d4e5f.fresh`, 'half');
    fs.utimesSync(`${index}.0a1b2c.fresh`, 1, 1);
    vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 400 * 86_400_000);
    onTestFinished(() => void vi.restoreAllMocks());
    await open().find();
    expect(fs.existsSync(`${index}.0a1b2c.fresh`)).toBe(false);
    expect(fs.existsSync(`${index}.3d4e5f.fresh`)).toBe(true);
  });
});

function targetOf(link: string): string {
  try {
    return fs.readlinkSync(link);
  } catch {
    return '';
  }
}

/** The files that this process has open and whose paths have this beginning. */
const openFiles = (beginning: string): string[] =>
  fs
    .readdirSync('/proc/self/fd')
    .map((fd) => targetOf(`/proc/self/fd/${fd}`))
    .filter((file) => file.startsWith(beginning));

/** The offsets at which the parts of an index begin and end in its file. */
function partsOf(file: string) {
  const text = fs.readFileSync(file, 'latin1');
  const [, tableBytes] = text.slice(-40).trim().split(' ').map(Number);
  const table = [text.length - 40 - (tableBytes ?? 0), text.length - 40] as const;
  const { pieces, pages } = JSON.parse(text.slice(...table)) as { pieces: number[][]; pages: number[][] };
  let end = 0;
  const place = (bytes = 0) => {
    end += bytes;
    return [end - bytes, end] as const;
  };
  return {
    rows: pieces.map(([bytes]) => place(bytes)),
    names: pages.map(([, count = 0]) => place(8 * count)),
    table,
    trailer: [text.length - 39, text.length - 10],
  };
}

const middle = ([start = 0, end = 0]: readonly number[] = []) => (start + end) >> 1;

describe('of an index of several blocks', () => {
  /** One byte of the index is damaged. Each case has a query that does not need the damaged block, and one that does. */
  const everyTenth = Array.from({ length: 60 }, (_, at) => `t-${at * 10}`);
  const cases: [string, (parts: ReturnType<typeof partsOf>) => number, Wanted | undefined, Wanted][] = [
    ['the oldest rows', ({ rows }) => middle(rows[0]), { limit: 3 }, { ids: ['t-3'] }],
    [
      'the newest rows, by state',
      ({ rows }) => middle(rows.at(-1)),
      { ids: ['t-3'] },
      { states: ['running'] },
    ],
    ['the oldest rows, by time', ({ rows }) => middle(rows[0]), { sinceMs: 1_795_176_000_000 + 2_500 }, {}],
    ['the newest rows', ({ rows }) => middle(rows.at(-1)), { ids: ['t-3'] }, { limit: 3 }],
    ['the names', ({ names }) => middle(names[0]), { limit: 3 }, { ids: everyTenth }],
    ['the table of blocks', ({ table }) => middle(table), undefined, { limit: 3 }],
    ['what stands at the end', ({ trailer }) => middle(trailer), undefined, { limit: 3 }],
    ['the last byte that counts', ({ trailer }) => trailer[0] ?? 0, undefined, { limit: 3 }],
  ];
  test.each(cases)('%s, damaged: noticed when it is needed, and the answer is right', async (...each) => {
    const [, placeOf, sparing, needing] = each;
    const { index, journals, open } = seeded(600);
    await open().find();
    const parts = partsOf(index);
    expect([parts.rows.length, parts.names.length]).toEqual([3, 4]);
    damage(index, placeOf(parts));
    const damaged = fs.readFileSync(index);
    const all = folded(journals);
    const meant = (wanted: Wanted) => all.filter((job) => isMeant(job, wanted)).slice(0, wanted.limit);
    if (sparing) {
      expect(await open().find(sparing)).toEqual(meant(sparing));
      expect(fs.readFileSync(index).equals(damaged)).toBe(true);
    }
    expect(await open().find(needing)).toEqual(meant(needing));
    // The find has rebuilt the index, which is whole again.
    expect(fs.readFileSync(index).equals(damaged)).toBe(false);
    expect(await open().find()).toEqual(all);
  });

  test('a job that was created at the very moment that is asked for is found', async () => {
    const { journals, open } = seeded(600);
    await open().find();
    const all = folded(journals);
    for (const at of [0, 1, 100, 343, 344, 599]) {
      expect(await open().find({ sinceMs: all[at]?.createdAtMs })).toHaveLength(at + 1);
    }
  });

  test('no more are told than were asked for, also of those that have lost their lines', async () => {
    const { journals, open, key } = seeded(2);
    fs.mkdirSync(path.join(journals, 'sent'));
    const lost = [7, 8, 9].map(key);
    for (const each of lost) fs.writeFileSync(path.join(journals, 'sent', each), '');
    for (const limit of [1, 2, 3, 4]) {
      const found = await open().find({ ids: [key(0), ...lost], limit });
      expect(found.map((job) => job.key)).toEqual([key(0), ...lost].slice(0, limit));
    }
  });

  test('the file is let go of before another takes its place, and the process goes on with that one', async () => {
    const { clock, index, journals, key, open } = seeded(600);
    await open().find();
    const asking = open();
    await asking.find({ limit: 1 });
    const before = openFiles(index).length;
    write(journals, clock, key(600), intent({ prompt: 'x'.repeat(400_000) }));
    expect(await asking.find()).toEqual(folded(journals));
    expect(openFiles(index)).toHaveLength(before);
    expect(await asking.find()).toEqual(folded(journals));
    fs.rmSync(index);
    expect(await asking.find({ ids: ['t-3'] })).toMatchObject([{ id: 't-3', state: 'succeeded' }]);
  });

  test('names that are damaged do not go on into the next index', async () => {
    const { clock, index, journals, key, open } = seeded(600);
    await open().find();
    damage(index, middle(partsOf(index).names[0]));
    write(journals, clock, key(600), intent({ prompt: 'x'.repeat(400_000) }));
    expect(await open().find({ limit: 1 })).toMatchObject([{ key: key(600) }]);
    const written = fs.readFileSync(index);
    expect(await namesIn(open(), 'gw-')).toHaveLength(601);
    expect(fs.readFileSync(index).equals(written)).toBe(true);
  });

  test('names that begin alike are found across blocks, each once', async () => {
    const { key, open } = seeded(600);
    await open().find();
    const keys = Array.from({ length: 600 }, (_, at) => key(at));
    const ledger = open();
    expect(await namesIn(ledger, 'gw-')).toEqual(keys);
    const ids = keys.map((_, at) => `t-${at}`);
    expect(await namesIn(ledger, 't-')).toEqual([...ids].sort());
    // Commands do not accept external IDs as names, so these are not listed.
    expect(await namesIn(ledger, '')).toEqual([...keys, ...ids].sort());
    for (const beginning of ['gw-', 't-', 't-5', 't-599', 't-600', key(599).slice(0, -1)]) {
      const names = [...keys, ...ids].filter((name) => name.startsWith(beginning));
      expect(await namesIn(ledger, beginning)).toEqual([...names].sort());
    }
  });

  test('two jobs of one task ID, one external ID, and an ID that is another job’s key', async () => {
    const { add, clock, journals, key, open } = seeded(600);
    add(600, intent({ gateway: 'https://other.example', externalId: 'order-3' }));
    add(600, { event: 'accepted', id: 't-3' });
    add(601, intent({ externalId: 't-4' }), { event: 'accepted', id: key(5) });
    add(602, intent({ externalId: key(602) }), { event: 'accepted', id: 't "quoted", 7\n' });
    // This line is long enough for the index to be rebuilt with these jobs.
    write(journals, clock, key(603), intent({ prompt: 'x'.repeat(400_000) }));
    await open().find();
    expect(partsOf(path.join(journals, 'contents')).names).toHaveLength(4);
    const found = async (wanted: Wanted) => (await open().find(wanted)).map((job) => job.key);
    expect(await found({ ids: ['t-3'] })).toEqual([key(600), key(3)]);
    expect(await found({ ids: ['t-3'], gateway })).toEqual([key(3)]);
    expect(await found({ externalId: 'order-3' })).toEqual([key(600), key(3)]);
    expect(await found({ ids: [key(5)] })).toEqual([key(601), key(5)]);
    expect(await found({ externalId: 't-4' })).toEqual([key(601)]);
    expect(await found({ ids: ['t-4'] })).toEqual([key(4)]);
    expect(await found({ externalId: key(602) })).toEqual([key(602)]);
    expect(await namesIn(open(), 't "')).toEqual(['t "quoted", 7\n']);
    expect(await found({ ids: ['t "quoted", 7\n'] })).toEqual([key(602)]);
  });

  test('a job that was open and is settled leaves the open ones, in its place', async () => {
    const { add, clock, journals, key, open } = seeded(600);
    await open().find();
    const openJobs = () => open().find({ isOpen: true });
    const left = await openJobs();
    expect(left).toHaveLength(60);
    for (const { id = '' } of left.slice(1)) add(Number(id.slice(2)), succeeded(id), saved());
    expect((await openJobs()).map((job) => job.key)).toContain(left[0]?.key);
    write(journals, clock, key(600), intent({ prompt: 'x'.repeat(400_000) }));
    add(600, { event: 'refused', kind: 'rejected', message: 'no' });
    await open().find();
    expect((await openJobs()).map((job) => job.key)).toEqual([left[0]?.key]);
    expect(await open().find()).toEqual(folded(journals));
    expect(await countIn(open())).toBe(601);
  });
});

describe('of very many jobs that are not settled', () => {
  /** The intents of many jobs, and after them the ID of every hundredth job: more than one read takes. */
  function crowd(count: number, asked?: Partial<IntentEvent>) {
    const dir = tempDir();
    const clock = handClock();
    const open = () => openLedger({ dir, clock, keepPrompts: true });
    const journals = path.join(dir, 'ledger');
    const key = (at: number) => `gw-${String(at).padStart(26, '0')}`;
    const lines: object[] = [];
    for (let at = 0; at < count; at += 1) lines.push({ job: key(at), ...intent(asked) });
    for (let at = 0; at < count; at += 100) lines.push({ job: key(at), event: 'accepted', id: `t-${at}` });
    fs.mkdirSync(journals, { mode: 0o700 });
    const text = lines.map((each, at) => `\n${JSON.stringify({ v: 1, t: clock.now() + at, ...each })}\n`);
    fs.writeFileSync(path.join(journals, '2026-11.jsonl'), text.join(''), { mode: 0o600 });
    return { open, journals, keys: Array.from({ length: count }, (_, at) => key(at)) };
  }

  test('no more than a bounded number wait in memory for the rest of their lines', async () => {
    const into = vi.spyOn(ContentsWriter.prototype, 'write');
    onTestFinished(() => into.mockRestore());
    const { open, journals } = crowd(4_000, { prompt: 'x'.repeat(5_000) });
    const found = await open().find();
    expect(Math.max(...into.mock.calls.map(([, , { added }]) => added.length))).toBeLessThan(2_000);
    expect(found).toEqual(folded(journals));
  });

  test('what many of them are named by is found to its end', async () => {
    const { open, journals, keys } = crowd(4_000);
    await open().find({ limit: 1 });
    expect(partsOf(path.join(journals, 'contents')).names).toHaveLength(8);
    expect(await namesIn(open(), 'gw-')).toEqual(keys);
  });
});

describe('a job whose lines stand twice is one', () => {
  test('after a prune that did not come to its end', async () => {
    const { journals, open } = seeded(600);
    const file = path.join(journals, '2026-11.jsonl');
    fs.copyFileSync(file, `${file}.0a1b2c.old`);
    for (let look = 0; look < 2; look += 1) {
      expect(await open().find()).toEqual(folded(journals));
      expect(await countIn(open())).toBe(600);
    }
  });

  test('also where no index can be kept', async () => {
    // The path of the journal's former name still fits into the maximum length of a path, and that of a new index does not.
    const top = tempDir();
    const rest = 4_073 - top.length - '/ledger'.length;
    const deep = path.join(top, `${'d'.repeat(199)}/`.repeat(rest / 200), 'e'.repeat((rest % 200) - 1));
    fs.mkdirSync(deep, { recursive: true });
    const { index, journals, open } = seeded(600, deep);
    const file = path.join(journals, '2026-11.jsonl');
    fs.copyFileSync(file, `${file}.0.old`);
    expect(await open().find()).toEqual(folded(journals));
    expect(fs.existsSync(index)).toBe(false);
  });

  test('after an intent was appended again while its journal was rewritten', async () => {
    const { add, clock, journals, key, open } = seeded(600);
    await open().find();
    add(3, intent({ prompt: 'a fox in the snow '.repeat(400), externalId: 'order-3' }));
    expect(await open().find()).toEqual(folded(journals));
    write(journals, clock, key(600), intent({ prompt: 'x'.repeat(400_000) }));
    for (let look = 0; look < 2; look += 1) {
      expect(await open().find()).toEqual(folded(journals));
      expect(await countIn(open())).toBe(601);
    }
  });
});

describe('a journal that another process rewrites while this one reads it', () => {
  /** A ledger and 40 running jobs to add, which are enough for the index to be rebuilt. */
  function grown() {
    const all = seeded(600);
    const late = Array.from({ length: 40 }, (_, at) => `t-${600 + at}`);
    const addLate = () => {
      for (const [at, id] of late.entries()) {
        const prompt = 'a fox in the snow '.repeat(400);
        all.add(600 + at, intent({ prompt }), { event: 'sent' }, { event: 'accepted', id, status: 'queued' });
      }
    };
    const keys = (count: number) => new Set(Array.from({ length: count }, (_, at) => all.key(at)));
    return { ...all, late, addLate, keys };
  }

  test.each([10, 60])(
    'between its looking and its reading, %i jobs forgotten: none is hidden',
    async (count) => {
      const { addLate, index, journals, keys, late, open } = grown();
      await open().find();
      addLate();
      const finding = open().find({ ids: late });
      await open().remove(keys(count));
      expect(await finding).toHaveLength(late.length);
      const kept = fs.existsSync(index) ? fs.readFileSync(index) : undefined;
      for (const id of late) {
        if (kept) fs.writeFileSync(index, kept);
        expect(await open().find({ ids: [id] })).toHaveLength(1);
      }
      expect(await open().find()).toEqual(folded(journals));
    },
  );

  test('what was forgotten is not named by the index either', async () => {
    const { index, keys, open } = grown();
    await open().find();
    expect(fs.readFileSync(index, 'latin1')).toContain('order-3');
    await open().remove(keys(599));
    await open().find();
    expect(fs.existsSync(index) ? fs.readFileSync(index, 'latin1') : '').not.toContain('order-3');
  });
});

function damage(file: string, at: number): void {
  const bytes = fs.readFileSync(file);
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  fs.writeFileSync(file, bytes);
}

function replaceBy(file: string, make: () => void): void {
  fs.rmSync(file);
  make();
}

function replace(file: string, from: string, to: string): void {
  fs.writeFileSync(file, fs.readFileSync(file, 'latin1').replace(from, to), 'latin1');
}

test('a body is found by its digest, however its intent is written, and no other job is read for it', async () => {
  const { add, clock, journals, key, open } = seeded(100);
  const bodySha256 = (id: string | undefined) => Buffer.from(`body of ${id}`).toString('hex');
  const of = (externalId?: string) => ({ bodySha256: bodySha256(externalId), externalId });
  const wordy = 'order "7" ü\n';
  const alike = [
    intent(of()),
    intent(of('order-7')),
    intent(of(wordy)),
    intent({ ...of('hidden'), settings: { externalId: 'another', bodySha256: bodySha256('another') } }),
    intent({ ...of('long'), settings: { note: 'x'.repeat(40_000) } }),
  ];
  for (const [at, asked] of alike.entries()) add(100 + at, asked, { event: 'sent' });
  add(105, { event: 'sent' }, intent(of('late')));
  // These jobs have other bodies. The last line is long enough for the index to be rebuilt with all jobs.
  add(106, intent({ ...of('x'), externalId: 'y' }), intent({ externalId: 'y' }));
  add(107, intent({ bodySha256: bodySha256('order-7') }));
  write(journals, clock, key(108), intent({ prompt: 'x'.repeat(400_000) }));
  await open().find();
  // Reading the whole job would report this damage.
  replace(path.join(journals, '2026-11.jsonl'), '"record":{"id":"t-20",', '"record":{"id":"t-20"!');
  const ledger = open();
  const wanted = { bodySha256, sinceMs: 0 };
  const keys = (await ledger.find(wanted)).map((job) => job.key);
  expect(keys).toEqual([105, 104, 103, 102, 101, 100].map(key));
  expect((await ledger.find({ ...wanted, limit: 2 })).map((job) => job.key)).toEqual([105, 104].map(key));
  expect(new Set(openFiles(journals))).toEqual(new Set([path.join(journals, 'contents')]));
  expect(ledger.unreadable).toEqual([]);
  await ledger.find();
  expect(ledger.unreadable).toHaveLength(1);
});

describe('a body is looked for in a ledger that has gone on since its index was made', () => {
  const bodySha256 = (id: string | undefined) => Buffer.from(`body of ${id}`).toString('hex');
  const asked = intent({ bodySha256: bodySha256(undefined) });
  const accepted = (at: number): LedgerEvent => ({ event: 'accepted', id: `late-${at}` });

  /** The index has three jobs of that body, one of them refused. A job of another body was added after the index was made. */
  async function goneOn() {
    const all = seeded(100);
    const { add, clock, index, journals, key, open } = all;
    for (const at of [100, 101, 102]) add(at, asked, { event: 'sent' });
    add(100, { event: 'refused', kind: 'not_sent', message: 'no' });
    write(journals, clock, key(103), intent({ prompt: 'x'.repeat(400_000) }));
    await open().find();
    const made = fs.readFileSync(index);
    add(104, intent(), { event: 'sent' }, accepted(104));
    /** Finds jobs in a ledger that has read nothing yet, and checks that the result is the same after it has read all. */
    const found = async (wanted: Wanted = {}) => {
      const ledger = open();
      const first = await ledger.find({ bodySha256, ...wanted });
      expect(fs.readFileSync(index).equals(made)).toBe(true);
      expect(await ledger.find()).toEqual(folded(journals));
      expect(await ledger.find({ bodySha256, ...wanted })).toEqual(first);
      return first.map((job) => job.key);
    };
    return { ...all, found };
  }

  test('where a job of the index stands now, is what the later lines say', async () => {
    const { add, found, key } = await goneOn();
    const running = { states: ['running'] as const };
    expect(await found(running)).toEqual([]);
    add(100, accepted(100));
    add(101, accepted(101), { event: 'lost', message: 'gone' });
    expect(await found(running)).toEqual([key(100)]);
    expect(await found({ ...running, states: ['running', 'succeeded'] })).toEqual([key(100)]);
    expect(await found({ states: ['sent'] })).toEqual([key(102)]);
  });

  test('new jobs come before those of the index, the newest first', async () => {
    const { add, clock, found, key } = await goneOn();
    add(105, asked);
    add(106, asked, accepted(106));
    add(102, accepted(102));
    expect(await found()).toEqual([106, 105, 102, 101, 100].map(key));
    expect(await found({ limit: 1 })).toEqual([key(106)]);
    expect(await found({ states: ['running'], limit: 1 })).toEqual([key(106)]);
    // The clock was set back to a time before all of these jobs.
    clock.set(clock.now() - 3_600_000);
    add(107, asked, accepted(107));
    expect(await found()).toEqual([106, 105, 102, 101, 100, 107].map(key));
  });

  test('an intent that stands twice is one job, as the first says', async () => {
    const { add, clock, found, key, open } = await goneOn();
    add(101, asked, accepted(101));
    add(105, asked, asked, accepted(105));
    add(104, asked);
    add(103, asked);
    expect(await found({ limit: 1 })).toEqual([key(105)]);
    expect(await found({ states: ['running'] })).toEqual([105, 101].map(key));
    clock.set(clock.now() - 3_600_000);
    add(102, asked);
    const all = (await open().find({ bodySha256 })).map((job) => job.key);
    expect(all.sort()).toEqual([100, 101, 102, 105].map(key));
  });

  /** A ledger that has looked for the body, and has left out the lines that it need not read. */
  async function hasLooked({ add, key, open }: Awaited<ReturnType<typeof goneOn>>) {
    add(105, asked, accepted(105));
    const ledger = open();
    expect(await ledger.find({ bodySha256, limit: 1 })).toMatchObject([{ key: key(105) }]);
    return ledger;
  }

  test('what was left goes into the index before what comes after it', async () => {
    const all = await goneOn();
    all.add(106, intent());
    const ledger = await hasLooked(all);
    all.add(106, intent({ prompt: 'x'.repeat(400_000) }));
    expect(await ledger.find()).toEqual(folded(all.journals));
    expect(await all.open().find()).toEqual(folded(all.journals));
  });

  test('what was left of a job that was forgotten meanwhile is forgotten', async () => {
    const all = await goneOn();
    const ledger = await hasLooked(all);
    await all.open().remove(new Set([all.key(104)]));
    expect(await ledger.find()).toEqual(folded(all.journals));
  });

  test('so is it where there is no index yet', async () => {
    const { add, journals, key, open } = seeded(3);
    add(4, intent(), { event: 'sent' }, accepted(4));
    add(5, asked, accepted(5));
    const ledger = open();
    expect(await ledger.find({ bodySha256, limit: 1 })).toMatchObject([{ key: key(5) }]);
    await open().remove(new Set([key(4)]));
    expect(await ledger.find()).toEqual(folded(journals));
  });

  test.each<[string, (line: object) => string]>([
    [
      'in another order',
      ({ job, event, ...rest }: { job?: string; event?: string }) => JSON.stringify({ event, job, ...rest }),
    ],
    ['with spaces', (line) => JSON.stringify(line).replaceAll('":', '" : ')],
    ['with its event late', ({ event, ...rest }: { event?: string }) => JSON.stringify({ ...rest, event })],
  ])('a line that was written %s counts', async (_, textOf) => {
    const { clock, found, journals, key } = await goneOn();
    for (const each of [asked, accepted(105)]) {
      const text = textOf({ v: 1, t: clock.now() + 1, job: key(105), ...each });
      fs.appendFileSync(currentJournal(journals, clock.now()), `\n${text}\n`);
    }
    expect(await found({ states: ['running'] })).toEqual([key(105)]);
  });

  test('a line of another job that cannot be read is named, and nobody else misses it', async () => {
    const { add, journals, key, open } = await goneOn();
    add(105, asked, accepted(105));
    const file = path.join(journals, '2026-11.jsonl');
    replace(file, '"id":"late-104"', '"id":"late-104!');
    const looks: ((ledger: ReturnType<typeof open>) => Promise<unknown>)[] = [
      async (ledger) => expect(await ledger.find({ ids: [key(104)] })).toMatchObject([{ state: 'sent' }]),
      async (ledger) => expect(await namesIn(ledger, 'gw-')).toContain(key(104)),
      async (ledger) => expect(await countIn(ledger)).toBe(106),
      async (ledger) => expect(await ledger.find()).toEqual(folded(journals)),
    ];
    for (const look of looks) {
      const ledger = open();
      expect(await ledger.find({ bodySha256, limit: 1 })).toMatchObject([{ key: key(105) }]);
      expect(ledger.unreadable).toHaveLength(1);
      await look(ledger);
      expect(ledger.unreadable).toHaveLength(1);
    }
  });
});

test('a line that was damaged after it was indexed costs that line, and is named', async () => {
  const { journals, key, open } = seeded(100);
  await open().find();
  const file = path.join(journals, '2026-11.jsonl');
  const text = fs.readFileSync(file, 'latin1');
  const at = text.indexOf(`"job":"${key(20)}","event":"intent"`);
  damage(file, text.indexOf('{"resolution"', at));
  const ledger = open();
  expect(await ledger.find({ ids: ['t-20'] })).toMatchObject([
    { id: 't-20', isDamaged: true, family: 'alpha', gateway, state: 'succeeded' },
  ]);
  const lines = fs.readFileSync(file, 'latin1').split('\n');
  expect(ledger.unreadable.map(({ line }) => lines[line - 1]?.includes(key(20)))).toEqual([true]);
  expect(await open().find({ ids: ['t-21'] })).toMatchObject([{ id: 't-21', state: 'succeeded' }]);
});

test('any order of events, over months, clocks that step back, and processes that come and go', async () => {
  const dir = tempDir();
  const clock = handClock();
  const open = () => openLedger({ dir, clock, keepPrompts: true });
  const journals = path.join(dir, 'ledger');
  let seed = 7;
  const random = (below: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((seed / 2_147_483_648) * below);
  };
  let asking = open();
  const keys: string[] = [];
  const key = (at: number) => `gw-${String(at).padStart(26, '0')}`;
  const made: ((at: number) => LedgerEvent)[] = [
    () => ({ event: 'sent' }),
    (at) => ({ event: 'accepted', id: `t-${at % 300}` }),
    (at) => succeeded(`t-${at}`),
    () => saved(),
    () => ({ event: 'refused', kind: 'rejected', message: 'no' }),
    () => ({ event: 'get', role: 'video' }),
    () => ({ event: 'part', role: 'video', path: '/part' }),
    () => ({ event: 'part', role: 'video' }),
    () => ({ event: 'unknown', message: 'lost' }),
  ];
  const bodyOf = (at: number) => (id: string | undefined) => Buffer.from(`${at} of ${id}`).toString('hex');
  for (let step = 0; step < 1_200; step += 1) {
    const hours = random(400) === 0 ? 24 * 40 : random(60) === 0 ? -3 : 0;
    clock.set(clock.now() + hours * 3_600_000 + random(3));
    if (keys.length === 0 || random(5) === 0) {
      keys.push(key(keys.length));
      const family = random(4) === 0 ? 'beta' : 'alpha';
      const externalId = random(3) === 0 ? undefined : `order-${random(200)}`;
      const of = random(4) === 0 ? 'https://other.example' : gateway;
      const bodySha256 = bodyOf(random(20))(externalId);
      const begun = intent({ prompt: 'p'.repeat(3_000), family, externalId, gateway: of, bodySha256 });
      write(journals, clock, key(keys.length - 1), begun);
    } else {
      const at = Math.max(0, keys.length - 1 - random(random(20) === 0 ? keys.length : 10));
      write(journals, clock, key(at), made[random(made.length)]?.(at) ?? saved());
    }
    if (random(100) === 0) asking = open();
    if (random(60) === 0) await asking.find({ limit: 1 });
  }
  expect(fs.readdirSync(journals).length).toBeGreaterThan(3);
  const all = folded(journals);
  const isSettled = await loadSettled();
  const anyOf = <T>(values: readonly T[]): T => values[random(values.length)] as T;
  const name = () => {
    const job = anyOf(all);
    return anyOf([job.key, job.id ?? 'nobody', job.externalId ?? 'none']);
  };
  const asked: (() => Wanted)[] = [
    () => ({ ids: Array.from({ length: 1 + random(30) }, name) }),
    () => ({ externalId: name() }),
    () => ({ states: Array.from({ length: 1 + random(3) }, () => anyOf(jobStates)) }),
    () => ({ family: anyOf(['alpha', 'beta']) }),
    () => ({ gateway: anyOf([gateway, 'https://other.example']) }),
    () => ({ sinceMs: anyOf(all).createdAtMs + random(3) - 1 }),
    () => ({ isOpen: true }),
    () => ({ limit: 1 + random(20) }),
    () => ({ bodySha256: bodyOf(random(20)) }),
    () => ({ where: (job) => job.key.endsWith('7') }),
  ];
  const names = all.flatMap(({ key: own, id }) => (id === undefined ? [own] : [own, id]));
  for (const asks of [asking, open()]) {
    const found = await asks.find();
    expect(found.map((job) => job.key)).toEqual(all.map((job) => job.key));
    expect(found).toEqual(all);
    for (let round = 0; round < 60; round += 1) {
      // A ledger that has read nothing yet reads only what it needs.
      const ledger = round % 2 === 0 ? asks : open();
      const wanted = { ...asked[round % asked.length]?.(), ...(random(2) === 0 && anyOf(asked)()) };
      const { limit, isOpen, ...rest } = wanted;
      const meant = all.filter((job) => isMeant(job, rest));
      if (isOpen) {
        // The ledger may leave out settled jobs, so a limit cannot be checked here.
        const left = await ledger.find({ ...rest, isOpen });
        expect(left, JSON.stringify(wanted)).toEqual(meant.filter(({ key: own }) => hasKey(left, own)));
        expect(meant.filter((job) => !isSettled(job) && !hasKey(left, job.key))).toEqual([]);
      } else expect(await ledger.find(wanted), JSON.stringify(wanted)).toEqual(meant.slice(0, limit));
      const beginning = name().slice(0, 1 + random(28));
      const alike = names.filter((each) => each.startsWith(beginning));
      expect(await namesIn(ledger, beginning)).toEqual(alike.sort());
    }
  }
});

const countIn = (ledger: Ledger): Promise<number> => ledger.names((names) => [...names].length);

/** The sorted keys and task IDs of all jobs that have this beginning. */
const namesIn = (ledger: Ledger, beginning: string): Promise<string[]> =>
  ledger.names((names) =>
    [...names]
      .flatMap(({ key, id }) => (id === undefined ? [key] : [key, id]))
      .filter((name) => name.startsWith(beginning))
      .sort(),
  );

const hasKey = (jobs: readonly Job[], key: string): boolean => jobs.some((job) => job.key === key);
