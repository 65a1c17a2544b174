import * as fs from 'node:fs';
import * as path from 'node:path';
import { describe, expect, it } from 'vitest';
import { cmd } from '../../helpers/cmd.ts';
import { newDir } from '../../helpers/new-dir.ts';
import { serveFile } from '../../helpers/output-server.ts';
import { mountTmpfs } from '../../helpers/tmpfs.ts';
import { fetchOne } from './fetch-one.ts';
import { listing, outputServer, run, tempDir } from './harness.ts';
import { bundleFetchOne, runToEnd } from './spawned.ts';
import { sha256, tinyMp4 } from './tiny-media.ts';

const file = tinyMp4(400_000);
const etag = '"v1"';
/** A file that a killed process left from the trial of a directory. A run at least ten seconds later clears it. */
const isTrial = (name: string) => /^\.gw-\d\.try2?$/.test(name);
const outputsIn = (dir: string) => listing(dir).filter((name) => !isTrial(name));
const isPart = (name: string) => /^\.gw-[0-9a-f]{32}\.part$/.test(name);
const serve = () => outputServer((request, response) => serveFile(file, request, response, { etag }));

const script = await bundleFetchOne(newDir());

describe('a full disk', { tags: ['mount'] }, () => {
  function diskOf(options: string): string {
    const dir = tempDir();
    mountTmpfs(dir, options);
    return dir;
  }

  it('is noticed from the announced length before the body is read', async () => {
    const dir = diskOf('size=1m');
    const big = tinyMp4(3_000_000);
    const server = await outputServer((request, response) => serveFile(big, request, response, { etag }));
    const { failures, progress } = await run({ dir, url: server.url });
    expect(failures[0]?.error.message).toMatch(/has .* free, and the file needs 3\.[01] MB more/);
    expect(failures[0]?.error.facts.hint).toContain('gw jobs sync');
    expect(failures[0]?.error.kind).toBe('download');
    expect(progress).toEqual([]);
    expect(server.gets).toHaveLength(1);
    expect(listing(dir)).toEqual([]);
  });

  it('in the middle keeps the part, and a later run goes on from there', async () => {
    const dir = diskOf('size=1m');
    const big = tinyMp4(900_000);
    fs.writeFileSync(path.join(dir, 'filler'), Buffer.alloc(600_000));
    // No length is announced and the free space counts as unlimited, so only the write itself can fail.
    const freeBytes = () => Number.POSITIVE_INFINITY;
    const server = await outputServer((request, response, number) =>
      number === 1
        ? response.writeHead(200, { 'content-type': 'video/mp4', etag }).end(big)
        : serveFile(big, request, response, { etag }),
    );
    const { failures, journal } = await run({ dir, url: server.url, freeBytes });
    expect(failures[0]?.error.message).toContain('the disk is full');
    expect(failures[0]?.error.facts.hint).toContain('gw jobs sync goes on from there');
    expect(listing(dir)).toEqual([expect.stringMatching(/\.part$/), 'filler']);
    expect(server.gets).toHaveLength(1);
    fs.unlinkSync(path.join(dir, 'filler'));
    const again = await run({ dir, url: server.url, freeBytes, journal: journal.snapshot() });
    expect(again.files[0]?.sha256).toBe(sha256(big));
    expect(server.gets[1]?.headers.range).toMatch(/^bytes=[1-9]\d{4}/);
    expect(listing(dir)).toEqual(['cgt-1.mp4']);
  });

  it('that is read-only is a failure of the output alone, and of the check before', async () => {
    const dir = diskOf('size=1m,ro');
    const server = await serve();
    const { failures } = await run({ dir, url: server.url });
    expect(failures[0]?.error.message).toContain('read-only');
    const { checkTarget } = await import('../../../src/jobs/save/check-target.ts');
    const plan = { target: `${dir}/`, force: false, download: true };
    const before = { family: 'alpha', model: 'm', atMs: 0, outputsExpected: 1 };
    expect(() => checkTarget(plan, before)).toThrow(/read-only/);
  });
});

const orderOf = (dir: string, url: string, force = false) => ({
  ...{ url, target: path.join(dir, 'out', 'fox.mp4'), ledger: path.join(dir, 'ledger'), force },
});
const order = (...of: Parameters<typeof orderOf>) => JSON.stringify(orderOf(...of));

/** Whatever happened before, an undisturbed run must leave the whole file under its name, once, and no part file. */
async function expectMended(dir: string, url: string, force = false): Promise<void> {
  const ended = await fetchOne(orderOf(dir, url, force));
  expect(ended.failures).toEqual([]);
  expect(outputsIn(path.join(dir, 'out'))).toEqual(['fox.mp4']);
  expect(sha256(fs.readFileSync(path.join(dir, 'out', 'fox.mp4')))).toBe(sha256(file));
}

/** A final name must hold the whole file or not exist, and there may be one part file at most. */
function expectClean(dir: string): void {
  const names = fs.existsSync(path.join(dir, 'out')) ? outputsIn(path.join(dir, 'out')) : [];
  expect(names.filter(isPart).length).toBeLessThanOrEqual(1);
  for (const name of names.filter((other) => !isPart(other))) {
    expect(sha256(fs.readFileSync(path.join(dir, 'out', name)))).toBe(sha256(file));
  }
}

describe('a limit on file sizes', () => {
  it('keeps the part and names the command that goes on', async () => {
    const dir = tempDir();
    const server = await serve();
    const limited = `ulimit -f 100; exec "${process.execPath}" "${script}" '${order(dir, server.url)}'`;
    const ended = await runToEnd('bash', ['-c', limited]);
    expect(ended.failures).toMatchObject([
      { kind: 'download', message: expect.stringContaining('would pass the size limit') },
    ]);
    expect(ended.failures[0]?.hint).toContain('gw jobs sync');
    // The disk of the output failed first, and its part then went on in the refuge.
    expect(listing(path.join(dir, 'ledger.rescued')).map(isPart)).toEqual([true]);
    await expectMended(dir, server.url);
    expect(server.gets[1]?.headers.range).toMatch(/^bytes=[1-9]/);
  });
});

describe('a system call that fails', { tags: ['strace'] }, () => {
  // strace cannot see calls that libuv makes through an io_uring.
  const strace = (inject: string[], ...rest: string[]) => cmd`
    -f -qq -o /dev/null -E UV_USE_IO_URING=0 ${inject.flatMap((what) => ['-e', `inject=${what}`])} ${rest}
  `;

  it.each([
    ['pwrite64', 'ENOSPC', 'the disk is full', false],
    ['pwrite64', 'EDQUOT', 'quota', false],
    ['pwrite64', 'EIO', 'input/output error', false],
    ['fsync', 'EIO', 'files cannot be saved in .*input/output error', false],
    ['fsync', 'ENOSPC', 'files cannot be saved in .*the disk is full', true],
    ['mkdir,mkdirat', 'EACCES', 'permission denied', false],
  ])('%s with %s is one failed output, and the next run mends it', async (call, code, said, force) => {
    const dir = tempDir();
    const server = await serve();
    const args = strace(
      [`${call}:error=${code}:when=1+`],
      process.execPath,
      script,
      order(dir, server.url, force),
    );
    const ended = await runToEnd('strace', args);
    expect(ended.failures).toMatchObject([
      { kind: 'download', message: expect.stringMatching(new RegExp(said)) },
    ]);
    expectClean(dir);
    await expectMended(dir, server.url, force);
  });

  it.each([
    ['fchmod', false],
    ['link,linkat', false],
    ['rename,renameat,renameat2', false],
    ['rename,renameat,renameat2', true],
    ['link,linkat,rename,renameat,renameat2', false],
  ])('%s that never works costs nothing (--force: %s)', async (call, force) => {
    const dir = tempDir();
    const server = await serve();
    const args = strace([`${call}:error=EIO`], process.execPath, script, order(dir, server.url, force));
    const ended = await runToEnd('strace', args);
    expect([ended.failures, ended.files.length]).toEqual([[], 1]);
    await expectMended(dir, server.url, force);
    expect(server.gets).toHaveLength(1);
  });

  it('fsync of the directory alone costs nothing', async () => {
    const dir = tempDir();
    const out = path.join(dir, 'out');
    fs.mkdirSync(out);
    const server = await serve();
    const args = strace(['fsync:error=EIO'], '-P', out, process.execPath, script, order(dir, server.url));
    const ended = await runToEnd('strace', args);
    expect([ended.failures, ended.files.length]).toEqual([[], 1]);
    await expectMended(dir, server.url);
    expect(server.gets).toHaveLength(1);
  });

  it('unlink of the part is a warning, and the next run removes it', async () => {
    const dir = tempDir();
    const server = await serve();
    const args = strace(
      // The earlier calls belong to the trial of the directory.
      ['unlink,unlinkat:error=EIO:when=4+'],
      process.execPath,
      script,
      order(dir, server.url),
    );
    const ended = await runToEnd('strace', args);
    expect(ended.files).toHaveLength(1);
    await expectMended(dir, server.url);
    expect(server.gets).toHaveLength(1);
  });

  const calls = [
    'mkdir,mkdirat',
    'pwrite64',
    'fchmod',
    'fsync',
    'link,linkat',
    'unlink,unlinkat',
    'fdatasync',
  ];
  it.each(calls)('%s, where the process is killed at it, leaves what the next run mends', async (call) => {
    // When `when` is beyond the last such call, the process is not killed any more.
    let isKilled = true;
    for (let when = 1; when <= 6 && isKilled; when++) {
      const dir = tempDir();
      const server = await serve();
      const args = strace(
        [`${call}:signal=KILL:when=${when}`],
        process.execPath,
        script,
        order(dir, server.url),
      );
      isKilled = (await runToEnd('strace', args)).signal === 'SIGKILL';
      expect(isKilled || when > 1).toBe(true);
      expectClean(dir);
      await expectMended(dir, server.url);
    }
  });

  it('never makes a second download where all bytes were there when it was killed', async () => {
    // The earlier calls belong to the trial of the directory.
    const calls = { fsync: 2, fchmod: 2, 'link,linkat': 2, 'unlink,unlinkat': 4 };
    for (const [call, when] of Object.entries(calls)) {
      const dir = tempDir();
      const server = await serve();
      const args = strace(
        [`${call}:signal=KILL:when=${when}`],
        process.execPath,
        script,
        order(dir, server.url),
      );
      await runToEnd('strace', args);
      await expectMended(dir, server.url);
      expect(server.gets).toHaveLength(1);
    }
  });
});

describe('processes', () => {
  it('that race for one target overwrite nothing, round after round', async () => {
    for (let round = 0; round < 5; round++) {
      const dir = tempDir();
      fs.mkdirSync(path.join(dir, 'out'));
      const server = await serve();
      const orders = ['a', 'b'].map((name) =>
        JSON.stringify({
          url: server.url,
          target: path.join(dir, 'out', 'fox.mp4'),
          ledger: path.join(dir, name),
        }),
      );
      const ended = await Promise.all(orders.map((text) => runToEnd(process.execPath, [script, text])));
      expect(new Set(ended.flatMap(({ files }) => files.map((saved) => saved.path))).size).toBe(2);
      expect(listing(path.join(dir, 'out'))).toEqual(['fox-1.mp4', 'fox.mp4']);
      expectClean(dir);
    }
  });

  it('that are killed at any time leave what the next one mends', async () => {
    const dir = tempDir();
    const server = await outputServer((request, response) => {
      const range = /^bytes=(\d+)-$/.exec(request.headers.range ?? '');
      const isNearEnd = Number(range?.[1] ?? 0) > 300_000;
      serveFile(file, request, response, { etag, ...(isNearEnd ? {} : { cutAfter: 90_000 }) });
    });
    for (let round = 1; round <= 8; round++) {
      const timeout = ['-s', 'KILL', String(0.03 * round), process.execPath, script, order(dir, server.url)];
      await runToEnd('timeout', timeout);
      expectClean(dir);
    }
    await expectMended(dir, server.url);
  });
});
