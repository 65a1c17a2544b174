import { expect, test } from 'vitest';
import { alphaFamily } from '../../../src/gateway/alpha/task.ts';
import { type AccountType, accountLimits, poolOf } from '../../../src/gateway/limits.ts';
import type { Transport } from '../../../src/http/exchange.ts';
import { createLooker } from '../../../src/jobs/watch/looker.ts';
import { syncJobs } from '../../../src/jobs/watch/sync.ts';
import { openLedger } from '../../../src/ledger/open-ledger.ts';
import { VirtualClock } from '../../helpers/virtual-clock.ts';
import { intent, leftLedger, tempDir } from '../../ledger/fixtures.ts';
import { fakeTasks, mostInAMinute } from '../fake-client.ts';

const HOUR_MS = 3_600_000;

/** A ledger with waiting alpha jobs, youngest first, and one sync over all of them. */
async function syncOver(count: number, account: AccountType) {
  const clock = new VirtualClock();
  const dir = tempDir();
  let ageMs = 0;
  const left = leftLedger({ dir, clock: { now: () => clock.now() - ageMs } });
  for (let at = 0; at < count; at += 1) {
    ageMs = 20 * HOUR_MS + at * 1000;
    const key = left.begin(intent());
    left.append(key, { event: 'sent' });
    left.append(key, { event: 'accepted', id: `t-${at}`, status: 'running' });
  }
  const { client, asked } = fakeTasks(clock, () => 'running', { latencyMs: 300 });
  const looker = createLooker({ client, family: alphaFamily, clock, account, random: () => 0.5 });
  const { signal } = new AbortController();
  const deps = {
    ...{ client, ledger: openLedger({ dir, clock, keepPrompts: true }), clock, signal, silenceMs: 60_000 },
    ...{
      transport: {} as Transport,
      claims: undefined as never,
      random: () => 0.5,
      warn: () => {},
      note: () => {},
    },
    progress: { task() {}, download() {}, line() {}, stop() {} },
  };
  const pool = poolOf({ family: 'alpha', settings: {} }, account);
  const looks = { family: alphaFamily, looker, pool };
  const inputs = (await deps.ledger.find()).map((job) => ({ job, family: alphaFamily, deps, looks }));
  const outcomes: string[] = [];
  const all = async () => {
    for await (const { synced } of syncJobs(inputs, signal)) outcomes.push(synced.outcome);
  };
  await clock.until(all());
  return { asked, outcomes, tookMs: clock.steady() };
}

test.each([
  ['personal', 900],
  ['enterprise', 1500],
] as const)(
  'a %s account looks at %i waiting jobs in the time that the rate allows',
  async (account, count) => {
    const { asked, outcomes, tookMs } = await syncOver(count, account);
    const perMinute = accountLimits[account].requestsPerMinute;
    expect(outcomes).toEqual(Array.from({ length: count }, () => 'running'));
    expect(asked).toHaveLength(count);
    expect(mostInAMinute(asked)).toBeLessThanOrEqual(perMinute);
    expect(tookMs).toBeLessThan((count / perMinute) * 60_000 * 1.05);
  },
);

test('what dies first is looked at first', async () => {
  const { asked } = await syncOver(50, 'personal');
  expect(asked.map(({ ids }) => ids[0])).toEqual(Array.from({ length: 50 }, (_, at) => `t-${49 - at}`));
});
