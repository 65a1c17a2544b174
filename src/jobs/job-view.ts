import type { Family, TaskUsage } from '../gateway/task.ts';
import { RawJson } from '../io/escape.ts';
import type { Job } from '../ledger/event.ts';
import { lacksOutputs, namesOutputs, taskOf } from '../ledger/settled.ts';
import { gatewayNowMs } from './gateway-clock.ts';
import { outputsBySize, type SavedOutputs } from './save/saved.ts';

/** From this share of its life on, what is not saved yet deserves a warning (promises, section 4). */
export const OLD_AGE = 0.8;

/** The latest moment that a date can name. */
const LAST_MS = 8.64e15;

const iso = (ms: number | undefined): string | null =>
  ms === undefined || Math.abs(ms) > LAST_MS ? null : new Date(ms).toISOString();

/** When the output links of a finished job die, Unix milliseconds, counted from the server's clock at first sight. */
export const linkExpiresAtMs = (job: Job, family: Family): number | undefined =>
  namesOutputs(job) && job.serverDateMs !== undefined && taskOf(job, family)?.outputs.length !== 0
    ? job.serverDateMs + family.linkLifeMs
    : undefined;

/** When the gateway forgets a task, Unix milliseconds. */
export const recordExpiresAtMs = (job: Job, family: Family): number | undefined =>
  job.acceptedAtMs === undefined || family.recordLifeMs === undefined
    ? undefined
    : job.acceptedAtMs + family.recordLifeMs;

/** Whether a succeeded job that is to be saved has an output that is not. */
export const isUnsaved = (job: Job, family: Family): boolean =>
  job.save.download && lacksOutputs(job, family);

/**
 * When the link or the record of a job dies, Unix milliseconds, if that is soon and the job still needs it: it is not
 * finished, or not saved.
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

/** Whether a job has an output that is not on disk, wanted or not, and whose link lives and dies within a time. */
export function diesWithin(job: Job, family: Family | undefined, nowMs: number, spanMs = Infinity): boolean {
  const expiresAtMs = family && linkExpiresAtMs(job, family);
  if (expiresAtMs === undefined) return false;
  const leftMs = expiresAtMs - gatewayNowMs(job, nowMs);
  return leftMs > 0 && leftMs <= spanMs && outputsBySize(job, family).missing.length > 0;
}

type IsHeld = (key: string) => boolean;

/** A job's word for lists: the gateway's status, unless gw knows more; a create that nobody waits for any more may exist. */
export function statusWord(job: Job, isHeld: IsHeld): string {
  const { state, status = state } = job;
  if (job.isDamaged) return 'damaged';
  if (state === 'running' || state === 'succeeded' || state === 'failed') return status;
  if (state === 'lost') return 'failed';
  if (state !== 'intent' && state !== 'sent') return state;
  return isHeld(job.key) ? 'running' : state === 'sent' ? 'unknown' : 'not_sent';
}

/** A job of the ledger as it is listed: what was asked, where it stands, what it cost, and how long it still lives. */
export type JobView = Readonly<ReturnType<typeof jobView>>;

/** A job as it is listed; one of a family that this build does not know has no life and no usage. */
export function jobView(
  job: Job,
  family: Family | undefined,
  isHeld: IsHeld = () => false,
  outputs: SavedOutputs = outputsBySize(job, family),
) {
  // What is gone is told of where nothing of it is there.
  const files = outputs.files.length > 0 ? outputs.files : job.files;
  return {
    /** The gateway's task ID, or gw's own where there is none. */
    id: job.id ?? job.key,
    /** gw's own ID. */
    job: job.key,
    /** The user's name of it: the key of `--once`, or of a batch's row. */
    once_key: job.once?.key ?? null,
    family: job.family,
    model: job.model ?? null,
    /** The gateway's last word, or gw's where the gateway has not spoken: `refused`, `unknown`, … */
    status: statusWord(job, isHeld),
    prompt: job.prompt ?? null,
    settings: job.settings,
    profile: job.profile,
    gateway: job.gateway,
    created_at: new Date(job.createdAtMs).toISOString(),
    finished_at: iso(job.finishedAtMs),
    /** When the output links die, and when the gateway forgets the record; null where neither applies. */
    link_expires_at: iso(family && linkExpiresAtMs(job, family)),
    record_expires_at: iso(family && recordExpiresAtMs(job, family)),
    /** Whether the document does not say how long links live, so that `link_expires_at` is what gw assumes. */
    link_expiry_assumed: family?.linkLifeIsAssumed === true,
    /** Whether every output is on disk; null where there is none yet, or none that is to be saved. */
    saved: isSaved(job, outputs),
    downloads: job.downloads,
    message: job.message ?? null,
    /** What the record says it made and cost; null where it says nothing. */
    usage: usageOf(taskOf(job, family)?.usage),
    files: files.map(({ path, bytes, sha256, type }) => ({ path, bytes, sha256, type })),
  };
}

/** Images that came before their reply broke off are on disk, and others that were asked for are not. */
function isSaved(job: Job, { files, missing }: SavedOutputs): boolean | null {
  const isDue = job.files.length > 0 || (job.save.download && namesOutputs(job));
  if (missing.length > 0 && isDue) return false;
  if (files.length === 0) return null;
  const { n } = job.settings;
  return !(job.state === 'unknown' && typeof n === 'number' && files.length < n);
}

/** What a record says of what it made and cost, as it is printed; null where it says nothing. */
export function usageOf(usage: TaskUsage | undefined) {
  const { outputS, tokens, charges } = usage ?? {};
  if (outputS === undefined && tokens === undefined && charges === undefined) return null;
  return { output_s: outputS ?? null, tokens: tokens ?? null, charges: charges ?? null };
}

/** The gateway's record as it is to be printed: the value, or its own text where the value would be written in another way. */
export const printableRecord = (seen: {
  readonly record: unknown;
  readonly recordText?: string | undefined;
}): unknown => (seen.recordText === undefined ? seen.record : new RawJson(seen.recordText));
/** Whether a JSON text may hold a number that JavaScript would write in another way: long digits, or a power of ten. */
export const mayHoldLongNumber = (text: string): boolean => /[\d.]{16}|\d[eE][+-]?\d/.test(text);

export const answerOf = ({ reply }: Pick<Job, 'reply'>): unknown => reply && JSON.parse(reply);
