import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { newDir } from '../helpers/new-dir.ts';

// bin/release.js in a clone: what it publishes and what stops it. `.ci/binaries` makes the files of the platforms.

const root = path.join(import.meta.dirname, '../..');
const run = promisify(execFile);

/** A repository with this project's present state in one commit. */
async function clone() {
  const dir = newDir();
  const { stdout } = await run('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
  });
  for (const name of stdout.split('\0').filter((each) => each !== '' && !each.startsWith('test/')))
    fs.cpSync(path.join(root, name), path.join(dir, name));
  fs.symlinkSync(path.join(root, 'node_modules'), path.join(dir, 'node_modules'));
  const { NODE_EXTRA_CA_CERTS: _, ...outer } = process.env;
  const who = { NAME: 'a', EMAIL: 'a@example.com', DATE: '1767225600 +0000' };
  const named = Object.entries(who).flatMap(([what, value]) => [
    [`GIT_AUTHOR_${what}`, value],
    [`GIT_COMMITTER_${what}`, value],
  ]);
  const env = { ...outer, ...Object.fromEntries(named), npm_config_update_notifier: 'false' };
  const git = async (...args: string[]) => (await run('git', args, { cwd: dir, env })).stdout;
  await git('init', '-q');
  fs.appendFileSync(path.join(dir, '.git/info/exclude'), 'node_modules\n');
  await git('add', '--all');
  await git('commit', '-qm', 'All');
  const release = (...args: string[]) =>
    run(process.execPath, ['bin/release.js', ...args], { cwd: dir, env }).catch(
      (error) => error as { stderr: string },
    );
  const json = (name: string) => JSON.parse(fs.readFileSync(path.join(dir, name), 'utf8'));
  return { dir, git, release, json };
}

test('a release has its version, addresses and day, its sums, and one commit', async () => {
  const { dir, git, release, json } = await clone();
  const repository = 'https://git.example.com/gw.git';
  const { stderr } = await release('0.1.0', '--repository', repository, '--without-binaries');
  expect(stderr).toBe('');
  expect(json('package.json')).toMatchObject({ version: '0.1.0', repository });
  expect(json('package.json')).not.toHaveProperty('homepage');
  expect(fs.readFileSync(path.join(dir, 'CHANGELOG.md'), 'utf8')).toContain('\n## 0.1.0 (2026-01-01)\n');
  expect(await git('log', '--format=%s')).toBe('Release 0.1.0\nAll\n');
  const handedOn = path.join(dir, 'dist/binaries');
  const sums = fs.readFileSync(path.join(handedOn, 'SHA256SUMS'), 'utf8').trimEnd().split('\n');
  expect(sums.map((line) => line.slice(66))).toEqual([
    'CHANGELOG.md',
    'gw-cli-0.1.0.cdx.json',
    'gw-cli-0.1.0.tgz',
    'install.ps1',
    'install.sh',
  ]);
  for (const line of sums) {
    const bytes = fs.readFileSync(path.join(handedOn, line.slice(66)));
    expect(createHash('sha256').update(bytes).digest('hex')).toBe(line.slice(0, 64));
  }
  expect(json('dist/binaries/gw-cli-0.1.0.cdx.json').metadata.timestamp).toBe('2026-01-01T00:00:00.000Z');
});

test('nothing is written where a version, an address, the changelog or the checkout is not ready', async () => {
  const { dir, git, release } = await clone();
  for (const [args, words] of [
    [['soon'], 'name one version'],
    [['0.1.0', '--homepage', 'example.com'], '--homepage example.com: is no https:// address'],
    [['9.0.0'], 'CHANGELOG.md begins with 0.1.0: write what 9.0.0 brings first'],
  ] as const) {
    expect((await release(...args)).stderr).toContain(words);
    expect(await git('status', '--porcelain')).toBe('');
  }
  fs.appendFileSync(path.join(dir, 'README.md'), 'x');
  expect((await release('0.1.0')).stderr).toBe('error: commit what has changed first\n');
});
