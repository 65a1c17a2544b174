import { expect, test } from 'vitest';
import { CompletionRebuilder } from '../../src/chat/completions/reader.ts';

test('a call keeps its ID and name through fragments that repeat or empty them', () => {
  const rebuilder = new CompletionRebuilder();
  const fragments = [
    { index: 0, id: 'c1', type: 'function', function: { name: 'f', arguments: '{"a"' } },
    { index: 0, id: '', function: { name: 'f', arguments: ':1' } },
    { id: '', function: { arguments: '}' } },
  ];
  for (const fragment of fragments)
    rebuilder.add({ choices: [{ index: 0, delta: { tool_calls: [fragment] } }] });
  const call = { id: 'c1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } };
  expect(rebuilder.reply()).toMatchObject({ choices: [{ message: { tool_calls: [call] } }] });
});

test('calls that are counted from 1, or bring their arguments as an object, are whole', () => {
  const rebuilder = new CompletionRebuilder();
  for (const fragment of [
    { index: 2, id: 'c2', function: { name: 'g', arguments: { b: 2 } } },
    { index: 1, id: 'c1', function: { name: 'f', arguments: '' } },
    { index: 1, function: { arguments: '{"a":1}' } },
  ])
    rebuilder.add({ choices: [{ index: 0, delta: { tool_calls: [fragment] } }] });
  const calls = [
    { id: 'c1', function: { name: 'f', arguments: '{"a":1}' } },
    { id: 'c2', function: { name: 'g', arguments: '{"b":2}' } },
  ];
  expect(rebuilder.reply()).toMatchObject({ choices: [{ message: { tool_calls: calls } }] });
});
