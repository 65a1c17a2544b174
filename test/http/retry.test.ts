import * as fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { errorKinds } from '../../src/errors.ts';
import { createRetryBudget } from '../../src/http/http-client.ts';
import { parseRetryAfter } from '../../src/http/reply-dates.ts';
import { meaningOfStatus } from '../../src/http/reply-statuses.ts';
import { type Attempt, backoffMs, decide, type FailureKind, resendTable } from '../../src/http/retry.ts';

const at = (more: Partial<Attempt> = {}): Attempt => ({
  retriesDone: 0,
  retries: 4,
  nowMs: 1000,
  deadlineMs: 121_000,
  random: () => 0.5,
  ...more,
});

describe('the resend table, cell by cell', () => {
  const cells: [FailureKind, read: string, paid: string][] = [
    ['not_sent', 'retry', 'retry'],
    ['barred', 'stop', 'stop'],
    ['rate_limited', 'retry', 'retry'],
    ['server_error', 'retry', 'unknown'],
    ['lost', 'retry', 'unknown'],
    ['unreadable', 'retry', 'unknown'],
    ['redirect', 'stop', 'unknown'],
    ['unsettled', 'retry', 'unknown'],
    ['not_found', 'stop', 'stop'],
    ['refused', 'stop', 'stop'],
  ];
  test.each(cells)('%s: read %s, paid %s', (kind, read, paid) => {
    expect(decide('read', { kind }, at()).action).toBe(read);
    expect(decide('paid', { kind }, at()).action).toBe(paid);
  });
  test('has no other cell', () => {
    for (const row of Object.values(resendTable))
      expect(Object.keys(row).sort()).toEqual(cells.map(([kind]) => kind).sort());
  });
});

test('a paid call is never sent again after anything that may have reached the gateway', async () => {
  const kinds: FailureKind[] = ['server_error', 'lost', 'unreadable', 'redirect', 'unsettled'];
  await fc.assert(
    fc.property(
      fc.constantFrom(...kinds),
      fc.nat(10),
      fc.nat(10),
      fc.option(fc.nat()),
      (kind, done, retries, told) => {
        const decision = decide(
          'paid',
          { kind, retryAfterMs: told ?? undefined },
          at({ retriesDone: done, retries }),
        );
        expect(decision).toEqual({ action: 'unknown' });
      },
    ),
  );
});

/** Each status after which, by promises.md, section 2, a create has certainly made nothing, and its exit code. */
const refusals: Readonly<Record<number, number>> = {
  400: 5,
  401: 3,
  402: 6,
  403: 3,
  404: 4,
  405: 5,
  410: 4,
  413: 5,
  415: 5,
  422: 5,
  429: 7,
  451: 5,
};

const statuses = Array.from({ length: 400 }, (_, at) => 200 + at);

describe('a row a status: what each kind of call does, and the exit code of one that stops', () => {
  test.each(statuses)('HTTP %d', (status) => {
    const meaning = meaningOfStatus(status);
    if (status < 300) return expect(meaning).toBeUndefined();
    if (!meaning) throw new Error(`HTTP ${status} means nothing`);
    const { failure: kind } = meaning;
    const actions = (['paid', 'read', 'chat', 'upload', 'change'] as const).map(
      (resend) => decide(resend, { kind }, at()).action,
    );
    const isTold = status === 429;
    const isOver = status < 400 || status in refusals;
    const isTrouble = status >= 500 || status === 408;
    expect(actions).toEqual([
      isTold ? 'retry' : status in refusals ? 'stop' : 'unknown',
      isTold || !isOver ? 'retry' : 'stop',
      isTold || isTrouble ? 'retry' : 'stop',
      isTold ? 'retry' : status in refusals ? 'stop' : 'unknown',
      isTold || !isOver ? 'retry' : 'stop',
    ]);
    expect(errorKinds[meaning.kind].exitCode).toBe(refusals[status] ?? 8);
    expect(meaning.sentence).not.toBe('');
  });
});

const now = Date.parse('2026-11-20T12:00:00Z');
test.each([
  ['0', 0],
  ['3', 3_000],
  [' 3600 ', 3_600_000],
  ['1.5', 1_500],
  ['Fri, 20 Nov 2026 12:00:30 GMT', 30_000],
  ['Friday, 20-Nov-26 12:00:30 GMT', 30_000],
  ['Fri, 20 Nov 2026 11:00:00 GMT', 0],
  ['1000000000', 1e12],
  ['1e9', 1e12],
  ['999999999999999999999', 100 * 365 * 24 * 3_600_000],
  ['-5', undefined],
  ['', undefined],
  ['soon', undefined],
  ['3 s', undefined],
  ['Fri, 99 Foo 2026', undefined],
  ['3, 3', 3_000],
  ['3,30', 30_000],
  ['30, soon', 30_000],
  ['soon, -5', undefined],
  ['3, Fri, 20 Nov 2026 12:00:30 GMT', 30_000],
  ['Fri, 20 Nov 2026 12:00:30 GMT, 3', 30_000],
  ['Friday, 20-Nov-26 11:00:00 GMT,Fri, 20 Nov 2026 12:00:30 GMT', 30_000],
  ['NaN', undefined],
  [undefined, undefined],
])('Retry-After %j is %s ms', (value, expected) => {
  expect(parseRetryAfter(value, now)).toBe(expected);
});

test('a date without a zone is of Greenwich, wherever gw runs', () => {
  vi.stubEnv('TZ', 'Asia/Tokyo');
  try {
    expect(parseRetryAfter('Fri Nov 20 12:00:30 2026', now)).toBe(30_000);
    expect(parseRetryAfter('Fri, 20 Nov 2026 21:00:30 +0900', now)).toBe(30_000);
  } finally {
    vi.unstubAllEnvs();
  }
});

test('jitter is full: from nothing to the doubled base, at most 20 s', () => {
  expect([0, 1, 2, 3, 4, 5, 6, 7, 1000].map((done) => backoffMs(done, () => 1))).toEqual([
    500, 1000, 2000, 4000, 8000, 16_000, 20_000, 20_000, 20_000,
  ]);
  expect(backoffMs(3, () => 0)).toBe(0);
  expect(backoffMs(3, () => 0.25)).toBe(1000);
});

test('Retry-After is obeyed exactly; nothing, zero and the past fall back to jitter', () => {
  const wait = (retryAfterMs: number | undefined) =>
    decide('paid', { kind: 'rate_limited', retryAfterMs }, at());
  expect(wait(3000)).toEqual({ action: 'retry', delayMs: 3000, told: true });
  expect(wait(1)).toEqual({ action: 'retry', delayMs: 1, told: true });
  for (const nothing of [undefined, 0])
    expect(wait(nothing)).toEqual({ action: 'retry', delayMs: 250, told: false });
});

test('a wait beyond the deadline stops at once; one that ends on it does not', () => {
  const wait = (retryAfterMs: number) => decide('read', { kind: 'rate_limited', retryAfterMs }, at());
  expect(wait(120_000).action).toBe('retry');
  expect(wait(120_001)).toEqual({ action: 'stop' });
});

test('retries are counted', () => {
  expect(decide('read', { kind: 'lost' }, at({ retriesDone: 3 })).action).toBe('retry');
  expect(decide('read', { kind: 'lost' }, at({ retriesDone: 4 }))).toEqual({ action: 'stop' });
  expect(decide('paid', { kind: 'not_sent' }, at({ retries: 0 }))).toEqual({ action: 'stop' });
});

test('the budget gives 60 at once, one a second after, and half of one for each success', () => {
  let nowMs = 0;
  const budget = createRetryBudget({ steady: () => nowMs });
  const takeAll = () => {
    let taken = 0;
    while (taken < 1000 && budget.take()) taken += 1;
    return taken;
  };
  expect(takeAll()).toBe(60);
  nowMs += 3_000;
  expect(takeAll()).toBe(3);
  for (let count = 0; count < 10; count += 1) budget.earn();
  expect(takeAll()).toBe(5);
  nowMs += 3_600_000;
  expect(takeAll()).toBe(60);
});
