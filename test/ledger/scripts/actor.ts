// One of two actors on a ledger, in a thread of its own: it stops before every step and goes on when it is told to.
import { parentPort, workerData } from 'node:worker_threads';
import { pruneClocks, removeSettled } from '../../../src/commands/jobs/prune.ts';
import { GwError } from '../../../src/errors.ts';
import { alphaCreate } from '../../../src/gateway/alpha/create.ts';
import { alphaFamily } from '../../../src/gateway/alpha/task.ts';
import { betaFamily } from '../../../src/gateway/beta/task.ts';
import type { Client } from '../../../src/http/client.ts';
import { createJob } from '../../../src/jobs/create/create.ts';
import { identifyBody } from '../../../src/jobs/create/external-id.ts';
import { settleUnanswered } from '../../../src/jobs/create/settle-unanswered.ts';
import type { IntentEvent } from '../../../src/ledger/event.ts';
import { openLedger } from '../../../src/ledger/open-ledger.ts';

// As interleavings.ts has them.
const AT_A_STEP = 2;
const DONE = 0;

interface Order {
  readonly scene: keyof typeof scenes;
  readonly dir: string;
  readonly key: string;
}

const { state, shared, at } = workerData as { state: Int32Array; shared: Int32Array; at: number };

function step(): void {
  Atomics.store(state, at, AT_A_STEP);
  Atomics.notify(state, at);
  Atomics.wait(state, at, AT_A_STEP);
}

const clock = {
  now: Date.now,
  steady: () => performance.now(),
  sleep: async () => {},
};
const signal = new AbortController().signal;
const lost = () => new GwError('unknown_outcome', 'the reply was lost');
const deaf = {
  send: async (_: unknown, __: unknown, options?: { onSend?: () => void }) => {
    options?.onSend?.();
    Atomics.add(shared, 0, 1);
    step();
    throw lost();
  },
} as unknown as Client;

const asked: Omit<IntentEvent, 'bodySha256' | 'externalId'> = {
  event: 'intent',
  family: 'alpha',
  endpoint: 'alphaCreate',
  model: undefined,
  settings: {},
  media: [],
  profile: 'default',
  gateway: 'https://gateway.example',
  save: { target: '/videos/', force: false, download: true },
};

const scenes = {
  async create({ dir, key }: Order) {
    const made = createJob({
      ...{
        family: alphaFamily,
        endpoint: alphaCreate,
        ...identifyBody(alphaFamily, { prompt: 'a fox' }, key),
      },
      ...{ intent: asked, client: deaf, ledger: opened(dir), clock, signal, note: () => {} },
    });
    await made.catch(() => {});
  },
  async sync({ dir }: Order) {
    const ledger = opened(dir);
    for (const job of await ledger.find()) {
      const family = job.family === 'beta' ? betaFamily : alphaFamily;
      await settleUnanswered(job, family, { ledger, clock, signal, client: async () => deaf });
    }
  },
  async prune({ dir }: Order) {
    const ledger = opened(dir);
    const jobs = (await ledger.find()).map((job) => ({ job, family: alphaFamily }));
    await removeSettled(jobs, pruneClocks([], clock.now()), ledger);
  },
  async claim({ dir, key }: Order) {
    const hold = await opened(dir).hold(key);
    if (!hold) return;
    Atomics.store(shared, 1, Math.max(Atomics.load(shared, 1), Atomics.add(shared, 2, 1) + 1));
    step();
    Atomics.sub(shared, 2, 1);
    hold.release();
  },
};

const opened = (dir: string) => openLedger({ dir, clock, keepPrompts: true, step });

parentPort?.on('message', async (order: Order) => {
  step();
  try {
    await scenes[order.scene](order);
  } catch (error) {
    Atomics.store(shared, 3, 1);
    parentPort?.postMessage(String(error));
  }
  Atomics.store(state, at, DONE);
  Atomics.notify(state, at);
});
