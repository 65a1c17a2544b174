import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import type { SavedFile } from '../../ledger/event.ts';
import { SNIFF_BYTES, sniff } from '../../media/signatures.ts';
import type { OutputPath } from './output-path.ts';
import { hashFile } from './part-file.ts';

/**
 * A file that an earlier run saved and that is still there as recorded, by its length and SHA-256, open for reading.
 * The caller closes it. Undefined where it is gone or changed. Aborting throws the signal's reason.
 */
export async function openSaved(saved: SavedFile, signal: AbortSignal): Promise<number | undefined> {
  let fd: number;
  try {
    fd = fs.openSync(saved.path, fs.constants.O_RDONLY | (fs.constants.O_NONBLOCK ?? 0));
  } catch {
    return undefined;
  }
  try {
    const stats = fs.fstatSync(fd);
    if (stats.isFile() && stats.size === saved.bytes) {
      const hash = createHash('sha256');
      await hashFile(fd, saved.bytes, hash, signal);
      if (hash.digest('hex') === saved.sha256) return fd;
    }
  } catch {
    signal.throwIfAborted();
  }
  fs.closeSync(fd);
  return undefined;
}

/** The extension of the file's kind, from its first bytes. */
export function extensionOf(fd: number): string | undefined {
  const head = Buffer.alloc(SNIFF_BYTES);
  return sniff(head.subarray(0, fs.readSync(fd, head, 0, SNIFF_BYTES, 0)))?.extension;
}

/** Whether a saved file lies where an output belongs: its name, or one that `-1`, `-2`, … made of it. */
export function isAtTarget(file: string, place: OutputPath, extension: string): boolean {
  if (path.dirname(file) !== path.resolve(place.dir)) return false;
  const name = path.basename(file);
  const copies = [...name.matchAll(/-(\d{1,4})(?=\.|$)/g)].map((found) => Number(found[1]));
  return [0, ...copies].some((copy) => place.name(extension, copy) === name);
}
