import { describe, expect, test } from 'vitest';
import { cmd } from '../helpers/cmd.ts';
import { type Answer, fakeGateway } from '../helpers/fake-gateway.ts';
import { World } from '../helpers/gw.ts';

// A model that gw's tables do not have may be newer than gw, so gw asks the gateway's model list.

async function withList(list: Answer) {
  const world = await World.open();
  const gateway = await fakeGateway((_, url) =>
    url === '/v1/models' ? list : { body: { task_id: 't-1', status: 'queued' } },
  );
  const gw = (...argv: string[]) => world.gw(argv, { env: { GW_BASE_URL: gateway.url } });
  return { gw, requests: gateway.requests };
}

const listed = { body: { data: [{ id: 'alpha-video-3-0' }, { id: 'gamma-H4' }, { id: 'gamma-H3' }] } };
const alpha = ['video', 'alpha', 'create', 'a fox'];
const gamma = cmd`video gamma create "a fox" --resolution 768P --duration 60 --ratio 16:9`;

describe.each([
  ['alpha', alpha, 'alpha-video-3-0', 'POST /api/v3/contents/generations/tasks'],
  ['gamma', gamma, 'gamma-H4', 'POST /v2/video_generation'],
])('%s', (family, argv, model, create) => {
  test('a model that the gateway lists is sent, with one warning, and asked for once', async () => {
    const { gw, requests } = await withList(listed);
    const run = await gw(...argv, '-m', model);
    expect(run, run.err).toMatchObject({ code: 0, out: 't-1\n' });
    expect(run.err.match(/warning: .*/g)).toEqual([
      `warning: gw's tables do not know ${model}, which the gateway lists: its limits are not checked`,
    ]);
    expect(requests).toEqual(['GET /v1/models', create]);
    expect((await gw(...argv, '-m', model)).code).toBe(0);
    expect(requests.slice(2)).toEqual([create]);
  });

  test('one that it does not list is refused, with what may be meant', async () => {
    const { gw, requests } = await withList(listed);
    const run = await gw(...argv, '-m', `${model}x`);
    expect(run).toMatchObject({ code: 2, err: expect.stringContaining(`did you mean ${model}?`) });
    expect(requests).toEqual(['GET /v1/models']);
  });

  test('where the list cannot be had it is refused, and asked for once', async () => {
    const { gw, requests } = await withList({ status: 503 });
    expect(await gw(...argv, '-m', model)).toMatchObject({
      code: 2,
      err: expect.stringContaining(`not a model of family ${family}`),
    });
    expect(requests).toEqual(['GET /v1/models']);
  });

  test('--dry-run asks nobody, and takes the kept list', async () => {
    const { gw, requests } = await withList(listed);
    expect((await gw(...argv, '-m', model, '--dry-run')).code).toBe(2);
    expect(requests).toEqual([]);
    await gw('models', 'list');
    expect((await gw(...argv, '-m', model, '--dry-run')).code).toBe(0);
    expect(requests).toEqual(['GET /v1/models']);
  });

  test('rules that hold for every model still hold, and then nobody is asked', async () => {
    const { gw, requests } = await withList(listed);
    const frames = ['--last-frame', 'https://e.com/a.png', '--image', 'asset://asset-123456'];
    const run = await gw(
      ...argv.slice(0, 3),
      ...cmd`"say asset://asset-123456" ${argv.slice(4)} -m ${model} ${frames}`,
    );
    expect(run.code).toBe(2);
    expect(requests).toEqual([]);
  });
});

test('a model of another family is refused, though the gateway lists it', async () => {
  const { gw, requests } = await withList(listed);
  expect((await gw(...alpha, '-m', 'gamma-H3')).code).toBe(2);
  expect(requests).toEqual([]);
});

test('what the document leaves open is warned of beside a model that the gateway lists', async () => {
  const { gw } = await withList(listed);
  const { code, err } = await gw(...alpha, '-m', 'alpha-video-3-0', '--set', 'content=[]');
  expect([code, err.match(/^warning: (\w+)/gm)]).toEqual([0, ['warning: gw', 'warning: content']]);
});
