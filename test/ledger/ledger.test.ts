import * as fs from 'node:fs';
import * as path from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GwError } from '../../src/errors.ts';
import { isJobKey, newJobKey } from '../../src/ledger/job-key.ts';
import { jobsByName } from '../../src/ledger/named-jobs.ts';
import { openLedger } from '../../src/ledger/open-ledger.ts';
import { handClock, intent, journalText, novemberMs, tempDir } from './fixtures.ts';

function setUp(options: Partial<Parameters<typeof openLedger>[0]> = {}) {
  const dir = tempDir();
  const clock = handClock();
  return {
    dir,
    clock,
    journal: path.join(dir, 'ledger', '2026-11.jsonl'),
    ledger: openLedger({ dir, clock, keepPrompts: true, ...options }),
  };
}

function thrown(act: () => unknown): GwError {
  try {
    act();
  } catch (error) {
    if (error instanceof GwError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

describe('keys', () => {
  it('hold 128 bits in 26 digits', () => {
    expect(newJobKey(() => new Uint8Array(16))).toBe(`gw-${'0'.repeat(26)}`);
    expect(newJobKey(() => new Uint8Array(16).fill(255))).toBe('gw-7zzzzzzzzzzzzzzzzzzzzzzzzz');
    expect(
      newJobKey((count) => Uint8Array.from({ length: count }, (_, place) => (place === 15 ? 33 : 0))),
    ).toMatch(/011$/);
    expect(isJobKey(newJobKey())).toBe(true);
    expect(new Set(Array.from({ length: 1000 }, () => newJobKey())).size).toBe(1000);
  });
  it.each(['gw-', 'gw-../../etc', `gw-${'i'.repeat(26)}`, `GW-${'0'.repeat(26)}`, `gw-8${'0'.repeat(25)}`])(
    '%s is none',
    (text) => {
      expect(isJobKey(text)).toBe(false);
    },
  );
});

describe('writing', () => {
  it('touches nothing before the first write, then makes private directories and files', () => {
    const { dir, ledger, journal } = setUp();
    const nested = path.join(dir, 'a', 'b');
    const inner = openLedger({ dir: nested, clock: handClock(), keepPrompts: true });
    expect(fs.readdirSync(dir)).toEqual([]);
    ledger.begin(intent()).key;
    inner.begin(intent()).key;
    expect(fs.statSync(journal).mode & 0o777).toBe(0o600);
    for (const made of [path.dirname(journal), path.join(dir, 'a'), nested, path.join(nested, 'ledger')]) {
      expect(fs.statSync(made).mode & 0o777).toBe(0o700);
    }
  });

  it('puts each event on a line of its own with version, time and key', () => {
    const { ledger, journal, clock } = setUp();
    const key = ledger.begin(intent()).key;
    clock.set(novemberMs + 5);
    ledger.append(key, { event: 'accepted', id: 'task-1', status: 'queued' });
    const text = fs.readFileSync(journal, 'utf8');
    expect(text.startsWith('\n{')).toBe(true);
    const lines = text
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line));
    expect(lines[0]).toMatchObject({
      v: 1,
      t: novemberMs,
      job: key,
      event: 'intent',
      prompt: 'a fox in the snow',
    });
    expect(lines[1]).toEqual({
      v: 1,
      t: novemberMs + 5,
      job: key,
      event: 'accepted',
      id: 'task-1',
      status: 'queued',
      sum: expect.stringMatching(/^[0-9a-f]{8}$/),
    });
  });

  it('leaves prompts out when they are not to be kept', () => {
    const { dir, ledger } = setUp({ keepPrompts: false });
    const { key } = ledger.begin(intent());
    const reply = JSON.stringify({ id: 'task-1', revised_prompt: 'a fox in the snow' });
    ledger.append(key, { event: 'accepted', id: 'task-1', reply });
    expect(journalText(dir)).not.toContain('a fox in the snow');
  });

  it('keeps no Base64, no query of a URL and no credentials of an address', () => {
    const { dir, ledger } = setUp();
    ledger.begin(
      intent({
        media: [
          'data:image/png;base64,aGVsbG8=',
          'https://caller:passphrase@cdn.example/a.png?signature=s3cr3t#x',
          'fox.png',
          'asset://a-1',
        ],
        settings: { mask: 'data:image/png;base64,aGVsbG8=', duration: 5 },
        gateway: 'https://caller:passphrase@gateway.example/api',
      }),
    ).key;
    const text = journalText(dir);
    // The random letters of a key cannot form any of these words.
    for (const secret of ['aGVsbG8', 's3cr3t', 'passphrase', 'caller']) expect(text).not.toContain(secret);
    for (const kept of [
      'data:image/png;sha256=',
      'https://cdn.example/a.png"',
      'fox.png',
      'asset://a-1',
      'https://gateway.example/api',
    ]) {
      expect(text).toContain(kept);
    }
  });

  it('replaces the key in every text and field name, whatever JSON makes of it', () => {
    void fc.assert(
      fc.property(fc.stringMatching(/^[\x21-\x7e]{6,20}$/), (tail) => {
        const secret = `k"\\${tail}`;
        const { dir, ledger } = setUp({ hideSecret: (text) => text.replaceAll(secret, '***') });
        const key = ledger.begin(intent({ prompt: `say ${secret}`, settings: { [secret]: secret } })).key;
        ledger.append(key, {
          event: 'final',
          state: 'succeeded',
          status: 'succeeded',
          record: { deep: [{ [`x${secret}`]: { url: `https://o.example/?k=${secret}` } }] },
          serverDateMs: 0,
        });
        const text = journalText(dir);
        expect(text).not.toContain(JSON.stringify(secret).slice(1, -1));
        expect(text).toContain('***');
        for (const line of text.split('\n').filter(Boolean)) JSON.parse(line);
      }),
      { numRuns: 20 },
    );
  });

  it('never writes to an older journal than the newest, when the clock steps back', async () => {
    const { dir, clock, ledger } = setUp();
    clock.set(Date.UTC(2036, 0, 2));
    const key = ledger.begin(intent()).key;
    clock.set(novemberMs);
    ledger.append(key, { event: 'accepted', id: 'task-1' });
    expect(fs.readdirSync(path.join(dir, 'ledger'))).toEqual(['2036-01.jsonl', 'reserve']);
    expect((await ledger.find({ ids: ['task-1'] }))[0]).toMatchObject({ key, state: 'running' });
  });

  it('refuses a record nested too deep with a sentence', () => {
    const { ledger } = setUp();
    let record: unknown = 1;
    for (let depth = 0; depth < 100_000; depth++) record = [record];
    const key = ledger.begin(intent()).key;
    const error = thrown(() =>
      ledger.append(key, { event: 'final', state: 'succeeded', status: 's', record, serverDateMs: 0 }),
    );
    expect(error).toMatchObject({ kind: 'unavailable', message: expect.stringContaining('nested too deep') });
  });
});

describe('reading', () => {
  it('finds a job by either ID over a change of month', async () => {
    const { clock, ledger } = setUp();
    const key = ledger.begin(intent()).key;
    ledger.append(key, { event: 'sent' });
    clock.set(Date.UTC(2026, 11, 1));
    ledger.append(key, { event: 'accepted', id: 'task-1' });
    clock.set(Date.UTC(2027, 0, 1));
    const other = ledger.begin(intent()).key;
    for (const id of [key, 'task-1'])
      expect((await ledger.find({ ids: [id] }))[0]).toMatchObject({ key, id: 'task-1', state: 'running' });
    expect((await ledger.find({ ids: [other] }))[0]).toMatchObject({ key: other, state: 'intent' });
    expect((await ledger.find({ ids: ['task-2'] }))[0]).toBeUndefined();
    expect((await ledger.find({ ids: [''] }))[0]).toBeUndefined();
    expect((await ledger.find({ ids: ['"}\n'] }))[0]).toBeUndefined();
  });

  it('finds the newest of two jobs with one ID, and is not misled by an ID inside a record', async () => {
    const { clock, ledger } = setUp();
    const first = ledger.begin(intent()).key;
    ledger.append(first, { event: 'accepted', id: 'task-1' });
    clock.set(novemberMs + 1);
    const second = ledger.begin(intent()).key;
    ledger.append(second, { event: 'accepted', id: 'task-1' });
    const third = ledger.begin(intent()).key;
    ledger.append(third, {
      event: 'final',
      state: 'succeeded',
      status: 's',
      record: { event: 'accepted', id: 'task-1' },
      serverDateMs: 0,
    });
    expect((await ledger.find({ ids: ['task-1'] }))[0]?.key).toBe(second);
  });

  it('lists newest first, by time and family', async () => {
    const { clock, ledger } = setUp();
    const old = ledger.begin(intent()).key;
    clock.set(novemberMs + 10);
    const recent = ledger.begin(intent({ family: 'gamma' })).key;
    expect((await ledger.find()).map((job) => job.key)).toEqual([recent, old]);
    expect((await ledger.find({ sinceMs: novemberMs + 1 })).map((job) => job.key)).toEqual([recent]);
    expect((await ledger.find({ family: 'alpha' })).map((job) => job.key)).toEqual([old]);
  });

  it('is empty where nothing was ever written', async () => {
    const { dir, ledger } = setUp();
    expect(await ledger.find()).toEqual([]);
    expect((await ledger.find({ ids: ['task-1'] }))[0]).toBeUndefined();
    expect(fs.readdirSync(dir)).toEqual([]);
  });

  it('skips torn and damaged lines and counts them, and passes over events it does not know', async () => {
    const { ledger, journal } = setUp();
    const key = ledger.begin(intent()).key;
    fs.appendFileSync(journal, '\n{"v":1,"t":5,"job":"gw-torn","ev');
    fs.appendFileSync(journal, `\n\0\0\0\n[]\nnull\n{"v":1,"t":"x","job":"a","event":"sent"}\n`);
    fs.appendFileSync(journal, `\n{"v":1,"t":5,"job":"${key}","event":"accepted"}\n`);
    fs.appendFileSync(journal, `\n{"v":1,"t":5,"job":"${key}","event":"toString"}\n`);
    fs.appendFileSync(journal, `\n{"v":1,"t":5,"job":"${key}","event":"from-a-later-build"}\n`);
    ledger.append(key, { event: 'accepted', id: 'task-1' });
    expect(await ledger.find()).toMatchObject([{ key, state: 'running' }]);
    const lines = fs.readFileSync(journal, 'utf8').split('\n');
    const bad = ['\0', '[]', 'null', '"t":"x"', '"event":"accepted"}', '"ev'];
    expect(ledger.unreadable.map(({ path, line }) => [path, lines[line - 1]])).toEqual(
      [5, 0, 1, 2, 3, 4].map((at) => [journal, expect.stringContaining(bad[at] ?? '')]),
    );
  });

  it('reads lines that lie across the borders of what is read at once', async () => {
    const { ledger } = setUp();
    const prompts = Array.from({ length: 40 }, (_, index) => 'ü€😀'.repeat(4000 + index * 37));
    const keys = prompts.map((prompt) => ledger.begin(intent({ prompt })).key);
    const found = new Map((await ledger.find()).map((job) => [job.key, job.prompt]));
    expect(keys.map((key) => found.get(key))).toEqual(prompts);
    expect(ledger.unreadable).toHaveLength(0);
    expect((await ledger.find({ ids: [keys[3] ?? ''] }))[0]?.prompt).toBe(prompts[3]);
  });

  it('refuses a newer format by name, when reading and before a job is begun', async () => {
    const { ledger, journal } = setUp();
    ledger.begin(intent()).key;
    fs.appendFileSync(journal, '\n{"v":2,"t":5,"job":"gw-x","event":"intent"}\n');
    const expected = {
      kind: 'usage',
      message: expect.stringMatching(/2026-11\.jsonl was written by a newer gw \(format 2/),
    };
    await expect(ledger.find()).rejects.toMatchObject(expected);
    expect(thrown(() => ledger.begin(intent()).key)).toMatchObject(expected);
  });
});

describe('finding many', () => {
  it('finds each by what it was asked for under, over several months', async () => {
    const { ledger, clock } = setUp();
    const [first = '', second = '', third = ''] = ['t-1', 't-2', 't-3'].map((id, at) => {
      clock.set(novemberMs + at * 31 * 86_400_000);
      const key = ledger.begin(intent()).key;
      ledger.append(key, { event: 'accepted', id });
      return key;
    });
    ledger.append(first, { event: 'final', state: 'failed', status: 'failed', record: {}, serverDateMs: 1 });
    const names = ['t-1', second, 't-3', 'nope', 't-1'];
    const byName = jobsByName(await ledger.find({ ids: names }));
    expect(names.map((name) => [byName(name)?.key, byName(name)?.state])).toEqual([
      [first, 'failed'],
      [second, 'running'],
      [third, 'running'],
      [undefined, undefined],
      [first, 'failed'],
    ]);
    expect(await ledger.find({ ids: [] })).toEqual([]);
  });

  it('tells jobs of two gateways apart that gave out the same ID', async () => {
    const { ledger } = setUp();
    for (const gateway of ['https://one.example', 'https://two.example']) {
      ledger.append(ledger.begin(intent({ gateway })).key, { event: 'accepted', id: 't-1' });
    }
    for (const gateway of [
      undefined,
      'https://one.example',
      'https://two.example',
      'https://three.example',
    ]) {
      const named = jobsByName(await ledger.find({ ids: ['t-1'] }), gateway)('t-1');
      expect(named).toEqual((await ledger.find({ ids: ['t-1'], gateway }))[0]);
      expect(named?.gateway).toBe(
        gateway === undefined ? 'https://two.example' : gateway.includes('three') ? undefined : gateway,
      );
    }
  });

  it('takes no text inside another line for an ID or a key', async () => {
    const { ledger } = setUp();
    const key = ledger.begin(intent({ prompt: '"event":"accepted","id":"t-9"' })).key;
    ledger.append(key, { event: 'accepted', id: 't-1' });
    ledger.append(key, {
      event: 'final',
      state: 'failed',
      status: 'failed',
      record: { id: 't-9' },
      serverDateMs: 1,
    });
    expect(await ledger.find({ ids: ['t-9'] })).toEqual([]);
    expect((await ledger.find({ ids: ['t-1'] }))[0]?.state).toBe('failed');
  });
});
