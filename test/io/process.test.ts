// These tests need real file descriptors and a real terminal.
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bundleScript } from './bundle.ts';
import { Screen } from './screen.ts';

type Script = Awaited<ReturnType<typeof bundleScript>>;
const scripts: Script[] = [];

async function script(body: string): Promise<string> {
  const made = await bundleScript(body);
  scripts.push(made);
  return made.file;
}

afterAll(() => {
  for (const made of scripts) made.remove();
});

/** Runs a shell line with the script as `$gw`. The colour and CI variables of the test run are not inherited. */
function shell(line: string, file: string, env: Record<string, string> = {}) {
  const { PATH = '' } = process.env;
  const done = spawnSync('bash', ['--norc', '-c', line], {
    env: { PATH, gw: `${process.execPath} ${file}`, node: process.execPath, file, TERM: 'xterm', ...env },
    encoding: 'utf8',
    timeout: 120_000,
    maxBuffer: 64 << 20,
  });
  return { out: done.stdout, err: done.stderr, code: done.status };
}

/** Runs the script on a pseudo-terminal of 60 x 20 and returns its output. */
function onTerminal(file: string, env: Record<string, string> = {}) {
  const line = `stty cols 60 rows 20; ${process.execPath} ${file}`;
  return shell(`script -qec "${line}" /dev/null </dev/null`, file, env);
}

describe('stdout', () => {
  let many = '';
  let little = '';
  beforeAll(async () => {
    many = await script(`
      for (let line = 0; line < 100_000; line++) await io.out('line ' + line + '\\n');
      io.note('wrote everything');
    `);
    little = await script(`await io.out('x'.repeat(10_000) + '\\n'); io.note('wrote everything');`);
  });

  test('closed by its reader ends the run quietly with exit 0', () => {
    const { out, err, code } = shell('$gw | head -c1; echo "$PIPESTATUS"', many);
    expect(out).toBe('l0\n');
    expect(err).toBe('');
    expect(code).toBe(0);
  });

  test('never loses anything in a slow pipe', () => {
    const { out, code } = shell('set -o pipefail; $gw 2>/dev/null | (sleep 0.2; cat) | sha256sum', many);
    const { out: expected } = shell("seq -f 'line %.0f' 0 99999 | sha256sum", many);
    expect(out).toBe(expected);
    expect(code).toBe(0);
  });

  test('full is an error that says so, with exit 1', () => {
    const { err, code } = shell('$gw > /dev/full', little);
    expect(err).toMatch(/^error: could not write to stdout: no space left on the device \(ENOSPC\)\nhint: /);
    expect(code).toBe(1);
    const json = shell('$gw --json > /dev/full', little);
    expect(JSON.parse(json.err)).toMatchObject({ error: { kind: 'internal', exit_code: 1 } });
  });

  test('a file that may not grow so far is never cut in silence', () => {
    const target = path.join(path.dirname(little), 'cut.txt');
    const { err, code } = shell(`trap '' XFSZ; ulimit -f 4; $gw > ${target}`, little);
    expect(fs.statSync(target).size).toBe(4096);
    expect(err).toContain('error: could not write to stdout:');
    expect(code).toBe(1);
  });

  test.each(['>&-', '1</dev/null', '>&- 2>&-'])('closed from the start (%s) is no error', (closed) => {
    const { err, code } = shell(`$gw ${closed}`, little);
    expect(err).not.toContain('error');
    expect(code).toBe(0);
  });

  test('a stderr that is closed or full is no error', () => {
    expect(shell('$gw 2>&- | wc -c', little).out.trim()).toBe('10001');
    expect(shell('set -o pipefail; $gw 2>/dev/full | wc -c', little)).toMatchObject({ code: 0 });
  });
});

describe('a terminal', () => {
  test('gets nothing from outside that could drive it', async () => {
    const file = await script(`
      const evil = '\\u001b]0;owned\\u0007 \\u009b2J \\r \\u202e \\u001b[31m';
      io.hideSecret('sk-canary-012345');
      await io.out('text ' + evil + ' sk-canary-012345\\n');
      await io.out('raw ' + evil + '\\n');
      await io.table({ columns: [{ name: 'c' }], rows: [{ id: 'x', cells: ['cell ' + evil] }] });
      io.note('note ' + evil);
      io.aside('aside ' + evil + '\\n');
      const progress = io.progress();
      progress.task({ id: 'task' + evil, status: evil, elapsedMs: 0, percent: 10 });
      progress.download({ name: 'file' + evil, bytes: 1, totalBytes: 10 });
      await sleep(300);
      progress.stop();
      throw new GwError('rejected', 'error ' + evil, { hint: 'hint ' + evil });
    `);
    const { out: text } = onTerminal(file);
    expect(text).toContain('text \\x1b]0;owned\\x07 \\x9b2J \\r \\u202e \\x1b[31m ***\r\n');
    expect(text).toContain('cell \\x1b]0;owned');
    expect(text).toContain('note \\x1b]0;owned');
    expect(text).toContain('hint \\x1b]0;owned');
    expect(text).not.toContain('canary');
    const own = /\x1b\[(?:[0-9;]*m|\?25[lh]|[0-9]*[AJK])/g;
    expect(text.match(own)?.length).toBeGreaterThan(5);
    expect(text.replaceAll(own, '')).not.toMatch(/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202e]/);
    const screen = new Screen(60).write(text);
    expect(screen.cursorIsHidden).toBe(false);
    expect(screen.unknown).toEqual([]);
  });

  test('shows bars that are gone at the end, and what is printed meanwhile stays', async () => {
    const file = await script(`
      const progress = io.progress();
      for (let percent = 0; percent <= 90; percent += 10) {
        progress.task({ id: 'task-1', status: 'running', elapsedMs: percent * 100, percent });
        progress.task({ id: 'task-2', status: 'queued', elapsedMs: percent * 100 });
        if (percent === 50) io.warn('half way');
        if (percent === 70) await io.out('a result\\n');
        await sleep(60);
      }
      progress.task({ id: 'task-1', status: 'succeeded', elapsedMs: 9_000 });
      await sleep(150);
      progress.stop();
      await io.out('clip.mp4\\n');
    `);
    const { out: text } = onTerminal(file, { NO_COLOR: '1' });
    expect(text).toMatch(/task-1 running {2}█+░+ {2}\d+ %/);
    expect(text).toContain('task-2 queued');
    const screen = new Screen(60).write(text);
    expect(screen.shown()).toEqual([
      'warning: half way',
      'a result',
      '✓ task-1 succeeded after 9 s',
      'clip.mp4',
    ]);
    expect(screen.cursorIsHidden).toBe(false);
  });

  test.each([
    ['CI', { CI: '1' }],
    ['TERM=dumb', { TERM: 'dumb' }],
  ])('has plain lines with %s', async (_, env) => {
    const file = await script(`
      const progress = io.progress();
      progress.task({ id: 'task-1', status: 'running', elapsedMs: 0, percent: 10 });
      await sleep(150);
    `);
    expect(onTerminal(file, { NO_COLOR: '1', ...env }).out).toBe('task-1: running, 10 %\r\n');
  });
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
