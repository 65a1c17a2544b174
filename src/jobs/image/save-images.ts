import { imageFamily, imageIndex, imageRole } from '../../gateway/image/job.ts';
import type { TaskOutput } from '../../gateway/task.ts';
import type { SavedFile } from '../../ledger/event.ts';
import { type SaveInput, saveOutputs } from '../save/save-outputs.ts';
import { sidecarOf } from '../save/sidecar.ts';
import type { Answer } from './answered.ts';
import type { ImageDeps } from './image-request.ts';
import { publishImage } from './publish-image.ts';
import type { PlacedImage } from './read-images.ts';
import { savePartials } from './save-partials.ts';
import { detoured, emptyOnes, lost } from './unsaved-images.ts';

export interface SavedImages {
  readonly files: readonly SavedFile[];
  readonly partials: readonly string[];
  /** Of kind `download`, or what ended the run: the first thing that went wrong. */
  readonly error?: unknown;
}

/**
 * Brings home what a reply brought: images that came with it get their names, those that came as a URL are downloaded.
 * One that fails does not stop the others. Without a record nothing is downloaded: the reply broke off.
 */
export async function saveImages(answer: Answer, record: unknown, deps: ImageDeps): Promise<SavedImages> {
  const { names, journal, reader, request } = answer;
  if (request.toStdout) {
    const { writeImage } = await import('./write-image.ts');
    return writeImage(answer, record, request.toStdout, deps);
  }
  const files: SavedFile[] = [];
  const errors: unknown[] = [];
  const sorted = [...reader.reading.images].sort((a, b) => a.index - b.index);
  for (const placed of sorted) {
    const { file, error } = await saveOne(placed, answer, deps, record);
    if (file) files.push(file);
    if (error !== undefined) errors.push(error);
  }
  const partials = await savePartials(files, answer, deps);
  if (record !== undefined) {
    errors.push(...emptyOnes(record, answer));
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
  return { files: inOrder(files), partials, ...(error !== undefined && { error }) };
}

/** Gives one image that came with the reply its name. */
export async function saveOne(
  { index, image }: PlacedImage,
  { key, names, journal, request }: Answer,
  { warn }: Pick<ImageDeps, 'warn'>,
  record?: unknown,
): Promise<{ readonly file?: SavedFile; readonly error?: unknown }> {
  const { part } = image;
  if (!part) return { error: lost(index, image, key) };
  const plan = request.intent.save;
  try {
    const sidecar = sidecarOf({ ...request.intent, id: key, createdAtMs: names.atMs }, viewOf(record, key));
    const { file, unrecorded } = await publishImage({ part, index, plan, names, journal, sidecar, warn });
    const error = image.detour === undefined ? unrecorded : detoured(file.path, image.detour);
    return { file, ...(error && { error }) };
  } catch (error) {
    return { error };
  }
}

const viewOf = (record: unknown, key: string) =>
  record === undefined ? undefined : imageFamily.readTask(record, key);

/** The images of a reply that it holds links to. */
export function linksOf({ key, reader }: Answer, record: unknown): readonly TaskOutput[] {
  const done = new Set(reader.reading.images.map(({ index }) => imageRole(index)));
  return imageFamily.readTask(record, key).outputs.filter(({ role }) => !done.has(role));
}

const inOrder = (files: readonly SavedFile[]): SavedFile[] =>
  [...files].sort((a, b) => imageIndex(a.role) - imageIndex(b.role));

/** Downloads images that came as URLs, as outputs of any family are. Throws the signal's reason. */
export function downloadImages(
  outputs: readonly TaskOutput[],
  where: Pick<SaveInput, 'names' | 'journal' | 'plan' | 'sidecar'>,
  deps: Omit<ImageDeps, 'client'>,
): ReturnType<typeof saveOutputs> {
  return saveOutputs({
    outputs,
    ...where,
    maxDownloads: imageFamily.maxDownloads,
    // The gateway keeps no record of an image that could be asked for another link.
    refreshLink: async () => undefined,
    transport: deps.transport,
    silenceMs: deps.silenceMs,
    clock: deps.clock,
    random: deps.random,
    signal: deps.signal,
    onProgress: (update) => {
      deps.progress.download(update);
      deps.events?.download(where.names.id, update);
    },
    onWarning: deps.warn,
  });
}
