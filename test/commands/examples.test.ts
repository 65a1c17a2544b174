import { writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import type { AnyCommand, Node } from '../../src/command.ts';
import { examplesOf } from '../../src/help.ts';
import { drawExample } from '../../src/io/wrap.ts';
import { program } from '../../src/program.ts';
import { builtGw } from '../cli/built.ts';
import { openPlace, Place } from '../cli/place.ts';
import { freePort } from '../helpers/free-port.ts';
import { newDir } from '../helpers/new-dir.ts';

// Every example on a help page runs in a shell as a narrow terminal prints it. The examples of a page run in order, in one
// new home.

const bin = newDir();
const LONGEST_MS = 400_000;
const NARROW = 60;

beforeAll(() => {
  writeFileSync(path.join(bin, 'gw'), `#!/bin/sh\nexec ${builtGw().command.join(' ')} "$@"\n`, {
    mode: 0o755,
  });
});

async function* commands(node: Node, words: string): AsyncGenerator<{ words: string; command: AnyCommand }> {
  if (node.load) yield { words, command: await node.load() };
  for (const child of node.children ?? []) yield* commands(child, `${words} ${child.name}`);
}

/** The help pages, each with its examples in order. */
const pages: { readonly words: string; readonly examples: readonly string[] }[] = [];
for await (const { words, command } of commands(program, 'gw'))
  pages.push({ words, examples: command.examples });
async function* groups(node: Node, words: string): AsyncGenerator<{ words: string; node: Node }> {
  if (!node.load) yield { words, node };
  for (const child of node.children ?? []) yield* groups(child, `${words} ${child.name}`);
}
for await (const { words, node } of groups(program, 'gw'))
  pages.push({ words, examples: await examplesOf(node) });
let ran = 0;
let toFillIn = 0;
afterAll(() =>
  console.log(`${ran} examples of ${pages.length} pages were run, and ${toFillIn} are to be filled in`),
);

test('every command has a summary, an example, and help that shows it', async () => {
  for await (const { words, command } of commands(program, 'gw')) {
    expect(command.examples.length, words).toBeGreaterThan(0);
    expect(
      command.examples.some((example) => example.includes(words)),
      words,
    ).toBe(true);
  }
});

describe.each(pages)('the examples of $words', ({ words, examples }) => {
  const tags = words.startsWith('gw queue') ? ['redis-server'] : [];
  test.concurrent('run as printed, in a fresh home', { tags, timeout: LONGEST_MS }, async () => {
    const place = new Place();
    try {
      const env = { PATH: `${bin}:${process.env.PATH}`, CI: 'true' };
      for (const example of examples) {
        if (example.endsWith('# fill in ID')) {
          toFillIn += 1;
          continue;
        }
        // A process that the previous example killed may still be ending, so each example gets a port of its own.
        const port = String(await freePort());
        const printed = drawExample(example, NARROW).join('\n').replaceAll('4010', port);
        const { code, out, err } = await place.shell(`set -o pipefail;\n${printed}`, { env });
        const ended = example.endsWith('kill $!') ? [0, 143] : [0];
        expect.soft(ended, `${words}: ${example}\n${out}${err}`).toContain(code);
        expect(err, example).not.toMatch(/unexpected error/);
        ran += 1;
      }
    } finally {
      place.close();
    }
  });
});

test('the lines of gw help ci run as printed, in the environment that its workflow has', async () => {
  const place = await openPlace();
  const { out: page } = await place.run(['help', 'ci']);
  const workflow = parse(/GitHub Actions:\n((?: +.*\n)+)/.exec(page)?.[1] ?? '') as {
    readonly env: Record<string, string>;
    readonly steps: readonly {
      readonly run?: string;
      readonly if?: string;
      readonly with?: { readonly path: string };
    }[];
  };
  const lines = [...page.matchAll(/^ {2}(gw .*)$/gm)].map(([, line]) => line);
  lines.push(...workflow.steps.flatMap(({ run }) => run ?? []));
  expect(lines.length).toBeGreaterThan(1);
  writeFileSync(path.join(place.cwd, 'prompt.txt'), 'a fox in the snow');
  writeFileSync(path.join(place.cwd, 'shots.csv'), 'command,id,prompt\nimage create,boat,a paper boat\n');
  const { GW_STATE_DIR = '' } = workflow.env;
  const env = { PATH: `${bin}:${process.env.PATH}`, CI: 'true', BRANCH: 'main', GW_STATE_DIR };
  // The second round imitates a second CI run: with the kept state it pays for nothing more.
  for (const _ of [1, 2])
    for (const line of lines) {
      const { code, out, err } = await place.shell(line ?? '', { env });
      expect(code, `${line}\n${out}${err}`).toBe(0);
    }
  expect(place.sandbox.requests.filter(({ method }) => method === 'POST')).toHaveLength(lines.length);
  // A failed run may have paid too, so the workflow always keeps the state and the outputs.
  const kept = workflow.steps.flatMap((step) => (step.if === 'always()' ? (step.with?.path ?? []) : []));
  expect(kept).toEqual([GW_STATE_DIR, 'out']);
  expect(place.files(path.join(place.cwd, 'out'))).toHaveLength(1);
});
