import * as path from 'node:path';
import { GwError } from '../../errors.ts';
import { imageFamily, imageIndex, imageRole } from '../../gateway/image/job.ts';
import { readImages } from '../../gateway/image/reply.ts';
import type { TaskOutput } from '../../gateway/task.ts';
import type { SavedFile } from '../../ledger/event.ts';
import { withEnd } from '../save/output-path.ts';
import { refugeOf, rescuedError } from '../save/rescue.ts';
import { type SaveFailure, type SaveInput, saveOutputs, transferOf } from '../save/save-outputs.ts';
import { sidecarOf } from '../save/sidecar.ts';
import type { JobDeps } from '../watch/follow.ts';
import type { Answer } from './create-images.ts';
import type { IncomingImage } from './incoming-image.ts';
import { imagePath, publishImage, publishPart, unrecordedImage } from './publish-image.ts';
import type { PlacedImage } from './read-images.ts';

export interface SavedImages {
  readonly files: readonly SavedFile[];
  readonly partials: readonly string[];
  /** The first failure: an error of kind `download`, or what ended the run. */
  readonly error?: unknown;
}

/**
 * Saves the images of a reply: those that came with it get their final names, those that came as a URL are downloaded.
 * A failure does not stop the others. Without a record nothing is downloaded: the reply broke off before any link.
 */
export async function saveImages(answer: Answer, record: unknown, deps: JobDeps): Promise<SavedImages> {
  const { names, journal, reader, request } = answer;
  if (request.toStdout) {
    const { writeImage } = await import('./write-image.ts');
    return writeImage(answer, record, request.toStdout, deps);
  }
  const files: SavedFile[] = [];
  const errors: unknown[] = [];
  const sorted = [...reader.images].sort((a, b) => a.index - b.index);
  for (const placed of sorted) {
    const { file, error } = await saveOne(placed, answer, deps, record);
    if (file) files.push(file);
    if (error !== undefined) errors.push(error);
  }
  const partials = await savePartials(files, answer, deps);
  if (record !== undefined) {
    for (const empty of emptyOnes(record, answer)) errors.push(empty);
    try {
      const plan = request.intent.save;
      const job = { ...request.intent, id: names.id, createdAtMs: names.atMs };
      const sidecar = sidecarOf(job, viewOf(record, names.id));
      const where = { names, journal, plan, sidecar };
      const downloaded = await downloadImages(linksOf(answer, record), where, deps);
      files.push(...downloaded.files);
      errors.push(...downloaded.failures.map(({ error }) => error));
    } catch (error) {
      errors.push(error);
    }
  }
  const [error] = errors;
  files.sort((a, b) => imageIndex(a.role) - imageIndex(b.role));
  return { files, partials, ...(error !== undefined && { error }) };
}

/** Gives one image that came with the reply its final name. */
export async function saveOne(
  { index, image }: PlacedImage,
  { key, names, journal, request }: Answer,
  { warn, ledger, claims }: Pick<JobDeps, 'warn' | 'ledger' | 'claims'>,
  record?: unknown,
): Promise<{ readonly file?: SavedFile; readonly error?: unknown }> {
  const { part } = image;
  if (!part) return { error: lost(index, image, key) };
  const plan = request.intent.save;
  try {
    const sidecar = sidecarOf({ ...request.intent, id: key, createdAtMs: names.atMs }, viewOf(record, key));
    const where = { refuge: refugeOf(ledger), fault: image.fault, claims };
    return await publishImage({ part, index, plan, names, journal, sidecar, warn, ...where });
  } catch (error) {
    return { error };
  }
}

const viewOf = (record: unknown, key: string) =>
  record === undefined ? undefined : imageFamily.readTask(record, key);

/** The images of a reply that came as links. */
export function linksOf({ key, reader }: Answer, record: unknown): readonly TaskOutput[] {
  const done = new Set(reader.images.map(({ index }) => imageRole(index)));
  return imageFamily.readTask(record, key).outputs.filter(({ role }) => !done.has(role));
}

/** Records whether a job's images are still to be saved: if so, a sync follows their links while they live. */
export function planToSave(
  { key, request }: Answer,
  download: boolean,
  { ledger, warn }: Pick<JobDeps, 'ledger' | 'warn'>,
): void {
  try {
    ledger.append(key, { event: 'plan', save: { ...request.intent.save, download } });
  } catch (error) {
    warn(error instanceof GwError ? error.message : `the ledger cannot be written; see gw jobs show ${key}`);
  }
}

/**
 * Downloads images that came as URLs, like outputs of any family. A saved image that the ledger could not record is in
 * both `files` and `failures`. Throws the signal's reason.
 */
export async function downloadImages(
  outputs: readonly TaskOutput[],
  where: Pick<SaveInput, 'names' | 'journal' | 'plan' | 'sidecar'>,
  deps: Omit<JobDeps, 'client'>,
): ReturnType<typeof saveOutputs> {
  const unrecorded: SaveFailure[] = [];
  const saved = (file: SavedFile) => {
    try {
      where.journal.saved(file);
    } catch (error) {
      unrecorded.push({ role: file.role, error: unrecordedImage(file.path, error) });
    }
  };
  const { files, failures } = await saveOutputs({
    outputs,
    ...where,
    journal: { ...where.journal, saved },
    maxDownloads: imageFamily.maxDownloads,
    // The gateway keeps no record of an image, so there is no new link.
    refreshLink: async () => undefined,
    ...transferOf(deps, where.names.id),
  });
  return { files, failures: [...failures, ...unrecorded] };
}

/**
 * Saves partial images if the user asked for it, each beside its final image: `name.partial-1.png`. Returns their
 * paths. A failure is only a warning.
 */
async function savePartials(
  files: readonly SavedFile[],
  { names, journal, reader, request }: Answer,
  { warn, ledger, claims }: Pick<JobDeps, 'warn' | 'ledger' | 'claims'>,
): Promise<string[]> {
  const paths: string[] = [];
  const counts = new Map<number, number>();
  for (const { index, image } of reader.partials) {
    const { part } = image;
    if (!request.keepPartials || !part) {
      image.discard();
      continue;
    }
    const number = (counts.get(index) ?? 0) + 1;
    counts.set(index, number);
    const fileType = part.fileType();
    const extension = fileType?.extension ?? 'bin';
    const final = files.find(({ role }) => role === imageRole(index))?.path;
    const place = imagePath(request.intent.save, names, index);
    const base = final ?? place.name(extension, 0);
    const stem = path.basename(base, path.extname(base));
    const name = (copy: number) =>
      withEnd(stem, `.partial-${number}${copy === 0 ? '' : `-${copy}`}.${extension}`);
    const { bytes } = part;
    const sha256 = part.sha256();
    const role = index === 0 ? `partial-${number}` : `${imageRole(index)}-partial-${number}`;
    try {
      const mayReplace = (to: string) => claims.mayTake(to, names.id, role);
      const how = { dir: place.dir, name, force: request.intent.save.force, mayReplace };
      const where = { refuge: refugeOf(ledger), fault: image.fault };
      const { path: saved, rescuedFrom } = await publishPart(part, how, where);
      if (rescuedFrom)
        warn(rescuedError(`a partial image of ${names.id}`, names.id, saved, rescuedFrom).message);
      paths.push(saved);
      journal.saved({ role, path: saved, bytes, sha256, type: fileType?.mime ?? '' });
    } catch (error) {
      warn(error instanceof Error ? error.message : 'a partial image was not saved');
    }
    image.discard();
  }
  return paths;
}

// The errors, of kind `download`, that say why an image of a reply is not on disk.

/** Errors for images that the reply names without any data. */
export function emptyOnes(record: unknown, { reader, key }: Answer): GwError[] {
  const there = new Set(reader.images.map(({ index }) => index));
  return readImages(record)
    .filter(({ kind, index, isEmpty }) => kind === 'base64' && isEmpty && !there.has(index))
    .map(({ index }) => notSaved(index, key, 'the gateway sent no data for it'));
}

export const lost = (index: number, { problem }: IncomingImage, key: string): GwError =>
  notSaved(index, key, problem ?? 'it did not come whole');

const notSaved = (index: number, key: string, reason: string): GwError =>
  new GwError('download', `the ${imageRole(index)} of ${key} was not saved: ${reason}`, {
    taskId: key,
    hint: 'the gateway sends an image once: what came beside it is saved, and the record is in the ledger; to pay for a new one',
    anew: `gw again ${key}`,
  });
