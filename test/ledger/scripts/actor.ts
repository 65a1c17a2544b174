// One of two actors on a ledger, in its own thread: it stops before every step and goes on when it is told to.
import { parentPort, workerData } from 'node:worker_threads';
import { pruneClocks, removeSettled } from '../../../src/commands/jobs/prune.ts';
import { GwError } from '../../../src/errors.ts';
import { alphaCreate } from '../../../src/gateway/alpha/create.ts';
import { alphaFamily } from '../../../src/gateway/alpha/task.ts';
import { betaCreateText } from '../../../src/gateway/beta/create.ts';
import { betaFamily } from '../../../src/gateway/beta/task.ts';
import type { Endpoint } from '../../../src/gateway/endpoint.ts';
import { imageGenerate } from '../../../src/gateway/image/create.ts';
import type { TaskFamily } from '../../../src/gateway/task.ts';
import type { Client, RequestInput } from '../../../src/http/client.ts';
import type { Transport } from '../../../src/http/exchange.ts';
import type { Progress } from '../../../src/io/io.ts';
import { identifyBody } from '../../../src/jobs/create/job-request.ts';
import { settleUnanswered } from '../../../src/jobs/create/lost.ts';
import { type Made, makeJob } from '../../../src/jobs/create/make.ts';
import { createImages } from '../../../src/jobs/image/create-images.ts';
import { syncImageJob } from '../../../src/jobs/image/sync-image-job.ts';
import type { JobDeps } from '../../../src/jobs/watch/follow.ts';
import { openLedger } from '../../../src/ledger/open-ledger.ts';
import { AT_A_STEP, DONE, isLeft, tell } from '../turns.ts';

interface Order {
  readonly scene: keyof typeof scenes;
  readonly dir: string;
  readonly key: string;
}

const { state, shared, at } = workerData as { state: Int32Array; shared: Int32Array; at: number };

function step(): void {
  tell(state, at, AT_A_STEP);
  isLeft(state, at, AT_A_STEP);
}

const clock = { now: Date.now, steady: () => performance.now(), sleep: async () => {} };
const signal = new AbortController().signal;
const lost = () => new GwError('unknown_outcome', 'the reply was lost');
/** Throws the error of a create unless the error is that the reply was lost. */
function onlyLost(made: Made): void {
  if (made.kind !== 'unknown' && made.kind !== 'accepted') throw made.error;
}
/** The gateway accepts the create, and its reply is lost. */
const takeAndLose = async (options?: { readonly onSend?: () => void }) => {
  options?.onSend?.();
  Atomics.add(shared, 0, 1);
  step();
  throw lost();
};
/** A gateway whose replies to creates are lost; a look-up by external ID finds what was taken. */
const deaf = {
  send: async (endpoint: Endpoint, input: RequestInput, options?: { readonly onSend?: () => void }) => {
    if (endpoint.name !== betaFamily.externalIds?.endpoint.name) return takeAndLose(options);
    step();
    const taken = Atomics.load(shared, 0) > 0;
    const task = { id: 'task-1', external_id: input.query?.external_task_ids, status: 'submitted' };
    return { status: 200, json: { code: 0, data: taken ? [task] : [] }, serverDateMs: undefined };
  },
  receive: (_: unknown, __: unknown, ___: unknown, options?: { readonly onSend?: () => void }) =>
    takeAndLose(options),
} as unknown as Client;

const asked = {
  event: 'intent',
  model: undefined,
  settings: {},
  media: [],
  profile: 'default',
  gateway: 'https://gateway.example',
  save: { target: '/videos/', force: false, download: true },
} as const;

async function createTask({ dir, key }: Order, family: TaskFamily, endpoint: Endpoint): Promise<void> {
  const made = await makeJob({
    silenceMs: 60_000,
    ...{ family, endpoint, ...identifyBody(family, { prompt: 'a fox' }, key) },
    intent: { ...asked, family: family.name, endpoint: endpoint.name },
    ...{ client: deaf, ledger: opened(dir), clock, signal, deadlineMs: Infinity, note: () => {} },
  });
  onlyLost(made);
}

const scenes = {
  'create alpha': (order: Order) => createTask(order, alphaFamily, alphaCreate),
  'create beta': (order: Order) => createTask(order, betaFamily, betaCreateText),
  async 'create image'({ dir, key }: Order) {
    const made = await createImages(
      {
        ...{ endpoint: imageGenerate, input: { body: {} }, streams: false, key },
        ...{ outputsExpected: 1, partialsExpected: 0, keepPartials: false },
        intent: { ...asked, family: 'image', endpoint: imageGenerate.name, bodySha256: '' },
      },
      imageDeps(dir),
    );
    onlyLost(made);
  },
  async sync({ dir }: Order) {
    const ledger = opened(dir);
    for (const job of await ledger.find()) {
      if (job.family === 'image') await syncImageJob(job, imageDeps(dir));
      else {
        const family = job.family === 'beta' ? betaFamily : alphaFamily;
        await settleUnanswered(job, family, { ledger, clock, signal, client: async () => deaf });
      }
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

const imageDeps = (dir: string): JobDeps => ({
  ...{
    ledger: opened(dir),
    client: deaf,
    clock,
    signal,
    random: () => 0.5,
    silenceMs: 1000,
    warn() {},
    note() {},
  },
  transport: {} as Transport,
  claims: undefined as never,
  progress: { task() {}, download() {}, stop() {} } as unknown as Progress,
});
const opened = (dir: string) => openLedger({ dir, clock, keepPrompts: true, step });

parentPort?.on('message', async (order: Order) => {
  step();
  try {
    await scenes[order.scene](order);
  } catch (error) {
    Atomics.store(shared, 3, 1);
    parentPort?.postMessage(error instanceof Error ? error.stack : String(error));
  }
  tell(state, at, DONE);
});
