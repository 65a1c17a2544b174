import * as fs from 'node:fs';
import * as path from 'node:path';
import { imageFamily, imageIndex } from '../../gateway/image/job.ts';
import type { Job, SavedFile, SavePlan } from '../../ledger/event.ts';
import { namesOutputs } from '../../ledger/settled.ts';
import { gatewayNowMs } from '../gateway-clock.ts';
import { printableRecord } from '../job-view.ts';
import { namingOf } from '../save/output-path.ts';
import { type DownloadJournal, dropPart, type RecordedPart } from '../save/part-file.ts';
import { refugeOf } from '../save/rescue.ts';
import { savedOutputs } from '../save/saved.ts';
import { sidecarOfJob } from '../save/sidecar.ts';
import { takeUpPart } from '../save/take-up-part.ts';
import type { Followed, JobDeps } from '../watch/follow.ts';
import { imageJournal, imagePath, type Published, publishImage } from './publish-image.ts';
import { downloadImages } from './save-images.ts';

/** True if a sync still tries the links of an image job: they may live longer than the documented hour. */
const isTried = (job: Job, nowMs: number): boolean =>
  job.serverDateMs !== undefined && gatewayNowMs(job, nowMs) < job.serverDateMs + 24 * 3_600_000;

/** True if an image job still needs something: an outcome, a part file saved or removed, or a link fetched. */
export function isOpenImageJob(job: Job, nowMs: number): boolean {
  if (job.state === 'intent' || job.state === 'sent' || Object.keys(job.parts).length > 0) return true;
  if (rescuedFiles(job).length > 0) return true;
  return followsLinks(job) && isTried(job, nowMs) && unsavedLinks(job).length > 0;
}

/**
 * Does all that can be done for an image job now. Complete images get their names, whatever the request's outcome: they
 * came once and were paid for. Incomplete parts go. A request whose process died before recording the answer becomes
 * `unknown`: the gateway offers no look-up. Linked images are downloaded while their links live. Undefined if another
 * process holds the job. Throws only for an interrupt; other failures are in `error`.
 */
export async function syncImageJob(
  { key, save: { force } }: Pick<Job, 'key' | 'save'>,
  deps: Omit<JobDeps, 'client'>,
): Promise<Followed | undefined> {
  const { ledger, signal, warn } = deps;
  const hold = await ledger.hold(key);
  if (!hold) return undefined;
  try {
    if (!hold.job) return undefined;
    // Use the current job: its process may have progressed since the job was listed.
    const job = { ...hold.job, save: { ...hold.job.save, force } };
    const journal = imageJournal(key, ledger, warn, job);
    const { files, error } = await settleParts(job, journal, deps);
    const errors: unknown[] = error === undefined ? [] : [error];
    let { state } = job;
    if (state === 'intent') {
      const message = 'gw ended before the request was sent';
      ledger.append(key, { event: 'refused', kind: 'interrupted', message });
      state = 'not_sent';
    } else if (state === 'sent') {
      const message = `gw ended before it had the whole answer; ${sayHowMany(files.length)}`;
      ledger.append(key, { event: 'unknown', message });
      state = 'unknown';
    } else if (followsLinks(job)) {
      const where = { names: namingOf(job), journal, plan: job.save, sidecar: sidecarFor(job) };
      const { missing } = await savedOutputs(job, imageFamily, signal);
      const links = linksOf(job).filter(
        ({ role }) => missing.some((each) => each.role === role) && !files.some((file) => file.role === role),
      );
      const downloaded = await downloadImages(links, where, deps);
      files.push(...downloaded.files);
      const tried = `gw jobs download ${key} tries its link again, which is older than a day`;
      const old = { hint: `${tried}; or pay for a new one`, anew: `gw again ${key}` };
      const facts = isTried(job, deps.clock.now()) ? {} : old;
      errors.push(...downloaded.failures.map(({ error }) => error.told(facts)));
    }
    const moved = await bringImages(job, rescuedFiles(job), job.save, deps);
    files.push(...moved.files);
    errors.push(...moved.failures.map((failure) => failure.error));
    const [wrong] = errors;
    const status = state === 'succeeded' || state === 'failed' ? (job.status ?? state) : state;
    const record = printableRecord(job) ?? null;
    return { status, record, files, ...(wrong !== undefined && { error: wrong }) };
  } catch (error) {
    signal.throwIfAborted();
    return { status: '', record: null, files: [], error };
  } finally {
    hold.release();
  }
}

/** The rescued files of a job that still exist. */
export const rescuedFiles = (job: Job): SavedFile[] =>
  job.files.filter(({ rescued, path }) => rescued && fs.existsSync(path));

/** Puts a held job's images on disk where a plan wants them: rescued ones are moved, others copied. */
function bringImages(
  job: Job,
  saved: readonly SavedFile[],
  plan: SavePlan,
  deps: Omit<JobDeps, 'client'>,
): ReturnType<typeof downloadImages> {
  const journal = imageJournal(job.key, deps.ledger, deps.warn, job);
  const links = namesOutputs(job) ? imageFamily.readTask(job.record, job.key).outputs : [];
  const outputs = saved.map(
    ({ role }) => links.find((link) => link.role === role) ?? { role, type: 'image' as const, url: '' },
  );
  return downloadImages(
    outputs,
    { names: namingOf(job), journal, plan, sidecar: sidecarFor(job, plan) },
    deps,
  );
}

/**
 * Copies the images of a job that are on disk to another place, and keeps both paths. Undefined if another process
 * holds the job. Throws only for an interrupt; other failures are in `error`.
 */
export async function copyImages(
  { key }: Pick<Job, 'key'>,
  plan: SavePlan,
  deps: Omit<JobDeps, 'client'>,
): Promise<Followed | undefined> {
  const hold = await deps.ledger.hold(key);
  if (!hold) return undefined;
  try {
    const { job } = hold;
    if (!job) return undefined;
    const { files: onDisk } = await savedOutputs(job, imageFamily, deps.signal);
    const { files, failures } = await bringImages(job, onDisk, plan, deps);
    const [failure] = failures;
    const status = job.status ?? job.state;
    return { status, record: printableRecord(job) ?? null, files, ...(failure && { error: failure.error }) };
  } finally {
    hold.release();
  }
}

type SettleDeps = Pick<JobDeps, 'signal' | 'warn' | 'claims' | 'ledger'>;

/** Gives complete parts their names and removes the others, except those of downloads, which are resumed. */
async function settleParts(job: Job, journal: DownloadJournal, deps: SettleDeps) {
  const files: SavedFile[] = [];
  const saved = new Set(job.files.map(({ role }) => role));
  let error: unknown;
  const isFetched = followsLinks(job) && job.downloads > 0;
  const fetched = new Set(isFetched ? unsavedLinks(job).map(({ role }) => role) : []);
  const parts = Object.entries(job.parts).filter(([role]) => !fetched.has(role));
  const kept = new Set<string>();
  for (const [role, recorded] of parts.filter(([, { totalBytes }]) => totalBytes !== undefined)) {
    try {
      const file = saved.has(role) ? undefined : await publishPartOf(job, role, recorded, journal, deps);
      if (file) files.push(file.file);
      error ??= file?.error;
      if (!file && dropPart(recorded.path, deps.warn)) journal.part(role, undefined);
    } catch (failure) {
      deps.signal.throwIfAborted();
      error ??= failure;
      kept.add(recorded.path);
    }
  }
  for (const [role, { path: part }] of parts.filter(([, { totalBytes }]) => totalBytes === undefined)) {
    // The same part is briefly recorded under two roles, until it is known which image it is.
    if (kept.has(part) || dropPart(part, deps.warn)) journal.part(role, undefined);
  }
  return { files, error };
}

async function publishPartOf(
  job: Job,
  role: string,
  recorded: RecordedPart,
  journal: DownloadJournal,
  { signal, warn, claims, ledger }: SettleDeps,
): Promise<Published | undefined> {
  // It was recorded as complete only after its bytes were synced, so a reboot since then does not matter.
  const anyTime = { bootedAtMs: 0, nowMs: Number.POSITIVE_INFINITY };
  const names = namingOf(job);
  const index = imageIndex(role);
  const refuge = refugeOf(ledger);
  const dirs = [path.dirname(recorded.path), imagePath(job.save, names, index).dir, refuge];
  const part = await takeUpPart(recorded, { dirs, ...anyTime, signal });
  if (!part?.isComplete) {
    part?.close();
    return undefined;
  }
  const sidecar = sidecarFor(job);
  return publishImage({ part, index, plan: job.save, names, journal, sidecar, warn, claims, refuge });
}

const sidecarFor = (job: Job, plan?: SavePlan) => sidecarOfJob(job, imageFamily, plan);

const followsLinks = (job: Job): boolean => namesOutputs(job) && job.save.download;

const linksOf = (job: Job) => imageFamily.readTask(job.record, job.key).outputs;

function unsavedLinks(job: Job) {
  const saved = new Set(job.files.filter(({ cut }) => !cut).map(({ role }) => role));
  return linksOf(job).filter(({ role }) => !saved.has(role));
}

const sayHowMany = (files: number): string =>
  files === 0
    ? 'images may have been made'
    : `${files === 1 ? 'the image' : `the ${files} images`} that had come whole ${files === 1 ? 'is' : 'are'} saved`;
