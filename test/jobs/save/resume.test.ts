import * as fs from 'node:fs';
import * as path from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { DiskFault } from '../../../src/disk/disk-fault.ts';
import { PartFile } from '../../../src/jobs/save/part-file.ts';
import { PartSink } from '../../../src/jobs/save/part-sink.ts';
import { serveFile } from '../../helpers/output-server.ts';
import { listing, MemoryJournal, NO_REFUGE, outputServer, run, scriptedClock, tempDir } from './harness.ts';
import { sha256, tinyMp4, tinyPng } from './tiny-media.ts';

const file = tinyMp4();
const etag = '"v1"';
const other = tinyMp4(200_000, 2);

const setBack = { ...scriptedClock(), now: () => Date.now() - 3_600_000 };

const savedBytes = (dir: string) => fs.readFileSync(path.join(dir, 'cgt-1.mp4'));

describe('after a kill where there are no hard links', () => {
  const sidecar = (digest: string) => `{"id":"1","gw":"1","sha256":"${digest}"}`;
  const leave = (changes: { readonly part?: Buffer; readonly final?: Buffer; readonly beside?: string }) => {
    const dir = tempDir();
    const journal = new MemoryJournal();
    const [part, to] = [path.join(dir, `.gw-${'d'.repeat(32)}.part`), path.join(dir, 'cgt-1.mp4')];
    if (changes.part) fs.writeFileSync(part, changes.part);
    if (changes.final) fs.writeFileSync(to, changes.final);
    // The part of the sidecar, which gw first writes under a name of its own.
    fs.writeFileSync(part.replace('.part', '.json.part'), '{"gw"');
    if (changes.beside !== undefined) fs.writeFileSync(`${to}.json`, changes.beside);
    journal.parts.video = {
      path: part,
      totalBytes: file.length,
      to,
      sha256: sha256(file),
      startedAtMs: Date.now(),
    };
    return { dir, journal };
  };

  it.each([
    ['the name was not made yet', { part: file }],
    ['the name was an empty file', { part: file, final: Buffer.alloc(0) }],
    ['both names were empty files', { part: file, final: Buffer.alloc(0), beside: '' }],
    ['the name beside it was an empty file', { part: file, beside: '' }],
    [
      'the file beside it knew more of the job',
      { part: file, beside: sidecar(sha256(file)).replace('{', '{"usage":5,') },
    ],
    ['it had got its name', { final: file, beside: sidecar(sha256(file)) }],
    // The machine has restarted since: the file had reached the disk before the crash.
    ['it had got its name in the crash', { final: file }, { bootedAtMs: Date.now() + 3_600_000 }],
  ])(
    '%s: it has that name, and is not fetched again',
    async (_, left, changes?: { readonly bootedAtMs: number }) => {
      const { dir, journal } = leave(left);
      const { files, failures } = await run({ dir, journal, sidecar, ...changes });
      expect(failures).toEqual([]);
      expect(files).toMatchObject([{ path: path.join(dir, 'cgt-1.mp4'), sha256: sha256(file) }]);
      expect(savedBytes(dir).equals(file)).toBe(true);
      expect(listing(dir)).toEqual(['cgt-1.mp4', 'cgt-1.mp4.json']);
      expect([journal.downloadsSoFar, journal.parts]).toEqual([0, {}]);
    },
  );

  it('a whole part that lies in the refuge is saved from there, and is not fetched again', async () => {
    const [dir, refuge, journal] = [tempDir(), tempDir(), new MemoryJournal()];
    const part = path.join(refuge, `.gw-${'d'.repeat(32)}.part`);
    fs.writeFileSync(part, file);
    const startedAtMs = Date.now();
    journal.parts.video = { path: part, totalBytes: file.length, sha256: sha256(file), startedAtMs };
    const { files, failures } = await run({ dir, refuge, journal });
    expect([failures, files]).toMatchObject([[], [{ path: path.join(dir, 'cgt-1.mp4') }]]);
    expect(savedBytes(dir).equals(file)).toBe(true);
    expect([journal.downloadsSoFar, journal.parts, listing(refuge)]).toEqual([0, {}, []]);
  });

  it('a file of that name that is not ours stays as it is', async () => {
    const { dir, journal } = leave({ part: file, final: Buffer.from('mine') });
    const { files } = await run({ dir, journal });
    expect(files).toMatchObject([{ path: path.join(dir, 'cgt-1-1.mp4'), sha256: sha256(file) }]);
    expect(savedBytes(dir).toString()).toBe('mine');
  });

  it.each([
    ['of equal length', (to: string) => fs.writeFileSync(to, Buffer.alloc(file.length, 'x'))],
    ['that is a film of equal length', (to: string) => fs.writeFileSync(to, other)],
    ['that is a link', (to: string) => fs.symlinkSync('elsewhere', to)],
    ['that is a directory', (to: string) => fs.mkdirSync(to)],
  ])('a file %s is not taken for the output where the part is gone', async (_, put) => {
    const { dir, journal } = leave({});
    const to = path.join(dir, 'cgt-1.mp4');
    put(to);
    const whole = path.join(dir, 'elsewhere');
    fs.writeFileSync(whole, file);
    const before = fs.lstatSync(to);
    const before256 = before.isFile() && sha256(fs.readFileSync(to));
    const server = await outputServer((request, response) => serveFile(file, request, response));
    const { files, failures } = await run({ dir, journal, url: server.url });
    expect(failures).toEqual([]);
    expect(files).toMatchObject([{ path: path.join(dir, 'cgt-1-1.mp4'), sha256: sha256(file) }]);
    expect(fs.lstatSync(to).ino).toBe(before.ino);
    expect(before.isFile() && sha256(fs.readFileSync(to))).toBe(before256);
    expect(listing(dir)).toEqual(['cgt-1-1.mp4', 'cgt-1.mp4', 'elsewhere']);
  });

  it('an output of unannounced length that had got its name is not fetched again', async () => {
    const dir = tempDir();
    class Ending extends MemoryJournal {
      override saved(): void {
        throw new Error('the process ends here');
      }
    }
    const ending = new Ending();
    const plan = { target: path.join(dir, '{id}.{ext}'), force: true, download: true };
    const server = await outputServer((request, response) =>
      serveFile(file, request, response, { unannounced: true }),
    );
    await run({ dir, journal: ending, url: server.url, plan });
    const { files } = await run({ dir, journal: ending.snapshot(), url: server.url, plan });
    expect(files).toMatchObject([{ path: path.join(dir, 'cgt-1.mp4'), sha256: sha256(file) }]);
    expect(server.gets).toHaveLength(1);
    expect(listing(dir)).toEqual(['cgt-1.mp4']);
  });
});

describe('resuming', () => {
  it('goes on five times after a cut and gives the same file', async () => {
    const dir = tempDir();
    const server = await outputServer((request, response, number) =>
      serveFile(file, request, response, { etag, ...(number < 6 ? { cutAfter: 30_000 } : {}) }),
    );
    const { files, journal, slept } = await run({ dir, url: server.url });
    expect(files).toEqual([
      {
        role: 'video',
        path: path.join(dir, 'cgt-1.mp4'),
        bytes: file.length,
        sha256: sha256(file),
        type: 'video/mp4',
      },
    ]);
    expect(sha256(savedBytes(dir))).toBe(sha256(file));
    expect(listing(dir)).toEqual(['cgt-1.mp4']);
    expect(server.gets).toHaveLength(6);
    expect(server.gets.slice(1).map(({ headers }) => headers['if-range'])).toEqual(Array(5).fill(etag));
    const starts = server.gets
      .slice(1)
      .map(({ headers }) => Number(/^bytes=(\d+)-$/.exec(headers.range ?? '')?.[1]));
    expect(starts).toEqual([...starts].sort((a, b) => a - b));
    expect(starts[0]).toBeGreaterThan(0);
    // The pauses have full jitter, with random() = 0.5 over a base of 0.5 s that doubles each time.
    expect(slept).toEqual([250, 500, 1000, 2000, 4000]);
    expect(journal.events.filter((event) => event === 'get video')).toHaveLength(6);
    expect(journal.events.slice(-2)).toEqual(['saved video', 'gone video']);
    expect(journal.parts).toEqual({});
  });

  it('counts a GET before it is sent', async () => {
    const dir = tempDir();
    const journal = new MemoryJournal();
    const counted: number[] = [];
    const server = await outputServer((request, response) => {
      counted.push(journal.downloadsSoFar);
      serveFile(file, request, response);
    });
    await run({ dir, url: server.url, journal });
    expect(counted).toEqual([1]);
  });

  it.each([
    ['without a tag', undefined],
    ['with a weak tag', 'W/"v1"'],
  ])('starts over %s', async (_, tag) => {
    const dir = tempDir();
    const server = await outputServer((request, response, number) =>
      serveFile(file, request, response, {
        ...(tag ? { etag: tag } : {}),
        ...(number === 1 ? { cutAfter: 50_000 } : {}),
      }),
    );
    const { files } = await run({ dir, url: server.url });
    expect(files[0]?.sha256).toBe(sha256(file));
    expect(server.gets[1]?.headers.range).toBeUndefined();
    expect(server.gets[1]?.headers['if-range']).toBeUndefined();
    expect(listing(dir)).toEqual(['cgt-1.mp4']);
  });

  it.each([
    ['with a tag', '"v1"', '"v2"'],
    ['without a tag', undefined, undefined],
  ])('never splices when the content changed between the parts, %s', async (_, before, after) => {
    const dir = tempDir();
    const server = await outputServer((request, response, number) =>
      number === 1
        ? serveFile(file, request, response, { ...(before ? { etag: before } : {}), cutAfter: 90_000 })
        : serveFile(other, request, response, after ? { etag: after } : {}),
    );
    const { files } = await run({ dir, url: server.url });
    expect(files[0]?.sha256).toBe(sha256(other));
    expect(savedBytes(dir).equals(other)).toBe(true);
  });

  const ranged = (start: number, total: number, tag: string | undefined, body: Buffer) => ({
    status: 206,
    headers: {
      'content-range': `bytes ${start}-${start + body.length - 1}/${total}`,
      'content-length': String(body.length),
      ...(tag ? { etag: tag } : {}),
    },
    body,
  });
  it.each([
    ['another start', (at: number) => ranged(at - 1, file.length, etag, file.subarray(at - 1))],
    // All of these bytes would fit behind the part, but one byte would be missing.
    ['a later start', (at: number) => ranged(at + 1, file.length, etag, file.subarray(at + 1))],
    ['another total', (at: number) => ranged(at, file.length + 5, etag, other.subarray(at))],
    ['another tag', (at: number) => ranged(at, file.length, '"v2"', other.subarray(at))],
    ['no tag', (at: number) => ranged(at, file.length, undefined, other.subarray(at))],
    ['a weak tag', (at: number) => ranged(at, file.length, 'W/"v1"', other.subarray(at))],
    [
      'no range',
      (at: number) => ({ ...ranged(at, file.length, etag, file.subarray(at)), headers: { etag } }),
    ],
    [
      'a length that is not that of its range',
      (at: number) => {
        const reply = ranged(at, file.length, etag, file.subarray(at));
        return {
          ...reply,
          headers: { ...reply.headers, 'content-length': '10' },
          body: file.subarray(at, at + 10),
        };
      },
    ],
  ])('drops a 206 with %s and fetches the file whole', async (_, reply) => {
    const dir = tempDir();
    const server = await outputServer((request, response, number) => {
      if (number === 1) return serveFile(file, request, response, { etag, cutAfter: 40_000 });
      const at = /^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1];
      if (at === undefined) return serveFile(file, request, response, { etag });
      const { status, headers, body } = reply(Number(at));
      response.writeHead(status, headers).end(body);
    });
    const { files } = await run({ dir, url: server.url });
    expect(files[0]?.sha256).toBe(sha256(file));
    expect(server.gets).toHaveLength(3);
    expect(server.gets[2]?.headers.range).toBeUndefined();
    expect(listing(dir)).toEqual(['cgt-1.mp4']);
  });

  it('starts over when the range is ignored', async () => {
    const dir = tempDir();
    const server = await outputServer((request, response, number) =>
      serveFile(file, request, response, {
        etag,
        ignoreRange: true,
        ...(number === 1 ? { cutAfter: 90_000 } : {}),
      }),
    );
    const { files } = await run({ dir, url: server.url });
    expect(files[0]?.sha256).toBe(sha256(file));
    expect(server.gets).toHaveLength(2);
  });

  it('takes a 416 with an equal total for the end, and another for a change', async () => {
    const dir = tempDir();
    const server = await outputServer((request, response, number) => {
      if (number > 1) return serveFile(file, request, response, { etag });
      response.writeHead(200, { 'content-type': 'video/mp4', etag });
      // All bytes arrive, but no end of the reply, whose length was never announced.
      response.write(file, () => setTimeout(() => response.destroy(), 20));
    });
    const { files } = await run({ dir, url: server.url });
    expect(files[0]?.sha256).toBe(sha256(file));
    expect(server.gets).toHaveLength(2);
    expect(server.gets[1]?.headers.range).toBe(`bytes=${file.length}-`);

    const second = tempDir();
    const changed = await outputServer((request, response, number) => {
      if (number === 1) return serveFile(file, request, response, { etag, cutAfter: 90_000 });
      if (number === 2) response.writeHead(416, { 'content-range': 'bytes */12' }).end();
      else serveFile(other, request, response, { etag: '"v2"' });
    });
    const again = await run({ dir: second, url: changed.url });
    expect(again.files[0]?.sha256).toBe(sha256(other));
    expect(changed.gets[2]?.headers.range).toBeUndefined();
  });

  it('writes no byte beyond the announced length', async () => {
    const dir = tempDir();
    const server = await outputServer((request, response, number) => {
      if (number !== 2)
        return serveFile(file, request, response, { etag, ...(number === 1 ? { cutAfter: 90_000 } : {}) });
      const at = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1]);
      const { status, headers } = ranged(at, file.length, etag, file.subarray(at));
      response.writeHead(status, { etag, 'content-range': headers['content-range'] });
      response.end(Buffer.concat([file.subarray(at), Buffer.alloc(500_000)]));
    });
    const { files, progress } = await run({ dir, url: server.url });
    expect(files[0]?.sha256).toBe(sha256(file));
    expect(Math.max(...progress.map(({ bytes }) => bytes))).toBeLessThanOrEqual(file.length);
  });

  it('asks, before it goes on, whether the rest fits on the disk', async () => {
    const dir = tempDir();
    const part = PartFile.create(dir, { etag, totalBytes: file.length }, () => {});
    part.append(file.subarray(0, 1000));
    const options = {
      home: { dir },
      refuge: NO_REFUGE,
      role: 'video',
      type: 'video',
      journal: new MemoryJournal(),
      onBytes: () => {},
    } as const;
    const goOn = (free: number) => {
      const sink = new PartSink({ ...options, freeBytes: () => free });
      sink.part = part;
      sink.begin({ do: 'append', totalBytes: file.length });
    };
    expect(() => goOn(file.length - 1001)).toThrow(DiskFault);
    expect(() => goOn(file.length - 1000)).not.toThrow();
    part.close();
  });

  it('stops a file of unannounced length that is longer than the user allows', async () => {
    const dir = tempDir();
    const long = tinyMp4(3_000_000);
    const unannounced = await outputServer((request, response) =>
      serveFile(long, request, response, { etag, unannounced: true }),
    );
    const { failures } = await run({ dir, url: unannounced.url, mostBytes: long.length - 1 });
    expect(failures).toMatchObject([
      {
        error: {
          kind: 'download',
          message: expect.stringMatching(/ more than 3\.0 MB came of it \(the setting max_output\)$/),
        },
      },
    ]);
    expect((await run({ dir, url: unannounced.url, mostBytes: long.length })).files[0]?.sha256).toBe(
      sha256(long),
    );
  });

  it('stops a file of unannounced length where the disk has less than 256 MiB left, and goes on later', async () => {
    const dir = tempDir();
    const long = tinyMp4(20_000_000);
    const unannounced = await outputServer((request, response, number) =>
      serveFile(long, request, response, { etag, unannounced: number === 1 }),
    );
    let looks = 0;
    const journal = new MemoryJournal();
    const freeBytes = () => {
      looks += 1;
      return 2 ** 28 + (looks < 4 ? 0 : -1);
    };
    const { failures } = await run({ dir, url: unannounced.url, journal, freeBytes });
    expect(failures).toMatchObject([
      {
        error: {
          kind: 'download',
          message: expect.stringMatching(
            /has 268 MB free, and the server does not say how long the file is: 256 MiB are left free then$/,
          ),
          facts: { hint: expect.stringContaining('gw jobs sync goes on from there') },
        },
      },
    ]);
    const [part = ''] = listing(dir);
    const keptBytes = fs.statSync(path.join(dir, part)).size;
    // gw looks at the free space when the body begins, and then every 8 MiB.
    expect(keptBytes).toBeGreaterThanOrEqual(2 ** 24);
    expect(keptBytes).toBeLessThan(2 ** 24 + 2 ** 20);

    const later = await run({
      dir,
      url: unannounced.url,
      journal: journal.snapshot(),
      freeBytes: () => 2 ** 28 - 1,
    });
    expect(later.files[0]?.sha256).toBe(sha256(long));
    expect(unannounced.gets[1]?.headers.range).toBe(`bytes=${keptBytes}-`);
  });

  it('goes on when the server ends a range early', async () => {
    const dir = tempDir();
    const server = await outputServer((request, response, number) => {
      if (number !== 2)
        return serveFile(file, request, response, { etag, ...(number === 1 ? { cutAfter: 20_000 } : {}) });
      const at = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1]);
      const { status, headers, body } = ranged(at, file.length, etag, file.subarray(at, at + 1000));
      response.writeHead(status, headers).end(body);
    });
    const { files } = await run({ dir, url: server.url });
    expect(files[0]?.sha256).toBe(sha256(file));
    expect(server.gets).toHaveLength(3);
  });
});

describe('a later run', () => {
  /** A run that ends in the middle of the body, as after an interrupt or a network failure. */
  async function firstRun(dir: string, tag?: string) {
    const journal = new MemoryJournal();
    const abort = new AbortController();
    const server = await outputServer((request, response) =>
      serveFile(file, request, response, { ...(tag ? { etag: tag } : {}), cutAfter: 60_000 }),
    );
    await expect(
      run({
        dir,
        url: server.url,
        journal,
        signal: abort.signal,
        onProgress: ({ bytes }) => bytes > 20_000 && abort.abort(new Error('stopped')),
      }),
    ).rejects.toThrow('stopped');
    await server.close();
    return journal.snapshot();
  }

  it('finds the part of an aborted one and goes on from there', async () => {
    const dir = tempDir();
    const journal = await firstRun(dir, etag);
    const [part] = listing(dir);
    expect(part).toMatch(/^\.gw-[0-9a-f]{32}\.part$/);
    expect(fs.statSync(path.join(dir, part ?? '')).mode & 0o777).toBe(0o600);
    expect(journal.parts.video).toMatchObject({
      path: path.join(dir, part ?? ''),
      etag,
      totalBytes: file.length,
    });
    const server = await outputServer((request, response) => serveFile(file, request, response, { etag }));
    const { files } = await run({ dir, url: server.url, journal });
    expect(files[0]?.sha256).toBe(sha256(file));
    expect(sha256(savedBytes(dir))).toBe(sha256(file));
    expect(server.gets[0]?.headers.range).toMatch(/^bytes=[1-9]/);
    expect(listing(dir)).toEqual(['cgt-1.mp4']);
  });

  it.each([
    ['the machine was started since', etag, { bootedAtMs: Number.POSITIVE_INFINITY }],
    ['the clock was set back since, by which nobody can tell', etag, { clock: setBack }],
    ['it has no strong tag', undefined, {}],
  ])('removes the part and starts over where %s', async (_, tag, changes) => {
    const dir = tempDir();
    const journal = await firstRun(dir, tag);
    const server = await outputServer((request, response) =>
      serveFile(file, request, response, tag ? { etag: tag } : {}),
    );
    const { files } = await run({ dir, url: server.url, journal, ...changes });
    expect(files[0]?.sha256).toBe(sha256(file));
    expect(server.gets[0]?.headers.range).toBeUndefined();
    expect(listing(dir)).toEqual(['cgt-1.mp4']);
  });

  it('saves a part that was whole without asking again', async () => {
    const dir = tempDir();
    const journal = new MemoryJournal();
    const part = path.join(dir, `.gw-${'a'.repeat(32)}.part`);
    fs.writeFileSync(part, file);
    journal.parts.video = { path: part, totalBytes: file.length, startedAtMs: Date.now() };
    const { files } = await run({ dir, url: 'http://127.0.0.1:1/', journal });
    expect(files[0]?.sha256).toBe(sha256(file));
    expect(journal.downloadsSoFar).toBe(0);
    expect(listing(dir)).toEqual(['cgt-1.mp4']);
  });

  it('adopts a file that was published and not recorded', async () => {
    const dir = tempDir();
    const journal = new MemoryJournal();
    const part = path.join(dir, `.gw-${'a'.repeat(32)}.part`);
    fs.writeFileSync(part, file);
    fs.writeFileSync(path.join(dir, 'cgt-1.mp4'), 'mine');
    fs.linkSync(part, path.join(dir, 'cgt-1-1.mp4'));
    journal.parts.video = { path: part, etag, totalBytes: file.length, startedAtMs: Date.now() };
    const { files } = await run({ dir, journal });
    expect(files[0]?.path).toBe(path.join(dir, 'cgt-1-1.mp4'));
    expect(listing(dir)).toEqual(['cgt-1-1.mp4', 'cgt-1.mp4']);
  });

  it.each([
    ['a name that is not a part of ours', (dir: string) => path.join(dir, 'precious.txt')],
    ['a part in another directory', (dir: string) => path.join(dir, 'sub', `.gw-${'b'.repeat(32)}.part`)],
  ])('does not resume %s', async (_, place) => {
    const dir = tempDir();
    const recorded = place(dir);
    fs.mkdirSync(path.dirname(recorded), { recursive: true });
    fs.writeFileSync(recorded, file.subarray(0, 1000));
    const journal = new MemoryJournal();
    journal.parts.video = { path: recorded, etag, totalBytes: file.length, startedAtMs: Date.now() };
    const server = await outputServer((request, response) => serveFile(file, request, response, { etag }));
    const { files } = await run({ dir, url: server.url, journal });
    expect(files[0]?.sha256).toBe(sha256(file));
    expect(server.gets[0]?.headers.range).toBeUndefined();
    if (recorded.endsWith('.txt')) expect(fs.statSync(recorded).size).toBe(1000);
    else expect(fs.existsSync(recorded)).toBe(false);
  });

  it('does not follow a symbolic link that took the name of the part', async () => {
    const dir = tempDir();
    const victim = path.join(dir, 'victim');
    fs.writeFileSync(victim, file.subarray(0, 1000));
    const part = path.join(dir, `.gw-${'c'.repeat(32)}.part`);
    fs.symlinkSync(victim, part);
    const journal = new MemoryJournal();
    journal.parts.video = { path: part, etag, totalBytes: file.length, startedAtMs: Date.now() };
    const server = await outputServer((request, response) => serveFile(file, request, response, { etag }));
    const { files } = await run({ dir, url: server.url, journal });
    expect(files[0]?.sha256).toBe(sha256(file));
    expect(fs.readFileSync(victim).equals(file.subarray(0, 1000))).toBe(true);
    expect(listing(dir)).toEqual(['cgt-1.mp4', 'victim']);
  });

  it.each<[string, (part: string) => void]>([
    ['has a second name', (part) => fs.linkSync(part, path.join(path.dirname(part), 'kept'))],
    ['is longer than the file', (part) => fs.appendFileSync(part, Buffer.alloc(2 * file.length))],
    [
      'belongs to another user',
      () => {
        const getuid = vi.spyOn(process, 'getuid').mockReturnValue((process.getuid?.() ?? 0) + 1);
        onTestFinished(() => getuid.mockRestore());
      },
    ],
  ])('starts over where the part %s', async (_, change) => {
    const dir = tempDir();
    const journal = await firstRun(dir, etag);
    change(journal.parts.video?.path ?? '');
    const server = await outputServer((request, response) => serveFile(file, request, response, { etag }));
    const { files } = await run({ dir, url: server.url, journal });
    expect(files[0]?.sha256).toBe(sha256(file));
    expect(server.gets.map(({ headers }) => headers.range)).toEqual([undefined]);
    expect(listing(dir).filter((name) => name !== 'kept')).toEqual(['cgt-1.mp4']);
  });

  const damaged = Buffer.from(file);
  damaged[90_000] = 255 - (damaged[90_000] ?? 0);
  it.each([
    ['was edited', Buffer.from('edited by its owner')],
    ['is damaged at the same length', damaged],
    ['has grown', Buffer.concat([file, Buffer.from('!')])],
  ])('does not fetch what is on disk as recorded, and fetches what %s', async (_, now) => {
    const dir = tempDir();
    const journal = new MemoryJournal();
    const server = await outputServer((request, response) => serveFile(file, request, response, { etag }));
    const first = await run({ dir, url: server.url, journal });
    const second = await run({ dir, url: server.url, journal: journal.snapshot() });
    expect(second.files).toEqual(first.files);
    expect(server.gets).toHaveLength(1);
    fs.writeFileSync(path.join(dir, 'cgt-1.mp4'), now);
    const third = await run({ dir, url: server.url, journal: journal.snapshot() });
    expect(server.gets).toHaveLength(2);
    expect(third.files[0]?.path).toBe(path.join(dir, 'cgt-1-1.mp4'));
    expect(savedBytes(dir).equals(now)).toBe(true);
  });

  it('copies what is on disk to another target instead of fetching it', async () => {
    const dir = tempDir();
    const journal = new MemoryJournal();
    const server = await outputServer((request, response) => serveFile(file, request, response, { etag }));
    await run({ dir, url: server.url, journal });
    const plan = { target: path.join(dir, 'new', 'fox.mp4'), force: false, download: true };
    const { files } = await run({ dir, url: server.url, journal: journal.snapshot(), plan });
    expect(files[0]?.path).toBe(plan.target);
    expect(sha256(fs.readFileSync(plan.target))).toBe(sha256(file));
    expect(server.gets).toHaveLength(1);
    expect(listing(path.join(dir, 'new'))).toEqual(['fox.mp4']);
  });

  it('keeps at most one part where two outputs fail', async () => {
    const dir = tempDir();
    const journal = new MemoryJournal();
    const server = await outputServer((request, response) =>
      serveFile(file, request, response, { etag, cutAfter: 1000 }),
    );
    const outputs = [
      { role: 'video', type: 'video', url: `${server.url}/a` },
      { role: 'video-2', type: 'video', url: `${server.url}/b` },
    ] as const;
    const { failures } = await run({ dir, outputs, journal });
    expect(failures.map(({ role, error }) => [role, error.kind])).toEqual([
      ['video', 'download'],
      ['video-2', 'download'],
    ]);
    expect(listing(dir)).toHaveLength(1);
    expect(Object.keys(journal.parts)).toEqual(['video']);
  });

  it('saves the others where the second link is dead', async () => {
    const dir = tempDir();
    const server = await outputServer((request, response) => {
      if (request.url === '/2') response.writeHead(404).end();
      else
        serveFile(request.url === '/1' ? file : tinyPng, request, response, {
          type: 'application/octet-stream',
        });
    });
    const outputs = [
      { role: 'video', type: 'video', url: `${server.url}/1` },
      { role: 'video-2', type: 'video', url: `${server.url}/2` },
      { role: 'last-frame', type: 'image', url: `${server.url}/3` },
    ] as const;
    const { files, failures } = await run({ dir, outputs });
    expect(files.map(({ role }) => role)).toEqual(['video', 'last-frame']);
    expect(failures).toMatchObject([
      { role: 'video-2', error: { kind: 'download', facts: { status: 404, taskId: 'cgt-1' } } },
    ]);
    expect(failures[0]?.error.message).toContain('video-2');
    expect(listing(dir)).toEqual(['cgt-1-last-frame.png', 'cgt-1.mp4']);
  });
});
