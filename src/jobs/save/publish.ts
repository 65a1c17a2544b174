import * as fs from 'node:fs';
import * as path from 'node:path';
import { promisify } from 'node:util';
import { DiskFault, faultReason, kindOf } from '../../disk/disk-fault.ts';
import { hasNoLinks, renameToFree } from '../../disk/durable-directory.ts';
import { errorCode } from '../../errors.ts';
import type { PartFile } from './part-file.ts';
import { type Beside, besideOf, isReplaceable, replaceBeside, writeBeside } from './sidecar.ts';

/** `-1`, `-2`, … are tried up to here. */
const MAX_COPIES = 9_999;

const fsync = promisify(fs.fsync);

/** The part is no longer there under its name: another process took or removed it. */
export class PartGone extends Error {
  override readonly name = 'PartGone';
}

export interface PublishOptions {
  readonly dir: string;
  /** The name to be tried after `copy` others were taken; 0 is the first. */
  readonly name: (copy: number) => string;
  /** Replace a regular file that stands there. */
  readonly force: boolean;
  /** Permissions of the final file. */
  readonly mode: number;
  /** The text of the file beside it, which takes its name together with it (`--sidecar`). */
  readonly sidecar?: string | undefined;
  readonly warn?: ((text: string) => void) | undefined;
  /** Told of a name before the part is renamed to it: after a kill nothing else tells whose file stands there. */
  readonly onRename?: ((final: string) => void) | undefined;
  /** Makes a second name for a file, failing where one stands; a parameter for file systems that have none. */
  readonly link?: (from: string, to: string) => void;
}

/**
 * Brings a finished part under its final name: fsync, close, `link()` to the first free name (with `force`:
 * `rename()` over a regular file), fsync of the directory. The part's own name stays, except after a rename.
 * Where a kill came between this and the record, the same call finds the name that already is this very file.
 * Returns the final path. Throws DiskFault, or PartGone.
 */
export async function publish(part: PartFile, options: PublishOptions): Promise<string> {
  const identity = await settle(part, options.mode);
  const final = options.force ? replace(part, options) : linkToFreeName(part, identity, options);
  await syncDirectory(options.dir);
  return final;
}

interface Identity {
  readonly dev: bigint;
  readonly ino: bigint;
}

/** Bytes and permissions reach the disk; afterwards the part is closed, come what may. */
async function settle(part: PartFile, mode: number): Promise<Identity> {
  let identity: Identity;
  try {
    fs.fchmodSync(part.fd, mode);
  } catch (error) {
    if (errorCode(error) !== 'EPERM' && errorCode(error) !== 'ENOTSUP') {
      part.close();
      throw DiskFault.of(`${part.path} cannot be given its permissions`, error);
    }
  }
  try {
    await fsync(part.fd);
    identity = fs.fstatSync(part.fd, { bigint: true });
  } catch (error) {
    part.close();
    // What a failed fsync leaves is not known, and a second one would succeed without it.
    throw DiskFault.of(`${part.path} could not be brought safely to disk`, error, false);
  }
  try {
    part.close();
  } catch (error) {
    throw DiskFault.of(`${part.path} could not be brought safely to disk`, error, false);
  }
  return identity;
}

function linkToFreeName(part: PartFile, identity: Identity, options: PublishOptions): string {
  const link = options.link ?? fs.linkSync;
  for (let copy = 0; copy <= MAX_COPIES; copy++) {
    const final = path.join(options.dir, options.name(copy));
    // First: where the output's own name is taken it goes again, and a kill in between leaves what the next run finds.
    if (options.sidecar !== undefined && isSameFile(final, identity)) return final;
    const beside = takeBeside(final, options);
    if (beside === 'taken') continue;
    try {
      link(part.path, final);
      return final;
    } catch (error) {
      const code = errorCode(error);
      if (code === 'EEXIST') {
        if (isSameFile(final, identity)) return final;
        if (beside === 'made') fs.rmSync(besideOf(final), { force: true });
        continue;
      }
      if (code === 'ENOENT') {
        if (isSameFile(final, identity)) return final;
        throw new PartGone(`${part.path} is gone`);
      }
      if (!hasNoLinks(error)) throw DiskFault.of(`${final} cannot be made`, error);
      if (renameToName(part.path, final, () => options.onRename?.(final))) return final;
      if (beside === 'made') fs.rmSync(besideOf(final), { force: true });
    }
  }
  throw new DiskFault(
    `${path.join(options.dir, options.name(0))} and ${MAX_COPIES} names after it are taken`,
    true,
  );
}

/** Takes the name beside an output's; where the disk does not let it, the output goes without, with a warning. */
function takeBeside(final: string, options: PublishOptions): Beside | undefined {
  const { sidecar, mode, link, warn, onRename } = options;
  if (sidecar === undefined) return undefined;
  try {
    return writeBeside(final, sidecar, mode, (from, to) => {
      try {
        (link ?? fs.linkSync)(from, to);
      } catch (error) {
        if (!hasNoLinks(error)) throw error;
        // Where another's file has the output's own name, both go on to the next, and the name is not told as ours.
        const isFree = !fs.lstatSync(final, { throwIfNoEntry: false });
        if (!isFree || !renameToName(from, to, () => onRename?.(final)))
          throw Object.assign(new Error('taken'), { code: 'EEXIST' });
      }
    });
  } catch (error) {
    warn?.(`${besideOf(final)} could not be written: ${faultReason(error)}`);
    return undefined;
  }
}

/** Without hard links; false where something has the name. `tell` comes before it is taken. */
function renameToName(part: string, final: string, tell: () => void): boolean {
  try {
    if (fs.lstatSync(final, { throwIfNoEntry: false })) return false;
    tell();
    renameToFree(part, final);
    return true;
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    if (errorCode(error) === 'EEXIST') return false;
    if (errorCode(error) === 'ENOENT' && !fs.existsSync(part)) throw new PartGone(`${part} is gone`);
    throw DiskFault.of(`${final} cannot be made`, error);
  }
}

function replace(part: PartFile, options: PublishOptions): string {
  const { dir, mode, sidecar, warn } = options;
  let copy = 0;
  while (sidecar !== undefined && !isReplaceable(path.join(dir, options.name(copy)))) copy += 1;
  const final = path.join(dir, options.name(copy));
  try {
    const there = fs.lstatSync(final, { throwIfNoEntry: false });
    if (there && !there.isFile())
      throw new DiskFault(`${final} is not replaced: it is ${kindOf(there)}`, true);
    options.onRename?.(final);
    fs.renameSync(part.path, final);
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    if (errorCode(error) === 'ENOENT') throw new PartGone(`${part.path} is gone`);
    throw DiskFault.of(`${final} cannot be replaced`, error);
  }
  try {
    if (sidecar !== undefined) replaceBeside(final, sidecar, mode);
  } catch (error) {
    warn?.(`${besideOf(final)} could not be written: ${faultReason(error)}`);
  }
  return final;
}

function isSameFile(file: string, identity: Identity): boolean {
  const there = fs.lstatSync(file, { bigint: true, throwIfNoEntry: false });
  return there !== undefined && there.dev === identity.dev && there.ino === identity.ino;
}

/** A new name is durable when its directory is; some systems cannot sync one. */
async function syncDirectory(dir: string): Promise<void> {
  const cannot = new Set(['EPERM', 'EACCES', 'EINVAL', 'EISDIR', 'ENOTSUP', 'EBADF']);
  let fd: number | undefined;
  try {
    fd = fs.openSync(dir, 'r');
    await fsync(fd);
  } catch (error) {
    if (!cannot.has(errorCode(error) ?? ''))
      throw DiskFault.of(`${dir} could not be brought safely to disk`, error);
  } finally {
    if (fd !== undefined) fs.closeSync(fd);
  }
}
