import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AnyCommand, Node } from '../../src/command.ts';
import { program } from '../../src/program.ts';
import { builtGw } from '../cli/built.ts';

// Every example of every help runs as printed, in a shell, one after the other in one home.

const dir = mkdtempSync(path.join(tmpdir(), 'gw-examples-'));
let port = 0;

beforeAll(async () => {
  mkdirSync(path.join(dir, 'bin'));
  const { script } = builtGw();
  writeFileSync(path.join(dir, 'bin/gw'), `#!/bin/sh\nexec "${process.execPath}" "${script}" "$@"\n`, {
    mode: 0o755,
  });
  mkdirSync(path.join(dir, 'work'));
  port = await new Promise<number>((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port: free } = server.address() as { port: number };
      server.close(() => resolve(free));
    });
  });
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const shell = (line: string) =>
  spawnSync('bash', ['-c', `set -o pipefail; ${line.replaceAll('4010', String(port))}`], {
    cwd: path.join(dir, 'work'),
    env: { PATH: `${dir}/bin:${process.env.PATH}`, HOME: dir, CI: 'true' },
    encoding: 'utf8',
    timeout: 50_000,
  });

async function* commands(node: Node, words: string): AsyncGenerator<{ words: string; command: AnyCommand }> {
  if (node.load) yield { words, command: await node.load() };
  for (const child of node.children ?? []) yield* commands(child, `${words} ${child.name}`);
}

test('every command has a summary, an example, and help that shows it', async () => {
  for await (const { words, command } of commands(program, 'gw')) {
    expect(command.examples.length, words).toBeGreaterThan(0);
    for (const example of command.examples) expect(example).toContain(words);
  }
});

test('the examples run as printed against the sandbox', { timeout: 400_000 }, async () => {
  // Creates come first in the tree, so that the later ones find a job.
  for await (const { words, command } of commands(program, 'gw')) {
    for (const example of command.examples) {
      const run = shell(example);
      const ended = example.endsWith('kill $!') ? [0, null] : [0];
      expect(ended, `${words}: ${example}\n${run.stdout}${run.stderr}`).toContain(run.status);
      expect(run.stderr, example).not.toMatch(/unexpected error/);
    }
  }
});
