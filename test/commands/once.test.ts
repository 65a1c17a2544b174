import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import * as path from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect } from 'vitest';
import { tryLock } from '../../src/disk/lock-file.ts';
import type { LedgerLine } from '../../src/ledger/event.ts';
import { onceJobKey } from '../../src/ledger/job-key.ts';
import { cmd } from '../helpers/cmd.ts';
import { fakeGateway } from '../helpers/fake-gateway.ts';
import { type Run, test, World } from '../helpers/gw.ts';

// `--once KEY`: each case of the contract is one test.

/** A create of each video family and of images. */
const creates: Record<string, readonly string[]> = {
  alpha: ['video', 'alpha', 'create', 'a fox', '--duration', '4', '--resolution', '480p'],
  beta: ['video', 'beta', 'create', 'a fox', '--duration', '3'],
  gamma: 'video gamma create fox --resolution 768P --duration 4 --ratio 16:9'.split(' '),
  image: ['image', 'create', 'a fox', '--size', '1024x1024'],
};
const words = (family: string) => creates[family] ?? [];
const isVideo = (family: string) => family !== 'image';

const posts = (world: World) => world.sandbox.requests.filter(({ method }) => method === 'POST');
const intents = (world: World): LedgerLine[] => {
  const dir = path.join(world.dir, '.local/state/gw/ledger');
  return readdirSync(dir)
    .filter((name) => name.endsWith('.jsonl'))
    .flatMap((name) => readFileSync(path.join(dir, name), 'utf8').split('\n'))
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as LedgerLine)
    .filter(({ event }) => event === 'intent');
};
const same = (first: Run, second: Run) => {
  expect(second.code, second.err).toBe(first.code);
  expect(second.out).toBe(first.out);
};

test.each([[], ['--force'], ['-o', 'other.mp4']])(
  'with --no-download %s, a saved job tells its file under its key and to jobs wait, and nothing is fetched',
  async (...more) => {
    const world = await World.open();
    const create = [...words('alpha'), '--once', 'k', '--wait'];
    const first = await world.ok(create);
    const before = world.requests().length;
    same(first, await world.gw([...create, '--no-download', ...more]));
    same(first, await world.gw(['jobs', 'wait', 'k', '--no-download', ...more]));
    expect(world.requests()).toHaveLength(before);
  },
);

describe.each(Object.keys(creates))('--once, %s', (family) => {
  const once = (world: World, ...more: string[]) =>
    world.gw([...words(family), '--once', 'shots/1', ...(isVideo(family) ? ['--wait'] : []), ...more]);

  test('run again, nothing is sent and the same is printed, wherever -o points', async ({ world }) => {
    const first = await once(world);
    expect(first.code, first.err).toBe(0);
    expect(first.out).toMatch(/\.(mp4|png)\n$/);
    const requests = world.requests().length;
    same(first, await once(world));
    same(first, await once(world, '-o', 'elsewhere/'));
    expect(existsSync(path.join(world.cwd, 'elsewhere'))).toBe(false);
    expect(posts(world)).toHaveLength(1);
    expect(world.requests()).toHaveLength(requests);
    expect(Object.keys(world.files())).toHaveLength(1);
  });

  test('another key, and none, make another job', async ({ world }) => {
    await once(world);
    await world.ok([...words(family), '--once', 'shots/2']);
    await world.ok(words(family));
    expect(posts(world)).toHaveLength(3);
  });

  test('another body under the key is refused, and the field that differs is named', async ({ world }) => {
    const hidden = { env: { GW_LEDGER_PROMPTS: 'off' } };
    await world.gw([...words(family), '--once', 'shots/1'], hidden);
    const other = words(family).map((word) => (word.endsWith('fox') ? 'a cat' : word));
    const prompt = await world.gw([...other, '--once', 'shots/1'], hidden);
    expect(prompt.code).toBe(2);
    expect(prompt.err).toMatch(/^error: --once shots\/1: .* with another --prompt/);
    const [flag, value] = isVideo(family) ? ['--duration', '5'] : ['--quality', 'low'];
    const changed = [...words(family), '--once', 'shots/1'].filter(
      (word, at, all) => word !== flag && all[at - 1] !== flag,
    );
    const setting = await world.gw([...changed, flag, value], hidden);
    expect(setting.code).toBe(2);
    expect(setting.err).toMatch(new RegExp(`^error: --once shots/1: .* with another ${flag}`));
    if (family === 'alpha') expect((await once(world, '-m', '2.0')).err).toMatch(/with another --model\n/);
    expect(posts(world)).toHaveLength(1);
  });

  test.each([
    [401, 3],
    [402, 6],
    [429, 7],
  ])('HTTP %i made nothing: the key is free, and the next run creates', async (status, code) => {
    const world = await World.open({ fault: `create:${status}:x2` });
    for (const _ of [1, 2])
      expect((await once(world, '--retries', '0', ...(isVideo(family) ? ['--no-queue'] : []))).code).toBe(
        code,
      );
    const third = await once(world);
    expect(third.code, third.err).toBe(0);
    same(third, await once(world));
    expect(posts(world)).toHaveLength(3);
    expect(intents(world)).toHaveLength(3);
  });

  test('on a state disk that fails it says what a plain create says, and nothing is sent', async () => {
    const world = await World.open();
    const state = path.join(world.dir, '.local/state/gw');
    mkdirSync(state, { recursive: true, mode: 0o700 });
    writeFileSync(path.join(state, 'locks'), 'taken');
    const { code, err } = await once(world);
    expect(code, err).toBe(2);
    expect(err).toContain('set GW_STATE_DIR');
    expect(posts(world)).toEqual([]);
  });

  test('what was refused with 422 stays refused: its error and exit code again, until --again', async () => {
    const world = await World.open({ fault: 'create:422:x1' });
    const first = await once(world, '--json');
    const second = await once(world, '--json');
    const [before, after] = [first, second].map(
      ({ err }) => JSON.parse(err.trim().split('\n').at(-1) ?? '').error,
    );
    expect([first.code, second.code]).toEqual([5, 5]);
    // The two errors are equal except for the hint.
    const { hint: _, ...said } = before;
    expect(after).toMatchObject({ ...said, status: 422, code: expect.any(String) });
    expect(second.out).toBe(first.out);
    expect(posts(world)).toHaveLength(1);
    const again = await once(world, '--again');
    expect(again.code, again.err).toBe(0);
    same(again, await once(world));
    same(again, await once(world, '--again'));
    expect(posts(world)).toHaveLength(2);
  });

  test('an outcome that is not known is exit 14 and never sent again, with --again neither', async () => {
    const world = await World.open({ fault: 'create:html' });
    const first = await once(world);
    const sent = posts(world).length;
    for (const more of [[], ['--again']]) {
      const next = await once(world, ...more);
      expect(next.code).toBe(14);
      expect(next.err).toMatch(/gw jobs (sync|show)/);
      expect(next.err).toMatch(isVideo(family) ? /resolve gw-[0-9a-z]{26} --as ID\|none/ : /--as none/);
    }
    expect(first.code).toBe(14);
    expect(first.err).toMatch(/gw jobs resolve gw-[0-9a-z]{26} --as (ID\|none|none)/);
    expect(posts(world)).toHaveLength(sent);
    const [, key = ''] = /gw jobs resolve (\S+)/.exec(first.err) ?? [];
    await world.ok(['jobs', 'resolve', key, '--as', 'none']);
    await once(world);
    expect(posts(world).length).toBeGreaterThan(sent);
  });

  test('two at the same moment: one is sent, the other waits for it and prints the same', async () => {
    const world = await World.open();
    const runs = await Promise.all([once(world), once(world), once(world)]);
    for (const run of runs) same(runs[0] as Run, run);
    expect(posts(world)).toHaveLength(1);
  });
});

describe.each(['alpha', 'beta', 'gamma'])('--once, a task of %s', (family) => {
  const once = (world: World, ...more: string[]) => world.gw([...words(family), '--once', 'k', ...more]);

  test('without --wait the ID is printed at once, running or not', async ({ world }) => {
    const first = await once(world);
    same(first, await once(world));
    await once(world, '--wait');
    same(first, await once(world));
    expect(posts(world)).toHaveLength(1);
  });

  test('without --wait a new place holds for the job that runs', async ({ world }) => {
    const [id = ''] = (await once(world)).out.trim().split('\n');
    await once(world, '-o', 'elsewhere/{id}.{ext}');
    expect((await world.ok(['jobs', 'wait', id])).out).toBe(`${world.cwd}/elsewhere/${id}.mp4\n`);
  });

  test('--json has the answer to the create again', async ({ world }) => {
    const first = await once(world, '--json');
    expect(JSON.parse(first.out).record).not.toBeNull();
    same(first, await once(world, '--json'));
    // A wait that ends before its first look also prints the answer to the create.
    const waited = await world.gw(['jobs', 'wait', 'k', '--wait-timeout', '1ms', '--json']);
    expect(waited.code).toBe(10);
    const { id, record } = JSON.parse(waited.out);
    expect(JSON.stringify(record)).toContain(id);
  });

  test('one that ended badly: its error again; --again makes a new one, once', async () => {
    const world = await World.open({ fault: 'task:fail=content_policy:x1' });
    const first = await once(world, '--wait');
    expect(first.code).toBe(9);
    same(first, await once(world, '--wait'));
    const hint =
      /hint: nothing was sent now; --again makes a new one, or with other words: gw again \S+ -p TEXT\n/;
    expect((await once(world, '--wait')).err).toMatch(hint);
    expect(posts(world)).toHaveLength(1);
    const again = await once(world, '--wait', '--again');
    expect(again.code, again.err).toBe(0);
    same(again, await once(world, '--wait'));
    expect(posts(world)).toHaveLength(2);
  });
});

test('a create that is answered with a failed task ends badly at each run, until --again', async () => {
  const world = await World.open();
  let creates = 0;
  const gateway = await fakeGateway((method) => {
    if (method === 'GET') return { body: { code: 0, data: [] } };
    creates += 1;
    return {
      body: { code: 0, data: { id: `vt-${creates}`, status: creates === 1 ? 'failed' : 'submitted' } },
    };
  });
  const once = (...more: string[]) =>
    world.gw([...words('beta'), '--once', 'k', ...more], { env: { GW_BASE_URL: gateway.url } });
  same(await once(), await once());
  expect(await once()).toMatchObject({ code: 9, out: '' });
  expect(await once('--again')).toMatchObject({ code: 0, out: 'vt-2\n' });
  expect(creates).toBe(2);
});

test('one key is one job whatever makes it: another command under it is refused', async ({ world }) => {
  await world.gw([...words('beta'), '--once', 'k']);
  const run = await world.gw([...words('image'), '--once', 'k']);
  expect(run.code).toBe(2);
  expect(run.err).toContain(' by gw video beta create --mode text, and this is gw image create\n');
  const other = await world.gw([...words('beta'), '--turbo', '--once', 'k']);
  expect(other.err).toContain('--mode text, and this is gw video beta create --mode text --turbo\n');
});

describe('family B over machines that share nothing', () => {
  const machine = (world: World, name: string) => ({ env: { GW_STATE_DIR: path.join(world.dir, name) } });
  const once = [...words('beta'), '--once', 'k'];

  test('the task of another machine is looked for and gone on with', async ({ world }) => {
    const first = await world.gw(once);
    const second = await world.gw(once, machine(world, 'second'));
    same(first, second);
    expect(second.err).toContain('made elsewhere');
    expect(posts(world)).toHaveLength(1);
  });

  test('the external ID comes from the key: --dry-run shows the one that is sent', async ({ world }) => {
    const shown = JSON.parse((await world.gw([...once, '--dry-run', '--json'])).out);
    await world.gw(once);
    const sent = posts(world)[0]?.body as { options: { external_task_id: string } };
    expect(sent.options.external_task_id).toMatch(/^gw-[0-7][0-9a-z]{25}$/);
    expect(shown.body.options.external_task_id).toBe(sent.options.external_task_id);
  });

  test('a look-up that fails sends nothing', async () => {
    const world = await World.open({ fault: 'query:503' });
    const run = await world.gw([...once, '--retries', '1']);
    expect(run.code).toBe(8);
    expect(posts(world)).toHaveLength(0);
  });

  test('a look-up that is to wait for longer than the command may ends it at once', async () => {
    const world = await World.open({ fault: 'query:429+100' });
    const run = await world.gw([...once, '--wait', '--wait-timeout', '4s']);
    expect([run.code, world.requests().length], run.err).toEqual([7, 1]);
  });

  test('a task that ended badly on another machine: --again makes the second attempt there too', async () => {
    const world = await World.open({ fault: 'task:fail=policy:x1' });
    expect((await world.gw([...once, '--wait'])).code).toBe(9);
    await world.ok([...once, '--wait', '--again'], machine(world, 'second'));
    await world.ok([...once, '--again'], machine(world, 'third'));
    expect(posts(world)).toHaveLength(2);
  });

  test('a create that was lost, and that no look-up finds, is sent again under its ID, as the job it was', async () => {
    let isBroken = false;
    const creates: string[] = [];
    const reply = (data: unknown) => ({ code: 0, message: 'SUCCEED', request_id: 'r', data });
    const gateway = await fakeGateway((method) => {
      if (method === 'GET') return isBroken ? { status: 503, body: {} } : { body: reply([]) };
      creates.push('sent');
      isBroken = creates.length === 1;
      const data = { id: 'bt-1', status: 'submitted', create_time: 1, update_time: 1 };
      return { body: isBroken ? '<html>' : reply(data) };
    });
    const world = await World.open();
    const run = () => world.gw([...once, '--retries', '0'], { env: { GW_BASE_URL: gateway.url } });
    expect((await run()).code).toBe(14);
    isBroken = false;
    expect(await run()).toMatchObject({ code: 0, out: 'bt-1\n' });
    expect(creates).toHaveLength(2);
    expect(new Set(intents(world).map(({ job }) => job)).size).toBe(1);
  });

  test('an external ID of the user does not go with it', async ({ world }) => {
    const run = await world.gw([...once, '--external-id', 'mine']);
    expect(run.code).toBe(2);
    expect(run.err).toContain('--external-id mine');
    const set = await world.gw([...once, '--set', 'options.external_task_id=mine']);
    expect(set).toMatchObject({
      code: 2,
      err: expect.stringContaining('error: options.external_task_id mine: '),
    });
  });
});

test.each([
  [['--once', ''], '0 characters'],
  [['--once', 'x'.repeat(201)], '201 characters'],
  [['--once', 'a\nb'], 'control character'],
  [['--again'], '--once KEY'],
])('%j is refused, and nothing is sent', async (more, says) => {
  const world = await World.open();
  const run = await world.gw([...words('beta'), ...more]);
  expect(run.code).toBe(2);
  expect(run.err).toContain(says);
  expect(world.requests()).toEqual([]);
});

test('an edit that goes as a form is the same by what its files hold, not by their names', async () => {
  const world = await World.open();
  const png = (await world.gw(['image', 'create', 'a fox', '-o', 'a.png'])).out.trim();
  copyFileSync(png, path.join(world.cwd, 'b.png'));
  const edit = (file: string) => world.gw(['image', 'edit', 'a hat', '--image', file, '--once', 'k']);
  same(await edit('a.png'), await edit('b.png'));
  appendFileSync(path.join(world.cwd, 'b.png'), 'x');
  const other = await edit('b.png');
  expect(other.code).toBe(2);
  expect(other.err).toContain('with another --image');
  expect(posts(world)).toHaveLength(2);
});

test('an image to stdout is not kept: --once does not go with it', async ({ world }) => {
  const run = await world.gw([...words('image'), '--once', 'k', '-o', '-']);
  expect(run.code).toBe(2);
  expect(run.err).toContain('--once');
});

describe.each(Object.keys(creates))('the same request again without --once, %s', (family) => {
  test('is made, with one warning that names the ID, the age and the file, for an hour', async () => {
    const world = await World.open();
    const more = isVideo(family) ? ['--wait', '-o', 'clip.mp4'] : ['-o', 'fox.png'];
    const first = await world.gw([...words(family), ...more]);
    expect(first.err).not.toContain('the same was asked for');
    world.clock.ms += 120_000;
    const second = await world.ok(words(family));
    expect(second.err.match(/the same was asked for/g)).toHaveLength(1);
    expect(second.err).toMatch(/2 minutes ago, as \S+, saved in \S+(clip\.mp4|fox\.png)/);
    const other = await world.gw(words(family).map((word) => (word.endsWith('fox') ? 'a cat' : word)));
    expect(other.err).not.toContain('the same was asked for');
    world.clock.ms += 3_600_001;
    expect((await world.gw(words(family))).err).not.toContain('the same was asked for');
    expect(posts(world)).toHaveLength(4);
  });

  test('one that was refused is no reason for a warning', async () => {
    const world = await World.open({ fault: 'create:402:x1' });
    await world.gw(words(family));
    expect((await world.gw(words(family))).err).not.toContain('the same was asked for');
  });
});

test.each(['alpha', 'gamma', 'image'])(
  'after an unknown outcome of %s the same create names that job before any other, and gw again of it wants --yes',
  async (family) => {
    const world = await World.open({ fault: 'create:reset-after:x1' });
    const lost = await world.gw(words(family));
    expect(lost.code, lost.err).toBe(14);
    const key = /gw jobs resolve (gw-\S+)/.exec(lost.err)?.[1] ?? '';
    await world.ok(words(family));
    const warned = await world.gw(words(family));
    expect(warned.err).toContain(`as ${key}, whose outcome is not known; it is made once more`);
    const before = posts(world).length;
    const refused = await world.gw(['again', key]);
    expect([refused.code, posts(world).length - before]).toEqual([2, 0]);
    expect(refused.err).toContain(`job ${key} may exist`);
    for (const [answer, code] of [
      ['n\n', 2],
      ['y\n', 0],
    ] as const) {
      const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => stdin });
      stdin.write(answer);
      expect((await world.gw(['again', key], { stdin, terminal: true })).code).toBe(code);
    }
    await world.ok(['again', key, '--yes']);
    expect(posts(world).length - before).toBe(2);
  },
);

test('the jobs of one --count are alike by intention', async ({ world }) => {
  const run = await world.gw([...words('beta'), '--count', '3']);
  expect(run.err).not.toContain('the same was asked for');
});

test('a key whose lock was lost during the wait for a slot makes no second job', async ({ world }) => {
  await world.ok(['config', 'set', 'account', 'personal']);
  const alpha = words('alpha');
  for (let count = 0; count < 3; count += 1) await world.ok([...alpha, '--no-queue']);
  const sleep = world.clock.sleep.bind(world.clock);
  let other: Run | undefined;
  world.clock.sleep = async (...args) => {
    world.clock.sleep = sleep;
    // The lock is removed and the key is used, as another machine could do an hour later.
    const locks = path.join(world.dir, '.local/state/gw/locks');
    for (const name of readdirSync(locks)) if (name.startsWith('once-')) rmSync(path.join(locks, name));
    other = await world.gw([...alpha, '--once', 'K', '--no-queue']);
    return sleep(...args);
  };
  const first = await world.gw([...alpha, '--once', 'K', '--queue']);
  expect(first.err).toContain('no free slot');
  expect([other?.code, first.code], first.err).toEqual([0, 0]);
  expect(first.out).toBe(other?.out);
  expect(posts(world)).toHaveLength(4);
});

test('--wait-timeout bounds the wait for another gw and for the job together', async () => {
  const world = await World.open({ speed: 0.01 });
  await world.ok([...words('beta'), '--once', 'k']);
  const key = onceJobKey(new URL(world.sandbox.baseUrl).origin, 'k');
  const lock = tryLock(path.join(world.dir, `.local/state/gw/locks/once-${key}.lock`));
  const startMs = world.clock.steady();
  const sleep = world.clock.sleep.bind(world.clock);
  world.clock.sleep = async (...args) => {
    await sleep(...args);
    if (world.clock.steady() - startMs >= 40_000) lock?.release();
  };
  const run = await world.gw([...words('beta'), '--once', 'k', '--wait', '--wait-timeout', '60s']);
  expect([run.code, run.err]).toEqual([10, expect.stringContaining('is making the job of --once k')]);
  expect(world.clock.steady() - startMs).toBeLessThan(65_000);
});

test('an image that could not be fetched goes to where the next run says, as a video does', async () => {
  const world = await World.open({ fault: 'output:404:x1' });
  const link = cmd`image create "a fox" -m legacy-image-3 --response-format url --once k`;
  expect((await world.gw(link)).code).toBe(12);
  const next = await world.gw([...link, '-o', 'other/fox.png', '--sidecar']);
  expect([next.code, next.out], next.err).toEqual([0, `${path.join(world.cwd, 'other/fox.png')}\n`]);
  expect(Object.keys(world.files()).sort()).toEqual(['other/fox.png', 'other/fox.png.json']);
});

test('jobs download writes the sidecar of an image that could not be fetched before', async () => {
  const world = await World.open({ fault: 'output:404:x1' });
  await world.gw(['image', 'create', 'a fox', '-m', 'legacy-image-3', '--response-format', 'url']);
  const { out } = await world.ok(['jobs', 'download', 'last', '--sidecar']);
  expect(existsSync(`${out.trim()}.json`)).toBe(true);
});
