import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { AppendCalls } from '../../src/disk/durable-directory.ts';
import { tryLock } from '../../src/disk/lock-file.ts';
import type { LedgerEvent } from '../../src/ledger/event.ts';
import { openLedger } from '../../src/ledger/open-ledger.ts';
import { cmd } from '../helpers/cmd.ts';
import { mountTmpfs } from '../helpers/tmpfs.ts';
import { bundle, Running } from './bundle.ts';
import { handClock, intent, tempDir } from './fixtures.ts';

const calls: AppendCalls = {
  openSync: fs.openSync,
  fstatSync: fs.fstatSync,
  writeSync: fs.writeSync,
  fdatasyncSync: fs.fdatasyncSync,
  fsyncSync: fs.fsyncSync,
  closeSync: fs.closeSync,
};

function failing(code: string): never {
  throw Object.assign(new Error(code), { code, syscall: 'test' });
}

function open(dir: string, changed: Partial<AppendCalls> = {}) {
  return openLedger({ dir, clock: handClock(), keepPrompts: true, calls: { ...calls, ...changed } });
}

function thrownBy(act: () => unknown): {
  kind?: string;
  message: string;
  facts: { hint?: string; taskId?: string };
} {
  try {
    act();
  } catch (error) {
    return error as ReturnType<typeof thrownBy>;
  }
  throw new Error('nothing was thrown');
}

describe('a write that fails before the request', () => {
  it.each(['ENOSPC', 'EDQUOT', 'EROFS', 'EACCES', 'EFBIG', 'EIO', 'EMFILE'])(
    '%s stops it with the path and the reason',
    (code) => {
      const dir = tempDir();
      const error = thrownBy(() => open(dir, { writeSync: () => failing(code) }).begin(intent()).key);
      expect(error).toMatchObject({
        kind: 'usage',
        facts: { hint: expect.stringContaining('GW_STATE_DIR') },
      });
      expect(error.message).toContain(path.join(dir, 'ledger', '2026-11.jsonl'));
      expect(error.message).toContain(code);
      expect(error.message).toContain('nothing was sent');
    },
  );

  it('so does a state directory that is a file, or lies below one', () => {
    const file = path.join(tempDir(), 'file');
    fs.writeFileSync(file, '');
    expect(thrownBy(() => open(file).begin(intent()).key)).toMatchObject({
      kind: 'usage',
      message: expect.stringContaining('a file stands where a directory is expected'),
    });
    fs.mkdirSync(`${file}-dir`);
    fs.writeFileSync(`${file}-dir/ledger`, '');
    expect(thrownBy(() => open(`${file}-dir`).begin(intent()).key)).toMatchObject({
      kind: 'usage',
      message: expect.stringContaining('a file stands where a directory is expected'),
    });
  });

  it('and one where no directory can be made, or that is a link to nothing', () => {
    expect(thrownBy(() => open('/proc/gw-test').begin(intent()).key).kind).toBe('usage');
    const link = path.join(tempDir(), 'link');
    fs.symlinkSync('/nowhere/at/all', link);
    expect(thrownBy(() => open(link).begin(intent()).key).kind).toBe('usage');
  });

  it('a journal that is a directory is named when it is written and when it is read', async () => {
    const dir = tempDir();
    fs.mkdirSync(path.join(dir, 'ledger', '2026-11.jsonl'), { recursive: true });
    expect(thrownBy(() => open(dir).begin(intent()).key)).toMatchObject({
      kind: 'usage',
      message: expect.stringContaining('EISDIR'),
    });
    await expect(open(dir).find()).rejects.toMatchObject({ kind: 'usage' });
  });
});

it('a short write is a failure, the torn line is skipped, and the next event is whole', async () => {
  const dir = tempDir();
  let short = false;
  const writeSync = ((fd: number, bytes: Buffer, offset: number, length: number) =>
    fs.writeSync(fd, bytes, offset, short ? length - 40 : length)) as typeof fs.writeSync;
  const ledger = open(dir, { writeSync });
  const first = ledger.begin(intent()).key;
  short = true;
  expect(thrownBy(() => ledger.begin(intent()).key)).toMatchObject({
    kind: 'usage',
    message: expect.stringContaining('the disk is full'),
  });
  short = false;
  const third = ledger.begin(intent()).key;
  expect(new Set((await ledger.find()).map((job) => job.key))).toEqual(new Set([first, third]));
  expect(ledger.unreadable).toHaveLength(1);
});

describe('a failed sync', () => {
  it('is never repeated as if nothing had happened', async () => {
    const dir = tempDir();
    let syncs = 0;
    const ledger = open(dir, {
      fdatasyncSync: (fd) => (++syncs === 2 ? failing('EIO') : fs.fdatasyncSync(fd)),
    });
    const first = ledger.begin(intent()).key;
    expect(thrownBy(() => ledger.append(first, { event: 'sent' }))).toMatchObject({
      kind: 'usage',
      message: expect.stringContaining('EIO'),
    });
    const before = fs.readFileSync(path.join(dir, 'ledger', '2026-11.jsonl'), 'utf8');
    expect(thrownBy(() => ledger.begin(intent()).key).message).toContain('could not be made durable');
    expect(syncs).toBe(2);
    expect(fs.readFileSync(path.join(dir, 'ledger', '2026-11.jsonl'), 'utf8')).toBe(before);
    expect(await ledger.find()).toHaveLength(1);
  });

  it('of the directory of a new journal counts as well; one that cannot be synced at all does not', () => {
    expect(
      thrownBy(() => open(tempDir(), { fsyncSync: () => failing('EIO') }).begin(intent()).key).message,
    ).toContain('EIO');
    expect(open(tempDir(), { fsyncSync: () => failing('EINVAL') }).begin(intent()).key).toMatch(/^gw-/);
  });

  it('the directory is synced for a new journal before its first line, and only then', () => {
    const order: string[] = [];
    const ledger = open(tempDir(), {
      fsyncSync: () => void order.push('directory'),
      writeSync: ((fd: number, bytes: Buffer) => {
        order.push('write');
        return fs.writeSync(fd, bytes);
      }) as typeof fs.writeSync,
      fdatasyncSync: () => void order.push('data'),
    });
    ledger.begin(intent()).key;
    ledger.begin(intent()).key;
    expect(order).toEqual(['directory', 'write', 'data', 'write', 'data']);
  });
});

describe('the reserve', () => {
  const reserveIn = (dir: string) => path.join(dir, 'ledger', 'reserve');
  /** A disk that is full while `isFull` is set and this file exists. */
  function fullUntilGone(file: string) {
    const disk = { isFull: false };
    const writeSync = ((fd: number, bytes: Buffer) => {
      if (disk.isFull && fs.existsSync(file)) failing('ENOSPC');
      return fs.writeSync(fd, bytes);
    }) as typeof fs.writeSync;
    return { disk, writeSync };
  }

  it('is there before the first job, and is given up for the ID of one', async () => {
    const dir = tempDir();
    const { disk, writeSync } = fullUntilGone(reserveIn(dir));
    const ledger = open(dir, { writeSync });
    const { key } = ledger.begin(intent());
    expect(fs.statSync(reserveIn(dir))).toMatchObject({ size: 65_536, mode: 0o100600 });
    ledger.append(key, { event: 'sent' });
    disk.isFull = true;
    ledger.append(key, { event: 'accepted', id: 'task-7' });
    expect(fs.existsSync(reserveIn(dir))).toBe(false);
    expect(await open(dir).find({ ids: ['task-7'] })).toMatchObject([{ key, state: 'running' }]);
    disk.isFull = false;
    ledger.begin(intent()).release();
    expect(fs.existsSync(reserveIn(dir))).toBe(true);
  });

  const links = { record: { data: [{ url: 'https://cdn.example/a' }] }, serverDateMs: 0 };
  it.each<[string, LedgerEvent, object]>([
    [
      'the reply of images, which have no ID',
      { event: 'final', state: 'succeeded', status: 's', ...links },
      { state: 'succeeded', record: links.record },
    ],
    [
      'what came of it before it was cut',
      { event: 'unknown', message: 'cut', ...links },
      { state: 'unknown', record: links.record },
    ],
    [
      'the ID that a cut reply named',
      { event: 'unknown', message: 'cut', unconfirmedId: 'task-7' },
      { state: 'unknown', unconfirmedId: 'task-7' },
    ],
  ])('is given up for %s', async (_, event, known) => {
    const dir = tempDir();
    const { disk, writeSync } = fullUntilGone(reserveIn(dir));
    const ledger = open(dir, { writeSync });
    const { key } = ledger.begin(intent());
    ledger.append(key, { event: 'sent' });
    disk.isFull = true;
    ledger.append(key, event);
    expect(fs.existsSync(reserveIn(dir))).toBe(false);
    expect(await open(dir).find()).toMatchObject([{ key, ...known }]);
  });

  it.each<LedgerEvent>([
    { event: 'final', state: 'succeeded', status: 's', ...links },
    { event: 'unknown', message: 'no reply' },
  ])('is not given up for $event where that can be asked for again, or leads nowhere', (event) => {
    const dir = tempDir();
    const { disk, writeSync } = fullUntilGone(reserveIn(dir));
    const ledger = open(dir, { writeSync });
    const { key } = ledger.begin(intent());
    ledger.append(key, { event: 'sent' });
    if (event.event === 'final') ledger.append(key, { event: 'accepted', id: 'task-7' });
    disk.isFull = true;
    expect(thrownBy(() => ledger.append(key, event)).message).toContain('the disk is full');
    expect(fs.existsSync(reserveIn(dir))).toBe(true);
  });

  it.each<[string, LedgerEvent]>([
    ['a job that can still be left alone', { event: 'sent' }],
    ['what is told again', { event: 'get', role: 'video' }],
  ])('is not given up for %s', (_, event) => {
    const dir = tempDir();
    const { disk, writeSync } = fullUntilGone(reserveIn(dir));
    const ledger = open(dir, { writeSync });
    const { key } = ledger.begin(intent());
    disk.isFull = true;
    expect(thrownBy(() => ledger.append(key, event)).message).toContain('the disk is full');
    expect(fs.existsSync(reserveIn(dir))).toBe(true);
  });

  it('costs nothing where there is no room for it', () => {
    const dir = tempDir();
    fs.mkdirSync(reserveIn(dir), { recursive: true, mode: 0o700 });
    expect(open(dir).begin(intent()).key).toMatch(/^gw-/);
  });
});

describe('a fault at any call of a create and a save', () => {
  const life: LedgerEvent[] = [
    { event: 'sent' },
    { event: 'accepted', id: 'task-7' },
    { event: 'final', state: 'succeeded', status: 's', record: {}, serverDateMs: 0 },
    { event: 'get', role: 'video' },
    { event: 'saved', role: 'video', path: '/v', bytes: 1, sha256: '', type: 'video' },
  ];
  const names = ['openSync', 'writeSync', 'fdatasyncSync'] as const;
  const cases = names.flatMap((name) =>
    ['ENOSPC', 'EIO', 'short'].flatMap((code) =>
      Array.from({ length: life.length + 1 }, (_, nth) => [name, code, nth] as const),
    ),
  );
  it.each(cases.filter(([name, code]) => code !== 'short' || name === 'writeSync'))(
    '%s, %s, at line %i: what was acknowledged is there, and no half line counts',
    async (name, code, nth) => {
      const dir = tempDir();
      let count = 0;
      const faulty = (...args: unknown[]) => {
        const isMet = count++ === nth;
        if (isMet && code === 'short')
          return fs.writeSync(args[0] as number, (args[1] as Buffer).subarray(0, 20));
        if (isMet) failing(code);
        return (calls[name] as (...each: unknown[]) => unknown)(...args);
      };
      const ledger = open(dir, { [name]: faulty as never });
      const done: string[] = [];
      const isTold = (act: () => void) => {
        try {
          act();
          return true;
        } catch (error) {
          expect(error).toHaveProperty('kind');
          return false;
        }
      };
      let key = '';
      const begun = isTold(() => {
        key = ledger.begin(intent()).key;
      });
      if (begun)
        for (const event of life) if (isTold(() => ledger.append(key, event))) done.push(event.event);
      const again = open(dir);
      const [job] = await again.find();
      expect(job !== undefined || !begun).toBe(true);
      expect(again.unreadable.length).toBeLessThanOrEqual(1);
      if (done.includes('accepted')) expect(job?.id).toBe('task-7');
      if (done.includes('final')) expect(job?.state).toBe('succeeded');
      if (done.includes('get')) expect(job?.downloads).toBe(1);
      if (done.includes('saved')) expect(job?.files).toHaveLength(1);
      // If the full disk has room again for the ID, the ID must have been recorded.
      if (code !== 'EIO' && name !== 'fdatasyncSync' && begun && nth === 2)
        expect(done).toContain('accepted');
    },
  );
});

describe('what a failure means depends on the moment', () => {
  const cases: [LedgerEvent, string, string][] = [
    [{ event: 'sent' }, 'usage', 'nothing was sent'],
    [{ event: 'accepted', id: 'task-7' }, 'download', 'task-7'],
    [
      { event: 'final', state: 'succeeded', status: 's', record: {}, serverDateMs: 0 },
      'download',
      'the disk is full',
    ],
    [{ event: 'get', role: 'video' }, 'download', 'the disk is full'],
    [
      { event: 'saved', role: 'video', path: '/v', bytes: 1, sha256: '', type: 'video' },
      'download',
      'the disk is full',
    ],
  ];
  it.each(cases)('%o', async (event, kind, words) => {
    const ledger = open(tempDir(), { writeSync: () => failing('ENOSPC') });
    await ledger.hold('gw-x');
    const error = thrownBy(() => ledger.append('gw-x', event));
    expect(error).toMatchObject({ kind, message: expect.stringContaining(words) });
    if (event.event === 'accepted') expect(error.facts.taskId).toBe('task-7');
  });
});

const appendMany = bundle(path.join(import.meta.dirname, 'scripts', 'append-many.ts'));
const appendEach = bundle(path.join(import.meta.dirname, 'scripts', 'append-each.ts'));

/** Mounts a small file system for the test. */
function mountSmall(): string {
  const dir = tempDir();
  mountTmpfs(dir, 'size=1m');
  return dir;
}

it('a full disk loses nothing that was acknowledged, and works again when it has space', {
  tags: ['mount'],
}, async () => {
  const mounted = mountSmall();
  fs.writeFileSync(path.join(mounted, 'ballast'), Buffer.alloc(700_000));
  const { out } = await new Running(process.execPath, [appendMany, mounted, '100000', 'full']).finished;
  const printed = out.trim().split('\n');
  expect(JSON.parse(printed.pop() ?? '')).toMatchObject({
    kind: 'usage',
    message: expect.stringContaining('the disk is full'),
  });
  const ledger = openLedger({ dir: mounted, clock: { now: () => Date.now() }, keepPrompts: true });
  const kept = new Set((await ledger.find()).map((job) => job.key));
  expect(printed.length).toBeGreaterThan(100);
  expect(printed.filter((key) => !kept.has(key))).toEqual([]);
  expect(ledger.unreadable).toHaveLength(1);
  fs.rmSync(path.join(mounted, 'ballast'));
  expect(await ledger.find({ ids: [ledger.begin(intent()).key] })).toHaveLength(1);
});

it('a read-only file system stops the request', { tags: ['mount'] }, () => {
  const mounted = mountSmall();
  spawnSync('mount', ['-o', 'remount,ro', mounted]);
  expect(thrownBy(() => open(mounted).begin(intent()).key)).toMatchObject({
    kind: 'usage',
    message: expect.stringContaining('EROFS'),
  });
});

it('a disk that turned read-only under a lock is told of, and its own lock is not waited for', {
  tags: ['mount'],
}, () => {
  const mounted = mountSmall();
  const file = path.join(mounted, 'lock');
  const lock = tryLock(file);
  spawnSync('mount', ['-o', 'remount,ro', mounted]);
  lock?.release();
  expect(() => tryLock(file)).toThrow(/EROFS/);
});

it('a limit on the size of files loses nothing that was acknowledged', async () => {
  const dir = tempDir();
  const limited = ['-c', `ulimit -f 128; exec "$0" "$@"`, process.execPath];
  const { out } = await new Running('sh', [...limited, appendMany, dir, '100000', 'limit']).finished;
  const printed = out.trim().split('\n');
  expect(JSON.parse(printed.pop() ?? '')).toMatchObject({ kind: 'usage' });
  const kept = new Set((await open(dir).find()).map((job) => job.key));
  expect(printed.length).toBeGreaterThan(50);
  expect(printed.filter((key) => !kept.has(key))).toEqual([]);
});

it('a sync that the system fails once ends every later write of that process', {
  tags: ['strace'],
}, async () => {
  const dir = tempDir();
  const inject = cmd`-f -o /dev/null -e trace=fdatasync -e inject=fdatasync:error=EIO:when=3`;
  const { out } = await new Running('strace', [...inject, process.execPath, appendEach, dir, '5']).finished;
  const lines = out.trim().split('\n');
  expect(lines.slice(0, 2)).toEqual(['ok', 'ok']);
  expect(lines).toHaveLength(5);
  for (const line of lines.slice(2))
    expect(line).toMatch(/^usage: the ledger .* could not be made durable: .*EIO/);
});
