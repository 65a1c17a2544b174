import type { IntentEvent, Job, JobState, LedgerEvent, LedgerLine, SavedFile, SavePlan } from './event.ts';

// The one rule of what may follow what; README.md has it in words. The writer asks `bearing` before it appends, and the
// fold before it believes what an older gw appended.

/**
 * How far a job has come. A state is only ever left for one of a higher rank, so the order of the lines cannot matter and
 * a finished job never goes back: a late "unknown" cannot hide an accepted task, and "lost" cannot hide its result.
 */
const ranks: Readonly<Record<JobState, number>> = {
  intent: 0,
  sent: 2,
  unknown: 3,
  not_sent: 4,
  refused: 4,
  running: 5,
  lost: 6,
  succeeded: 7,
  failed: 7,
};
/** "Interrupted before it was sent" is only a guess about an intent: nothing that was sent can be hidden by it. */
const INTERRUPTED_RANK = 1;

/** What an event does to a job that stands where it stands: bring it further, add a fact, or nothing that counts. */
export type Bearing = 'moves' | 'adds' | 'void';

/** The bearing of an event on a job in a state. */
export const bearing = (state: JobState, event: LedgerEvent): Bearing =>
  bearingOn({ state, rank: ranks[state] }, event);

/** Whether an event tells where a job stands, which only the process may say that holds it. */
export const isHoldersOnly = (event: LedgerEvent): boolean =>
  event.event === 'absent' || standingOf(event) !== undefined;

interface Standing {
  readonly state: JobState;
  readonly rank: number;
}

function bearingOn({ state, rank }: Standing, event: LedgerEvent): Bearing {
  const claimed = standingOf(event);
  if (claimed === undefined) return 'adds';
  // A second end that differs from the first is not believed.
  const isOtherEnd = event.event === 'final' && rank === claimed.rank && state !== claimed.state;
  if (claimed.rank >= rank && !isOtherEnd) return 'moves';
  return event.event === 'sent' && state === 'unknown' ? 'adds' : 'void';
}

/** Where an event says that its job stands, and how much that weighs; undefined for a fact that says nothing of it. */
export function standingOf(event: LedgerEvent): Standing | undefined {
  switch (event.event) {
    case 'sent':
    case 'unknown':
    case 'lost':
    case 'intent':
      return { state: event.event, rank: ranks[event.event] };
    case 'accepted':
      return { state: 'running', rank: ranks.running };
    case 'refused':
      if (event.kind === 'interrupted') return { state: 'not_sent', rank: INTERRUPTED_RANK };
      return event.kind === 'not_sent'
        ? { state: 'not_sent', rank: ranks.not_sent }
        : { state: 'refused', rank: ranks.refused };
    case 'final':
      return { state: event.state, rank: ranks[event.state] };
    default:
      return undefined;
  }
}

type Part = Job['parts'][string];
type Fields<T> = { -readonly [K in keyof T]: T[K] };

/** One job while its lines come in. */
interface Draft {
  rank: number;
  readonly job: Fields<Omit<Job, keyof IntentEvent | 'parts' | 'files'>>;
  intent: Omit<IntentEvent, 'event'> | undefined;
  /** The plan that has taken the place of the intent's. */
  plan: SavePlan | undefined;
  /** When it was sent last: an empty look-up before that says nothing of it. */
  lastSentMs: number;
  /** When each download was asked for: a line that stands twice counts once. */
  readonly gets: Set<string>;
  readonly parts: Map<string, Part>;
  readonly files: Map<string, SavedFile>;
}

/** Gathers lines into jobs, one line at a time; never throws. */
export class JobFold {
  private readonly drafts = new Map<string, Draft>();
  /** The keys of the jobs that were accepted under an ID, in the order seen. */
  private readonly keysOfId = new Map<string, Set<string>>();

  add(line: LedgerLine): void {
    if (line.event === 'accepted') {
      const keys = this.keysOfId.get(line.id);
      if (keys) keys.add(line.job);
      else this.keysOfId.set(line.id, new Set([line.job]));
    }
    let draft = this.drafts.get(line.job);
    if (draft === undefined) {
      draft = newDraft(line.job);
      this.drafts.set(line.job, draft);
    }
    apply(draft, line);
  }

  /** The jobs whose intent was seen, newest first; equal times: the later seen first. */
  jobs(): Job[] {
    const jobs = [...this.drafts.values()].map(jobOf).filter((job) => job !== undefined);
    return jobs.reverse().sort((left, right) => right.createdAtMs - left.createdAtMs);
  }

  /** One job by its key, if its intent was seen. */
  job(key: string): Job | undefined {
    const draft = this.drafts.get(key);
    return draft && jobOf(draft);
  }

  /** The jobs that were accepted under an ID, the last seen first. */
  jobsOfTask(id: string): Job[] {
    const keys = [...(this.keysOfId.get(id) ?? [])].reverse();
    return keys.map((key) => this.job(key)).filter((job) => job !== undefined);
  }
}

/** The one way that lines become a job. */
function jobOf({ job, intent, plan, parts, files }: Draft): Job | undefined {
  if (intent === undefined) return undefined;
  const save = plan ?? intent.save;
  return { ...intent, ...job, save, parts: Object.fromEntries(parts), files: [...files.values()] };
}

/** Folds lines into jobs, newest first. Lines may come in any order and more than once. */
export function foldJobs(lines: Iterable<LedgerLine>): Job[] {
  const fold = new JobFold();
  for (const line of lines) fold.add(line);
  return fold.jobs();
}

function newDraft(key: string): Draft {
  return {
    rank: ranks.intent,
    job: {
      key,
      id: undefined,
      state: 'intent',
      status: undefined,
      message: undefined,
      createdAtMs: 0,
      sentAtMs: undefined,
      absentSince: undefined,
      acceptedAtMs: undefined,
      finishedAtMs: undefined,
      record: undefined,
      recordText: undefined,
      serverDateMs: undefined,
      downloads: 0,
    },
    intent: undefined,
    plan: undefined,
    lastSentMs: 0,
    gets: new Set(),
    parts: new Map(),
    files: new Map(),
  };
}

function apply(draft: Draft, line: LedgerLine): void {
  const { job } = draft;
  const moves = bearingOn({ state: job.state, rank: draft.rank }, line) === 'moves';
  const standing = moves ? standingOf(line) : undefined;
  if (standing) {
    draft.rank = standing.rank;
    job.state = standing.state;
    job.message = 'message' in line ? line.message : undefined;
  }
  switch (line.event) {
    case 'intent': {
      if (draft.intent !== undefined) return;
      const { v: _v, t: _t, job: _job, event: _event, ...intent } = line;
      draft.intent = intent;
      job.createdAtMs = line.t;
      return;
    }
    case 'sent':
      job.sentAtMs ??= line.t;
      draft.lastSentMs = Math.max(draft.lastSentMs, line.t);
      if (job.absentSince !== undefined && job.absentSince.atMs < line.t) job.absentSince = undefined;
      return;
    case 'accepted':
      job.id ??= line.id;
      job.acceptedAtMs ??= line.t;
      if (!isFinished(job.state)) job.status = line.status ?? job.status;
      return;
    case 'absent':
      if (line.t >= draft.lastSentMs) job.absentSince ??= { atMs: line.t, serverDateMs: line.serverDateMs };
      return;
    case 'status':
      if (!isFinished(job.state)) job.status = line.status;
      return;
    case 'final':
      if (!moves) return;
      job.status = line.status;
      job.record = line.record;
      job.recordText = line.recordText;
      job.serverDateMs = line.serverDateMs;
      job.finishedAtMs ??= line.t;
      return;
    case 'plan':
      draft.plan = line.save;
      return;
    case 'get':
      draft.gets.add(`${line.t} ${line.role}`);
      job.downloads = draft.gets.size;
      return;
    case 'part':
      if (line.path === undefined) draft.parts.delete(line.role);
      else draft.parts.set(line.role, partOf(line.path, line, draft.parts.get(line.role)));
      return;
    case 'saved': {
      const { role, path, bytes, sha256, type } = line;
      draft.files.set(JSON.stringify([role, path]), { role, path, bytes, sha256, type });
      return;
    }
  }
}

function isFinished(state: JobState): boolean {
  return state === 'succeeded' || state === 'failed';
}

function partOf(
  path: string,
  line: { t: number; etag?: string | undefined; totalBytes?: number | undefined },
  before: Part | undefined,
): Part {
  const startedAtMs = before?.path === path ? before.startedAtMs : line.t;
  return { path, etag: line.etag, totalBytes: line.totalBytes, startedAtMs };
}
