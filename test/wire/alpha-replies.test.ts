import { describe, expect, test } from 'vitest';
import { alphaFamily } from '../../src/gateway/alpha/task.ts';
import { cmd } from '../helpers/cmd.ts';
import type { Answer, FakeGateway } from '../helpers/fake-gateway.ts';
import { fakeWorld } from '../helpers/fake-world.ts';

// Literal replies of family A: those that the document allows, and those that it does not allow.

describe('a task record', () => {
  const succeeded = {
    id: 'task-1',
    model: 'alpha-video-2-5-260628',
    status: 'succeeded',
    created_at: 1795211159,
    updated_at: 1795211166,
    content: { video_url: 'https://example.com/v.mp4?signature=1' },
    duration: 5,
    ratio: '16:9',
    resolution: '720p',
    output_format: 'mp4',
    framespersecond: 24,
    generate_audio: false,
    seed: 42,
    usage: { completion_tokens: 1, total_tokens: 1 },
  };
  const video = { role: 'video', type: 'video', url: 'https://example.com/v.mp4?signature=1' };

  test.each<[string, unknown, object]>([
    ['as documented on success', succeeded, { state: 'succeeded', statusKnown: true, outputs: [video] }],
    ['queued', { id: 't', status: 'queued' }, { state: 'running', statusKnown: true, outputs: [] }],
    ['running', { id: 't', status: 'running' }, { state: 'running', statusKnown: true }],
    [
      'as documented on failure',
      {
        id: 't',
        model: 'm',
        status: 'failed',
        error: { code: 'OutputVideoSensitiveContentDetected', message: 'no' },
      },
      { state: 'failed', error: { code: 'OutputVideoSensitiveContentDetected', message: 'no' } },
    ],
    ['SUCCEEDED', { ...succeeded, status: 'SUCCEEDED' }, { state: 'succeeded', status: 'succeeded' }],
    ['cancelled', { status: 'cancelled' }, { state: 'failed' }],
    ['canceled', { status: 'canceled' }, { state: 'failed' }],
    ['expired', { status: 'expired' }, { state: 'failed' }],
    ['rejected', { status: 'rejected' }, { state: 'failed' }],
    ['weird', { status: 'weird' }, { state: 'running', statusKnown: false }],
    ['without a status', {}, { state: 'running', statusKnown: false }],
    ['a status that is a number', { status: 7 }, { state: 'running', statusKnown: false }],
    ['succeeded without a URL', { status: 'succeeded' }, { state: 'succeeded', outputs: [] }],
    ['content null', { status: 'succeeded', content: null }, { state: 'succeeded', outputs: [] }],
    ['a URL that is a number', { status: 'succeeded', content: { video_url: 5 } }, { outputs: [] }],
    ['error as a string', { status: 'failed', error: 'boom' }, { error: { message: 'boom' } }],
    [
      'error as an array',
      { status: 'failed', error: [{ code: 'a', message: 'b' }] },
      { error: { code: 'a', message: 'b' } },
    ],
    ['error null', { status: 'failed', error: null }, { error: undefined }],
    [
      'a last frame',
      {
        status: 'succeeded',
        content: {
          video_url: 'https://example.com/v.mp4?signature=1',
          last_frame_url: 'https://example.com/l.png',
        },
      },
      { outputs: [video, { role: 'last-frame', type: 'image', url: 'https://example.com/l.png' }] },
    ],
  ])('%s', (_, record, wanted) => {
    expect(alphaFamily.readTask(record, 't')).toMatchObject(wanted);
  });

  test.each(['text', 5, null, []])('%j is none', (record) => {
    expect(() => alphaFamily.readTask(record, 't')).toThrow();
  });
});

describe('through the command', () => {
  const creates = (gateway: FakeGateway) => gateway.requests.filter((line) => line.startsWith('POST')).length;

  test.each<[string, unknown]>([
    ['without an ID', { status: 'queued' }],
    ['with a number for an ID', { id: 12345 }],
    ['with an ID of 10 KB', { id: 'x'.repeat(10_240) }],
    ['with an ID that is a path', { id: '../x' }],
    ['null', null],
    ['an array', []],
    ['empty', ''],
    ['HTML', '<html>welcome</html>'],
    ['cut JSON', '{"status":"queued","i'],
  ])('a 200 %s is exit 14, sent once, in the ledger as unknown', async (_, body) => {
    const { world, gateway, env } = await fakeWorld(() => ({ body }));
    const run = await world.gw(['video', 'alpha', 'create', 'a fox'], { env });
    expect(run, run.err).toMatchObject({ code: 14, out: '' });
    expect(creates(gateway)).toBe(1);
    const listed = await world.gw(['jobs', 'list', '--json'], { env });
    expect(JSON.parse(listed.out)).toMatchObject([{ status: 'unknown', id: expect.stringMatching(/^gw-/) }]);
  });

  test.each<[string, unknown]>([
    ['id alone', { id: 'task-1' }],
    ['task_id alone', { task_id: 'task-1' }],
    [
      'both, pretty-printed',
      '{\n  "id": "task-1",\n  "task_id": "task-1",\n  "object": "video",\n  "status": "queued",\n  "progress": 0\n}\n',
    ],
  ])('a create reply with %s is accepted', async (_, body) => {
    const { world, env } = await fakeWorld(() => ({ body }));
    expect(await world.gw(cmd`video alpha create "a fox"`, { env })).toMatchObject({
      code: 0,
      out: 'task-1\n',
    });
  });

  test.each<[string, Answer, number, object]>([
    [
      'documented',
      {
        status: 400,
        body: {
          error: { message: 'no such ratio', type: 'invalid_request_error', code: 'InvalidParameter' },
        },
      },
      5,
      { kind: 'rejected', status: 400, type: 'invalid_request_error', code: 'InvalidParameter' },
    ],
    ['error as text', { status: 400, body: { error: 'no' } }, 5, { kind: 'rejected' }],
    [
      'HTML',
      { status: 403, body: '<html>forbidden</html>', headers: { 'content-type': 'text/html' } },
      3,
      { kind: 'auth', status: 403 },
    ],
    ['empty', { status: 401, body: '' }, 3, { kind: 'auth', status: 401 }],
    [
      'with a request ID',
      { status: 402, body: { error: { message: 'no funds' } }, headers: { 'x-request-id': 'req-9' } },
      6,
      { kind: 'balance', request_id: 'req-9' },
    ],
    ['cut', { status: 404, body: '{"error":{"mess' }, 4, { kind: 'not_found' }],
  ])('an error body that is %s', async (_, answer, code, wanted) => {
    const { world, env } = await fakeWorld(() => answer);
    const run = await world.gw(['video', 'alpha', 'get', 'task-1', '--json'], { env });
    expect(run.code).toBe(code);
    expect(run.out).toBe('');
    expect(JSON.parse(run.err)).toMatchObject({ error: { ...wanted, exit_code: code } });
  });

  test('times that are no plausible seconds are shown as they came', async () => {
    const { world, env } = await fakeWorld(() => ({
      body: { id: 't', status: 'running', created_at: 1795211159000, updated_at: -5 },
    }));
    const run = await world.gw(['video', 'alpha', 'get', 't'], { env });
    expect(run.out).toMatch(/created_at +1795211159000\n/);
    expect(run.out).toMatch(/updated_at +-5\n/);
  });

  test('an unknown status waits on with one warning; a finished task without a URL is asked three more times', async () => {
    let looks = 0;
    const { world, gateway, env } = await fakeWorld((method) => {
      if (method === 'POST') return { body: { id: 'task-1' } };
      looks += 1;
      return { body: { id: 'task-1', status: looks < 4 ? 'thinking' : 'succeeded' } };
    });
    const run = await world.gw(['video', 'alpha', 'create', 'a fox', '--wait'], { env });
    expect(run.code, run.err).toBe(12);
    expect(run.err.match(/unknown status "thinking"/g)).toHaveLength(1);
    expect(gateway.requests.filter((line) => line.startsWith('GET'))).toHaveLength(3 + 1 + 3);
  });

  test('a reply without a status counts as running wherever the status is told, with one warning in a wait', async () => {
    const { world, env } = await fakeWorld(() => ({ body: { id: 'task-1' } }));
    const created = await world.ok(['video', 'alpha', 'create', 'a fox', '--json'], { env });
    expect(JSON.parse(created.out)).toMatchObject({ id: 'task-1', status: 'running' });
    const wait = await world.gw(['jobs', 'wait', 'task-1', '--wait-timeout', '1m', '--json'], { env });
    expect(JSON.parse(wait.out)).toMatchObject({ id: 'task-1', status: 'running' });
    expect(wait.err.match(/task task-1: no status, taken as still running/g)).toHaveLength(1);
    expect((await world.ok(['jobs', 'list'], { env })).out).toMatch(/^task-1\trunning\t/);
  });

  test('401 ends a wait at once; 404 only after the first minute of the task', async () => {
    for (const [status, looks, code] of [
      [401, 1, 3],
      [404, 6, 4],
    ] as const) {
      const { world, gateway, env } = await fakeWorld((method) =>
        method === 'POST' ? { body: { id: 'task-1' } } : { status, body: { error: { message: 'no' } } },
      );
      const run = await world.gw(['video', 'alpha', 'create', 'a fox', '--wait'], { env });
      expect(run.code, run.err).toBe(code);
      expect(gateway.requests.filter((line) => line.startsWith('GET'))).toHaveLength(looks);
    }
  });

  test('Retry-After of a poll is obeyed; one past the deadline ends the wait at once and says when', async () => {
    let looks = 0;
    const { world, env } = await fakeWorld((method) => {
      if (method === 'POST') return { body: { id: 'task-1' } };
      looks += 1;
      return looks === 1
        ? { status: 429, headers: { 'retry-after': '45' }, body: {} }
        : { status: 429, headers: { 'retry-after': '3600' }, body: {} };
    });
    const run = await world.gw(cmd`video alpha create "a fox" --wait --wait-timeout 10m`, {
      env,
    });
    expect(run.code, run.err).toBe(10);
    expect(world.clock.slept).toContainEqual(expect.closeTo(45_000, -3));
    expect(world.clock.slept.reduce((sum, ms) => sum + ms, 0)).toBeLessThan(120_000);
    expect(run.err).toMatch(/before 20\d\d-/);
  });
});
