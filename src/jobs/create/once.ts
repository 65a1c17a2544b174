import { createHash } from 'node:crypto';
import * as path from 'node:path';
import { ensureDirectory } from '../../disk/durable-directory.ts';
import { type LockFile, tryLock } from '../../disk/lock-file.ts';
import { GwError, usage } from '../../errors.ts';
import type { Family, TaskFamily } from '../../gateway/task.ts';
import type { IntentEvent, Job, Once } from '../../ledger/event.ts';
import { onceJobKey } from '../../ledger/job-key.ts';
import { taskOf } from '../../ledger/settled.ts';
import { endEvent } from '../watch/look.ts';
import { lookUp } from './external-id.ts';
import { unknownHint } from './record-failure.ts';
import { idToConfirm, isUnanswered, type SettleDeps, settleUnanswered } from './settle-unanswered.ts';

// `--once KEY`: a job at most once for this key, whatever process, profile or API key asks. Who makes it holds the lock of
// the key from the look into the ledger until the create is settled, so that two can never both find nothing. Jobs of a key
// have keys of their own that are derived from it; those of family B are the external IDs too, so that machines that share
// nothing find each other's task.

/** A job that is wanted once. */
export interface OnceRequest {
  /** What the user calls it. */
  readonly name: string;
  /** Make a new one where the last one ended badly; a number: where the last is an earlier attempt than this one. */
  readonly again: boolean | number;
  /** Scheme, host and port of the gateway: a key is one per origin. */
  readonly origin: string;
  readonly family: Family;
  /** What would be asked for, without key, external ID and digest of the body. */
  readonly intent: Omit<IntentEvent, 'bodySha256' | 'externalId' | 'once'>;
  /** The body as it was asked for, before it gets an external ID. */
  readonly body: unknown;
  /** The callback URL is that of whichever listener runs (`--callback-url auto`): not what was asked for. */
  readonly anyCallback?: boolean;
  /** A flag by the path of a field, for messages. */
  readonly flagOf: (path: readonly PropertyKey[]) => string | undefined;
}

export interface OnceDeps extends SettleDeps {
  readonly note: (text: string) => void;
}

/** Where the job of a key is to be made. */
export interface OncePlace {
  /** gw's own key for the job. */
  readonly key: string;
  /** For a family whose tasks have external IDs. */
  readonly externalId: string;
  readonly once: Once;
  /**
   * To be called once the job is held and before it is sent: where several machines share the ledger, the lock of the key
   * may have been taken over during a long wait for a slot. What it throws is for makeOnce.
   */
  confirm(): Promise<void>;
}

/** Another process has made the job of a key after all. */
class MadeMeanwhile extends Error {
  override readonly name = 'MadeMeanwhile';
}

/** A job that stands under the key already; with `error`, one that ended badly or whose outcome is not known. */
export interface FoundOnce {
  readonly job: Job;
  readonly error?: GwError;
}

/** How often to look whether another process has let go of a key. */
const RETRY_MS = 200;

/**
 * Makes the job of a key with `make`, or finds the one that stands under it. Throws `usage` where that one asked for
 * something else, what the look-up of family B throws (nothing was sent then), and what `make` throws.
 */
export async function makeOnce<T>(
  request: OnceRequest,
  deps: OnceDeps,
  make: (place: OncePlace) => Promise<T>,
): Promise<{ readonly made: T } | { readonly found: FoundOnce }> {
  const lock = await lockOf(request, deps);
  try {
    const { place, current } = await standing(request, deps);
    if (current) {
      refuseOther(current, place.once, request);
      const error = badEnd(current, request.family);
      const isOver = error !== undefined && error.kind !== 'unknown_outcome';
      const { again } = request;
      // Who numbers the attempt knows that the ones before it are over, also where this ledger has not heard of their end.
      const isWanted = typeof again === 'number' ? attemptOf(current) < again : again && isOver;
      if (!isWanted) return { found: { job: current, ...(error && { error }) } };
    }
    const elsewhere = await adopt(request, place, deps);
    if (!elsewhere) return { made: await make(place) };
  } catch (error) {
    if (!(error instanceof MadeMeanwhile)) throw error;
  } finally {
    lock.release();
  }
  // It was made by another process or on another machine, and is in this ledger now.
  return makeOnce(request, deps, make);
}

async function lockOf({ name, origin }: OnceRequest, deps: OnceDeps): Promise<LockFile> {
  const { clock, ledger, note, signal } = deps;
  const locks = path.join(path.dirname(ledger.dir), 'locks');
  ensureDirectory(locks);
  const file = path.join(locks, `once-${onceJobKey(origin, name)}.lock`);
  for (let waited = 0; ; waited += 1) {
    const lock = tryLock(file);
    if (lock) return lock;
    if (waited === 0) note(`another gw is making the job of --once ${name}; waiting for it`);
    await clock.sleep(RETRY_MS, signal);
  }
}

/** The last job of a key that counts, and where the next one would be made. */
async function standing(
  { name, again, origin, intent, body, anyCallback }: OnceRequest,
  deps: OnceDeps,
): Promise<{ readonly place: OncePlace; readonly current: Job | undefined }> {
  const { key, current, ...next } = await lastUnderKey(origin, name, (job) => settled(job, intent, deps));
  const attempt = Math.max(next.attempt, typeof again === 'number' ? again : 1);
  const externalId = onceJobKey(origin, name, attempt);
  const once = { key: name, attempt, fields: fieldDigests(body, anyCallback) };
  const confirm = async () => {
    const [job] = await deps.ledger.find({ ids: [key] });
    if (job && job.state !== 'intent') throw new MadeMeanwhile();
  };
  return { place: { key, externalId, once, confirm }, current };
}

/**
 * The last job under a key that counts, as `jobOf` finds jobs by their keys, and the key and attempt of the next one. Of the
 * attempts that other machines made, this ledger may lack some: each job says which one it is.
 */
export async function lastUnderKey(
  origin: string,
  name: string,
  jobOf: (key: string) => Promise<Job | undefined>,
): Promise<{ readonly key: string; readonly attempt: number; readonly current: Job | undefined }> {
  let current: Job | undefined;
  let place = 1;
  for (let retry = 1; ; ) {
    const key = onceJobKey(origin, name, place, retry);
    const job = await jobOf(key);
    if (!job) return { key, attempt: Math.max(place, attemptOf(current) + 1), current };
    if (madeNothing(job)) retry += 1;
    else {
      current = job;
      place += 1;
      retry = 1;
    }
  }
}

/** Which attempt under its key a job is, from 1; 0 where there is none. */
export const attemptOf = (job: Job | undefined): number => (job === undefined ? 0 : (job.once?.attempt ?? 1));

/** A job as it stands once what a process left open is settled, as far as it can be. */
async function settled(key: string, intent: OnceRequest['intent'], deps: OnceDeps): Promise<Job | undefined> {
  const { clock, ledger, signal } = deps;
  for (;;) {
    const [job] = await ledger.find({ ids: [key] });
    if (!job || !isUnanswered(job)) return job;
    // A key is one per origin, and an origin may have several gateways: only the one it was sent to knows of it.
    if (job.state !== 'intent' && job.gateway !== intent.gateway) return job;
    const { findFamily } = await import('../../gateway/families.ts');
    const family = await findFamily(job.family || intent.family);
    if (!family) return job;
    const { outcome } = await settleUnanswered(job, family, deps);
    if (outcome !== 'held') return (await ledger.find({ ids: [key] }))[0];
    await clock.sleep(RETRY_MS, signal);
  }
}

/** The refusals that are kept: the same request would be refused again. */
const keptRefusals: ReadonlySet<string> = new Set(['rejected', 'not_found']);

/** Whether it is certain that a job made nothing, and asking again may: its key is free. */
export const madeNothing = ({ state, refusal }: Job): boolean =>
  state === 'not_sent' || (state === 'refused' && !keptRefusals.has(refusal?.kind ?? ''));

/** What went wrong with a job that is over, or may be; undefined for one to go on with. */
function badEnd(job: Job, family: Family): GwError | undefined {
  const { key, message = '', refusal, state } = job;
  const id = job.id ?? key;
  switch (state) {
    case 'refused':
      return new GwError(refusal?.kind === 'not_found' ? 'not_found' : 'rejected', message, {
        status: refusal?.status,
        taskId: key,
        hint: 'it was refused before under this key, and nothing was sent now; --again sends it again',
      });
    case 'lost':
      return new GwError('not_found', `task ${id} is lost: ${message}`, { taskId: id, hint: againHint });
    case 'failed': {
      if (job.family === 'image') {
        return new GwError('incomplete', `the reply to ${key} held no image`, {
          taskId: key,
          hint: againHint,
        });
      }
      const { code, message: said } = taskOf(job, family)?.error ?? {};
      const reason = [code, said].filter(Boolean).join(': ');
      const what = `task ${id} ended ${job.status ?? 'failed'}${reason && `: ${reason}`}`;
      return new GwError('task_failed', what, { taskId: id, code, hint: againHint });
    }
    case 'intent':
    case 'sent':
    case 'unknown':
      return new GwError(
        'unknown_outcome',
        `it is not known what became of job ${key}${message && `: ${message}`}`,
        {
          taskId: key,
          hint: `nothing was sent now; ${unknownHint(key, job.family, job.family === 'beta', idToConfirm(job))}`,
        },
      );
    default:
      return undefined;
  }
}

const againHint = 'nothing was sent now; --again makes a new one';

/** Throws `usage` where the job of a key asked for something else, naming the first field that differs. */
function refuseOther(job: Job, { key: name, fields }: Once, { intent, flagOf }: OnceRequest): void {
  const what = `--once ${name}: job ${job.id ?? job.key} was made under this key`;
  const next = 'give another key for another job; nothing was sent';
  if (job.endpoint !== intent.endpoint) {
    throw usage(`${what} by ${job.endpoint}, and this is ${intent.endpoint}`, next);
  }
  const before = job.once?.fields ?? {};
  const names = [...new Set([...Object.keys(fields), ...Object.keys(before)])];
  const other = names.find((field) => fields[field] !== before[field]);
  if (other === undefined) return;
  const parts = other.split('.').map((part) => (/^\d+$/.test(part) ? Number(part) : part));
  throw usage(`${what} with another ${flagOf(parts) ?? other}`, next);
}

/** Deeper than any documented field lies; what lies deeper counts as one. */
const DEEPEST = 4;

/** A short digest of each field of a body, by its path; with `anyCallback` without its callback URL. */
export function fieldDigests(body: unknown, anyCallback = false): Record<string, string> {
  const digests = new Map<string, string>();
  const add = (value: unknown, at: readonly string[]): void => {
    if (typeof value === 'object' && value !== null && at.length < DEEPEST) {
      for (const [name, inner] of Object.entries(value)) add(inner, [...at, name]);
      return;
    }
    const text = JSON.stringify(value);
    if (text === undefined || (anyCallback && at.at(-1) === 'callback_url')) return;
    digests.set(at.join('.'), createHash('sha256').update(text).digest('hex').slice(0, 16));
  };
  add(body, []);
  return Object.fromEntries(digests);
}

/** Takes in the task of family B that another machine has made under the same key; whether there is one. */
async function adopt(
  { family, intent }: OnceRequest,
  { key, externalId, once }: OncePlace,
  { client, clock, ledger, note, signal }: OnceDeps,
): Promise<boolean> {
  const { externalIds } = family as Partial<TaskFamily>;
  if (!externalIds) return false;
  const { found, serverDateMs = clock.now() } = await lookUp(
    { client: await client(), externalIds, externalId, signal, clock },
    { isRetried: true },
  );
  if (!found) return false;
  const hold = ledger.begin({ ...intent, bodySha256: '', externalId, once }, key);
  try {
    const view = family.readTask(found.record, found.id);
    ledger.append(key, { event: 'accepted', id: found.id, status: view.status });
    // An output is looked for as in any other wait; a bad end is known now.
    const end = view.state === 'failed' ? endEvent({ view, record: found.record, serverDateMs }) : undefined;
    if (end) ledger.append(key, end);
  } finally {
    hold.release();
  }
  note(`--once ${once.key}: it is task ${found.id}, made elsewhere; nothing was sent`);
  return true;
}
