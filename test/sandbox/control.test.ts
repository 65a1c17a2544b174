import { createServer } from 'node:http';
import { expect, it } from 'vitest';
import { parseFaults } from '../../src/sandbox/faults.ts';
import type { Sandbox } from '../../src/sandbox/server.ts';
import { listening } from '../helpers/listening.ts';
import { ask, auth, bodyOf, create, createdId, get, json, newStateDir, query, sandbox } from './fixture.ts';

// The control requests with which the test of another program steers a sandbox.

const control = (
  at: Sandbox,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = auth,
) =>
  ask(`${at.baseUrl}/_sandbox/${path}`, {
    method,
    headers: { ...headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
const statusOf = async (at: Sandbox, id: string) => json(await query(at, id)).status;

it('is not there unless it was opened', async () => {
  expect((await control(await sandbox(), 'GET', '')).status).toBe(404);
});

it('takes the key only', async () => {
  const at = await sandbox({ control: true });
  for (const headers of [{}, { authorization: 'Bearer other' }])
    expect((await control(at, 'POST', 'reset', undefined, headers as Record<string, string>)).status).toBe(
      401,
    );
});

it('tells how the sandbox stands', async () => {
  const at = await sandbox({ control: true, speed: 20, strict: true, faults: parseFaults('query:503:x1') });
  await create(at);
  expect(json(await control(at, 'GET', ''))).toEqual({
    now: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
    speed: 20,
    strict: true,
    account: 'enterprise',
    faults: ['query:503:x1'],
    tasks: 1,
    requests: 1,
  });
});

it('moves time forward: a task ends, its link dies, and its record too', async () => {
  const at = await sandbox({ control: true });
  const id = await createdId(at);
  expect(await statusOf(at, id)).toBe('queued');
  expect((await control(at, 'POST', 'time', { forward: 600 })).status).toBe(200);
  const { status, content } = json(await query(at, id));
  expect(status).toBe('succeeded');
  expect((await ask(content.video_url)).status).toBe(200);
  await control(at, 'POST', 'time', { forward: 86_400 });
  expect((await ask(content.video_url)).status).toBe(403);
  await control(at, 'POST', 'time', { forward: 7 * 86_400 });
  expect((await query(at, id)).status).toBe(404);
});

it('sends the callbacks that have become due', async () => {
  const statuses: string[] = [];
  let told: () => unknown = () => {};
  const done = new Promise<void>((resolve) => {
    told = () => statuses.includes('succeeded') && resolve();
  });
  const server = createServer(async (request, response) => {
    let raw = '';
    for await (const chunk of request) raw += chunk;
    statuses.push(JSON.parse(raw).status);
    response.end();
    told();
  });
  const { port } = await listening(server);
  const at = await sandbox({ control: true, callbackPorts: [port], speed: 0.01 });
  const options = { callback_url: `http://127.0.0.1:${port}/` };
  const made = await ask(`${at.baseUrl}/text-to-video/beta-3.0`, {
    method: 'POST',
    headers: { ...auth, 'content-type': 'application/json' },
    body: JSON.stringify({ prompt: 'a fox', options }),
  });
  expect(made.status, made.text).toBe(200);
  await control(at, 'POST', 'time', { forward: 1e5 });
  await done;
  expect(statuses.at(-1)).toBe('succeeded');
});

it('decides the next outcome, once', async () => {
  const at = await sandbox({ control: true, speed: Number.POSITIVE_INFINITY });
  await control(at, 'POST', 'next', { fault: 'task:fail=OutputVideoSensitiveContentDetected' });
  const failed = json(await query(at, await createdId(at)));
  expect([failed.status, failed.error.code]).toEqual(['failed', 'OutputVideoSensitiveContentDetected']);
  expect(await statusOf(at, await createdId(at))).toBe('succeeded');
  await control(at, 'POST', 'next', { fault: 'create:503+3' });
  const refused = await create(at);
  expect([refused.status, refused.headers['retry-after']]).toEqual([503, '3']);
  expect((await create(at)).status).toBe(200);
});

it('replaces the faults and ends them', async () => {
  const at = await sandbox({ control: true, faults: parseFaults('create:500') });
  expect((await create(at)).status).toBe(500);
  expect(json(await control(at, 'PUT', 'faults', { faults: 'create:429,query:404' })).faults).toEqual([
    'create:429',
    'query:404',
  ]);
  expect((await create(at)).status).toBe(429);
  await control(at, 'PUT', 'faults', { faults: '' });
  expect((await create(at)).status).toBe(200);
});

it('lists the requests with their verdicts, and no key or signature in them', async () => {
  const at = await sandbox({ control: true, speed: Number.POSITIVE_INFINITY });
  const id = await createdId(at, bodyOf({ seed: 1 }));
  await ask(json(await query(at, id)).content.video_url);
  await create(at, bodyOf({ duration: 99 }));
  const { text } = await control(at, 'GET', 'requests');
  expect(JSON.parse(text).requests).toMatchObject([
    { method: 'POST', status: 200, verdict: 'passed over seed', acceptedTaskId: id, body: { seed: 1 } },
    { method: 'GET', status: 200, verdict: 'taken' },
    { server: 'output', path: `/outputs/${id}/video.mp4`, status: 200 },
    { method: 'POST', status: 400, verdict: 'refused InvalidParameter duration' },
  ]);
  expect(text).not.toMatch(/signature|Bearer|sk-test/);
});

it.each(['in memory', 'on disk'])('forgets everything, kept %s', async (where) => {
  const stateDir = where === 'on disk' ? await newStateDir() : undefined;
  const at = await sandbox({
    control: true,
    stateDir,
    account: 'personal',
    faults: parseFaults('query:500:x1'),
  });
  const ids = [await createdId(at), await createdId(at), await createdId(at)];
  expect((await create(at)).status).toBe(429);
  expect((await query(at, ids[0] ?? '')).status).toBe(500);
  expect(json(await control(at, 'POST', 'reset'))).toMatchObject({
    tasks: 0,
    requests: 0,
    faults: ['query:500:x1'],
  });
  expect((await query(at, ids[0] ?? '')).status).toBe(500);
  expect((await query(at, ids[0] ?? '')).status).toBe(404);
  expect((await create(at)).status).toBe(200);
});

it.each<[string, string, unknown, string]>([
  ['POST', 'next', { fault: 'create:503,query:500' }, 'fault: one fault'],
  ['POST', 'next', { fault: 'create:dance' }, 'is not a fault; a SPEC is WHERE'],
  ['PUT', 'faults', { spec: '' }, 'faults'],
  ['POST', 'time', { forward: -1 }, 'forward: time does not go back'],
  ['POST', 'time', {}, 'forward'],
])('%s %s %j is refused', async (method, path, body, message) => {
  const answer = await control(await sandbox({ control: true }), method, path, body);
  expect([answer.status, answer.text]).toEqual([400, expect.stringContaining(message)]);
});

it('names what there is where something else is asked for', async () => {
  const at = await sandbox({ control: true });
  const answer = await control(at, 'POST', 'dance', {});
  expect([answer.status, answer.text]).toEqual([404, expect.stringContaining('POST /_sandbox/reset')]);
  expect((await get(at, '/_sandbox')).status).toBe(404);
});
