import { expect, test } from 'vitest';
import type { ChatAnswer } from '../../src/chat/chat.ts';
import { judgeAnswer, usageLine } from '../../src/chat/verdict.ts';

const answer = (more: Partial<ChatAnswer>): ChatAnswer => ({
  text: '',
  hasText: false,
  toolCalls: [],
  finishReason: undefined,
  usage: {},
  turn: { role: 'assistant', text: '' },
  reply: undefined,
  ...more,
});
const call = { id: 'a', name: 'f', arguments: '{}' };
const cutCall = { ...call, arguments: '{"ci' };

const table: [string, Partial<ChatAnswer>, 'fine' | 'warning' | RegExp][] = [
  ['text, stop', { hasText: true, finishReason: 'stop' }, 'fine'],
  ['text, end_turn', { hasText: true, finishReason: 'end_turn' }, 'fine'],
  ['text, stop_sequence', { hasText: true, finishReason: 'stop_sequence' }, 'fine'],
  ['text, STOP', { hasText: true, finishReason: 'STOP' }, 'fine'],
  ['text, no reason', { hasText: true }, 'fine'],
  ['text, a reason nobody knows', { hasText: true, finishReason: 'weird' }, 'fine'],
  ['text, length', { hasText: true, finishReason: 'length' }, 'warning'],
  ['text, max_tokens', { hasText: true, finishReason: 'max_tokens' }, 'warning'],
  ['text, MAX_TOKENS', { hasText: true, finishReason: 'MAX_TOKENS' }, 'warning'],
  [
    'text, content_filter',
    { hasText: true, finishReason: 'content_filter' },
    /a filter ended the answer \(content_filter\)/,
  ],
  ['text, SAFETY', { hasText: true, finishReason: 'SAFETY' }, /a filter ended/],
  ['nothing, content_filter', { finishReason: 'content_filter' }, /a filter ended/],
  ['nothing, refusal', { finishReason: 'refusal' }, /a filter ended/],
  ['nothing, PROHIBITED_CONTENT', { finishReason: 'PROHIBITED_CONTENT' }, /a filter ended/],
  ['nothing, length', { finishReason: 'length' }, /used up before any text came \(length\)$/],
  [
    'nothing, max_tokens, with figures',
    { finishReason: 'max_tokens', usage: { outputTokens: 50 } },
    /used up before any text came \(max_tokens\): 50 tokens were used$/,
  ],
  [
    'nothing, MAX_TOKENS, with reasoning',
    { finishReason: 'MAX_TOKENS', usage: { outputTokens: 50, reasoningTokens: 48 } },
    /\(MAX_TOKENS\): 48 of 50 tokens went into reasoning$/,
  ],
  ['nothing, stop', { finishReason: 'stop' }, /^the answer holds no text \(stop\)$/],
  ['nothing at all', {}, /^the answer holds no text$/],
  ['calls, tool_calls', { toolCalls: [call], finishReason: 'tool_calls' }, 'fine'],
  ['calls, tool_use', { toolCalls: [call], finishReason: 'tool_use', hasText: true }, 'fine'],
  ['calls, STOP', { toolCalls: [{ ...call, arguments: '' }], finishReason: 'STOP' }, 'fine'],
  ['calls, length', { toolCalls: [call], finishReason: 'length' }, 'warning'],
  [
    'cut calls, length',
    { toolCalls: [cutCall], finishReason: 'length' },
    /arguments that are not whole JSON/,
  ],
];
test.each(table)('%s', (_, came, wanted) => {
  const { error, warning } = judgeAnswer(answer(came));
  if (wanted === 'fine') expect({ error, warning }).toEqual({ error: undefined, warning: undefined });
  else if (wanted === 'warning') {
    expect(error).toBeUndefined();
    expect(warning).toMatch(/^the answer is cut short.*--max-tokens$/);
  } else {
    expect(error).toMatchObject({ kind: 'incomplete', exitCode: 11, message: expect.stringMatching(wanted) });
  }
});

test.each([
  ['length', '--reasoning-effort'],
  ['max_tokens', '--thinking'],
  ['MAX_TOKENS', '--thinking'],
])('the hint of an answer without text that ended with %s names a flag of its surface', (reason, flag) => {
  const { error } = judgeAnswer(answer({ finishReason: reason }));
  expect(error?.facts.hint).toBe(
    `raise the output limit with --max-tokens, or let the model reason less (${flag})`,
  );
});

test.each<[string, string | undefined, string | undefined]>([
  ['words', 'STOP', undefined],
  ['words', undefined, undefined],
  ['words', 'MAX_TOKENS', 'answer 2 is cut short (MAX_TOKENS)'],
  ['words', 'SAFETY', 'a filter ended answer 2 (SAFETY)'],
  ['', 'tool_calls', 'answer 2 holds no text (tool_calls): see the whole reply with --json'],
  ['', undefined, 'answer 2 holds no text: see the whole reply with --json'],
])('a further answer of %j that ended with %s', (text, finishReason, warning) => {
  const further = [
    { text, finishReason },
    { text: 'third', finishReason: 'STOP' },
  ];
  const came = { hasText: true, finishReason: 'STOP', further };
  expect(judgeAnswer(answer(came))).toEqual(warning === undefined ? {} : { warning });
  const cut = judgeAnswer(answer({ ...came, finishReason: 'MAX_TOKENS' })).warning;
  expect(cut).toMatch(/^the answer is cut short.*--max-tokens/);
  expect(cut?.endsWith(warning ?? '--max-tokens')).toBe(true);
});

test('figures are told as far as they came', () => {
  expect(usageLine({})).toBeUndefined();
  expect(usageLine({ inputTokens: 3, outputTokens: 9, reasoningTokens: 4, totalTokens: 12 })).toBe(
    'tokens: 3 in, 9 out (4 of them reasoning), 12 in all',
  );
  expect(usageLine({ outputTokens: 9 })).toBe('tokens: 9 out');
  expect(usageLine({ inputTokens: 9, cachedTokens: 8 })).toBe('tokens: 9 in (8 of them cached)');
  const cached = { cacheWrittenTokens: 100, cacheReadTokens: 50 };
  expect(usageLine({ inputTokens: 10, ...cached, outputTokens: 20, totalTokens: 180 })).toBe(
    'tokens: 10 in, 100 written to the cache, 50 read from the cache, 20 out, 180 in all',
  );
});
