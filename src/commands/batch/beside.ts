import * as fs from 'node:fs';
import * as path from 'node:path';
import { digestOf } from '../../batch/rows.ts';
import { trustedStateDir } from '../../config/dirs.ts';
import { type Context, gatewayName } from '../../context.ts';
import { ensureDirectory } from '../../disk/durable-directory.ts';
import { isLocked, type LockFile, tryLock } from '../../disk/lock-file.ts';
import { originOfGateway } from '../../ledger/job-key.ts';
import { claimError } from '../../ledger/write-error.ts';

// Runs of one batch at one gateway beside each other on this machine. Any number may make its rows, and any number may hand
// them over to a queue, but never both at once: a row would be made here and elsewhere. Each says by a lock what it does
// before it looks for the others, so that of two that begin together at least one sees the other; the lock of a run that
// was killed counts no more.

type Doing = 'make' | 'hand-over';
const others: Readonly<Record<Doing, Doing>> = { make: 'hand-over', 'hand-over': 'make' };

/** A run that has said what it does, until it is done with that. */
export interface Announced extends Pick<LockFile, 'release'> {
  /** Whether another run was doing what must not be done beside it. */
  readonly isRefused: boolean;
}

/**
 * Says what a run does; to be called before it looks at what is known of the rows. Throws `usage` where the disk takes no lock:
 * it takes no job either.
 */
export async function announce(name: string, doing: Doing, ctx: Context): Promise<Announced> {
  const origin = originOfGateway(gatewayName(await ctx.settings()));
  const dir = path.join(trustedStateDir(ctx.host), 'locks');
  const nameOf = (what: Doing) => `batch-${digestOf(`${origin}\n${name}`)}-${what}-`;
  const other = nameOf(others[doing]);
  const isOther = (file: string) => file.startsWith(other) && file.endsWith('.lock');
  try {
    ensureDirectory(dir);
    const { release } = firstFree((place) => path.join(dir, `${nameOf(doing)}${place}.lock`));
    const isRefused = fs.readdirSync(dir).some((file) => isOther(file) && isLocked(path.join(dir, file)));
    return { isRefused, release };
  } catch (error) {
    throw claimError(error, dir, 'usage');
  }
}

/** The first place that no living process holds: what killed ones left is taken over, and never becomes more. */
function firstFree(fileOf: (place: number) => string): LockFile {
  for (let place = 0; ; place += 1) {
    const lock = tryLock(fileOf(place));
    if (lock) return lock;
  }
}
