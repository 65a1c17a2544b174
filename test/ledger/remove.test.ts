import realFs, * as fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import * as path from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { openLedger } from '../../src/ledger/open-ledger.ts';
import { bundle, Running, runNode } from './bundle.ts';
import { age, handClock, intent, journalText, novemberMs, tempDir } from './fixtures.ts';

const scripts = path.join(import.meta.dirname, 'scripts');
const dayMs = 86_400_000;
const open = (dir: string, clock = { now: () => Date.now() }) =>
  openLedger({ dir, clock, keepPrompts: true });

/** Makes the lock of a removal that was killed while it wrote the lock old enough to be taken over. */
function ageLocks(dir: string): void {
  const locks = path.join(dir, 'locks');
  const left = fs.existsSync(locks) ? fs.readdirSync(locks) : [];
  for (const name of left.filter((each) => each.startsWith('rewrite.lock'))) age(path.join(locks, name), 20);
}

/** A ledger over two months, with a clock that the test sets. */
function setUp() {
  const dir = tempDir();
  const clock = handClock(novemberMs - 30 * dayMs);
  const ledger = open(dir, clock);
  const make = (id: string) => {
    const key = ledger.begin(intent()).key;
    ledger.append(key, { event: 'sent' });
    ledger.append(key, { event: 'accepted', id });
    return key;
  };
  return {
    dir,
    clock,
    ledger,
    make,
    names: () =>
      fs
        .readdirSync(path.join(dir, 'ledger'))
        .filter((name) => name !== 'reserve')
        .sort(),
  };
}

const journalsIn = (dir: string) =>
  fs.readdirSync(path.join(dir, 'ledger')).filter((name) => name.includes('.jsonl'));

describe('removing jobs', () => {
  it('takes their lines out of every month and leaves all other bytes of lines as they are', async () => {
    const { dir, clock, ledger, make, names } = setUp();
    const [old, kept] = [make('t-1'), make('t-2')];
    clock.set(novemberMs);
    ledger.append(old, { event: 'get', role: 'video' });
    ledger.append(kept, { event: 'get', role: 'video' });
    const journal = path.join(dir, 'ledger/2026-11.jsonl');
    fs.appendFileSync(journal, `\n{"v":1,"t":5,"job":"${kept}","event":"of-a-later-build","x":1}\n`);
    fs.appendFileSync(journal, `\n{"v":1,"t":5,"jo\n`);
    const before = journalText(dir).split('\n');
    await ledger.remove(new Set([old]));
    expect(journalText(dir).split('\n').filter(Boolean)).toEqual(
      before.filter((line) => line !== '' && !line.includes(old)),
    );
    expect((await ledger.find()).map((job) => job.id)).toEqual(['t-2']);
    expect(names()).toEqual(['2026-10.jsonl', '2026-11.jsonl']);
    expect(fs.statSync(journal).mode & 0o777).toBe(0o600);
  });

  it('takes a month away of which nothing stays, and leaves the others untouched', async () => {
    const { dir, clock, ledger, make, names } = setUp();
    const old = make('t-1');
    clock.set(novemberMs);
    make('t-2');
    const { ino } = fs.statSync(path.join(dir, 'ledger/2026-11.jsonl'));
    await ledger.remove(new Set([old]));
    expect(names()).toEqual(['2026-11.jsonl']);
    expect(fs.statSync(path.join(dir, 'ledger/2026-11.jsonl')).ino).toBe(ino);
  });

  it.each([0, 1, 2])('leaves a month the %i lines that are of other jobs', async (count) => {
    const { dir, ledger, make } = setUp();
    const old = make('t-1');
    const others = Array.from({ length: count }, (_, at) => `{"v":1,"t":5,"job":"gw-${at}","event":"sent"}`);
    fs.appendFileSync(path.join(dir, 'ledger/2026-10.jsonl'), others.map((line) => `\n${line}\n`).join(''));
    await ledger.remove(new Set([old]));
    expect(journalText(dir).split('\n').filter(Boolean)).toEqual(others);
  });

  it('keeps a torn last line that may still be under way', async () => {
    const { dir, ledger, make } = setUp();
    const old = make('t-1');
    make('t-2');
    fs.appendFileSync(path.join(dir, 'ledger/2026-10.jsonl'), '\n{"v":1,"t":1,"job":"gw-torn');
    await ledger.remove(new Set([old]));
    expect(journalText(dir)).toContain('"job":"gw-torn');
    expect((await ledger.find()).map((job) => job.id)).toEqual(['t-2']);
  });

  it('reads what a crash left beside a journal, and the next removal tidies it away', async () => {
    const { dir, ledger, make, names } = setUp();
    const old = make('t-1');
    make('t-2');
    const journal = path.join(dir, 'ledger/2026-10.jsonl');
    // The removal was killed after renaming the journal, and before copying the lines that others had appended to it.
    fs.renameSync(journal, `${journal}.abcdef.old`);
    make('t-3');
    fs.writeFileSync(`${journal}.abcdef.new`, 'half');
    expect((await ledger.find()).map((job) => job.id).sort()).toEqual(['t-1', 't-2', 't-3']);
    expect((await ledger.find({ ids: ['t-2'] }))[0]).toMatchObject({ id: 't-2', state: 'running' });
    await ledger.remove(new Set([old]));
    expect((await ledger.find()).map((job) => job.id).sort()).toEqual(['t-2', 't-3']);
    expect(names()).toEqual(['2026-10.jsonl']);
  });

  it('reads a journal of which only its former form is left', async () => {
    const { dir, ledger, make, names } = setUp();
    const old = make('t-1');
    make('t-2');
    const journal = path.join(dir, 'ledger/2026-10.jsonl');
    fs.renameSync(journal, `${journal}.abcdef.old`);
    expect((await ledger.find({ ids: ['t-2'] }))[0]).toMatchObject({ id: 't-2' });
    await ledger.remove(new Set([old]));
    expect((await ledger.find()).map((job) => job.id)).toEqual(['t-2']);
    expect(names()).toEqual(['2026-10.jsonl']);
  });

  it('makes each step durable before the next, and what was appended meanwhile too', async () => {
    const { dir, clock, make } = setUp();
    const [old, kept] = [make('t-1'), make('t-2')];
    const file = path.join(dir, 'ledger/2026-10.jsonl');
    const calls: string[] = [];
    const append = () => fs.appendFileSync(file, `\n{"v":1,"t":5,"job":"${kept}","event":"sent"}\n`);
    const step = (name: string) => {
      if (name === 'put the new journal in its place') append();
    };
    const ledger = openLedger({ dir, clock, keepPrompts: true, step });
    logCalls((name, at) => {
      const short = path.relative(path.join(dir, 'ledger'), at).replace(/\.[0-9a-f]{12}/, '');
      if (!short.startsWith('..') && short !== 'contents') calls.push(`${name} ${short || 'directory'}`);
    });
    await ledger.remove(new Set([old]));
    expect(calls).toEqual([
      'fsync 2026-10.jsonl.new',
      'link 2026-10.jsonl.old',
      'fsync directory',
      'rename 2026-10.jsonl',
      'fsync directory',
      'fdatasync 2026-10.jsonl',
      'unlink 2026-10.jsonl.old',
      'fsync directory',
    ]);
    expect(journalText(dir).match(/"event":"sent"/g)).toHaveLength(2);
  });

  it.each([1, 2, 3, 4, 5, 6, 7, 8])(
    'tells of call %i that the disk fails, and loses no other job',
    async (nth) => {
      const { dir, clock, make, names } = setUp();
      const [old, kept] = [make('t-1'), make('t-2')];
      const file = path.join(dir, 'ledger/2026-10.jsonl');
      const append = () => fs.appendFileSync(file, `\n{"v":1,"t":5,"job":"${kept}","event":"sent"}\n`);
      const step = (name: string) => {
        if (name === 'put the new journal in its place') append();
      };
      const ledger = openLedger({ dir, clock, keepPrompts: true, step });
      let calls = 0;
      logCalls((name, at) => {
        if (/^(\.\.|contents)/.test(path.relative(path.join(dir, 'ledger'), at))) return;
        calls += 1;
        if (calls === nth) throw Object.assign(new Error(name), { code: 'EIO', syscall: name });
      });
      await expect(ledger.remove(new Set([old]))).rejects.toMatchObject({
        kind: 'usage',
        message: expect.stringMatching(/could not be rewritten: .*EIO/),
        facts: { hint: expect.stringContaining('some of the jobs may be removed') },
      });
      expect((await ledger.find()).map((job) => job.id)).toContain('t-2');
      await ledger.remove(new Set([old]));
      expect((await ledger.find()).map((job) => job.id)).toEqual(['t-2']);
      expect(names()).toEqual(['2026-10.jsonl']);
    },
  );

  it('is refused while another process removes jobs', async () => {
    const { dir, ledger, make } = setUp();
    const old = make('t-1');
    const holder = await ownLock(path.join(dir, 'locks/rewrite.lock'));
    await expect(ledger.remove(new Set([old]))).rejects.toMatchObject({ kind: 'usage' });
    holder();
    await ledger.remove(new Set([old]));
    expect(await ledger.find()).toEqual([]);
  });
});

/** Reports each call that changes a name or makes data durable, with the path of the file. */
function logCalls(hear: (name: string, file: string) => void): void {
  const { fdatasyncSync, fsyncSync, linkSync, renameSync, unlinkSync } = realFs;
  const spies = [
    vi.spyOn(realFs, 'fsyncSync').mockImplementation((fd) => {
      hear('fsync', fs.readlinkSync(`/proc/self/fd/${fd}`));
      fsyncSync(fd);
    }),
    vi.spyOn(realFs, 'fdatasyncSync').mockImplementation((fd) => {
      hear('fdatasync', fs.readlinkSync(`/proc/self/fd/${fd}`));
      fdatasyncSync(fd);
    }),
    vi.spyOn(realFs, 'linkSync').mockImplementation((from, to) => {
      hear('link', String(to));
      linkSync(from, to);
    }),
    vi.spyOn(realFs, 'renameSync').mockImplementation((from, to) => {
      hear('rename', String(to));
      renameSync(from, to);
    }),
    vi.spyOn(realFs, 'unlinkSync').mockImplementation((file) => {
      hear('unlink', String(file));
      unlinkSync(file);
    }),
  ];
  syncBuiltinESMExports();
  onTestFinished(() => {
    for (const spy of spies) spy.mockRestore();
    syncBuiltinESMExports();
  });
}

async function ownLock(file: string): Promise<() => void> {
  const { tryLock } = await import('../../src/disk/lock-file.ts');
  fs.mkdirSync(path.dirname(file), { recursive: true });
  const lock = tryLock(file);
  if (!lock) throw new Error('the lock is taken');
  return () => lock.release();
}

describe('while others append', () => {
  const appendMany = bundle(path.join(scripts, 'append-many.ts'));
  const removeEach = bundle(path.join(scripts, 'remove-each.ts'));

  function seed(dir: string, count: number): { keys: string[]; file: string } {
    const ledger = open(dir);
    const keys = Array.from({ length: count }, () => {
      const { key, release } = ledger.begin(intent());
      release();
      return key;
    });
    const file = path.join(dir, 'keys');
    fs.writeFileSync(file, keys.join('\n'));
    return { keys, file };
  }

  it('forty removals lose no line that was acknowledged', async () => {
    const dir = tempDir();
    const { keys: old, file } = seed(dir, 120);
    const writers = [1, 2, 3].map((number) => runNode(appendMany, dir, '1000000', `writer ${number}`));
    await Promise.all(writers.map((writer) => writer.printed('gw-')));
    const remover = await runNode(removeEach, dir, file, '3').finished;
    expect(remover, remover.err).toMatchObject({ code: 0 });
    for (const writer of writers) writer.child.kill('SIGTERM');
    const acknowledged = (await Promise.all(writers.map((writer) => writer.finished))).flatMap(({ out }) =>
      out.split('\n').filter((key) => key.length === 29),
    );
    const kept = new Set((await open(dir).find()).map((job) => job.key));
    expect(acknowledged.length).toBeGreaterThan(100);
    expect(acknowledged.filter((key) => !kept.has(key))).toEqual([]);
    expect(old.filter((key) => kept.has(key))).toEqual([]);
  });

  it('fifteen killed removals lose no line that was acknowledged', async () => {
    const dir = tempDir();
    const { keys: old, file } = seed(dir, 100);
    const writer = runNode(appendMany, dir, '1000000', 'writer');
    await writer.printed('gw-');
    for (let round = 0; round < 15; round++) {
      ageLocks(dir);
      const remover = runNode(removeEach, dir, file, '1');
      await remover.printed('removed 0');
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 15));
      remover.child.kill('SIGKILL');
      await remover.finished;
    }
    writer.child.kill('SIGTERM');
    const acknowledged = (await writer.finished).out.split('\n').filter((key) => key.length === 29);
    const kept = new Set((await open(dir).find()).map((job) => job.key));
    expect(acknowledged.filter((key) => !kept.has(key))).toEqual([]);
    // A lock whose maker died while writing it is taken over once it is ten seconds old.
    ageLocks(dir);
    await open(dir).remove(new Set(old));
    const after = new Set((await open(dir).find()).map((job) => job.key));
    expect(acknowledged.filter((key) => !after.has(key))).toEqual([]);
    expect(old.filter((key) => after.has(key))).toEqual([]);
    expect(journalsIn(dir)).toHaveLength(1);
  });

  it('a removal killed at each of its system calls loses nothing', {
    tags: ['strace'],
    timeout: 300_000,
  }, async () => {
    let kills = 0;
    for (const call of ['link,linkat', 'rename,renameat,renameat2', 'unlink,unlinkat', 'fsync', 'write']) {
      for (let when = 1; when <= 4; when++) {
        const dir = tempDir();
        const { keys, file } = seed(dir, 4);
        const [first = '', ...others] = keys;
        fs.writeFileSync(file, first);
        const inject = ['-e', `trace=${call}`, '-e', `inject=${call}:signal=KILL:when=${when}`];
        const strace = new Running('strace', [
          ...['-f', '-qq', '-o', '/dev/null', ...inject],
          ...[process.execPath, removeEach, dir, file, '1'],
        ]);
        const wasKilled = (await strace.finished).code !== 0;
        if (wasKilled) kills += 1;
        const left = (await open(dir).find()).map((job) => job.key);
        expect(left, `${call} ${when}`).toEqual(expect.arrayContaining(others));
        // A lock whose maker died while writing it is taken over once it is ten seconds old.
        ageLocks(dir);
        await open(dir).remove(new Set([first]));
        expect((await open(dir).find()).map((job) => job.key).sort()).toEqual([...others].sort());
        expect(journalsIn(dir)).toHaveLength(1);
        // A removal that makes fewer of these calls makes no more of them in the next round.
        if (!wasKilled) break;
      }
    }
    expect(kills, 'the calls were met').toBeGreaterThan(8);
  });
});
