import { familyNames } from '../gateway/families.ts';
import type { IntentEvent, Job, JobState, LedgerEvent, LedgerLine, SavedFile, SavePlan } from './event.ts';
import { isPlace } from './parse-line.ts';

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
export const bearing = (state: JobState, event: LedgerEvent): Bearing => bearingOn(at(state), event);

/** Whether an event tells where a job stands, which only the process may say that holds it. */
export const isHoldersOnly = (event: LedgerEvent): boolean =>
  event.event === 'absent' || standingOf(event) !== undefined;

interface Standing {
  readonly state: JobState;
  readonly rank: number;
}

const at = (state: JobState): Standing => ({ state, rank: ranks[state] });

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
      return at(event.event);
    case 'accepted':
      return at('running');
    case 'refused':
      if (event.kind === 'interrupted') return { state: 'not_sent', rank: INTERRUPTED_RANK };
      return at(event.kind === 'not_sent' ? 'not_sent' : 'refused');
    case 'final':
      return at(event.state);
    default:
      return undefined;
  }
}

type Part = Job['parts'][string];
type Fields<T> = { -readonly [K in keyof T]: T[K] };

export interface Draft {
  rank: number;
  readonly job: Fields<Omit<Job, keyof IntentEvent | 'parts' | 'files'>>;
  intent: Omit<IntentEvent, 'event'> | undefined;
  /** What could be made out of an intent that cannot be read. */
  salvaged: Partial<Omit<IntentEvent, 'event'>> | undefined;
  /** The plan that has taken the place of the intent's. */
  plan: SavePlan | undefined;
  /** The sendings, empty look-ups and downloads that were told: a line that stands twice counts once. */
  readonly told: Set<string>;
  readonly parts: Map<string, Part>;
  readonly files: Map<string, SavedFile>;
}

/** The one way that lines become a job; undefined where none of them says that there is one. */
export function jobOf({ job, intent, salvaged, plan, parts, files }: Draft): Job | undefined {
  const isDamaged = intent === undefined;
  // Of a job that was never sent, nothing is lost with its intent.
  if (isDamaged && job.id === undefined && job.sentAtMs === undefined) return undefined;
  const asked = intent ?? { ...nothingAsked, ...salvaged };
  const save = plan ?? asked.save;
  // Spreads would do the same, in three times the time and with garbage that outlives the next hundred jobs.
  return Object.assign(job, asked, isDamaged && { isDamaged }, {
    save,
    parts: Object.fromEntries(parts),
    files: withoutMoved([...files.values()]),
  });
}

/** A rescued file that has come to where it was wanted is no longer where it was. */
function withoutMoved(files: readonly SavedFile[]): readonly SavedFile[] {
  const isHome = (role: string) => files.some((file) => file.role === role && !file.rescued);
  return files.filter((file) => !file.rescued || !isHome(file.role));
}

const nothingAsked: Omit<IntentEvent, 'event'> = {
  family: '',
  endpoint: '',
  model: undefined,
  settings: {},
  media: [],
  bodySha256: '',
  profile: '',
  gateway: '',
  save: { target: '', force: false, download: true },
};

/** A job was sent, and the line that said so is gone: whatever else came of it may be gone too, so it may exist. */
export function addLostSending(draft: Draft, sentAtMs: number): void {
  const { job } = draft;
  job.sentAtMs = sentAtMs;
  if (job.createdAtMs === 0) job.createdAtMs = sentAtMs;
  if (draft.rank >= ranks.unknown) return;
  draft.rank = ranks.unknown;
  job.state = 'unknown';
  job.message = 'what the ledger had of it is gone or cannot be read';
}

/** Keeps what can be made out of a line that cannot be read, where it looks like the job's intent. */
export function salvage(draft: Draft, text: string): void {
  const field = (name: string) => new RegExp(`"${name}":"([^"\\\\]+)"`).exec(text)?.[1];
  // Told twice, so that a damage to one of them leaves it known.
  const told = [field('family'), field('endpoint')?.split('.')[0]];
  const family = told.find((name) => familyNames.includes(name ?? '')) ?? told[0];
  if (family === undefined) return;
  // What a damaged path leads to is nobody's wish.
  const target = field('target');
  draft.salvaged = {
    family,
    endpoint: field('endpoint') ?? '',
    model: field('model'),
    prompt: field('prompt'),
    profile: field('profile') ?? '',
    gateway: field('gateway') ?? '',
    externalId: field('externalId'),
    once: onceIn(text),
    ...(isPlace(target) && { save: { ...nothingAsked.save, target } }),
  };
}

function onceIn(text: string): IntentEvent['once'] {
  const [, key, attempt] = /"once":\{"key":"([^"\\]+)","attempt":(\d+),/.exec(text) ?? [];
  return key === undefined ? undefined : { key, attempt: Number(attempt), fields: {} };
}

/** A job of which no line has been seen. */
export function newDraft(key: string): Draft {
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
      resends: 0,
      acceptedAtMs: undefined,
      finishedAtMs: undefined,
      record: undefined,
      serverDateMs: undefined,
      downloads: 0,
    },
    intent: undefined,
    salvaged: undefined,
    plan: undefined,
    told: new Set(),
    parts: new Map(),
    files: new Map(),
  };
}

/** Adds what a line says; never throws. */
export function addLine(draft: Draft, line: LedgerLine): void {
  const { job } = draft;
  const moves = bearingOn({ state: job.state, rank: draft.rank }, line) === 'moves';
  const standing = moves ? standingOf(line) : undefined;
  if (standing) {
    draft.rank = standing.rank;
    job.state = standing.state;
    job.message = 'message' in line ? line.message : undefined;
    job.refusal = line.event === 'refused' ? line : undefined;
  }
  if (draft.intent === undefined && job.createdAtMs === 0) job.createdAtMs = line.t;
  switch (line.event) {
    case 'intent': {
      if (draft.intent !== undefined) return;
      const { v: _v, t: _t, job: _job, event: _event, sum: _sum, ...intent } = line;
      draft.intent = intent;
      job.createdAtMs = line.t;
      return;
    }
    case 'sent':
      job.sentAtMs ??= line.t;
      // Their order in the file counts: the clock may be set back between a look-up and a sending.
      if (isRepeated(line, draft) || job.absentSince === undefined) return;
      job.absentSince = undefined;
      job.resends += 1;
      return;
    case 'accepted':
      job.id ??= line.id;
      job.acceptedAtMs ??= line.t;
      job.reply ??= line.reply;
      if (!isFinished(job.state)) job.status = line.status ?? job.status;
      return;
    case 'unknown':
      if (line.unconfirmedId !== undefined) job.unconfirmedId ??= line.unconfirmedId;
      if (line.record === undefined || isFinished(job.state)) return;
      job.record = line.record;
      job.serverDateMs = line.serverDateMs;
      return;
    case 'absent':
      if (isRepeated(line, draft)) return;
      job.absentSince = {
        ...(job.absentSince ?? { atMs: line.t, serverDateMs: line.serverDateMs }),
        lastMs: line.t,
      };
      return;
    case 'status':
      if (!isFinished(job.state)) job.status = line.status;
      return;
    case 'final':
      if (!moves) return;
      if (job.record !== undefined) job.earlierRecords = earlierThan(line.record, job);
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
      if (!isRepeated(line, draft)) job.downloads += 1;
      return;
    case 'held':
      job.held = { ...job.held, [line.role]: { atMs: line.t, forMs: line.forMs } };
      return;
    case 'part':
      if (line.path === undefined) draft.parts.delete(line.role);
      else draft.parts.set(line.role, partOf(line.path, line, draft.parts.get(line.role)));
      return;
    case 'saved':
      job.savedAtMs = Math.max(job.savedAtMs ?? 0, line.t);
      draft.files.set(JSON.stringify([line.role, line.path]), fileOf(line));
      return;
  }
}

/** Whether a line has been told before: it stands twice where its journal was rewritten while it was appended. */
function isRepeated(line: LedgerLine, { told }: Draft): boolean {
  const name = `${line.t} ${line.event} ${'role' in line ? line.role : ''}`;
  return told.size === told.add(name).size;
}

/** The records before one that comes; a line that stands twice counts once. */
function earlierThan(now: unknown, { record, earlierRecords }: Draft['job']): readonly unknown[] | undefined {
  const isSame = JSON.stringify(record) === JSON.stringify(now);
  return isSame ? earlierRecords : [...(earlierRecords ?? []), record].slice(0, MOST_EARLIER);
}
/** A task is looked at again as often as its links die. */
const MOST_EARLIER = 8;

const isFinished = (state: JobState): boolean => state === 'succeeded' || state === 'failed';

function fileOf({ role, path, bytes, sha256, type, rescued, cut }: SavedFile): SavedFile {
  return { role, path, bytes, sha256, type, ...(rescued && { rescued }), ...(cut && { cut }) };
}

function partOf(
  path: string,
  { t, etag, totalBytes, to, sha256 }: Omit<Part, 'path' | 'startedAtMs'> & { readonly t: number },
  before: Part | undefined,
): Part {
  const startedAtMs = before?.path === path ? before.startedAtMs : t;
  return { path, etag, totalBytes, startedAtMs, ...(to !== undefined && { to, sha256 }) };
}
