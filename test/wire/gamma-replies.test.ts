import { describe, expect, test } from 'vitest';
import { gammaFamily } from '../../src/gateway/gamma/task.ts';
import { cmd } from '../helpers/cmd.ts';
import type { FakeGateway } from '../helpers/fake-gateway.ts';
import { fakeWorld } from '../helpers/fake-world.ts';

// Literal replies of family C: those that the document allows, and those that it does not allow.

const succeeded = {
  id: 'task-1',
  model: 'gamma-H3',
  status: 'succeeded',
  created_at: 1795211159,
  updated_at: 1795211166,
  content: { url: 'https://example.com/v.mp4?signature=1' },
  resolution: '768P',
  duration: 6,
  ratio: '16:9',
  task_type: 'generation',
  modality: 'video',
  usage: {
    total_seconds: 11,
    input_seconds: 5,
    output_seconds: 6,
    input_image_count: 1,
    input_audio_seconds: 2,
    total_tokens: 120,
    prompt_tokens: 20,
    completion_tokens: 100,
  },
};
const video = { role: 'video', type: 'video', url: 'https://example.com/v.mp4?signature=1' };

describe('a task record', () => {
  test.each<[string, unknown, object]>([
    [
      'as documented on success',
      succeeded,
      { state: 'succeeded', statusKnown: true, outputs: [video], usage: { outputS: 6, tokens: 120 } },
    ],
    ['queued', { id: 't', status: 'queued' }, { state: 'running', statusKnown: true, outputs: [] }],
    ['running', { id: 't', status: 'running' }, { state: 'running', statusKnown: true }],
    [
      'as documented on failure',
      { id: 't', status: 'failed', error: { code: '1026', message: 'sensitive' } },
      { state: 'failed', error: { code: '1026', message: 'sensitive' } },
    ],
    [
      'as documented on cancellation',
      { id: 't', status: 'cancelled', error: { code: 'cancelled', message: 'by the user' } },
      { state: 'failed', status: 'cancelled', statusKnown: true, error: { code: 'cancelled' } },
    ],
    ['another type of task', { ...succeeded, task_type: 'regeneration' }, { outputs: [video] }],
    ['SUCCEEDED', { ...succeeded, status: 'SUCCEEDED' }, { state: 'succeeded', status: 'succeeded' }],
    ['weird', { status: 'weird' }, { state: 'running', statusKnown: false }],
    ['without a status', {}, { state: 'running', statusKnown: false }],
    ['succeeded without a URL', { status: 'succeeded' }, { state: 'succeeded', outputs: [] }],
    ['content null', { status: 'succeeded', content: null }, { state: 'succeeded', outputs: [] }],
    ['an empty URL', { status: 'succeeded', content: { url: '' } }, { outputs: [] }],
    ['a URL that is a number', { status: 'succeeded', content: { url: 5 } }, { outputs: [] }],
    [
      'usage without audio and tokens',
      { ...succeeded, usage: { output_seconds: 6 } },
      { usage: { outputS: 6, tokens: undefined } },
    ],
    ['no usage', { ...succeeded, usage: undefined }, { usage: { outputS: 6, tokens: undefined } }],
    ['usage as a text', { ...succeeded, usage: 'much' }, { usage: { outputS: 6 } }],
    ['usage below zero', { ...succeeded, usage: { output_seconds: -1 } }, { usage: { outputS: 6 } }],
    ['error as a string', { status: 'failed', error: 'boom' }, { error: { message: 'boom' } }],
    ['error null', { status: 'failed', error: null }, { error: undefined }],
  ])('%s', (_, record, wanted) => {
    expect(gammaFamily.readTask(record, 't')).toMatchObject(wanted);
  });

  test.each([['text'], [5], [null], [[]]])('%j is none', (record) => {
    expect(() => gammaFamily.readTask(record, 't')).toThrow();
  });

  test('stands in the reply under task', () => {
    expect(gammaFamily.query.records({ task: succeeded }, ['task-1']).get('task-1')).toBe(succeeded);
  });

  test('lives as documented: records 7 days, links an hour, looked at every 3 to 10 s', () => {
    expect(gammaFamily).toMatchObject({
      recordLifeMs: 604_800_000,
      linkLifeMs: 3_600_000,
      pollIntervalMs: { min: 3000, max: 10_000 },
    });
    expect(gammaFamily.externalIds).toBeUndefined();
  });
});

describe('through the command', () => {
  const argv = cmd`video gamma create "a fox" --resolution 768P --duration 5 --ratio 1:1`;
  const creates = (gateway: FakeGateway) => gateway.requests.filter((line) => line.startsWith('POST'));
  const looks = (gateway: FakeGateway) => gateway.requests.filter((line) => line.startsWith('GET'));

  test('a create reply names the task: its ID is printed, and it stands as queued', async () => {
    const { world, gateway, env } = await fakeWorld(() => ({ body: { task_id: 'task-1' } }));
    expect(await world.gw(argv, { env })).toMatchObject({ code: 0, out: 'task-1\n', err: '' });
    expect(creates(gateway)).toEqual(['POST /v2/video_generation']);
    const listed = await world.gw(['jobs', 'list', '--json'], { env });
    expect(JSON.parse(listed.out)).toMatchObject([{ id: 'task-1', family: 'gamma', status: 'queued' }]);
  });

  // The document does not define the form of an ID, and Base64 is a common one.
  test.each(['YWJj+A==', '_x~1', 'task@eu:1'])('an ID %s is asked for as it is', async (id) => {
    const task = { id, status: 'succeeded', content: { url: 'https://example.com/v.mp4' } };
    const { world, gateway, env } = await fakeWorld((request) =>
      request.startsWith('POST') ? { body: { task_id: id } } : { body: { task } },
    );
    expect(await world.gw(argv, { env })).toMatchObject({ code: 0, out: `${id}\n`, err: '' });
    expect(await world.gw(['jobs', 'wait', id, '--no-download'], { env })).toMatchObject({ code: 0 });
    expect(looks(gateway)).toEqual([`GET /v2/query/video_generation/${encodeURIComponent(id)}`]);
  });

  test.each<[string, unknown]>([
    ['without an ID', { id: 'task-1' }],
    ['with an ID that is a flag', { task_id: '--force' }],
    ['with a number for an ID', { task_id: 12345 }],
    ['with an ID that is a path', { task_id: '../x' }],
    ['empty', ''],
    ['cut JSON', '{"task_i'],
  ])('a 200 %s is exit 14, sent once, in the ledger as unknown', async (_, body) => {
    const { world, gateway, env } = await fakeWorld(() => ({ body }));
    expect(await world.gw(argv, { env })).toMatchObject({ code: 14, out: '' });
    expect(creates(gateway)).toHaveLength(1);
    const listed = await world.gw(['jobs', 'list', '--json'], { env });
    expect(JSON.parse(listed.out)).toMatchObject([{ status: 'unknown', id: expect.stringMatching(/^gw-/) }]);
  });

  test('an error inside a 200 leaves the outcome open, and is quoted', async () => {
    const { world, gateway, env } = await fakeWorld(() => ({
      body: { error: { message: 'the prompt is sensitive', code: '1026' } },
    }));
    const run = await world.gw(argv, { env });
    expect(run).toMatchObject({ code: 14, out: '' });
    expect(run.err).toContain('1026: the prompt is sensitive');
    expect(creates(gateway)).toHaveLength(1);
  });

  test.each(['gamma', 'alpha', 'beta'])('a record of another task of family %s is told', async (family) => {
    const task = { id: 'task-2', status: 'succeeded' };
    const bodies: Record<string, unknown> = { gamma: { task }, alpha: task, beta: { code: 0, data: [task] } };
    const { world, env } = await fakeWorld(() => ({ body: bodies[family] }));
    const run = await world.gw(['video', family, 'get', 'task-1', '--json'], { env });
    expect(run, run.err).toMatchObject({ code: 8, out: '' });
    expect(run.err).toContain('task task-1 was asked for, and it is the record of task task-2');
    const wait = ['video', family, 'wait', 'task-1', '--wait-timeout', '2m'];
    expect((await world.gw(wait, { env })).err).toContain('it is the record of task task-2');
  });

  test('a query that meets 400 is an unknown task: exit 4', async () => {
    const { world, gateway, env } = await fakeWorld(() => ({
      status: 400,
      body: { error: { message: 'task not found', code: 'invalid_task' } },
    }));
    const run = await world.gw(['video', 'gamma', 'get', 'task-1', '--json'], { env });
    expect(run, run.err).toMatchObject({ code: 4, out: '' });
    expect(JSON.parse(run.err)).toMatchObject({ error: { kind: 'not_found', code: 'invalid_task' } });
    expect(looks(gateway)).toEqual(['GET /v2/query/video_generation/task-1']);
  });

  test('get shows every field of usage, the actual ratio and no link; --json the reply as it came', async () => {
    const text = JSON.stringify({ task: { ...succeeded, ratio: '4:3' } }, undefined, 1);
    const { world, env } = await fakeWorld(() => ({ body: text }));
    const run = await world.ok(['video', 'gamma', 'get', 'task-1'], { env });
    for (const [name, value] of Object.entries(succeeded.usage)) {
      expect(run.out).toMatch(new RegExp(`^usage\\.${name} +${value}$`, 'm'));
    }
    expect(run.out).toMatch(/^ratio +4:3$/m);
    expect(run.out).toMatch(/^created_at +1795211159 \(2026-/m);
    expect(run.out).not.toContain('example.com');
    expect((await world.gw(['video', 'gamma', 'get', 'task-1', '--json'], { env })).out).toBe(text);
  });

  test.each([[{}], [{ task: null }], [{ task: [] }], [[]], ['<html>']])(
    'a record that is none (%j) is exit 8',
    async (body) => {
      const { world, env } = await fakeWorld(() => ({ body }));
      expect(await world.gw(['video', 'gamma', 'get', 'task-1'], { env })).toMatchObject({
        code: 8,
        out: '',
      });
    },
  );

  test('a cancelled task is exit 9 with what the gateway says of it', async () => {
    const task = {
      id: 'task-1',
      status: 'cancelled',
      error: { code: 'UserCancelled', message: 'in the console' },
    };
    const { world, env } = await fakeWorld((method) => ({
      body: method === 'POST' ? { task_id: 'task-1' } : { task },
    }));
    const run = await world.gw([...argv, '--wait', '--json'], { env });
    expect(run.code, run.err).toBe(9);
    expect(JSON.parse(run.out)).toMatchObject({ id: 'task-1', status: 'cancelled', record: task, files: [] });
    expect(JSON.parse(run.err.trim().split('\n').at(-1) ?? '')).toMatchObject({
      error: { kind: 'task_failed', code: 'UserCancelled', task_id: 'task-1' },
    });
  });
});
