import { spawnSync } from 'node:child_process';
import { onTestFinished } from 'vitest';

/**
 * Mounts a file system of its own size in a directory until the test is over. A process of a test that failed may still stand
 * in it, so it is taken away lazily.
 *
 * @returns what mounts it again with other options
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
