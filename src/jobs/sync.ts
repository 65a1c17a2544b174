import { GwError } from '../errors.ts';
import type { Family, TaskFamily } from '../gateway/task.ts';
import type { Job } from '../ledger/event.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { removePart } from './download/part-file.ts';
import { endOf, type FollowDeps, type Followed } from './follow.ts';
import { lookAtTask, recordLook } from './look.ts';

/** Whether a job still needs something: an answer, a look, its outputs saved, or a part file put away. */
export function isOpen(job: Job, family: Family): boolean {
  if (job.state === 'intent' || job.state === 'sent' || job.state === 'running') return true;
  return (
    job.state === 'succeeded' &&
    job.save.download &&
    (unsavedRoles(job, family).length > 0 || Object.keys(job.parts).length > 0)
  );
}

/**
 * Puts away the part files that a process left which died between the record of a saved file and the end of its part.
 * Returns whether that was all that the job needed. Throws what the ledger throws, or the system's error.
 */
export function tidyParts(job: Job, family: Family, ledger: Ledger): boolean {
  if (job.state !== 'succeeded' || unsavedRoles(job, family).length > 0) return false;
  const claim = ledger.claim(job.key);
  if (!claim) return true;
  try {
    for (const [role, { path }] of Object.entries(job.parts)) {
      removePart(path);
      ledger.append(job.key, { event: 'part', role });
    }
    return true;
  } finally {
    claim.release();
  }
}

/** The outputs that a finished job's record names and the ledger does not have. */
export function unsavedRoles(job: Job, family: Family): string[] {
  const saved = new Set(job.files.map((file) => file.role));
  const roles = family.readTask(job.record, job.id ?? job.key).outputs.map((output) => output.role);
  return (roles.length > 0 ? roles : ['video']).filter((role) => !saved.has(role));
}

/**
 * Settles what a dead process left between its intent and the gateway's answer: an intent that was never sent is over;
 * a request without an answer may have created something, and family A and C offer nothing to look it up by.
 * A job whose process still lives is left alone. Returns whether the job was settled.
 */
export function settleUnanswered(job: Job, ledger: Ledger): boolean {
  const claim = ledger.claim(job.key);
  if (!claim) return false;
  try {
    if (job.state === 'intent') {
      ledger.append(job.key, {
        event: 'refused',
        kind: 'interrupted',
        message: 'gw ended before the request was sent',
      });
    } else {
      ledger.append(job.key, {
        event: 'unknown',
        message: 'gw ended before the gateway answered; the job may exist',
      });
    }
    return true;
  } finally {
    claim.release();
  }
}

/**
 * Brings one accepted job as far as it goes without waiting: looks at it, keeps a final record, saves its outputs.
 * Undefined where it still runs. Never throws but for an interrupt.
 */
export async function syncJob(
  job: Job & { id: string },
  family: TaskFamily,
  deps: FollowDeps,
): Promise<Followed | undefined> {
  const { id, key } = job;
  const { ledger, clock, signal } = deps;
  try {
    const look = await lookAtTask({ id, family, client: deps.client, signal, nowMs: clock.now });
    recordLook(ledger, key, look, job.status);
    if (look.view.state === 'running') return undefined;
    return await endOf(look, { id, key, family, save: job.save }, deps);
  } catch (error) {
    signal.throwIfAborted();
    const gone = error instanceof GwError && error.kind === 'not_found';
    const expiredAtMs = (job.acceptedAtMs ?? job.createdAtMs) + family.recordLifeMs;
    if (gone && clock.now() >= expiredAtMs) {
      const message = 'the gateway no longer keeps the record';
      ledger.append(key, { event: 'lost', message });
      return {
        status: job.status ?? '',
        record: job.record,
        files: [],
        error: new GwError('not_found', `task ${id}: ${message}`, { taskId: id }),
      };
    }
    return { status: job.status ?? '', record: job.record, files: [], error };
  }
}
