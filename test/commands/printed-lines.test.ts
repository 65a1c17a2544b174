import { copyFileSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { expect, test } from 'vitest';
import { type CompletionNode, completionTable } from '../../src/completion/table.ts';
import { program } from '../../src/program.ts';
import { clipsDir, World } from '../helpers/gw.ts';
// @ts-expect-error A script that also runs by itself.
import { messages } from '../messages.js';

// Every command line that a message prints (`node test/messages.js`) uses existing words and flags. Run as printed, with its
// placeholders filled in, none is a usage error and none pays again.

interface Leaf {
  readonly path: readonly string[];
  readonly flags: readonly string[];
}
const table = await completionTable(program);
function* leavesOf(node: CompletionNode, above: readonly string[] = []): Generator<Leaf> {
  if (above.length > 0)
    yield { path: above, flags: node.flags.flatMap((at) => table.flags[at]?.names ?? []) };
  for (const child of node.children ?? []) yield* leavesOf(child, [...above, child.name]);
}
const commands = [...leavesOf(table.root)].sort((a, b) => b.path.length - a.path.length);
const isFilled = (word = '') => /^(\{…\}|[A-Z_|]+|TEXT)$/.test(word);

/** Each printed command line: where it is printed, its command, and the words that belong to it. */
const lines = new Map<string, { readonly at: string; readonly words: string[]; readonly leaf: Leaf }>();
const odd: string[] = [];
for (const { name, line, text } of messages() as { name: string; line: number; text: string }[])
  for (const [, said = ''] of text.matchAll(/\bgw ([a-z][^;:,()"`]*)/g)) {
    const words = said
      .trim()
      .split(' ')
      .map((word) => word.replace(/[?.]$/, ''));
    const leaf = commands.find((each) =>
      each.path.every((word, at) => words[at] === word || isFilled(words[at])),
    );
    // The text names no command, for example "gw adds itself".
    if (!leaf) continue;
    const at = `${name}:${line}`;
    for (const word of words)
      if (/^--[a-z-]+$/.test(word) && !leaf.flags.includes(word)) odd.push(`${at} gw ${said}: ${word}`);
    const end = words.findIndex(
      (word, index) =>
        index >= leaf.path.length && !isFilled(word) && !/^(-|\d|\/|timeout$|GET$|<)|[._…]/.test(word),
    );
    const own = words.slice(0, end < 0 ? undefined : end);
    lines.set(own.join(' '), { at, words: own, leaf });
  }

test('its words and flags are there', () => {
  expect(odd).toEqual([]);
  expect(lines.size).toBeGreaterThan(60);
});

/** Lines that keep running, prompt the user or need Redis are not run here: they have tests of their own. */
const isLeftOut = (line: string) =>
  /^(listen|login|mcp|queue|sandbox|worker|chat|batch cancel)\b|--redis/.test(line);
/** True for a command that a sentence only names, although it needs more arguments. */
const isName = (line: string) => /^(jobs (resolve|prune)|asset wait)( \{…\})?$/.test(line);
/** The values of placeholders: after a flag, for a setting, and as the arguments of a command. */
const ofFlag: Readonly<Record<string, string>> = {
  '--type': 'image',
  '--url': 'https://example.com/fox.png',
  '--group': 'GROUP',
  '--name': 'fox',
  '--profile': 'day',
  '--project': 'default',
  '--prompt': 'a fox',
  '-p': 'a fox',
  '-o': 'elsewhere/',
  '--image': 'fox.png',
  '--before': '90d',
  '--status': 'unknown',
};
const ofSetting: Readonly<Record<string, string>> = {
  timeout: '90s',
  base_url: 'https://example.com',
  'budget.jobs': '5/day',
  'budget.amount': '50 CNY/day',
  provider_version: '2025-01-01',
  'models.chat': 'gpt-5',
};
const ofCommand: Readonly<Record<string, readonly string[]>> = {
  api: ['GET', '/v1/models'],
  batch: ['rows.csv'],
  completion: ['bash'],
  help: ['files'],
  'image create': ['a fox'],
  'profile add': ['night', '--base-url', 'https://example.com'],
  schema: ['batch'],
};

/** The words with their placeholders filled in for a job of the world. */
function typed(words: readonly string[], { path: leaf }: Leaf, id: string): string[] {
  const name = leaf.join(' ');
  const rest = words.slice(leaf.length);
  const line = leaf.map((word, at) => (isFilled(words[at]) ? 'alpha' : word));
  if (/^(again|jobs (resolve|show|wait|download)|video|asset wait)/.test(name)) line.push(id);
  else if (leaf[0] === 'config' && leaf.length > 1 && name !== 'config list') {
    const setting = isFilled(rest[0]) ? 'timeout' : (rest[0] ?? 'timeout');
    line.push(setting, ...(name === 'config set' ? [ofSetting[setting] ?? 'true'] : []));
  } else line.push(...(ofCommand[name] ?? ofCommand[leaf[0] ?? ''] ?? []));
  rest.forEach((word, at) => {
    if (!/^-./.test(word)) return;
    const value = rest[at + 1];
    if (word === '--as') line.push(word, 'none');
    else if (value !== undefined && !/^-./.test(value)) line.push(word, ofFlag[word] ?? value);
    else line.push(word, ...(word in ofFlag ? [ofFlag[word] ?? ''] : []));
  });
  return line;
}

const runs = [...lines].filter(([line]) => !isLeftOut(line) && !isName(line));
test.each(runs)('gw %s', async (line, { at, words, leaf }) => {
  const isSettled = leaf.path[1] !== 'resolve';
  const world = await World.open(isSettled ? {} : { fault: 'create:reset-after' });
  writeFileSync(path.join(world.cwd, 'rows.csv'), 'command,prompt\nimage create,a hat\n');
  copyFileSync(path.join(clipsDir, '../../../.github/gallery.png'), path.join(world.cwd, 'fox.png'));
  await world.gw(['profile', 'add', 'day', '--base-url', world.sandbox.baseUrl]);
  await world.gw(['config', 'set', 'upload_command', 'cat']);
  const group = (await world.gw(['asset', 'group', 'create', '--name', 'foxes'])).out.trim();
  await world.gw(['video', 'alpha', 'create', 'a fox', '--wait']);
  const id = (await world.gw(['jobs', 'list', '-q'])).out.trim();
  const before = paid(world);
  expect(before).toBe(1);
  const own = typed(words, leaf, id).map((word) => (word === 'GROUP' ? group : word));
  const { code, err } = await world.gw(own);
  expect(code, `${at}: gw ${own.join(' ')}: ${err}`).toBe(0);
  const paysAnew = /^(again|image create|batch run)/.test(line);
  expect(paid(world) - before, `${at}: gw ${own.join(' ')}`).toBe(paysAnew ? 1 : 0);
});
test('they are most of those that are printed', () => {
  expect(runs.length).toBeGreaterThan(45);
});

/** The number of requests that created tasks or images. */
const paid = (world: World) =>
  world.sandbox.requests.filter(
    ({ acceptedTaskId, path: at }) => acceptedTaskId !== undefined || at === '/v1/images/generations',
  ).length;
