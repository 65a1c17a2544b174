import { expect, test } from 'vitest';
import { refuseOrWarn } from '../src/flags/breaches.ts';
import type { Io } from '../src/io/io.ts';
// @ts-expect-error A script that also runs by itself.
import { messages } from './messages.js';

interface Message {
  readonly name: string;
  readonly line: number;
  readonly kind: 'error' | 'warning' | 'note' | 'hint';
  readonly text: string;
}
// `node test/messages.js` prints all messages for a reader.
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
  expect(all.some(({ text }) => text === 'a {…} request has no body')).toBe(true);
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
  for (const [verbose, hint] of [
    [false, 'the document says: Asset IDs must not be written in the prompt; also: two'],
    // --verbose also names a further rule of the same field.
    [true, expect.stringMatching(/; also: two; also: the prompt: is long$/)],
  ]) {
    const io = { mode: { verbose } } as Io;
    expect(() => refuseOrWarn([breach, 'two', 'the prompt: is long'], true, io)).toThrow(
      expect.objectContaining({ facts: expect.objectContaining({ hint }) }),
    );
  }
});

test('a hint of saving names no flag by itself, because gw jobs sync and gw worker have none of them', () => {
  const saving = all.filter(({ name, kind }) => kind === 'hint' && /^jobs\/(save|watch)\//.test(name));
  const bare = saving.map(({ text }) => text.replace(/\bgw [a-z][^;,()]*/g, ''));
  expect(bare.length).toBeGreaterThan(5);
  expect(bare.filter((text) => text.includes('--'))).toEqual([]);
});

test('no message says what nobody would say', () => {
  expect(breaking(/\b(is|are) taken$|the outcome of|interrupted by SIG/)).toEqual([]);
});
