import { describe, expect, test } from 'vitest';
import type { AnyCommand, Node } from '../src/command.ts';
import * as topics from '../src/commands/help/topics.ts';
import { drawFrontPage, drawPage, pageOf, usageOf } from '../src/help.ts';
import { plainStyle } from '../src/io/style.ts';
import { drawExample, wrapLine } from '../src/io/wrap.ts';
import { program } from '../src/program.ts';
import { faultHelp } from '../src/sandbox/faults.ts';
import { shots } from '../src/shots/help-page.ts';

// Every help page at every width: no word is broken, no line exceeds the terminal, and every word of the tree appears.

interface Leaf {
  readonly path: readonly string[];
  readonly node: Node;
  readonly spec: AnyCommand | undefined;
}

async function* nodes(node: Node, path: readonly string[]): AsyncGenerator<Leaf> {
  yield { node, path, spec: path.length > 0 ? await node.load?.() : undefined };
  for (const child of node.children ?? []) yield* nodes(child, [...path, child.name]);
}

const all: Leaf[] = [];
for await (const leaf of nodes(program, [])) all.push(leaf);
const commands = all.filter(({ path }) => path.length > 0);
const widths = [60, 80, 120];

const draw = ({ node, path, spec }: Leaf, columns: number) =>
  drawPage(pageOf(node, path, spec), { columns, style: plainStyle });
const words = (text: string) => text.split(/\s+/).filter((word) => word !== '' && word !== '\\');
const tooWide = (text: string, columns: number) => text.split('\n').filter((line) => line.length > columns);

describe.each(widths)('at %i columns', (columns) => {
  test('no line of any page is wider, and no word is broken', () => {
    for (const leaf of commands) {
      const { path, node, spec } = leaf;
      const page = pageOf(node, path, spec);
      const text = draw(leaf, columns);
      expect(tooWide(text, columns), path.join(' ')).toEqual([]);
      const told = [
        `Usage: ${page.usage}`,
        page.about,
        ...page.groups.flatMap(({ title, rows }) => [`${title}:`, ...rows.flat()]),
        page.shared,
        ...page.notes,
        ...(page.examples.length > 0 ? ['Examples:', ...page.examples] : []),
      ];
      expect(words(text), path.join(' ')).toEqual(words(told.join(' ')));
    }
  });

  test('an example is the command line again when its lines are joined', () => {
    for (const { spec, path } of commands) {
      for (const example of spec?.examples ?? []) {
        const joined = drawExample(example, columns)
          .join('\n')
          .replace(/ \\\n +/g, ' ')
          .trim();
        expect(joined, path.join(' ')).toBe(example);
      }
    }
  });

  test('a command line of a topic is itself again when its lines are joined', () => {
    const commandLines = (width: number) =>
      [...Object.values(topics), shots]
        .flatMap((draw) =>
          draw.length === 1 ? (draw as typeof shots)({ columns: width, style: plainStyle }) : [],
        )
        .flatMap((text) => text.replace(/ \\\n +/g, ' ').split('\n'))
        .filter((line) =>
          /^ {2}(ExecStart=gw|gw|printf|ffmpeg|ENTRYPOINT|HEALTHCHECK) (?!.* {3})/.test(line),
        );
    expect(commandLines(columns)).toEqual(commandLines(1000));
  });

  test('gw alone has every command and three examples', async () => {
    const examples = (await program.load?.())?.examples ?? [];
    const text = drawFrontPage(
      program,
      examples,
      'Now: https://gateway.example.com (profile default); 2 running',
      { columns, style: plainStyle },
    );
    expect(tooWide(text, columns)).toEqual([]);
    for (const { name } of program.children ?? []) expect(text).toMatch(new RegExp(`^.{8}${name} `, 'm'));
    expect(examples.length).toBeGreaterThanOrEqual(3);
    for (const example of examples) expect(text.replace(/ \\\n +/g, ' ')).toContain(example);
    if (columns >= 80) expect(text.split('\n').length).toBeLessThanOrEqual(40);
  });
});

test('each command and each option says what it is for', () => {
  for (const { path, node, spec } of commands) {
    expect(node.summary, path.join(' ')).toMatch(/\w/);
    for (const { title, rows } of pageOf(node, path, spec).groups)
      for (const row of rows) expect(row.join(' '), `${path.join(' ')}: ${title}`).toMatch(/^\S.* .*\w/);
  }
});

test.each([
  [{ children: [] }, 'COMMAND [options]'],
  [{}, '[options]'],
  [{ args: { name: 'ID', required: true } }, '[options] ID'],
  [{ args: { name: 'ID', required: true, many: true } }, '[options] ID...'],
  [{ args: { name: 'ID', required: false, many: true } }, '[options] [ID...]'],
] as [Parameters<typeof usageOf>[0], string][])('a command of %j is called with %s', (node, usage) => {
  expect(usageOf(node)).toBe(usage);
});

test('what a page tells are whole sentences, one blank apart', () => {
  for (const { path, node, spec } of commands) {
    const { about, notes } = pageOf(node, path, spec);
    for (const text of [about, ...notes]) {
      // A text that ends with a list needs no full stop.
      if (!text.includes('\n')) expect(text, path.join(' ')).toMatch(/^\S.*[.:)]$/);
      expect(text, path.join(' ')).not.toMatch(/undefined|NaN|\S {2}\S/);
    }
  }
});

test('a page with fewer than 15 options has fewer than 60 rows, and that of alpha create at most 65', () => {
  for (const leaf of commands) {
    const rows = draw(leaf, 80).split('\n').length - 1;
    const options = Object.values(leaf.spec?.flags ?? {}).filter(({ hidden }) => !hidden).length;
    if (options < 15) expect(rows, leaf.path.join(' ')).toBeLessThan(60);
    if (leaf.path.join(' ') === 'video alpha create') expect(rows).toBeLessThanOrEqual(65);
  }
});

test('an option and its opposite are one line, and a list says so by dots', () => {
  const page = draw(commands.find(({ path }) => path.join(' ') === 'video alpha create') as Leaf, 80);
  expect(page).toMatch(/^ {2}--\[no-\]watermark /m);
  expect(page).not.toMatch(/^ {2}--no-watermark/m);
  expect(page).toMatch(/^ {2}--image REF\.\.\. /m);
});

test('words are told apart by what they are for: the sentences of the three families differ in figures of the tables', () => {
  const about = (family: string) =>
    pageOf(
      ...(([{ node, path, spec }]) => [node, path, spec] as const)(
        commands.filter(({ path }) => path.join(' ') === `video ${family} create`) as [Leaf],
      ),
    ).about;
  expect(about('alpha')).toContain('4-30 s at up to 1080p (2.5)');
  expect(about('beta')).toContain('3-15 s at up to 4k (text)');
  expect(about('gamma')).toContain('4-15 s at up to 2K (gamma-H3)');
});

test.each([
  ['a word that is wider than the line stands alone', 'ab abcdefghij ab', 5, ['ab', 'abcdefghij', 'ab']],
  ['blanks at the beginning and within a line are kept', '  a   b c', 8, ['  a   b', 'c']],
  ['wide characters take two columns', '漢字 漢字 a', 6, ['漢字', '漢字 a']],
])('%s', (_, text, width, lines) => {
  expect(wrapLine(text, width)).toEqual(lines);
});

test.each([
  [
    'a text in quotes is not broken',
    'gw x "one two three four five six seven eight"',
    ['  gw x \\', '     "one two three four five six seven eight"'],
  ],
  [
    'an option and its value stay together',
    'gw x aaaaaaaaa --option value',
    ['  gw x aaaaaaaaa \\', '     --option value'],
  ],
  [
    'what stands in $(…) may be broken',
    'gw x "$(gw list --one --two)"',
    ['  gw x "$(gw list \\', '     --one --two)"'],
  ],
])('%s', (_, example, lines) => {
  expect(drawExample(example, 22)).toEqual(lines);
});

test('each row of the faults hangs below its term', () => {
  for (const row of faultHelp.slice(2)) expect(row).toMatch(/^ {2}\S+ {2,}\S/);
});
