import { expect, test } from 'vitest';
import { CompletionRebuilder } from '../../src/chat/completions/reader.ts';

test('a call keeps its ID and name through fragments that repeat or empty them', () => {
  const rebuilder = new CompletionRebuilder();
  const fragments = [
    { index: 0, id: 'c1', type: 'function', function: { name: 'f', arguments: '{"a"' } },
    { index: 0, id: '', function: { name: 'f', arguments: ':1' } },
    { id: '', function: { arguments: '}' } },
  ];
  for (const fragment of fragments) {
    const choice = { index: 0, delta: { tool_calls: [fragment] } };
    const chunk = { choices: [choice] };
    rebuilder.add(chunk);
  }
  expect(rebuilder.reply()).toMatchObject({
    choices: [
      {
        message: {
          tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }],
        },
      },
    ],
  });
});
