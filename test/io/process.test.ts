// These tests need real file descriptors and a real terminal. Closed and full streams of gw are in test/cli/pipes.test.ts.
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { bundleScript } from './bundle.ts';

async function script(body: string): Promise<string> {
  const made = await bundleScript(body);
  onTestFinished(() => made.remove());
  return made.file;
}

/** Runs a shell line with the script as `$gw`. The colour and CI variables of the test run are not inherited. */
function shell(line: string, file: string) {
  const { PATH = '' } = process.env;
  const done = spawnSync('bash', ['--norc', '-c', line], {
    env: { PATH, gw: `${process.execPath} ${file}`, node: process.execPath, file, TERM: 'xterm' },
    encoding: 'utf8',
    timeout: 120_000,
    maxBuffer: 64 << 20,
  });
  return { out: done.stdout, err: done.stderr, code: done.status };
}

/** Runs the script on a pseudo-terminal of 60 x 20 and returns its output. */
function onTerminal(file: string) {
  const line = `stty cols 60 rows 20; ${process.execPath} ${file}`;
  return shell(`script -qec "${line}" /dev/null </dev/null`, file);
}

test('a file that may not grow so far is never cut in silence', async () => {
  const file = await script(`await io.out('x'.repeat(10_000) + '\\n'); io.note('wrote everything');`);
  const target = path.join(path.dirname(file), 'cut.txt');
  const { err, code } = shell(`trap '' XFSZ; ulimit -f 4; $gw > ${target}`, file);
  expect(fs.statSync(target).size).toBe(4096);
  expect(err).toContain('error: could not write to stdout:');
  expect(code).toBe(1);
});

test('bars and heartbeats that nobody stops keep no process alive', async () => {
  const file = await script(`
    io.progress().task({ id: 'task-1', status: 'running', elapsedMs: 0 });
    // A loaded machine may draw late.
    for (let looks = 0; looks < 500 && process.stderr.bytesWritten < 10; looks++) await sleep(10);
    await sleep(200);
    process.stdout.write('', () => {});
    return;
  `);
  expect(shell('$gw', file)).toMatchObject({ code: 0, err: 'task-1: running\n' });
  const terminal = onTerminal(file);
  expect(terminal.code).toBe(0);
  expect(terminal.out).toContain('task-1 running');
});
