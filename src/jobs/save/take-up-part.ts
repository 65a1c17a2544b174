import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { quietly } from '../../host.ts';
import { besideOf, besidePart } from './output-path.ts';
import {
  hashFile,
  isOwnFile,
  isPartIn,
  PartFile,
  type PartPlace,
  type RecordedPart,
  removePart,
} from './part-file.ts';

/** Opens a part of an earlier process like `PartFile.reopen`, even if that process was giving it its final name. */
export async function takeUpPart(recorded: RecordedPart, where: PartPlace): Promise<PartFile | undefined> {
  await takeBack(recorded, where);
  return PartFile.reopen(recorded, where);
}

/**
 * Undoes the work of a process that ended while it gave its complete part a name, so that the part is published from
 * the start. A file under that name is gw's own only if its bytes show it, because it could be the user's: it must be a
 * reserved file, the beginning of a copy, or the part itself. Throws the signal's reason.
 */
async function takeBack(
  { path: part, totalBytes, sha256, to }: RecordedPart,
  where: PartPlace,
): Promise<void> {
  const { signal, dirs } = where;
  if (to !== undefined) for (const name of [to, besideOf(to)]) clearReserved(name);
  if (!isPartIn(part, where)) return;
  try {
    for (const dir of dirs) fs.rmSync(path.join(dir, besidePart(path.basename(part))), { force: true });
    if (to === undefined) return;
    const copy = path.join(path.dirname(to), path.basename(part));
    if (copy !== part) removePart(copy);
    const left = openToRead(to);
    if (left === undefined) return;
    try {
      const { size } = left.stats;
      if (left.stats.nlink > 1 || size > (totalBytes ?? 0)) return;
      const there = openToRead(part);
      if (there) {
        try {
          const isBeginning =
            (await digestOf(left.fd, size, signal)) === (await digestOf(there.fd, size, signal));
          if (isBeginning) fs.unlinkSync(to);
        } finally {
          fs.closeSync(there.fd);
        }
      } else if (size === totalBytes && (await digestOf(left.fd, size, signal)) === sha256) {
        fs.renameSync(to, part);
      }
    } finally {
      fs.closeSync(left.fd);
    }
  } catch {
    signal.throwIfAborted();
    // The file stays there, and the part is published once more.
  }
}

/** Removes a file that only reserved a name: an empty one, or a sidecar's first byte. A part's is compared later. */
function clearReserved(name: string): void {
  // If it cannot be removed, the output gets the next name.
  quietly(() => {
    const there = fs.lstatSync(name, { throwIfNoEntry: false });
    if (!there?.isFile() || there.size > 1) return;
    if (there.size === 0 || fs.readFileSync(name, 'latin1') === '{') fs.unlinkSync(name);
  });
}

function openToRead(file: string): { readonly fd: number; readonly stats: fs.Stats } | undefined {
  const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = fs.constants;
  const fd = quietly(() => fs.openSync(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
  if (fd === undefined) return undefined;
  const stats = fs.fstatSync(fd);
  if (isOwnFile(stats)) return { fd, stats };
  fs.closeSync(fd);
  return undefined;
}

async function digestOf(fd: number, bytes: number, signal: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  await hashFile(fd, bytes, hash, signal);
  return hash.digest('hex');
}
