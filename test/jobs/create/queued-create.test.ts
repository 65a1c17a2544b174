import { readdirSync } from 'node:fs';
import * as path from 'node:path';
import { expect, test } from 'vitest';
import { type EndingSignal, Interrupted } from '../../../src/errors.ts';
import { gammaCreate } from '../../../src/gateway/gamma/create.ts';
import { gammaFamily } from '../../../src/gateway/gamma/task.ts';
import { poolOf, type RatePool } from '../../../src/gateway/limits.ts';
import { identifyBody } from '../../../src/jobs/create/job-request.ts';
import { makeJob } from '../../../src/jobs/create/make.ts';
import { createLooker } from '../../../src/jobs/watch/looker.ts';
import { openLedger } from '../../../src/ledger/open-ledger.ts';
import { json, reset, type Step, startFaultServer } from '../../helpers/fault-server.ts';
import { acceptedOr, errorOf, testClient } from '../../http/test-client.ts';
import { intent, tempDir } from '../../ledger/fixtures.ts';

const {
  bodySha256: _,
  externalId: __,
  event: ___,
  ...asked
} = intent({ family: 'gamma', endpoint: 'gamma.create', once: { key: 'k', attempt: 1, fields: {} } });
const limited = (retryAfter?: string) =>
  json(
    429,
    { error: { message: 'slow down' } },
    retryAfter === undefined ? {} : { 'retry-after': retryAfter },
  );
const fine = json(200, { task_id: 't-1' });

/** A create under --queue, which waits up to `waitMs` for a slot. */
async function scene(
  steps: readonly Step[],
  waitMs = 3_600_000,
  {
    pool = poolOf({ family: 'gamma', settings: {} }, 'enterprise'),
    onBegun = async () => {},
    retries = 0,
  }: {
    readonly pool?: RatePool;
    readonly onBegun?: (ledgerDir: string) => Promise<void>;
    readonly retries?: number;
  } = {},
) {
  const server = await startFaultServer({ steps });
  const { client, clock } = testClient(server.url, { retries });
  const ledger = openLedger({ dir: tempDir(), clock, keepPrompts: true });
  const abort = new AbortController();
  const queued: string[] = [];
  const making = makeJob({
    silenceMs: 60_000,
    family: gammaFamily,
    endpoint: gammaCreate,
    ...identifyBody(gammaFamily, { model: 'gamma-H3' }),
    intent: { event: 'intent', ...asked, gateway: server.url },
    client,
    ledger,
    clock,
    signal: abort.signal,
    note: () => {},
    onBegun: () => onBegun(ledger.dir),
    deadlineMs: clock.steady() + waitMs,
    queue: {
      random: () => 0,
      onQueued: (message) => queued.push(message),
      onKept: (message) => queued.push(message),
      pool,
      looker: createLooker({ client, family: gammaFamily, clock, account: 'enterprise', random: () => 0.5 }),
    },
  });
  const create = making.then(acceptedOr);
  return { create, server, clock, ledger, abort, queued };
}

const paceMs = gammaFamily.pollIntervalMs.min;

test.each([
  ['120', 120_000],
  // This moment has passed when the gateway names it for the second time.
  ['Fri, 20 Nov 2026 12:02:00 GMT', 120_000, paceMs],
  ['0', paceMs],
  ['Thu, 19 Nov 2026 12:00:00 GMT', paceMs],
  ['-5', paceMs],
  ['soon', paceMs],
  [undefined, paceMs],
])(
  'Retry-After %s: the next try comes then, and no sooner than the pace',
  async (value, sleptMs, thenMs = sleptMs) => {
    const { create, server, clock, queued } = await scene([limited(value), limited(value), fine]);
    expect(await create).toMatchObject({ id: 't-1' });
    expect([server.requests.length, clock.sleptMs()]).toEqual([3, sleptMs + thenMs]);
    // gw reports such a wait every 30 s.
    expect(Math.max(...clock.sleeps)).toBeLessThan(30_000);
    expect(queued).toEqual(queued.map(() => expect.stringMatching(/it is sent again at .*Z/)));
    expect(queued).not.toEqual([]);
  },
);

test('Retry-After 1e9 passes the deadline: it stops at once, and nothing was made', async () => {
  const { create, server, clock, ledger } = await scene([limited('1000000000')]);
  const error = await errorOf(create);
  expect(error).toMatchObject({ kind: 'rate_limited', facts: { retryAtMs: clock.now() + 1e12 } });
  expect(error.facts?.hint).toBeUndefined();
  expect([server.requests.length, clock.sleeps]).toEqual([1, []]);
  expect((await ledger.find()).map(({ state }) => state)).toEqual(['refused']);
});

test.each([
  ['30', 100_000, 0, [4, 90_000]],
  // The client, which waits for up to two minutes, does not wait past the deadline either.
  ['100', 4_000, 4, [1, 0]],
] as const)(
  'Retry-After %s, %i ms to wait, %i retries: the deadline ends a wait for a slot, with the last refusal',
  async (value, waitMs, retries, expected) => {
    const { create, server, clock, ledger } = await scene([limited(value)], waitMs, { retries });
    expect(await errorOf(create)).toMatchObject({ kind: 'rate_limited' });
    expect([server.requests.length, clock.sleptMs()]).toEqual(expected);
    expect((await ledger.find()).map(({ state }) => state)).toEqual(['refused']);
  },
);

test('Ctrl-C while it waits: nothing more is sent, and the ledger says that nothing was made', async () => {
  const { create, server, clock, abort, queued, ledger } = await scene([limited('30')]);
  const push = queued.push.bind(queued);
  queued.push = (...texts) => {
    abort.abort(new Interrupted('SIGINT' satisfies EndingSignal));
    return push(...texts);
  };
  expect(await errorOf(create)).toBeInstanceOf(Interrupted);
  // The abort ends the wait itself, not only the steps after it.
  expect([server.requests.length, clock.sleeps]).toEqual([1, []]);
  const [job] = await ledger.find();
  expect(['refused', 'not_sent']).toContain(job?.state);
});

test.each([0, 4])(
  'a kill finds a job that was not sent while gw waits after a 429, and one that was sent in each attempt (%i retries)',
  async (retries) => {
    const found: (string | undefined)[] = [];
    const look = async () => {
      const killed = openLedger({ dir: path.dirname(ledger.dir), clock, keepPrompts: true });
      found.push((await killed.find())[0]?.state);
    };
    const answering =
      (step: Step): Step =>
      (socket, request) =>
        void look().then(() => step(socket, request));
    const steps = [limited('3'), limited('20'), fine].map(answering);
    const { create, clock, ledger } = await scene(steps, 3_600_000, { retries });
    const sleep = clock.sleep.bind(clock);
    clock.sleep = async (ms, signal) => {
      await look();
      return sleep(ms, signal);
    };
    await create;
    expect(found).toEqual(['sent', 'intent', 'sent', 'intent', 'sent']);
    expect((await ledger.find()).map(({ state }) => state)).toEqual(['running']);
  },
);

test('a lost answer behind a 429 is unknown, and ends the wait for a slot', async () => {
  const { create, server, ledger } = await scene([limited('30'), reset, fine]);
  expect(await errorOf(create)).toMatchObject({ kind: 'unknown_outcome' });
  expect(server.requests).toHaveLength(2);
  expect((await ledger.find()).map(({ state }) => state)).toEqual(['unknown']);
});

test('what is said of a job that is begun holds up nobody else who wants a slot', async () => {
  const { create, ledger } = await scene([fine], 1000, {
    pool: poolOf({ family: 'alpha', settings: {} }, 'personal'),
    onBegun: async (dir) => {
      const locks = readdirSync(path.join(dir, '..', 'locks')).filter((name) => name.endsWith('.lock'));
      // Only the create's own lock is held.
      expect(locks).toEqual([expect.stringMatching(/^gw-/)]);
    },
  });
  await create;
  expect((await ledger.find()).map(({ state }) => state)).toEqual(['running']);
});
