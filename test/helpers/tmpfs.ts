import { spawnSync } from 'node:child_process';
import { onTestFinished } from 'vitest';

/**
 * Mounts a file system with its own size in a directory until the test is over. The unmount is lazy, because a process of a
 * failed test may still have its working directory there.
 *
 * @returns a function that remounts it with other options
 */
export function mountTmpfs(dir: string, options: string): (...options: string[]) => void {
  const mount = (...args: string[]) => {
    const { status, stderr } = spawnSync('mount', args, { encoding: 'utf8' });
    if (status !== 0) throw new Error(stderr);
  };
  mount('-t', 'tmpfs', '-o', options, 'tmpfs', dir);
  onTestFinished(() => void spawnSync('umount', ['-l', dir]));
  return (...changed) => mount('-o', `remount,${changed.join(',')}`, dir);
}
