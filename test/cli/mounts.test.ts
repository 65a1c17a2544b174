import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { create, creates, openPlace, type Place, pause, sha256AtServer, sha256Of } from './place.ts';

// Real disks that people save to, mounted for the test: what they cannot do is done another way, and nothing is lost.

function run(command: string, ...args: string[]): void {
  const { status, stderr, error } = spawnSync(command, args, { encoding: 'utf8' });
  if (status !== 0) throw error ?? new Error(`${command}: ${stderr}`);
}

/** Mounts a directory of the place; `base` is where the disk itself may lie. */
type Mount = (dir: string, base: string) => void;

const rclone =
  (mode: string): Mount =>
  (dir, base) => {
    const disk = path.join(base, 'remote');
    fs.mkdirSync(disk);
    const cache = [
      '--vfs-cache-mode',
      mode,
      '--cache-dir',
      path.join(base, 'cache'),
      '--config',
      '/dev/null',
    ];
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

const disks: readonly (readonly [name: string, tags: string[], mount: Mount])[] = [
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
];

async function mountAt(place: Place, mount: Mount): Promise<string> {
  const dir = path.join(place.dir, 'disk');
  fs.mkdirSync(dir);
  onTestFinished(async () => {
    // A cloud drive may still be writing.
    for (let tries = 0; tries < 50 && spawnSync('umount', [dir]).status !== 0; tries += 1) await pause(100);
  });
  mount(dir, place.dir);
  return dir;
}

describe.each(disks)('%s', (_, tags, mount) => {
  test('takes videos, images, their sidecars and a batch, whole and without replacing anything', {
    tags,
  }, async () => {
    const place = await openPlace({ speed: 3_000, minTaskMs: 1 });
    const dir = await mountAt(place, mount);
    const [fox, picture] = [path.join(dir, 'fox.mp4'), path.join(dir, 'fox.png')];
    fs.writeFileSync(fox, 'mine');
    const gw = async (...argv: string[]) => {
      const ended = await place.run([...argv, '-q']);
      expect(ended.code, ended.err).toBe(0);
      return ended.out.trim().split('\n');
    };
    const video = [...create, 'a fox', '-o', fox, '--sidecar'];
    expect(await gw(...video)).toEqual([path.join(dir, 'fox-1.mp4')]);
    expect(fs.readFileSync(fox, 'utf8')).toBe('mine');
    expect(await gw(...create, 'a fox', '-o', fox, '--force')).toEqual([fox]);
    expect(await gw('image', 'create', 'a fox', '-o', picture, '--sidecar')).toEqual([picture]);
    expect(await gw('image', 'create', 'a fox', '-o', picture)).toEqual([path.join(dir, 'fox-1.png')]);
    for (const name of ['native.png', 'native-1.png'])
      expect(await gw('image', 'native', 'a fox', '-o', path.join(dir, 'native.png'))).toEqual([
        path.join(dir, name),
      ]);
    const rows = Array.from({ length: 20 }, (_row, at) =>
      JSON.stringify({ command: 'image create', prompt: `fox ${at}`, id: `r${at}` }),
    );
    fs.writeFileSync(path.join(place.cwd, 'rows.jsonl'), rows.join('\n'));
    expect(await gw('batch', 'run', 'rows.jsonl', '-o', `${dir}/batch/{row}.{ext}`)).toHaveLength(20);
    const jobs = await place.jobs();
    const files = jobs.flatMap((job) => job.files);
    expect([creates(place.sandbox).length, jobs.length, files.length]).toEqual([26, 26, 26]);
    for (const file of files) expect(sha256Of(file.path), file.path).toBe(file.sha256);
    const [last] = jobs.filter(({ family }) => family === 'alpha');
    const odd = await place.run([...create, 'a fox', '-o', `${dir}/what?.mp4`]);
    const isOfWindows = tags.includes('dosfstools');
    if (isOfWindows)
      expect([odd.code, odd.err]).toEqual([2, expect.stringContaining('files cannot be saved in')]);
    else fs.rmSync(path.join(dir, 'what?.mp4'));
    expect(last?.files[0]?.sha256).toBe(await sha256AtServer(place.sandbox, last?.id ?? ''));
    expect(fs.readdirSync(dir).sort()).toEqual(
      [
        'batch',
        'fox-1.mp4',
        'fox-1.mp4.json',
        'fox-1.png',
        'fox.mp4',
        'fox.png',
        'fox.png.json',
        'native-1.png',
        'native.png',
      ].sort(),
    );
    expect(
      fs.existsSync(path.join(place.state, 'rescued')) && fs.readdirSync(path.join(place.state, 'rescued')),
    ).toEqual(tags.includes('fusefat') || mount === disks[1]?.[2] ? [] : false);
  });

  test('keeps the ledger and the settings, or is refused with a hint that fits', { tags }, async () => {
    const place = await openPlace({ speed: 3_000, minTaskMs: 1 });
    const dir = await mountAt(place, mount);
    const env = { GW_STATE_DIR: path.join(dir, 'state'), GW_CONFIG_DIR: path.join(dir, 'config') };
    const keepsNoModes = tags.includes('ntfs-3g');
    // A file that has bytes cannot be opened to append to it.
    const takesNoLedger = keepsNoModes || mount === disks[1]?.[2];
    for (const [at, prompt] of ['a fox', 'an owl'].entries()) {
      const made = await place.run([...create, prompt], { env: { ...env, GW_CONFIG_DIR: undefined } });
      expect(made.code, made.err).toBe(takesNoLedger ? 2 : 0);
      if (takesNoLedger) expect(made.err).toMatch(/\nhint: .*set GW_STATE_DIR to a directory/);
      if (keepsNoModes) expect(made.err).not.toContain('chmod');
      expect(creates(place.sandbox)).toHaveLength(takesNoLedger ? 0 : at + 1);
    }
    if (!takesNoLedger) expect(await place.jobs(env.GW_STATE_DIR)).toHaveLength(2);
    for (const value of ['2s', '3s']) {
      const set = await place.run(['config', 'set', 'interval', value], { env });
      const told = await place.run(['config', 'get', 'interval'], { env });
      if (keepsNoModes)
        expect([set.code, set.err]).toEqual([2, expect.stringContaining('set GW_CONFIG_DIR')]);
      else expect([set.code, told.out], set.err).toEqual([0, `${value}\n`]);
    }
  });
});
