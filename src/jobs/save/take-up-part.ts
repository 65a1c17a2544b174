import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { besidePart } from './output-path.ts';
import {
  hashFile,
  isOwnFile,
  isPartIn,
  PartFile,
  type PartPlace,
  type RecordedPart,
  removePart,
} from './part-file.ts';
import { besideOf } from './sidecar.ts';

/** Opens what an earlier process left of a part, as `PartFile.reopen` does, also where that was giving it its name. */
export async function takeUpPart(recorded: RecordedPart, where: PartPlace): Promise<PartFile | undefined> {
  await takeBack(recorded, where);
  return PartFile.reopen(recorded, where);
}

/**
 * Undoes what a process had begun that ended while it gave its whole part a name: the part goes the way of every whole part
 * again. What stands under that name is taken for gw's own only by its bytes, since a file of the user's may stand there by
 * now: what took the name for it, the beginning of a copy, or the part itself. Aborting throws the signal's reason.
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
    // It stays there, and is brought home once more.
  }
}

/** Clears what had only taken a name: nothing, or the first byte of a sidecar. That of a part is known by the part. */
function clearReserved(name: string): void {
  try {
    const there = fs.lstatSync(name, { throwIfNoEntry: false });
    if (!there?.isFile() || there.size > 1) return;
    if (there.size === 0 || fs.readFileSync(name, 'latin1') === '{') fs.unlinkSync(name);
  } catch {
    // The output gets the next name.
  }
}

function openToRead(file: string): { readonly fd: number; readonly stats: fs.Stats } | undefined {
  const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = fs.constants;
  let fd: number;
  try {
    fd = fs.openSync(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch {
    return undefined;
  }
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
