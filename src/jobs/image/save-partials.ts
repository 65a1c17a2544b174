import * as path from 'node:path';
import { imageRole } from '../../gateway/image/job.ts';
import type { SavedFile } from '../../ledger/event.ts';
import { SNIFF_BYTES, sniff } from '../../media/signatures.ts';
import type { Answer } from './answered.ts';
import type { ImageDeps } from './image-request.ts';
import { imagePath, publishPart } from './publish-image.ts';

/**
 * Keeps unfinished images where that was asked for, each beside the final one that it became: `name.partial-1.png`.
 * Gives back their paths. What cannot be kept is a warning.
 */
export async function savePartials(
  files: readonly SavedFile[],
  { names, journal, reader, request }: Answer,
  { warn }: Pick<ImageDeps, 'warn'>,
): Promise<string[]> {
  const paths: string[] = [];
  const counts = new Map<number, number>();
  for (const { index, image } of reader.reading.partials) {
    const { part } = image;
    if (!request.keepPartials || !part) {
      image.discard();
      continue;
    }
    const number = (counts.get(index) ?? 0) + 1;
    counts.set(index, number);
    const fileType = sniff(part.head(SNIFF_BYTES));
    const extension = fileType?.extension ?? 'bin';
    const final = files.find(({ role }) => role === imageRole(index))?.path;
    const base = final ?? imagePath(request.intent.save, names, index).name(extension, 0);
    const stem = path.basename(base, path.extname(base));
    const name = (copy: number) => `${stem}.partial-${number}${copy === 0 ? '' : `-${copy}`}.${extension}`;
    const { bytes } = part;
    const sha256 = part.sha256();
    const role = index === 0 ? `partial-${number}` : `${imageRole(index)}-partial-${number}`;
    try {
      const saved = await publishPart(part, name, request.intent.save.force);
      paths.push(saved);
      journal.saved({ role, path: saved, bytes, sha256, type: fileType?.mime ?? '' });
    } catch (error) {
      warn(error instanceof Error ? error.message : 'a partial image was not saved');
    }
    image.discard();
  }
  return paths;
}
