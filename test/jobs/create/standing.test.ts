import { describe, expect, test } from 'vitest';
import { betaFamily } from '../../../src/gateway/beta/task.ts';
import { isProvenAbsent, MOST_SENDINGS, type Next, nextFor } from '../../../src/jobs/create/standing.ts';
import { type Job, type LedgerEvent, type LedgerLine, mayExist } from '../../../src/ledger/event.ts';
import { foldJobs, intent, line } from '../../ledger/fixtures.ts';

// Explores, to a limited depth, every way in which a gateway, a network and a dying process can answer a create of family B,
// with the real fold of the ledger. Each actor here does exactly what the real decision about the next step says.

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

interface State {
  readonly lines: readonly LedgerLine[];
  readonly nowMs: number;
  /** For each external ID, when the gateway made the task and from when it shows the task. */
  readonly tasks: Readonly<Record<string, { readonly madeMs: number; readonly shownMs: number }>>;
  /** The result of the last look since the last sending. */
  readonly looked: 'absent' | undefined;
  readonly way: string;
}

interface Rules {
  readonly next: (job: Job, hasBody: boolean, nowMs: number) => Next;
  readonly isProven: (job: Job, nowMs: number) => boolean;
  /** Whether a new job may begin under the next key. */
  readonly isFree: (job: Job) => boolean;
}

const real: Rules = {
  next: (job, hasBody, nowMs) => nextFor(job, betaFamily, { hasBody, nowMs }),
  isProven: (job, nowMs) => isProvenAbsent(job, { nowMs }),
  isFree: ({ state }) => state === 'not_sent' || state === 'refused',
};

const startMs = Date.UTC(2026, 10, 20, 12);
const keyOf = (attempt: number) => `gw-${String(attempt).padStart(26, '0')}`;
const newest = (state: State): Job | undefined => foldJobs(state.lines)[0];

const said = (
  state: State,
  key: string,
  event: LedgerEvent,
  way: string,
  more: Partial<State> = {},
): State => ({
  ...state,
  ...more,
  nowMs: state.nowMs + 1,
  lines: [...state.lines, line(key, state.nowMs + 1, event)],
  way: `${state.way} ${way}`,
});

/** Lists all results of one sending: the process either survives to record the result, or is killed before that. */
function* sendings(state: State, job: Job, nth = 1): Generator<State> {
  const { key } = job;
  const isFirst = !mayExist(job);
  const sending = `after line ${state.lines.length}`;
  const sent = said(state, key, { event: 'sent', sending }, 'send', { looked: undefined });
  const isTaken = state.tasks[key] !== undefined;
  const taken = (afterMs: number, shownAfterMs: number) => {
    const madeMs = sent.nowMs + afterMs;
    return {
      tasks: isTaken ? sent.tasks : { ...sent.tasks, [key]: { madeMs, shownMs: madeMs + shownAfterMs } },
    };
  };
  const lost: LedgerEvent = { event: 'unknown', message: 'lost' };
  const refused = (kind: string): LedgerEvent => ({ event: 'refused', kind, message: kind });
  const ends: [string, Partial<State>, LedgerEvent][] = [
    // The gateway refuses a second task under one ID, so gw looks it up again.
    ['accepted', taken(0, 0), isTaken ? lost : { event: 'accepted', id: `of ${key}` }],
    ['accepted and lost', taken(0, 0), lost],
    ['accepted, lost and shown late', taken(0, 30 * MINUTE_MS), lost],
    ['accepted late', taken(20 * MINUTE_MS, 0), lost],
    ['swallowed', {}, lost],
    ['refused', {}, isFirst ? refused('balance') : lost],
    ['not sent', {}, isFirst ? refused('not_sent') : lost],
  ];
  const refusedForNow = said(sent, key, { event: 'not_made', sending }, ': refused for now');
  const asBefore = isFirst && nth < 3 ? newest(refusedForNow) : undefined;
  if (asBefore) {
    yield { ...refusedForNow, way: `${refusedForNow.way}, killed` };
    yield* sendings(refusedForNow, asBefore, nth + 1);
  }
  for (const [way, more, fact] of ends) {
    yield { ...sent, ...more, way: `${sent.way}: ${way}, killed` };
    yield said({ ...sent, ...more }, key, fact, `: ${way}`);
  }
}

/** Lists the results of a look; the process may be killed before it records one. */
function* looks(state: State, job: Job): Generator<readonly ['found' | 'absent' | 'failed', State]> {
  const after = { ...state, nowMs: state.nowMs + 22_000, way: `${state.way} look` };
  yield ['failed', after];
  const task = state.tasks[job.key];
  yield [task && task.shownMs <= after.nowMs ? 'found' : 'absent', after];
}

function* steps(state: State, { next, isProven, isFree }: Rules): Generator<State> {
  for (const minutes of [20, 61]) {
    yield { ...state, nowMs: state.nowMs + minutes * MINUTE_MS, way: `${state.way} +${minutes}m` };
  }
  const job = newest(state);
  if (job === undefined || isFree(job)) {
    const key = keyOf(foldJobs(state.lines).length + 1);
    const begun = said(state, key, intent({ family: 'beta', externalId: key }), 'begin', {
      looked: undefined,
    });
    const fresh = newest(begun);
    yield begun;
    if (fresh) yield* sendings(begun, fresh);
    return;
  }
  for (const hasBody of [true, false]) {
    const who = { ...state, way: `${state.way} ${hasBody ? 'run' : 'sync'}` };
    const does = next(job, hasBody, state.nowMs);
    // The process that made the job is gone, so the job is given up, and the next run begins another one.
    if (does === 'send')
      yield said(who, job.key, { event: 'refused', kind: 'interrupted', message: 'gone' }, 'give up');
    if (does !== 'look' && does !== 'look-and-send') continue;
    for (const [answer, after] of looks(who, job)) {
      if (answer === 'found') yield said(after, job.key, { event: 'accepted', id: `of ${job.key}` }, 'found');
      if (answer !== 'absent') continue;
      if (does === 'look-and-send') {
        const absent = said(after, job.key, { event: 'absent' }, 'absent', { looked: 'absent' });
        const now = newest(absent);
        yield absent;
        if (now) yield* sendings(absent, now);
      } else if (isProven(job, after.nowMs)) {
        yield said(after, job.key, { event: 'refused', kind: 'absent', message: 'none' }, 'proven absent');
      } else if (!job.absentSince)
        yield said(after, job.key, { event: 'absent' }, 'absent', { looked: 'absent' });
    }
  }
}

/** Names the rule that a step breaks. */
function brokenBy(before: State, after: State): string | undefined {
  const made = Object.keys(after.tasks).length;
  if (made > 1) return 'two tasks';
  const sent = (state: State) => state.lines.filter(({ event }) => event === 'sent').length;
  const job = newest(after);
  if (!job) return undefined;
  const count = (name: string) =>
    after.lines.filter(({ job: key, event }) => key === job.key && event === name).length;
  const own = count('sent');
  if (own - count('not_made') > MOST_SENDINGS) return 'sent too often';
  const isAgain = sent(after) > sent(before) && own > 1;
  // Only the lines between the last two sendings count: an empty look must be among them.
  const facts = after.lines.filter(({ job: key }) => key === job.key).map(({ event }) => event);
  const lastSent = facts.lastIndexOf('sent');
  const between = facts.slice(facts.lastIndexOf('sent', lastSent - 1) + 1, lastSent);
  if (isAgain && !between.includes('absent') && !between.includes('not_made'))
    return 'sent again without an empty look';
  if ((job.state === 'refused' || job.state === 'not_sent') && after.tasks[job.key])
    return 'a task is told as nothing';
  if (job.id !== undefined && !after.tasks[job.key]) return 'a task is told that is not there';
  return undefined;
}

/** Gives states the same name if they differ only in how they came about. */
function nameOf({ lines, nowMs, tasks }: State): string {
  const ago = (ms: number | undefined) =>
    ms !== undefined && Math.min(Math.floor((nowMs - ms) / (20 * MINUTE_MS)), 4);
  // Every job but the newest is over and made nothing.
  const [job] = foldJobs(lines);
  const task = job && tasks[job.key];
  return JSON.stringify([
    ...[job?.state, job?.resends, job?.id === undefined, Object.keys(tasks).length],
    ...[ago(job?.absentSince?.atMs), ago(task?.madeMs), ago(task?.shownMs)],
  ]);
}

function explore(
  rules: Rules,
  depth: number,
): { readonly states: number; readonly broken: ReadonlyMap<string, string> } {
  const broken = new Map<string, string>();
  const seen = new Set<string>();
  let front: State[] = [{ lines: [], nowMs: startMs, tasks: {}, looked: undefined, way: '' }];
  for (let at = 0; at < depth; at += 1) {
    const next: State[] = [];
    for (const state of front) {
      for (const after of steps(state, rules)) {
        const rule = brokenBy(state, after);
        if (rule !== undefined) {
          if (!broken.has(rule)) broken.set(rule, after.way);
          continue;
        }
        const name = nameOf(after);
        if (seen.has(name)) continue;
        seen.add(name);
        next.push(after);
      }
    }
    front = next;
  }
  return { states: seen.size, broken };
}

test('every way of a create keeps the rules: one task at most, and nothing is told that is not so', () => {
  const { states, broken } = explore(real, 12);
  expect([...broken]).toEqual([]);
  expect(states).toBeGreaterThan(400);
});

describe('a wrong rule is found', () => {
  const wrong: Record<string, Rules> = {
    'a lost create is free for another': { ...real, isFree: (job) => real.isFree(job) || mayExist(job) },
    'one empty look is proof': { ...real, isProven: () => true },
    'half an hour is proof': {
      ...real,
      isProven: (job, nowMs) => job.absentSince !== undefined && nowMs - job.absentSince.atMs > HOUR_MS / 4,
    },
    'sent without end': {
      ...real,
      next: (job, hasBody, nowMs) => real.next({ ...job, resends: 0 }, hasBody, nowMs),
    },
    'what was sent is given up as unsent': {
      ...real,
      next: (job, hasBody, nowMs) => (job.state === 'sent' ? 'send' : real.next(job, hasBody, nowMs)),
      isFree: (job) => real.isFree(job) || job.state === 'sent',
    },
  };
  test.each(Object.entries(wrong))('%s', (_, rules) => {
    expect([...explore(rules, 9).broken.keys()]).not.toEqual([]);
  });
});
