import { setMaxListeners } from 'node:events';
import { describe, expect, test } from 'vitest';
import { type EndingSignal, GwError, Interrupted } from '../../../src/errors.ts';
import { betaCreateMotion, betaCreateText } from '../../../src/gateway/beta/create.ts';
import { betaFamily } from '../../../src/gateway/beta/task.ts';
import { digestOf, digestsOf, identifyBody, type JobRequest } from '../../../src/jobs/create/job-request.ts';
import { settleUnanswered } from '../../../src/jobs/create/lost.ts';
import { makeJob } from '../../../src/jobs/create/make.ts';
import { makeOnce } from '../../../src/jobs/create/once.ts';
import { isOpen } from '../../../src/jobs/watch/sync.ts';
import type { IntentEvent } from '../../../src/ledger/event.ts';
import { newJobKey, onceJobKey } from '../../../src/ledger/job-key.ts';
import { openLedger } from '../../../src/ledger/open-ledger.ts';
import { acceptedOr, errorOf, testClient } from '../../http/test-client.ts';
import { intent, leftLedger, tempDir } from '../../ledger/fixtures.ts';
import { type CreateFate, openBetaGateway } from '../beta-gateway.ts';

const {
  bodySha256: _,
  externalId: __,
  event: ___,
  ...asked
} = intent({ family: 'beta', endpoint: 'beta.create.text' });

/** One user of family B: a ledger, a client, and a gateway whose creates end as `fates` says. */
async function scene(...fates: CreateFate[]) {
  const dir = tempDir();
  let nowMs = () => 0;
  const gateway = await openBetaGateway(() => nowMs(), fates);
  const { client, clock } = testClient(gateway.url);
  nowMs = clock.now;
  const ledger = openLedger({ dir, clock, keepPrompts: true });
  const notes: string[] = [];
  const abort = new AbortController();
  const wait = { deadlineMs: Number.POSITIVE_INFINITY };
  setMaxListeners(0, abort.signal);
  const create = async (
    body: Record<string, unknown> = { prompt: 'a fox' },
    endpoint = betaCreateText,
    key?: string,
    more: Partial<IntentEvent> = {},
  ) =>
    acceptedOr(
      await makeJob({
        silenceMs: 60_000,
        ...wait,
        family: betaFamily,
        endpoint,
        ...identifyBody(betaFamily, body, key),
        intent: { event: 'intent', ...asked, gateway: gateway.url, ...more },
        client,
        ledger,
        clock,
        signal: abort.signal,
        note: (text) => notes.push(text),
      }),
    );
  const onlyJob = async () => {
    const jobs = await ledger.find();
    expect(jobs).toHaveLength(1);
    const [job] = jobs;
    if (!job) throw new Error('no job');
    return job;
  };
  /** Settles the job. With `skewMs`, the clock of the machine was changed after the create. */
  const settle = async ({ keyId, skewMs = 0 }: { keyId?: string; skewMs?: number } = {}) =>
    settleUnanswered(await onlyJob(), betaFamily, {
      ledger,
      clock: { ...clock, now: () => clock.now() + skewMs },
      signal: abort.signal,
      keyId,
      client: async () => client,
    });
  const left = leftLedger({ dir, clock });
  return { gateway, ledger, left, clock, create, notes, abort, wait, onlyJob, settle };
}

describe('a create of family B whose answer is lost', () => {
  test.each(['reset', 'cut', 'empty', '502', 'garbage'] as const)(
    'committed, then %s: the task is found and taken, and nothing is sent again',
    async (reply) => {
      const { gateway, create, onlyJob } = await scene({ commit: 'now', reply });
      const job = await create();
      expect(gateway.creates).toHaveLength(1);
      expect([...gateway.tasks()]).toEqual([[job.key, job.id]]);
      expect(await onlyJob()).toMatchObject({
        key: job.key,
        id: job.id,
        state: 'running',
        externalId: job.key,
      });
    },
  );

  test('committed ten seconds later: it is waited for, not sent again', async () => {
    const { gateway, create, clock } = await scene({ commit: { afterMs: 10_000 }, reply: 'reset' });
    const job = await create();
    expect(job.id).toBe('bt-1');
    expect(gateway.creates).toHaveLength(1);
    expect(clock.sleeps).toEqual([2000, 5000, 15_000]);
  });

  test('never committed: only then is it sent again, under the same external ID', async () => {
    const { gateway, create, clock } = await scene({ commit: 'never', reply: 'reset' });
    const job = await create();
    expect(gateway.creates).toEqual([job.key, job.key]);
    expect(gateway.lookUps).toHaveLength(4);
    expect(clock.sleeps).toEqual([2000, 5000, 15_000]);
    expect(gateway.tasks().size).toBe(1);
  });

  test.each(['error', 'first'] as const)(
    'committed, but not shown before it is sent again and answered with %s: the first is taken',
    async (duplicates) => {
      const { gateway, create, ledger } = await scene({ commit: { afterMs: 30_000 }, reply: 'reset' });
      gateway.duplicates = duplicates;
      const job = await create();
      expect(job.id).toBe('bt-1');
      expect(gateway.creates).toEqual([job.key, job.key]);
      expect((await ledger.find()).map(({ id }) => id)).toEqual(['bt-1']);
    },
  );

  test('a cut reply that names the task of another external ID first: that is not taken for this one', async () => {
    const { gateway, create, clock } = await scene({ commit: 'now', reply: 'cut-behind-another' });
    const theirs = gateway.add('theirs', clock.now());
    const job = await create();
    expect(job.id).not.toBe(theirs);
    expect(gateway.tasks().get(job.key)).toBe(job.id);
    expect(gateway.creates).toHaveLength(1);
  });

  test('the second answer is lost too: it is looked for again, and never made twice', async () => {
    const { gateway, create } = await scene(
      { commit: 'never', reply: 'reset' },
      { commit: 'now', reply: 'cut' },
    );
    const job = await create();
    expect(gateway.creates).toHaveLength(2);
    expect([...gateway.tasks()]).toEqual([[job.key, job.id]]);
  });

  test('five rounds and no more: the outcome stays unknown, and the hint names what goes on', async () => {
    const { gateway, create, onlyJob } = await scene(
      ...Array<CreateFate>(9).fill({ commit: 'never', reply: 'reset' }),
    );
    const error = await errorOf(create());
    expect(error).toMatchObject({ kind: 'unknown_outcome' });
    expect(error.facts?.hint).toContain('gw jobs sync');
    expect(gateway.creates).toHaveLength(5);
    expect(new Set(gateway.creates).size).toBe(1);
    expect(await onlyJob()).toMatchObject({ state: 'unknown', id: undefined });
  });

  test.each(['503', 'reset', 'garbage', 'no-list'] as const)(
    'a look-up that fails (%s) proves nothing: nothing is sent again on it',
    async (fault) => {
      const { gateway, create } = await scene({ commit: 'now', reply: 'reset' });
      gateway.lookUpFaults.push(fault, fault, fault);
      const job = await create();
      expect(gateway.creates).toHaveLength(1);
      expect(job.id).toBe('bt-1');
    },
  );

  test('look-ups that meet a 429: none comes before Retry-After, also not the first of the next round, and gw says so', async () => {
    const { gateway, create, clock, notes } = await scene({ commit: 'now', reply: 'reset' });
    gateway.lookUpFaults.push(...Array<'429'>(4).fill('429'));
    const saidMs = [clock.steady()];
    const push = notes.push.bind(notes);
    notes.push = (...texts) => {
      saidMs.push(clock.steady());
      return push(...texts);
    };
    expect(await create()).toMatchObject({ id: 'bt-1' });
    expect([gateway.lookUps.length, clock.sleptMs()]).toEqual([5, 4 * 75_000]);
    const silences = [...saidMs, clock.steady()].map((ms, at) => ms - (saidMs[at - 1] ?? ms));
    expect(Math.max(...silences)).toBeLessThan(30_000);
    expect(notes.join('\n')).toContain('2026-11-20T12:01:15.000Z');
  });

  test.each([
    ['a 429 would last longer than the wait', '429', 200_000, 150_000],
    ['the wait ends between two empty look-ups', undefined, 10_000, 7_000],
    ['the wait is over already: the task is looked up once', undefined, 0, 0],
  ] as const)('%s: the outcome is unknown, and nothing is sent again', async (_, fault, waitMs, sleptMs) => {
    const { gateway, create, clock, wait, onlyJob } = await scene({ commit: 'never', reply: 'reset' });
    if (fault) gateway.lookUpFaults.push(...Array<'429'>(9).fill(fault));
    wait.deadlineMs = clock.steady() + waitMs;
    const error = await errorOf(create());
    expect(error).toMatchObject({ kind: 'unknown_outcome', message: expect.stringContaining('look-up') });
    expect(error.facts?.retryAtMs).toBe(fault && clock.now() + 75_000);
    expect([clock.sleptMs(), gateway.creates.length]).toEqual([sleptMs, 1]);
    expect((await onlyJob()).state).toBe('unknown');
  });

  test('the words of a reply without a task are told also if the wait ends before the look-up does', async () => {
    const { create, clock, wait, onlyJob } = await scene({ commit: 'never', reply: 'wordy' });
    wait.deadlineMs = clock.steady() + 10_000;
    const said = 'it says "the queue is full"';
    expect(await errorOf(create())).toMatchObject({ message: expect.stringContaining(said) });
    expect((await onlyJob()).message).toContain(said);
  });

  // Only a look-up with HTTP 200 can show that the gateway has no such task.
  test.each(['503', '202'] as const)(
    'a gateway that answers each look-up with %s: one create, and the outcome is unknown',
    async (fault) => {
      const { gateway, create, notes, onlyJob } = await scene({ commit: 'never', reply: 'reset' });
      gateway.lookUpFaults.push(...Array<typeof fault>(50).fill(fault));
      expect(await errorOf(create())).toMatchObject({ kind: 'unknown_outcome' });
      const announced = notes.filter((note) => note.endsWith('looking for the task again'));
      expect(gateway.lookUps).toHaveLength(4 * (1 + announced.length));
      expect(gateway.creates).toHaveLength(1);
      expect((await onlyJob()).state).toBe('unknown');
    },
  );

  describe.each(['refused', 'refused-422', 401, 402, 429] as const)('sent again and met with %s', (reply) => {
    test('never committed: the first sending stays unknown, until an hour of proof', async () => {
      const { gateway, create, onlyJob, settle, clock } = await scene(
        { commit: 'never', reply: 'reset' },
        { commit: 'never', reply },
      );
      const error = await errorOf(create());
      expect(error).toMatchObject({ kind: 'unknown_outcome' });
      expect(`${error.message} ${error.hint}`).not.toMatch(/try again|asked again|\b300\b/);
      expect(error.facts).not.toHaveProperty('retryAtMs');
      expect(gateway.creates).toHaveLength(2);
      expect(await onlyJob()).toMatchObject({ state: 'unknown', id: undefined });
      expect(await settle()).toMatchObject({ outcome: 'open' });
      await clock.sleep(3_700_000);
      expect(await settle()).toMatchObject({ outcome: 'over' });
      expect(gateway.creates).toHaveLength(2);
    });

    test('committed a minute late: it is found all the same', async () => {
      const { gateway, create, onlyJob, settle, clock } = await scene(
        { commit: { afterMs: 60_000 }, reply: 'reset' },
        { commit: 'never', reply },
      );
      // The gateway refuses the second create for another reason, before it checks the external ID.
      gateway.refusesFirst = true;
      expect(await errorOf(create())).toMatchObject({ kind: 'unknown_outcome' });
      await clock.sleep(60_000);
      expect(await settle()).toEqual({ outcome: 'adopted', id: 'bt-1' });
      expect(await onlyJob()).toMatchObject({ state: 'running', id: 'bt-1' });
      expect(gateway.creates).toHaveLength(2);
    });

    test('committed before the look-up after it: taken at once', async () => {
      const { gateway, create } = await scene(
        { commit: { afterMs: 30_000 }, reply: 'reset' },
        { commit: 'never', reply },
      );
      gateway.refusesFirst = true;
      expect(await create()).toMatchObject({ id: 'bt-1' });
      expect(gateway.creates).toHaveLength(2);
    });
  });

  test('a refusal of the only sending is the end of it', async () => {
    const { gateway, create, onlyJob } = await scene({ commit: 'never', reply: 402 });
    expect(await errorOf(create())).toMatchObject({ kind: 'balance' });
    expect((await onlyJob()).state).toBe('refused');
    expect(gateway.lookUps).toEqual([]);
  });

  test.each([302, 409, 425] as const)('HTTP %d settles nothing: it is looked up', async (reply) => {
    const { gateway, create } = await scene({ commit: 'now', reply });
    expect(await create()).toMatchObject({ id: 'bt-1' });
    expect(gateway.creates).toHaveLength(1);
  });

  test('committed late, and the second sending meets HTTP 409: the first task is taken', async () => {
    const { gateway, create, notes } = await scene({ commit: { afterMs: 30_000 }, reply: 'reset' });
    gateway.duplicates = 'conflict';
    expect(await create()).toMatchObject({ id: 'bt-1' });
    expect(gateway.creates).toHaveLength(2);
    expect(notes[0]).toContain('no answer named the task; looking for it by its external ID');
  });

  test('HTTP 409 says in words what came, and where another job has the ID, that nothing was created', async () => {
    const { gateway, create, notes, ledger } = await scene();
    gateway.duplicates = 'conflict';
    const body = { prompt: 'a fox', options: { external_task_id: 'order-17' } };
    const first = await create(body);
    const error = await errorOf(create(body));
    expect(error).toMatchObject({
      kind: 'rejected',
      message: expect.stringContaining('nothing was created'),
    });
    expect(error.facts?.hint).toContain(first.id);
    expect(notes).toEqual([expect.stringContaining('answered HTTP 409; looking')]);
    expect(gateway.tasks().size).toBe(1);
    expect((await ledger.find()).map(({ state }) => state).sort()).toEqual(['refused', 'running']);
  });

  test('an interrupt while it is looked for leaves it to jobs sync, which finds it', async () => {
    const { gateway, create, abort, onlyJob, settle, notes } = await scene({ commit: 'now', reply: 'reset' });
    gateway.lookUpFaults.push(...Array<'503'>(3).fill('503'));
    const push = notes.push.bind(notes);
    notes.push = (...texts) => {
      queueMicrotask(() => abort.abort(new Interrupted('SIGINT' satisfies EndingSignal)));
      return push(...texts);
    };
    const error = await errorOf(create());
    expect(error).toBeInstanceOf(Interrupted);
    expect(error).toMatchObject({
      facts: { hint: expect.stringContaining('gw jobs sync'), taskId: (await onlyJob())?.key },
    });
    expect(await onlyJob()).toMatchObject({ state: 'unknown' });
    gateway.lookUpFaults.splice(0);
    const later = new AbortController();
    Object.defineProperty(abort, 'signal', { value: later.signal });
    expect(await settle()).toEqual({ outcome: 'adopted', id: 'bt-1' });
    expect(await onlyJob()).toMatchObject({ state: 'running', id: 'bt-1' });
  });

  test('an interrupt while a task under its own ID is looked for, which a proxy that sends twice has made: the same', async () => {
    const { gateway, create, abort, clock, onlyJob, settle } = await scene();
    const key = newJobKey();
    gateway.add(key, clock.now());
    gateway.lookUpFaults.push('503');
    const sleep = clock.sleep.bind(clock);
    clock.sleep = async (ms, signal) => {
      abort.abort(new Interrupted('SIGINT' satisfies EndingSignal));
      return sleep(ms, signal);
    };
    const error = await errorOf(create({ prompt: 'a fox' }, betaCreateText, key));
    expect(error).toBeInstanceOf(Interrupted);
    expect(await onlyJob()).toMatchObject({ state: 'unknown' });
    clock.sleep = sleep;
    Object.defineProperty(abort, 'signal', { value: new AbortController().signal });
    expect(await settle()).toMatchObject({ outcome: 'adopted' });
    expect(gateway.creates).toHaveLength(1);
  });

  test('a body of an undocumented mode is looked up by the ID that it carries', async () => {
    const { gateway, create } = await scene({ commit: 'now', reply: 'reset' });
    const job = await create({ model: 'x', options: { external_task_id: 'order-17' } }, betaCreateMotion);
    expect(gateway.creates).toEqual(['order-17']);
    expect(gateway.tasks().get('order-17')).toBe(job.id);
  });

  test('a body that says null for its external ID is sent so, and its loss stays unknown', async () => {
    const { gateway, create, onlyJob } = await scene({ commit: 'now', reply: 'reset' });
    const error = await errorOf(create({ prompt: 'a fox', options: { external_task_id: null } }));
    expect(error).toMatchObject({ kind: 'unknown_outcome' });
    expect(gateway.creates).toEqual([null]);
    expect(gateway.lookUps).toEqual([]);
    expect((await onlyJob()).externalId).toBeUndefined();
  });
});

describe('an external ID that is taken', () => {
  test('given by the user, on the first send: refused, and the task that has it is named', async () => {
    const { gateway, create, ledger } = await scene();
    const body = { prompt: 'a fox', options: { external_task_id: 'order-17' } };
    const first = await create(body);
    const error = await errorOf(create(body));
    expect(error).toMatchObject({ kind: 'rejected', message: expect.stringContaining('already exists') });
    expect(error.facts?.hint).toContain(first.id);
    expect(gateway.tasks().size).toBe(1);
    const states = (await ledger.find()).map(({ state }) => state).sort();
    expect(states).toEqual(['refused', 'running']);
  });

  test('by a task of another job, and the refusal is lost: that task is not taken for this one', async () => {
    const { create, gateway, ledger } = await scene(
      { commit: 'now', reply: 'whole' },
      { commit: 'never', reply: '502' },
    );
    gateway.duplicates = 'lost';
    const body = { prompt: 'a fox', options: { external_task_id: 'order-17' } };
    const first = await create(body);
    const error = await errorOf(create(body));
    expect(error).toMatchObject({
      kind: 'rejected',
      message: expect.stringContaining('nothing was created'),
    });
    expect(error.facts?.hint).toContain(first.id);
    expect((await ledger.find()).map(({ state }) => state).sort()).toEqual(['refused', 'running']);
  });

  test('by an older task that this ledger does not know, and the answer is lost: not taken for this one', async () => {
    const { create, gateway, clock, onlyJob } = await scene({ commit: 'never', reply: '502' });
    gateway.duplicates = 'lost';
    const old = gateway.add('order-17', clock.now() - 3 * 86_400_000);
    const error = await errorOf(create({ prompt: 'a fox', options: { external_task_id: 'order-17' } }));
    expect(error).toMatchObject({ kind: 'rejected' });
    expect(error.facts?.hint).toContain(old);
    expect((await onlyJob()).state).toBe('refused');
  });

  test('by a task made within the minute that two clocks may differ: it is the one that was lost', async () => {
    const { create, gateway, clock } = await scene({ commit: 'never', reply: '502' });
    gateway.duplicates = 'lost';
    const id = gateway.add('order-17', clock.now() - 30_000);
    expect(await create({ prompt: 'a fox', options: { external_task_id: 'order-17' } })).toMatchObject({
      id,
    });
  });

  test('one of gw’s own, on the first send: its task is taken, or the outcome is unknown where none can be looked up', async () => {
    const { gateway, create, clock, onlyJob } = await scene();
    const key = newJobKey();
    const id = gateway.add(key, clock.now());
    gateway.lookUpFaults.push(...Array<'503'>(50).fill('503'));
    const error = await errorOf(create(undefined, undefined, key));
    expect(error).toMatchObject({ kind: 'unknown_outcome', message: expect.stringContaining('look-up') });
    expect(error.facts?.hint).toContain('gw jobs sync');
    expect(error.facts?.hint).toContain(`gw jobs resolve ${key} --as ID|none`);
    expect((await onlyJob()).state).toBe('unknown');
    const second = await scene();
    second.gateway.add(key, second.clock.now());
    expect(await second.create(undefined, undefined, key)).toMatchObject({ id });
  });

  test('a refusal that only sounds like it is reported as it is', async () => {
    const { gateway, create, onlyJob } = await scene({ commit: 'never', reply: 'refused-422' });
    const error = await errorOf(create());
    expect(error).toBeInstanceOf(GwError);
    expect(error).toMatchObject({ kind: 'rejected', message: expect.stringContaining('flagged') });
    expect(gateway.creates).toHaveLength(1);
    expect((await onlyJob()).state).toBe('refused');
  });
});

describe("the same create again under the user's own external ID, while its answer is lost", () => {
  const body = { prompt: 'a fox', options: { external_task_id: 'order-17' } };

  /** Makes a create whose reply is lost, while every look-up fails too. */
  async function lost(commit: CreateFate['commit']) {
    const made = await scene({ commit, reply: 'reset' });
    made.gateway.lookUpFaults.push(...Array<'503'>(20).fill('503'));
    const error = await errorOf(made.create(body));
    expect(error).toMatchObject({ kind: 'unknown_outcome' });
    made.gateway.lookUpFaults.splice(0);
    return made;
  }

  test('the task is found, taken into the first job, and nothing is sent', async () => {
    const { create, gateway, onlyJob, notes } = await lost('now');
    const { key } = await onlyJob();
    expect(await create(body)).toMatchObject({ key, id: 'bt-1', isOwnReply: false });
    expect(await onlyJob()).toMatchObject({ key, state: 'running', id: 'bt-1' });
    expect(gateway.creates).toHaveLength(1);
    expect(notes.at(-2)).toContain(key);
    expect(notes.at(-1)).toContain('bt-1; nothing was sent');
  });

  test('there is no such task: it is sent again under the same ID, for the first job', async () => {
    const { create, gateway, onlyJob } = await lost('never');
    const { key } = await onlyJob();
    expect(await create(body)).toMatchObject({ key, id: 'bt-1', isOwnReply: true });
    expect(gateway.creates).toEqual(['order-17', 'order-17']);
    expect(await onlyJob()).toMatchObject({ key, state: 'running' });
  });

  test('sent again after an empty look-up, and lost again: the hour of proof counts from there', async () => {
    const made = await scene(
      { commit: 'never', reply: 'reset' },
      { commit: 'never', reply: 402 },
      { commit: { afterMs: 1_800_000 }, reply: 'reset' },
    );
    made.gateway.duplicates = 'lost';
    expect(await errorOf(made.create(body))).toMatchObject({ kind: 'unknown_outcome' });
    await made.clock.sleep(7_200_000);
    expect(await errorOf(made.create(body))).toMatchObject({ kind: 'unknown_outcome' });
    expect(await made.settle()).toMatchObject({ outcome: 'open' });
    await made.clock.sleep(1_900_000);
    expect(await made.settle()).toEqual({ outcome: 'adopted', id: 'bt-1' });
  });

  test('another body is never sent, nor another ID advised; what was lost is settled', async () => {
    const { create, gateway, onlyJob } = await lost('now');
    const error = await errorOf(create({ ...body, prompt: 'a bear' }));
    expect(error).toMatchObject({ kind: 'rejected', facts: { taskId: 'bt-1' } });
    expect(error.facts?.hint).not.toContain('--external-id');
    expect(gateway.creates).toHaveLength(1);
    expect(await onlyJob()).toMatchObject({ state: 'running', id: 'bt-1' });
  });

  test('another body, and an older task has the ID: it is named, and not taken for what was lost', async () => {
    const { create, gateway, clock, onlyJob } = await lost('never');
    const { key } = await onlyJob();
    const old = gateway.add('order-17', clock.now() - 86_400_000);
    const error = await errorOf(create({ ...body, prompt: 'a bear' }));
    expect(error).toMatchObject({
      kind: 'rejected',
      message: `external ID order-17 is that of job ${key}, which asked for something else: it is task ${old}; nothing was sent`,
      facts: { taskId: old, hint: `pick that one up with: gw video beta wait ${old}` },
    });
    expect(gateway.creates).toHaveLength(1);
    expect(await onlyJob()).toMatchObject({ key, state: 'unknown', id: undefined });
  });

  test('another body while nothing is known: the outcome stays unknown, and nothing is sent', async () => {
    const { create, gateway, onlyJob } = await lost('never');
    const { key } = await onlyJob();
    const error = await errorOf(create({ ...body, prompt: 'a bear' }));
    expect(error).toMatchObject({ kind: 'unknown_outcome', facts: { taskId: key } });
    expect(gateway.creates).toHaveLength(1);
  });

  test('the same body for another model is another job: nothing is sent, nor that task taken for it', async () => {
    const { create, gateway, onlyJob } = await lost('now');
    const error = await errorOf(
      create(body, betaCreateText, undefined, { endpoint: 'beta.create.text-turbo' }),
    );
    expect(error).toMatchObject({ kind: 'rejected', facts: { taskId: 'bt-1' } });
    expect(gateway.creates).toHaveLength(1);
    expect(await onlyJob()).toMatchObject({ state: 'running', id: 'bt-1' });
  });

  test.each([
    ['of another gateway', { gateway: 'https://other.example' }],
    ['of another key, which may be another account', { keyId: 'theirs' }],
    ['under another external ID', { externalId: 'order-18' }],
  ])('a lost job %s is not gone on with', async (_, changes) => {
    const { create, gateway, ledger, left } = await scene();
    const same = { keyId: 'mine', externalId: 'order-17', bodySha256: digestOf(body), gateway: gateway.url };
    const other = left.begin(intent({ ...asked, ...same, ...changes }));
    left.append(other, { event: 'sent' });
    left.append(other, { event: 'unknown', message: 'the connection was reset' });
    const made = await create(body, betaCreateText, undefined, { keyId: 'mine' });
    expect(made.key).not.toBe(other);
    expect(made).toMatchObject({ isOwnReply: true });
    expect(gateway.creates).toEqual(['order-17']);
    expect((await ledger.find({ ids: [other] }))[0]).toMatchObject({ state: 'unknown', id: undefined });
  });

  test('while another process is at work on it: nothing is sent', async () => {
    const { create, gateway, ledger, onlyJob } = await lost('now');
    const hold = await ledger.hold((await onlyJob()).key);
    expect(await errorOf(create(body))).toMatchObject({ kind: 'usage' });
    hold?.release();
    expect(gateway.creates).toHaveLength(1);
  });
});

describe('what a dead process left, settled by jobs sync', () => {
  const died = { event: 'sent' } as const;
  /** Makes a job whose process ended after the job was sent. */
  async function left(commit: boolean, changes: object = {}) {
    const made = await scene(
      commit ? { commit: 'now', reply: 'reset' } : { commit: 'never', reply: 'reset' },
    );
    const { body, key, externalId } = identifyBody(betaFamily, { prompt: 'a fox' });
    made.left.begin(intent({ family: 'beta', externalId, gateway: made.gateway.url, ...changes }), key);
    made.left.append(key, died);
    const request = { method: 'POST', body: JSON.stringify(body) };
    await fetch(`${made.gateway.url}/text-to-video/beta-3.0`, request).catch(() => {});
    return made;
  }

  test('a task that is there is taken in', async () => {
    const { settle, onlyJob, gateway } = await left(true);
    expect(await settle()).toEqual({ outcome: 'adopted', id: 'bt-1' });
    expect(await onlyJob()).toMatchObject({ state: 'running', id: 'bt-1', status: 'submitted' });
    expect(gateway.creates).toHaveLength(1);
  });

  const open = { outcome: 'open', message: expect.any(String) };

  test('one that is not there yet is looked for with patience, and at every sync', async () => {
    const { settle, onlyJob, gateway, clock } = await left(false);
    expect(await settle()).toEqual(open);
    expect(clock.sleeps).toEqual([2000, 5000, 15_000]);
    await clock.sleep(61_000);
    expect(await settle()).toEqual(open);
    expect((await onlyJob()).state).toBe('unknown');
    expect(gateway.lookUps).toHaveLength(8);
    expect(gateway.creates).toHaveLength(1);
  });

  test('one that is shown after a long time is taken in all the same', async () => {
    const { settle, onlyJob, gateway, clock } = await left(false);
    expect(await settle()).toEqual(open);
    await clock.sleep(1_800_000);
    expect(await settle()).toEqual(open);
    const id = gateway.add((await onlyJob()).key, clock.now());
    await clock.sleep(7_200_000);
    expect(await settle()).toEqual({ outcome: 'adopted', id });
  });

  test('one that two look-ups an hour apart do not find was never created: said once, and never sent', async () => {
    const { settle, onlyJob, gateway, clock } = await left(false);
    expect(await settle()).toEqual(open);
    await clock.sleep(3_500_000);
    expect(await settle()).toEqual(open);
    await clock.sleep(100_000);
    const settled = await settle();
    expect(settled).toMatchObject({ outcome: 'over', error: { kind: 'unavailable' } });
    const { key, message, state } = await onlyJob();
    expect(state).toBe('refused');
    expect(message).toBe('the gateway has no task under its external ID');
    expect(settled).toHaveProperty('error.message', `${key} was never created: ${message}`);
    expect(gateway.creates).toHaveLength(1);
  });

  test("a clock of this machine that is set on proves nothing: the gateway's counts", async () => {
    const { settle, onlyJob } = await left(false);
    expect(await settle()).toEqual(open);
    expect(await settle({ skewMs: 86_400_000 })).toEqual(open);
    expect((await onlyJob()).state).toBe('unknown');
  });

  test('a look-up with another key proves nothing, however late', async () => {
    const { settle, onlyJob, clock } = await left(false, { keyId: 'aaaaaaaaaaaa' });
    expect(await settle({ keyId: 'bbbbbbbbbbbb' })).toMatchObject({
      message: expect.stringContaining('another key'),
    });
    await clock.sleep(7_200_000);
    expect(await settle({ keyId: 'bbbbbbbbbbbb' })).toMatchObject({ outcome: 'open' });
    expect((await onlyJob()).state).toBe('unknown');
    await clock.sleep(31 * 24 * 3_600_000);
    // After a month, gw stops reporting the job as open.
    expect(await settle({ keyId: 'bbbbbbbbbbbb' })).toEqual({ outcome: 'unknown' });
  });

  test('a look-up that fails leaves it open, and says why; one whose key is refused ends with that', async () => {
    const { settle, onlyJob, gateway, clock } = await left(false);
    await clock.sleep(7_200_000);
    gateway.lookUpFaults.push('401', '401', '401', '401', '503', '503', '503', '503');
    expect(await errorOf(settle())).toMatchObject({ kind: 'auth' });
    expect(await settle()).toMatchObject({ outcome: 'open', message: expect.stringContaining('503') });
    expect((await onlyJob()).state).toBe('unknown');
  });

  test("the user's own external ID of an older task is not taken for the lost one's", async () => {
    const made = await scene({ commit: 'never', reply: 'reset' });
    const id = made.gateway.add('order-17', made.clock.now() - 86_400_000);
    const key = made.left.begin(
      intent({ family: 'beta', externalId: 'order-17', gateway: made.gateway.url }),
    );
    made.left.append(key, died);
    const settled = await made.settle();
    expect(settled).toMatchObject({ outcome: 'over', error: { kind: 'rejected' } });
    expect(settled).toHaveProperty('error.facts.hint', expect.stringContaining(id));
    expect((await made.onlyJob()).state).toBe('refused');
  });

  test("the task of the user's own external ID is its own where the clock was set back since it was sent", async () => {
    const made = await scene();
    const key = made.left.begin(
      intent({ family: 'beta', externalId: 'order-17', gateway: made.gateway.url }),
    );
    made.left.append(key, died);
    const id = made.gateway.add('order-17', made.clock.now());
    await made.clock.sleep(3_600_000);
    expect(await made.settle({ skewMs: -2 * 86_400_000 })).toEqual({ outcome: 'adopted', id });
  });

  const MONTH_MS = 31 * 24 * 3_600_000;

  test('one of any age is looked for: the clock of this machine may have been wrong when it was made', async () => {
    const { settle, onlyJob, clock } = await left(true);
    expect(await settle({ skewMs: MONTH_MS })).toEqual({ outcome: 'adopted', id: 'bt-1' });
    expect(isOpen(await onlyJob(), betaFamily, clock.now() + MONTH_MS)).toBe(true);
  });

  test('after the gateway has forgotten its records, absence proves nothing, and is not asked for without end', async () => {
    const { settle, onlyJob, clock } = await left(false);
    await clock.sleep(MONTH_MS);
    expect(await settle()).toEqual(open);
    await clock.sleep(7_200_000);
    expect(isOpen(await onlyJob(), betaFamily, clock.now())).toBe(true);
    expect(await settle()).toEqual(open);
    expect((await onlyJob()).state).toBe('unknown');
    expect(isOpen(await onlyJob(), betaFamily, clock.now() + MONTH_MS)).toBe(false);
  });
});

describe('the lost create of a --once key', () => {
  /** Asks for the key at the base URL `at`, after its create was lost at `/a` of the same origin. */
  async function askedAt(at: string) {
    const made = await scene();
    const { gateway, ledger, clock, abort } = made;
    const origin = gateway.url;
    const externalId = onceJobKey(origin, 'k');
    const once = { key: 'k', attempt: 1, fields: {} };
    const { bodySha256: _, ...lost } = intent({ ...asked, gateway: `${origin}/a` });
    made.left.begin({ ...lost, bodySha256: '', externalId, once }, externalId);
    made.left.append(externalId, { event: 'sent' });
    const { client } = testClient(origin);
    const deps = {
      ledger,
      clock,
      signal: abort.signal,
      client: async () => client,
      note: () => {},
      silenceMs: 60_000,
    };
    const request: JobRequest = {
      family: betaFamily,
      endpoint: betaCreateText,
      body: {},
      intent: { ...lost, gateway: `${origin}${at}` },
      how: { once: 'k' },
      outputsExpected: 1,
      flagOf: () => undefined,
    };
    const make = () => Promise.resolve('made');
    return { ...made, ask: () => makeOnce({ request, asked: {} }, deps, make) };
  }

  test.each([
    ['the gateway that it was sent to proves after an hour that there is none', '/a', 'made'],
    [
      'another gateway of the same origin proves nothing',
      '/b',
      { error: expect.objectContaining({ kind: 'unknown_outcome' }) },
    ],
  ])('%s', async (_, at, after) => {
    const { ask, clock } = await askedAt(at);
    expect(await ask()).toMatchObject({ error: { kind: 'unknown_outcome' } });
    await clock.sleep(3_700_000);
    const asked = await ask();
    if (typeof after === 'string') expect(asked).toBe(after);
    else expect(asked).toMatchObject(after);
  });
});

test.each([
  ['a family without external IDs', {}, { prompt: 'a fox' }],
  ['a body without options', betaFamily, { prompt: 'a fox' }],
  ['options before a picture', betaFamily, { options: { seed: 7 }, image: 'data:,x', prompt: 'é' }],
  ['an ID of its own', betaFamily, { options: { external_task_id: 'order-7' } }],
  ['an ID that is null', betaFamily, { options: { external_task_id: null } }],
  ['options that are none', betaFamily, { options: 'none' }],
])('the digests of a body under any external ID are those of the bodies with them: %s', (_, family, body) => {
  const digests = digestsOf(family, body);
  for (const id of ['order-8', 'with "quotes"\n', 'ü', newJobKey()]) {
    expect(digests(id)).toBe(digestOf(identifyBody(family, body, newJobKey(), id).body));
  }
});

test('a body is read once for all its digests: it may hold a picture', () => {
  let reads = 0;
  const body = {
    get image() {
      reads += 1;
      return 'data:,x';
    },
  };
  const digests = digestsOf(betaFamily, body);
  expect(reads).toBe(0);
  expect(new Set(['a', 'b', 'c'].map(digests)).size).toBe(3);
  expect(reads).toBe(1);
});
