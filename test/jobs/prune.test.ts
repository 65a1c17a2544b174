import { describe, expect, test } from 'vitest';
import { isSettled, pruneClocks } from '../../src/commands/jobs/prune.ts';
import { alphaFamily } from '../../src/gateway/alpha/task.ts';
import { imageFamily } from '../../src/gateway/image/job.ts';
import type { Job, LedgerEvent } from '../../src/ledger/event.ts';
import { foldJobs, intent, line, novemberMs } from '../ledger/fixtures.ts';

const DAY_MS = 86_400_000;
const YEARS_MS = 10 * 365 * DAY_MS;
const record = { id: 't-1', status: 'succeeded', content: { video_url: 'https://outputs.example/v' } };

/** A job made of these events. Its first line is its intent, at `atMs`. */
function jobOf(
  atMs: number,
  events: readonly LedgerEvent[],
  changes: Parameters<typeof intent>[0] = {},
): Job {
  const all = [intent(changes), ...events];
  const [job] = foldJobs(all.map((event) => line('gw-1', atMs, event)));
  if (!job) throw new Error('no job');
  return job;
}

const succeeded = (atMs: number, serverDateMs: number, changes: Parameters<typeof intent>[0] = {}) =>
  jobOf(
    atMs,
    [
      { event: 'accepted', id: 't-1' },
      { event: 'final', state: 'succeeded', status: 'succeeded', record, serverDateMs },
    ],
    changes,
  );

const isPruned = (job: Job, nowMs: number, others: readonly Job[] = [], family = alphaFamily) =>
  isSettled(job, family, pruneClocks([job, ...others], nowMs));

describe('the ledger may forget', () => {
  const job = succeeded(novemberMs, novemberMs);
  const later = (days: number) => succeeded(novemberMs, novemberMs + days * DAY_MS);

  test('what is not saved only when the gateway’s own clock has passed the end of link and record', () => {
    expect(isPruned(job, novemberMs + YEARS_MS)).toBe(false);
    expect(isPruned(job, novemberMs + YEARS_MS, [later(2)])).toBe(false);
    expect(isPruned(job, novemberMs + YEARS_MS, [later(8)])).toBe(true);
    const elsewhere = succeeded(novemberMs, novemberMs + YEARS_MS, { gateway: 'https://other.example' });
    expect(isPruned(job, novemberMs + YEARS_MS, [elsewhere])).toBe(false);
  });

  test('no job of a --once key, which holds for good', () => {
    const once = { key: 'k', attempt: 1, fields: {} };
    const refused: LedgerEvent = { event: 'refused', kind: 'balance', message: '' };
    expect(isPruned(jobOf(novemberMs, [refused]), novemberMs + YEARS_MS)).toBe(true);
    expect(isPruned(jobOf(novemberMs, [refused], { once }), novemberMs + YEARS_MS)).toBe(false);
  });

  test('no job with a part file or a rescued output, which a sync still moves to where it belongs', () => {
    const failed: LedgerEvent[] = [{ event: 'refused', kind: 'rejected', message: '' }];
    const unknown: LedgerEvent[] = [{ event: 'sent' }, { event: 'unknown', message: 'cut' }];
    const ended: LedgerEvent[] = [
      { event: 'accepted', id: 't-1' },
      { event: 'final', state: 'succeeded', status: 'succeeded', record, serverDateMs: novemberMs },
    ];
    const file = { role: 'video', bytes: 3, sha256: 'a', type: 'video/mp4' };
    const rescued: LedgerEvent = { event: 'saved', ...file, path: import.meta.filename, rescued: true };
    const part: LedgerEvent = { event: 'part', role: 'video', path: '/v/.part', totalBytes: 3 };
    const isForgotten = (...events: LedgerEvent[]) =>
      isPruned(jobOf(novemberMs, events), novemberMs + 40 * DAY_MS, [later(40)]);
    for (const events of [failed, unknown, ended]) {
      expect(isForgotten(...events)).toBe(true);
      expect(isForgotten(...events, part)).toBe(false);
      expect(isForgotten(...events, rescued)).toBe(false);
      expect(isForgotten(...events, { ...rescued, path: '/gone.mp4' })).toBe(true);
    }
  });

  test('what was not to be saved no sooner than what was', () => {
    const save = { target: '/v/{id}.{ext}', force: false, download: false };
    const unwanted = succeeded(novemberMs, novemberMs, { save });
    expect(isPruned(unwanted, novemberMs + 60_000)).toBe(false);
    expect(isPruned(unwanted, novemberMs + 60_000, [later(8)])).toBe(true);
  });

  test('a job made on a clock years behind while its record lives by the gateway’s', () => {
    const behind = succeeded(novemberMs - YEARS_MS, novemberMs);
    expect(isPruned(behind, novemberMs, [later(2)])).toBe(false);
    expect(isPruned(behind, novemberMs, [later(8)])).toBe(true);
  });

  describe.each([alphaFamily, imageFamily])('a create without an answer: $name', (family) => {
    const unknown = jobOf(novemberMs, [{ event: 'sent' }, { event: 'unknown', message: 'cut' }]);
    const isSettledAfter = (days: number, seen: readonly Job[]) =>
      isSettled(unknown, family, pruneClocks([unknown, ...seen], novemberMs + days * DAY_MS));

    test('after thirty days by both clocks', () => {
      const days = [0, 29, 31].map((each) => isSettledAfter(each, [later(31)]));
      expect(days).toEqual([false, false, true]);
    });

    test('not what a sync still looks for, though a clock that was behind has made it old', () => {
      const named: LedgerEvent = { event: 'unknown', message: 'cut', unconfirmedId: 't-9' };
      const old = jobOf(novemberMs - YEARS_MS, [{ event: 'sent' }, named]);
      expect(isSettled(old, family, pruneClocks([old, later(1)], novemberMs))).toBe(false);
    });

    test('not by this machine’s clock alone, which may have been set on', () => {
      expect(isSettledAfter(40, [])).toBe(false);
      expect(isSettledAfter(40, [later(29)])).toBe(false);
    });
  });
});
