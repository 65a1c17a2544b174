import { describe, expect, it } from 'vitest';
import { type Fault, FaultDraw, FaultSpecError, faultHelp, parseFaults } from '../../src/sandbox/faults.ts';
import { notImitated } from '../../src/sandbox/not-imitated.ts';
import { ask, bodyOf, CutReply, create, createdId, finished, json, query, sandbox } from './fixture.ts';

const small = bodyOf({ resolution: '480p', ratio: '1:1', duration: 4 });
const faulty = (spec: string) =>
  sandbox({ speed: Number.POSITIVE_INFINITY, faults: parseFaults(spec), slowGapMs: 1 });

describe('a SPEC', () => {
  it.each<[string, Partial<Fault>]>([
    ['create:503', { where: 'create', kind: 'status', status: 503, places: ['create'] }],
    [
      'any:429+3:x2',
      {
        kind: 'status',
        status: 429,
        retryAfterS: 3,
        times: 2,
        places: ['create', 'query', 'chat', 'output'],
      },
    ],
    ['query:reset-before:30%', { kind: 'reset-before', percent: 30 }],
    ['output:cut:0.5%', { kind: 'cut', percent: 0.5 }],
    ['any:expired', { kind: 'expired', places: ['output'] }],
    ['task:fail=Some.Code', { kind: 'fail', code: 'Some.Code', places: ['task'] }],
  ])('%s is read', (spec, fault) => {
    expect(parseFaults(spec)).toEqual([expect.objectContaining({ spec, ...fault })]);
  });

  it('may hold several', () => {
    expect(parseFaults('create:503:x1, output:cut').map((fault) => fault.spec)).toEqual([
      'create:503:x1',
      'output:cut',
    ]);
  });

  it.each([
    ['', 'not WHERE:WHAT'],
    ['create', 'not WHERE:WHAT'],
    ['create:503,', 'not WHERE:WHAT'],
    ['create:503:x1:x2', 'not WHERE:WHAT'],
    ['nowhere:503', '"nowhere" is not a place'],
    ['toString:503', '"toString" is not a place'],
    ['create:200', '"200" is not a fault'],
    ['create:600', '"600" is not a fault'],
    ['create:503+', '"503+" is not a fault'],
    ['create:status', '"status" is not a fault'],
    ['create:explode', '"explode" is not a fault'],
    ['task:fail', '"fail" is not a fault'],
    ['task:fail=', '"fail=" is not a fault'],
    ['query:stall', 'stall does not apply to query (only to chat, create)'],
    ['create:cancel', 'cancel does not apply to create (only to task)'],
    ['create:expired', 'expired does not apply to create (only to output)'],
    ['any:fail=X', 'does not apply to any (only to task)'],
    ['task:503', 'does not apply to task'],
    ['create:503:x0', '"x0" is neither'],
    ['create:503:101%', '"101%" is neither'],
    ['create:503:2', '"2" is neither'],
  ])('%j is refused with one sentence', (spec, why) => {
    const read = () => parseFaults(spec);
    expect(read).toThrow(FaultSpecError);
    expect(read).toThrow(why);
    expect(read).toThrow(
      'WHERE:WHAT[:xCOUNT|:P%], comma separated; WHERE is create|query|chat|output|any|task',
    );
    expect(read).toThrow(/^[^\n]+$/);
  });

  it('is explained from the table that reads it', () => {
    const help = faultHelp.join('\n');
    for (const word of [
      'STATUS[+S]',
      'reset-before',
      'reset-after',
      'cut',
      'hang',
      'slow',
      'html',
      'empty',
      'garbage',
      'expired',
      'wrong-length',
      'no-range',
      'new-etag',
      'redirect',
      'plain-json',
      'odd-form',
      'unknown-event',
      'bad-event',
      'error-event',
      'long-line',
      'stall',
      'no-end',
      'end-twice',
      'fail=CODE',
    ]) {
      expect(help).toContain(word);
      expect(() => parseFaults(`create:${word}x`)).toThrow(word);
    }
  });
});

describe('how often a fault strikes', () => {
  const strikes = (spec: string, seed: number) => {
    const draw = new FaultDraw(parseFaults(spec), seed);
    return Array.from({ length: 1000 }, () => draw.draw('query') !== undefined);
  };
  it('xN: the first N times', () => {
    expect(strikes('query:503:x3', 1).indexOf(false)).toBe(3);
    expect(strikes('query:503:x3', 1).filter(Boolean)).toHaveLength(3);
  });
  it('P%: about so often, the same ones for the same seed', () => {
    const some = strikes('query:503:30%', 7);
    expect(some.filter(Boolean).length).toBeGreaterThan(250);
    expect(some.filter(Boolean).length).toBeLessThan(350);
    expect(strikes('query:503:30%', 7)).toEqual(some);
    expect(strikes('query:503:30%', 8)).not.toEqual(some);
    expect(strikes('query:503:0%', 7)).not.toContain(true);
    expect(strikes('query:503:100%', 7)).not.toContain(false);
  });
  it('elsewhere: never', () => {
    expect(strikes('create:503,output:cut,task:fail=X', 1)).not.toContain(true);
  });
  it('the first that is left strikes', async () => {
    const at = await faulty('query:500:x1,query:503');
    const statuses = [
      (await query(at, 'x')).status,
      (await query(at, 'x')).status,
      (await query(at, 'x')).status,
    ];
    expect(statuses).toEqual([500, 503, 503]);
    expect(at.requests.map((request) => request.fault)).toEqual(['query:500:x1', 'query:503', 'query:503']);
  });
});

describe('faults of a create', () => {
  it.each([400, 401, 402, 403, 404, 422, 429, 500, 502, 503, 504])(
    '%d with an error body, nothing taken',
    async (status) => {
      const at = await faulty(`create:${status}:x1`);
      const answer = await create(at);
      expect(answer.status).toBe(status);
      expect(json(answer).error).toEqual({
        message: expect.any(String),
        type: expect.any(String),
        code: expect.any(String),
      });
      expect(answer.headers).not.toHaveProperty('retry-after');
      expect(at.tasks()).toEqual([]);
      expect(at.requests[0]?.body).toEqual(bodyOf());
      expect((await create(at)).status).toBe(200);
    },
  );

  it('503+3 says when', async () => {
    expect((await create(await faulty('create:503+3'))).headers['retry-after']).toBe('3');
  });

  it.each([
    ['reset-before', 0],
    ['reset-after', 1],
    ['cut', 1],
    ['wrong-length', 1],
  ])('%s breaks the connection with %d task taken', async (what, count) => {
    const at = await faulty(`create:${what}:x1`);
    await expect(create(at)).rejects.toMatchObject({ code: 'ECONNRESET' });
    expect(at.tasks()).toHaveLength(count);
    expect(at.requests[0]?.acceptedTaskId).toBe(at.tasks()[0]?.id);
    expect((await create(at)).status).toBe(200);
  });

  it('hang never answers and takes nothing', async () => {
    const at = await faulty('create:hang');
    const asked = create(at).then(
      () => 'answered',
      (error: NodeJS.ErrnoException) => error.code,
    );
    while (at.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
    expect(await Promise.race([asked, query(at, 'x').then(() => 'still waiting')])).toBe('still waiting');
    expect(at.tasks()).toEqual([]);
    await at.close();
    expect(await asked).toBe('ECONNRESET');
  });

  it('slow comes whole in the end', async () => {
    const at = await faulty('create:slow');
    expect(json(await create(at)).id).toBe(at.tasks()[0]?.id);
  });

  it('html is a page with 200, nothing taken', async () => {
    const at = await faulty('create:html');
    const answer = await create(at);
    expect([answer.status, answer.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    expect(at.tasks()).toEqual([]);
  });

  it('empty and garbage are 200 for a task that was taken', async () => {
    const at = await faulty('create:empty:x1,create:garbage');
    const [empty, garbage] = [await create(at), await create(at)];
    expect([empty.status, empty.bytes.length]).toEqual([200, 0]);
    expect(garbage.status).toBe(200);
    expect(() => JSON.parse(garbage.text)).toThrow();
    expect(at.tasks()).toHaveLength(2);
  });

  it('redirect points at another origin, which sees whether it was followed', async () => {
    const at = await faulty('create:redirect');
    const answer = await create(at);
    expect(answer.status).toBe(307);
    expect(answer.headers.location?.startsWith(at.outputUrl)).toBe(true);
    expect(at.tasks()).toEqual([]);
    expect(at.requests.map((request) => request.server)).toEqual(['api']);
  });

  it('task:fail=CODE ends it failed with that code', async () => {
    const at = await faulty('task:fail=Quota.Gone:x1');
    expect(await finished(at)).toMatchObject({ status: 'failed', error: { code: 'Quota.Gone' } });
    expect((await finished(at)).status).toBe('succeeded');
  });

  it('leaves queries alone', async () => {
    const at = await faulty('query:503');
    const id = await createdId(at);
    expect((await query(at, id)).status).toBe(503);
  });
});

describe('faults of an output', () => {
  async function output(spec: string) {
    const at = await faulty(spec);
    return { at, url: (await finished(at, small)).content.video_url as string };
  }

  it('a status comes as XML', async () => {
    const { url } = await output('output:503+2:x1');
    const answer = await ask(url);
    expect([answer.status, answer.headers['retry-after'], answer.headers['content-type']]).toEqual([
      503,
      '2',
      'application/xml',
    ]);
    expect((await ask(url)).status).toBe(200);
  });

  it.each(['cut', 'wrong-length', 'reset-after', 'reset-before'])(
    '%s breaks the connection',
    async (what) => {
      const { url } = await output(`output:${what}:x1`);
      await expect(ask(url)).rejects.toMatchObject({ code: 'ECONNRESET' });
      expect((await ask(url)).status).toBe(200);
    },
  );

  it('cut leaves a part that can be gone on from', async () => {
    const { url } = await output('output:cut:x2');
    let got = Buffer.alloc(0);
    const statuses: string[] = [];
    for (let complete = false; !complete && statuses.length < 5; ) {
      const part = await ask(url, { headers: { range: `bytes=${got.length}-` } }).catch((error: unknown) => {
        if (error instanceof CutReply) return error;
        throw error;
      });
      complete = !(part instanceof CutReply);
      const answer = part instanceof CutReply ? part.answer : part;
      expect(answer.bytes.length).toBeGreaterThan(100);
      statuses.push(`${answer.status} ${complete ? 'whole' : 'cut'}`);
      got = Buffer.concat([got, answer.bytes]);
    }
    expect(statuses).toEqual(['206 cut', '206 cut', '206 whole']);
    expect(Buffer.compare(got, (await ask(url)).bytes)).toBe(0);
  });

  it('slow comes whole in the end', async () => {
    const { url } = await output('output:slow:x1');
    expect(Buffer.compare((await ask(url)).bytes, (await ask(url)).bytes)).toBe(0);
  });

  it('expired is a dead link', async () => {
    const { url } = await output('output:expired:x1');
    const answer = await ask(url);
    expect([answer.status, answer.text]).toEqual([403, expect.stringContaining('expired')]);
    expect((await ask(url)).status).toBe(200);
  });

  it('no-range sends it whole', async () => {
    const { url } = await output('output:no-range');
    const answer = await ask(url, { headers: { range: 'bytes=5-' } });
    expect([answer.status, answer.headers['accept-ranges']]).toEqual([200, undefined]);
  });

  it('new-etag changes tag and bytes each time, so that two parts never fit', async () => {
    const { url } = await output('output:new-etag:x2');
    const [first, second] = [await ask(url), await ask(url)];
    expect(second.headers.etag).not.toBe(first.headers.etag);
    expect(second.bytes.length).toBe(first.bytes.length);
    const third = await ask(url, { headers: { range: 'bytes=5-', 'if-range': first.headers.etag ?? '' } });
    expect(third.status).toBe(200);
    const half = first.bytes.length / 2;
    expect(Buffer.compare(first.bytes.subarray(0, half), third.bytes.subarray(0, half))).not.toBe(0);
    expect(Buffer.compare(first.bytes.subarray(half), third.bytes.subarray(half))).not.toBe(0);
  });

  it('redirect leads to the same file at another origin, once', async () => {
    const { at, url } = await output('output:redirect');
    const answer = await ask(url);
    const location = answer.headers.location ?? '';
    expect(answer.status).toBe(302);
    expect(new URL(location).origin).not.toBe(at.outputUrl);
    expect((await ask(location)).headers['content-type']).toBe('video/mp4');
  });

  it('html and garbage are no video', async () => {
    const { url } = await output('output:html:x1,output:garbage:x1,output:empty:x1');
    const [html, garbage, empty] = [await ask(url), await ask(url), await ask(url)];
    expect(html.headers['content-type']).toContain('text/html');
    expect(garbage.bytes.subarray(-7).toString()).toBe('garbage');
    expect(empty.bytes).toHaveLength(0);
  });

  it('does not count against the 100 downloads where nothing was given', async () => {
    const { url } = await output('output:503:x5');
    for (let nth = 0; nth < 105; nth++)
      expect((await ask(url, { headers: { range: 'bytes=0-0' } })).status).toBe(nth < 5 ? 503 : 206);
    expect((await ask(url)).status).toBe(403);
  });
});

it('says in sentences what is not imitated', () => {
  expect(notImitated.length).toBeGreaterThan(5);
  for (const sentence of notImitated) expect(sentence).toMatch(/^[A-Z][^\n]*\.$/);
  for (const word of ['H.265', 'review', 'fetched', 'prices', 'asset-sandbox-', 'sensitive-output']) {
    expect(notImitated.join(' ')).toContain(word);
  }
});
