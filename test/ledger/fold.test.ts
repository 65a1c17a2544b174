import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JobState, LedgerEvent, LedgerLine } from '../../src/ledger/event.ts';
import { bearing } from '../../src/ledger/fold.ts';
import { foldJobs, intent, line } from './fixtures.ts';

const key = 'gw-00000000000000000000000001';
const stateAfter = (...events: LedgerEvent[]) =>
  foldJobs([intent(), ...events].map((event, index) => line(key, 1000 + index, event)))[0];

const sent: LedgerEvent = { event: 'sent' };
const send = (sending: string): LedgerEvent => ({ event: 'sent', sending });
const notMade = (sending: string): LedgerEvent => ({ event: 'not_made', sending });
const accepted: LedgerEvent = { event: 'accepted', id: 'task-1', status: 'queued' };
const unknown: LedgerEvent = { event: 'unknown', message: 'no reply' };
const refused: LedgerEvent = { event: 'refused', kind: 'rejected', message: 'no', status: 400 };
const interrupted: LedgerEvent = { event: 'refused', kind: 'interrupted', message: 'gw ended' };
const notSent: LedgerEvent = { event: 'refused', kind: 'not_sent', message: 'connection refused' };
const lost: LedgerEvent = { event: 'lost', message: 'expired' };
const succeeded: LedgerEvent = {
  event: 'final',
  state: 'succeeded',
  status: 'succeeded',
  record: { a: 1 },
  serverDateMs: 7,
};
const failed: LedgerEvent = {
  event: 'final',
  state: 'failed',
  status: 'failed',
  record: { b: 1 },
  serverDateMs: 8,
};

describe('the state of a job', () => {
  const cases: [string, LedgerEvent[], JobState][] = [
    ['an intent alone', [], 'intent'],
    ['sent', [sent], 'sent'],
    ['sent and refused', [sent, refused], 'refused'],
    ['sent without a reply', [sent, unknown], 'unknown'],
    ['unknown and sent again', [sent, unknown, sent], 'unknown'],
    ['unknown and found after all', [sent, unknown, accepted], 'running'],
    ['accepted wins over a late unknown', [sent, accepted, unknown], 'running'],
    ['accepted wins over refused', [refused, accepted], 'running'],
    ['accepted and gone', [sent, accepted, lost], 'lost'],
    ['gone and finished after all', [accepted, lost, succeeded], 'succeeded'],
    ['finished and gone', [accepted, succeeded, lost], 'succeeded'],
    ['succeeded, then a failed look', [accepted, succeeded, failed], 'succeeded'],
    ['failed', [sent, accepted, failed], 'failed'],
    ['interrupted before it was sent', [interrupted], 'not_sent'],
    ['a sending goes on that was taken for interrupted', [interrupted, sent], 'sent'],
    [
      'its reply is lost: as ledgers hold it that an earlier gw wrote',
      [interrupted, sent, unknown],
      'unknown',
    ],
    ['taken for interrupted long after its reply was lost', [sent, unknown, interrupted], 'unknown'],
    ['a sending of which no byte left', [sent, notSent], 'not_sent'],
    ['sent, and refused for now', [send('a'), notMade('a')], 'intent'],
    ['sent again after that', [send('a'), notMade('a'), send('b')], 'sent'],
    ['refused for now a second time', [send('a'), notMade('a'), send('b'), notMade('b')], 'intent'],
    [
      'and read again by a rewrite that crashed',
      [send('a'), notMade('a'), send('b'), send('a'), notMade('a')],
      'sent',
    ],
    ['and its first sending read again', [send('a'), notMade('a'), send('a')], 'intent'],
    ['refused for now, while another holder sent it', [send('a'), send('b'), notMade('a')], 'sent'],
    ['a sending without a name is never taken back', [sent, notMade('a')], 'sent'],
    [
      'lost after a sending that was refused for now',
      [send('a'), notMade('a'), send('b'), unknown],
      'unknown',
    ],
    ['interrupted while it waited to send again', [send('a'), notMade('a'), interrupted], 'not_sent'],
    ['a status after the end', [accepted, failed, { event: 'status', status: 'running' }], 'failed'],
  ];
  it.each(cases)('%s', (_, events, state) => {
    expect(stateAfter(...events)?.state).toBe(state);
  });

  it('counts as never sent after a sending that was refused for now, however often its line is read', () => {
    expect(stateAfter(send('a'), notMade('a'), send('a'))?.sentAtMs).toBeUndefined();
    expect(stateAfter(send('a'), notMade('a'), send('b'))?.sentAtMs).toBe(1003);
  });

  // One row for each state: the events that its holder may still write. Other events are neither written nor believed.
  const may: [JobState, string][] = [
    ['intent', 'sent, interrupted, not_sent, refused, unknown, accepted, lost, succeeded, failed'],
    ['sent', 'sent, not_made, not_sent, refused, unknown, accepted, lost, succeeded, failed'],
    ['unknown', 'sent, not_sent, refused, unknown, accepted, lost, succeeded, failed'],
    ['not_sent', 'not_sent, refused, accepted, lost, succeeded, failed'],
    ['refused', 'not_sent, refused, accepted, lost, succeeded, failed'],
    ['running', 'accepted, lost, succeeded, failed'],
    ['lost', 'lost, succeeded, failed'],
    ['succeeded', 'succeeded'],
    ['failed', 'failed'],
  ];
  const named = {
    ...{
      sent,
      not_made: notMade('a'),
      interrupted,
      not_sent: notSent,
      refused,
      unknown,
      accepted,
      lost,
      succeeded,
      failed,
    },
  };
  it.each(may)('what may follow %s', (state, events) => {
    const following = Object.entries(named).filter(([, event]) => bearing(state, event) !== 'void');
    expect(following.map(([name]) => name).join(', ')).toBe(events);
  });

  it('keeps the task that a cut reply named, whatever else is said of its outcome', () => {
    const named: LedgerEvent = { event: 'unknown', message: 'cut', unconfirmedId: 'task-1' };
    for (const events of [[named], [named, unknown], [unknown, named]]) {
      expect(stateAfter(sent, ...events)).toMatchObject({ id: undefined, unconfirmedId: 'task-1' });
    }
    expect(stateAfter(sent, unknown)?.unconfirmedId).toBeUndefined();
  });

  it('keeps the last word, the times and the record', () => {
    const job = stateAfter(sent, accepted, { event: 'status', status: 'running' }, succeeded);
    expect(job).toMatchObject({
      key,
      id: 'task-1',
      status: 'succeeded',
      message: undefined,
      createdAtMs: 1000,
      sentAtMs: 1001,
      acceptedAtMs: 1002,
      finishedAtMs: 1004,
      record: { a: 1 },
      serverDateMs: 7,
    });
    expect(job).not.toHaveProperty('event');
    expect(job).not.toHaveProperty('v');
  });

  it('counts empty look-ups and sendings in the order of their lines, wherever the clock was set to', () => {
    const absent: LedgerEvent = { event: 'absent' };
    const withLines = (...told: [number, LedgerEvent][]) =>
      foldJobs([line(key, 0, intent()), ...told.map(([t, event]) => line(key, t, event))])[0];
    // The job was sent while the clock was ahead, and looked up after the clock was right again.
    expect(withLines([9000, sent], [10, absent])?.absentSince).toEqual({ atMs: 10, lastMs: 10 });
    // The job was found absent while the clock was ahead, and sent again after the clock was right again.
    const sentAgain = { absentSince: undefined, resends: 1 };
    expect(withLines([1, sent], [9000, absent], [20, sent])).toMatchObject(sentAgain);
    // Repeated lines, which a rewrite of their journal may leave, must change nothing.
    const lines = [1, 2, 3].map((t): [number, LedgerEvent] => [t, t === 2 ? absent : sent]);
    for (let from = 0; from < 3; from += 1)
      for (let to = from; to <= 3; to += 1)
        expect(withLines(...lines, ...lines.slice(from, to))).toMatchObject(sentAgain);
  });

  it('takes the newer record of a link that was renewed, and the first end', () => {
    const again: LedgerEvent = {
      event: 'final',
      state: 'succeeded',
      status: 'succeeded',
      record: { a: 2 },
      serverDateMs: 99,
    };
    expect(stateAfter(accepted, succeeded, again)).toMatchObject({
      record: { a: 2 },
      serverDateMs: 99,
      finishedAtMs: 1002,
    });
  });

  it('keeps what went wrong until something better is known', () => {
    expect(stateAfter(sent, unknown)?.message).toBe('no reply');
    expect(stateAfter(sent, unknown, accepted)?.message).toBeUndefined();
  });

  it('keeps the links of a reply that was cut, in any order of the lines, until a whole one is known', () => {
    const cut: LedgerEvent = { ...unknown, record: { c: 1 }, serverDateMs: 5 };
    for (const events of [
      [sent, cut],
      [sent, cut, unknown],
      [sent, unknown, cut],
    ]) {
      expect(stateAfter(...events)).toMatchObject({ state: 'unknown', record: { c: 1 }, serverDateMs: 5 });
    }
    for (const events of [
      [sent, cut, refused],
      [sent, refused, cut],
    ]) {
      expect(stateAfter(...events)).toMatchObject({ state: 'refused', record: { c: 1 } });
    }
    for (const events of [
      [sent, cut, succeeded],
      [sent, succeeded, cut],
    ]) {
      expect(stateAfter(...events)).toMatchObject({
        ...{ state: 'succeeded', record: { a: 1 }, serverDateMs: 7 },
      });
    }
  });
});

describe('outputs', () => {
  const part = (path?: string, etag?: string): LedgerEvent => ({
    event: 'part',
    role: 'video',
    path,
    etag,
    totalBytes: 9,
  });
  const saved = (path: string): LedgerEvent => ({
    event: 'saved',
    role: 'video',
    path,
    bytes: 9,
    sha256: 'ab',
    type: 'video',
  });

  it('counts every GET', () => {
    const get: LedgerEvent = { event: 'get', role: 'video' };
    expect(stateAfter(get, get, get)?.downloads).toBe(3);
  });

  it('knows the one part file and its first moment, and forgets it when it is gone or saved', () => {
    expect(stateAfter(part('/p'), part('/p', '"e"'))?.parts).toEqual({
      video: { path: '/p', etag: '"e"', totalBytes: 9, startedAtMs: 1001 },
    });
    expect(stateAfter(part('/p'), part('/q'))?.parts.video).toMatchObject({ path: '/q', startedAtMs: 1002 });
    expect(stateAfter(part('/p'), part())?.parts).toEqual({});
    expect(stateAfter(part('/p'), saved('/v'))?.parts).toMatchObject({ video: { path: '/p' } });
    expect(stateAfter(part('/p'), saved('/v'), part())?.parts).toEqual({});
  });

  it('lists each saved file once', () => {
    const files = stateAfter(saved('/a'), saved('/b'), saved('/a'))?.files;
    expect(files?.map((file) => file.path)).toEqual(['/a', '/b']);
  });

  it('is not led astray by a role named like a property of every object', () => {
    const job = stateAfter({ event: 'part', role: '__proto__', path: '/p' });
    expect(Object.getPrototypeOf(job?.parts)).toBe(Object.prototype);
    expect(Object.keys(job?.parts ?? {})).toEqual(['__proto__']);
  });
});

it('lists jobs newest first and leaves out those of which nothing was paid for without an intent', () => {
  const jobs = foldJobs([
    line('gw-a', 10, intent()),
    line('gw-b', 30, intent()),
    line('gw-c', 20, intent()),
    line('gw-d', 40, { event: 'status', status: 'running' }),
    line('gw-e', 5, accepted),
  ]);
  expect(jobs.map((job) => job.key)).toEqual(['gw-b', 'gw-c', 'gw-a', 'gw-e']);
  expect(jobs.at(-1)).toMatchObject({ isDamaged: true, id: 'task-1', state: 'running' });
});

describe('for any lines', () => {
  const event = fc.oneof(
    fc.constantFrom<LedgerEvent>(sent, accepted, unknown, refused, lost, succeeded, failed, intent()),
    fc.constantFrom(...['a', 'b', 'c'].flatMap((sending) => [send(sending), notMade(sending)])),
    fc.record({ event: fc.constant('status' as const), status: fc.string() }),
    fc.record({
      event: fc.constant('part' as const),
      role: fc.string(),
      path: fc.option(fc.string(), { nil: undefined }),
    }),
  );
  const anyLine: fc.Arbitrary<LedgerLine> = fc
    .record({ job: fc.constantFrom('gw-a', 'gw-b', 'gw-c'), t: fc.nat(1000), event })
    .map(({ job, t, event }) => line(job, t, event));
  const ends = new Set<JobState>(['succeeded', 'failed']);

  it('no prefix makes the fold fail, and no finished job goes back', () => {
    void fc.assert(
      fc.property(fc.array(anyLine, { maxLength: 40 }), (lines) => {
        const ended = new Map<string, JobState>();
        for (let length = 0; length <= lines.length; length++) {
          for (const job of foldJobs(lines.slice(0, length))) {
            const before = ended.get(job.key);
            if (before) expect(job.state).toBe(before);
            if (ends.has(job.state)) ended.set(job.key, job.state);
          }
        }
      }),
      { numRuns: 100 },
    );
  });

  it('neither order nor repetition changes a state', () => {
    const oneEnd = anyLine.filter((found) => !(found.event === 'final' && found.state === 'failed'));
    void fc.assert(
      fc.property(
        fc
          .array(oneEnd, { maxLength: 25 })
          .chain((lines) =>
            fc.tuple(
              fc.constant(lines),
              fc.shuffledSubarray([...lines, ...lines], { minLength: lines.length * 2 }),
            ),
          ),
        ([lines, shuffled]) => {
          const states = (found: LedgerLine[]) =>
            Object.fromEntries(foldJobs(found).map((job) => [job.key, job.state]));
          expect(states(shuffled)).toEqual(states(lines));
        },
      ),
    );
  });
});
