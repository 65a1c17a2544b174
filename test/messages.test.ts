import { expect, test } from 'vitest';
import { type CompletionNode, completionTable } from '../src/completion/table.ts';
import { refuseOrWarn } from '../src/flags/breaches.ts';
import type { Io } from '../src/io/io.ts';
import { program } from '../src/program.ts';
// @ts-expect-error A script that also runs by itself.
import { messages } from './messages.js';

interface Message {
  readonly name: string;
  readonly line: number;
  readonly kind: 'error' | 'warning' | 'note' | 'hint';
  readonly text: string;
}
// `node test/messages.js` prints them all, to be read.
const all: Message[] = messages();
const breaking = (
  pattern: RegExp,
  kinds: readonly Message['kind'][] = ['error', 'warning', 'note', 'hint'],
) =>
  all
    .filter(({ kind, text }) => kinds.includes(kind) && pattern.test(text))
    .map(({ name, line, text }) => `${name}:${line} ${text}`);

test('the list finds the messages of every kind', () => {
  const count = (kind: Message['kind']) => all.filter((message) => message.kind === kind).length;
  expect(count('error')).toBeGreaterThan(600);
  expect(count('hint')).toBeGreaterThan(350);
  expect(count('warning')).toBeGreaterThan(25);
  expect(count('note')).toBeGreaterThan(50);
  expect(all.some(({ text }) => text === 'GET: a GET request has no body')).toBe(true);
});

test('a hint begins in lower case, unless with a name, and ends without a full stop', () => {
  const names = /^(Base64|HTTP|IDs?|GET|GW_|Redis|JSON|URL)/;
  expect(
    breaking(/^[A-Z]/, ['hint']).filter((each) => !names.test(each.split(' ').slice(1).join(' '))),
  ).toEqual([]);
  expect(breaking(/[^.…]\.$/, ['hint'])).toEqual([]);
});

test('the hint of a broken rule begins with why it is one', () => {
  const breach = {
    text: 'the prompt: it names an asset',
    says: 'the document says: Asset IDs must not be written in the prompt',
  };
  expect(() => refuseOrWarn([breach, 'two'], true, {} as Io)).toThrow(
    expect.objectContaining({
      facts: expect.objectContaining({
        hint: 'the document says: Asset IDs must not be written in the prompt; also: two',
      }),
    }),
  );
});

test('a command line in a message is one that gw takes: its words, and each flag', async () => {
  const table = await completionTable(program);
  const leaves = function* (node: CompletionNode, path: readonly string[]): Generator<Leaf> {
    if (path.length > 0) yield { path, flags: node.flags.flatMap((at) => table.flags[at]?.names ?? []) };
    for (const child of node.children ?? []) yield* leaves(child, [...path, child.name]);
  };
  const commands = [...leaves(table.root, [])];
  const isOf = (words: readonly string[], { path }: Leaf) =>
    path.every((word, at) => words[at] === word || /^([A-Z]+|\{…\})$/.test(words[at] ?? ''));
  let count = 0;
  const odd = all.flatMap(({ name, line, text }) =>
    [...text.matchAll(/\bgw ([a-z][^;:,()"`]*)/g)].flatMap(([, said = '']) => {
      const words = said.split(' ').map((word) => word.replace(/[?.]$/, ''));
      const found = commands.filter((leaf) => isOf(words, leaf));
      const longest = Math.max(0, ...found.map(({ path }) => path.length));
      // "gw adds itself": no command stands there.
      if (longest === 0) return [];
      count += 1;
      const known = new Set(
        found.filter(({ path }) => path.length === longest).flatMap(({ flags }) => flags),
      );
      return words
        .filter((word) => /^--[a-z-]+$/.test(word) && !known.has(word))
        .map((flag) => `${name}:${line} gw ${said}: ${flag}`);
    }),
  );
  expect(odd).toEqual([]);
  expect(count).toBeGreaterThan(100);
});

interface Leaf {
  readonly path: readonly string[];
  readonly flags: readonly string[];
}

test('no message says what nobody would say', () => {
  expect(breaking(/\b(is|are) taken$|the outcome of|interrupted by SIG/)).toEqual([]);
});
