import { describe, expect, onTestFinished, test } from 'vitest';
import { GwError } from '../../../src/errors.ts';
import { alphaFamily } from '../../../src/gateway/alpha/task.ts';
import { betaFamily } from '../../../src/gateway/beta/task.ts';
import type { AccountType } from '../../../src/gateway/limits.ts';
import type { TaskFamily } from '../../../src/gateway/task.ts';
import type { Client } from '../../../src/http/client.ts';
import { createClient, createRetryBudget } from '../../../src/http/http-client.ts';
import { HttpTransport } from '../../../src/http/transport.ts';
import type { Progress } from '../../../src/io/io.ts';
import type { FollowDeps, FollowInput } from '../../../src/jobs/watch/follow.ts';
import { followMany } from '../../../src/jobs/watch/follow.ts';
import { createLooker } from '../../../src/jobs/watch/looker.ts';
import { newJobKey } from '../../../src/ledger/job-key.ts';
import { openLedger } from '../../../src/ledger/open-ledger.ts';
import { startSandbox } from '../../../src/sandbox/server.ts';
import { wasmDir } from '../../helpers/assets-dir.ts';
import { clipsDir, KEY } from '../../helpers/gw.ts';
import { VirtualClock } from '../../helpers/virtual-clock.ts';
import { tempDir } from '../../ledger/fixtures.ts';
import { fakeTasks, mostInAMinute } from '../fake-client.ts';

/** Speed of the sandbox: its minutes are shorter by this factor. */
const SPEED = 10;
const save = { target: '/nowhere/{id}.{ext}', force: false, download: false };

function inputsFor(ids: readonly string[], family: TaskFamily): FollowInput[] {
  return ids.map((id) => ({
    key: newJobKey(),
    id,
    family,
    intervalMs: family.pollIntervalMs,
    deadlineMs: 100 * 3_600_000,
    firstDelayMs: 0,
    save,
  }));
}

function depsFor(client: Client, clock: VirtualClock, family: TaskFamily, account: AccountType) {
  const lines: string[] = [];
  const progress: Progress = {
    task: () => {},
    download: () => {},
    line: (text) => lines.push(text),
    stop: () => {},
  };
  const deps: FollowDeps = {
    client,
    looker: createLooker({ client, family, clock, account, random: () => 0.5 }),
    transport: undefined as never,
    ledger: openLedger({ dir: tempDir(), clock, keepPrompts: true }),
    clock,
    random: () => 0.5,
    signal: new AbortController().signal,
    progress,
    warn: (text) => lines.push(text),
    note: (text) => lines.push(text),
    silenceMs: 60_000,
    claims: undefined as never,
  };
  return { deps, lines };
}

async function followAll(inputs: readonly FollowInput[], deps: FollowDeps, signal = deps.signal) {
  const ended = new Map<string, { status: string; error?: unknown }>();
  for await (const { input, followed } of followMany(inputs, () => deps, signal)) {
    ended.set(input.id, followed);
  }
  return ended;
}

/** A sandbox in virtual time, and a client for whose requests the virtual clock waits. */
async function rehearsal(account: AccountType) {
  const clock = new VirtualClock();
  const sandbox = await startSandbox({
    key: KEY,
    account,
    speed: SPEED,
    faults: [],
    clipsDir,
    wasmDir,
    now: clock.now,
  });
  const transport = new HttpTransport({ proxies: undefined });
  onTestFinished(async () => {
    await transport.close();
    await sandbox.close();
  });
  const real = createClient({
    transport,
    gateway: { baseUrl: sandbox.baseUrl, key: KEY },
    retries: 0,
    silenceMs: 30_000,
    connectMs: 5_000,
    clock,
    random: () => 0.5,
    budget: createRetryBudget(clock),
    userAgent: 'gw/test',
  });
  const client: Client = { ...real, send: (...words) => clock.during(real.send(...words)) };
  const create = async (path: string, body: unknown): Promise<string> => {
    const reply = await fetch(`${sandbox.baseUrl}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const json = (await reply.json()) as { task_id?: string; data?: { id: string } };
    const id = json.task_id ?? json.data?.id;
    if (id === undefined) throw new Error(JSON.stringify(json));
    return id;
  };
  return { clock, sandbox, client, create };
}

describe('hundreds of tasks waited for at once, counted by the sandbox', () => {
  test('family B: at most one request for each 50 tasks a round', async () => {
    const { clock, sandbox, client, create } = await rehearsal('enterprise');
    const ids: string[] = [];
    for (let at = 0; at < 120; at += 1) {
      ids.push(await create('/text-to-video/beta-3.0', { prompt: `fox ${at}`, settings: { duration: 3 } }));
    }
    const before = sandbox.requests.length;
    const { deps } = depsFor(client, clock, betaFamily, 'enterprise');
    const ended = await clock.until(followAll(inputsFor(ids, betaFamily), deps));
    expect([...ended.values()].filter(({ status }) => status === 'succeeded')).toHaveLength(120);
    const asked = sandbox.requests
      .slice(before)
      .map(({ path }) => new URL(path, 'http://here').searchParams.get('task_ids')?.split(',') ?? []);
    const rounds = new Map<string, number>();
    for (const id of asked.flat()) rounds.set(id, (rounds.get(id) ?? 0) + 1);
    const most = Math.max(...rounds.values());
    expect(asked.length).toBeLessThanOrEqual(most * 3);
    expect(asked.length).toBeGreaterThanOrEqual(3);
  });

  test('family A: the gateway never has to refuse one for its rate', async () => {
    const { clock, sandbox, client, create } = await rehearsal('personal');
    const ids: string[] = [];
    // The tasks need more requests than the account allows in a minute.
    for (let at = 0; at < 200; at += 1) {
      const content = [{ type: 'text', text: `fox ${at}` }];
      ids.push(
        await create('/api/v3/contents/generations/tasks', { model: 'alpha-video-2-5-260628', content }),
      );
      // The account runs few tasks at once, so each task ends before the next one is made.
      await clock.until(clock.sleep(30_000));
    }
    const before = sandbox.requests.length;
    const { deps } = depsFor(client, clock, alphaFamily, 'personal');
    const ended = await clock.until(followAll(inputsFor(ids, alphaFamily), deps));
    expect([...ended.values()].filter(({ status }) => status === 'succeeded')).toHaveLength(200);
    const asked = sandbox.requests.slice(before);
    expect(asked.map(({ status }) => status).filter((status) => status !== 200)).toEqual([]);
    expect(mostInAMinute(asked.map(({ atMs }) => ({ atMs: atMs * SPEED, ids: [] })))).toBeLessThanOrEqual(
      180,
    );
  });
});

describe('following many', () => {
  const idsOf = (count: number) => Array.from({ length: count }, (_, at) => `task-${at}`);

  test('an outage is told of once in a while for all jobs, not once for each', async () => {
    const clock = new VirtualClock();
    const { client } = fakeTasks(clock, () => 'succeeded', {
      fail: () => {
        if (clock.steady() < 100_000) throw new GwError('unavailable', 'HTTP 503');
      },
    });
    const { deps, lines } = depsFor(client, clock, alphaFamily, 'enterprise');
    await clock.until(followAll(inputsFor(idsOf(100), alphaFamily), deps));
    expect(lines.length).toBeGreaterThan(0);
    expect(lines.length).toBeLessThanOrEqual(4);
    expect(lines[0]).toContain('still waiting');
  });

  test('one that fails is told with its error, and the others go on', async () => {
    const clock = new VirtualClock();
    const { client } = fakeTasks(clock, (id) =>
      id === 'task-1' ? 'failed' : id === 'task-2' ? undefined : 'succeeded',
    );
    const { deps } = depsFor(client, clock, betaFamily, 'personal');
    const ended = await clock.until(followAll(inputsFor(idsOf(4), betaFamily), deps));
    expect(ended.get('task-0')).toMatchObject({ status: 'succeeded' });
    expect(ended.get('task-1')).toMatchObject({ error: { kind: 'task_failed' } });
    expect(ended.get('task-2')).toMatchObject({ error: { kind: 'not_found' } });
    expect(ended.size).toBe(4);
  });

  test('a task that is not listed in its first minute is waited for', async () => {
    const clock = new VirtualClock();
    const { client } = fakeTasks(clock, (_, atMs) => (atMs < 50_000 ? undefined : 'succeeded'));
    const { deps } = depsFor(client, clock, betaFamily, 'personal');
    const [input] = inputsFor(idsOf(1), betaFamily);
    if (!input) throw new Error('no input');
    const ended = await clock.until(followAll([{ ...input, youngUntilMs: clock.steady() + 60_000 }], deps));
    expect(ended.get('task-0')).toMatchObject({ status: 'succeeded' });
  });

  test('a gateway that cannot be had fails its own jobs only', async () => {
    const clock = new VirtualClock();
    const { client } = fakeTasks(clock, () => 'succeeded');
    const { deps } = depsFor(client, clock, betaFamily, 'personal');
    const inputs = inputsFor(idsOf(2), betaFamily);
    const ended = new Map<string, unknown>();
    const all = async () => {
      const depsOf = ({ id }: FollowInput) => {
        if (id === 'task-0') throw new GwError('auth', 'no key');
        return deps;
      };
      for await (const { input, followed } of followMany(inputs, depsOf, deps.signal)) {
        ended.set(input.id, followed.error);
      }
    };
    await clock.until(all());
    expect(ended.get('task-0')).toMatchObject({ kind: 'auth' });
    expect(ended.get('task-1')).toBeUndefined();
  });

  test('an interrupt ends every wait', async () => {
    const clock = new VirtualClock();
    const { client } = fakeTasks(clock, () => 'queued');
    const { deps } = depsFor(client, clock, alphaFamily, 'personal');
    const abort = new AbortController();
    void clock.sleep(60_000).then(() => abort.abort(new Error('enough')));
    const ended = await clock.until(followAll(inputsFor(idsOf(30), alphaFamily), deps, abort.signal));
    expect(ended.size).toBe(30);
    expect(new Set([...ended.values()].map(({ error }) => String(error)))).toEqual(
      new Set(['Error: enough']),
    );
  });
});
