import { describe, expect, it } from 'vitest';
import { estimateMs } from '../../src/ledger/estimate.ts';
import type { Job } from '../../src/ledger/event.ts';
import { foldJobs, intent, line } from './fixtures.ts';

let serial = 0;
function took(ms: number, settings = { resolution: '720p', duration: 5 }, model = 'm'): Job {
  const key = `gw-${serial++}`;
  const [job] = foldJobs([
    line(key, 0, intent({ settings, model })),
    line(key, 100, { event: 'accepted', id: key }),
    line(key, 100 + ms, {
      event: 'final',
      state: 'succeeded',
      status: 'succeeded',
      record: {},
      serverDateMs: 0,
    }),
  ]);
  if (!job) throw new Error('no job');
  return job;
}
const like = {
  gateway: intent().gateway,
  family: 'alpha',
  model: 'm',
  settings: { resolution: '720p', duration: 5 },
};

describe('the estimate', () => {
  it('is unknown without a job of that model', () => {
    expect(estimateMs([], like)).toBeUndefined();
    expect(estimateMs([took(50, undefined, 'other')], like)).toBeUndefined();
  });
  it('uses jobs of the same gateway alone: a sandbox is quicker', () => {
    const sandbox = { ...took(10), gateway: 'sandbox:' };
    expect(estimateMs([sandbox], like)).toBeUndefined();
    expect(estimateMs([sandbox, took(1000)], like)).toBe(1000);
  });
  it('is the median of jobs of the same shape', () => {
    expect(estimateMs([took(10), took(1000), took(30)], like)).toBe(30);
    expect(estimateMs([took(10), took(30)], like)).toBe(20);
  });
  it('falls back to the model where no job has the shape', () => {
    expect(estimateMs([took(500, { resolution: '1080p', duration: 5 })], like)).toBe(500);
    expect(estimateMs([took(500, { resolution: '1080p', duration: 5 }), took(60)], like)).toBe(60);
  });
  it('looks at the newest jobs only', () => {
    const old = Array.from({ length: 50 }, () => took(9000));
    const recent = Array.from({ length: 15 }, () => took(100));
    expect(estimateMs([...recent, ...old], like)).toBe(100);
  });
  it('passes over failed jobs and those seen to end long after', () => {
    const [failed] = foldJobs([
      line('gw-f', 0, intent({ model: 'm' })),
      line('gw-f', 1, { event: 'accepted', id: 'x' }),
      line('gw-f', 2, { event: 'final', state: 'failed', status: 'failed', record: {}, serverDateMs: 0 }),
    ]);
    expect(estimateMs([...(failed ? [failed] : []), took(3 * 86_400_000), took(70)], like)).toBe(70);
  });
});
