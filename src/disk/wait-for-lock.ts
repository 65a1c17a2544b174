import { usage } from '../errors.ts';
import type { Clock } from '../host.ts';
import { type LockFile, tryLock } from './lock-file.ts';

const LOCK_WAIT_MS = 10_000;

/**
 * Takes the lock at a path as soon as no other process holds it. Throws GwError `usage` where that takes longer than
 * 10 s, and the system's error where the file cannot be made.
 */
export async function waitForLock(file: string, clock: Pick<Clock, 'steady' | 'sleep'>): Promise<LockFile> {
  const endMs = clock.steady() + LOCK_WAIT_MS;
  for (let pauseMs = 2; ; pauseMs = Math.min(pauseMs * 1.5, 50)) {
    const lock = tryLock(file);
    if (lock) return lock;
    if (clock.steady() >= endMs) {
      throw usage(
        `another gw has held ${file} for 10 s`,
        'Wait for it to end; if none runs, remove that file.',
      );
    }
    // Two that wait must not stay in step.
    await clock.sleep(pauseMs * (0.5 + Math.random()));
  }
}
