import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { onTestFinished } from 'vitest';
import { cmd } from '../helpers/cmd.ts';
import { type After, type Place, pause } from './place.ts';

// Real file systems that people save to, mounted for a test.

function run(command: string, ...args: string[]): void {
  const { status, stderr, error } = spawnSync(command, args, { encoding: 'utf8' });
  if (status !== 0) throw error ?? new Error(`${command}: ${stderr}`);
}

/** Mounts a directory of the place; `base` is the directory in which the disk's own file may lie. */
type Mount = (dir: string, base: string) => void;

const rclone =
  (mode: string): Mount =>
  (dir, base) => {
    const disk = path.join(base, 'remote');
    fs.mkdirSync(disk);
    const cache = cmd`
      --vfs-cache-mode ${mode} --cache-dir ${path.join(base, 'cache')} --config /dev/null
    `;
    run('rclone', 'mount', `:local:${disk}`, dir, ...cache, '--daemon');
  };

function image(base: string, ...format: readonly string[]): string {
  const file = path.join(base, 'image');
  fs.closeSync(fs.openSync(file, 'w'));
  fs.truncateSync(file, 64 * 2 ** 20);
  const [command = '', ...args] = format;
  run(command, ...args, file);
  return file;
}

const sshfs: Mount = (dir, base) => {
  const [disk, server] = [path.join(base, 'remote'), path.join(base, 'server')];
  fs.mkdirSync(disk);
  fs.writeFileSync(server, '#!/bin/sh\nexec /usr/lib/openssh/sftp-server\n', { mode: 0o700 });
  run('sshfs', '-o', `ssh_command=${server}`, `loopback:${disk}`, dir);
};

const gocryptfs: Mount = (dir, base) => {
  const disk = path.join(base, 'remote');
  fs.mkdirSync(disk);
  const password = ['-q', '-extpass', 'echo password'];
  run('gocryptfs', '-init', ...password, disk);
  run('gocryptfs', ...password, disk, dir);
};

const mergerfs: Mount = (dir, base) => {
  const branches = ['one', 'two'].map((name) => path.join(base, name));
  for (const branch of branches) fs.mkdirSync(branch);
  run('mergerfs', branches.join(':'), dir);
};

export const disks: readonly (readonly [name: string, tags: string[], mount: Mount])[] = [
  ['a cloud drive with a cache', ['rclone', 'mount'], rclone('writes')],
  ['a cloud drive without a cache', ['rclone', 'mount'], rclone('off')],
  [
    'a memory card with FAT',
    ['fusefat', 'dosfstools', 'mount'],
    (dir, base) => run('fusefat', '-o', 'rw+', image(base, 'mkfs.fat', '-F', '32'), dir),
  ],
  [
    'a disk with NTFS',
    ['ntfs-3g', 'mount'],
    (dir, base) => run('ntfs-3g', image(base, 'mkfs.ntfs', '-Fq'), dir),
  ],
  ['a share over SSH', ['sshfs', 'openssh-server', 'mount'], sshfs],
  ['a folder that is encrypted', ['gocryptfs', 'mount'], gocryptfs],
  ['two disks as one', ['mergerfs', 'mount'], mergerfs],
];

/** Mounts the disk in the place until the test or the round is over. */
export async function mountAt(
  place: Place,
  mount: Mount,
  after: After = onTestFinished as After,
): Promise<string> {
  const dir = path.join(place.dir, 'disk');
  fs.mkdirSync(dir);
  after(async () => {
    // A cloud drive may still be writing.
    for (let tries = 0; tries < 50; tries += 1) {
      if (spawnSync('umount', [dir]).status === 0) return;
      await pause(100);
    }
    // A process of a failed test may still have its working directory there, so this unmount is lazy.
    spawnSync('umount', ['-l', dir]);
  });
  mount(dir, place.dir);
  return dir;
}
