import { expect, test } from 'vitest';
import type { AnyCommand, Node } from '../../src/command.ts';
import { alphaFlagOf, alphaFlags } from '../../src/commands/video/alpha/body.ts';
import { type Flag, flagName } from '../../src/flags/flag.ts';
import { globalFlags } from '../../src/flags/global.ts';
import { AlphaCreateBody } from '../../src/gateway/alpha/create.ts';
import { alphaModels } from '../../src/gateway/alpha/models.ts';
import { program } from '../../src/program.ts';

async function* commands(node: Node, words: string): AsyncGenerator<[string, AnyCommand]> {
  if (node.load) yield [words, await node.load()];
  for (const child of node.children ?? []) yield* commands(child, `${words} ${child.name}`);
}

test('every flag of every command has a summary, a kebab-case name, and a name of its own', async () => {
  for await (const [words, command] of commands(program, 'gw')) {
    const table: [string, Flag][] = [...Object.entries(globalFlags), ...Object.entries(command.flags)];
    const names = table.map(([key]) => flagName(key));
    expect(new Set(names).size, words).toBe(names.length);
    for (const [key, flag] of table) {
      expect(flagName(key), words).toMatch(/^--[a-z]+(-[a-z]+)*$/);
      expect(flag.summary.length, `${words} ${flagName(key)}`).toBeGreaterThan(3);
    }
  }
});

test('the short flags are those of the contract', async () => {
  const shorts = new Set<string>();
  for await (const [, command] of commands(program, 'gw')) {
    for (const [key, flag] of Object.entries({ ...globalFlags, ...command.flags } as Record<string, Flag>)) {
      if (flag.short) shorts.add(`-${flag.short} ${flagName(key)}`);
    }
  }
  expect([...shorts].sort()).toEqual(['-m --model', '-o --out', '-p --prompt', '-q --quiet', '-v --verbose']);
});

test('every field of the alpha body can be reached by a typed flag, with the choices of the schema', () => {
  for (const field of Object.keys(AlphaCreateBody.shape)) {
    if (field === 'content') continue;
    const name = alphaFlagOf([field], {});
    expect(name, field).toBeDefined();
    const [, flag] = Object.entries(alphaFlags).find(([key]) => flagName(key) === name) ?? [];
    expect(flag, `${field} -> ${name}`).toBeDefined();
  }
  expect(alphaFlags.resolution.choices).toEqual(['480p', '720p', '1080p', '4k']);
  expect(alphaFlags.ratio.choices).toEqual(['21:9', '16:9', '4:3', '1:1', '3:4', '9:16', 'adaptive']);
  expect(alphaFlags.model.choices).toEqual(Object.values(alphaModels).map((model) => model.short));
});
