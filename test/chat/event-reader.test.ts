import fc from 'fast-check';
import { expect, test } from 'vitest';
import { chatApis } from '../../src/chat/chat.ts';
import { EventReader } from '../../src/chat/event-reader.ts';
import { loadSurface } from '../../src/chat/surface.ts';

/** The reader handles a long text in another way than a short one. */
const long = 'long words '.repeat(30);
const words = fc.constantFrom(
  long,
  `${long}"quoted"`,
  `${long}\\dir\n`,
  '',
  'word ',
  'bench',
  '"quoted"',
  'C:\\dir',
  'Grüße 🦊\u2028',
  '\n',
  '0',
  '\\"}',
  'null',
);
const oneOf = <T>(...all: readonly T[]) => fc.constantFrom(...all);

/** A text in each form that an event of the surface may have, with the other fields that may be beside it. */
const shapes = {
  completions: fc
    .record({
      ids: oneOf(['chatcmpl-1'], ['chatcmpl-1'], ['word ', 'bench']),
      index: oneOf(0, 0, 0, 1),
      more: oneOf(
        {},
        {},
        { role: 'assistant' },
        { refusal: 'no' },
        { reasoning: 'hm' },
        {
          tool_calls: [{ index: 0, id: 'c', function: { name: 'f', arguments: 'word ' } }],
        },
      ),
      finish_reason: oneOf(null, null, null, 'stop', 'length'),
      usage: oneOf(null, null, { completion_tokens: 3 }, { completion_tokens: 4 }),
    })
    .map(({ ids, index, more, finish_reason, usage }) => (content: string, nth: number) => ({
      id: ids[nth % ids.length],
      choices: [{ index, delta: { content, ...more }, finish_reason }],
      usage,
    })),
  messages: fc
    .record({ type: oneOf('text', 'text', 'thinking', 'call', 'start', 'end'), index: oneOf(0, 1) })
    .map(({ type, index }) => (text: string) => {
      const delta = (of: object) => ({ type: 'content_block_delta', index, delta: of });
      if (type === 'text') return delta({ type: 'text_delta', text });
      if (type === 'thinking') return delta({ type: 'thinking_delta', thinking: text });
      if (type === 'call') return delta({ type: 'input_json_delta', partial_json: text });
      if (type === 'start')
        return { type: 'content_block_start', index, content_block: { type: 'text', text } };
      return { type: 'message_delta', delta: { stop_reason: text }, usage: { output_tokens: index } };
    }),
  geo: fc
    .record({
      more: oneOf({}, {}, { thought: true }, { functionCall: { name: 'f', args: { at: 'word ' } } }),
      again: oneOf(1, 1, 2),
      finishReason: oneOf(undefined, undefined, 'STOP', 'SAFETY'),
      usageMetadata: oneOf(undefined, { candidatesTokenCount: 3 }, { candidatesTokenCount: 4 }),
    })
    .map(({ more, again, finishReason, usageMetadata }) => (text: string) => ({
      candidates: [
        { content: { parts: Array.from({ length: again }, () => ({ text, ...more })) }, finishReason },
      ],
      usageMetadata,
    })),
};

test.each(chatApis)('%s: an event of which the text alone is parsed says all that it says', async (api) => {
  const surface = await loadSurface(api);
  let parsed = 0;
  let read = 0;
  const runs = fc.array(
    fc.record({
      shape: shapes[api],
      texts: fc.array(words, { minLength: 1, maxLength: 8 }),
      isEscaped: fc.boolean(),
    }),
    { maxLength: 4 },
  );
  fc.assert(
    fc.property(runs, (all) => {
      const sides = [true, false].map((keepsWhole) => {
        const reader = surface.reader(false);
        const heard: unknown[] = [];
        const counting = {
          event(...args: Parameters<typeof reader.event>) {
            if (!keepsWhole) parsed += 1;
            reader.event(...args);
          },
        };
        return { reader, heard, events: new EventReader(counting, keepsWhole) };
      });
      for (const { shape, texts, isEscaped } of all)
        for (const [nth, text] of texts.entries()) {
          const json = JSON.stringify(shape(text, nth));
          // A service may escape characters that need no escape.
          const data = isEscaped ? json.replace(/"word "(?!.*"word ")/, '"\\u0077ord "') : json;
          for (const { events, heard } of sides)
            events.read(data, {
              hear: (kind, said) => said !== '' && heard.push(kind, said),
              keep: (bytes) => heard.push(bytes),
            });
          read += 1;
        }
      const [whole, quick] = sides.map(({ reader: { usage, finishReason, toolCalls, further }, heard }) => ({
        heard,
        usage,
        finishReason,
        toolCalls,
        further: further?.inOrder(),
      }));
      expect(quick).toEqual(whole);
    }),
    { numRuns: 1000, seed: 20261126 },
  );
  expect(parsed).toBeLessThan(read * 0.9);
});

test('events that are unlike each other are soon no longer compared, and what they say stands', async () => {
  const reader = (await loadSurface('completions')).reader(false);
  const events = new EventReader(reader, false);
  const heard: string[] = [];
  const hears = { hear: (_: string, said: string) => heard.push(said), keep: () => {} };
  const event = (id: number, content: string, completion_tokens: number) =>
    JSON.stringify({ id, choices: [{ delta: { content } }], usage: { completion_tokens } });
  for (let id = 1; id <= 8; id += 1) events.read(event(id, 'a', 3), hears);
  events.read(event(9, '', 4), hears);
  events.read(event(8, 'b', 3), hears);
  expect([heard.join(''), reader.usage.outputTokens]).toEqual(['aaaaaaaab', 3]);
});
