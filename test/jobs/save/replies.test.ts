import * as fs from 'node:fs';
import * as path from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { ExchangeError } from '../../../src/http/exchange.ts';
import { HttpTransport } from '../../../src/http/transport.ts';
import { judgeHead, strongEtag } from '../../../src/jobs/save/get-output.ts';
import { serveFile } from '../../helpers/output-server.ts';
import { listing, MemoryJournal, outputServer, run, tempDir, video } from './harness.ts';
import { box, ftyp, moov, noise, sha256, tinyMp4, tinyPng } from './tiny-media.ts';

const file = tinyMp4(20_000);
const etag = '"v1"';

describe('the request', () => {
  it('carries no credential and no cookie, and asks for the bytes as they are', async () => {
    const server = await outputServer((request, response) => {
      response.setHeader('set-cookie', 'session=1');
      serveFile(file, request, response, { etag });
    });
    const url = server.url.replace('http://', 'http://user:secret@');
    await run({ dir: tempDir(), url: `${url}/clip?signature=s#part` });
    expect(server.gets).toMatchObject([{ method: 'GET', path: '/clip?signature=s' }]);
    const headers = server.gets[0]?.headers ?? {};
    expect(Object.keys(headers).sort()).toEqual(['accept', 'accept-encoding', 'connection', 'host']);
    expect(headers['accept-encoding']).toBe('identity');
  });

  it.each(['ftp://127.0.0.1/x', 'file:///etc/passwd', 'javascript:1', 'no link', ''])(
    'is not sent to %j',
    async (url) => {
      const { failures, journal } = await run({ dir: tempDir(), url });
      // An output that came inside its reply has no link.
      const why = url === '' ? 'came only once' : 'not an http or https address';
      expect(failures[0]?.error.message).toContain(why);
      expect(journal.downloadsSoFar).toBe(0);
    },
  );
});

describe('redirects', () => {
  it('are followed by hand to another origin, each counted, none with credentials', async () => {
    const dir = tempDir();
    const target = await outputServer((request, response) => serveFile(file, request, response, { etag }));
    const server = await outputServer((_, response) => {
      response.writeHead(302, { location: `${target.url.replace('//', '//user:pw@')}/real` }).end('moved');
    });
    const { files, journal } = await run({ dir, url: server.url });
    expect(files[0]?.sha256).toBe(sha256(file));
    expect(target.gets[0]?.path).toBe('/real');
    for (const name of ['authorization', 'cookie', 'x-api-key', 'x-geo-api-key', 'referer']) {
      expect(target.gets[0]?.headers[name]).toBeUndefined();
    }
    expect(journal.downloadsSoFar).toBe(2);
  });

  it('are not gone through again for what is left after a cut', async () => {
    const target = await outputServer((request, response, number) =>
      serveFile(file, request, response, { etag, ...(number < 4 ? { cutAfter: 3 } : {}) }),
    );
    const server = await outputServer((_, response) =>
      response.writeHead(307, { location: target.url }).end(),
    );
    const { files } = await run({ dir: tempDir(), url: server.url });
    expect(files[0]?.sha256).toBe(sha256(file));
    expect([server.gets.length, target.gets.length]).toEqual([1, 4]);
  });

  it('are gone through again where their target dies, before the task is asked', async () => {
    const target = await outputServer((request, response, number) => {
      if (number === 1) serveFile(file, request, response, { etag, cutAfter: 3000 });
      else if (request.url === '/2') serveFile(file, request, response, { etag });
      else response.writeHead(403).end();
    });
    const server = await outputServer((_, response, number) =>
      response.writeHead(302, { location: `${target.url}/${number}` }).end(),
    );
    const { files, refreshed } = await run({ dir: tempDir(), url: server.url });
    expect(files[0]?.sha256).toBe(sha256(file));
    expect(refreshed()).toBe(0);
    expect(target.gets.map(({ path }) => path)).toEqual(['/1', '/1', '/2']);
  });

  it('end in a loop after five', async () => {
    const dir = tempDir();
    const server = await outputServer((_, response) => response.writeHead(302, { location: '/again' }).end());
    const { failures } = await run({ dir, url: server.url });
    expect(failures[0]?.error.message).toContain('redirected more than 5 times');
    expect(server.gets).toHaveLength(6);
    expect(listing(dir)).toEqual([]);
  });

  it.each([
    ['nowhere', undefined],
    ['a file', 'file:///etc/passwd'],
    ['no address', 'http://[bad'],
  ])('to %s are refused', async (_, location) => {
    const server = await outputServer((_request, response) =>
      response.writeHead(301, location === undefined ? {} : { location }).end(),
    );
    const { failures } = await run({ dir: tempDir(), url: server.url });
    expect(failures[0]?.error.message).toMatch(/redirected/);
    expect(server.gets).toHaveLength(1);
  });

  it('from https to http are refused', async () => {
    const asked: string[] = [];
    const transport = {
      exchange: () => Promise.reject(new Error('not used')),
      close: async () => {},
      stream: async (request: { url: URL }, handler: { onHead(head: object): void }) => {
        asked.push(request.url.href);
        handler.onHead({ status: 302, headers: { location: 'http://cdn.example/clip.mp4' } });
        throw new Error('not reached');
      },
    } as never;
    const { failures } = await run({ dir: tempDir(), url: 'https://gateway.example/clip', transport });
    expect(failures[0]?.error.message).toContain('from https to http');
    expect(asked).toEqual(['https://gateway.example/clip']);
  });
});

describe('a dead link', () => {
  it.each([403, 404, 410])('%i asks the task once for a new one', async (status) => {
    const dir = tempDir();
    const server = await outputServer((request, response) => {
      if (request.url === '/new') serveFile(file, request, response, { etag });
      else
        response
          .writeHead(status, { 'content-type': 'application/xml' })
          .end('<Error><Code>AccessDenied</Code></Error>');
    });
    const { files, refreshed } = await run({
      dir,
      url: `${server.url}/old`,
      refreshLink: async () => `${server.url}/new`,
    });
    expect(files[0]?.sha256).toBe(sha256(file));
    expect(refreshed()).toBe(1);
    expect(server.gets.map(({ path }) => path)).toEqual(['/old', '/new']);
  });

  it.each([
    ['the new one is dead too', (url: string) => `${url}/new`, 2],
    ['the task has only the same one', (url: string) => `${url}/old`, 2],
    ['the task has none', () => undefined, 1],
  ])('ends the download where %s', async (_, fresh, gets) => {
    const dir = tempDir();
    const server = await outputServer((_request, response) => response.writeHead(403).end());
    const { failures, refreshed } = await run({
      dir,
      url: `${server.url}/old`,
      refreshLink: async () => fresh(server.url),
    });
    expect(failures).toMatchObject([{ error: { kind: 'download', facts: { status: 403 } } }]);
    // Images fail with this error too, and they have no task.
    expect(String(failures[0]?.error)).not.toContain('the task has');
    expect(refreshed()).toBe(1);
    expect(server.gets).toHaveLength(gets);
    expect(listing(dir)).toEqual([]);
  });

  it('that dies in the middle is renewed, and the part goes on with the new one', async () => {
    const dir = tempDir();
    const server = await outputServer((request, response, number) => {
      if (request.url === '/new') serveFile(file, request, response, { etag });
      else if (number === 1) serveFile(file, request, response, { etag, cutAfter: 5000 });
      else response.writeHead(410).end();
    });
    const { files } = await run({
      dir,
      url: `${server.url}/old`,
      refreshLink: async () => `${server.url}/new`,
    });
    expect(files[0]?.sha256).toBe(sha256(file));
    expect(server.gets[2]?.headers.range).toMatch(/^bytes=[1-9]/);
  });
});

describe('a reply that is no output', () => {
  it.each([
    ['text/plain; charset=utf-8', 'text'],
    ['application/json', 'JSON'],
    ['application/problem+json', 'JSON'],
    ['application/xml', 'XML'],
    ['text/xml', 'XML'],
    ['text/html', 'HTML'],
    ['application/xhtml+xml', 'HTML'],
  ])('of type %s is refused', async (type, said) => {
    const dir = tempDir();
    const server = await outputServer((request, response) => serveFile(file, request, response, { type }));
    const { failures } = await run({ dir, url: server.url });
    expect(failures[0]?.error.message).toContain(`the server sent ${said} instead of the file`);
    expect(listing(dir)).toEqual([]);
  });

  it.each([
    ['HTML', Buffer.from(`<!doctype html><html>${' '.repeat(20_000)}</html>`)],
    ['JSON', Buffer.from('{"error":{"message":"no"}}')],
    ['XML', Buffer.from('<Error><Code>Expired</Code></Error>')],
    ['no known type', noise(50_000, 3)],
    ['no known type', Buffer.alloc(0)],
    ['PNG', tinyPng],
    ['ZIP', Buffer.concat([Buffer.from('PK\x03\x04'), noise(9000, 1)])],
  ])('is refused by its bytes: %s', async (said, bytes) => {
    const dir = tempDir();
    const server = await outputServer((request, response) =>
      serveFile(bytes, request, response, { type: 'application/octet-stream', etag }),
    );
    const { failures, refreshed } = await run({ dir, url: server.url });
    expect(failures[0]?.error.message).toContain(said);
    expect(failures[0]?.error.message).toContain('a video was expected');
    expect(refreshed()).toBe(1);
    expect(listing(dir)).toEqual([]);
  });

  it('is not read to its end', async () => {
    let sent = 0;
    const server = await outputServer((_, response) => {
      response.writeHead(200, { 'content-type': 'video/mp4', 'content-length': String(128 * 1024 ** 2) });
      const more = () => {
        const piece = Buffer.alloc(65_536, 'x');
        do sent += piece.length;
        while (!response.destroyed && response.write(piece));
        response.once('drain', more);
      };
      more();
    });
    const sink = { dir: tempDir() };
    const { failures } = await run({ ...sink, url: server.url });
    expect(failures).toHaveLength(1);
    expect(sent).toBeLessThan(64 * 1024 * 1024);
  });

  it.each([
    ['compressed', noise(100, 1)],
    ['called compressed', tinyMp4()],
  ])('that is %s without being asked for is never taken for the file', async (_, body) => {
    const dir = tempDir();
    const server = await outputServer((_, response) => {
      const headers = { 'content-type': 'video/mp4', 'content-encoding': 'zstd' };
      response.writeHead(200, { ...headers, 'content-length': String(body.length) }).end(body);
    });
    const { failures } = await run({ dir, url: server.url });
    expect(failures[0]?.error.message).toContain('a content encoding that gw cannot undo');
    expect([listing(dir), server.gets.length]).toEqual([[], 1]);
  });

  it('is fetched whole where the rest of it comes compressed', async () => {
    const server = await outputServer((request, response, number) => {
      if (number === 2) response.setHeader('content-encoding', 'gzip');
      serveFile(file, request, response, { etag, ...(number === 1 && { cutAfter: 3000 }) });
    });
    const { files } = await run({ dir: tempDir(), url: server.url });
    expect(files[0]?.sha256).toBe(sha256(file));
    expect(server.gets.map(({ headers }) => headers.range)).toEqual([undefined, 'bytes=3000-', undefined]);
  });

  it.each([
    [
      'cut off',
      Buffer.concat([ftyp, moov, box('mdat', noise(9000, 1)).subarray(0, 6000)]),
      'mdat box is cut off',
    ],
    ['without moov', Buffer.concat([ftyp, box('mdat', noise(9000, 1))]), 'no moov box'],
    ['with more behind it', Buffer.concat([ftyp, moov, Buffer.from([1, 2, 3])]), 'there is no box'],
  ])('is refused when the file is %s, after a second try', async (_, bytes, said) => {
    const dir = tempDir();
    const server = await outputServer((request, response) => serveFile(bytes, request, response, { etag }));
    const { failures } = await run({ dir, url: server.url });
    expect(failures[0]?.error.message).toContain(said);
    expect(server.gets).toHaveLength(2);
    expect(server.gets[1]?.headers.range).toBeUndefined();
    expect(listing(dir)).toEqual([]);
  });

  it('cut without an announced length is noticed for an image too', async () => {
    const dir = tempDir();
    const server = await outputServer((_, response, number) => {
      response.writeHead(200, { 'content-type': 'image/png', connection: 'close' });
      response.end(number === 1 ? tinyPng.subarray(0, 50) : tinyPng);
    });
    const outputs = [{ role: 'last-frame', type: 'image', url: server.url }] as const;
    const { files } = await run({ dir, outputs });
    expect(files[0]).toMatchObject({ bytes: tinyPng.length, type: 'image/png' });
    expect(server.gets).toHaveLength(2);
  });

  const tinyJpeg = Buffer.concat([
    Buffer.from('ffd8ffe000104a46494600', 'hex'),
    noise(900, 1),
    Buffer.from('ffd9', 'hex'),
  ]);
  const still = (url: string) => ({ outputs: [{ role: 'last-frame', type: 'image', url } as const] });
  const cut = (bytes: Buffer) => bytes.subarray(0, bytes.length - 20);

  it.each([
    ['a JPEG with a byte behind its end', Buffer.concat([tinyJpeg, Buffer.from('\n')])],
    ['a PNG with padding', Buffer.concat([tinyPng, Buffer.alloc(500)])],
  ])('that is %s is saved where its announced length came', async (_, bytes) => {
    const dir = tempDir();
    const type = 'image/jpeg';
    const server = await outputServer((request, response) => serveFile(bytes, request, response, { type }));
    const { files, failures, warnings } = await run({ dir, ...still(server.url) });
    expect(failures).toEqual([]);
    expect(files).toMatchObject([{ bytes: bytes.length, sha256: sha256(bytes) }]);
    expect(warnings).toEqual([]);
    expect(server.gets).toHaveLength(1);
  });

  it.each([
    ['a JPEG without its end', tinyJpeg, 'jpg', 'its end mark is missing'],
    ['a PNG without its end', tinyPng, 'png', 'its last chunk is missing'],
  ])(
    'that is %s, though its announced length came, is kept once and never told as saved',
    async (_, whole, ending, reason) => {
      const dir = tempDir();
      const journal = new MemoryJournal();
      const part = cut(whole);
      const server = await outputServer((request, response, number) =>
        serveFile(number < 3 ? part : whole, request, response, { type: 'image/jpeg' }),
      );
      for (const _run of [1, 2]) {
        const { files, failures } = await run({ dir, journal, ...still(server.url) });
        expect(files).toEqual([]);
        expect(failures).toMatchObject([
          { error: { kind: 'download', message: expect.stringContaining(`may be cut: ${reason}`) } },
        ]);
        expect(fs.readdirSync(dir)).toEqual([`cgt-1-last-frame.${ending}`]);
      }
      const { files, failures } = await run({ dir, journal, ...still(server.url) });
      expect(failures).toEqual([]);
      expect(files).toMatchObject([{ sha256: sha256(whole) }]);
    },
  );

  it('of an announced length is taken for cut by a later process too', async () => {
    const dir = tempDir();
    const bytes = cut(tinyJpeg);
    const server = await outputServer((request, response, number) =>
      serveFile(bytes, request, response, {
        etag,
        type: 'image/jpeg',
        ...(number === 1 && { cutAfter: 500 }),
      }),
    );
    const abort = new AbortController();
    const journal = new MemoryJournal();
    const first = run({
      ...{ dir, journal, signal: abort.signal, ...still(server.url) },
      onProgress: ({ bytes: got }) => got > 0 && abort.abort(),
    });
    await expect(first).rejects.toThrow();
    const { files, failures } = await run({ dir, journal: journal.snapshot(), ...still(server.url) });
    expect(files).toEqual([]);
    expect(failures).toMatchObject([{ error: { message: expect.stringContaining('may be cut') } }]);
    expect(server.gets[1]?.headers.range).toMatch(/^bytes=[1-9]/);
  });

  it.each([
    ['is kept with a few bytes behind its end', Buffer.concat([tinyJpeg, Buffer.from('\n')]), 1],
    ['is refused without its end, after a second try', cut(tinyJpeg), 2],
    [
      'is refused where a WebP is short, after a second try',
      Buffer.from('RIFF\xff\0\0\0WEBPVP8 \0\0\0\0', 'latin1'),
      2,
    ],
  ])('of unannounced length %s', async (_, bytes, gets) => {
    const dir = tempDir();
    const server = await outputServer((request, response) =>
      serveFile(bytes, request, response, { type: 'image/jpeg', unannounced: true }),
    );
    const { files, warnings, journal } = await run({ dir, ...still(server.url) });
    expect(files).toHaveLength(2 - gets);
    expect(warnings).toEqual([]);
    expect(server.gets).toHaveLength(gets);
    if (gets === 2) expect([listing(dir), journal.parts]).toEqual([[], {}]);
  });
});

describe('weather', () => {
  it.each([408, 429, 500, 502, 503, 504])('%i is waited for', async (status) => {
    const server = await outputServer((request, response, number) => {
      if (number < 3) response.writeHead(status).end('busy');
      else serveFile(file, request, response, { etag });
    });
    const { files, slept } = await run({ dir: tempDir(), url: server.url });
    expect(files).toHaveLength(1);
    expect(slept).toEqual([250, 500]);
  });

  it('obeys Retry-After, as seconds and as a date of the server', async () => {
    const server = await outputServer((request, response, number) => {
      if (number === 1) response.writeHead(429, { 'retry-after': '7' }).end();
      else if (number === 2) {
        const date = new Date('2036-01-01T00:00:00Z').toUTCString();
        response
          .writeHead(503, { date, 'retry-after': new Date('2036-01-01T00:00:09Z').toUTCString() })
          .end();
      } else serveFile(file, request, response, { etag });
    });
    const { files, slept } = await run({ dir: tempDir(), url: server.url });
    expect(files).toHaveLength(1);
    expect(slept).toEqual([7000, 9000]);
  });

  it('stops at once and says when, where Retry-After is too far away', async () => {
    const server = await outputServer((_, response) =>
      response.writeHead(503, { 'retry-after': '3600' }).end(),
    );
    const { failures, slept } = await run({ dir: tempDir(), url: server.url });
    const error = failures[0]?.error;
    expect(error?.facts.retryAtMs).toBeGreaterThan(Date.now() + 3_500_000);
    expect(error?.message).toContain(new Date(error?.facts.retryAtMs ?? 0).toISOString());
    expect(slept).toEqual([]);
  });

  it('tells of a long pause at its begin and again before half a minute has passed', async () => {
    const server = await outputServer((request, response, number) => {
      if (number === 1) response.writeHead(503, { 'retry-after': '60' }).end();
      else serveFile(file, request, response, { etag });
    });
    const notes: string[] = [];
    await run({ dir: tempDir(), url: server.url, note: (text) => notes.push(text) });
    expect(notes).toHaveLength(3);
    expect(notes[0]).toMatch(/^the video of task cgt-1: .* HTTP 503; it is asked again at 20.*Z$/);
  });

  it('is asked for again after an error page in a coding that gw cannot undo', async () => {
    const server = await outputServer((request, response, number) => {
      if (number === 1) response.writeHead(503, { 'content-encoding': 'zstd' }).end('busy');
      else serveFile(file, request, response, { etag });
    });
    const { files } = await run({ dir: tempDir(), url: server.url });
    expect(files[0]?.sha256).toBe(sha256(file));
  });

  it('leaves the last word on waiting to a later run', async () => {
    const server = await outputServer((_, response) =>
      response.writeHead(503, { 'retry-after': '60' }).end(),
    );
    const { failures, journal } = await run({ dir: tempDir(), url: server.url });
    expect(failures[0]?.error.facts.retryAtMs).toBeGreaterThan(Date.now() + 50_000);
    expect(journal.events.filter((event) => event.startsWith('held'))).toHaveLength(server.gets.length);
  });

  it.each([
    ['DEPTH_ZERO_SELF_SIGNED_CERT', '--cacert'],
    ['PROXY_REFUSED', 'NO_PROXY'],
  ])('says what helps where no second try mends %s', async (code, cure) => {
    const transport = new HttpTransport({ proxies: undefined });
    const asked = vi.spyOn(transport, 'stream').mockRejectedValue(new ExchangeError('no way', 'no', code));
    const { failures } = await run({ dir: tempDir(), url: 'https://cdn.test/clip', transport });
    expect(failures[0]?.error.hint).toContain(cure);
    expect(asked).toHaveBeenCalledTimes(1);
  });

  it('goes back to the link from a host that it led to and that is gone', async () => {
    const { url: gone, close } = await outputServer((request, response) =>
      serveFile(file, request, response, { etag, cutAfter: 3000 }),
    );
    const other = await outputServer((request, response) => serveFile(file, request, response, { etag }));
    const server = await outputServer((_, response, number) =>
      response.writeHead(302, { location: number === 1 ? gone : other.url }).end(),
    );
    const { files } = await run({
      dir: tempDir(),
      url: server.url,
      random: () => {
        void close();
        return 0.5;
      },
    });
    expect(files[0]?.sha256).toBe(sha256(file));
    expect(other.gets[0]?.headers.range).toBe('bytes=3000-');
  });

  it('spreads its pauses and never waits longer than 20 s by itself', async () => {
    const server = await outputServer((_, response) => response.writeHead(500).end());
    const { failures, slept } = await run({ dir: tempDir(), url: server.url, random: () => 0.999 });
    expect(failures[0]?.error.message).toContain('gave up after 6 requests');
    expect(server.gets).toHaveLength(6);
    expect(slept).toHaveLength(5);
    expect(Math.max(...slept)).toBeLessThanOrEqual(20_000);
  });

  it('takes silence for a break and goes on', async () => {
    const server = await outputServer((request, response, number) => {
      if (number > 1) return serveFile(file, request, response, { etag });
      response.writeHead(200, { 'content-type': 'video/mp4', etag, 'content-length': String(file.length) });
      response.write(file.subarray(0, 7000));
    });
    const { files } = await run({ dir: tempDir(), url: server.url, silenceMs: 500 });
    expect(files[0]?.sha256).toBe(sha256(file));
    expect(server.gets[1]?.headers.range).toBe('bytes=7000-');
  });

  it('counts every redirect, and asks six times in all', async () => {
    const server = await outputServer((request, response) => {
      const hop = Number(request.url?.slice(1));
      if (hop === 3) response.writeHead(503).end();
      else response.writeHead(302, { location: `/${hop + 1}` }).end();
    });
    const { failures, journal } = await run({ dir: tempDir(), url: server.url });
    expect(failures[0]?.error.message).toContain('gave up after 6 requests');
    expect([server.gets.length, journal.downloadsSoFar]).toEqual([6, 6]);
  });

  it.each([2, 3])(
    'asks six times for %i outputs of one job together, and for each at least once',
    async (count) => {
      const server = await outputServer((request, response) => {
        if (request.url === `/${count}`) serveFile(file, request, response, { etag });
        else response.writeHead(503).end();
      });
      const outputs = Array.from({ length: count }, (_, at) => ({
        ...video(`${server.url}/${at + 1}`),
        role: at === 0 ? 'video' : `video-${at + 1}`,
      }));
      const { files, failures, journal } = await run({ dir: tempDir(), outputs });
      expect([files.length, failures.length]).toEqual([1, count - 1]);
      expect([server.gets.length, journal.downloadsSoFar]).toEqual([6, 6]);
    },
  );

  it('gives up a refused connection after six tries', async () => {
    const { failures, slept, journal } = await run({ dir: tempDir(), url: 'http://127.0.0.1:1/clip' });
    expect(journal.downloadsSoFar, 'no request was sent').toBe(0);
    expect(failures[0]?.error).toMatchObject({ kind: 'download', exitCode: 12 });
    expect(slept).toHaveLength(5);
  });

  it.each([
    ['longer than announced', file.length - 10],
    ['shorter than announced', file.length + 10],
  ])('a length %s never gives a file', async (_, length) => {
    const dir = tempDir();
    const server = await outputServer((_request, response) => {
      response.socket?.write(
        `HTTP/1.1 200 OK\r\ncontent-type: video/mp4\r\ncontent-length: ${length}\r\nconnection: close\r\n\r\n`,
      );
      response.socket?.end(file);
    });
    const { failures } = await run({ dir, url: server.url });
    expect(failures).toHaveLength(1);
    expect(listing(dir).filter((name) => !name.endsWith('.part'))).toEqual([]);
  });
});

describe('counted downloads', () => {
  const serve = () => outputServer((request, response) => serveFile(file, request, response, { etag }));
  const counted = (downloads: number) => Object.assign(new MemoryJournal(), { downloadsSoFar: downloads });

  it.each([
    [78, 0],
    [79, 1],
    [94, 1],
  ])('%i before this one: %i warnings', async (before, count) => {
    const server = await serve();
    const { files, warnings } = await run({ dir: tempDir(), url: server.url, journal: counted(before) });
    expect(files).toHaveLength(1);
    expect(warnings).toHaveLength(count);
    if (count) expect(warnings[0]).toContain(`${before + 1} of the 100 downloads`);
  });

  it('95 are refused, unless forced or the family sets no limit', async () => {
    const server = await serve();
    const dir = tempDir();
    const { failures } = await run({ dir, url: server.url, journal: counted(95) });
    expect(failures[0]?.error.message).toContain('95 of the 100 downloads');
    expect(failures[0]?.error.facts.hint).toContain('--force');
    expect(server.gets).toHaveLength(0);
    const plan = { target: path.join(dir, 'x.mp4'), force: true, download: true };
    expect((await run({ dir, url: server.url, journal: counted(95), plan })).files).toHaveLength(1);
    const free = await run({ dir, url: server.url, journal: counted(5000), maxDownloads: undefined });
    expect([free.files.length, free.warnings.length]).toEqual([1, 0]);
  });
});

describe('the journal', () => {
  it('that cannot record a GET stops it', async () => {
    const server = await outputServer((request, response) => serveFile(file, request, response, { etag }));
    const journal = new MemoryJournal();
    journal.aboutToGet = () => {
      throw new Error('the ledger is full');
    };
    const { failures } = await run({ dir: tempDir(), url: server.url, journal });
    expect(failures[0]?.error.message).toContain('the ledger is full');
    expect(server.gets).toHaveLength(0);
  });

  it('that cannot record a part has none made', async () => {
    const dir = tempDir();
    const server = await outputServer((request, response) => serveFile(file, request, response, { etag }));
    const journal = new MemoryJournal();
    const recorded: string[] = [];
    journal.part = () => {
      recorded.push(...listing(dir));
      throw new Error('the ledger is full');
    };
    expect((await run({ dir, url: server.url, journal })).failures).toHaveLength(1);
    expect(recorded).toEqual([]);
    expect(listing(dir)).toEqual([]);
  });

  it('that cannot record the file leaves the part, and the next run adopts both', async () => {
    const dir = tempDir();
    const server = await outputServer((request, response) => serveFile(file, request, response, { etag }));
    const journal = new MemoryJournal();
    journal.saved = () => {
      throw new Error('the ledger is full');
    };
    expect((await run({ dir, url: server.url, journal })).failures).toHaveLength(1);
    const { files } = await run({ dir, url: server.url, journal: journal.snapshot() });
    expect(files[0]?.path).toBe(path.join(dir, 'cgt-1.mp4'));
    expect(server.gets).toHaveLength(1);
    expect(listing(dir)).toEqual(['cgt-1.mp4']);
  });
});

describe('judgeHead', () => {
  const asked = { offset: 10, etag, totalBytes: 100 };
  it.each([
    [200, {}, 'restart'],
    [201, {}, 'refuse'],
    [204, {}, 'refuse'],
    [206, { etag, 'content-range': 'bytes 10-99/100' }, 'append'],
    [206, { etag, 'content-range': 'bytes 9-99/100' }, 'drop'],
    [206, { etag, 'content-range': 'bytes 11-99/100' }, 'drop'],
    [206, { etag, 'content-range': 'bytes 10-99/101' }, 'drop'],
    [206, { 'content-range': 'bytes 10-99/100' }, 'drop'],
    [206, { etag, 'content-range': 'bytes 10-100/100' }, 'drop'],
    [206, { etag, 'content-range': 'bytes 10-99/*' }, 'drop'],
    [206, { etag, 'content-range': 'items 10-99/100' }, 'drop'],
    [206, { etag: '"x"', 'content-range': 'bytes 10-99/100' }, 'drop'],
    [304, {}, 'refuse'],
    [308, {}, 'follow'],
    [400, {}, 'refuse'],
    [401, {}, 'refuse'],
    [416, { 'content-range': 'bytes */10' }, 'drop'],
    [416, {}, 'drop'],
    [599, {}, 'wait'],
  ])('%i %j -> %s', (status, headers, verdict) => {
    expect(judgeHead({ status, headers }, asked).do).toBe(verdict);
  });

  it('takes a 416 for the end only where the total is the part', () => {
    const head = { status: 416, headers: { 'content-range': 'bytes */10' } };
    expect(judgeHead(head, { offset: 10, etag }).do).toBe('finish');
    expect(judgeHead(head, { offset: 0 }).do).toBe('drop');
  });

  it.each([
    ['"a"', '"a"'],
    ['W/"a"', undefined],
    ['a', undefined],
    ['""', undefined],
    ['"a\r\nx: y"', undefined],
    ['"a", "b"', undefined],
    [undefined, undefined],
  ])('reads the tag %j as %j', (value, tag) => expect(strongEtag(value)).toBe(tag));
});

it('reports its progress', async () => {
  const server = await outputServer((request, response) => serveFile(file, request, response, { etag }));
  const { progress } = await run({ dir: tempDir(), url: server.url });
  expect(progress[0]).toMatchObject({ role: 'video', name: 'cgt-1', bytes: 0, totalBytes: file.length });
  expect(progress.at(-1)).toMatchObject({ bytes: file.length, totalBytes: file.length });
});

it('says in a warning that a name tells another kind than the bytes are', async () => {
  const dir = tempDir();
  const server = await outputServer((request, response) => serveFile(file, request, response, { etag }));
  const plan = { target: path.join(dir, 'clip.mov'), force: false, download: true };
  const { files, warnings } = await run({ dir, url: server.url, plan });
  expect(files[0]?.path).toBe(plan.target);
  expect(warnings).toEqual([`${plan.target} holds MP4, whatever its name says`]);
  expect(fs.statSync(plan.target).mode & 0o777).toBe(0o666 & ~process.umask());
});
