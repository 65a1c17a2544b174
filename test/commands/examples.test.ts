import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AnyCommand, Node } from '../../src/command.ts';
import { drawExample } from '../../src/help.ts';
import { program } from '../../src/program.ts';
import { builtGw } from '../cli/built.ts';
import { Place } from '../cli/place.ts';
import { freePort } from '../helpers/free-port.ts';

// Every example of every help runs as printed on a narrow terminal, in a shell: those of a command one after the other, in a home of their own.

const bin = mkdtempSync(path.join(tmpdir(), 'gw-examples-'));
const LONGEST_MS = 400_000;
const NARROW = 60;

beforeAll(() => {
  const { script } = builtGw();
  writeFileSync(path.join(bin, 'gw'), `#!/bin/sh\nexec "${process.execPath}" "${script}" "$@"\n`, {
    mode: 0o755,
  });
});
afterAll(() => rmSync(bin, { recursive: true, force: true }));

async function* commands(node: Node, words: string): AsyncGenerator<{ words: string; command: AnyCommand }> {
  if (node.load) yield { words, command: await node.load() };
  for (const child of node.children ?? []) yield* commands(child, `${words} ${child.name}`);
}

/** What stands in one home: a family of videos, or a command. Jobs are looked at where alpha videos were made. */
function homeOf(words: string): string {
  const [, command = '', family = ''] = words.split(' ');
  if (['jobs', 'open', 'again', 'gallery'].includes(command)) return 'alpha';
  return command === 'video' ? family : ['chat', 'image', 'asset'].includes(command) ? command : 'others';
}

const homes = new Map<string, { words: string; example: string }[]>();
// Creates come first in the tree, so that the later ones find a job.
for await (const { words, command } of commands(program, 'gw')) {
  const examples = command.examples.map((example) => ({ words, example }));
  homes.set(homeOf(words), [...(homes.get(homeOf(words)) ?? []), ...examples]);
}

test('every command has a summary, an example, and help that shows it', async () => {
  for await (const { words, command } of commands(program, 'gw')) {
    expect(command.examples.length, words).toBeGreaterThan(0);
    for (const example of command.examples) expect(example).toContain(words);
  }
});

test.concurrent.each([...homes])(
  'the examples of %s run as printed against the sandbox',
  { timeout: LONGEST_MS },
  async (_, examples) => {
    const place = new Place();
    try {
      const env = { PATH: `${bin}:${process.env.PATH}`, CI: 'true' };
      for (const { words, example } of examples) {
        // What the example before has killed may still be ending.
        const port = String(await freePort());
        const printed = drawExample(example, NARROW).join('\n').replaceAll('4010', port);
        const { code, out, err } = await place.shell(`set -o pipefail;\n${printed}`, { env });
        const ended = example.endsWith('kill $!') ? [0, 143] : [0];
        expect(ended, `${words}: ${example}\n${out}${err}`).toContain(code);
        expect(err, example).not.toMatch(/unexpected error/);
      }
    } finally {
      place.close();
    }
  },
);
