import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { rowReader } from '../../src/commands/machines/open.ts';
import { takeOut } from '../../src/commands/machines/queue-status.ts';
import { Door } from '../../src/machines/door.ts';
import {
  fenceOf,
  type RowRecord,
  type RowState,
  rowStates,
  type Stage,
  type Step,
  steps,
} from '../../src/machines/row.ts';
import { RowStore } from '../../src/machines/store.ts';
import { type Desk, type Hands, type Made, workOn } from '../../src/machines/work.ts';
import { openRedis, type TestRedis } from './redis.ts';

// @module-tag redis-server
// The steps of a row, with a real Redis: a worker dies or hangs after each step, and another one continues. Nothing is
// created twice, and only a row that was being sent may end as unknown.

const cleanings: (() => unknown)[] = [];
let redis: TestRedis;
let store: RowStore;
beforeAll(async () => {
  redis = await openRedis({}, (clean) => cleanings.push(clean));
  const door = await Door.open(redis.url);
  cleanings.push(() => door.end());
  store = new RowStore(door, 'test', rowReader);
});
afterAll(async () => {
  for (const clean of cleanings.reverse()) await clean();
});

const families = ['alpha', 'beta', 'gamma', 'image'] as const;
type FamilyName = (typeof families)[number];

let count = 0;
/** Hands over a new row. */
async function newRow(family: FamilyName): Promise<string> {
  count += 1;
  const key = `day/r${count}`;
  const command = family === 'image' ? 'image create' : `video ${family}`;
  const row = { row: count, line: count, key, command, flags: { prompt: 'a fox' }, set: [] };
  const record: RowRecord = {
    ...{
      state: 'waiting',
      round: 0,
      row,
      rows: 1,
      named: 'day.jsonl',
      again: false,
      family,
      pool: family,
      files: [],
    },
  };
  expect(await store.handOver(record, 'laptop')).toBe(true);
  return key;
}

/** The gateway's state: the task for each external ID, and the number of tasks made. */
class Gateway {
  readonly tasks = new Map<string, string>();
  made = 0;
  saves = 0;

  create(key: string, isUnique: boolean): string {
    const known = this.tasks.get(key);
    if (isUnique && known !== undefined) return known;
    this.made += 1;
    const id = `task-${this.made}`;
    this.tasks.set(key, id);
    return id;
  }
}

/** The points where a worker may die or hang, in the order in which a row reaches them. */
const points = [
  'taken',
  'sending told',
  'request taken',
  'answered',
  'ID told',
  'task ended',
  'end told',
  'on the queue of outputs',
  'saving',
  'on disk',
] as const;
type Point = (typeof points)[number];
/** An image has no task to wait for: it arrives with the reply and is on disk before the queue is told. */
const ofImages: readonly Point[] = ['taken', 'sending told', 'request taken', 'answered'];

class Dead extends Error {}

interface WorkerOptions {
  readonly host: string;
  readonly gateway: Gateway;
  /** Called at each point; an exception from it is the worker's death. */
  readonly at?: (point: Point) => void | Promise<void>;
  /** The keys of the rows that this machine's ledger knows. */
  readonly ledger?: ReadonlySet<string>;
  /** The result that the create returns in place of a job; if `sends` is set, the request has been sent before. */
  readonly comesTo?: { readonly made: Made; readonly sends: boolean };
}

const takings = new Map<string, number>();

/** Takes a row at a stage, as the queue would hand it out, and works on it. */
async function work(
  key: string,
  stage: Stage,
  { host, gateway, at = () => {}, ledger = new Set(), comesTo }: WorkerOptions,
) {
  const attempt = (takings.get(`${key} ${stage}`) ?? 0) + 1;
  takings.set(`${key} ${stage}`, attempt);
  const actor = { host, attempt, fence: fenceOf(0, stage, attempt), announced: host };
  const { result, record } = await store.take(key, actor);
  if (result !== 'ok' || !record) return { put: 'done', isToSave: false };
  await at(stage === 'task' ? 'taken' : 'saving');
  let isToSave = false;
  const takenAway: string[] = [];
  const desk: Desk = {
    async step(step, changes) {
      const done = await store.step(key, step, actor, changes);
      if (step === 'sending') await at('sending told');
      if (step === 'accepted') await at('ID told');
      if (step === 'ended') await at('end told');
      return done;
    },
    async toSave() {
      isToSave = true;
      await at('on the queue of outputs');
    },
    isAwayBefore: async () => false,
    mayDoElsewhere: async () => false,
    async neverSent(error) {
      if ((await store.step(key, 'nothing_made', actor, { error })) === 'ok') return;
      await store.step(key, 'never_sent', { host, announced: host });
    },
    async found(made) {
      const changes = { id: made.id, round: 1 };
      return made.kind === 'saved'
        ? (await store.step(key, 'brought', { host }, { ...changes, files: made.files })) === 'ok'
        : (await store.step(key, 'cleared', { host }, changes)) === 'ok';
    },
  };
  const isImage = record.family === 'image';
  const files = [{ path: `/${host}/${key}.mp4`, bytes: 1, sha256: '0'.repeat(64), type: 'video/mp4' }];
  const hands: Hands = {
    knows: async ({ row }) => ledger.has(row.key),
    async create({ row, family }, beforeSend) {
      if (comesTo?.sends) await beforeSend();
      if (comesTo) await at('answered');
      if (comesTo) return comesTo.made;
      const known = ledger.has(row.key) ? gateway.tasks.get(row.key) : undefined;
      if (known === undefined) await beforeSend();
      const id = known ?? gateway.create(row.key, family === 'beta');
      await at('request taken');
      await at('answered');
      if (isImage) return { kind: 'saved', files, status: 'completed', id };
      const job = {
        endpoint: family,
        model: 'm',
        settings: {},
        media: [],
        attempt: 1,
        fields: {},
        files: {},
      };
      return { kind: 'accepted', id, status: 'queued', job };
    },
    async follow() {
      await at('task ended');
      return { kind: 'ended', status: 'succeeded' };
    },
    async save() {
      gateway.saves += 1;
      await at('on disk');
      return { kind: 'saved', files };
    },
    pause: async () => {},
    onTakenAway: (_row, why) => void takenAway.push(why),
  };
  return { put: await workOn(stage, record, desk, hands), isToSave, takenAway };
}

/** Another worker works on the row until its end. */
async function goOn(key: string, options: WorkerOptions): Promise<RowRecord> {
  await work(key, 'task', options);
  await work(key, 'save', options);
  const [record] = await store.read([key]);
  if (!record) throw new Error('the row is there');
  return record;
}

/** At these points the worker may have sent a request that no other machine knows of. */
const isBeingSent = (point: Point) => ['sending told', 'request taken', 'answered'].includes(point);
const table = families.flatMap((family) =>
  (family === 'image' ? ofImages : points).map((point) => ({ family, point })),
);

describe.each(table)('$family, behind "$point"', ({ family, point }) => {
  const stageOf = (at: Point): Stage => (at === 'saving' || at === 'on disk' ? 'save' : 'task');
  const isLost = isBeingSent(point) && family !== 'beta';

  test('a worker dies, another goes on', async () => {
    const key = await newRow(family);
    const gateway = new Gateway();
    const dying = {
      ...{ host: 'one', gateway },
      at: (here: Point) => {
        if (here === point) throw new Dead();
      },
    };
    if (stageOf(point) === 'save') await work(key, 'task', { host: 'zero', gateway });
    await expect(work(key, stageOf(point), dying)).rejects.toThrow(Dead);
    const record = await goOn(key, { host: 'two', gateway });
    expect(record.state).toBe(isLost ? 'unknown' : 'saved');
    expect(gateway.made).toBe(point === 'sending told' && family !== 'beta' ? 0 : 1);
    if (isLost)
      expect(record.error).toMatchObject({
        kind: 'unknown_outcome',
        message: expect.stringContaining('one'),
      });
    else expect(record.files).toMatchObject([{ path: `/two/${key}.mp4` }]);
    const log = await store.log(key);
    expect(log.map(({ host }) => host)).toEqual(expect.arrayContaining(['laptop', 'one', 'two']));
  });

  test('a worker hangs, another goes on, and the first writes nothing over it', async () => {
    const key = await newRow(family);
    const gateway = new Gateway();
    if (stageOf(point) === 'save') await work(key, 'task', { host: 'zero', gateway });
    let wake = () => {};
    const asleep = new Promise<void>((resolve) => {
      wake = resolve;
    });
    let reached = () => {};
    const there = new Promise<void>((resolve) => {
      reached = resolve;
    });
    const hanging = work(key, stageOf(point), {
      ...{ host: 'one', gateway },
      at: (here) => {
        if (here !== point) return undefined;
        reached();
        return asleep;
      },
    });
    await there;
    const before = await goOn(key, { host: 'two', gateway });
    const log = await store.log(key);
    wake();
    await hanging;
    expect(before.state).toBe(isLost ? 'unknown' : 'saved');
    if (isLost) {
      // The first worker then reports the task that no other machine knew of.
      const [after] = await store.read([key]);
      expect(after).toMatchObject({
        state: family === 'image' ? 'saved' : 'running',
        id: gateway.tasks.get(key),
        round: 1,
      });
    } else {
      expect(await store.read([key])).toEqual([before]);
      expect(await store.log(key)).toEqual(log);
    }
    // A worker that hung with permission to send still sends: nobody can revoke that, and no other worker has sent the row.
    expect(gateway.made).toBeLessThanOrEqual(1);
  });
});

/** Worker `one` sends a row and dies when the answer arrives. */
async function dieAnswered(key: string, gateway: Gateway): Promise<void> {
  const at = (here: Point) => {
    if (here === 'answered') throw new Dead();
  };
  await expect(work(key, 'task', { host: 'one', gateway, at })).rejects.toThrow(Dead);
}

test('a row that was sent, and whose worker was lost, while it is taken out is not taken back as unsent', async () => {
  const [key, unsent] = [await newRow('alpha'), await newRow('alpha')];
  const gateway = new Gateway();
  const takenBack: string[] = [];
  const racing = {
    read: store.read.bind(store),
    async step(...step: Parameters<RowStore['step']>) {
      if (gateway.made === 0) {
        await dieAnswered(key, gateway);
        await work(key, 'task', { host: 'two', gateway });
      }
      return store.step(...step);
    },
  };
  const queue = { store: racing, engine: { remove: async () => {} }, host: 'laptop' };
  const memory = { takenBack: (keys: readonly string[]) => takenBack.push(...keys) };
  expect(await takeOut([key, unsent], queue as never, memory as never)).toBe(2);
  expect(takenBack).toEqual([unsent]);
});

test.each(['alpha', 'gamma'] as const)(
  'a %s row that was being sent goes on where the ledger in reach knows its task',
  async (family) => {
    const key = await newRow(family);
    const gateway = new Gateway();
    await dieAnswered(key, gateway);
    const record = await goOn(key, { host: 'one', gateway, ledger: new Set([key]) });
    expect(record).toMatchObject({ state: 'saved', id: gateway.tasks.get(key) });
    expect(gateway.made).toBe(1);
  },
);

describe('a row that a dead worker was sending, and of which the next one', () => {
  /** The row's result when the next worker's create returns `made`. */
  async function next(family: FamilyName, made: Made, sends = false, isInLedger = false) {
    const key = await newRow(family);
    const gateway = new Gateway();
    await dieAnswered(key, gateway);
    const ledger = new Set(isInLedger ? [key] : []);
    const { put } = await work(key, 'task', { host: 'two', gateway, ledger, comesTo: { made, sends } });
    const [record] = await store.read([key]);
    const isTakenOut = (await store.step(key, 'cancelled', { host: 'laptop' })) === 'ok';
    return { key, gateway, put, record, isTakenOut };
  }

  const error = { kind: 'usage', message: 'fox.png: no such file', exit_code: 2 };
  const busy: Made = { kind: 'nothing_made', waitMs: 0 };
  const stop: Made = { kind: 'nothing_made', waitMs: 0 };

  test.each([
    { what: 'is told to look later', family: 'beta', made: busy },
    { what: 'is refused the look', family: 'beta', made: stop },
    { what: 'is told to end before it goes on with the task', family: 'alpha', made: busy },
  ] as const)('$what: it stays as it is, and is gone on with later', async ({ family, made }) => {
    const { key, gateway, put, record, isTakenOut } = await next(family, made, false, family === 'alpha');
    expect({ put, state: record?.state, isTakenOut }).toEqual({
      put: 'back',
      state: 'sending',
      isTakenOut: false,
    });
    const after = await goOn(key, { host: 'three', gateway, ledger: new Set([key]) });
    expect(after).toMatchObject({ state: 'saved', id: gateway.tasks.get(key) });
    expect(gateway.made).toBe(1);
  });

  test('is told to look later, while a third calls it unknown: it stays unknown', async () => {
    const key = await newRow('beta');
    const gateway = new Gateway();
    await dieAnswered(key, gateway);
    const cannotLook = { made: { kind: 'failed', error, isOfJob: false }, sends: false } as const;
    await work(key, 'task', {
      ...{ host: 'one', gateway, comesTo: { made: busy, sends: false } },
      at: async (point) => {
        if (point === 'answered') await work(key, 'task', { host: 'three', gateway, comesTo: cannotLook });
      },
    });
    expect(await store.read([key])).toMatchObject([{ state: 'unknown' }]);
  });

  test('cannot look for the task: it may exist', async () => {
    const { put, record } = await next('beta', { kind: 'failed', error, isOfJob: false });
    expect(put).toBe('done');
    expect(record).toMatchObject({ state: 'unknown', error: { kind: 'unknown_outcome', exit_code: 14 } });
    expect(record?.error?.message).toMatch(/one was lost.*fox\.png: no such file/);
  });

  test('finds that the task ended badly: it failed', async () => {
    const failed = { ...error, kind: 'task_failed' };
    const { record } = await next('beta', { kind: 'failed', error: failed, isOfJob: true });
    expect(record).toMatchObject({ state: 'failed', error: failed });
  });

  test.each([
    { made: busy, state: 'waiting' },
    { made: stop, state: 'waiting' },
    { made: { kind: 'failed', error, isOfJob: false } as const, state: 'failed' },
  ])('finds none, and sends it itself: $made.kind is of its own sending', async ({ made, state }) => {
    const { record } = await next('beta', made, true);
    expect(record?.state).toBe(state);
  });
});

/** Every arrow of the drawing in the README: the step, who may make it, the states it starts from, and the state it leads to. */
const arrows: readonly (readonly [Step, 'take' | 'own' | 'free' | 'sender', string, RowState?])[] = [
  ['taken', 'take', 'waiting sending running ended'],
  ['sending', 'own', 'waiting sending', 'sending'],
  ['nothing_made', 'own', 'waiting sending', 'waiting'],
  ['accepted', 'own', 'waiting sending', 'running'],
  ['ended', 'own', 'running', 'ended'],
  ['saved', 'own', 'waiting sending running ended', 'saved'],
  ['failed', 'own', 'waiting sending running ended', 'failed'],
  ['lost', 'own', 'waiting sending', 'unknown'],
  ['never_sent', 'sender', 'unknown', 'cancelled'],
  ['handed_back', 'own', 'waiting sending running ended'],
  ['cancelled', 'free', 'waiting unknown', 'cancelled'],
  ['denied', 'free', 'unknown cancelled', 'waiting'],
  ['cleared', 'free', 'waiting unknown cancelled', 'running'],
  ['brought', 'free', 'waiting unknown failed cancelled', 'saved'],
  ['again', 'free', 'failed cancelled saved', 'waiting'],
  ['changed', 'free', 'waiting cancelled failed saved', 'waiting'],
  ['resumed', 'free', 'failed', 'running'],
  ['unsaved', 'free', 'failed saved', 'ended'],
];

const named = arrows.map(([step, by, from, to]) => ({ step, by, from, to }));
test.each(named)('the step $step is made by $by, from $from alone', async ({ step, by, from, to }) => {
  const key = await newRow('alpha');
  const at = (taking: number) => fenceOf(0, 'task', taking);
  const held = { host: 'one', fence: at(2), announced: 'one' };
  const put = (state: RowState) =>
    redis.client.hset(store.rowKey(key), { state, fence: at(2), announced: 'one', place: 0 });
  const makes = async (state: RowState, actor: object) => {
    await put(state);
    const result = await store.step(key, step, { ...held, ...actor });
    return [result, await redis.client.hget(store.rowKey(key), 'state')];
  };
  // Actors without the right to make the step, and then the actor with it.
  const strangers = {
    take: { fence: at(2) },
    own: { fence: at(1) },
    sender: { announced: 'two' },
    free: undefined,
  };
  const maker = by === 'take' ? { fence: at(3) } : by === 'free' ? { fence: 0 } : {};
  for (const state of rowStates) {
    if (strangers[by]) expect(await makes(state, strangers[by]), state).toEqual(['fenced', state]);
    const isAllowed = from.split(' ').includes(state);
    expect(await makes(state, maker), state).toEqual(isAllowed ? ['ok', to ?? state] : ['over', state]);
  }
});

test('these are all steps', () => {
  expect(['handed_over', ...arrows.map(([step]) => step)]).toEqual(Object.keys(steps));
});

test('a row is handed over once, and what was taken out is not sent', async () => {
  const key = await newRow('alpha');
  const [record] = await store.read([key]);
  expect(await store.handOver(record as RowRecord, 'other')).toBe(false);
  expect(await store.step(key, 'cancelled', { host: 'laptop' })).toBe('ok');
  const gateway = new Gateway();
  expect((await goOn(key, { host: 'two', gateway })).state).toBe('cancelled');
  expect(gateway.made).toBe(0);
});

test('a row that is forgotten counts no more, and is handed over as a new one', async () => {
  const before = await store.counts();
  const key = await newRow('alpha');
  const [record] = await store.read([key]);
  await store.forget(key);
  expect([await store.read([key]), await store.log(key), await store.counts()]).toEqual([
    [undefined],
    [],
    before,
  ]);
  expect(await store.handOver(record as RowRecord, 'laptop')).toBe(true);
});

test('a row that somebody put on the queue of outputs before it was made is made, and saved', async () => {
  const gateway = new Gateway();
  const key = await newRow('gamma');
  await work(key, 'save', { host: 'one', gateway });
  expect((await store.read([key]))[0]).toMatchObject({ state: 'ended', id: 'task-1' });
  await work(key, 'save', { host: 'one', gateway });
  expect((await store.read([key]))[0]).toMatchObject({ state: 'saved' });
  expect([gateway.made, gateway.saves]).toEqual([1, 1]);
});

test('a row that was taken, but not sent, is taken out all the same, and its worker sends nothing', async () => {
  const key = await newRow('alpha');
  const gateway = new Gateway();
  const { takenAway } = await work(key, 'task', {
    ...{ host: 'one', gateway },
    at: async (here) => {
      if (here === 'taken') await store.step(key, 'cancelled', { host: 'laptop' });
    },
  });
  expect(takenAway).toEqual(['over']);
  expect(gateway.made).toBe(0);
});

test('a round that is put back outranks every taking of the rounds before it', async () => {
  const key = await newRow('alpha');
  const before = { host: 'one', fence: fenceOf(0, 'save', 999), attempt: 999 };
  expect((await store.take(key, before)).result).toBe('ok');
  await store.step(key, 'failed', before, { error: { kind: 'rejected', message: 'no' } });
  expect(await store.step(key, 'again', { host: 'laptop' }, { round: 1 })).toBe('ok');
  expect(await store.step(key, 'saved', before, { files: [] })).toBe('fenced');
  expect((await store.take(key, { host: 'one', fence: fenceOf(0, 'save', 1000) })).result).toBe('fenced');
  expect((await store.take(key, { host: 'two', fence: fenceOf(1, 'task', 1) })).result).toBe('ok');
});

test('a queue that was wiped knows no row: what runs is finished on its machine alone', async () => {
  const key = await newRow('alpha');
  const gateway = new Gateway();
  const done = await work(key, 'task', {
    ...{ host: 'one', gateway },
    at: async (here) => {
      if (here === 'task ended') await redis.client.flushall();
    },
  });
  expect(done).toMatchObject({ put: 'done', isToSave: false, takenAway: ['gone'] });
  expect(gateway).toMatchObject({ made: 1, saves: 1 });
  expect(await redis.client.keys('*')).toEqual([]);
});

// The connection to Redis breaks between a step and its answer, and the client sends the step again.
describe('a step whose answer is lost', () => {
  /** A worker of its own, whose step can lose its answer; `meanwhile` runs before the step is sent again. */
  async function worker() {
    const door = await Door.open(redis.url);
    door.patienceMs = 60_000;
    const client = door.redis;
    onTestFinished(() => door.end());
    const key = await newRow('gamma');
    const answerLost = async <T>(step: () => Promise<T>, meanwhile = async () => {}): Promise<T> => {
      await client.ping();
      const { length } = await store.log(key);
      client.stream.pause();
      const answer = step();
      for (let tries = 0; tries < 500 && (await store.log(key)).length === length; tries += 1)
        await pause(10);
      await meanwhile();
      client.stream.destroy();
      return answer;
    };
    const actor = { host: 'm1', fence: fenceOf(0, 'task', 1), attempt: 1 };
    return { own: new RowStore(door, 'test', rowReader), key, actor, answerLost };
  }

  test('counts once, for who made it and for the row', async () => {
    const { own, key, actor, answerLost } = await worker();
    const { result, record } = await answerLost(() => own.take(key, actor));
    expect({ result, state: record?.state }).toEqual({ result: 'ok', state: 'waiting' });
    expect(await answerLost(() => own.step(key, 'sending', actor))).toBe('ok');
    expect(await answerLost(() => own.step(key, 'accepted', actor, { id: 't-1' }))).toBe('ok');
    expect(await answerLost(() => own.step(key, 'ended', actor))).toBe('ok');
    expect(await answerLost(() => own.step(key, 'saved', actor, { files: [] }))).toBe('ok');
    const steps = (await store.log(key)).map(({ step }) => step);
    expect(steps).toEqual(['handed_over', 'taken', 'sending', 'accepted', 'ended', 'saved']);
    // The same step, sent once more on purpose, is a new step.
    expect(await own.step(key, 'saved', actor, { files: [] })).toBe('over');
  });

  test('counts no more where another has taken the row meanwhile', async () => {
    const { own, key, actor, answerLost } = await worker();
    await own.take(key, actor);
    const other = { host: 'm2', fence: fenceOf(0, 'task', 2), attempt: 2 };
    const sending = answerLost(
      () => own.step(key, 'sending', actor),
      async () => void (await store.take(key, other)),
    );
    expect(await sending).toBe('fenced');
  });
});
