import * as fs from 'node:fs';
import * as path from 'node:path';
import { describe, expect, test } from 'vitest';
import { LiveJobs } from '../../src/ledger/live-jobs.ts';
import { openLedger } from '../../src/ledger/open-ledger.ts';
import { findJobs, readJobs } from '../../src/ledger/read-jobs.ts';
import { handClock, intent, tempDir } from './fixtures.ts';

/** A state directory that two processes have open; each has its own ledger. */
function twoLedgers() {
  const dir = tempDir();
  const clock = handClock();
  const open = () => openLedger({ dir, clock, keepPrompts: true });
  const journals = path.join(dir, 'ledger');
  return { one: open(), two: open(), live: new LiveJobs(journals), journals, clock };
}

function made(ledger: ReturnType<typeof openLedger>, id: string, gateway = 'https://gateway.example') {
  const key = ledger.begin(intent({ gateway })).key;
  ledger.append(key, { event: 'accepted', id, status: 'queued' });
  return key;
}

const onlyJournal = (dir: string): string => path.join(dir, fs.readdirSync(dir)[0] ?? '');

describe('a ledger that is asked again and again', () => {
  test('sees what was appended since, by whichever process', () => {
    const { one, two, live, journals } = twoLedgers();
    const keys = Array.from({ length: 50 }, (_, at) => made(one, `t-${at}`));
    const skips = { lines: 0 };
    expect(live.list(skips)).toHaveLength(50);
    two.append(keys[7] ?? '', { event: 'status', status: 'running' });
    const late = made(two, 'late');
    expect(live.findMany(['t-7', 'late', 'never'], skips)).toEqual(
      findJobs(journals, ['t-7', 'late', 'never'], skips),
    );
    expect(live.findMany([late], skips).get(late)).toMatchObject({ id: 'late', state: 'running' });
    expect(live.list(skips)).toEqual(readJobs(journals, skips));
  });

  test('forgets what another process removed, also where the journal is as long again', async () => {
    const { one, two, live, journals } = twoLedgers();
    const gone = made(one, 'gone');
    made(one, 'stays');
    const skips = { lines: 0 };
    expect(live.list(skips)).toHaveLength(2);
    await two.remove(new Set([gone]));
    const before = fs.statSync(onlyJournal(journals)).size;
    while (fs.statSync(onlyJournal(journals)).size < 3 * before) made(two, 'more');
    expect(live.findMany(['gone', gone], skips).size).toBe(0);
    expect(live.list(skips)).toEqual(readJobs(journals, skips));
    await two.remove(new Set(live.list(skips).map(({ key }) => key)));
    expect(live.list(skips)).toEqual([]);
    made(one, 'again');
    expect(live.list(skips).map(({ id }) => id)).toEqual(['again']);
  });

  test('reads anew where other text stands under the same file number', () => {
    const { one, live, journals } = twoLedgers();
    made(one, 'before');
    const skips = { lines: 0 };
    live.list(skips);
    const file = onlyJournal(journals);
    fs.writeFileSync(file, `${fs.readFileSync(file, 'utf8').replaceAll('before', 'after!')}\n\n`);
    expect(live.findMany(['before', 'after!'], skips).size).toBe(1);
  });

  test('reads a line that is being written when it is whole, and counts what cannot be read once', () => {
    const { one, live, journals } = twoLedgers();
    const key = made(one, 't-1');
    const file = onlyJournal(journals);
    const skipped = () => {
      const skips = { lines: 0 };
      const [job] = live.list(skips);
      return [job?.status, skips.lines];
    };
    expect(skipped()).toEqual(['queued', 0]);
    const text = `{"v":1,"t":1,"job":"${key}","event":"status","status":"running"}\n`;
    fs.appendFileSync(file, `\n${text.slice(0, 30)}`);
    expect(skipped()).toEqual(['queued', 1]);
    expect(skipped()).toEqual(['queued', 1]);
    fs.appendFileSync(file, text.slice(30));
    expect(skipped()).toEqual(['running', 0]);
    fs.appendFileSync(file, '\nnot a line\n');
    expect([skipped(), skipped()]).toEqual([
      ['running', 1],
      ['running', 1],
    ]);
  });

  test('finds the newest of one ID, and only of the gateway that is named', () => {
    const { one, live, clock, journals } = twoLedgers();
    const first = made(one, 'same', 'https://one.example');
    clock.set(clock.now() + 40 * 86_400_000);
    const second = made(one, 'same', 'https://two.example');
    const skips = { lines: 0 };
    expect(fs.readdirSync(journals)).toHaveLength(2);
    expect(live.findMany(['same'], skips).get('same')?.key).toBe(second);
    expect(live.findMany(['same'], skips, 'https://one.example').get('same')?.key).toBe(first);
    expect(live.findMany(['same'], skips, 'https://three.example').size).toBe(0);
  });

  test('the open ledger itself sees every change, however often it is asked', async () => {
    const { one, two } = twoLedgers();
    const key = made(one, 't-1');
    for (const status of ['a', 'b', 'c', 'd', 'e']) {
      two.append(key, { event: 'status', status });
      expect(await one.find('t-1')).toMatchObject({ key, status });
      expect((await one.findMany([key])).get(key)).toMatchObject({ id: 't-1', status });
    }
  });
});
