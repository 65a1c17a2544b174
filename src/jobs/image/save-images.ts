import * as path from 'node:path';
import { GwError } from '../../errors.ts';
import { imageFamily, imageRole } from '../../gateway/image-job.ts';
import { readImages } from '../../gateway/image-reply.ts';
import type { TaskOutput } from '../../gateway/task.ts';
import type { SavedFile } from '../../ledger/event.ts';
import { SNIFF_BYTES, sniff } from '../../media/signatures.ts';
import { type SaveInput, saveOutputs } from '../download/save-outputs.ts';
import type { Answer } from './answered.ts';
import type { ImageDeps } from './image-request.ts';
import type { IncomingImage } from './incoming-image.ts';
import { imagePath, publishImage, publishPart } from './publish-image.ts';

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
  const { key, names, journal, reader, request } = answer;
  const { images, partials } = reader.reading;
  if (request.toStdout) {
    const { writeImage } = await import('./write-image.ts');
    return writeImage(answer, record, request.toStdout, deps);
  }
  const plan = request.intent.save;
  const files: SavedFile[] = [];
  const errors: unknown[] = [];
  for (const { index, image } of [...images].sort((a, b) => a.index - b.index)) {
    const { part } = image;
    try {
      if (!part) throw lost(index, image, key);
      files.push(await publishImage({ part, index, plan, names, journal }));
      if (image.detour !== undefined) throw detoured(files.at(-1)?.path ?? '', image.detour);
    } catch (error) {
      errors.push(error);
    }
  }
  const kept = await savePartials(partials, files[0]?.path, answer, deps);
  if (record !== undefined) {
    errors.push(...emptyOnes(record, answer));
    const done = new Set(images.map(({ index }) => imageRole(index)));
    const outputs = imageFamily.readTask(record, key).outputs.filter(({ role }) => !done.has(role));
    try {
      const downloaded = await downloadImages(outputs, { names, journal, plan }, deps);
      files.push(...downloaded.files);
      errors.push(...downloaded.failures.map(({ error }) => error));
    } catch (error) {
      errors.push(error);
    }
  }
  const [error] = errors;
  return { files, partials: kept, ...(error !== undefined && { error }) };
}

/** Downloads images that came as URLs, as outputs of any family are. Throws the signal's reason. */
export function downloadImages(
  outputs: readonly TaskOutput[],
  where: Pick<SaveInput, 'names' | 'journal' | 'plan'>,
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
    onProgress: (update) => deps.progress.download(update),
    onWarning: deps.warn,
  });
}

/** Unfinished images are kept where that was asked for, beside the final one: `name.partial-1.png`. */
async function savePartials(
  partials: readonly IncomingImage[],
  final: string | undefined,
  { names, journal, request }: Answer,
  { warn }: ImageDeps,
): Promise<string[]> {
  const paths: string[] = [];
  for (const [index, image] of partials.entries()) {
    const { part } = image;
    if (!request.keepPartials || !part) {
      image.discard();
      continue;
    }
    const fileType = sniff(part.head(SNIFF_BYTES));
    const extension = fileType?.extension ?? 'bin';
    const base =
      final === undefined
        ? imagePath(request.intent.save, names, 0).name(extension, 0)
        : path.basename(final);
    const stem = path.basename(base, path.extname(base));
    const name = (copy: number) => `${stem}.partial-${index + 1}${copy === 0 ? '' : `-${copy}`}.${extension}`;
    const { bytes } = part;
    const sha256 = part.sha256();
    try {
      const saved = await publishPart(part, name, request.intent.save.force);
      journal.saved({ role: `partial-${index + 1}`, path: saved, bytes, sha256, type: fileType?.mime ?? '' });
      paths.push(saved);
    } catch (error) {
      warn(error instanceof Error ? error.message : 'a partial image was not saved');
    }
    image.discard();
  }
  return paths;
}

/** Images that the reply names and of which it holds not a byte. */
function emptyOnes(record: unknown, { reader, key }: Answer): GwError[] {
  const there = new Set(reader.reading.images.map(({ index }) => index));
  return readImages(record)
    .filter(({ kind, index, isEmpty }) => kind === 'base64' && isEmpty && !there.has(index))
    .map(({ index }) => notSaved(index, key, 'the gateway sent no data for it'));
}

const lost = (index: number, { problem }: IncomingImage, key: string): GwError =>
  notSaved(index, key, problem ?? 'it did not come whole');

const notSaved = (index: number, key: string, reason: string): GwError =>
  new GwError('download', `the ${imageRole(index)} of ${key} was not saved: ${reason}`, {
    taskId: key,
    hint: 'the gateway sends an image once: what came beside it is saved, and the record is in the ledger',
  });

const detoured = (where: string, reason: string): GwError =>
  new GwError('download', `${reason}; the image was saved as ${where} instead`, {
    hint: 'move it from there: that directory is for temporary files',
  });
