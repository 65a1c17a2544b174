import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { ClosedPipe, GwError } from '../../errors.ts';
import { imageFamily } from '../../gateway/image-job.ts';
import { escapePattern } from '../download/target-pattern.ts';
import type { Answer } from './answered.ts';
import type { ImageDeps } from './image-request.ts';
import { publishImage } from './publish-image.ts';
import { downloadImages, type SavedImages } from './save-images.ts';

const PIECE_BYTES = 1024 * 1024;

/**
 * Writes the one image of a reply to stdout (`-o -`), from the file that it has come into. Where stdout does not take it,
 * it is kept under the name it would have had without `-o -`: it has been paid for. A closed pipe wants no more of it.
 */
export async function writeImage(
  answer: Answer,
  record: unknown,
  write: (bytes: Uint8Array) => Promise<void>,
  deps: ImageDeps,
): Promise<SavedImages> {
  const { key, names, journal, reader, request } = answer;
  const [first, ...more] = [...reader.reading.images].sort((a, b) => a.index - b.index);
  for (const image of [...more.map((each) => each.image), ...reader.reading.partials]) image.discard();
  if (!first) return record === undefined ? nothing : writeDownloaded(answer, record, write, deps);
  const { part, problem } = first.image;
  if (!part)
    return { ...nothing, error: new GwError('download', `the image of ${key} was not written: ${problem}`) };
  try {
    for (let done = 0; done < part.bytes; done += PIECE_BYTES) await write(part.read(done, PIECE_BYTES));
    first.image.discard();
    return nothing;
  } catch (error) {
    if (error instanceof ClosedPipe) {
      first.image.discard();
      return { ...nothing, error };
    }
    const plan = request.intent.save;
    const file = await publishImage({ part, index: 0, plan, names, journal });
    deps.warn(`stdout did not take the image; it is saved as ${file.path}`);
    return { files: [file], partials: [], error };
  }
}

const nothing: SavedImages = { files: [], partials: [] };

/** An image that came as a URL: downloaded to a place of its own, then written. */
async function writeDownloaded(
  answer: Answer,
  record: unknown,
  write: (bytes: Uint8Array) => Promise<void>,
  deps: ImageDeps,
): Promise<SavedImages> {
  const outputs = imageFamily.readTask(record, answer.key).outputs.slice(0, 1);
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'gw-image-'));
  const plan = { target: `${escapePattern(dir)}${path.sep}`, force: false, download: true };
  const journal = { ...answer.journal, saved: () => {} };
  const { files, failures } = await downloadImages(outputs, { names: answer.names, journal, plan }, deps);
  const [file] = files;
  if (!file) {
    fs.rmSync(dir, { recursive: true, force: true });
    return { ...nothing, error: failures[0]?.error };
  }
  try {
    for await (const piece of fs.createReadStream(file.path, { highWaterMark: PIECE_BYTES }))
      await write(piece);
  } catch (error) {
    if (!(error instanceof ClosedPipe)) {
      deps.warn(`stdout did not take the image; it is saved as ${file.path}`);
      return { files: [file], partials: [], error };
    }
    fs.rmSync(dir, { recursive: true, force: true });
    return { ...nothing, error };
  }
  fs.rmSync(dir, { recursive: true, force: true });
  return nothing;
}
