import * as fs from 'node:fs';
import * as path from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { linesOf } from '../../src/disk/read-lines.ts';
import type { Job, LedgerEvent, LedgerLine } from '../../src/ledger/event.ts';
import { foldJobs } from '../../src/ledger/fold.ts';
import { currentJournal } from '../../src/ledger/journal-files.ts';
import { openLedger } from '../../src/ledger/open-ledger.ts';
import { handClock, intent, tempDir } from './fixtures.ts';

// What is found with the index is what the journals say, whatever has become of the index.

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
function seeded(count: number) {
  const dir = tempDir();
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
  return { dir, clock, open, ledger, key, add, journals, index: path.join(journals, 'index') };
}

/** The jobs as all lines of all journals make them, without an index. */
function folded(journals: string): Job[] {
  const lines: LedgerLine[] = [];
  for (const name of fs.readdirSync(journals).filter((each) => each.endsWith('.jsonl'))) {
    for (const { text } of linesOf(path.join(journals, name))) {
      try {
        lines.push(JSON.parse(text));
      } catch {
        // A torn line.
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
    // Of a job that is settled, of one that is not, and a new one.
    add(3, { event: 'plan', save: { target: '/elsewhere/', force: true, download: true } });
    add(5, { event: 'status', status: 'running' });
    add(count, intent(), { event: 'accepted', id: 'late' });
    for (const ledger of [asking, open()]) {
      expect(await ledger.find({ ids: ['t-3'] })).toMatchObject([{ save: { target: '/elsewhere/' } }]);
      expect(await ledger.find({ ids: ['late'] })).toMatchObject([{ key: key(count), state: 'running' }]);
      expect(await ledger.find()).toEqual(folded(journals));
      expect(await ledger.count()).toBe(count + 1);
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
    expect(await asking.count()).toBe(0);
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
    ['the beginning of an ID', { beginning: 't-1' }],
    ['the beginning of a key', { beginning: 'gw-0000000000000000000000000' }],
    ['external ID', { externalId: 'order-4' }],
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
    const has = (job: Job) => {
      const { ids, beginning, externalId, states, family, gateway: of, sinceMs, where } = wanted as Wanted;
      return (
        (!ids || ids.includes(job.key) || ids.includes(job.id ?? '')) &&
        (!beginning || job.key.startsWith(beginning) || (job.id ?? '').startsWith(beginning)) &&
        (!externalId || job.externalId === externalId) &&
        (!states || states.includes(job.state)) &&
        (!family || job.family === family) &&
        (!of || job.gateway === of) &&
        (!sinceMs || job.createdAtMs >= sinceMs) &&
        (!where || where(job))
      );
    };
    const { limit } = wanted as Wanted;
    expect(await open().find(wanted)).toEqual(folded(journals).filter(has).slice(0, limit));
  });
});

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
    ['is cut short', (index) => fs.truncateSync(index, 5_000)],
    ['has one damaged byte', (index) => damage(index, 6_000)],
    ['has a damaged head', (index) => damage(index, 3)],
    ['another version wrote', (index) => replace(index, 'gw-index-1', 'gw-index-2')],
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
    expect(await open().count()).toBe(100);
    add(100, intent(), { event: 'accepted', id: 'late' });
    expect(await open().find()).toEqual(folded(journals));
  });

  test('leads to nothing is made anew', async () => {
    const { index, journals, open } = seeded(100);
    await open().find();
    // As sound as ours, with stretches that belong to no job.
    const { writeIndex, readIndex } = await import('../../src/ledger/index-file.ts');
    const content = readIndex(journals);
    if (!content) throw new Error('there is an index');
    const rows = Buffer.from(content.rows.toString().replaceAll(/,0,\d+,\d+\]/g, ',0,1,2]'));
    writeIndex(journals, { ...content, rows });
    expect(readIndex(journals)?.rows.equals(rows)).toBe(true);
    expect(await open().find({ ids: ['t-7'] })).toMatchObject([{ id: 't-7', state: 'succeeded' }]);
    expect(await open().find()).toEqual(folded(journals));
    expect(fs.existsSync(index)).toBe(true);
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
    (at) => ({ event: 'accepted', id: `t-${at}` }),
    (at) => succeeded(`t-${at}`),
    () => saved(),
    () => ({ event: 'refused', kind: 'rejected', message: 'no' }),
    () => ({ event: 'get', role: 'video' }),
    () => ({ event: 'part', role: 'video', path: '/part' }),
    () => ({ event: 'part', role: 'video' }),
    () => ({ event: 'unknown', message: 'lost' }),
  ];
  for (let step = 0; step < 3_000; step += 1) {
    const hours = random(400) === 0 ? 24 * 40 : random(60) === 0 ? -3 : 0;
    clock.set(clock.now() + hours * 3_600_000 + random(3));
    if (keys.length === 0 || random(5) === 0) {
      keys.push(key(keys.length));
      write(journals, clock, key(keys.length - 1), intent({ prompt: 'p'.repeat(3_000) }));
    } else {
      const at = Math.max(0, keys.length - 1 - random(random(20) === 0 ? keys.length : 10));
      write(journals, clock, key(at), made[random(made.length)]?.(at) ?? saved());
    }
    if (random(100) === 0) asking = open();
    if (random(60) === 0) await asking.find({ limit: 1 });
  }
  expect(fs.readdirSync(journals).length).toBeGreaterThan(3);
  const all = folded(journals);
  for (const ledger of [asking, open()]) {
    const found = await ledger.find();
    expect(found.map((job) => job.key)).toEqual(all.map((job) => job.key));
    expect(found).toEqual(all);
  }
});
