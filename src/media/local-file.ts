import { constants } from 'node:fs';
import * as fs from 'node:fs/promises';
import { oddKind } from '../disk/small-file.ts';
import { fileFault } from '../disk/typed-input.ts';
import { type GwError, usage } from '../errors.ts';

/** Bytes that can be read in ranges: a file, or a decoded data URI. */
export interface ByteSource {
  readonly bytes: number;
  /** What another thread reads from: an open file's descriptor, or the bytes themselves. */
  readonly content: number | Uint8Array;
  /** The bytes from `start` to before `end`; fewer if the source ends earlier. */
  read(start: number, end: number): Promise<Uint8Array>;
}

/** An open media file, read at the size that it had when it was opened. */
interface LocalFile extends ByteSource {
  /** The whole content. Throws `usage` if the file has changed. */
  readAll(): Promise<Uint8Array>;
  /** Throws `usage` if size or modification time differ from when the file was opened. */
  assertUnchanged(): Promise<void>;
  close(): Promise<void>;
}

/**
 * The size of a media file in bytes, without opening it, because opening a pipe or a device can hang. Throws `usage`
 * with the flag, the path and the reason if it is missing, unreadable, empty or not a file.
 */
export async function mediaFileBytes(path: string, named: string, hintIfMissing?: string): Promise<number> {
  const stats = await fs.stat(path).catch((error: unknown) => {
    throw fileFault(error, named, hintIfMissing);
  });
  const odd = oddKind(stats);
  if (odd) throw usage(`${named}: is ${odd}, not a media file`, hintFor(odd));
  if (stats.size === 0) throw usage(`${named}: the file is empty`);
  return stats.size;
}

function hintFor(odd: string): string {
  return odd === 'a directory' ? 'name the file in it' : 'save the data to a file and name that';
}

/** Opens a media file for reading. Throws as {@link mediaFileBytes}. */
export async function openMediaFile(path: string, named: string): Promise<LocalFile> {
  await mediaFileBytes(path, named);
  // With O_NONBLOCK, open returns at once even if a pipe has replaced the file. Windows does not have this flag.
  const flags = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);
  const handle = await fs.open(path, flags).catch((error: unknown) => {
    throw fileFault(error, named);
  });
  try {
    const opened = await handle.stat({ bigint: true });
    if (!opened.isFile()) throw changed(named);
    return localFile(handle, opened, named);
  } catch (error) {
    await handle.close();
    throw error;
  }
}

type BigStats = { readonly size: bigint; readonly mtimeNs: bigint };

function localFile(handle: fs.FileHandle, opened: BigStats, named: string): LocalFile {
  const bytes = Number(opened.size);
  const read = (start: number, end: number) => readRange(handle, start, end, named);
  const assertUnchanged = async () => {
    const now = await handle.stat({ bigint: true });
    if (now.size !== opened.size || now.mtimeNs !== opened.mtimeNs) throw changed(named);
  };
  const readAll = async () => {
    const content = await read(0, bytes);
    await assertUnchanged();
    if (content.length !== bytes) throw changed(named);
    return content;
  };
  return { bytes, content: handle.fd, read, readAll, assertUnchanged, close: () => handle.close() };
}

async function readRange(
  handle: fs.FileHandle,
  start: number,
  end: number,
  named: string,
): Promise<Uint8Array> {
  const buffer = new Uint8Array(end - start);
  let filled = 0;
  while (filled < buffer.length) {
    const { bytesRead } = await handle
      .read(buffer, filled, buffer.length - filled, start + filled)
      .catch((error: unknown) => {
        throw fileFault(error, named);
      });
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
}

function changed(named: string): GwError {
  return usage(`${named}: the file changed while it was read`, 'run it again once the file is complete');
}
