import { describe, expect, it } from 'vitest';
import type { Sandbox } from '../../src/sandbox/server.ts';
import {
  ask,
  audio,
  auth,
  bodyOf,
  create,
  get,
  handClock,
  image,
  json,
  newStateDir,
  post,
  sandbox,
  text,
  video,
} from './fixture.ts';

const act = async (at: Sandbox, action: string, body: object) =>
  json(await post(at, `/?Action=${action}&Version=2024-01-01`, body));
const madeGroup = async (at: Sandbox, over: object = {}): Promise<string> =>
  (await act(at, 'CreateAssetGroup', { Name: 'foxes', ...over })).Result.Id;
const madeAsset = async (at: Sandbox, GroupId: string, over: object = {}): Promise<string> => {
  const body = { GroupId, URL: 'https://example.com/fox.png', AssetType: 'Image', Name: 'fox', ...over };
  return (await act(at, 'CreateAsset', body)).Result.Id;
};
const seen = async (at: Sandbox, Id: string) => (await act(at, 'GetAsset', { Id })).Result;
const codeOf = (reply: { ResponseMetadata: { Error?: { Code: string } } }) =>
  reply.ResponseMetadata.Error?.Code;

/** A sandbox whose time is moved by hand, and a group in it. */
async function library(speed = 1) {
  const clock = handClock();
  const at = await sandbox({ now: clock.now, speed, strict: true });
  return { clock, at, group: await madeGroup(at) };
}

describe('the life of an asset', () => {
  it('is Processing, then Active, faster at a higher speed', async () => {
    const { clock, at, group } = await library(10);
    const id = await madeAsset(at, group);
    expect(await seen(at, id)).toEqual({
      Id: id,
      Name: 'fox',
      GroupId: group,
      ProjectName: 'default',
      AssetType: 'Image',
      Status: 'Processing',
      Moderation: { Strategy: 'Default' },
      URL: 'https://example.com/fox.png',
      CreateTime: '2026-11-20T12:00:00Z',
      UpdateTime: '2026-11-20T12:00:00Z',
    });
    clock.pass(1000);
    expect((await seen(at, id)).Status).toBe('Active');
    const slow = await library(1);
    const other = await madeAsset(slow.at, slow.group);
    slow.clock.pass(1000);
    expect((await seen(slow.at, other)).Status).toBe('Processing');
  });

  it.each([
    ['https://example.com/unavailable/fox.png', 'Image', 'AssetURLUnavailable'],
    ['https://example.com/too-large.png', 'Image', 'AssetTooLarge'],
    ['https://example.com/invalid-fox.png', 'Image', 'InvalidAsset'],
    ['https://example.com/mismatch', 'Video', 'AssetTypeMismatch'],
    ['https://example.com/fox.png', 'Video', 'AssetTypeMismatch'],
    ['https://example.com/fox.mp3', 'Image', 'AssetTypeMismatch'],
    ['https://example.com/fox', 'Video', undefined],
    ['https://example.com/fox.png?invalid', 'Image', undefined],
  ])('%s as %s ends with %s', async (URL, AssetType, code) => {
    const { clock, at, group } = await library();
    const id = await madeAsset(at, group, { URL, AssetType });
    clock.pass(60_000);
    const asset = await seen(at, id);
    expect([asset.Status, asset.Error?.Code]).toEqual([code ? 'Failed' : 'Active', code]);
  });

  it('is renamed, keeps what was not said, and is deleted for good', async () => {
    const { clock, at, group } = await library();
    const id = await madeAsset(at, group);
    clock.pass(1000);
    expect((await act(at, 'UpdateAsset', { Id: id, Name: 'red' })).Result).toEqual({ Id: id });
    expect(await seen(at, id)).toMatchObject({ Name: 'red', UpdateTime: '2026-11-20T12:00:01Z' });
    expect((await act(at, 'UpdateAssetGroup', { Id: group, Description: 'd' })).Result).toEqual({
      Id: group,
    });
    expect((await act(at, 'GetAssetGroup', { Id: group })).Result).toMatchObject({
      Name: 'foxes',
      Description: 'd',
    });
    expect((await act(at, 'DeleteAsset', { Id: id })).Result).toEqual({});
    expect(codeOf(await act(at, 'DeleteAsset', { Id: id }))).toBe('ResourceNotFound');
  });

  it('ends with its group', async () => {
    const { at, group } = await library();
    const id = await madeAsset(at, group);
    expect((await act(at, 'DeleteAssetGroup', { Id: group })).Result).toEqual({});
    for (const [action, body] of [
      ['GetAsset', { Id: id }],
      ['GetAssetGroup', { Id: group }],
      ['DeleteAssetGroup', { Id: group }],
      ['CreateAsset', { GroupId: group, URL: 'https://example.com/a.png', AssetType: 'Image', Name: 'a' }],
    ] as const) {
      expect(codeOf(await act(at, action, body)), action).toBe('ResourceNotFound');
    }
    expect(json(await get(at, '/api/assets')).total).toBe(0);
  });
});

it('projects know nothing of each other', async () => {
  const { at } = await library();
  const group = await madeGroup(at, { ProjectName: 'film' });
  const inFilm = { ProjectName: 'film' };
  const id = await madeAsset(at, group, inFilm);
  expect((await act(at, 'GetAsset', { Id: id, ...inFilm })).Result.ProjectName).toBe('film');
  expect(codeOf(await act(at, 'GetAsset', { Id: id }))).toBe('ResourceNotFound');
  expect(codeOf(await act(at, 'DeleteAssetGroup', { Id: group }))).toBe('ResourceNotFound');
  const Filter = { GroupType: 'AIGC' };
  expect((await act(at, 'ListAssets', { Filter })).Result.Items).toEqual([]);
  expect((await act(at, 'ListAssets', { Filter, ...inFilm })).Result.Items).toHaveLength(1);
  const body = { GroupId: group, URL: 'https://example.com/a.png', AssetType: 'Image', Name: 'a' };
  expect(codeOf(await act(at, 'CreateAsset', body))).toBe('ResourceNotFound');
});

describe('lists', () => {
  const Filter = { GroupType: 'AIGC' };
  async function full(count: number) {
    const { clock, at, group } = await library(1e9);
    const ids: string[] = [];
    for (let nth = 0; nth < count; nth += 1) {
      clock.pass(1000);
      ids.unshift(await madeAsset(at, group, { Name: `fox ${nth}` }));
    }
    clock.pass(1000);
    return { clock, at, group, ids };
  }
  const idsOf = (reply: { Result: { Items: { Id: string }[] } }) => reply.Result.Items.map(({ Id }) => Id);

  it('give ten by default, and a token only where more follow', async () => {
    const { at, ids } = await full(12);
    const first = await act(at, 'ListAssets', { Filter });
    expect(idsOf(first)).toEqual(ids.slice(0, 10));
    const { NextToken } = first.Result;
    const second = await act(at, 'ListAssets', { Filter, NextToken });
    expect(idsOf(second)).toEqual(ids.slice(10));
    expect(second.Result).not.toHaveProperty('NextToken');
    expect(first.Result).not.toHaveProperty('TotalCount');
  });

  it.each([
    ['another filter', { Filter: { GroupType: 'AIGC', Name: 'x' } }],
    ['another order', { SortOrder: 'Asc' }],
    ['another sort', { SortBy: 'UpdateTime' }],
    ['another size', { MaxResults: 3 }],
    ['another project', { ProjectName: 'film' }],
  ])('a token is not good for %s', async (_, change) => {
    const { at } = await full(4);
    const { NextToken } = (await act(at, 'ListAssets', { Filter, MaxResults: 2 })).Result;
    const reply = await act(at, 'ListAssets', { Filter, MaxResults: 2, NextToken, ...change });
    expect(codeOf(reply)).toBe('InvalidParameter.NextToken');
    expect(codeOf(await act(at, 'ListAssetGroups', { Filter, MaxResults: 2, NextToken }))).toBe(
      'InvalidParameter.NextToken',
    );
  });

  it('pages by token stand still while assets come and go', async () => {
    const { clock, at, group, ids } = await full(4);
    const first = await act(at, 'ListAssets', { Filter, MaxResults: 2 });
    clock.pass(1000);
    await madeAsset(at, group);
    await act(at, 'DeleteAsset', { Id: ids[0] });
    const second = await act(at, 'ListAssets', { Filter, MaxResults: 2, NextToken: first.Result.NextToken });
    expect(idsOf(second)).toEqual(ids.slice(2));
  });

  it('by page tell number, size and total', async () => {
    const { at, ids } = await full(5);
    const reply = await act(at, 'ListAssets', { Filter, PageNumber: 3, PageSize: 2 });
    expect(reply.Result).toMatchObject({ PageNumber: 3, PageSize: 2, TotalCount: 5 });
    expect(idsOf(reply)).toEqual(ids.slice(4));
  });

  it('the REST list takes name, status, limit and offset', async () => {
    const { at, ids } = await full(22);
    const all = json(await get(at, '/api/assets'));
    expect([all.items.length, all.total]).toEqual([20, 22]);
    expect(all.data).toEqual(all.items);
    const some = json(await get(at, '/api/assets?limit=3&offset=20&status=Active&name=FOX'));
    expect(some.items.map(({ Id }: { Id: string }) => Id)).toEqual(ids.slice(20));
    expect(json(await get(at, '/api/assets?status=Failed')).total).toBe(0);
    for (const query of ['limit=0', 'limit=101', 'limit=x', 'offset=-1', 'status=Done', 'project=film']) {
      expect((await get(at, `/api/assets?${query}`)).status, query).toBe(400);
    }
  });

  it('the REST aliases answer as the actions do', async () => {
    const { at, group } = await library();
    const body = { GroupId: group, URL: 'https://example.com/a.png', AssetType: 'image', Name: 'a' };
    const made = json(await post(at, '/api/assets/upload', body));
    expect(made).toMatchObject({
      ResponseMetadata: { Action: 'CreateAsset' },
      Result: { Id: expect.any(String) },
    });
    const asset = json(await get(at, `/api/assets/${made.Result.Id}`));
    expect(asset).toEqual(await seen(at, made.Result.Id));
    expect((await get(at, '/api/assets/asset-1')).status).toBe(404);
    const bad = await post(at, '/api/assets/upload', { ...body, AssetType: 'x' });
    expect([bad.status, codeOf(json(bad))]).toEqual([400, 'InvalidParameter.AssetType']);
  });
});

describe('assets in a video request', () => {
  const used = (content: object[]) => bodyOf({ content: [text('x'), ...content] });

  it('are used where they are Active and of the right type, and remember it', async () => {
    const { clock, at, group } = await library();
    const id = await madeAsset(at, group);
    const body = used([image('reference_image', `asset://${id}`)]);
    const early = await create(at, body);
    expect([early.status, json(early).error.message]).toEqual([
      400,
      expect.stringMatching(/is Processing, not Active/),
    ]);
    clock.pass(60_000);
    expect(await seen(at, id)).not.toHaveProperty('LastInferenceTime');
    expect((await create(at, body)).status).toBe(200);
    expect((await seen(at, id)).LastInferenceTime).toBe('2026-11-20T12:01:00Z');
    for (const wrong of [video(`asset://${id}`), audio(`asset://${id}`)]) {
      const reply = await create(at, used([image('reference_image'), wrong]));
      expect([reply.status, json(reply).error.message]).toEqual([
        400,
        expect.stringMatching(/of the type Image/),
      ]);
    }
  });

  it('are refused where they have failed, are of two projects, or went with their group', async () => {
    const { clock, at, group } = await library();
    const film = await madeGroup(at, { ProjectName: 'film' });
    const failed = await madeAsset(at, group, { URL: 'https://example.com/invalid.png' });
    const other = await madeAsset(at, film, { ProjectName: 'film' });
    const gone = await madeAsset(at, group);
    clock.pass(60_000);
    const use = (...ids: string[]) =>
      create(at, used(ids.map((id) => image('reference_image', `asset://${id}`))));
    const refusal = async (...ids: string[]) => json(await use(...ids)).error.message;
    expect(await refusal(failed)).toMatch(/is Failed, not Active/);
    expect(await refusal(gone, other)).toMatch(/of the project film, asset-.* of default/);
    expect((await use(other)).status).toBe(200);
    await act(at, 'DeleteAssetGroup', { Id: group });
    expect(await refusal(gone)).toMatch(/^Invalid parameter content\[1\]\.image_url\.url: .*does not exist/);
  });

  it('samples are there without an upload, in no list, and stay as they are', async () => {
    const { at } = await library();
    expect(await seen(at, 'asset-sandbox-audio-7')).toMatchObject({ AssetType: 'Audio', Status: 'Active' });
    expect((await create(at, used([video('asset://asset-sandbox-video-1')]))).status).toBe(200);
    expect(json(await get(at, '/api/assets')).total).toBe(0);
    const Id = 'asset-sandbox-image-1';
    expect(codeOf(await act(at, 'DeleteAsset', { Id }))).toBe('InvalidParameter.Id');
    expect(codeOf(await act(at, 'UpdateAsset', { Id, Name: 'x' }))).toBe('InvalidParameter.Id');
    expect(await seen(at, Id)).not.toHaveProperty('LastInferenceTime');
  });
});

it('two servers on one state directory share the library', async () => {
  const stateDir = await newStateDir();
  const [one, two] = [await sandbox({ stateDir }), await sandbox({ stateDir })];
  const id = await madeAsset(one, await madeGroup(one));
  expect((await seen(two, id)).Id).toBe(id);
  await act(two, 'DeleteAsset', { Id: id });
  expect(codeOf(await act(one, 'GetAsset', { Id: id }))).toBe('ResourceNotFound');
});

it('a key is needed, and another method is not taken', async () => {
  const at = await sandbox();
  const url = `${at.baseUrl}/?Action=GetAsset&Version=2024-01-01`;
  const headers = { 'content-type': 'application/json' };
  expect((await ask(url, { method: 'POST', headers, body: '{}' })).status).toBe(401);
  expect((await ask(url, { headers: auth })).status).toBe(404);
});
