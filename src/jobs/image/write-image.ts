import * as fs from 'node:fs';
import * as path from 'node:path';
import { ClosedPipe } from '../../errors.ts';
import { imageIndex } from '../../gateway/image/job.ts';
import type { TaskOutput } from '../../gateway/task.ts';
import type { SavedFile } from '../../ledger/event.ts';
import { escapePattern } from '../save/output-path.ts';
import { refugeOf } from '../save/rescue.ts';
import type { SaveInput } from '../save/save-outputs.ts';
import type { JobDeps } from '../watch/follow.ts';
import type { Answer } from './create-images.ts';
import type { IncomingImage } from './incoming-image.ts';
import type { PlacedImage } from './read-images.ts';
import {
  downloadImages,
  emptyOnes,
  linksOf,
  lost,
  planToSave,
  type SavedImages,
  saveOne,
} from './save-images.ts';

const PIECE_BYTES = 1024 * 1024;

type Write = (bytes: Uint8Array) => Promise<void>;
interface Delivered {
  readonly files: readonly SavedFile[];
  readonly error?: unknown;
  /** True if it is still to be fetched. */
  readonly isLeft?: boolean;
}

/**
 * Writes the first image of a reply to stdout (`-o -`). If stdout does not take it, it is saved under the name that it
 * would have without `-o -`, as is every further image: they were paid for. A link that could not be fetched is left to
 * `gw jobs sync`, with that name.
 */
export async function writeImage(
  answer: Answer,
  record: unknown,
  write: Write,
  deps: JobDeps,
): Promise<SavedImages> {
  const { key, reader } = answer;
  for (const { image } of reader.partials) image.discard();
  const { images } = reader;
  const links = record === undefined ? [] : linksOf(answer, record);
  const whole = images.filter(({ image }) => image.part !== undefined);
  const [first, ...more] = [
    ...whole.map((placed) => ({ index: placed.index, placed, link: undefined })),
    ...links.map((link) => ({ index: imageIndex(link.role), placed: undefined, link })),
  ].sort((a, b) => a.index - b.index);
  const errors: unknown[] = [
    ...images.filter(({ image }) => !image.part).map(({ index, image }) => lost(index, image, key)),
    ...(record === undefined ? [] : emptyOnes(record, answer)),
  ];
  const files: SavedFile[] = [];
  let isLeft = false;
  const take = ({ files: saved, error, ...one }: Delivered) => {
    files.push(...saved);
    isLeft ||= one.isLeft === true;
    if (error !== undefined) errors.unshift(error);
  };
  if (first) {
    const { placed, link } = first;
    take(placed ? await writeOne(placed, answer, write, deps) : await writeLink(link, answer, write, deps));
  }
  for (const { placed, link } of more) {
    const saved = placed ? await saveCome(placed, answer, deps) : await fetchLink(link, answer, deps);
    for (const { path } of saved.files)
      deps.warn(`stdout takes one image; a further one is saved as ${path}`);
    take(saved);
  }
  if (links.length > 0 && !isLeft) planToSave(answer, false, deps);
  const [error] = errors;
  return { files, partials: [], ...(error !== undefined && { error }) };
}

async function writeOne(
  placed: PlacedImage,
  answer: Answer,
  write: Write,
  deps: JobDeps,
): Promise<Delivered> {
  const { image } = placed;
  try {
    await writePart(image, write);
    image.discard();
    return { files: [] };
  } catch (error) {
    const kept = await saveCome(placed, answer, deps);
    for (const { path } of kept.files) deps.warn(notTaken(path));
    return { files: kept.files, error: worse(error, kept.error) };
  }
}

const notTaken = (file: string): string => `stdout did not take the image; it is saved as ${file}`;

/** A closed pipe is not a failure if the image is saved. */
const worse = (ofStdout: unknown, ofDisk: unknown): unknown =>
  ofStdout instanceof ClosedPipe ? (ofDisk ?? ofStdout) : ofStdout;

async function writePart({ part }: IncomingImage, write: Write): Promise<void> {
  if (!part) return;
  for (let done = 0; done < part.bytes; done += PIECE_BYTES) await write(part.read(done, PIECE_BYTES));
}

async function saveCome(placed: PlacedImage, answer: Answer, deps: JobDeps): Promise<Delivered> {
  const { file, error } = await saveOne(placed, answer, deps);
  return { files: file ? [file] : [], error };
}

/** Downloads a linked image to the refuge, unrecorded, and writes it; if that fails, saves it to its usual target. */
async function writeLink(link: TaskOutput, answer: Answer, write: Write, deps: JobDeps): Promise<Delivered> {
  const { journal } = answer;
  const aside = await fetchLink(link, answer, deps, {
    journal: { ...journal, saved: () => {} },
    plan: { target: `${escapePattern(refugeOf(deps.ledger))}${path.sep}`, force: false, download: true },
  });
  const [file] = aside.files;
  if (!file) {
    journal.part(link.role, undefined);
    return { ...aside, isLeft: true };
  }
  try {
    for await (const piece of fs.createReadStream(file.path, { highWaterMark: PIECE_BYTES }))
      await write(piece);
    fs.rmSync(file.path, { force: true });
    return { files: [] };
  } catch (error) {
    const rescued = { ...file, rescued: true } as const;
    const moved = await fetchLink(link, answer, deps, { journal: { ...journal, files: [rescued] } });
    const [kept = rescued] = moved.files;
    let unkept = moved.error;
    try {
      if (kept.rescued) journal.saved(rescued);
    } catch (failure) {
      unkept = failure;
    }
    deps.warn(notTaken(kept.path));
    return { files: [kept], error: worse(error, unkept) };
  }
}

/** Downloads a linked image to its target, or to another place if one is given. */
async function fetchLink(
  link: TaskOutput,
  { names, journal, request }: Answer,
  deps: JobDeps,
  other: Partial<Pick<SaveInput, 'journal' | 'plan'>> = {},
): Promise<Delivered> {
  try {
    const where = { names, journal, plan: { ...request.intent.save, download: true }, ...other };
    const { files, failures } = await downloadImages([link], where, deps);
    return { files, error: failures[0]?.error, isLeft: failures.length > 0 };
  } catch (error) {
    return { files: [], error, isLeft: true };
  }
}
