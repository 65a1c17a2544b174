import nodeFs, * as fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import * as os from 'node:os';
import * as path from 'node:path';
import { Worker } from 'node:worker_threads';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { hostOf, isAlive, ownIdentity } from '../../src/disk/lock-file.ts';
import { newJobKey } from '../../src/ledger/job-key.ts';
import { openLedger } from '../../src/ledger/open-ledger.ts';
import { bundle, Running, runNode } from './bundle.ts';
import { age, handClock, intent, tempDir } from './fixtures.ts';

const claimAll = bundle(path.join(import.meta.dirname, 'scripts', 'claim-all.ts'));
const key = newJobKey();

function setUp() {
  const dir = tempDir();
  const clock = handClock();
  const lock = path.join(dir, 'locks', `${key}.lock`);
  fs.mkdirSync(path.dirname(lock));
  const put = (holder: object) => fs.writeFileSync(lock, JSON.stringify({ nonce: 'ab', ...holder }));
  return { dir, clock, lock, put, ledger: openLedger({ dir, clock, keepPrompts: true }) };
}
const locks = (dir: string) => fs.readdirSync(path.join(dir, 'locks'));
/** The process ID of a process that has just ended. */
async function deadPid(): Promise<number> {
  const ended = runNode('-e', '0');
  await ended.finished;
  return ended.child.pid ?? 0;
}

it('a claim excludes others until it is released', async () => {
  const { dir, lock, ledger } = setUp();
  const claim = await ledger.hold(key);
  expect(claim).toBeDefined();
  expect(fs.statSync(lock).mode & 0o777).toBe(0o600);
  expect(await ledger.hold(key)).toBeUndefined();
  expect(await ledger.hold(newJobKey())).toBeDefined();
  claim?.release();
  claim?.release();
  const again = await ledger.hold(key);
  expect(again).toBeDefined();
  claim?.release();
  expect(await ledger.hold(key)).toBeUndefined();
  expect(locks(dir)).toHaveLength(2);
});

it('a job that another machine has taken over is not sent any more', () => {
  const { lock, put, ledger } = setUp();
  ledger.begin(intent(), key);
  ledger.append(key, { event: 'sent', sending: 'a' });
  ledger.append(key, { event: 'not_made', sending: 'a' });
  put({ pid: 1, host: 'another', started: '1' });
  expect(() => ledger.append(key, { event: 'sent', sending: 'b' })).toThrow('another gw is working on job');
  fs.unlinkSync(lock);
  expect(() => ledger.append(key, { event: 'sent', sending: 'b' })).toThrow('another gw is working on job');
});

it('another living process holds what it claimed, until it is killed', async () => {
  const { dir, ledger } = setUp();
  const other = runNode(claimAll, dir, key);
  await other.printed('ready');
  other.child.stdin?.write('go\n');
  await other.printed('done');
  expect(other.out).toContain(key);
  expect(await ledger.hold(key)).toBeUndefined();
  other.child.kill('SIGKILL');
  await other.finished;
  expect(await ledger.hold(key)).toBeDefined();
  expect(locks(dir)).toHaveLength(1);
});

it('a process that is killed while it writes its lock leaves none', async () => {
  const { dir, ledger } = setUp();
  const dying = path.join(dir, 'dying.cjs');
  fs.writeFileSync(dying, "require('fs').writeFileSync = () => process.kill(process.pid, 'SIGKILL')");
  const other = runNode('--require', dying, claimAll, dir, key);
  await other.printed('ready');
  other.child.stdin?.write('go\n');
  expect(await other.finished).toMatchObject({ signal: 'SIGKILL' });
  expect(await ledger.hold(key)).toBeDefined();
});

describe('a lock left behind', () => {
  it('of a dead process is taken over', async () => {
    const { dir, put, ledger } = setUp();
    put({ pid: await deadPid(), host: hostOf(), started: '' });
    expect(await ledger.hold(key)).toBeDefined();
    expect(await ledger.hold(key)).toBeUndefined();
    expect(locks(dir)).toHaveLength(1);
  });

  it('of a process whose ID another has now is taken over', async (test) => {
    if (ownIdentity().started === '') return test.skip('the system does not tell when a process started');
    const { put, ledger } = setUp();
    put({ ...ownIdentity(), started: 'another-boot:1' });
    expect(await ledger.hold(key)).toBeDefined();
  });

  it('of a process whose ID another user has now is taken over', async (test) => {
    if (ownIdentity().started === '') return test.skip('the system does not tell when a process started');
    const kill = vi.spyOn(process, 'kill').mockImplementation(() => {
      throw Object.assign(new Error('not yours'), { code: 'EPERM' });
    });
    onTestFinished(() => kill.mockRestore());
    const { put, ledger } = setUp();
    put({ ...ownIdentity(), pid: process.ppid });
    expect(await ledger.hold(key)).toBeDefined();
  });

  it('of a process in another container of the same name is kept: its ID says nothing here', async () => {
    const { put, ledger } = setUp();
    put({ ...ownIdentity(), pid: await deadPid(), host: hostOf(() => 'pid:[4026532178]') });
    expect(await ledger.hold(key)).toBeUndefined();
    expect(hostOf(() => 'pid:[4026531836]')).toBe(os.hostname());
    const untold = () => {
      throw new Error('no /proc');
    };
    expect(hostOf(untold)).toBe(os.hostname());
  });

  it('of a dead process is taken over, whatever name the machine had', async () => {
    const own = ownIdentity();
    if (own.started === '') return;
    const { put, ledger } = setUp();
    put({
      ...own,
      pid: await deadPid(),
      host: own.host.replace(os.hostname(), 'the-name-of-another-network'),
    });
    expect(await ledger.hold(key)).toBeDefined();
  });

  it('of a machine that another name was given to', { tags: ['root'] }, async () => {
    const { dir, ledger } = setUp();
    const named = ['--uts', 'sh', '-c', 'hostname elsewhere && exec "$@"', 'sh'];
    const other = new Running('unshare', [...named, process.execPath, claimAll, dir, key]);
    await other.printed('ready');
    other.child.stdin?.write('go\n');
    await other.printed('done');
    expect(await ledger.hold(key)).toBeUndefined();
    other.child.kill('SIGKILL');
    await other.finished;
    expect(await ledger.hold(key)).toBeDefined();
  });

  it('is held by no process that got its ID later, also where no system tells of processes', async () => {
    const { readFileSync } = nodeFs;
    const restore = () => {
      nodeFs.readFileSync = readFileSync;
      syncBuiltinESMExports();
    };
    onTestFinished(restore);
    nodeFs.readFileSync = ((file: fs.PathOrFileDescriptor, ...rest: []) => {
      if (String(file).startsWith('/proc/')) throw Object.assign(new Error('no /proc'), { code: 'ENOENT' });
      return readFileSync(file, ...rest);
    }) as typeof readFileSync;
    syncBuiltinESMExports();
    const { put, lock, ledger } = setUp();
    put({ ...ownIdentity(), pid: process.ppid });
    expect(await ledger.hold(key)).toBeUndefined();
    age(lock, 3_610);
    // The holder refreshes the lock after all.
    const beat = new Worker(
      `setTimeout(() => require('node:fs').utimesSync(${JSON.stringify(lock)}, 1, 1), 1_000)`,
      { eval: true },
    );
    expect(await ledger.hold(key)).toBeUndefined();
    await beat.terminate();
    expect(await ledger.hold(key)).toBeDefined();
  });

  it('of a living process is kept', async () => {
    const { put, ledger } = setUp();
    put(ownIdentity());
    expect(await ledger.hold(key)).toBeUndefined();
    put({ pid: process.ppid, host: hostOf(), started: '' });
    expect(await ledger.hold(key)).toBeUndefined();
  });

  it.each(['EROFS', 'ENOSPC', 'EACCES'])(
    'of another machine, on a disk that says %s, is still told of',
    async (code) => {
      const { lock, put, ledger } = setUp();
      const { openSync } = nodeFs;
      const spy = vi.spyOn(nodeFs, 'openSync').mockImplementation((file, ...rest) => {
        if (String(file).endsWith('.now')) throw Object.assign(new Error(code), { code, syscall: 'open' });
        return openSync(file, ...rest);
      });
      syncBuiltinESMExports();
      onTestFinished(() => {
        spy.mockRestore();
        syncBuiltinESMExports();
      });
      put({ pid: 1, host: 'elsewhere', started: 'x' });
      // Where the disk cannot be asked for its time, the clock of this process counts, which may differ from the disk's.
      const nowS = Date.now() / 1000;
      fs.utimesSync(lock, nowS - 3_590, nowS - 3_590);
      expect(ledger.isHeld(key)).toBe(true);
      fs.utimesSync(lock, nowS - 3_610, nowS - 3_610);
      expect(ledger.isHeld(key)).toBe(false);
      await expect(ledger.hold(key)).rejects.toMatchObject({ kind: 'download' });
    },
  );

  const dayMs = 86_400_000;
  describe.each([0, 400, -400])('whose file system is %i days from the clock', (days) => {
    const shifted = () => {
      const place = setUp();
      place.clock.set(Date.now() + days * dayMs);
      vi.spyOn(Date, 'now').mockReturnValue(place.clock.now());
      onTestFinished(() => void vi.restoreAllMocks());
      return place;
    };

    it('of another machine counts for an hour', async () => {
      const { dir, lock, put, ledger } = shifted();
      put({ pid: 1, host: 'elsewhere', started: 'x' });
      age(lock, 3_590);
      expect(ledger.isHeld(key)).toBe(true);
      expect(await ledger.hold(key)).toBeUndefined();
      age(lock, 3_610);
      expect(ledger.isHeld(key)).toBe(false);
      expect(await ledger.hold(key)).toBeDefined();
      expect(locks(dir)).toHaveLength(1);
    });

    it('that says nothing is one being written, for ten seconds', async () => {
      const { dir, lock, ledger } = shifted();
      fs.writeFileSync(lock, '');
      expect(await ledger.hold(key)).toBeUndefined();
      age(lock, 8);
      expect(await ledger.hold(key)).toBeUndefined();
      age(lock, 11);
      expect(await ledger.hold(key)).toBeDefined();
      expect(locks(dir)).toHaveLength(1);
    });
  });

  it('is not taken over from a rival that was faster', async () => {
    const { dir, put, lock, ledger } = setUp();
    put({ pid: await deadPid(), host: hostOf(), started: '' });
    const { linkSync } = nodeFs;
    const restore = () => {
      nodeFs.linkSync = linkSync;
      syncBuiltinESMExports();
    };
    onTestFinished(restore);
    // Another process takes the lock after this one has looked at it and before it has made the takeover marker.
    nodeFs.linkSync = (from, to) => {
      if (to === `${lock}.ab`) {
        restore();
        put({ ...ownIdentity(), nonce: 'cd' });
      }
      linkSync(from, to);
    };
    syncBuiltinESMExports();
    expect(await ledger.hold(key)).toBeUndefined();
    expect(fs.readFileSync(lock, 'utf8')).toContain('"nonce":"cd"');
    expect(locks(dir)).toEqual([path.basename(lock)]);
  });

  it('is not lost for ever when its taker died on the way', async () => {
    const { put, lock, ledger } = setUp();
    const dead = { pid: await deadPid(), host: hostOf(), started: '' };
    put(dead);
    fs.writeFileSync(`${lock}.ab`, JSON.stringify({ ...dead, nonce: 'cd' }));
    expect([await ledger.hold(key), await ledger.hold(key)].filter(Boolean)).toHaveLength(1);
  });
});

it('a lock that cannot be made is an error that says so, never a job that nobody holds', async () => {
  const dir = tempDir();
  fs.writeFileSync(path.join(dir, 'locks'), 'a file');
  const ledger = openLedger({ dir, clock: handClock(), keepPrompts: true });
  const message = expect.stringContaining(path.join(dir, 'locks'));
  await expect(ledger.hold(key)).rejects.toMatchObject({ message });
  expect(() => ledger.begin(intent())).toThrow(expect.objectContaining({ kind: 'usage', message }));
  expect(fs.existsSync(path.join(dir, 'ledger'))).toBe(false);
});

it('four processes that find the same dead locks share them without a double', async () => {
  const { dir } = setUp();
  const dead = await deadPid();
  const keys = Array.from({ length: 150 }, () => newJobKey());
  for (const [index, each] of keys.entries()) {
    const holder = { pid: dead, host: hostOf(), started: '', nonce: `a${index}` };
    fs.writeFileSync(path.join(dir, 'locks', `${each}.lock`), JSON.stringify(holder));
  }
  const rivals = Array.from({ length: 4 }, () => runNode(claimAll, dir, ...keys));
  await Promise.all(rivals.map((rival) => rival.printed('ready')));
  for (const rival of rivals) rival.child.stdin?.write('go\n');
  await Promise.all(rivals.map((rival) => rival.printed('done')));
  const got = rivals.flatMap((rival) => JSON.parse(rival.out.split('\n')[1] ?? '') as string[]);
  for (const rival of rivals) rival.child.stdin?.end();
  await Promise.all(rivals.map((rival) => rival.finished));
  expect(got.toSorted()).toEqual(keys.toSorted());
  expect(locks(dir)).toHaveLength(150);
});

it('knows a process that only waits to be collected for a dead one', async (test) => {
  expect(isAlive(ownIdentity())).toBe(true);
  for (const pid of [0, -1, 1.5, Number.NaN]) expect(isAlive({ pid, host: '', started: '' })).toBe(false);
  if (ownIdentity().started === '') return test.skip('the system does not tell the state of a process');
  // The shell starts a child and then becomes a program that never reaps it.
  const parent = new Running('sh', ['-c', 'sleep 30 & echo "pid $!"; exec tail -f /dev/null']);
  await parent.printed('\n');
  const pid = Number(/pid (\d+)/.exec(parent.out)?.[1]);
  while (!fs.readFileSync(`/proc/${parent.child.pid}/comm`, 'latin1').startsWith('tail'))
    await new Promise((resolve) => setTimeout(resolve, 5));
  process.kill(pid);
  while (!/\) Z /.test(fs.readFileSync(`/proc/${pid}/stat`, 'latin1')))
    await new Promise((resolve) => setTimeout(resolve, 5));
  expect(isAlive({ pid, host: '', started: '' })).toBe(false);
  parent.child.kill('SIGKILL');
  await parent.finished;
});
