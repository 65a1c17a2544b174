import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { createOnce } from '../../src/assets/create-once.ts';
import { hostOf } from '../../src/disk/lock-file.ts';
import { Interrupted, UnknownOutcome } from '../../src/errors.ts';
import { createAsset } from '../../src/gateway/asset/actions.ts';
import type { Client, SendOptions } from '../../src/http/client.ts';
import { cmd } from '../helpers/cmd.ts';
import { type Answer, fakeGateway } from '../helpers/fake-gateway.ts';
import { World } from '../helpers/gw.ts';
import { newDir } from '../helpers/new-dir.ts';
import { scriptedClock } from '../http/scripted-clock.ts';

// What happens to a change whose answer was lost, and to a change that cannot be undone.

const open = async (options: Parameters<typeof World.open>[0] = {}) => {
  return World.open({ keepRequests: true, ...options });
};

const png = 'https://example.com/fox.png';
const argvOf = (group: string) => ['asset', 'create', '--group', group, '--url', png, '--name', 'fox'];

/** A world whose library already has a group; the faults begin after that. */
async function withGroup(fault?: string, before?: (world: World, group: string) => Promise<void>) {
  const stateDir = path.join(newDir(), 'state');
  const calm = await open({ stateDir });
  const group = (await calm.gw(['asset', 'group', 'create', '--name', 'foxes'])).out.trim();
  await before?.(calm, group);
  const world = await open({ stateDir, ...(fault !== undefined && { fault }) });
  world.clock.ms = calm.clock.ms;
  const sent = (action: string) =>
    world.requests().filter((line) => line.includes(`Action=${action}&`)).length;
  const count = async () =>
    JSON.parse((await calm.gw(cmd`asset list --page 1 --page-size 1 --json`)).out).Result.TotalCount;
  return { calm, world, group, sent, count };
}

describe('a create whose answer was lost', () => {
  test.each(['reset-after', 'cut', 'empty', 'garbage'])(
    '%s: it is found, and not made twice',
    async (fault) => {
      const { world, group, sent, count } = await withGroup(`create:${fault}:x1`);
      const run = await world.ok(argvOf(group));
      expect(run.err).toMatch(/the answer was lost; looking for the asset\n.*found: the asset asset-/s);
      expect([sent('CreateAsset'), await count()]).toEqual([1, 1]);
      await world.ok(['asset', 'get', run.out.trim()]);
    },
  );

  /** Writes the lock that a killed run leaves: its process ID belongs to no running process. */
  const leaveLock = (file: string) =>
    writeFileSync(file, JSON.stringify({ pid: 2 ** 22, host: hostOf(), started: '', nonce: 'ab' }));
  const locksOf = (world: World) => path.join(world.dir, '.local/state/gw/locks');

  /** Runs the command that makes the asset, then writes the lock that it would have left if it had been killed. */
  async function killed({ world, group }: Awaited<ReturnType<typeof withGroup>>) {
    const locks = locksOf(world);
    const making = world.gw(argvOf(group));
    let name = '';
    await expect
      .poll(() => (name ||= existsSync(locks) ? (readdirSync(locks)[0] ?? '') : ''), { interval: 1 })
      .not.toBe('');
    const made = await making;
    expect(readdirSync(locks)).toEqual([]);
    leaveLock(path.join(locks, name));
    return made;
  }

  test('of a run that was killed is looked for first, where the same is run again', async () => {
    const library = await withGroup();
    const made = await killed(library);
    const { world, group, sent, count } = library;
    const again = await world.gw(argvOf(group));
    expect(again.out).toBe(made.out);
    expect([sent('CreateAsset'), await count()]).toEqual([1, 1]);
    expect(readdirSync(locksOf(world))).toEqual([]);
  });

  test('of a run that was killed is looked for until a look was answered', async () => {
    const library = await withGroup('query:503:x1');
    const made = await killed(library);
    const { world, group, sent, count } = library;
    expect((await world.gw([...argvOf(group), '--retries', '0'])).code).toBe(8);
    expect((await world.gw(argvOf(group))).out).toBe(made.out);
    expect([sent('CreateAsset'), await count()]).toEqual([1, 1]);
  });

  test('of a run that ended without knowing it is looked for first, where the same is run again', async () => {
    const { world, group, count, sent } = await withGroup('create:reset-after:x1,query:503:x1');
    const run = await world.gw([...argvOf(group), '--retries', '0']);
    expect(run.err).toMatch(/may have been created/);
    const locks = locksOf(world);
    const [name = ''] = readdirSync(locks);
    leaveLock(path.join(locks, name));
    const again = await world.ok(argvOf(group));
    expect(again.err).toMatch(/an earlier run of the same did not learn what became of it; looking/);
    expect([sent('CreateAsset'), await count()]).toEqual([1, 1]);
  });

  test.each(['reset-before', '503', 'html'])(
    '%s: it is not there, so it is sent once more',
    async (fault) => {
      const { world, group, sent, count } = await withGroup(`create:${fault}:x1`);
      const run = await world.ok(argvOf(group));
      expect(run.err).toMatch(/no such asset; sending it once more/);
      expect([sent('CreateAsset'), await count()]).toEqual([2, 1]);
    },
  );

  test('never more than twice: then it is not known, and how to look is said', async () => {
    const { world, group, sent, count } = await withGroup('create:503');
    const run = await world.gw(argvOf(group));
    expect(run.code).toBe(8);
    expect(run.err).toMatch(/the asset may have been created/);
    expect(run.err).toContain(`gw asset list --group-id ${group}`);
    expect(run.err).not.toMatch(/again/);
    expect([sent('CreateAsset'), await count()]).toEqual([2, 0]);
  });

  test('where nobody can look, it is not sent again', async () => {
    const { world, group, sent, count } = await withGroup('create:reset-after:x1,query:503');
    const run = await world.gw(argvOf(group));
    expect(run.code).toBe(8);
    expect(run.err).toMatch(/may have been created/);
    expect([sent('CreateAsset'), await count()]).toEqual([1, 1]);
  });

  test('one of the same name that was there before is not taken for it', async () => {
    const { world, group, count } = await withGroup('create:reset-before:x1', async (calm, group) => {
      await calm.gw(argvOf(group));
      calm.clock.ms += 3_600_000;
    });
    const run = await world.ok(argvOf(group));
    expect(run.err).toMatch(/sending it once more/);
    expect(await count()).toBe(2);
  });

  test('a group is looked for by its name', async () => {
    const world = await open({ fault: 'create:reset-after:x1' });
    const argv = ['asset', 'group', 'create', '--name', 'foxes', '--type', 'LivenessFace', '--project', 'p'];
    const run = await world.ok(argv);
    const list = await world.gw(['asset', 'group', 'list', '--type', 'LivenessFace', '--project', 'p', '-q']);
    expect(list.out).toBe(run.out);
  });

  test('an interrupt says that it may be there, and how to look', async () => {
    const { world, group, sent } = await withGroup('create:hang');
    const interrupts = (send: (signal: 'SIGINT') => void) => {
      const look = () => (sent('CreateAsset') > 0 ? send('SIGINT') : setImmediate(look));
      look();
    };
    const run = await world.gw(argvOf(group), { interrupts });
    expect(run.code).toBe(130);
    expect(run.err).toContain(
      `; the asset may have been created\nhint: look whether it is there: gw asset list --group-id ${group}`,
    );
  });

  test.each([
    ['under way', true],
    ['refused', false],
    ['refused after a lost one', true],
  ])('an interrupt of a create that is %s', async (how, mayExist) => {
    const interrupt = new AbortController();
    const reason = new Interrupted('SIGINT');
    let isReleased = false;
    let sends = 0;
    const making = createOnce({
      client: {
        async send(_endpoint: unknown, _input: unknown, { onExchange }: SendOptions) {
          onExchange?.(true);
          if (how === 'under way') interrupt.abort(reason);
          sends += 1;
          if (how === 'refused after a lost one' && sends === 1) throw new UnknownOutcome('lost');
          onExchange?.(false);
          interrupt.abort(reason);
          throw reason;
        },
      } as unknown as Client,
      endpoint: createAsset,
      body: {},
      clock: scriptedClock(),
      signal: interrupt.signal,
      note: () => {},
      what: 'asset',
      find: async () => 'absent',
      lookCommand: 'gw asset list',
      leftAtMs: undefined,
      take: () => ({
        release() {
          isReleased = true;
        },
      }),
    });
    const told = mayExist ? 'interrupted; the asset may have been created' : 'interrupted';
    await expect(making).rejects.toThrow(new RegExp(`^${told}$`));
    // What may exist is looked for by the next run.
    expect(isReleased).toBe(!mayExist);
  });

  test('a refusal is final', async () => {
    const { world, group, sent } = await withGroup('create:400');
    expect((await world.gw(argvOf(group))).code).toBe(5);
    expect(sent('CreateAsset')).toBe(1);
  });

  test('a 429 waits and is sent again', async () => {
    const { world, group, sent, count } = await withGroup('create:429+3:x2');
    await world.ok(argvOf(group));
    expect([sent('CreateAsset'), await count()]).toEqual([3, 1]);
    expect(world.clock.slept).toEqual([3000, 3000]);
  });

  test('a 429 that outlasts --wait-timeout ends it at once, of the create and of the look for a lost one', async () => {
    for (const [fault, code] of [
      ['create:429+60', 7],
      ['create:reset-after:x1,query:429+60', 8],
    ] as const) {
      const { world, group, sent } = await withGroup(fault);
      const startMs = world.clock.steady();
      const run = await world.gw([...argvOf(group), '--wait', '--wait-timeout', '30s']);
      expect(run.code, run.err).toBe(code);
      expect(world.clock.steady() - startMs).toBeLessThan(30_000);
      expect(sent('CreateAsset')).toBe(1);
    }
  });

  test('the wait for its 429 and the wait for the asset share one --wait-timeout', async () => {
    const { world, group } = await withGroup('create:429+50:x1,query:502');
    const startMs = world.clock.steady();
    const run = await world.gw([...argvOf(group), '--wait', '--wait-timeout', '60s']);
    expect(run.code, run.err).toBe(10);
    expect(world.clock.steady() - startMs).toBeLessThan(65_000);
  });
});

describe('update and delete', () => {
  const withAsset = async (fault?: string) => {
    let id = '';
    const made = await withGroup(fault, async (calm, group) => {
      id = (await calm.gw(argvOf(group))).out.trim();
    });
    return { ...made, id };
  };

  test('an update is sent again', async () => {
    const { world, calm, id } = await withAsset('query:503:x2');
    expect((await world.gw(['asset', 'update', `asset://${id}`, '--name', 'red'])).out).toBe(`${id}\n`);
    expect((await calm.gw(['asset', 'get', id])).out).toMatch(/Name +red/);
  });

  test('a delete whose answer was lost is done when nothing is found any more', async () => {
    const { world, id, sent } = await withAsset('query:reset-after:x1');
    const run = await world.gw(['asset', 'delete', id, '--yes']);
    expect(run).toMatchObject({ code: 0, out: `${id}\n`, err: expect.stringMatching(/is gone/) });
    expect(sent('DeleteAsset')).toBe(2);
  });

  test('a delete of what was never there is exit 4, also after a 429', async () => {
    const { world } = await withAsset('query:429+1:x1');
    expect((await world.gw(['asset', 'delete', 'asset-1', '--yes'])).code).toBe(4);
  });

  test('of several the others are deleted, and the run is partial', async () => {
    const { world, id, count } = await withAsset();
    const run = await world.gw(['asset', 'delete', 'asset-1', id, '--yes']);
    expect(run).toMatchObject({ code: 13, out: `${id}\n` });
    expect(await count()).toBe(0);
  });

  const typing = (answer: string) => Object.assign(Readable.from([`${answer}\n`]), { isTTY: true });

  test('on a terminal it asks; anything but yes leaves all as it was', async () => {
    const { world, id, count } = await withAsset();
    const no = await world.gw(['asset', 'delete', id], { terminal: true, stdin: typing('n') });
    expect(no).toMatchObject({ code: 2, err: expect.stringContaining(`Delete asset ${id} for good?`) });
    expect(await count()).toBe(1);
    await world.ok(['asset', 'delete', id], { terminal: true, stdin: typing('y') });
    expect(await count()).toBe(0);
  });

  test('a group says how many assets go with it, and takes them along', async () => {
    const { world, group, id, calm } = await withAsset();
    const no = await world.gw(['asset', 'group', 'delete', group], { terminal: true, stdin: typing('') });
    expect(no.err).toContain(`Delete group ${group} for good? 1 asset becomes unusable.`);
    await calm.gw(argvOf(group));
    const yes = await world.gw(['asset', 'group', 'delete', group, '--yes']);
    expect(yes).toMatchObject({
      code: 0,
      out: `${group}\n`,
      err: expect.stringContaining('2 assets become unusable'),
    });
    expect((await world.gw(['asset', 'get', id])).code).toBe(4);
    expect((await world.gw(['asset', 'group', 'delete', group, '--yes'])).code).toBe(4);
  });
});

describe('which of the assets that are there is the one whose create was lost', () => {
  /** The gateway's clock is ten years ahead of the local clock. */
  const date = 'Mon, 20 Nov 2036 12:00:10 GMT';
  const asset = { Id: 'asset-9', Name: 'fox', URL: png, AssetType: 'Image', GroupId: 'group-1' };
  const looked = async (items: readonly object[]) => {
    const gateway = await fakeGateway((_, url) =>
      url.includes('ListAssets')
        ? { headers: { date }, body: { Result: { Items: items } } }
        : { status: 503, headers: { date }, body: {} },
    );
    const world = await open();
    const run = await world.gw(argvOf('group-1'), { env: { GW_BASE_URL: gateway.url } });
    return {
      code: run.code,
      out: run.out,
      creates: gateway.requests.filter((line) => /CreateAsset/.test(line)).length,
    };
  };
  const since = '2036-11-20T12:00:09Z';

  test.each<[string, object[], { code: number; out: string; creates: number }]>([
    ['a new one', [{ ...asset, CreateTime: since }], { code: 0, out: 'asset-9\n', creates: 1 }],
    ['an old one', [{ ...asset, CreateTime: '2036-11-20T11:59:00Z' }], { code: 8, out: '', creates: 2 }],
    ['of another URL', [{ ...asset, URL: `${png}?2`, CreateTime: since }], { code: 8, out: '', creates: 2 }],
    ['of a longer name', [{ ...asset, Name: 'foxes', CreateTime: since }], { code: 8, out: '', creates: 2 }],
    ['one without a time', [asset], { code: 8, out: '', creates: 1 }],
    [
      'two of them',
      [
        { ...asset, CreateTime: since },
        { ...asset, Id: 'asset-8', CreateTime: since },
      ],
      { code: 8, out: '', creates: 1 },
    ],
  ])('%s', async (_, items, expected) => {
    expect(await looked(items)).toEqual(expected);
  });
});

describe('what a gateway may say', () => {
  const said = async (answer: Answer, argv: string[]) => {
    const gateway = await fakeGateway(() => answer);
    const world = await open();
    const run = await world.gw([...argv, '--retries', '0'], { env: { GW_BASE_URL: gateway.url } });
    return { ...run, requests: gateway.requests };
  };
  const failed = (Code: string) => ({
    ResponseMetadata: {
      RequestId: '20261120-abc',
      Action: 'GetAsset',
      Version: '2024-01-01',
      Service: 's',
      Region: 'r',
      Error: { Code, Message: 'because' },
    },
  });
  const get = ['asset', 'get', 'asset-1'];

  test.each([
    ['MissingParameter.GroupId', 400, 5, 'rejected'],
    ['InvalidParameter.Version', 400, 5, 'rejected'],
    ['InvalidParameter.AssetType', 400, 5, 'rejected'],
    ['InvalidAction', 400, 5, 'rejected'],
    ['InvalidRequest', 400, 5, 'rejected'],
    ['ResourceNotFound', 404, 4, 'not_found'],
    ['InternalError', 500, 8, 'unavailable'],
    // The error code decides when the HTTP status contradicts it.
    ['ResourceNotFound', 400, 4, 'not_found'],
    ['ResourceNotFound', 200, 4, 'not_found'],
    ['InternalError', 200, 8, 'unavailable'],
  ])('%s with %d is exit %d', async (code, status, exit, kind) => {
    const run = await said({ status, body: failed(code) }, [...get, '--json']);
    expect(run.code).toBe(exit);
    expect(JSON.parse(run.err)).toMatchObject({
      error: { kind, code, status, request_id: '20261120-abc', message: expect.stringContaining('because') },
    });
    const human = await said({ status, body: failed(code) }, get);
    expect(human.err).toMatch(/GetAsset: /);
    expect(human.err).toContain(`[${code}, request 20261120-abc]`);
  });

  test('--json prints a look-up unchanged', async () => {
    const text = '{"ResponseMetadata": {}, "Result": {"Id": "asset-1",  "New": 1}}';
    expect((await said({ body: text }, [...get, '--json'])).out).toBe(text);
  });

  test('a list of nothing may be null', async () => {
    const run = await said({ body: { Result: { Items: null } } }, ['asset', 'list']);
    expect(run).toMatchObject({ code: 0, out: '' });
  });

  test('a status that the document does not list waits on, with one warning', async () => {
    const body = { Result: { Id: 'asset-1', Status: 'Paused' } };
    const run = await said({ body }, ['asset', 'wait', 'asset-1', '--wait-timeout', '1m']);
    expect(run.code).toBe(10);
    expect(run.err.match(/which gw does not know/g)).toHaveLength(1);
  });

  test('an asset that failed for no reason is exit 9 all the same', async () => {
    const body = { Result: { Id: 'asset-1', Status: 'failed', Error: null } };
    const run = await said({ body }, ['asset', 'wait', 'asset-1']);
    expect(run).toMatchObject({ code: 9, err: expect.stringContaining('does not say why') });
  });

  test('a create that names no usable ID is looked for', async () => {
    const run = await said({ body: { Result: { Id: 7 } } }, argvOf('group-1'));
    expect(run.code).toBe(8);
    expect(run.requests.filter((line) => line.includes('CreateAsset'))).toHaveLength(1);
  });

  test('the same token twice ends --all', async () => {
    const body = { Result: { Items: [{ Id: 'asset-1' }], NextToken: 't' } };
    const run = await said({ body }, ['asset', 'list', '--all', '-q']);
    expect(run).toMatchObject({ code: 8, out: 'asset-1\nasset-1\n' });
  });

  test('text of the gateway begins no line of its own and hides the query of an address', async () => {
    const body = { Result: { Id: 'asset-1', Name: 'a\nb', URL: 'https://example.com/a.png?key=hush' } };
    const { out } = await said({ body }, get);
    expect(out).toBe('Id    asset-1\nName  a\\nb\nURL   https://example.com/a.png?…\n');
  });
});
