import { describe, expect, it } from 'vitest';
import { allEndpoints } from '../../src/gateway/all-endpoints.ts';
import { geoAuth } from './chat-fixture.ts';
import { ask, auth, bodyOf, create, handClock, json, key, query, sandbox, tasksPath } from './fixture.ts';

const jsonType = { 'content-type': 'application/json' };

describe('the gate of the API', () => {
  it.each([
    ['no key', {}, 401, 'MissingApiKey'],
    ['another key', { authorization: 'Bearer sk-other' }, 401, 'InvalidApiKey'],
    ['the key without Bearer', { authorization: key }, 401, 'MissingApiKey'],
    ['the key in another header', { 'x-api-key': key }, 401, 'MissingApiKey'],
    ['a restricted key', { authorization: `Bearer ${key}-restricted` }, 403, 'AccessDenied'],
  ])('%s', async (_, headers, status, code) => {
    const at = await sandbox();
    const url = `${at.baseUrl}${tasksPath}`;
    const answers = [
      await ask(url, {
        method: 'POST',
        headers: { ...headers, ...jsonType },
        body: JSON.stringify(bodyOf()),
      }),
      await ask(`${url}/vt-1`, { headers }),
    ];
    for (const answer of answers) {
      expect(answer.status).toBe(status);
      expect(json(answer).error).toEqual({ message: expect.any(String), type: expect.any(String), code });
      expect(answer.text).not.toContain(key);
    }
    expect(at.tasks()).toEqual([]);
  });

  it.each([
    ['GET', '/contents/generations/tasks/vt-1', 404],
    ['POST', '/nowhere', 404],
    ['DELETE', '/?Action=GetAsset&Version=2024-01-01', 404],
    ['GET', `${tasksPath}/a/b`, 404],
    ['GET', `${tasksPath}/%zz`, 404],
    ['GET', tasksPath, 404],
    ['DELETE', `${tasksPath}/vt-1`, 404],
    ['PUT', tasksPath, 404],
    ['GET', '/v2/query/video_generation', 400],
    ['GET', '/v2/query/video_generation/', 400],
  ])('%s %s is %d with a JSON body', async (method, path, status) => {
    const at = await sandbox();
    const answer = await ask(`${at.baseUrl}${path}`, { method, headers: auth });
    expect(answer.status).toBe(status);
    expect(answer.headers['content-type']).toContain('application/json');
    expect(json(answer).error.message).toEqual(expect.any(String));
  });

  it.each(allEndpoints.filter(({ method }) => method === 'POST').map((each) => [each.path, each] as const))(
    'POST %s refuses JSON that is nested deep',
    async (_, { path, credential }) => {
      const at = await sandbox();
      const headers = { ...jsonType, ...(credential === 'geo' ? geoAuth : auth) };
      const url = `${at.baseUrl}${path.replace('{model}', 'img-2')}`;
      const nested = `{"a":${'['.repeat(5000)}${']'.repeat(5000)}}`;
      const answer = await ask(url, { method: 'POST', headers, body: nested });
      expect([answer.status, answer.text]).toEqual([400, expect.stringContaining('nested deeper')]);
    },
  );

  it.each([
    ['text/plain', '{}', 'InvalidContentType'],
    ['application/jsonx', '{}', 'InvalidContentType'],
    ['application/json', '', 'InvalidRequest'],
    ['application/json', '{"model":', 'InvalidRequest'],
    ['application/json', Buffer.from([0x22, 0xff, 0x22]), 'InvalidRequest'],
    ['application/json', '[]', 'InvalidParameter'],
    ['application/json', 'null', 'InvalidParameter'],
    ['application/json', '[[['.repeat(50_000), 'InvalidRequest'],
  ])('a body as %s that cannot be taken is 400 (%#)', async (type, body, code) => {
    const at = await sandbox();
    const headers = { ...auth, 'content-type': type };
    const answer = await ask(`${at.baseUrl}${tasksPath}`, { method: 'POST', headers, body });
    expect([answer.status, json(answer).error.code]).toEqual([400, code]);
  });

  it.each([
    ['/v1/chat/completions', { model: 'Geo-3.6-flash', messages: [{ role: 'user', content: 'x' }] }],
    ['/v1/chat/completions', { model: 'geo-3.6-flash ', messages: [{ role: 'user', content: 'x' }] }],
    ['/v1/messages', { model: 'SANDBOX-chat-1', max_tokens: 9, messages: [{ role: 'user', content: 'x' }] }],
    ['/v1beta/models/GEO-3.6-flash:generateContent', { contents: [{ parts: [{ text: 'x' }] }] }],
    ['/v1/images/generations', { model: 'IMG-2', prompt: 'x' }],
    ['/v1/images/generations', { model: 'img-2 ', prompt: 'x' }],
    [tasksPath, bodyOf({ model: '2.0' })],
    [tasksPath, bodyOf({ model: 'ALPHA-video-2-0-260128' })],
    [
      '/v2/video_generation',
      {
        model: 'gamma-h3',
        content: [{ type: 'text', text: 'x' }],
        resolution: '768P',
        duration: 4,
        ratio: '1:1',
      },
    ],
  ])('matches models exactly: POST %s %o', async (path, body) => {
    const at = await sandbox();
    const headers = { ...auth, 'x-geo-api-key': key, ...jsonType };
    const answer = await ask(`${at.baseUrl}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    expect([answer.status, json(answer).error.message]).toEqual([400, expect.stringContaining('model')]);
  });

  it('takes a charset beside the content type', async () => {
    const at = await sandbox();
    const headers = { ...auth, 'content-type': 'application/json; charset=utf-8' };
    const body = JSON.stringify(bodyOf());
    expect((await ask(`${at.baseUrl}${tasksPath}`, { method: 'POST', headers, body })).status).toBe(200);
  });

  it('refuses a body over 64 MB and reads it to its end, so that the client gets the reply', async () => {
    const at = await sandbox();
    const headers = { ...auth, ...jsonType };
    const body = Buffer.alloc(64 * 1024 * 1024 + 1, 0x20);
    const answer = await ask(`${at.baseUrl}${tasksPath}`, { method: 'POST', headers, body });
    expect([answer.status, json(answer).error.code]).toEqual([400, 'RequestTooLarge']);
    expect(json(answer).error.message).toContain('64 MB');
  });

  it('takes a body of exactly 64 MB as far as its size goes', async () => {
    const at = await sandbox();
    const body = Buffer.alloc(64 * 1024 * 1024, 0x20);
    const bytes = Buffer.from(JSON.stringify(bodyOf()));
    bytes.copy(body);
    const headers = { ...auth, ...jsonType };
    expect((await ask(`${at.baseUrl}${tasksPath}`, { method: 'POST', headers, body })).status).toBe(200);
  });

  it('gives every reply a request ID of its own and the Date of its clock', async () => {
    const clock = handClock();
    const at = await sandbox({ now: clock.now });
    const answers = [
      await create(at),
      await query(at, 'nope'),
      await ask(`${at.baseUrl}/nowhere`),
      await ask(`${at.outputUrl}/x`),
    ];
    for (const answer of answers) expect(answer.headers.date).toBe('Fri, 20 Nov 2026 12:00:00 GMT');
    expect(new Set(answers.map((answer) => answer.headers['x-request-id'])).size).toBe(answers.length);
  });

  it('notes each request with its body, its status and the task it made', async () => {
    const ended: unknown[] = [];
    const at = await sandbox({ log: (entry) => ended.push(entry) });
    const id = json(await create(at)).id;
    await query(at, id);
    expect(at.requests).toMatchObject([
      { server: 'api', method: 'POST', path: tasksPath, body: bodyOf(), status: 200, acceptedTaskId: id },
      { server: 'api', method: 'GET', path: `${tasksPath}/${id}`, status: 200 },
    ]);
    expect(at.requests[1]?.headers.authorization).toBe(auth.authorization);
    expect(ended[0]).toBe(at.requests[0]);
  });

  it('listens on loopback only, outputs at another origin', async () => {
    const at = await sandbox();
    expect(at.baseUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(at.outputUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(at.baseUrl).not.toBe(at.outputUrl);
  });

  it('rejects a port that is taken, and a speed that is none', async () => {
    const at = await sandbox();
    const port = Number(new URL(at.baseUrl).port);
    await expect(sandbox({ port })).rejects.toMatchObject({ code: 'EADDRINUSE' });
    for (const speed of [0, -1, Number.NaN]) await expect(sandbox({ speed })).rejects.toThrow('above 0');
  });
});
