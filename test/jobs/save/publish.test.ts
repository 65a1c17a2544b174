import { execFileSync } from 'node:child_process';
import nodeFs, * as fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import * as path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Claims } from '../../../src/jobs/save/claims.ts';
import type { DiskWays } from '../../../src/jobs/save/disk-ways.ts';
import { PartFile } from '../../../src/jobs/save/part-file.ts';
import { type PublishOptions, publish as publishSource, wholePart } from '../../../src/jobs/save/publish.ts';
import { PartGone } from '../../../src/jobs/save/take-name.ts';
import type { Job } from '../../../src/ledger/event.ts';
import type { Ledger } from '../../../src/ledger/ledger.ts';
import { serveFile } from '../../helpers/output-server.ts';
import { listing, MemoryJournal, outputServer, run, scriptedClock, tempDir } from './harness.ts';
import { noise, sha256, tinyMp4 } from './tiny-media.ts';

function partOf(dir: string, bytes: Buffer): PartFile {
  const part = PartFile.create(dir, { totalBytes: bytes.length }, () => {});
  part.append(bytes);
  return part;
}

const publish = (part: PartFile, options: PublishOptions) => publishSource(wholePart(part), options);

const ext4: DiskWays = { links: true, renames: true, readsBack: true };
const linkless: DiskWays = { ...ext4, links: false };
const nameless: DiskWays = { ...linkless, renames: false };

const options = (dir: string, changes = {}) => ({
  dir,
  ways: ext4,
  name: (copy: number) => (copy === 0 ? 'fox.mp4' : `fox-${copy}.mp4`),
  force: false,
  mayReplace: async (_: string, tell: () => void) => {
    tell();
    return true;
  },
  mode: 0o644,
  ...changes,
});

/** Replaces functions of Node until the test is over. */
function withCalls(others: Readonly<Record<string, (...args: never[]) => unknown>>): void {
  const own = Object.fromEntries(Object.keys(others).map((name) => [name, nodeFs[name as 'lstatSync']]));
  const put = (calls: object) => {
    Object.assign(nodeFs, calls);
    syncBuiltinESMExports();
  };
  put(others);
  onTestFinished(() => put(own));
}

describe('a finished part', () => {
  it('takes the next free name, the permissions, and keeps its own name until it is recorded', async () => {
    const dir = tempDir();
    fs.writeFileSync(path.join(dir, 'fox.mp4'), 'mine');
    fs.symlinkSync('nowhere', path.join(dir, 'fox-1.mp4'));
    fs.mkdirSync(path.join(dir, 'fox-2.mp4'));
    const part = partOf(dir, noise(100, 1));
    expect(fs.statSync(part.path).mode & 0o777).toBe(0o600);
    const final = await publish(part, options(dir));
    expect(final).toBe(path.join(dir, 'fox-3.mp4'));
    expect(fs.statSync(final).mode & 0o777).toBe(0o644);
    expect(fs.readFileSync(final).equals(noise(100, 1))).toBe(true);
    expect(fs.existsSync(part.path)).toBe(true);
    expect(fs.readFileSync(path.join(dir, 'fox.mp4'), 'utf8')).toBe('mine');
    expect(fs.existsSync(path.join(dir, 'nowhere'))).toBe(false);
  });

  it.each([
    ['is renamed over a name of its own where there are no links', linkless, ['fox-1.mp4', 'fox.mp4']],
    [
      'is copied where it can neither be linked nor renamed',
      nameless,
      [expect.stringMatching(/part$/), 'fox-1.mp4', 'fox.mp4'],
    ],
  ])('%s', async (_, ways, listed) => {
    const dir = tempDir();
    fs.writeFileSync(path.join(dir, 'fox.mp4'), 'mine');
    const final = await publish(partOf(dir, noise(100, 1)), options(dir, { ways }));
    expect(final).toBe(path.join(dir, 'fox-1.mp4'));
    expect(fs.readFileSync(final).equals(noise(100, 1))).toBe(true);
    expect(fs.readFileSync(path.join(dir, 'fox.mp4'), 'utf8')).toBe('mine');
    expect(listing(dir)).toEqual(listed);
  });

  it.each([
    ['links', ext4],
    ['no links', linkless],
    ['neither links nor renames', nameless],
  ])('of another disk comes to one with %s as a copy, and stays where it is', async (_, ways) => {
    const [dir, elsewhere] = [tempDir(), tempDir()];
    fs.writeFileSync(path.join(dir, 'fox.mp4'), 'mine');
    for (const force of [false, true]) {
      const part = partOf(elsewhere, noise(100, 1));
      const final = await publish(part, options(dir, { ways, force }));
      expect(final).toBe(path.join(dir, force ? 'fox.mp4' : 'fox-1.mp4'));
      expect(fs.readFileSync(final).equals(noise(100, 1))).toBe(true);
      expect(fs.existsSync(part.path)).toBe(true);
      expect(listing(dir)).toEqual(['fox-1.mp4', 'fox.mp4']);
    }
  });

  it('is never made another name of a file that is saved: the copy is a file of its own', async () => {
    for (const ways of [ext4, linkless, nameless]) {
      const dir = tempDir();
      const saved = path.join(dir, 'saved.mp4');
      fs.writeFileSync(saved, noise(100, 1));
      const source = { path: saved, bytes: 100, sha256: sha256(noise(100, 1)) };
      const final = await publishSource(source, options(dir, { ways }));
      expect(listing(dir)).toEqual(['fox.mp4', 'saved.mp4']);
      expect(fs.statSync(final).ino).not.toBe(fs.statSync(saved).ino);
    }
  });

  it('tells of a name before it renames to it, and never where it links', async () => {
    const told = async (changes: object) => {
      const dir = tempDir();
      fs.writeFileSync(path.join(dir, 'fox.mp4'), 'mine');
      const names: [string, string[]][] = [];
      const onName = ({ to }: { to: string }) => names.push([path.basename(to), listing(dir)]);
      const part = partOf(dir, noise(100, 1));
      await publish(part, options(dir, { onName, ...changes }));
      const there = [path.basename(part.path), 'fox.mp4'];
      return { names, there };
    };
    const linked = await told({});
    expect(linked.names).toEqual([]);
    const renamed = await told({ ways: linkless });
    expect(renamed.names).toEqual([['fox-1.mp4', renamed.there]]);
    const beside = await told({ ways: linkless, sidecar: '{}' });
    // gw reports the free name for the sidecar and for the output, and never the name of the existing file.
    expect(new Set(beside.names.map(([name]) => name))).toEqual(new Set(['fox-1.mp4']));
    const forced = await told({ force: true });
    expect(forced.names).toEqual([['fox.mp4', forced.there]]);
  });

  it('has a name that is durable: its directory is synced once the name is there', async () => {
    const dir = tempDir();
    const synced: [isDirectory: boolean, names: string[]][] = [];
    const { fsync } = nodeFs;
    withCalls({
      fsync(fd: number, done: (error: Error | null) => void) {
        synced.push([fs.fstatSync(fd).isDirectory(), listing(dir)]);
        fsync(fd, done);
      },
    });
    await publish(partOf(dir, noise(100, 1)), options(dir));
    expect(synced.at(-1)).toEqual([true, expect.arrayContaining(['fox.mp4'])]);
  });

  it('is copied where a rename fails, and the part stays', async () => {
    const dir = tempDir();
    const part = partOf(dir, noise(100, 1));
    withCalls({
      renameSync: () => {
        throw new Error('EIO');
      },
    });
    const final = await publish(part, options(dir, { ways: linkless }));
    expect(fs.readFileSync(final).equals(noise(100, 1))).toBe(true);
    expect(listing(dir)).toEqual([path.basename(part.path), 'fox.mp4']);
  });

  it.each([undefined, '{"gw":"1","sha256":""}'])(
    'takes no other file for itself where a disk gives both one number (sidecar %s)',
    async (sidecar) => {
      const dir = tempDir();
      fs.writeFileSync(path.join(dir, 'fox.mp4'), 'mine');
      const { lstatSync } = nodeFs;
      const numbered = (...args: Parameters<typeof lstatSync>) => {
        const stats = lstatSync(...args);
        return stats && Object.assign(stats, { ino: typeof stats.ino === 'bigint' ? 1n : 1 });
      };
      withCalls({ lstatSync: numbered });
      const final = await publish(partOf(dir, noise(100, 1)), options(dir, { ways: linkless, sidecar }));
      expect(final).toBe(path.join(dir, 'fox-1.mp4'));
      expect(fs.readFileSync(path.join(dir, 'fox.mp4'), 'utf8')).toBe('mine');
    },
  );

  it('leaves no empty name where the rename fails', async () => {
    const dir = tempDir();
    const part = partOf(dir, noise(100, 1));
    fs.unlinkSync(part.path);
    await expect(publish(part, options(dir, { ways: linkless }))).rejects.toThrow(PartGone);
    expect(listing(dir)).toEqual([]);
  });

  it.each([ext4, linkless])(
    'replaces with force no file that came after it was asked about: %o',
    async (ways) => {
      const dir = tempDir();
      const [own, other] = [partOf(dir, noise(100, 1)), partOf(dir, noise(100, 2))];
      const [first, next] = ['fox.mp4', 'fox-1.mp4'].map((name) => path.join(dir, name)) as [string, string];
      fs.writeFileSync(first, 'old');
      const asked: string[] = [];
      const mayReplace = async (final: string) => {
        asked.push(path.basename(final));
        // Another one saves under the same name, and its ledger does not tell of it yet.
        if (final === first && asked.length === 1) fs.renameSync(other.path, first);
        if (final === next && asked.length === 3) fs.writeFileSync(next, 'newer');
        return asked.length !== 2 && asked.length !== 4;
      };
      expect(await publish(own, options(dir, { force: true, ways, mayReplace }))).toBe(
        path.join(dir, 'fox-2.mp4'),
      );
      expect([fs.readFileSync(first).equals(noise(100, 2)), fs.readFileSync(next, 'utf8')]).toEqual([
        true,
        'newer',
      ]);
    },
  );

  it.each([
    ['linked to its name by a gw that runs', {}, 'runs', 'fox-1.mp4'],
    ['linked to its name by a gw that was killed before', {}, 'killed before', 'fox.mp4'],
    ['linked to its name by a gw that was killed since', {}, 'killed since', 'fox-1.mp4'],
    ['renamed to its name by a gw that runs', { force: true }, 'runs', 'fox-1.mp4'],
    ['renamed where there are no links by a gw that runs', { ways: linkless }, 'runs', 'fox-1.mp4'],
  ])('that replaces with force finds an output, not recorded yet, %s', async (_, how, other, name) => {
    const dir = tempDir();
    const part = partOf(dir, noise(100, 2));
    const startedAtMs = other === 'killed since' ? 2 : 1;
    const job = { key: 'other', files: [], parts: { video: { path: part.path, startedAtMs } } };
    if ('force' in how) fs.writeFileSync(path.join(dir, 'fox.mp4'), 'old');
    const onName = (named: object) => Object.assign(job.parts.video, named);
    const first = await publish(part, options(dir, { ...how, onName }));
    const find: Ledger['find'] = async ({ where } = {}) =>
      [job as unknown as Job].filter((each) => where?.(each));
    const claims = new Claims({ find, isHeld: () => other === 'runs' }, 1);
    const mayReplace = (final: string, tell: () => void) => claims.mayTake(final, 'own', 'video', { tell });
    const final = await publish(partOf(dir, noise(100, 1)), options(dir, { force: true, mayReplace }));
    expect(path.basename(final)).toBe(name);
    expect(fs.readFileSync(first).equals(noise(100, name === 'fox.mp4' ? 1 : 2))).toBe(true);
  });

  it('that replaces with force is not stopped by a part of another job whose folder is gone', async () => {
    const dir = tempDir();
    fs.writeFileSync(path.join(dir, 'fox.mp4'), 'old');
    fs.writeFileSync(path.join(dir, 'folder'), 'a file now');
    const parts = { video: { path: path.join(dir, 'folder/a.part'), startedAtMs: 1 } };
    const find: Ledger['find'] = async ({ where } = {}) =>
      [{ key: 'other', files: [], parts } as unknown as Job].filter((each) => where?.(each));
    const claims = new Claims({ find, isHeld: () => false }, 1);
    const mayReplace = (final: string) => claims.mayTake(final, 'own', 'video');
    const final = await publish(partOf(dir, noise(100, 1)), options(dir, { force: true, mayReplace }));
    expect(path.basename(final)).toBe('fox.mp4');
  });

  it.each(['a link to its folder', 'other letters on a disk that takes them as one'])(
    'that replaces with force finds an output of its own command by %s',
    async (how) => {
      const dir = tempDir();
      const first = path.join(dir, 'fox.mp4');
      fs.writeFileSync(first, 'saved by the command');
      const isFolder = how === 'a link to its folder';
      const other = isFolder ? path.join(tempDir(), 'link') : dir;
      if (isFolder) fs.symlinkSync(dir, other);
      else fs.linkSync(first, path.join(dir, 'Fox.mp4'));
      const claims = new Claims({ find: async () => [], isHeld: () => false }, 1);
      await claims.mayTake(first, 'first', 'video');
      const mayReplace = (final: string) => claims.mayTake(final, 'own', 'video');
      const name = (copy: number) => `${isFolder ? 'fox' : 'Fox'}${copy === 0 ? '' : `-${copy}`}.mp4`;
      const final = await publish(
        partOf(other, noise(100, 1)),
        options(other, { force: true, mayReplace, name }),
      );
      expect(path.basename(final)).toBe(name(1));
      expect(fs.readFileSync(first, 'utf8')).toBe('saved by the command');
    },
  );

  it.each([{ force: true }, { ways: linkless }])(
    'has its name where a rename was done and reports an error: %o',
    async (changes) => {
      const dir = tempDir();
      const isForced = 'force' in changes;
      if (isForced) fs.writeFileSync(path.join(dir, 'fox.mp4'), 'old');
      const part = partOf(dir, noise(100, 1));
      const { renameSync } = nodeFs;
      withCalls({
        renameSync(from: string, to: string) {
          renameSync(from, to);
          throw Object.assign(new Error('ENOENT'), { code: 'ENOENT' });
        },
      });
      const final = await publish(part, options(dir, changes));
      expect(fs.readFileSync(final).equals(noise(100, 1))).toBe(true);
      expect(listing(dir)).toEqual(['fox.mp4']);
    },
  );

  it('has no sidecar where the disk takes no more', async () => {
    const dir = tempDir();
    const { openSync } = nodeFs;
    withCalls({
      openSync(file: string, ...how: [string, number]) {
        if (file.endsWith('.json.part')) throw Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' });
        return openSync(file, ...how);
      },
    });
    const told: string[] = [];
    const final = await publish(
      partOf(dir, noise(100, 1)),
      options(dir, { sidecar: '{}', warn: (text: string) => told.push(text) }),
    );
    expect(told).toEqual([`${final}.json could not be written: the disk is full (ENOSPC)`]);
    expect(fs.existsSync(`${final}.json`)).toBe(false);
  });

  it.each([ext4, nameless])(
    'tells if the sidecar of the replaced output cannot be removed: %o',
    async (ways) => {
      const dir = tempDir();
      const beside = path.join(dir, 'fox.mp4.json');
      fs.writeFileSync(path.join(dir, 'fox.mp4'), 'old');
      fs.writeFileSync(beside, JSON.stringify({ gw: '1.0.0', sha256: sha256(Buffer.from('old')) }));
      const { rmSync } = nodeFs;
      withCalls({
        rmSync(file: string, ...how: [object]) {
          if (file === beside) throw Object.assign(new Error('EPERM'), { code: 'EPERM' });
          return rmSync(file, ...how);
        },
      });
      const told: string[] = [];
      const warn = (text: string) => told.push(text);
      await publish(partOf(dir, noise(100, 1)), options(dir, { ways, force: true, warn }));
      expect(told).toEqual([expect.stringMatching(/fox\.mp4\.json could not be removed: .*EPERM/)]);
    },
  );

  it('tries the next name where a file changes at each look', async () => {
    const dir = tempDir();
    const first = path.join(dir, 'fox.mp4');
    let looks = 0;
    const mayReplace = async (final: string) => {
      looks += 1;
      if (final === first) fs.writeFileSync(first, 'x'.repeat(looks));
      return true;
    };
    const final = await publish(partOf(dir, noise(100, 1)), options(dir, { force: true, mayReplace }));
    expect(path.basename(final)).toBe('fox-1.mp4');
  });

  it('replaces a regular file only with force, and nothing else even then', async () => {
    const dir = tempDir();
    fs.writeFileSync(path.join(dir, 'fox.mp4'), 'old');
    const final = await publish(partOf(dir, noise(100, 1)), options(dir, { force: true }));
    expect(fs.readFileSync(final).equals(noise(100, 1))).toBe(true);
    expect(listing(dir)).toEqual(['fox.mp4']);
    fs.unlinkSync(final);
    fs.writeFileSync(path.join(dir, 'precious'), 'precious');
    fs.symlinkSync('precious', final);
    await expect(publish(partOf(dir, noise(9, 1)), options(dir, { force: true }))).rejects.toThrow(
      'a symbolic link',
    );
    fs.unlinkSync(final);
    fs.mkdirSync(final);
    await expect(publish(partOf(dir, noise(9, 1)), options(dir, { force: true }))).rejects.toThrow(
      'a directory',
    );
    expect(fs.readFileSync(path.join(dir, 'precious'), 'utf8')).toBe('precious');
  });

  it('whose bytes may not have reached the disk gets no name', async () => {
    const dir = tempDir();
    const fifo = path.join(dir, 'fifo');
    execFileSync('mkfifo', [fifo]);
    // A FIFO has permissions, but fsync fails on it.
    const fd = fs.openSync(fifo, fs.constants.O_RDWR);
    const part = partOf(dir, noise(100, 1));
    part.close();
    const unsynced = Object.assign(Object.create(Object.getPrototypeOf(part)), part, { fd, isOpen: true });
    await expect(publish(unsynced, options(dir))).rejects.toMatchObject({
      message: expect.stringContaining('could not be brought safely to disk'),
      keepsPart: false,
    });
    expect(listing(dir)).toEqual([path.basename(part.path), 'fifo']);
  });

  it('that was taken away says so', async () => {
    const dir = tempDir();
    const part = partOf(dir, noise(100, 1));
    fs.unlinkSync(part.path);
    await expect(publish(part, options(dir))).rejects.toThrow(PartGone);
  });
});

it.each(['without a tag', 'of another version', 'of a saved output'])(
  'a part %s that cannot be removed costs no output',
  async (left) => {
    const [dir, refuge, journal, bytes] = [tempDir(), tempDir(), new MemoryJournal(), tinyMp4()];
    const { url } = await outputServer((request, response) =>
      serveFile(bytes, request, response, { etag: '"2"' }),
    );
    if (left === 'of a saved output') await run({ dir, url, journal });
    const part = path.join(dir, `.gw-${'d'.repeat(32)}.part`);
    fs.writeFileSync(part, 'begun');
    journal.part('video', { path: part, etag: left === 'of another version' ? '"1"' : undefined });
    const { unlinkSync } = nodeFs;
    withCalls({
      unlinkSync(file: string) {
        if (file === part) throw Object.assign(new Error('EROFS'), { code: 'EROFS', syscall: 'unlink' });
        unlinkSync(file);
      },
    });
    const { files, failures } = await run({ dir, url, refuge, journal: journal.snapshot() });
    expect(failures).toEqual([]);
    expect(files).toMatchObject([{ path: path.join(dir, 'cgt-1.mp4'), sha256: sha256(bytes) }]);
  },
);

it('a copy that cannot be removed costs no output', async () => {
  const [dir, refuge, told, bytes] = [tempDir(), tempDir(), [] as string[], noise(100, 1)];
  withCalls({
    unlinkSync() {
      throw Object.assign(new Error('EROFS'), { code: 'EROFS', syscall: 'unlink' });
    },
  });
  const final = await publish(
    partOf(refuge, bytes),
    options(dir, { warn: (text: string) => told.push(text) }),
  );
  expect(fs.readFileSync(final)).toEqual(bytes);
  expect(told).toEqual([expect.stringContaining('could not be removed')]);
});

describe('a race', () => {
  const rounds = 25;
  const racers = 4;

  it.each([ext4, linkless])('for one name with force costs none of the outputs: %o', async (ways) => {
    for (let round = 0; round < rounds; round++) {
      const dir = tempDir();
      fs.writeFileSync(path.join(dir, 'fox.mp4'), 'old');
      const jobs = Array.from({ length: racers }, (_, index) => ({ key: `${index}`, files: [], parts: {} }));
      const find: Ledger['find'] = async ({ where } = {}) =>
        (jobs as unknown as Job[]).filter((each) => where?.(each));
      const finals = await Promise.all(
        jobs.map((job, index) => {
          const claims = new Claims({ find, isHeld: () => true }, 1);
          const part = partOf(dir, noise(5000, index));
          const note = (facts: object) => Object.assign(job.parts, { video: { ...facts, startedAtMs: 1 } });
          note({ path: part.path });
          const mayReplace = (final: string, tell: () => void) =>
            claims.mayTake(final, job.key, 'video', { tell });
          return publish(part, options(dir, { force: true, ways, mayReplace, onName: note }));
        }),
      );
      expect(new Set(finals).size).toBe(racers);
      for (const [index, final] of finals.entries())
        expect(fs.readFileSync(final).equals(noise(5000, index))).toBe(true);
    }
  });

  it('for one name is lost by nobody, and nothing is overwritten', async () => {
    for (let round = 0; round < rounds; round++) {
      const dir = tempDir();
      fs.writeFileSync(path.join(dir, 'fox.mp4'), 'mine');
      const all = Array.from({ length: racers }, (_, index) => noise(5000, round * 10 + index));
      const finals = await Promise.all(all.map((bytes) => publish(partOf(dir, bytes), options(dir))));
      expect(new Set(finals).size).toBe(racers);
      for (const [index, final] of finals.entries()) {
        expect(sha256(fs.readFileSync(final))).toBe(sha256(all[index] ?? Buffer.alloc(0)));
      }
      expect(fs.readFileSync(path.join(dir, 'fox.mp4'), 'utf8')).toBe('mine');
    }
  });

  it('of several runs for one target saves every file whole', async () => {
    for (let round = 0; round < 10; round++) {
      const dir = tempDir();
      const all = Array.from({ length: racers }, (_, index) => tinyMp4(30_000, round * 10 + index));
      const server = await outputServer((request, response) => {
        const bytes = all[Number(request.url?.slice(1))] ?? Buffer.alloc(0);
        serveFile(bytes, request, response, { etag: `"${request.url}"` });
      });
      const plan = { target: path.join(dir, 'fox.mp4'), force: false, download: true };
      const results = await Promise.all(
        all.map((_, index) => run({ dir, url: `${server.url}/${index}`, plan })),
      );
      const files = results.flatMap((result) => result.files);
      expect(new Set(files.map((file) => file.path)).size).toBe(racers);
      for (const [index, file] of files.entries()) {
        expect(sha256(fs.readFileSync(file.path))).toBe(sha256(all[index] ?? Buffer.alloc(0)));
      }
      expect(listing(dir)).toEqual(['fox-1.mp4', 'fox-2.mp4', 'fox-3.mp4', 'fox.mp4']);
    }
  });

  it('for one part, where the lock was lost, costs bandwidth and no data', async () => {
    for (let round = 0; round < 10; round++) {
      const dir = tempDir();
      const file = tinyMp4(300_000, round);
      const etag = `"${round}"`;
      let number = 0;
      const server = await outputServer((request, response) => {
        number++;
        serveFile(file, request, response, { etag, ...(number % 3 === 0 ? { cutAfter: 40_000 } : {}) });
      });
      const before = new MemoryJournal();
      const part = path.join(dir, `.gw-${'d'.repeat(32)}.part`);
      fs.writeFileSync(part, file.subarray(0, 100_000));
      before.parts.video = { path: part, etag, totalBytes: file.length, startedAtMs: Date.now() };
      const results = await Promise.all(
        Array.from({ length: 3 }, () => run({ dir, url: server.url, journal: before.snapshot() })),
      );
      expect(results.flatMap(({ failures }) => failures)).toEqual([]);
      for (const name of listing(dir)) {
        expect(name).toMatch(/^cgt-1(-\d)?\.mp4$/);
        expect(sha256(fs.readFileSync(path.join(dir, name)))).toBe(sha256(file));
      }
    }
  });
});

describe('a file with the bytes of an output, under its name and in no record', () => {
  const DAY_MS = 86_400_000;
  // gw's clock differs by this many days from the file server's clock, which sets the times of the files.
  it.each([-400, 0, 400])(
    'is the output if it is younger than the job, with a clock %i days off',
    async (days) => {
      const bytes = tinyMp4(2_000);
      const server = await outputServer((request, response) => serveFile(bytes, request, response));
      const clock = { ...scriptedClock(), now: () => Date.now() + days * DAY_MS };
      const names = { id: 'cgt-1', family: 'alpha' as const, model: undefined, atMs: clock.now() - 60_000 };
      const namesWhenWritten = async (agoMs: number) => {
        const dir = tempDir();
        const file = path.join(dir, 'cgt-1.mp4');
        fs.writeFileSync(file, bytes);
        const at = new Date(fs.statSync(file).mtimeMs - agoMs);
        fs.utimesSync(file, at, at);
        const journal = Object.assign(new MemoryJournal(), { isRecorded: async () => false });
        const { files } = await run({ dir, url: server.url, names, clock, journal });
        expect(files.map((saved) => sha256(fs.readFileSync(saved.path)))).toEqual([sha256(bytes)]);
        return listing(dir);
      };
      expect(await namesWhenWritten(30_000)).toEqual(['cgt-1.mp4']);
      expect(await namesWhenWritten(90_000)).toEqual(['cgt-1-1.mp4', 'cgt-1.mp4']);
    },
  );
});
