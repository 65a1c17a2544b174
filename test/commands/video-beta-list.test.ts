import { describe, expect } from 'vitest';
import { type Answer, fakeGateway } from '../helpers/fake-gateway.ts';
import { test, World } from '../helpers/gw.ts';
import { recordingGateway } from '../helpers/recording-gateway.ts';

const openFake = async (answer: (method: string, url: string) => Answer) => {
  const gateway = await fakeGateway(answer);
  return { gateway, env: { GW_BASE_URL: gateway.url } };
};

const list = ['video', 'beta', 'list'];
const DAY_MS = 86_400_000;

/** A world with `count` tasks, created one second apart, and their IDs, newest first. */
async function withTasks(count: number): Promise<{ world: World; ids: string[] }> {
  const world = await World.open({ speed: 1e9 });
  const ids: string[] = [];
  for (let at = 0; at < count; at += 1) {
    world.clock.ms += 1000;
    ids.unshift((await world.gw(['video', 'beta', 'create', `fox ${at}`])).out.trim());
  }
  world.clock.ms += 1000;
  return { world, ids };
}

describe('the request', () => {
  const nowMs = Date.UTC(2026, 10, 20, 12);
  test.for<[string, string[], unknown]>([
    ['nothing asked for', [], {}],
    [
      'states and kinds',
      ['--status', 'succeeded', '--status', 'failed', '--type', 'video', '--type', 'try_on'],
      {
        filters: [
          { key: 'status', values: ['succeeded', 'failed'] },
          { key: 'product_type', values: ['video', 'try_on'] },
        ],
      },
    ],
    ['a span', ['--since', '7d'], { start_time: String(nowMs - 7 * DAY_MS) }],
    [
      'dates, in UTC',
      ['--since', '2026-11-01', '--until', '2026-11-02T08:30Z'],
      { start_time: String(Date.UTC(2026, 10, 1)), end_time: String(Date.UTC(2026, 10, 2, 8, 30)) },
    ],
    ['a zone', ['--since', '2026-11-01T01:00+01:00'], { start_time: String(Date.UTC(2026, 10, 1)) }],
    ['milliseconds', ['--until', '1795000000000'], { end_time: '1795000000000' }],
    ['a limit', ['--limit', '500'], { limit: 500 }],
    ['a cursor', ['--cursor', 'abc', '--limit', '1'], { cursor: 'abc', limit: 1 }],
    ['all pages, with as few requests as there can be', ['--all'], { limit: 500 }],
    ['all pages of a size', ['--all', '--limit', '50'], { limit: 50 }],
    ['a field of its own', ['--set', 'foo=1'], { foo: 1 }],
  ])('%s', async ([_, argv, body], { world }) => {
    const run = await world.ok([...list, ...argv, '--dry-run', '--json']);
    expect(JSON.parse(run.out)).toMatchObject({
      method: 'POST',
      url: `${world.sandbox.baseUrl}/tasks`,
      body,
    });
    expect(Object.keys(JSON.parse(run.out).body)).toEqual(Object.keys(body as object));
    expect(world.requests()).toEqual([]);
  });

  test.for<[string, string[], RegExp]>([
    [
      'a state that is none',
      ['--status', 'done'],
      /--status done: one of submitted, processing, succeeded, failed/,
    ],
    ['a state in capitals', ['--status', 'FAILED'], /--status FAILED: .*did you mean failed/],
    ['a kind that is none', ['--type', 'audio'], /--type audio: one of video, image, try_on/],
    ['a limit of 0', ['--limit', '0'], /--limit 0: give a number from 1 to 500/],
    ['a limit of 501', ['--limit', '501'], /--limit 501: give a number from 1 to 500/],
    ['a limit that is a word', ['--limit', 'many'], /--limit many: not a whole number/],
    [
      'a start after the end',
      ['--since', '2026-11-02', '--until', '2026-11-01'],
      /--since: 2026-11-02T.* is not earlier than --until, 2026-11-01T/,
    ],
    ['a start that is to come', ['--since', '2030-01-01'], /--since: 2030-01-01T.* is not earlier than now/],
    ['a day that is none', ['--since', '2026-02-30'], /--since 2026-02-30: there is no such date/],
    ['a date of another form', ['--since', '2026/11/20'], /hint: .*or a date such as 2026-11-01/],
    ['a German date', ['--until', '20.11.2026'], /hint: .*or a date such as 2026-11-01/],
    ['seconds for milliseconds', ['--since', '1795000000'], /--since "1795000000" is not a duration/],
    ['a time with a cursor', ['--since', '7d', '--cursor', 'abc'], /--since: with --cursor the time range/],
  ])('refused: %s', async ([_, argv, message], { world }) => {
    const run = await world.gw([...list, ...argv]);
    expect(run.code, run.err).toBe(2);
    expect(run.err).toMatch(message);
    expect(world.requests()).toEqual([]);
  });
});

describe('the result', () => {
  test('in a pipe: rows without a header, newest first, links left out', async () => {
    const { world, ids } = await withTasks(2);
    const run = await world.ok(list);
    const rows = run.out
      .trim()
      .split('\n')
      .map((line) => line.split('\t'));
    expect(rows.map(([id]) => id)).toEqual(ids);
    expect(rows[0]).toEqual([ids[0], 'succeeded', '1s', 'video 5 s', expect.stringMatching(/^[\d.]+ \w/)]);
    expect(run.out).not.toContain('http');
  });

  test('on a terminal: a table', async () => {
    const { world, ids } = await withTasks(1);
    const run = await world.gw(list, { terminal: true });
    const [header, row] = run.out.split('\n');
    expect(header).toMatch(/ID +STATUS +AGE +RESULT +COST/);
    expect(row).toContain(ids[0]);
  });

  test('each kind of result in a word, and why there is none', async ({ world }) => {
    const url = 'https://example.com/x?signature=1';
    const result = [
      { id: 'a', status: 'succeeded', outputs: [{ type: 'element', id: 'e' }] },
      { id: 'b', status: 'succeeded', outputs: [{ type: 'audio', mp3_url: url, wav_url: url }] },
      { id: 'c', status: 'failed', message: 'no foxes' },
      { id: 'd', status: 'processing', message: 'soon', create_time: 5 },
      { id: 7 },
    ];
    const { env } = await openFake(() => ({ body: { code: 0, data: { result } } }));
    expect((await world.gw(list, { env })).out.split('\n')).toEqual([
      'a\tsucceeded\t-\telement\t-',
      'b\tsucceeded\t-\tmp3, wav\t-',
      'c\tfailed\t-\tno foxes\t-',
      'd\tprocessing\t5\t-\t-',
      '7\trunning\t-\t-\t-',
      '',
    ]);
  });

  test('-q prints IDs alone; a filter is heeded', async () => {
    const { world, ids } = await withTasks(2);
    expect((await world.gw([...list, '-q'])).out).toBe(`${ids.join('\n')}\n`);
    expect((await world.gw([...list, '-q', '--status', 'failed'])).out).toBe('');
    expect((await world.gw([...list, '-q', '--type', 'video'])).out).toBe(`${ids.join('\n')}\n`);
  });

  test("--json prints the gateway's reply unchanged, and stderr the way to the next page", async () => {
    const { world, ids } = await withTasks(3);
    const set = 'filters.0={"key":"status","values":["succeeded"]}';
    const run = await world.gw([...list, '--json', '--limit', '2', '--since', '7d', '--set', set]);
    const reply = JSON.parse(run.out);
    expect(reply).toMatchObject({ code: 0, data: { count: 2, has_more: true } });
    const cursor = reply.data.next_cursor;
    expect(run.err).toBe(
      `more tasks follow: gw video beta list --json --limit 2 --set '${set}' --cursor ${cursor}\n`,
    );
    const next = await world.gw([...list, '--cursor', cursor, '-q']);
    expect(next).toMatchObject({ out: `${ids[2]}\n`, err: '' });
  });

  test('the line for the next page leaves out a page that --set named, and runs as printed', async () => {
    const { world, ids } = await withTasks(3);
    const { data } = JSON.parse((await world.gw([...list, '--json', '--limit', '1'])).out);
    const run = await world.gw([...list, '--limit=1', '--set', `cursor=${data.next_cursor}`]);
    expect(run.out).toMatch(`${ids[1]}\t`);
    expect(run.err).toMatch(/^more tasks follow: gw video beta list --limit=1 --cursor \S+\n$/);
  });

  test('the reply goes out as it came, digits and white space too', async ({ world }) => {
    const text =
      '{ "code": 0,\n "data": {"result": [{"id": "t-1", "n": 12345678901234567890}], "count": 1} }';
    const { env } = await openFake(() => ({ body: text }));
    expect((await world.gw([...list, '--json'], { env })).out).toBe(text);
  });

  test('--all goes through every page, one object a line, each page as it comes', async () => {
    const { world, ids } = await withTasks(5);
    const before = world.requests().length;
    const run = await world.ok([...list, '--all', '--limit', '2', '--json']);
    expect(run.err).toBe('');
    const lines = run.out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines.map(({ id }) => id)).toEqual(ids);
    expect(world.requests().slice(before)).toEqual(['POST /tasks', 'POST /tasks', 'POST /tasks']);
    const bodies = world.sandbox.requests.slice(before).map((request) => request.body);
    expect(bodies[1]).toEqual({ limit: 2, cursor: expect.any(String) });
  });

  test('with a cursor the time range is left out of the next request', async () => {
    const { world, ids } = await withTasks(2);
    const run = await world.gw([...list, '--all', '--limit', '1', '--since', '1h', '-q']);
    expect(run.out).toBe(`${ids.join('\n')}\n`);
    expect(world.sandbox.requests.at(-1)?.body).toEqual({ limit: 1, cursor: expect.any(String) });
  });

  test('a page that fails in the middle ends with its error, what came stays', async ({ world }) => {
    let asked = 0;
    const { env } = await openFake(() => {
      asked += 1;
      return asked === 1
        ? { body: { code: 0, data: { result: [{ id: 't-1' }], next_cursor: 'c1', has_more: true } } }
        : { body: { code: 7, message: 'bad cursor' } };
    });
    const run = await world.gw([...list, '--all', '--json'], { env });
    expect(run).toMatchObject({ code: 5, out: '{"id":"t-1"}\n' });
    expect(run.err).toContain('bad cursor');
  });

  test('a cursor that comes as a number goes back as the text that the document asks for', async ({
    world,
  }) => {
    const gateway = await recordingGateway(({ body }, response) => {
      const isFirst = !body.includes('cursor');
      const data = { result: [{ id: isFirst ? 't-1' : 't-2' }], next_cursor: 17, has_more: isFirst };
      response.end(JSON.stringify({ code: 0, data }));
    });
    const run = await world.gw([...list, '--all', '-q'], { env: { GW_BASE_URL: gateway.url } });
    expect(run).toMatchObject({ code: 0, out: 't-1\nt-2\n' });
    expect(JSON.parse(gateway.requests.at(-1)?.body ?? '')).toMatchObject({ cursor: '17' });
  });

  test.each([
    ['the same cursor again', { next_cursor: 'c1', has_more: true }, /same cursor twice/],
    ['more, and no cursor', { has_more: true }, /gives no cursor/],
  ])('%s ends the list as incomplete', async (_, place, message) => {
    const world = await World.open();
    const { gateway, env } = await openFake(() => ({
      body: { code: 0, data: { result: [{ id: 't-1', status: 'weird' }], ...place } },
    }));
    const run = await world.gw([...list, '--all', '-q'], { env });
    expect(run.code).toBe(8);
    expect(run.err).toMatch(message);
    expect(gateway.requests.length).toBeLessThanOrEqual(2);
  });

  test('a list is a read: asked again after a 503', async ({ world }) => {
    let asked = 0;
    const { env } = await openFake(() => {
      asked += 1;
      return asked < 3 ? { status: 503, body: {} } : { body: { code: 0, data: { result: [{ id: 't-1' }] } } };
    });
    expect(await world.gw([...list, '-q'], { env })).toMatchObject({ code: 0, out: 't-1\n' });
    expect(asked).toBe(3);
  });

  test('an empty list is empty, and no failure', async ({ world }) => {
    expect(await world.gw(list)).toEqual({ code: 0, out: '', err: '' });
  });
});
