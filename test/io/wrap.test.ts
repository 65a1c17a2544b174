import { stripVTControlCharacters } from 'node:util';
import { expect } from 'vitest';
import { displayWidth } from '../../src/io/display-width.ts';
import { wrapMessage } from '../../src/io/wrap.ts';
import { test } from '../helpers/gw.ts';

// Errors, hints and notes on a terminal (cli.md, "Width").

const going = `3 rows: 1 saved, 2 not sent; go on with: gw batch run 'my long shots.csv' --sandbox --limit 1 -o 'z/{key} {prompt}.{ext}'`;

test.each([
  ['nothing that fits is changed', 'error: a fox'],
  ['words', `hint: the topics are ${'options, environment, '.repeat(9)}and more`],
  ['words of two columns a letter', `note: ${'雪の中 狐が '.repeat(20)}`.trimEnd()],
  ['a command line at the end', going],
  ['a command line with words after it', `hint: ${'see '.repeat(20)}: gw jobs sync; nothing was sent`],
])('%s: no line is wider than the terminal, no word is broken, and nothing is lost', (_, text) => {
  for (let columns = 60; columns <= 140; columns += 1) {
    const wrapped = wrapMessage(text, columns);
    for (const line of wrapped.split('\n')) expect(displayWidth(line)).toBeLessThanOrEqual(columns);
    expect(wrapped.replace(/(?: \\)?\n */g, ' ')).toBe(text);
  }
});

test('a command line that is wrapped runs as it is printed', () => {
  const [, ...command] = wrapMessage(going, 60).split('\n');
  expect(command).toEqual([
    `  gw batch run 'my long shots.csv' --sandbox --limit 1 \\`,
    `     -o 'z/{key} {prompt}.{ext}'`,
  ]);
});

test('on a terminal errors and hints are wrapped, and in a pipe they are one line', async ({ world }) => {
  const argv = ['api', 'GET', 'http://elsewhere.example/v1/models'];
  const piped = await world.gw(argv);
  expect(piped.err.split('\n')).toHaveLength(3);
  const { err } = await world.gw(argv, { terminal: true });
  const lines = stripVTControlCharacters(err).trimEnd().split('\n');
  expect(lines.length).toBeGreaterThan(3);
  for (const line of lines) expect(displayWidth(line)).toBeLessThanOrEqual(100);
});
