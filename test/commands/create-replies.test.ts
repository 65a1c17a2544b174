import { readdirSync } from 'node:fs';
import { createServer } from 'node:net';
import * as path from 'node:path';
import { describe, expect, onTestFinished, vi } from 'vitest';
import { fakeGateway } from '../helpers/fake-gateway.ts';
import { type Fault, honest, startFaultProxy } from '../helpers/fault-proxy.ts';
import { json, replyBytes, startFaultServer } from '../helpers/fault-server.ts';
import { freePort } from '../helpers/free-port.ts';
import { type RunOptions, test, World } from '../helpers/gw.ts';
import { listening } from '../helpers/listening.ts';
import { ledgerOf } from './jobs-seed.ts';

// Unexpected replies to a paid create: each create is sent once, and gw reports correctly what its reply means (promises,
// section 2). test/http/resend-matrix.test.ts covers every status, test/jobs/create/exactly-once.test.ts family B's look-ups.

const creates: Readonly<Record<string, readonly string[]>> = {
  alpha: ['video', 'alpha', 'create', 'a fox'],
  gamma: 'video gamma create fox --resolution 768P --duration 4 --ratio 16:9'.split(' '),
  image: ['image', 'create', 'a fox'],
  'native image': ['image', 'native', 'a fox'],
};

/** The sandbox behind a proxy that applies `onCreate` to the first create and `onQuery` to every query. */
async function world(onCreate: Fault, onQuery: Fault = honest) {
  const world = await World.open();
  let posts = 0;
  const faultOf = ({ method }: { readonly method: string }): Fault => {
    if (method !== 'POST') return onQuery;
    posts += 1;
    return posts === 1 ? onCreate : honest;
  };
  const proxy = await startFaultProxy(world.sandbox.baseUrl, { faultOf });
  return {
    world,
    run: (argv: readonly string[] = [], interrupts: RunOptions['interrupts'] = () => {}) =>
      world.gw(argv, { env: { GW_BASE_URL: proxy.url }, interrupts }),
    jobs: () => ledgerOf(world).find(),
    posts: () => posts,
  };
}

/** Replaces the sandbox's answer with this one. */
const saying =
  (status: number, body: string | ((text: string) => string), headers: Record<string, string> = {}): Fault =>
  async (socket, forward) => {
    const text = (await forward()).body.toString();
    socket.end(replyBytes(status, typeof body === 'string' ? body : body(text), headers));
  };

describe.each(Object.entries(creates))('%s', (family, argv) => {
  test.each([304, 307, 409, 425, 499])(
    'HTTP %i settles nothing: sent once, to nobody else, and the ways to settle it are named',
    async (status) => {
      const elsewhere = await startFaultServer({ steps: [] });
      const body = status === 304 ? '' : '{"error":{"message":"no such thing; try again"}}';
      const here = await world(saying(status, body, { location: `${elsewhere.url}/v1` }));
      const run = await here.run(argv);
      expect(run, run.err).toMatchObject({ code: 14, out: '' });
      expect([here.posts(), elsewhere.requests.length]).toEqual([1, 0]);
      const [job] = await here.jobs();
      expect(job?.state).toBe('unknown');
      expect(run.err).toContain(`gw jobs resolve ${job?.key} --as `);
      expect(run.err).not.toMatch(/try again|asked again/i);
    },
  );

  test.each([
    [404, 4],
    [451, 5],
  ])('HTTP %i is a refusal, exit %i: sent once, and nothing is left open', async (status, code) => {
    const here = await world((socket) => void socket.end(replyBytes(status, '{"error":{"message":"no"}}')));
    const run = await here.run(argv);
    expect(run.code, run.err).toBe(code);
    expect(here.posts()).toBe(1);
    expect(await here.jobs()).toMatchObject([{ state: 'refused', refusal: { status } }]);
  });

  test('interrupted or killed between two tries: not sent where nobody was there, refused where the gateway had said 429', async () => {
    const interrupted = async (url: string) => {
      const here = await World.open();
      let interrupt = (_: 'SIGINT') => {};
      let left: unknown;
      here.clock.sleep = async (_, signal) => {
        // A kill would leave this.
        left = (await ledgerOf(here).find())[0]?.state;
        interrupt('SIGINT');
        signal?.throwIfAborted();
      };
      const interrupts = (send: typeof interrupt) => {
        interrupt = send;
      };
      const run = await here.gw(argv, { env: { GW_BASE_URL: url }, interrupts });
      expect([run.code, left], run.err).toEqual([130, 'intent']);
      return ledgerOf(here).find();
    };
    expect(await interrupted(`http://127.0.0.1:${await freePort()}`)).toMatchObject([{ state: 'not_sent' }]);
    const busy = await startFaultServer({ steps: [json(429, {})] });
    expect(await interrupted(busy.url)).toMatchObject([{ state: 'refused' }]);
    expect(busy.requests).toHaveLength(1);
  });

  test('interrupted while it connects: not sent', async () => {
    const here = await World.open();
    let interrupt = (_: 'SIGINT') => {};
    // The server accepts the connection but never answers the TLS handshake.
    const { port } = await listening(createServer(() => interrupt('SIGINT')));
    const run = await here.gw(argv, {
      env: { GW_BASE_URL: `https://127.0.0.1:${port}` },
      interrupts: (send) => {
        interrupt = send;
      },
    });
    expect(run.code, run.err).toBe(130);
    expect(await ledgerOf(here).find()).toMatchObject([{ state: 'not_sent' }]);
  });

  test.each([100, 103])('a head with %i that nobody asked for is passed over', async (status) => {
    const here = await world(async (socket, forward) => {
      const { bytes } = await forward();
      socket.end(Buffer.concat([Buffer.from(`HTTP/1.1 ${status} Soon\r\nlink: x\r\n\r\n`), bytes]));
    });
    const run = await here.run(argv);
    expect(run.code, run.err).toBe(0);
    expect(here.posts()).toBe(1);
    expect(await here.jobs()).toMatchObject([{ state: family.includes('image') ? 'succeeded' : 'running' }]);
  });
});

const deep = `${'['.repeat(5000)}${']'.repeat(5000)}`;

describe.each(['alpha', 'gamma'])('a reply of %s that is not whole but names its task', (family) => {
  const argv = creates[family] ?? [];
  const cases: [name: string, Fault][] = [
    ['cut', saying(200, (text) => text.replace('"task_id"', '"id"').slice(0, -1))],
    ['of 5,000 levels', saying(200, (text) => text.replace(/\}$/, `,"more":${deep}}`))],
    ['of 17 MiB', saying(200, (text) => text.replace(/\}$/, `,"more":"${'a'.repeat(17 << 20)}"}`))],
  ];

  test.each(cases)('%s: the task is asked for, and taken when it is there', async (_, reply) => {
    const here = await world(reply);
    const run = await here.run(argv);
    const [task] = here.world.sandbox.tasks();
    expect(run, run.err).toMatchObject({ code: 0, out: `${task?.id}\n` });
    expect(here.posts()).toBe(1);
    expect(await here.jobs()).toMatchObject([{ state: 'running', id: task?.id }]);
  });

  test('and a query that does not know the task yet is asked again', async () => {
    let queries = 0;
    const young: Fault = (socket, forward) => {
      queries += 1;
      return queries <= 2 ? saying(404, '{}')(socket, forward) : honest(socket, forward);
    };
    const here = await world(
      saying(200, (text) => text.slice(0, -1)),
      young,
    );
    const run = await here.run(argv);
    const [task] = here.world.sandbox.tasks();
    expect(run, run.err).toMatchObject({ code: 0, out: `${task?.id}\n` });
    expect([here.posts(), queries]).toEqual([1, 3]);
  });

  test.each([404, 401, 500])(
    'and a query that says %i confirms nothing: the ID is not believed',
    async (status) => {
      const here = await world(
        saying(200, (text) => text.slice(0, -1)),
        saying(status, '{}'),
      );
      const run = await here.run([...argv, '--retries', '0']);
      expect(run, run.err).toMatchObject({ code: 14, out: '' });
      expect(here.posts()).toBe(1);
      expect(await here.jobs()).toMatchObject([{ state: 'unknown', id: undefined }]);
    },
  );
});

// A gateway restart cuts the reply and also makes the next look at the task fail.
describe.each(['alpha', 'gamma'])(
  'a reply of %s is cut, and the look at the task that it names fails',
  (family) => {
    const argv = creates[family] ?? [];
    const cutOff = saying(200, (text) => text.slice(0, -1));

    /** The gateway fails every query with `onQuery` until `heal` is called. */
    async function ill(onQuery: Fault = saying(503, '{}')) {
      let isHealed = false;
      const here = await world(cutOff, (...asked) => (isHealed ? honest : onQuery)(...asked));
      const heal = () => {
        isHealed = true;
        here.world.clock.ms += 60_000;
      };
      const taskId = () => here.world.sandbox.tasks()[0]?.id ?? '';
      return { ...here, heal, taskId };
    }

    async function expectBroughtHome({ world, run, jobs, posts, taskId }: Awaited<ReturnType<typeof ill>>) {
      const sync = await run(['jobs', 'sync']);
      expect(sync.code, sync.err).toBe(0);
      expect(await jobs()).toMatchObject([{ state: 'succeeded', id: taskId() }]);
      expect(readdirSync(world.cwd)).toEqual([`${taskId()}.mp4`]);
      expect(posts()).toBe(1);
    }

    test('the ID is told and kept, and gw jobs sync brings the output home once the gateway is well', async () => {
      const here = await ill();
      const run = await here.run(argv);
      const [job] = await here.jobs();
      expect(run, run.err).toMatchObject({ code: 14, out: '' });
      expect(job).toMatchObject({ state: 'unknown', id: undefined, unconfirmedId: here.taskId() });
      expect(run.err).toContain(`gw jobs sync looks at task ${here.taskId()} again`);
      expect(run.err).toContain(`gw jobs resolve ${job?.key} --as ${here.taskId()}|none`);
      expect((await here.run(['jobs', 'show', job?.key ?? ''])).out).toContain(here.taskId());
      const still = await here.run(['jobs', 'sync']);
      expect(still.code, still.err).toBe(14);
      expect(still.err).toContain(here.taskId());
      here.heal();
      await expectBroughtHome(here);
    });

    test('the ID is durable before the look, in which gw may be killed', async () => {
      const seen: (string | undefined)[] = [];
      const here = await ill(async (...asked) => {
        const [job] = await here.jobs();
        seen.push(job?.unconfirmedId);
        await saying(503, '{}')(...asked);
      });
      await here.run(argv);
      expect(seen[0]).toBe(here.taskId());
    });

    test('interrupted in the look: the ID is kept, and the next sync goes on with it', async () => {
      let interrupt = (_: 'SIGINT') => {};
      const here = await ill((...asked) => {
        interrupt('SIGINT');
        return saying(404, '{}')(...asked);
      });
      const interrupts = (send: typeof interrupt) => {
        interrupt = send;
      };
      const run = await here.run(argv, interrupts);
      expect([14, 130]).toContain(run.code);
      expect(run.err).toContain(here.taskId());
      interrupt = () => {};
      here.heal();
      await expectBroughtHome(here);
    });

    test('--once looks at it too, and goes on with it', async () => {
      const here = await ill();
      const once = [...argv, '--once', 'fox'];
      expect((await here.run(once)).code).toBe(14);
      const again = await here.run(once);
      expect(again.code, again.err).toBe(14);
      expect(again.err).toContain(here.taskId());
      here.heal();
      const healed = await here.run(once);
      expect(healed, healed.err).toMatchObject({ code: 0, out: `${here.taskId()}\n` });
      expect(here.posts()).toBe(1);
    });

    test('a gateway that says for an hour that it has no such task is asked no more', async () => {
      let status = 503;
      let queries = 0;
      const here = await ill((socket) => {
        queries += 1;
        socket.end(replyBytes(status, '{}', { connection: 'close' }));
      });
      await here.run(argv);
      status = 404;
      const told = await here.run(['jobs', 'sync']);
      expect(told.code, told.err).toBe(14);
      expect(told.err).toContain(
        `the gateway has no task ${here.taskId()}, which the cut answer named, so far`,
      );
      here.world.clock.ms += 3_700_000;
      expect(await here.run(['jobs', 'sync'])).toMatchObject({ code: 14 });
      const asked = queries;
      expect(await here.run(['jobs', 'sync'])).toMatchObject({ code: 0 });
      expect(queries).toBe(asked);
      expect(await here.jobs()).toMatchObject([{ state: 'unknown', id: undefined }]);
    });

    test('a gateway that denies it at once may not show it yet: the ID is told, and a sync looks once more', async () => {
      const here = await ill((socket) => void socket.end(replyBytes(404, '{}', { connection: 'close' })));
      const run = await here.run(argv);
      expect(run.code, run.err).toBe(14);
      expect(run.err).toContain(`gw jobs sync looks at task ${here.taskId()} again`);
      here.heal();
      await expectBroughtHome(here);
    });
  },
);

test('an image reply of 5,000 levels that holds its image: the image is kept, and the outcome unknown', async () => {
  const here = await world(saying(200, (text) => text.replace(/\}$/, `,"more":${deep}}`)));
  const run = await here.run(creates.image);
  expect(run.code, run.err).toBe(14);
  expect(readdirSync(here.world.cwd)).toEqual([expect.stringMatching(/^gw-\w+\.png$/)]);
  expect(await here.jobs()).toMatchObject([{ state: 'unknown', files: [{}] }]);
  expect(here.posts()).toBe(1);
});

describe.each(['alpha', 'gamma'])('one task of %s as the answer to three creates', (family) => {
  test('is told, and is one saved video under every job', async ({ world }) => {
    let first: string | undefined;
    const faultOf = ({ method }: { readonly method: string }): Fault =>
      method !== 'POST'
        ? honest
        : async (socket, forward) => {
            first ??= (await forward()).body.toString();
            socket.end(replyBytes(200, first));
          };
    const proxy = await startFaultProxy(world.sandbox.baseUrl, { faultOf });
    const argv = [...(creates[family] ?? []), '--wait', '-o'];
    const env = { GW_BASE_URL: proxy.url };
    const run = await world.gw([...argv, '{family}.mp4', '--count', '2'], { env });
    const third = await world.gw([...argv, 'third.mp4'], { env });
    expect([run.code, third.code], run.err).toEqual([0, 0]);
    expect(run.err).toContain('which an earlier create had made');
    expect(third.err).toContain('which an earlier create had made');
    expect(Object.keys(world.files())).toEqual([`${family}.mp4`]);
    expect(run.out + third.out).toBe(`${path.join(world.cwd, family)}.mp4\n`.repeat(3));
    expect((await ledgerOf(world).find()).map(({ files }) => files.length)).toEqual([1, 1, 1]);
  });
});

test('of an answer that does not come for half a minute, a wait that nobody sees is told', async () => {
  const world = await World.open();
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const gateway = await fakeGateway(() => {
    vi.advanceTimersByTime(30_000);
    return { body: { id: 'vt-20261121001503-1', status: 'queued' } };
  });
  const run = await world.gw(creates.alpha ?? [], { env: { GW_BASE_URL: gateway.url } });
  expect([run.code, run.err]).toEqual([
    0,
    'the gateway has not answered a create yet: waiting for its answer\n',
  ]);
});

test.each(Object.keys(creates))('a lost %s has its object under --json all the same', async (family) => {
  const world = await World.open();
  const gateway = await fakeGateway(() => ({ status: 500, body: {} }));
  const run = await world.gw([...(creates[family] ?? []), '--json'], { env: { GW_BASE_URL: gateway.url } });
  const id = expect.stringMatching(/^gw-/);
  expect(run.code).toBe(14);
  expect(run.err).not.toContain('its answer named');
  expect(JSON.parse(run.out)).toMatchObject({ id, status: 'unknown', record: null, files: [] });
});

const failedTask = { id: 'vt-20261121001503-1', status: 'failed' };
test.each([
  ['alpha', { ...failedTask, error: { code: 'Sensitive', message: 'no foxes' } }, 'Sensitive: no foxes'],
  ['beta', { code: 0, data: { ...failedTask, message: 'no foxes' } }, 'no foxes'],
])(
  'a create of %s that is answered with a failed task tells why, and ends with 9',
  async (family, body, why) => {
    const world = await World.open();
    const gateway = await fakeGateway((method) => ({
      body: method === 'POST' ? body : { code: 0, data: [] },
    }));
    const argv = ['video', family, 'create', 'fox', '--json', '--once', 'k'];
    for (const way of ['gw again vt-20261121001503-1', '--again']) {
      const run = await world.gw(argv, { env: { GW_BASE_URL: gateway.url } });
      expect(run.code).toBe(9);
      expect(JSON.parse(run.out)).toMatchObject({ status: 'failed', record: body });
      const { error } = JSON.parse(run.err.trim().split('\n').at(-1) ?? '');
      expect(error.message).toBe(`task ${failedTask.id} ended failed: ${why}`);
      expect(error.hint).toContain(way);
    }
  },
);

test('while a create waits out a 429, nothing says that its answer is waited for', async ({ world }) => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const { clock } = world;
  const sleep = clock.sleep.bind(clock);
  clock.sleep = (ms, signal) => {
    vi.advanceTimersByTime(ms);
    return sleep(ms, signal);
  };
  const limited = { status: 429, headers: { 'retry-after': '33' }, body: {} };
  const answers = [limited, { body: { id: 'vt-20261121001503-1', status: 'queued' } }];
  const gateway = await fakeGateway(() => answers.shift() ?? limited);
  const run = await world.ok(creates.alpha ?? [], { env: { GW_BASE_URL: gateway.url } });
  expect(run.err).toContain('the gateway asks to wait');
  expect(run.err).not.toContain('has not answered');
});
