import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { expect, test } from 'vitest';
import { builtGw } from './built.ts';
import { Place } from './place.ts';

/** Runs gw in a Node that reports another version. */
function runAs(version: string, argv: readonly string[]) {
  const place = new Place();
  const preload = path.join(place.dir, 'preload.cjs');
  const versions = `{ ...process.versions, node: ${JSON.stringify(version)} }`;
  fs.writeFileSync(preload, `Object.defineProperty(process, 'versions', { value: ${versions} });`);
  const args = ['--require', preload, builtGw().script, ...argv];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    env: place.env(),
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}

test.each(['20.17.0', '18.20.8', '16.0.0', '12.22.12'])('Node %s gets a sentence and exit 1', (version) => {
  for (const argv of [['--version'], ['jobs', 'list'], []]) {
    const { status, stdout, stderr } = runAs(version, argv);
    expect(status).toBe(1);
    expect(stdout).toBe('');
    expect(stderr).toBe(
      `error: gw needs Node 20.18 or later; this is Node ${version}\n` +
        'hint: install a current Node from your system or https://nodejs.org and run gw again\n',
    );
  }
});

test.each(['20.18.0', '20.19.1', '22.0.0', '24.1.0'])('Node %s is let in', (version) => {
  expect(runAs(version, ['--version'])).toMatchObject({ status: 0, stdout: '0.1.0\n', stderr: '' });
  expect(runAs(version, ['jobs', 'list'])).toMatchObject({ status: 0, stdout: '', stderr: '' });
});

test.runIf(process.arch === 'x64')('a processor without SIMD reaches the gateway', () => {
  const args = ['--no-enable-sse4-1', builtGw().script, 'models', 'list', '--sandbox'];
  const { status, stderr } = spawnSync(process.execPath, args, { env: new Place().env(), encoding: 'utf8' });
  expect([status, stderr]).toEqual([0, '']);
});

test('the launcher is written for any Node: no word that an old one cannot read', () => {
  const source = fs.readFileSync(builtGw().script, 'utf8');
  const beforeModern = source.replace(/^#!.*\n/, '').replace(/\/\/.*$/gm, '');
  expect(beforeModern).not.toMatch(/\?\.|\?\?|\bimport\b|\basync\b|\bawait\b/);
});
