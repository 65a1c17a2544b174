import * as fs from 'node:fs';
import * as path from 'node:path';
import { digestOf } from '../../batch/rows.ts';
import { trustedStateDir } from '../../config/dirs.ts';
import type { Context } from '../../context.ts';
import { ensureDirectory } from '../../disk/durable-directory.ts';
import { isLocked, type LockFile, tryLock } from '../../disk/lock-file.ts';
import { claimError } from '../../ledger/write-error.ts';
import { currentOrigin } from '../once.ts';

// Coordinates runs of the same batch on this machine. Several runs may create rows, and several may hand rows to a queue,
// but not both at once, as a row would then be created twice. Each run takes a lock for its activity before it looks for
// others, so of two that start together at least one sees the other. The lock of a killed run does not count.

type Doing = 'make' | 'hand-over';
const others: Readonly<Record<Doing, Doing>> = { make: 'hand-over', 'hand-over': 'make' };

/** A run that has announced its activity, until it releases the announcement. */
export interface Announced extends Pick<LockFile, 'release'> {
  /** True if another run was doing the conflicting activity. */
  readonly isRefused: boolean;
}

/**
 * Announces a run's activity; call it before reading the state of the rows. Throws `usage` if the disk allows no lock,
 * because then it cannot store jobs either.
 */
export async function announce(name: string, doing: Doing, ctx: Context): Promise<Announced> {
  const origin = await currentOrigin(ctx);
  const dir = path.join(trustedStateDir(ctx.host), 'locks');
  const nameOf = (what: Doing) => `batch-${digestOf(`${origin}\n${name}`)}-${what}-`;
  const other = nameOf(others[doing]);
  const isOther = (file: string) => file.startsWith(other) && file.endsWith('.lock');
  try {
    ensureDirectory(dir);
    let lock: LockFile | undefined;
    // Lock files of killed runs are reused, so they do not pile up.
    for (let at = 0; !lock; at += 1) lock = tryLock(path.join(dir, `${nameOf(doing)}${at}.lock`));
    const isRefused = fs.readdirSync(dir).some((file) => isOther(file) && isLocked(path.join(dir, file)));
    return { isRefused, release: lock.release };
  } catch (error) {
    throw claimError(error, dir, 'usage');
  }
}
