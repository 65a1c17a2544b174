import { describe, expect, test } from 'vitest';
import { cmd } from '../helpers/cmd.ts';
import { fakeGateway } from '../helpers/fake-gateway.ts';
import { World } from '../helpers/gw.ts';

/** A library with `count` assets, created one second apart, and their IDs, newest first. */
async function withAssets(count: number) {
  const world = await World.open({ speed: 1e9 });
  const group = (await world.gw(['asset', 'group', 'create', '--name', 'foxes'])).out.trim();
  const ids: string[] = [];
  for (let at = 0; at < count; at += 1) {
    world.clock.ms += 1000;
    const url = `https://example.com/fox-${at}.png`;
    const argv = ['asset', 'create', '--group', group, '--url', url, '--name', `Fox ${at}`];
    ids.unshift((await world.gw(argv)).out.trim());
  }
  world.clock.ms += 1000;
  const list = (...argv: string[]) => world.gw(['asset', 'list', ...argv]);
  return { world, group, ids, list };
}
const lines = (text: string) => text.split('\n').filter(Boolean);

describe('gw asset list', () => {
  test('prints rows in a pipe, a table on a terminal, IDs with -q', async () => {
    const { ids, list, world, group } = await withAssets(2);
    expect((await list('-q')).out).toBe(`${ids.join('\n')}\n`);
    const [row = ''] = lines((await list()).out);
    expect(row.split('\t')).toEqual([ids[0], 'Image', 'Active', 'Fox 1', group, '2026-11-20T12:00:02Z', '-']);
    const table = await world.gw(['asset', 'list'], { terminal: true });
    expect(lines(table.out)[0]).toMatch(/ID .*TYPE .*STATUS .*NAME/);
  });

  test('goes on by token, with everything else unchanged', async () => {
    const { ids, list, world } = await withAssets(5);
    const first = await list('--limit', '2', '--name', 'fox', '--json');
    const { Result } = JSON.parse(first.out);
    expect(Result.Items.map(({ Id }: { Id: string }) => Id)).toEqual(ids.slice(0, 2));
    expect(first.err).toContain(`--token ${Result.NextToken}, or with --all for all of them`);
    const next = ['--limit', '2', '--name', 'fox', '--token', Result.NextToken];
    expect(lines((await list('-q', ...next)).out)).toEqual(ids.slice(2, 4));
    const set = await list(
      '--limit',
      '2',
      '--name',
      'fox',
      '--set',
      `NextToken=${Result.NextToken}`,
      '--json',
    );
    const { NextToken } = JSON.parse(set.out).Result;
    // A typed --set beats --token, so the note names the --set.
    expect(set.err).toContain(`--set NextToken=${NextToken}, or with --all for all of them`);
    const other = await list('--limit', '2', '--token', Result.NextToken);
    expect(other).toMatchObject({ code: 5, err: expect.stringContaining('InvalidParameter.NextToken') });
    expect(world.sandbox.requests.at(-1)?.body).toMatchObject({ Filter: { GroupType: 'AIGC' } });
  });

  test('--all follows the tokens, one object a line, and asks for the same each time', async () => {
    const { ids, list, world } = await withAssets(5);
    const before = world.sandbox.requests.length;
    const run = await list('--all', '--limit', '2', '--status', 'Active', '--json');
    expect(lines(run.out).map((line) => JSON.parse(line).Id)).toEqual(ids);
    const bodies = world.sandbox.requests.slice(before).map(({ body }) => body as Record<string, unknown>);
    expect(bodies).toHaveLength(3);
    for (const { NextToken: _, ...rest } of bodies) {
      expect(rest).toEqual({ Filter: { GroupType: 'AIGC', Statuses: ['Active'] }, MaxResults: 2 });
    }
    expect((await list('--all', '-q')).out).toBe(`${ids.join('\n')}\n`);
    // Each item is printed as the gateway sent it, with its fields in the same order.
    expect(Object.keys(JSON.parse(lines(run.out)[0] ?? '')).slice(0, 4)).toEqual([
      'Id',
      'Name',
      'GroupId',
      'ProjectName',
    ]);
  });

  test('by page it tells the total', async () => {
    const { ids, list } = await withAssets(5);
    const { Result } = JSON.parse((await list('--page', '2', '--page-size', '2', '--json')).out);
    expect(Result).toMatchObject({ PageNumber: 2, PageSize: 2, TotalCount: 5 });
    expect(Result.Items.map(({ Id }: { Id: string }) => Id)).toEqual(ids.slice(2, 4));
    expect(Result).not.toHaveProperty('NextToken');
  });

  test('sorts and filters', async () => {
    const { ids, list, world } = await withAssets(3);
    expect(lines((await list('-q', '--order', 'Asc')).out)).toEqual([...ids].reverse());
    world.clock.ms += 1000;
    const oldest = String(ids.at(-1));
    await world.gw(['asset', 'update', oldest, '--name', 'Wolf']);
    expect(lines((await list('-q', '--sort-by', 'UpdateTime')).out)[0]).toBe(oldest);
    expect(lines((await list('-q', '--name', 'WOLF')).out)).toEqual([oldest]);
    expect((await list('-q', '--type', 'LivenessFace')).out).toBe('');
    expect((await list('-q', '--status', 'Failed')).out).toBe('');
    expect((await list('-q', '--group-id', 'group-2')).out).toBe('');
    expect((await list('-q', '--project', 'film')).out).toBe('');
  });

  test('--rest asks the alias, whose reply has no envelope', async () => {
    const { ids, list } = await withAssets(3);
    const run = await list('--rest', '--limit', '2', '--offset', '1', '--json');
    const reply = JSON.parse(run.out);
    expect(reply.total).toBe(3);
    expect(reply.items.map(({ Id }: { Id: string }) => Id)).toEqual(ids.slice(1));
    expect(reply.data).toEqual(reply.items);
    expect(lines((await list('--rest', '-q', '--name', 'fox 2')).out)).toEqual([ids[0]]);
  });

  test.each([
    ['action', [], { ResponseMetadata: { RequestId: 'r' }, Result: { Items: null } }],
    ['alias', ['--rest'], { items: null, data: null, total: 0 }],
  ])('an empty list of the %s may come as null', async (_, words, body) => {
    const world = await World.open();
    const { url } = await fakeGateway(() => ({ body }));
    const run = await world.gw(['asset', 'list', ...words], { env: { GW_BASE_URL: url } });
    expect(run).toEqual({ code: 0, out: '', err: '' });
  });

  test('groups are listed too', async () => {
    const { world, group } = await withAssets(0);
    world.clock.ms += 1000;
    const other = (await world.gw(['asset', 'group', 'create', '--name', 'wolves'])).out.trim();
    expect((await world.gw(['asset', 'group', 'list', '-q', '--all'])).out).toBe(`${other}\n${group}\n`);
    expect((await world.gw(['asset', 'group', 'list', '-q', '--group-id', group])).out).toBe(`${group}\n`);
  });
});

describe('gw asset wait', () => {
  test('several are looked at with one request', async () => {
    const { ids, world } = await withAssets(3);
    const before = world.sandbox.requests.length;
    const run = await world.ok(['asset', 'wait', ...ids.map((id) => `asset://${id}`)]);
    expect(lines(run.out).sort()).toEqual([...ids].sort());
    expect(world.requests().slice(before)).toEqual(['GET /api/assets?limit=100']);
  });

  test('one that is not there is exit 4, and with others exit 13', async () => {
    const { ids, world } = await withAssets(1);
    expect((await world.gw(['asset', 'wait', 'asset-1'])).code).toBe(4);
    const run = await world.gw(['asset', 'wait', 'asset-1', ...ids, '--json']);
    expect(run.code).toBe(13);
    expect(lines(run.out).map((line) => JSON.parse(line))).toMatchObject([{ id: ids[0], status: 'Active' }]);
  });

  test('survives bad weather', async () => {
    const world = await World.open({ fault: 'query:503:40%' });
    const group = (await world.gw(['asset', 'group', 'create', '--name', 'x'])).out.trim();
    const argv = cmd`asset create --group ${group} --url https://example.com/v.mp4 --name v --wait`;
    for (let nth = 0; nth < 5; nth += 1) expect(await world.gw(argv)).toMatchObject({ code: 0 });
  });

  test("the gateway's word on waiting is obeyed, also past the end of the wait", async () => {
    const world = await World.open({ fault: 'query:429+600' });
    const run = await world.gw(['asset', 'wait', 'asset-1', '--wait-timeout', '1m']);
    expect(run).toMatchObject({ code: 10, err: expect.stringContaining('asks not to be asked before') });
    expect(world.requests()).toHaveLength(1);
  });
});

test.each([
  ['list', { Result: { Items: [{ Id: 'a-1' }], TotalCount: '1' } }],
  ['list --rest', { items: [{ Id: 'a-1' }], total: '1' }],
])('asset %s is told beside a count of another type', async (words, body) => {
  const world = await World.open();
  const { url } = await fakeGateway(() => ({ status: 200, body }));
  const run = await world.gw(['asset', ...words.split(' '), '-q'], { env: { GW_BASE_URL: url } });
  expect([run.code, run.out], run.err).toEqual([0, 'a-1\n']);
});
