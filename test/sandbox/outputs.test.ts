import { describe, expect, it } from 'vitest';
import { readRange } from '../../src/sandbox/output-listener.ts';
import { ask, bodyOf, create, finished, handClock, json, query, sandbox } from './fixture.ts';

const fast = { speed: Number.POSITIVE_INFINITY };
const small = bodyOf({ resolution: '480p', ratio: '1:1', duration: 4 });
const DAY_MS = 86_400_000;

async function withOutput(options = {}) {
  const clock = handClock();
  const at = await sandbox({ now: clock.now, ...fast, ...options });
  const record = await finished(at, small);
  const url: string = record.content.video_url;
  return { at, clock, record, url };
}

describe('an output', () => {
  it('is whole, with type, length and a strong tag, and needs no key', async () => {
    const { url } = await withOutput();
    const [first, again, head] = [await ask(url), await ask(url), await ask(url, { method: 'HEAD' })];
    expect(first.status).toBe(200);
    expect(first.headers).toMatchObject({
      'content-type': 'video/mp4',
      'content-length': String(first.bytes.length),
      'accept-ranges': 'bytes',
      etag: expect.stringMatching(/^"[0-9a-f]{32}"$/),
    });
    expect(Buffer.compare(first.bytes, again.bytes)).toBe(0);
    expect(again.headers.etag).toBe(first.headers.etag);
    expect([head.status, head.bytes.length]).toEqual([200, 0]);
    expect(head.headers).toMatchObject({
      'content-length': String(first.bytes.length),
      etag: first.headers.etag,
    });
  });

  it('is sent in parts', async () => {
    const { url } = await withOutput();
    const whole = (await ask(url)).bytes;
    const size = whole.length;
    const cases: [string, number, number][] = [
      ['bytes=0-0', 0, 0],
      ['bytes=100-199', 100, 199],
      ['bytes=100-', 100, size - 1],
      ['bytes=-10', size - 10, size - 1],
      [`bytes=10-${size + 5}`, 10, size - 1],
      [`bytes=-${size + 5}`, 0, size - 1],
    ];
    for (const [range, start, end] of cases) {
      const part = await ask(url, { headers: { range } });
      expect([part.status, part.headers['content-range']], range).toEqual([
        206,
        `bytes ${start}-${end}/${size}`,
      ]);
      expect(part.headers['content-length']).toBe(String(end - start + 1));
      expect(Buffer.compare(part.bytes, whole.subarray(start, end + 1))).toBe(0);
    }
  });

  it('is sent whole for a range that is several, unreadable or of another unit', async () => {
    const { url } = await withOutput();
    for (const range of ['bytes=0-1,4-5', 'bytes=a-b', 'bytes=-', 'bytes=9-3', 'items=0-1']) {
      expect((await ask(url, { headers: { range } })).status, range).toBe(200);
    }
  });

  it('answers 416 beyond its end', async () => {
    const { url } = await withOutput();
    const size = (await ask(url)).bytes.length;
    for (const range of [`bytes=${size}-`, 'bytes=-0']) {
      const answer = await ask(url, { headers: { range } });
      expect([answer.status, answer.headers['content-range']]).toEqual([416, `bytes */${size}`]);
    }
  });

  it('honours If-Range with its own tag only', async () => {
    const { url } = await withOutput();
    const { etag = '' } = (await ask(url)).headers;
    const status = async (tag: string) =>
      (await ask(url, { headers: { range: 'bytes=5-', 'if-range': tag } })).status;
    expect(await status(etag)).toBe(206);
    expect(await status('"other"')).toBe(200);
    expect(await status(`W/${etag}`)).toBe(200);
  });

  it('expires 24 h after the task ended: 403 in XML, while the record lives on', async () => {
    const { at, clock, record, url } = await withOutput();
    clock.pass(DAY_MS - 1000);
    expect((await ask(url)).status).toBe(200);
    clock.pass(1000);
    const answer = await ask(url);
    expect([answer.status, answer.headers['content-type']]).toEqual([403, 'application/xml']);
    expect(answer.text).toContain('<Code>AccessDenied</Code>');
    expect(json(await query(at, record.id)).content.video_url).toBe(url);
  });

  it('may be fetched 100 times; a look at its head is free', async () => {
    const { url } = await withOutput();
    for (let nth = 0; nth < 100; nth++) {
      if (nth % 10 === 0) await ask(url, { method: 'HEAD' });
      expect((await ask(url, { headers: { range: 'bytes=0-9' } })).status).toBe(206);
    }
    const answer = await ask(url);
    expect([answer.status, answer.headers['content-type']]).toEqual([403, 'application/xml']);
    expect(answer.text).toContain('100');
  });

  it.each<[string, (url: URL) => void, number]>([
    ['another signature', (url) => url.searchParams.set('signature', 'a'.repeat(64)), 403],
    ['no signature', (url) => url.searchParams.delete('signature'), 403],
    ['a later end', (url) => url.searchParams.set('expires', '9999999999'), 403],
    ['an end that is no number', (url) => url.searchParams.set('expires', 'never'), 403],
    [
      'another file',
      (url) => {
        url.pathname = url.pathname.replace('video.mp4', 'last-frame.png');
      },
      403,
    ],
    [
      'another path',
      (url) => {
        url.pathname = '/elsewhere';
      },
      404,
    ],
  ])('is not given for %s', async (_, change, status) => {
    const url = new URL((await withOutput()).url);
    change(url);
    const answer = await ask(url.href);
    expect([answer.status, answer.headers['content-type']]).toEqual([status, 'application/xml']);
  });

  it('is only read', async () => {
    const { url } = await withOutput();
    expect((await ask(url, { method: 'POST' })).status).toBe(405);
  });

  it('is not there while the task runs', async () => {
    const clock = handClock();
    const at = await sandbox({ now: clock.now });
    const id = json(await create(at, small)).id;
    clock.pass(90_000);
    const url: string = json(await query(at, id)).content.video_url;
    clock.pass(-80_000);
    expect((await ask(url)).status).toBe(404);
  });

  it('tells of a key that was sent where none belongs', async () => {
    const { at, url } = await withOutput();
    await ask(url, { headers: { authorization: 'Bearer leaked' } });
    const seen = at.requests.filter((request) => request.server === 'output').at(-1);
    expect(seen?.headers.authorization).toBe('Bearer leaked');
  });
});

it('reads no range of an empty file', () => {
  expect(readRange('bytes=0-', 0)).toBe('unsatisfiable');
  expect(readRange('bytes=-5', 0)).toBe('unsatisfiable');
  expect(readRange(undefined, 0)).toBeUndefined();
});
