import * as fs from 'node:fs';
import * as path from 'node:path';
import { appendLine } from '../../src/disk/durable-directory.ts';
import type { IntentEvent, Job, LedgerEvent, LedgerLine } from '../../src/ledger/event.ts';
import { addLine, type Draft, jobOf, newDraft } from '../../src/ledger/fold.ts';
import { newJobKey } from '../../src/ledger/job-key.ts';
import { currentJournal } from '../../src/ledger/journal-files.ts';
import { openLedger } from '../../src/ledger/open-ledger.ts';
import { serialize } from '../../src/ledger/serialize.ts';
import { newDir } from '../helpers/new-dir.ts';

export const novemberMs = Date.UTC(2026, 10, 20, 12);

/** A directory for this test only, removed when the test ends. */
export function tempDir(): string {
  const dir = newDir();
  return dir;
}

/** Sets a file's modification time back by this many seconds. */
export function age(file: string, seconds: number): void {
  const writtenAt = fs.statSync(file).mtimeMs / 1000;
  fs.utimesSync(file, writtenAt - seconds, writtenAt - seconds);
}

/** A wall clock that the test sets. */
export function handClock(startMs = novemberMs) {
  let nowMs = startMs;
  return {
    now: () => nowMs,
    set: (ms: number) => {
      nowMs = ms;
    },
  };
}

export function intent(changes: Partial<IntentEvent> = {}): IntentEvent {
  return {
    event: 'intent',
    family: 'alpha',
    endpoint: 'alphaCreate',
    model: 'alpha-video-2-5-260628',
    prompt: 'a fox in the snow',
    settings: { resolution: '720p', duration: 5 },
    media: [],
    bodySha256: '0'.repeat(64),
    profile: 'default',
    gateway: 'https://gateway.example',
    save: { target: '/videos/{id}.{ext}', force: false, download: true },
    ...changes,
  };
}

export function line(job: string, t: number, event: LedgerEvent): LedgerLine {
  return { v: 1, t, job, ...event };
}

/** The text of every journal of a state directory. */
export function journalText(dir: string): string {
  const journals = path.join(dir, 'ledger');
  return fs
    .readdirSync(journals)
    .filter((name) => name.endsWith('.jsonl'))
    .map((name) => fs.readFileSync(path.join(journals, name), 'utf8'))
    .join('');
}

/** Leaves a job in a state directory that was refused `agoMs` ago, so that a prune removes it. */
export function leaveOldJob(dir: string, agoMs: number): void {
  const ledger = leftLedger({ dir, clock: { now: () => Date.now() - agoMs } });
  const key = ledger.begin(intent({ prompt: 'old' }));
  ledger.append(key, { event: 'refused', kind: 'rejected', message: 'bad request' });
}

/** A ledger that appends any line that a gw may have left, even for a job that another process holds. */
export function leftLedger(options: {
  readonly dir: string;
  readonly clock: { readonly now: () => number };
}) {
  const ledger = openLedger({ ...options, keepPrompts: true });
  const append = (key: string, event: LedgerEvent): void => {
    const dir = path.join(options.dir, 'ledger');
    fs.mkdirSync(dir, { recursive: true, mode: 0o700 });
    const now = options.clock.now();
    const text = serialize(key, now, event, { hideSecret: (each) => each, keepPrompts: true });
    appendLine(currentJournal(dir, now), text);
  };
  return {
    ...ledger,
    append,
    begin(begun: IntentEvent, key = newJobKey()): string {
      append(key, begun);
      return key;
    },
  };
}

/** Folds lines into jobs, newest first. Lines may come in any order and more than once. */
export function foldJobs(lines: Iterable<LedgerLine>): Job[] {
  const drafts = new Map<string, Draft>();
  for (const line of lines) {
    const draft = drafts.get(line.job) ?? newDraft(line.job);
    drafts.set(line.job, draft);
    addLine(draft, line);
  }
  const jobs = [...drafts.values()].map(jobOf).filter((job) => job !== undefined);
  return jobs.reverse().sort((left, right) => right.createdAtMs - left.createdAtMs);
}
