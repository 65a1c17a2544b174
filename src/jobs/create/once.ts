import { createHash } from 'node:crypto';
import * as path from 'node:path';
import { ensureDirectory } from '../../disk/durable-directory.ts';
import { type LockFile, tryLock } from '../../disk/lock-file.ts';
import { type Patience, waitForOther } from '../../disk/other-gw.ts';
import { GwError, isUnknownOutcome, UnknownOutcome, usage } from '../../errors.ts';
import { createCommand } from '../../gateway/endpoint.ts';
import type { TaskFamily } from '../../gateway/task.ts';
import { taskState } from '../../gateway/task-state.ts';
import type { Job, Once } from '../../ledger/event.ts';
import { onceJobKey, originOfGateway } from '../../ledger/job-key.ts';
import { taskOf } from '../../ledger/settled.ts';
import { claimError } from '../../ledger/write-error.ts';
import { answerOf } from '../job-view.ts';
import { endEvent, taskFailed } from '../watch/look.ts';
import { isOtherKey } from './hold-job.ts';
import { digestOf, type IdentifiedBody, identifyBody, type JobRequest } from './job-request.ts';
import { lookUp } from './look-up.ts';
import { hintOfUnknown, type SettleDeps, settleUnanswered } from './lost.ts';
import { isUnanswered, madeNothing, nextFor } from './standing.ts';

// `--once KEY` makes a job at most once for a key, whatever process, profile or API key requests it. The process that
// makes it holds the key's lock from the look into the ledger until the create is settled, so that two can never both
// find nothing. The job's own key is derived from the user's key. For family B it is also the external ID, so that
// machines that share nothing find each other's task.

/** A job to make once, under the key in its `how.once`. */
export interface OnceRequest {
  readonly request: JobRequest;
  /** The body as requested: before it gets an external ID, and with digests in place of files. */
  readonly asked: IdentifiedBody['body'];
}

interface OnceDeps extends SettleDeps, Pick<Patience, 'silenceMs' | 'deadlineMs'> {
  readonly note: (text: string) => void;
}

/** The key and attempt under which the job of a `--once` key is made. */
export interface OncePlace {
  /** gw's own key for the job. */
  readonly key: string;
  /** The external ID, for a family whose tasks have one. */
  readonly externalId: string;
  readonly once: Once;
  /** True if an earlier run sent the job of this key and got no answer: that job is continued. */
  readonly goesOn?: boolean;
  /**
   * Call this once the job is held and before it is sent: if machines share the ledger, another may have taken over the
   * key's lock during a long wait for a slot. makeOnce handles what it throws.
   */
  confirm(): Promise<void>;
}

/** Thrown when another process has made the job of a key meanwhile. */
class MadeMeanwhile extends Error {
  override readonly name = 'MadeMeanwhile';
}

/** A job that already exists under the key; `error` is set if it failed or its outcome is unknown. */
export interface Stands {
  readonly kind: 'stands';
  readonly job: Job;
  readonly error?: GwError;
}

/** How often to check whether another process has released a key. */
const RETRY_MS = 200;

/**
 * Makes the job of a key with `make`, or finds the existing one. Throws `usage` if the existing one has another
 * request, what the look-up of family B throws (nothing was sent then), and what `make` throws.
 */
export async function makeOnce<T>(
  request: OnceRequest,
  deps: OnceDeps,
  make: (place: OncePlace) => Promise<T>,
): Promise<T | Stands> {
  const lock = await lockOf(request, deps);
  try {
    const { place, current } = await standing(request, deps);
    if (current) {
      // The request of a damaged job is unknown, and a job under another key would be paid again.
      const { again, keepsOther } = request.request.how;
      const stands = asItStands(current, request.request);
      const isNext = typeof again === 'number' && !stands;
      if (!keepsOther && !isNext && !current.isDamaged) refuseOther(current, place.once, request.request);
      if (stands && goesOn(current, request, deps)) return await make(placeOf(current, place.once, deps));
      if (stands && current.isDamaged && isUnanswered(current)) {
        const { origin, name } = keyOf(request);
        const once = { ...place.once, attempt: attemptOf(current) };
        const externalId = onceJobKey(origin, name, once.attempt);
        if (await adopt(request, { ...place, key: current.key, externalId, once }, deps))
          throw new MadeMeanwhile();
      }
      if (stands) return stands;
    }
    const elsewhere = await adopt(request, place, deps);
    if (!elsewhere) return await make(place);
  } catch (error) {
    if (!(error instanceof MadeMeanwhile)) throw error;
  } finally {
    lock.release();
  }
  // Another process or machine made the job, and it is in this ledger now.
  return makeOnce(request, deps, make);
}

/** The key and its scope: keys are separate for each scheme, host and port of a gateway. */
const keyOf = ({ request: { how, intent } }: OnceRequest) => ({
  name: how.once ?? '',
  origin: originOfGateway(intent.gateway),
});

async function lockOf(request: OnceRequest, deps: OnceDeps): Promise<LockFile> {
  const { ledger, note } = deps;
  const { name, origin } = keyOf(request);
  const locks = path.join(path.dirname(ledger.dir), 'locks');
  const file = path.join(locks, `once-${onceJobKey(origin, name)}.lock`);
  try {
    ensureDirectory(locks);
    return await waitForOther(
      { file, what: `the key --once ${name}`, pauseMs: RETRY_MS },
      deps,
      () => tryLock(file),
      (who) => note(`${who} is making the job of --once ${name}; waiting for it`),
    );
  } catch (error) {
    throw claimError(error, locks, 'usage');
  }
}

/** The key's last job that counts, and the place of the next one. */
async function standing(
  request: OnceRequest,
  deps: OnceDeps,
): Promise<{ readonly place: OncePlace; readonly current: Job | undefined }> {
  const { name, origin } = keyOf(request);
  const { intent, how } = request.request;
  const { key, current, ...next } = await lastUnderKey(origin, name, (job) => settled(job, request, deps));
  const attempt = Math.max(next.attempt, typeof how.again === 'number' ? how.again : 1);
  const externalId = onceJobKey(origin, name, attempt);
  // With `--callback-url auto` the URL depends on the running listener, so it is not part of the request.
  const anyCallback = intent.request?.flags.callbackUrl === 'auto';
  const once = { key: name, attempt, fields: fieldDigests(request.asked, anyCallback) };
  return { place: { key, externalId, once, confirm: confirming(key, deps) }, current };
}

/** Returns a function that throws MadeMeanwhile if somebody else has sent or settled the job of a key. */
const confirming =
  (key: string, { ledger }: OnceDeps) =>
  async () => {
    const [job] = await ledger.find({ ids: [key] });
    if (job && job.state !== 'intent') throw new MadeMeanwhile();
  };

const placeOf = ({ key, externalId = '', once }: Job, asked: Once, deps: OnceDeps): OncePlace => ({
  key,
  externalId,
  once: once ?? asked,
  goesOn: true,
  confirm: confirming(key, deps),
});

/** True if an unanswered job has the same request, so that it may be sent again under its external ID. */
function goesOn(job: Job, { request, asked }: OnceRequest, { clock, keyId }: OnceDeps): boolean {
  const { family, intent } = request;
  if (nextFor(job, family, { hasBody: true, nowMs: clock.now() }) !== 'look-and-send') return false;
  // Another gateway or API key may mean another account, which does not know the task; the endpoint names the model.
  if (job.gateway !== intent.gateway || isOtherKey(job, keyId) || job.endpoint !== intent.endpoint)
    return false;
  const { body } = identifyBody(family as TaskFamily, asked, job.key, job.externalId);
  return digestOf(body) === job.bodySha256;
}

/**
 * The last job under a key that counts, using `jobOf` to find jobs by their keys, and the key and attempt of the next
 * one. Attempts of other machines may be missing in this ledger, so the job itself says which attempt it is.
 */
export async function lastUnderKey(
  origin: string,
  name: string,
  jobOf: (key: string) => Promise<Job | undefined>,
): Promise<{
  readonly key: string;
  readonly attempt: number;
  readonly current: Job | undefined;
  /** The last job, even if it made nothing. */
  readonly last: Job | undefined;
}> {
  let current: Job | undefined;
  let last: Job | undefined;
  let place = 1;
  for (let retry = 1; ; ) {
    const key = onceJobKey(origin, name, place, retry);
    const job = await jobOf(key);
    // An unsent job may have lost its lines without a trace, and a sent one may follow it: check the next retry too.
    if (!job && !(await jobOf(onceJobKey(origin, name, place, retry + 1))))
      return { key, attempt: Math.max(place, attemptOf(current) + 1), current, last };
    last = job ?? last;
    if (!job || madeNothing(job)) retry += 1;
    else {
      current = { ...job, once: job.once ?? { key: name, attempt: place, fields: {} } };
      place += 1;
      retry = 1;
    }
  }
}

/** The attempt number of a job under its key, from 1; 0 if there is no job. */
export const attemptOf = (job: Job | undefined): number => (job === undefined ? 0 : (job.once?.attempt ?? 1));

/** The job of a key, after settling as far as possible what another process left open. */
async function settled(key: string, request: OnceRequest, deps: OnceDeps): Promise<Job | undefined> {
  const { ledger, note } = deps;
  const { intent } = request.request;
  const attempt = async (): Promise<{ readonly job: Job | undefined } | undefined> => {
    const [job] = await ledger.find({ ids: [key] });
    if (!job || !isUnanswered(job) || goesOn(job, request, deps)) return { job };
    // A key is valid for an origin, which may serve several gateways: only the one it was sent to knows the task.
    if (job.state !== 'intent' && job.gateway !== intent.gateway) return { job };
    const { findFamily } = await import('../../gateway/families.ts');
    const family = await findFamily(job.family || intent.family);
    if (!family) return { job };
    const { outcome } = await settleUnanswered(job, family, deps);
    return outcome === 'held' ? undefined : { job: (await ledger.find({ ids: [key] }))[0] };
  };
  const place = { file: ledger.lockOf(key), what: `job ${key}`, pauseMs: RETRY_MS };
  return (
    await waitForOther(place, deps, attempt, (who) => note(`${who} works on job ${key}; waiting for it`))
  ).job;
}

/** The job of a key as it stands; undefined if a new one is to be made in its place. */
export function asItStands(job: Job, asked: Asked): Stands | undefined {
  const { again = false } = asked.how;
  const error = badEnd(job, asked);
  // A caller that numbers the attempt knows that earlier ones are over, even if this ledger does not.
  const isMadeAnew =
    typeof again === 'number' ? attemptOf(job) < again : again && error && !isUnknownOutcome(error);
  return isMadeAnew ? undefined : { kind: 'stands', job, ...(error && { error }) };
}

type Asked = Pick<JobRequest, 'how'> & { readonly family: JobRequest['family'] | undefined };

/** The error of a job that is over, or may be; undefined for one that can be followed. */
function badEnd(job: Job, { family, how }: Asked): GwError | undefined {
  const { key, message = '', refusal, state } = job;
  const id = job.id ?? key;
  // The reply to its create may have said that the task failed; without --wait it is not queried again.
  switch (state === 'running' && !how.wait ? taskState(job.status).state : state) {
    case 'refused': {
      const { kind, status, type, code, requestId } = refusal ?? {};
      const hint = 'it was refused before under this key, and nothing was sent now; --again sends it again';
      const facts = { status, type, code, requestId, taskId: key, hint };
      return new GwError(kind === 'not_found' ? 'not_found' : 'rejected', message, facts);
    }
    case 'lost':
      return new GwError('not_found', `task ${id} is lost: ${message}`, { taskId: id, hint: againHint });
    case 'failed': {
      const hint = `${againHint}, or with other words: gw again ${id} -p TEXT`;
      if (job.family === 'image')
        return new GwError('incomplete', `the reply to ${key} held no image`, { taskId: key, hint });
      const { error } = taskOf(job, family) ?? family?.readCreateReply?.(answerOf(job)) ?? {};
      return taskFailed({ id, status: job.status ?? 'failed', error }, { hint });
    }
    case 'intent':
    case 'sent':
    case 'unknown':
      return new UnknownOutcome(`it is not known what became of job ${key}${message && `: ${message}`}`, {
        taskId: key,
        hint: `nothing was sent now; ${hintOfUnknown(job)}`,
      });
    default:
      return undefined;
  }
}

const againHint = 'nothing was sent now; --again makes a new one';

/** Throws `usage` if the job of a key has another request; the message names the first field that differs. */
function refuseOther(job: Job, { key: name, fields }: Once, { intent, flagOf }: JobRequest): void {
  const what = `--once ${name}: job ${job.id ?? job.key} was made under this key`;
  const next = 'give another key for another job; nothing was sent';
  const [before, now] = [job.endpoint, intent.endpoint].map(createCommand);
  if (before !== now) throw usage(`${what} by ${before}, and this is ${now}`, next);
  const other = otherField(fields, job.once?.fields);
  if (other !== undefined) throw usage(`${what} with another ${flagOf(pathOf(other)) ?? other}`, next);
}

/** The path of the first field in which two requests differ; undefined if they are the same. */
export const otherField = (fields: Once['fields'], before: Once['fields'] = {}): string | undefined =>
  [...new Set([...Object.keys(fields), ...Object.keys(before)])].find(
    (field) => fields[field] !== before[field],
  );

/** Splits a path such as `shots.0.prompt`. */
export const pathOf = (field: string): (string | number)[] =>
  field.split('.').map((part) => (/^\d+$/.test(part) ? Number(part) : part));

/** Deeper than any documented field; a deeper value counts as a whole. */
const DEEPEST = 4;

/** A short digest of each field of a body by path; with `anyCallback` its callback URL is left out. */
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

/** Adopts the task of family B that another machine made under the same key; false if there is none. */
async function adopt(
  { request: { family, intent } }: OnceRequest,
  { key, externalId, once }: OncePlace,
  { client, clock, deadlineMs, ledger, note, signal }: OnceDeps,
): Promise<boolean> {
  const { externalIds } = family as Partial<TaskFamily>;
  if (!externalIds) return false;
  const { found, serverDateMs = clock.now() } = await lookUp(
    { client: await client(), externalIds, externalId, signal, clock, deadlineMs },
    { isRetried: true },
  );
  if (!found) return false;
  const hold = ledger.begin({ ...intent, bodySha256: '', externalId, once }, key);
  try {
    const view = family.readTask(found.record, found.id);
    ledger.append(key, { event: 'accepted', id: found.id, status: view.status });
    // A success is followed later like any other task; a failure is recorded now.
    const end = view.state === 'failed' ? endEvent({ view, record: found.record, serverDateMs }) : undefined;
    if (end) ledger.append(key, end);
  } finally {
    hold.release();
  }
  note(`--once ${once.key}: it is task ${found.id}, made elsewhere; nothing was sent`);
  return true;
}
