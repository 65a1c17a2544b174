import { writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type * as z from 'zod/mini';
import {
  CreateAssetBody,
  CreateGroupBody,
  IdBody,
  UpdateAssetBody,
  UpdateGroupBody,
} from '../../src/gateway/asset/actions.ts';
import { ListAssetsBody, ListGroupsBody } from '../../src/gateway/asset/list.ts';
import { breachesOf } from '../helpers/breaches.ts';
import { KEY, World } from '../helpers/gw.ts';
import { ASSET, type AssetExample, assetExamples, GROUP } from './asset-examples.ts';

let world: World;
let ids: Readonly<Record<string, string>>;

const post = async (
  action: string,
  body: unknown,
  { version = '2024-01-01', sandbox = world.sandbox }: { version?: string; sandbox?: World['sandbox'] } = {},
) => {
  const reply = await fetch(`${sandbox.baseUrl}/?Action=${action}&Version=${version}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  // biome-ignore lint/suspicious/noExplicitAny: each expectation is the check
  return { status: reply.status, body: (await reply.json()) as any };
};
const made = async (action: string, body: object): Promise<string> =>
  (await post(action, body)).body.Result.Id;

beforeAll(async () => {
  world = await World.open({ speed: 1e9 });
  const group = await made('CreateAssetGroup', { Name: 'foxes' });
  const asset = await made('CreateAsset', {
    GroupId: group,
    URL: 'https://example.com/fox.png',
    AssetType: 'Image',
    Name: 'fox',
  });
  ids = { [GROUP]: group, [ASSET]: asset };
});
afterAll(() => world.close());

/** The literal body, with the IDs of a group and an asset that exist. */
const real = (body: unknown): Record<string, unknown> =>
  JSON.parse(
    Object.entries(ids).reduce((text, [from, to]) => text.replaceAll(from, to), JSON.stringify(body)),
  );

const schemas: Readonly<Record<string, z.ZodMiniType>> = {
  CreateAssetGroup: CreateGroupBody,
  ListAssetGroups: ListGroupsBody,
  GetAssetGroup: IdBody,
  UpdateAssetGroup: UpdateGroupBody,
  DeleteAssetGroup: IdBody,
  CreateAsset: CreateAssetBody,
  ListAssets: ListAssetsBody,
  GetAsset: IdBody,
  UpdateAsset: UpdateAssetBody,
  DeleteAsset: IdBody,
};
const commands: Readonly<Record<string, readonly string[]>> = {
  CreateAssetGroup: ['asset', 'group', 'create'],
  ListAssetGroups: ['asset', 'group', 'list'],
  UpdateAssetGroup: ['asset', 'group', 'update'],
  CreateAsset: ['asset', 'create'],
  ListAssets: ['asset', 'list'],
  UpdateAsset: ['asset', 'update'],
};
const looks: Readonly<Record<string, readonly string[]>> = {
  GetAssetGroup: ['asset', 'group', 'get'],
  GetAsset: ['asset', 'get'],
};

function argvOf({ action }: AssetExample, body: Record<string, unknown>): string[] {
  const id = typeof body.Id === 'string' ? [body.Id] : [];
  const look = looks[action];
  if (look) return [...look, ...id];
  const file = path.join(world.cwd, 'body.json');
  writeFileSync(file, JSON.stringify(body));
  return [...(commands[action] ?? []), ...id, '--body', file];
}

const named = ({ action, rule }: AssetExample) => [`${action}: ${rule}`] as const;
const accepted = assetExamples
  .filter((example) => !example.refused)
  .map((example) => [...named(example), example] as const);
const refused = assetExamples
  .filter((example) => example.refused)
  .map((example) => [...named(example), example] as const);

describe('literal requests of the asset library', () => {
  test('every action has an accepted or a refused one', () => {
    expect([...new Set(assetExamples.map(({ action }) => action))].sort()).toEqual(
      Object.keys(schemas).sort(),
    );
  });

  test.each(accepted)('accepted: %s', async (_, example) => {
    const body = real(example.body);
    expect(breachesOf(schemas[example.action] as z.ZodMiniType, body)).toEqual([]);
    const reply = await post(example.action, body);
    expect(reply, JSON.stringify(reply.body)).toMatchObject({
      status: 200,
      body: {
        ResponseMetadata: {
          RequestId: expect.stringMatching(/^\w+$/),
          Action: example.action,
          Version: '2024-01-01',
          Service: expect.any(String),
          Region: expect.any(String),
        },
        Result: expect.any(Object),
      },
    });
    expect(reply.body.ResponseMetadata.Error).toBeUndefined();
    await world.ok(argvOf(example, body));
    const sent = world.sandbox.requests.at(-1);
    expect(sent?.path).toBe(`/?Action=${example.action}&Version=2024-01-01`);
    // gw must send exactly the literal body.
    expect(sent?.body).toEqual(body);
  });

  test.each(refused)('refused: %s', async (_, example) => {
    const body = real(example.body);
    const { code, says } = example.refused ?? { code: '', says: /./ };
    expect(breachesOf(schemas[example.action] as z.ZodMiniType, body).join('\n')).toMatch(says);
    const reply = await post(example.action, body);
    expect(reply).toMatchObject({
      status: 400,
      body: {
        ResponseMetadata: { Action: example.action, Error: { Code: code, Message: expect.any(String) } },
      },
    });
    expect(reply.body.Result).toBeUndefined();
    if (example.onlyBody) return;
    const before = world.sandbox.requests.length;
    const run = await world.gw(argvOf(example, body));
    expect(run.code, run.err).toBe(2);
    expect(run.out).toBe('');
    expect(run.err).toMatch(/^error: /);
    expect(world.sandbox.requests.length).toBe(before);
  });
});

describe('what comes to the library and is no action of it', () => {
  test.each([
    ['another version', 'GetAsset', '2023-01-01', { Id: 'asset-1' }, 400, 'InvalidParameter.Version'],
    ['no version', 'GetAsset', '', { Id: 'asset-1' }, 400, 'MissingParameter.Version'],
    ['an action that there is not', 'CopyAsset', '2024-01-01', {}, 400, 'InvalidAction'],
    ['no action', '', '2024-01-01', {}, 400, 'MissingParameter.Action'],
    ['a body that is not JSON', 'GetAsset', '2024-01-01', '{"Id":', 400, 'InvalidRequest'],
    ['a body that is a list', 'GetAsset', '2024-01-01', [], 400, 'InvalidRequest'],
    ['an asset that is not there', 'GetAsset', '2024-01-01', { Id: 'asset-1' }, 404, 'ResourceNotFound'],
    [
      'a group that is not there',
      'DeleteAssetGroup',
      '2024-01-01',
      { Id: 'group-1' },
      404,
      'ResourceNotFound',
    ],
    [
      'a token of no list',
      'ListAssets',
      '2024-01-01',
      { Filter: { GroupType: 'AIGC' }, NextToken: 'abc' },
      400,
      'InvalidParameter.NextToken',
    ],
  ])('%s', async (_, action, version, body, status, code) => {
    const reply = await post(action, body, { version });
    expect(reply).toMatchObject({ status, body: { ResponseMetadata: { Error: { Code: code } } } });
    expect(reply.body).not.toHaveProperty('Result');
  });

  test('a field that is none is passed over; a strict sandbox names it', async () => {
    const codeAt = async ({ sandbox }: World) =>
      (await post('GetAsset', { Id: 'asset-1', Fast: true }, { sandbox })).body.ResponseMetadata.Error.Code;
    expect(await codeAt(world)).toBe('ResourceNotFound');
    const strict = await World.open({ speed: 1e9, strict: true });
    expect(await codeAt(strict).finally(() => strict.close())).toBe('InvalidParameter.Fast');
  });
});
