import { describe, expect, test } from 'vitest';
import type * as z from 'zod/mini';
import type { AnyCommand, Node } from '../../src/command.ts';
import { GwError } from '../../src/errors.ts';
import { type Flag, flagName, globalFlags } from '../../src/flags/flag.ts';
import { AlphaCreateBody } from '../../src/gateway/alpha/create.ts';
import { BetaO1Body, BetaTextBody, BetaTurboBody } from '../../src/gateway/beta/create.ts';
import { fieldsOf } from '../../src/gateway/body.ts';
import { GammaCreateBody } from '../../src/gateway/gamma/create.ts';
import { ImageEditBody, ImageGenerateBody } from '../../src/gateway/image/create.ts';
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

test('what refuses an empty value shows that it is empty, and numbers say what to do', async () => {
  const numbers: string[] = [];
  for await (const [words, command] of commands(program, 'gw')) {
    const table: [string, Flag][] = [...Object.entries(globalFlags), ...Object.entries(command.flags)];
    for (const [key, flag] of table) {
      const name = flagName(key);
      const error = refusalOf(() => flag.parse('', name));
      if (!error) continue;
      expect(error.message, words).not.toMatch(/ : |^\S+ :/);
      if (!/number|port/.test(error.message)) continue;
      numbers.push(`${words} ${name}`);
      expect(error.message, words).toMatch(`${name} ""`);
      expect(`${error.message} ${error.facts.hint ?? ''}`, words).toMatch(/\b(give|write|digits|\d)/);
    }
  }
  expect(numbers).toEqual(
    expect.arrayContaining([
      'gw jobs list --limit',
      'gw image create --n',
      'gw video gamma create --duration',
    ]),
  );
});

/** The error that a function throws. Undefined if it throws none. */
function refusalOf(act: () => unknown): GwError | undefined {
  try {
    act();
  } catch (error) {
    if (error instanceof GwError) return error;
    throw error;
  }
  return undefined;
}

test('the short flags are those of the contract', async () => {
  const shorts = new Set<string>();
  for await (const [, command] of commands(program, 'gw')) {
    for (const [key, flag] of Object.entries({ ...globalFlags, ...command.flags } as Record<string, Flag>)) {
      if (flag.short) shorts.add(`-${flag.short} ${flagName(key)}`);
    }
  }
  expect([...shorts].sort()).toEqual(['-m --model', '-o --out', '-p --prompt', '-q --quiet', '-v --verbose']);
});

const bodies: [words: string, bodies: z.ZodMiniType[]][] = [
  ['video alpha create', [AlphaCreateBody]],
  ['video beta create', [BetaTextBody, BetaTurboBody, BetaO1Body]],
  ['video gamma create', [GammaCreateBody]],
  ['image create', [ImageGenerateBody]],
  ['image edit', [ImageEditBody]],
];

describe.each(bodies)('%s', (words, of) => {
  test('every field of the body has a flag', async () => {
    const flags: string[] = [];
    for await (const [name, command] of commands(program, 'gw')) {
      if (name === `gw ${words}`) flags.push(...Object.keys(command.flags));
    }
    for (const { key, facts } of of.flatMap((body) => fieldsOf(body))) {
      for (const each of facts.items ? Object.keys(facts.items) : [key]) expect(flags).toContain(each);
    }
  });
});

test('the choices of a flag are the words of the document', async () => {
  const choices: Record<string, readonly string[] | undefined> = {};
  for await (const [words, command] of commands(program, 'gw')) {
    for (const [key, flag] of Object.entries(command.flags))
      choices[`${words} ${flagName(key)}`] = flag.choices;
  }
  expect(choices).toMatchObject({
    'gw video alpha create --model': ['2.0', '2.0-fast', '2.0-mini', '2.5'],
    'gw video alpha create --resolution': ['480p', '720p', '1080p', '4k'],
    'gw video alpha create --ratio': ['21:9', '16:9', '4:3', '1:1', '3:4', '9:16', 'adaptive'],
    'gw video alpha create --format': ['mp4', 'mov'],
    'gw video alpha create --task-type': ['auto', 'reference', 'edit', 'extend'],
    'gw video beta create --resolution': ['720p', '1080p', '4k'],
    'gw video beta create --ratio': ['16:9', '9:16', '1:1'],
    'gw video beta create --audio': ['native', 'original', 'off'],
    'gw video gamma create --model': ['gamma-H3', 'gamma-H3-Max'],
    'gw video gamma create --resolution': ['480P', '768P', '2K'],
    'gw video gamma create --ratio': ['adaptive', '21:9', '16:9', '4:3', '1:1', '3:4', '9:16'],
  });
});
