import { readFileSync } from 'node:fs';
import * as path from 'node:path';
import { expect, test } from 'vitest';
import type { Node } from '../src/command.ts';
import { manual } from '../src/man.ts';
import { program } from '../src/program.ts';

function* commands(node: Node, words: string): Generator<string> {
  if (node.load && words !== 'gw') yield words;
  for (const child of node.children ?? []) yield* commands(child, `${words} ${child.name}`);
}

test('the manual has every command, and no text is taken for a request of man', async () => {
  const text = await manual('1.2.3');
  for (const words of commands(program, 'gw'))
    expect(text).toContain(`\n.SS ${words.replaceAll('-', '\\-')} `);
  const requests = text.split('\n').flatMap((line) => /^[.'](\S*)/.exec(line)?.[1] ?? []);
  expect([...new Set(requests)].sort()).toEqual(['B', 'PP', 'SH', 'SS', 'TH', 'TP', 'fi', 'nf']);
  expect(text).toContain('.TH GW 1 "" "gw 1.2.3" ""');
  expect(text).toContain('\n.SH EXIT STATUS\n.TP\n.B 0\ndone\n');
  // A line of an example continues after its backslash.
  expect(text).toMatch(/ \\e\n {5}/);
});

test('the package names the manual that the build writes', () => {
  const root = path.join(import.meta.dirname, '..');
  const { man } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
  expect(man).toEqual(['./dist/man/gw.1']);
  expect(readFileSync(path.join(root, 'bin/build.js'), 'utf8')).toContain("write('man/gw.1', man)");
});
