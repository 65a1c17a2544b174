import { expect, test } from 'vitest';
import type { ChatAnswer } from '../../src/chat/chat.ts';
import { CompletionRebuilder } from '../../src/chat/completions/reader.ts';
import { wrappedSchema } from '../../src/chat/surface.ts';
import { answerPrinter } from '../../src/commands/chat/print-answer.ts';
import { safeJson } from '../../src/io/escape.ts';
import type { Io } from '../../src/io/io.ts';

function printing(stdoutIsTerminal = false, form: 'text' | 'reply' = 'text') {
  const written: string[] = [];
  const io = {
    stdoutIsTerminal,
    out: async (text: string) => void written.push(text),
    outJson: async (value: unknown) => void written.push(`${JSON.stringify(value)}\n`),
    aside: () => {},
  } as unknown as Io;
  return { written, printer: answerPrinter(io, { form, showThoughts: false }) };
}
const answer = { text: '', toolCalls: [], reply: {} } as unknown as ChatAnswer;
const call = { id: 'c1', name: 'f', arguments: '{}' };

test('text goes out as it comes, tools or not', async () => {
  const { written, printer } = printing();
  await printer.onEvent({ type: 'text', text: 'Let me ' });
  expect(written).toEqual(['Let me ']);
  await printer.onEvent({ type: 'text', text: 'look' });
  await printer.finish(answer);
  expect(written.join('')).toBe('Let me look');
});

test('a call after words stands on a line of its own', async () => {
  const { written, printer } = printing();
  await printer.onEvent({ type: 'text', text: 'Let me look' });
  await printer.finish({ ...answer, toolCalls: [call] });
  expect(written.join('').split('\n')).toEqual(['Let me look', JSON.stringify(call), '']);
});

test('a call alone is one line', async () => {
  const { written, printer } = printing();
  await printer.finish({ ...answer, toolCalls: [call] });
  expect(written.join('')).toBe(`${JSON.stringify(call)}\n`);
});

test('a file that is a whole response_format is told from a schema', () => {
  const schema = { type: 'object', properties: {} };
  expect(wrappedSchema({ type: 'json_schema', json_schema: { name: 'n', strict: true, schema } })).toEqual(
    schema,
  );
  expect(wrappedSchema(schema)).toBeUndefined();
});

test('a long reply is written piece by piece, the same JSON at every border', async () => {
  const { written, printer } = printing(false, 'reply');
  for (const shift of ['', 'x']) {
    written.length = 0;
    // A surrogate pair, a control character and a quote are at the borders of the pieces.
    const text = `${shift}${'\u{1f600}'.repeat(50_000)}\u009b"\n\ud800`;
    const reply = { choices: [{ message: { content: text }, short: 'x' }], other: [text] };
    await printer.finish({ ...answer, reply });
    expect(written.join('')).toBe(`${safeJson(reply)}\n`);
    expect(Math.max(...written.map((piece) => piece.length))).toBeLessThan(40_000);
  }
});

test('an answer of a stream that grew long is the same JSON, whatever its pieces cut in two', async () => {
  const { written, printer } = printing(false, 'reply');
  const rebuilder = new CompletionRebuilder();
  const pieces = Array.from({ length: 40 }, (_, at) => `${'\u{1f600}'.repeat(20_000)}\ude00"\n${at}\ud83d`);
  for (const content of pieces) {
    const choices = [{ index: 0, delta: { content } }];
    rebuilder.add({ choices });
  }
  const [text, reply] = [pieces.join(''), rebuilder.reply()];
  await printer.finish({ ...answer, reply });
  expect(JSON.parse(written.join('')).choices[0].message.content).toBe(text);
  expect(JSON.parse(JSON.stringify(reply)).choices[0].message.content).toBe(text);
  expect(Math.max(...written.map((piece) => piece.length))).toBeLessThan(60_000);
});

test('a long answer that came word by word is not written word by word', async () => {
  const { written, printer } = printing(false, 'reply');
  const rebuilder = new CompletionRebuilder();
  const choices = [{ index: 0, delta: { content: ' a fox' } }];
  for (let at = 0; at < 200_000; at++) rebuilder.add({ choices });
  await printer.finish({ ...answer, reply: rebuilder.reply() });
  expect(JSON.parse(written.join('')).choices[0].message.content).toBe(' a fox'.repeat(200_000));
  expect(written.length).toBeLessThan(60);
});
