import { describe, expect, test } from 'vitest';
import { alphaFamily } from '../../../src/gateway/alpha/task.ts';
import { settleUnanswered } from '../../../src/jobs/create/lost.ts';
import { idToConfirm } from '../../../src/jobs/create/standing.ts';
import type { Job } from '../../../src/ledger/event.ts';
import { openLedger } from '../../../src/ledger/open-ledger.ts';
import { fakeGateway } from '../../helpers/fake-gateway.ts';
import { testClient } from '../../http/test-client.ts';
import { intent, tempDir } from '../../ledger/fixtures.ts';

const ID = 'vt-20261120120000-0123456789abcdef0123';

/** A create of family A with a cut reply that named a task, whose process has ended. The gateway answers queries with `body`. */
async function scene(status: number, body: unknown) {
  const gateway = await fakeGateway(() => ({ status, body }));
  const { client, clock } = testClient(gateway.url);
  const ledger = openLedger({ dir: tempDir(), clock, keepPrompts: true });
  const hold = ledger.begin(intent({ gateway: gateway.url, keyId: 'own' }));
  ledger.append(hold.key, { event: 'sent' });
  ledger.append(hold.key, { event: 'unknown', message: 'cut', unconfirmedId: ID });
  hold.release();
  const job = async () => {
    const [found] = await ledger.find();
    if (!found) throw new Error('no job');
    return found;
  };
  const stop = new AbortController();
  const { signal } = stop;
  const settle = async (keyId = 'own', deadlineMs?: number) =>
    settleUnanswered(await job(), alphaFamily, {
      ...{ ledger, clock, signal, keyId, deadlineMs },
      client: async () => client,
    });
  const isLookedAt = async () => idToConfirm(await job()) !== undefined;
  return { gateway, clock, job, settle, isLookedAt, stop };
}

describe('a task that only a cut reply named', () => {
  test('confirmed: it is the job from here on', async () => {
    const { job, settle } = await scene(200, { id: ID, status: 'running' });
    expect(await settle()).toEqual({ outcome: 'adopted', id: ID });
    expect(await job()).toMatchObject({ state: 'running', id: ID, status: 'running' });
  });

  test.each<[string, number, unknown]>([
    ['the gateway is down', 503, {}],
    ['the record is that of another task', 200, { id: 'vt-other', status: 'running' }],
    ['the record cannot be read', 200, []],
  ])('%s: it stays open, and after an interrupt it is asked for once', async (_, status, body) => {
    const { gateway, job, settle, isLookedAt, stop } = await scene(status, body);
    expect(await settle()).toMatchObject({ outcome: 'open', message: expect.stringContaining(ID) });
    expect(await job()).toMatchObject({ state: 'unknown', id: undefined });
    expect(await isLookedAt()).toBe(true);
    const asked = gateway.requests.length;
    stop.abort();
    await settle().catch(() => {});
    expect(gateway.requests).toHaveLength(asked + 1);
  });

  test('not found, for as long as it may be young, twice with an hour between: it is not looked at any more', async () => {
    const { gateway, job, settle, isLookedAt, clock } = await scene(404, {});
    const startMs = clock.now();
    const open = { outcome: 'open', message: expect.stringContaining(ID) };
    expect(await settle()).toMatchObject(open);
    expect(clock.now() - startMs).toBeGreaterThan(30_000);
    expect(await settle()).toMatchObject(open);
    await clock.sleep(3_600_000);
    expect(await isLookedAt()).toBe(true);
    expect(await settle()).toMatchObject({ outcome: 'unknown', message: expect.stringContaining(ID) });
    const asked = gateway.requests.length;
    expect(await isLookedAt()).toBe(false);
    expect(await settle()).toEqual({ outcome: 'unknown' });
    expect(gateway.requests).toHaveLength(asked);
    expect((await job()).state).toBe('unknown');
  });

  test('not found, and the wait ends: it is not asked for any longer', async () => {
    const { settle, isLookedAt, clock } = await scene(404, {});
    const endMs = clock.steady() + 5_000;
    expect(await settle('own', endMs)).toMatchObject({ outcome: 'open' });
    expect(clock.steady()).toBeLessThanOrEqual(endMs);
    expect(await isLookedAt()).toBe(true);
  });

  test('not found with another key: that says nothing', async () => {
    const { settle, isLookedAt, clock } = await scene(404, {});
    for (const ageMs of [0, alphaFamily.linkLifeMs]) {
      await clock.sleep(ageMs);
      expect(await settle('other')).toMatchObject({ outcome: 'open' });
    }
    await clock.sleep(alphaFamily.recordLifeMs);
    expect(await settle('other')).toEqual({ outcome: 'unknown' });
    expect(await isLookedAt()).toBe(true);
  });

  test('401 is told as that, and settles nothing', async () => {
    const { settle, isLookedAt } = await scene(401, {});
    await expect(settle()).rejects.toMatchObject({ kind: 'auth' });
    expect(await isLookedAt()).toBe(true);
  });

  test('it is looked at however old it is by this machine, whose clock may have been wrong', async () => {
    const { clock, isLookedAt, settle } = await scene(200, { id: ID, status: 'running' });
    await clock.sleep(10 * alphaFamily.recordLifeMs);
    expect(await isLookedAt()).toBe(true);
    expect(await settle()).toEqual({ outcome: 'adopted', id: ID });
  });

  test('a job of an older gw, which did not keep it, has nothing to look at', () => {
    expect(idToConfirm({ state: 'unknown', createdAtMs: 0 } as Job)).toBeUndefined();
  });
});
