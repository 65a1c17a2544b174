import { describe, expect, test } from 'vitest';
import { cmd } from '../helpers/cmd.ts';
import type { Answer } from '../helpers/fake-gateway.ts';
import { World } from '../helpers/gw.ts';
import { recordingGateway } from '../helpers/recording-gateway.ts';

// A library that refuses, fails or sends odd answers.

interface Asked {
  /** The action name, or the path of its alias. */
  readonly action: string;
  readonly body: { readonly Id?: string; readonly [field: string]: unknown };
  /** The number of earlier requests for this action with this ID. */
  readonly before: number;
}

const date = 'Fri, 20 Nov 2026 12:00:00 GMT';
const failed = (Code: string) => ({
  ResponseMetadata: { RequestId: 'r', Error: { Code, Message: 'because' } },
});
const of = (Result: unknown, ProjectName?: string): Answer => ({
  headers: { date },
  body: { ResponseMetadata: { RequestId: 'r' }, Result, ...(ProjectName && { ProjectName }) },
});
const record = (Id: string, more: object = {}) => ({ Id, AssetType: 'Image', Status: 'Active', ...more });

async function library(answer: (asked: Asked) => Answer) {
  const world = await World.open();
  const asked: Asked[] = [];
  const gateway = await recordingGateway(({ url, body: text }, response) => {
    const action = /Action=(\w+)/.exec(url)?.[1] ?? url.replace(/\?.*/, '');
    const body = text === '' ? {} : JSON.parse(text);
    const before = asked.filter((each) => each.action === action && each.body.Id === body.Id).length;
    const request = { action, body, before };
    asked.push(request);
    const { status = 200, headers = {}, body: reply } = answer(request);
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(typeof reply === 'string' ? reply : JSON.stringify(reply));
  });
  const gw = (...argv: string[]) => world.gw(argv, { env: { GW_BASE_URL: gateway.url } });
  const count = (action: string) => asked.filter((each) => each.action === action).length;
  return { gw, asked, count, world };
}
const noList: Answer = { status: 404, body: {} };

describe('gw asset wait', () => {
  test.each([
    [400, 'InvalidParameter.Id', 5],
    [402, 'NoMoney', 6],
    [404, 'ResourceNotFound', 4],
  ])(
    'a refusal (%d) of one ends the wait for it, by name, and not for the others',
    async (status, Code, code) => {
      const { gw, count } = await library(({ action, body: { Id = '' } }) => {
        if (action === '/api/assets') return noList;
        return Id === 'asset-1' ? { status, body: failed(Code) } : of(record(Id));
      });
      const both = await gw('asset', 'wait', 'asset-1', 'asset-2');
      expect(both).toMatchObject({ code: 13, out: 'asset-2\n', err: expect.stringContaining('asset-1') });
      expect(count('GetAsset')).toBe(2);
      expect(await gw('asset', 'wait', 'asset-1')).toMatchObject({ code, out: '' });
    },
  );

  test('ends with --wait-timeout too if the gateway does not answer', async () => {
    const gateway = await recordingGateway(() => {});
    const world = await World.open();
    const beganMs = performance.now();
    const run = await world.gw(cmd`asset wait asset-1 --wait-timeout 500ms`, {
      env: { GW_BASE_URL: gateway.url },
    });
    const hint = 'hint: the processing goes on; wait on with: gw asset wait asset-1';
    expect(run, run.err).toMatchObject({ code: 10, err: expect.stringContaining(hint) });
    expect(performance.now() - beganMs).toBeLessThan(30_000);
  });

  test('--json tells each record as it came, as changes and deletes do', async () => {
    const long = '"N":12345678901234567890';
    const written = (Id: string) => `{"Id":"${Id}","Status":"Active",${long}}`;
    const { gw } = await library(({ action, body: { Id } }) => {
      if (action === '/api/assets') return { body: `{"items":[${written('a-1')} ,${written('a-2')}]}` };
      return { body: `{"Result":${written(Id || 'a-3')}}` };
    });
    for (const ids of [['a-1', 'a-2'], ['a-3']]) {
      const { out } = await gw('asset', 'wait', ...ids, '--json');
      for (const id of ids) expect(out).toContain(`"record":${written(id)}`);
    }
    for (const words of [
      ['update', 'a-3', '--name', 'x'],
      ['delete', 'a-3', '--yes'],
      ['group', 'create', '--name', 'x'],
    ])
      expect((await gw('asset', ...words, '--json')).out).toContain(`"record":{"Result":${written('a-3')}}`);
  });

  test('a 500 on one neither ends nor starves the others, and is told once', async () => {
    const { gw } = await library(({ action, body: { Id = '' }, before }) => {
      if (action === '/api/assets') return noList;
      return Id === 'asset-1' && before < 3 ? { status: 500, body: {} } : of(record(Id));
    });
    const run = await gw('asset', 'wait', 'asset-1', 'asset-2');
    expect(run).toMatchObject({ code: 0, out: 'asset-2\nasset-1\n' });
    expect(run.err.match(/still waiting/g), run.err).toHaveLength(1);
  });

  test('a 401 ends it', async () => {
    const { gw, count } = await library(() => ({ status: 401, body: {} }));
    const { code, err } = await gw('asset', 'wait', 'asset-1', '--json');
    expect([code, JSON.parse(err).error.task_id]).toEqual([3, 'asset-1']);
    expect(count('GetAsset')).toBe(1);
  });

  test('--set and --body reach its requests', async () => {
    const { gw, asked } = await library(({ body: { Id = '' } }) => of(record(Id)));
    expect((await gw('asset', 'wait', 'asset-1', 'asset-2', '--set', 'Extra=1')).code).toBe(0);
    expect(asked.map(({ body }) => body)).toEqual([
      { Id: 'asset-1', Extra: 1 },
      { Id: 'asset-2', Extra: 1 },
    ]);
  });
});

describe('what a list shows of another project', () => {
  const withProject = (ProjectName: string) =>
    library(({ action, body: { Id = '' } }) => {
      const listed = [
        record('asset-1', { ProjectName }),
        record('asset-2', { Status: 'Processing', ProjectName }),
      ];
      if (action === '/api/assets') return { headers: { date }, body: { items: listed } };
      return action === 'GetAsset' ? of(record(Id)) : { status: 500, body: {} };
    });

  test('is asked for by its ID', async () => {
    const { gw, count } = await withProject('film');
    expect((await gw('asset', 'wait', 'asset-1', 'asset-2')).code).toBe(0);
    expect(count('GetAsset')).toBe(2);
  });

  test('is not taken for one of the default project by a create', async () => {
    const { gw, count } = await library(({ action }) => {
      const items = [record('asset-1', { ProjectName: 'film' }), record('asset-2', { ProjectName: 'film' })];
      return action === '/api/assets'
        ? { body: { items } }
        : { status: 404, body: failed('ResourceNotFound') };
    });
    const images = ['--image', 'asset://asset-1', '--image', 'asset://asset-2'];
    expect((await gw('video', 'alpha', 'create', 'x', ...images)).code).toBe(4);
    expect(count('/api/v3/contents/generations/tasks')).toBe(0);
  });

  test('of the default project is taken', async () => {
    const { gw, asked } = await withProject('default');
    await gw('asset', 'wait', 'asset-1', 'asset-2', '--wait-timeout', '1s');
    expect(asked.filter(({ body }) => body.Id === 'asset-1')).toEqual([]);
  });
});

describe('a lost delete', () => {
  test.each([
    ['ResourceNotFound', 0],
    ['NoSuchRoute', 4],
  ])('and then a 404 with %s: exit %d', async (Code, code) => {
    const { gw } = await library(({ before }) =>
      before === 0 ? { status: 502, body: '' } : { status: 404, body: failed(Code) },
    );
    expect((await gw('asset', 'delete', 'asset-1', '--yes')).code).toBe(code);
  });

  test('401 on the first of several ends the rest', async () => {
    const { gw, asked } = await library(() => ({ status: 401, body: {} }));
    expect((await gw('asset', 'delete', 'asset-1', 'asset-2', '--yes')).code).toBe(3);
    expect(asked).toHaveLength(1);
  });
});

describe('a create', () => {
  const url = 'https://example.com/fox.png';
  const create = ['asset', 'create', '--group', 'group-1', '--url', url, '--name', "fox's best"];

  test('whose whole reply has no usable ID is looked for and never sent again', async () => {
    const { gw, count } = await library(({ action }) =>
      action === 'CreateAsset' ? of({ Id: '../x' }) : of({ Items: [] }),
    );
    const run = await gw(...create, '--project', 'film');
    expect(run).toMatchObject({ code: 8, out: '' });
    expect(run.err).toContain("gw asset list --group-id group-1 --name 'fox'\\''s best' --project film");
    expect(run.err).toContain('--type LivenessFace');
    expect([count('CreateAsset'), count('ListAssets') > 0]).toEqual([1, true]);
  });

  test("is not sent again where the gateway's clock is not known and one like it is there", async () => {
    const asset = { ...record('asset-9'), Name: "fox's best", URL: url, GroupId: 'group-1' };
    const { gw, count } = await library(({ action }) =>
      action === 'CreateAsset'
        ? { status: 503, body: {} }
        : {
            headers: { date: '' },
            body: { Result: { Items: [{ ...asset, CreateTime: '2020-01-01T00:00:00Z' }] } },
          },
    );
    expect((await gw(...create)).code).toBe(8);
    expect(count('CreateAsset')).toBe(1);
  });

  test('that is found again is printed with the status that it has', async () => {
    const asset = { ...record('asset-9'), Name: "fox's best", URL: url, GroupId: 'group-1' };
    const { gw, world } = await library(({ action }) =>
      action === 'CreateAsset'
        ? { status: 503, body: {} }
        : of({ Items: [{ ...asset, CreateTime: new Date(world.clock.now()).toISOString() }] }),
    );
    const run = await gw(...create, '--json');
    expect(JSON.parse(run.out)).toMatchObject({ id: 'asset-9', status: 'Active' });
  });

  test('of a group that is lost says how to look, with its type and its project', async () => {
    const { gw } = await library(() => ({ status: 503, body: {} }));
    const argv = cmd`asset group create --name "my faces" --type LivenessFace --project film`;
    const { err } = await gw(...argv);
    expect(err).toContain("gw asset group list --type LivenessFace --name 'my faces' --project film");
  });
});

describe('lists', () => {
  test('without Items are unreadable', async () => {
    const { gw } = await library(() => of({}));
    expect(await gw('asset', 'list', '--retries', '0')).toMatchObject({ code: 8, out: '' });
  });

  test('--all --json prints each item as it came', async () => {
    const items =
      '[ {"Id":"a", "N":12345678901234567890,"s":"\\u00e9 ],[{"} ,{"Id":"b","L":[1.0,{"Items":[2]}]} ]';
    const { gw } = await library(() => ({
      body: `{"ResponseMetadata":{"Items":[]},"Result":{"Items":${items}}}`,
    }));
    const run = await gw('asset', 'list', '--all', '--json');
    expect(run.out).toBe(
      '{"Id":"a","N":12345678901234567890,"s":"\\u00e9 ],[{"}\n{"Id":"b","L":[1.0,{"Items":[2]}]}\n',
    );
  });

  test('say how to go on, a token whole and fit for a shell', async () => {
    const NextToken = `it's ${'x'.repeat(600)}$(end)`;
    const { gw } = await library(() => of({ Items: [record('a')], NextToken }));
    const { err } = await gw('asset', 'list');
    expect(err).toContain(`--token '${NextToken.replace("'", "'\\''")}', or with --all for all of them`);
  });

  test('put a token of digits in quotes where --set gives it', async () => {
    const { gw } = await library(() => of({ Items: [record('a')], NextToken: '123' }));
    const { err } = await gw('asset', 'list', '--set', 'NextToken=t');
    expect(err).toContain(`--set 'NextToken="123"', or with --all`);
  });

  test('by page and by --rest say that more follow, and no token', async () => {
    const { gw } = await library(({ action }) =>
      action === '/api/assets'
        ? { body: { items: [record('a')], total: 7 } }
        : of({ Items: [record('a')], TotalCount: 3, NextToken: 't' }),
    );
    const page = await gw('asset', 'list', '--page', '2', '--page-size', '1');
    expect(page.err).toMatch(/more follow \(3 in all\).*--page 3/);
    expect(page.err).not.toContain('--token');
    expect((await gw('asset', 'list', '--page', '3', '--page-size', '1')).err).toBe('');
    expect((await gw('asset', 'list', '--rest', '--offset', '4')).err).toMatch(/7 in all.*--offset 5/);
    expect((await gw('asset', 'list', '--rest', '--offset', '6')).err).toBe('');
  });
});

test('get, delete and the group commands send what --body and --set say', async () => {
  const { gw, asked } = await library(({ body: { Id = '' } }) => of(record(Id)));
  for (const words of [['get'], ['delete', '--yes'], ['group', 'get']]) {
    expect((await gw('asset', ...words, 'asset-1', '--set', 'Extra.a=1')).code).toBe(0);
    expect(asked.at(-1)?.body).toEqual({ Id: 'asset-1', Extra: { a: 1 } });
  }
  expect((await gw('asset', 'get', 'asset-1', '--rest', '--set', 'a=1')).code).toBe(2);
});

test('an ID of another form goes with --no-validate, but into no path', async () => {
  const { gw, asked } = await library(({ body: { Id = '' } }) => of(record(Id)));
  expect((await gw('asset', 'get', 'a b')).code).toBe(2);
  const run = await gw('asset', 'get', 'a b', '--no-validate');
  expect(run).toMatchObject({ code: 0, err: expect.stringContaining('warning: ') });
  expect(asked.map(({ body }) => body.Id)).toEqual(['a b']);
  expect((await gw('asset', 'get', '../b', '--rest', '--no-validate')).code).toBe(2);
});

test('help shows --set only where there is a body', async () => {
  const { gw } = await library(() => of({}));
  expect((await gw('asset', 'get', '--help')).out).toContain('--set');
  expect((await gw('balance', '--help')).out).not.toContain('--set');
  expect((await gw('balance', '--help')).out).toContain('--dry-run');
  expect((await gw('doctor', '--help')).out).not.toContain('--dry-run');
});
