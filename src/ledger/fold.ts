import { familyNames } from '../gateway/families.ts';
import type { IntentEvent, Job, JobState, LedgerEvent, LedgerLine, SavedFile, SavePlan } from './event.ts';
import { isPlace } from './parse-line.ts';

// The one rule of which event may follow which; README.md explains it. The writer checks `bearing` before it appends,
// and the fold checks it again for lines that an older gw wrote.

/**
 * The rank of each state. A job only moves to a state of higher or equal rank, so the order of lines does not matter
 * and a finished job never goes back: a late "unknown" cannot hide an accepted task, and "lost" cannot hide its result.
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
/** "Interrupted before it was sent" is only a guess about an intent, so its rank is below `sent`. */
const INTERRUPTED_RANK = 1;

/** The effect of an event on a job in its current state: it moves the job, adds a fact, or does not count. */
type Bearing = 'moves' | 'adds' | 'void';

/** The effect of an event on a job in a state. */
export const bearing = (state: JobState, event: LedgerEvent): Bearing => bearingOn(at(state), event);

/** True if an event tells the state of a job: only the process that holds the job may write it. */
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
  if (event.event === 'not_made') return state === 'sent' ? 'moves' : 'void';
  // A second `final` that contradicts the first one is ignored.
  const isOtherEnd = event.event === 'final' && rank === claimed.rank && state !== claimed.state;
  if (claimed.rank >= rank && !isOtherEnd) return 'moves';
  return event.event === 'sent' && state === 'unknown' ? 'adds' : 'void';
}

/** The state that an event claims, with its rank; undefined for an event that claims none. */
export function standingOf(event: LedgerEvent): Standing | undefined {
  switch (event.event) {
    case 'sent':
    case 'unknown':
    case 'lost':
    case 'intent':
      return at(event.event);
    case 'not_made':
      return at('intent');
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
  /** True if a line tells of a sending, even of one that made nothing. */
  wasSent: boolean;
  readonly job: Fields<Omit<Job, keyof IntentEvent | 'parts' | 'files'>>;
  intent: Omit<IntentEvent, 'event'> | undefined;
  /** Fields that could be salvaged from an unreadable intent. */
  salvaged: Partial<Omit<IntentEvent, 'event'>> | undefined;
  /** The plan that replaced the intent's plan. */
  plan: SavePlan | undefined;
  /** The sendings, empty look-ups and downloads so far; a set, so that a duplicated line counts once. */
  readonly told: Set<string>;
  readonly parts: Map<string, Part>;
  readonly files: Map<string, SavedFile>;
}

/** Builds the job from its folded lines; undefined if no line proves that there is one. */
export function jobOf({ job, intent, salvaged, plan, parts, files, wasSent }: Draft): Job | undefined {
  const isDamaged = intent === undefined;
  // A job without an intent that was never sent can be dropped: nothing is lost with it.
  if (isDamaged && job.id === undefined && job.sentAtMs === undefined && !wasSent) return undefined;
  const asked = intent ?? { ...nothingAsked, ...salvaged };
  const kept = plan ?? asked.save;
  // Spreads would take three times as long and leave garbage that lasts for the next hundred jobs.
  return Object.assign(job, asked, isDamaged && { isDamaged }, {
    save: kept.force ? { ...kept, force: false } : kept,
    parts: Object.fromEntries(parts),
    files: [...files.values()],
  });
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

/** Marks a job as sent whose `sent` line is lost: other lines may be lost too, so its task may exist. */
export function addLostSending(draft: Draft, sentAtMs: number): void {
  const { job } = draft;
  job.sentAtMs = sentAtMs;
  job.createdAtMs ||= sentAtMs;
  if (draft.rank >= ranks.unknown) return;
  const message = 'what the ledger had of it is gone or cannot be read';
  addLine(draft, { v: 1, t: sentAtMs, job: job.key, event: 'unknown', message });
}

/** Salvages fields from an unreadable line that looks like the job's intent. */
export function salvage(draft: Draft, text: string): void {
  const field = (name: string) => new RegExp(`"${name}":"([^"\\\\]+)"`).exec(text)?.[1];
  // The family is in two fields, so that it is still known if one of them is damaged.
  const told = [field('family'), field('endpoint')?.split('.')[0]];
  const family = told.find((name) => familyNames.includes(name ?? '')) ?? told[0];
  if (family === undefined) return;
  // A damaged path must not be used as a target.
  const target = field('target');
  const [, key, attempt] = /"once":\{"key":"([^"\\]+)","attempt":(\d+),/.exec(text) ?? [];
  draft.salvaged = {
    family,
    endpoint: field('endpoint') ?? '',
    model: field('model'),
    prompt: field('prompt'),
    profile: field('profile') ?? '',
    gateway: field('gateway') ?? '',
    externalId: field('externalId'),
    once: key === undefined ? undefined : { key, attempt: Number(attempt), fields: {} },
    ...(isPlace(target) && { save: { ...nothingAsked.save, target } }),
  };
}

/** A draft of a job before any line is added. */
export function newDraft(key: string): Draft {
  return {
    rank: ranks.intent,
    wasSent: false,
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

/** Adds the facts of a line; never throws. */
export function addLine(draft: Draft, line: LedgerLine): void {
  const { job } = draft;
  const moves = movesBy(draft, line);
  const standing = moves ? standingOf(line) : undefined;
  if (standing) {
    draft.rank = standing.rank;
    job.state = standing.state;
    job.message = 'message' in line ? line.message : undefined;
    job.refusal = line.event === 'refused' ? line : undefined;
    // From now on, a mark beside the journals stands for a sending whose line is lost.
    if (line.event === 'not_made') job.sentAtMs = undefined;
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
      if (isTakenBack(line.sending, draft.told)) return;
      job.sentAtMs ??= line.t;
      // The order in the file counts, because the clock may be set back between a look-up and a sending.
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
      addFile(draft, line);
  }
}

/** Adds an output. A rescued file is dropped once the same output has been saved in its intended place. */
function addFile(draft: Draft, line: SavedFile & { readonly t: number }): void {
  draft.job.savedAtMs = Math.max(draft.job.savedAtMs ?? 0, line.t);
  for (const [name, { role, rescued }] of draft.files)
    if (rescued && !line.rescued && role === line.role) draft.files.delete(name);
  draft.files.set(JSON.stringify([line.role, line.path]), fileOf(line));
}

/** True if a line changes the job's state. Sendings have names, so that copied lines and several holders do no harm. */
function movesBy(draft: Draft, line: LedgerLine): boolean {
  const { told, job, rank } = draft;
  if (line.event === 'sent' || line.event === 'not_made') {
    draft.wasSent = true;
    told.add(`${line.event} ${line.sending ?? ''}`);
    const isOpen = (name: string) => name.startsWith('sent ') && !isTakenBack(name.slice(5), told);
    if (line.event === 'sent' ? isTakenBack(line.sending, told) : [...told].some(isOpen)) return false;
  }
  return bearingOn({ state: job.state, rank }, line) === 'moves';
}

/** True of a sending that made nothing. */
const isTakenBack = (sending: string | undefined, told: Draft['told']) => told.has(`not_made ${sending}`);

/** True if a line was added before: it is duplicated if its journal was rewritten during the append. */
function isRepeated(line: LedgerLine, { told }: Draft): boolean {
  const name = `${line.t} ${line.event} ${'role' in line ? line.role : ''}`;
  return told.size === told.add(name).size;
}

/** The records before a new one; a duplicated line counts once. */
function earlierThan(now: unknown, { record, earlierRecords }: Draft['job']): readonly unknown[] | undefined {
  const isSame = JSON.stringify(record) === JSON.stringify(now);
  return isSame ? earlierRecords : [...(earlierRecords ?? []), record].slice(0, MOST_EARLIER);
}
/** A task can be queried again each time its links expire. */
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
