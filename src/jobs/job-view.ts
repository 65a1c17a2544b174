import type { Family, TaskUsage } from '../gateway/task.ts';
import { RawJson } from '../io/escape.ts';
import type { Job, JobState, SavedFile } from '../ledger/event.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { lacksOutputs, namesOutputs, taskOf } from '../ledger/settled.ts';
import { gatewayNowMs } from './gateway-clock.ts';
import { outputsBySize, type SavedOutputs } from './save/saved.ts';

/** After this share of its lifetime, an unsaved output gets a warning (promises, section 4). */
export const OLD_AGE = 0.8;

// A Date holds no time beyond 8.64e15 ms.
const iso = (ms: number | undefined): string | null =>
  ms === undefined || Math.abs(ms) > 8.64e15 ? null : new Date(ms).toISOString();

/** When a finished job's output links expire, in Unix ms, counted from the server's clock at first sight. */
export const linkExpiresAtMs = (job: Job, family: Family): number | undefined =>
  namesOutputs(job) && job.serverDateMs !== undefined && taskOf(job, family)?.outputs.length !== 0
    ? job.serverDateMs + family.linkLifeMs
    : undefined;

/** When the gateway forgets a task, in Unix milliseconds. */
export const recordExpiresAtMs = (job: Job, family: Family): number | undefined =>
  job.acceptedAtMs === undefined || family.recordLifeMs === undefined
    ? undefined
    : job.acceptedAtMs + family.recordLifeMs;

/** True if a succeeded job that is to be saved has an unsaved output. */
export const isUnsaved = (job: Job, family: Family): boolean =>
  job.save.download && lacksOutputs(job, family);

/**
 * When the link or record of a job expires, in Unix milliseconds, if that is soon and the job still needs it because it
 * is unfinished or unsaved.
 */
export function diesSoonAtMs(job: Job, family: Family, nowMs: number): number | undefined {
  const ends = [
    [linkExpiresAtMs(job, family), family.linkLifeMs, gatewayNowMs(job, nowMs)],
    [recordExpiresAtMs(job, family), family.recordLifeMs ?? 0, nowMs],
  ] as const;
  const soon = ends.flatMap(([atMs, lifeMs, byMs]) =>
    atMs !== undefined && byMs < atMs && byMs >= atMs - lifeMs * (1 - OLD_AGE) ? [atMs] : [],
  );
  if (soon.length === 0 || (job.state !== 'running' && !isUnsaved(job, family))) return undefined;
  return Math.min(...soon);
}

/** True if an output is not on disk, wanted or not, and its link is valid but expires within `spanMs`. */
export function diesWithin(job: Job, family: Family | undefined, nowMs: number, spanMs = Infinity): boolean {
  const expiresAtMs = family && linkExpiresAtMs(job, family);
  if (expiresAtMs === undefined) return false;
  const leftMs = expiresAtMs - gatewayNowMs(job, nowMs);
  return leftMs > 0 && leftMs <= spanMs && outputsBySize(job, family).missing.length > 0;
}

/**
 * A job of the ledger as it is now, for `stateNow`. One that no process creates any more is read again, because its
 * create may have ended since the job was read.
 */
export async function nowOf(job: Job, ledger: Pick<Ledger, 'isHeld' | 'find'>): Promise<Job> {
  if (job.state !== 'intent' && job.state !== 'sent') return job;
  if (ledger.isHeld(job.key)) return { ...job, isHeld: true };
  return (await ledger.find({ ids: [job.key] }))[0] ?? job;
}

/** A job's state now. Without a process that creates it, a job was never sent, or it may exist. */
export const stateNow = ({ state, isHeld }: Job): JobState =>
  (state !== 'intent' && state !== 'sent') || isHeld ? state : state === 'sent' ? 'unknown' : 'not_sent';

/** A job's status in lists: the gateway's, unless gw knows more. */
export function statusWord(job: Job): string {
  if (job.isDamaged) return 'damaged';
  const state = stateNow(job);
  if (state === 'running' || state === 'succeeded' || state === 'failed') return job.status ?? state;
  if (state === 'lost') return 'failed';
  return state === 'intent' || state === 'sent' ? 'running' : state;
}

/** A job as it is listed: its request, status, cost, and how long its links and record live. */
export type JobView = Readonly<ReturnType<typeof jobView>>;

/** A job as it is listed; for a family that this build does not know, lifetimes and usage are missing. */
export function jobView(
  job: Job,
  family: Family | undefined,
  outputs: SavedOutputs = outputsBySize(job, family),
) {
  // If no file exists any more, the recorded files are listed.
  const files = outputs.files.length > 0 ? outputs.files : job.files;
  return {
    /** The gateway's task ID, or gw's own if there is none. */
    id: job.id ?? job.key,
    /** gw's own ID. */
    job: job.key,
    /** The user's name for it: the key of `--once`, or of a batch's row. */
    once_key: job.once?.key ?? null,
    family: job.family,
    model: job.model ?? null,
    /** The gateway's last status, or gw's own if there is none: `refused`, `unknown`, … */
    status: statusWord(job),
    prompt: job.prompt ?? null,
    settings: job.settings,
    profile: job.profile,
    gateway: job.gateway,
    created_at: new Date(job.createdAtMs).toISOString(),
    finished_at: iso(job.finishedAtMs),
    /** When the output links expire, and when the gateway forgets the record; null if not applicable. */
    link_expires_at: iso(family && linkExpiresAtMs(job, family)),
    record_expires_at: iso(family && recordExpiresAtMs(job, family)),
    /** True if the document does not state the lifetime of links, so that `link_expires_at` is gw's assumption. */
    link_expiry_assumed: family?.linkLifeIsAssumed === true,
    /** Whether every output is on disk; null if there are none yet, or none to be saved. */
    saved: isSaved(job, outputs),
    downloads: job.downloads,
    message: job.message ?? null,
    /** Output length and cost in the record; null if it states none. */
    usage: usageOf(taskOf(job, family)?.usage),
    files: printedFiles(files),
  };
}

/** What is printed of a saved file. */
export type PrintedFile = Pick<SavedFile, 'path' | 'bytes' | 'sha256' | 'type'>;

export const printedFiles = (files: readonly PrintedFile[]): PrintedFile[] =>
  files.map(({ path, bytes, sha256, type }) => ({ path, bytes, sha256, type }));

/** False too for a reply that broke off: images that came before the break are saved, but others were requested. */
function isSaved(job: Job, { files, missing }: SavedOutputs): boolean | null {
  const isDue = job.files.length > 0 || (job.save.download && namesOutputs(job));
  if (missing.length > 0 && isDue) return false;
  if (files.length === 0) return null;
  const { n } = job.settings;
  return !(job.state === 'unknown' && typeof n === 'number' && files.length < n);
}

/** Output length and cost in a record, for printing; null if it states none. */
export function usageOf(usage: TaskUsage | undefined) {
  const { outputS, tokens, charges } = usage ?? {};
  if (outputS === undefined && tokens === undefined && charges === undefined) return null;
  return { output_s: outputS ?? null, tokens: tokens ?? null, charges: charges ?? null };
}

/** The gateway's record for printing: the value, or its original text if printing the value would change a number. */
export const printableRecord = (seen: {
  readonly record: unknown;
  readonly recordText?: string | undefined;
}): unknown => (seen.recordText === undefined ? seen.record : new RawJson(seen.recordText));
/** True if JSON text may hold a number that JavaScript would write differently: many digits, or an exponent. */
export const mayHoldLongNumber = (text: string): boolean =>
  /(?:^|[:,[\s])-?\d(?:[\d.]{15}|[\d.]*[eE])/.test(text);

export const answerOf = ({ reply }: Pick<Job, 'reply'>): unknown => reply && JSON.parse(reply);
