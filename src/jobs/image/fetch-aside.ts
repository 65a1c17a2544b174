import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { ensureDirectory } from '../../disk/durable-directory.ts';
import { GwError } from '../../errors.ts';
import { imageIndex } from '../../gateway/image/job.ts';
import type { TaskOutput } from '../../gateway/task.ts';
import type { SavedFile } from '../../ledger/event.ts';
import { PartFile } from '../save/part-file.ts';
import { escapePattern } from '../save/target-pattern.ts';
import type { Answer } from './answered.ts';
import type { ImageDeps } from './image-request.ts';
import { imagePath, publishImage } from './publish-image.ts';
import { downloadImages } from './save-images.ts';

/**
 * Downloads an image to a temporary directory, unrecorded; `remove` ends that. Throws GwError `download`, or the signal's
 * reason; then nothing stays.
 */
export async function fetchAside(
  link: TaskOutput,
  { names, journal }: Answer,
  deps: ImageDeps,
): Promise<{ readonly file: SavedFile; remove(): void }> {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'gw-image-'));
  const remove = () => fs.rmSync(dir, { recursive: true, force: true });
  const plan = { target: `${escapePattern(dir)}${path.sep}`, force: false, download: true };
  try {
    const where = { names, journal: { ...journal, saved: () => {} }, plan };
    const { files, failures } = await downloadImages([link], where, deps);
    const [file] = files;
    if (file) return { file, remove };
    throw failures[0]?.error ?? new GwError('download', `the ${link.role} of ${names.id} was not saved`);
  } catch (error) {
    remove();
    journal.part(link.role, undefined);
    throw error;
  }
}

/** Brings a downloaded image to where it would have been saved, recorded; where that fails it stays where it is. */
export async function keepFile(
  file: SavedFile,
  { names, journal, request }: Answer,
  { warn }: ImageDeps,
): Promise<SavedFile> {
  const plan = request.intent.save;
  const index = imageIndex(file.role);
  const { dir } = imagePath(plan, names, index);
  try {
    ensureDirectory(dir, 0o777);
    const part = PartFile.create(dir, {}, (facts) => journal.part(file.role, facts));
    for await (const piece of fs.createReadStream(file.path)) part.append(piece);
    fs.fdatasyncSync(part.fd);
    part.totalBytes = part.bytes;
    journal.part(file.role, { path: part.path, totalBytes: part.bytes });
    return (await publishImage({ part, index, plan, names, journal, warn })).file;
  } catch {
    return file;
  }
}
