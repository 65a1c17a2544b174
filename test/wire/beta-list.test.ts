import { writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { describe, expect, test } from 'vitest';
import { BetaListBody, betaPageIn } from '../../src/gateway/beta/list.ts';
import { breachesOf } from '../helpers/breaches.ts';
import { KEY, World } from '../helpers/gw.ts';

// Literal queries of family B ("Query by ID", "Cursor query").

const world = await World.open({ speed: 1e9 });

const send = (at: string, body?: unknown) =>
  fetch(`${world.sandbox.baseUrl}${at}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });

const list = (body: unknown) => {
  const file = path.join(world.cwd, 'list.json');
  writeFileSync(file, JSON.stringify(body));
  return world.gw(['video', 'beta', 'list', '--json', '--body', file]);
};

describe('POST /tasks', () => {
  test.each<[string, unknown]>([
    ['nothing', {}],
    ['a time range', { start_time: '1795000000000', end_time: '1795000000001' }],
    ['an end alone', { end_time: '1795000000000' }],
    ['one task a page', { limit: 1 }],
    ['500 tasks a page', { limit: 500 }],
    ['a filter of nothing', { filters: [{ key: 'status', values: [] }] }],
    [
      'every state and kind',
      {
        filters: [
          { key: 'status', values: ['submitted', 'processing', 'succeeded', 'failed'] },
          { key: 'product_type', values: ['video', 'image', 'try_on'] },
        ],
      },
    ],
  ])('accepted: %s', async (_, body) => {
    expect(breachesOf(BetaListBody, body)).toEqual([]);
    const reply = await send('/tasks', body);
    expect(await reply.json()).toMatchObject({ code: 0, data: { result: [], count: 0, has_more: false } });
    const run = await list(body);
    expect(run.code, run.err).toBe(0);
    expect(world.sandbox.requests.at(-1)).toMatchObject({ method: 'POST', path: '/tasks', body });
  });

  test.each<[string, unknown, RegExp]>([
    ['a time that is a number', { start_time: 1795000000000 }, /start_time .*must be a text/],
    ['a time that is a date', { end_time: '2026-11-20' }, /Unix milliseconds/],
    [
      'a start that is the end',
      { start_time: '1795000000000', end_time: '1795000000000' },
      /must be earlier/,
    ],
    ['no task a page', { limit: 0 }, /give a number from 1 to 500/],
    ['501 tasks a page', { limit: 501 }, /give a number from 1 to 500/],
    ['half a task', { limit: 1.5 }, /whole number/],
    [
      'a filter by another key',
      { filters: [{ key: 'model', values: ['a'] }] },
      /filters\.0\.key model: one of status, product_type/,
    ],
    [
      'a state that is none',
      { filters: [{ key: 'status', values: ['queued'] }] },
      /queued: one of submitted/,
    ],
    ['a kind that is none', { filters: [{ key: 'product_type', values: ['audio'] }] }, /audio: one of video/],
  ])('refused: %s', async (_, body, rule) => {
    expect(breachesOf(BetaListBody, body).join('\n')).toMatch(rule);
    const reply = await send('/tasks', body);
    expect(await reply.json()).toMatchObject({ code: 1201 });
    expect(reply.status).toBe(400);
    const before = world.sandbox.requests.length;
    const run = await list(body);
    expect(run, run.err).toMatchObject({ code: 2, out: '' });
    expect(world.sandbox.requests.length).toBe(before);
  });

  test('a cursor that the gateway did not give is refused by it', async () => {
    const run = await world.gw(['video', 'beta', 'list', '--cursor', 'made-up']);
    expect(run.code, run.err).toBe(5);
  });
});

describe('GET /tasks', () => {
  test.each(['/tasks?task_ids=a,b', '/tasks?external_task_ids=a'])('accepted: %s', async (at) => {
    const reply = await send(at);
    expect(await reply.json()).toMatchObject({ code: 0, data: [] });
  });

  test('a task is found by either ID, and several at once', async () => {
    const ids = [];
    for (const name of ['one', 'two']) {
      ids.push((await world.gw(['video', 'beta', 'create', 'a fox', '--external-id', name])).out.trim());
    }
    for (const at of [`/tasks?task_ids=${ids.join(',')}`, '/tasks?external_task_ids=one,two']) {
      const { data } = (await (await send(at)).json()) as { data: { id: string; external_id: string }[] };
      expect(data.map(({ id }) => id).sort()).toEqual([...ids].sort());
      expect(data.map(({ external_id: id }) => id).sort()).toEqual(['one', 'two']);
    }
  });
});

describe('a page', () => {
  test.each<[string, unknown]>([
    ['no list', { code: 0, data: { result: null, has_more: false } }],
    ['no data', { code: 0, data: null }],
  ])('%s with code 0 is an empty one', (_, reply) => {
    expect(betaPageIn(reply)?.result).toEqual([]);
  });

  test.each<[string, unknown]>([
    ['no data and no code', { data: null }],
    ['no data at all', { code: 0 }],
    ['a result that is no list', { code: 0, data: { result: 'x' } }],
  ])('%s is none', (_, reply) => {
    expect(betaPageIn(reply)).toBeUndefined();
  });
});
