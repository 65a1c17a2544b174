import type { ChatApi, ChatUsage, ToolCall } from '../../src/chat/chat.ts';

/** A recorded stream, and the content that it has. */
export interface RecordedStream {
  readonly name: string;
  readonly api: ChatApi;
  readonly wire: string;
  readonly text: string;
  readonly thinking: string;
  readonly toolCalls: readonly ToolCall[];
  readonly finishReason: string;
  readonly usage: ChatUsage;
  /** The same reply without streaming. */
  readonly reply: unknown;
}

const data = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`;
const event = (value: { readonly type: string; readonly [field: string]: unknown }) =>
  `event: ${value.type}\n${data(value)}`;

const chunk = (delta: unknown, finish_reason: string | null = null, more: object = {}) =>
  data({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1795190400,
    model: 'geo-3.6-flash',
    choices: [{ index: 0, delta, finish_reason }],
    ...more,
  });

const completion = (message: object, finish_reason: string, usage?: object) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1795190400,
  model: 'geo-3.6-flash',
  choices: [{ index: 0, message: { role: 'assistant', content: null, ...message }, finish_reason }],
  ...(usage && { usage }),
});

const used = {
  prompt_tokens: 3,
  completion_tokens: 9,
  total_tokens: 12,
  completion_tokens_details: { reasoning_tokens: 4 },
  prompt_tokens_details: { cached_tokens: 2 },
};
const callOf = (id: string, name: string, text: string) => ({
  id,
  type: 'function',
  function: { name, arguments: text },
});
const called = (index: number, ...call: Parameters<typeof callOf>) =>
  chunk({ tool_calls: [{ index, ...callOf(...call) }] });

/** Events of the block at an index. */
const block = (index: number, content_block: object) =>
  event({ type: 'content_block_start', index, content_block });
const delta = (index: number, type: string, fields: object) =>
  event({ type: 'content_block_delta', index, delta: { type, ...fields } });
const stop = (index: number) => event({ type: 'content_block_stop', index });

const candidate = (parts: readonly object[], more: object = {}) => ({
  candidates: [{ content: { parts, role: 'model' }, ...more }],
});
const figures = {
  promptTokenCount: 5,
  cachedContentTokenCount: 4,
  candidatesTokenCount: 8,
  thoughtsTokenCount: 3,
  totalTokenCount: 16,
};
const weatherIn = (city: string) => ({ functionCall: { name: 'weather', args: { city } } });

const emoji = 'Grüße 🦊 und\n„mehr“ 👩‍👩‍👧';
const pieces = ['Grüße ', '🦊 und\n', '„mehr“ ', '👩‍👩‍👧'];

export const recordedStreams: readonly RecordedStream[] = [
  {
    name: 'completions: text with emoji, usage in a chunk of its own',
    api: 'completions',
    wire: [
      chunk({ role: 'assistant', content: '' }),
      ...pieces.map((content) => chunk({ content })),
      chunk({}, 'stop'),
      data({
        id: 'chatcmpl-1',
        object: 'chat.completion.chunk',
        created: 1795190400,
        model: 'geo-3.6-flash',
        choices: [],
        usage: used,
      }),
      'data: [DONE]\n\n',
    ].join(''),
    text: emoji,
    thinking: '',
    toolCalls: [],
    finishReason: 'stop',
    usage: { inputTokens: 3, cachedTokens: 2, outputTokens: 9, reasoningTokens: 4, totalTokens: 12 },
    reply: completion({ content: emoji }, 'stop', used),
  },
  {
    name: 'completions: CRLF, comments, a byte order mark, data in several lines, no [DONE]',
    api: 'completions',
    wire: `\uFEFF${[
      chunk({ role: 'assistant', content: 'one ' }),
      ': keep-alive\n\n:\n\nretry: 10\nid: 7\nevent: message\n',
      'data: {"id":"chatcmpl-1",\ndata:  "choices":[{"index":0,\ndata:"delta":{"content":"two"},\ndata: "finish_reason":null}]}\n\n',
      ': almost there\n',
      chunk({ content: '\u2028three' }, 'stop'),
    ]
      .join('')
      .replaceAll('\n', '\r\n')}`,
    text: 'one two\u2028three',
    thinking: '',
    toolCalls: [],
    finishReason: 'stop',
    usage: {},
    reply: completion({ content: 'one two\u2028three' }, 'stop'),
  },
  {
    name: 'completions: reasoning, then two tool calls in fragments',
    api: 'completions',
    wire: [
      chunk({ role: 'assistant', content: null, reasoning_content: 'let me ' }),
      chunk({ reasoning_content: 'look' }),
      called(0, 'call_a', 'weather', ''),
      chunk({ tool_calls: [{ index: 0, function: { arguments: '{"city":"K' } }] }),
      chunk({ tool_calls: [{ index: 0, function: { arguments: 'öln"}' } }] }),
      called(1, 'call_b', 'time', '{}'),
      chunk({}, 'tool_calls'),
      'data: [DONE]\n\n',
      'data: [DONE]\n\n',
    ].join(''),
    text: '',
    thinking: 'let me look',
    toolCalls: [
      { id: 'call_a', name: 'weather', arguments: '{"city":"Köln"}' },
      { id: 'call_b', name: 'time', arguments: '{}' },
    ],
    finishReason: 'tool_calls',
    usage: {},
    reply: completion(
      {
        reasoning_content: 'let me look',
        tool_calls: [callOf('call_a', 'weather', '{"city":"Köln"}'), callOf('call_b', 'time', '{}')],
      },
      'tool_calls',
    ),
  },
  {
    name: 'messages: the full sequence, with thinking, text, a tool call and pings',
    api: 'messages',
    wire: [
      event({
        type: 'message_start',
        message: {
          id: 'msg_1',
          type: 'message',
          role: 'assistant',
          model: 'm',
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage: { input_tokens: 11, output_tokens: 1 },
        },
      }),
      block(0, { type: 'thinking', thinking: '' }),
      event({ type: 'ping' }),
      delta(0, 'thinking_delta', { thinking: 'hm ' }),
      delta(0, 'thinking_delta', { thinking: 'yes' }),
      delta(0, 'signature_delta', { signature: 'c2ln' }),
      stop(0),
      block(1, { type: 'text', text: '' }),
      ...pieces.map((text) => delta(1, 'text_delta', { text })),
      stop(1),
      block(2, { type: 'tool_use', id: 'toolu_1', name: 'weather', input: {} }),
      delta(2, 'input_json_delta', { partial_json: '{"city": "K' }),
      delta(2, 'input_json_delta', { partial_json: 'öln"}' }),
      stop(2),
      event({
        type: 'message_delta',
        delta: { stop_reason: 'tool_use', stop_sequence: null },
        // A null here means that an earlier event had the value.
        usage: { input_tokens: null, output_tokens: 40, output_tokens_details: { thinking_tokens: 7 } },
      }),
      event({ type: 'message_stop' }),
    ].join(''),
    text: emoji,
    thinking: 'hm yes',
    toolCalls: [{ id: 'toolu_1', name: 'weather', arguments: '{"city": "Köln"}' }],
    finishReason: 'tool_use',
    usage: { inputTokens: 11, outputTokens: 40, reasoningTokens: 7, totalTokens: 51 },
    reply: {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [
        { type: 'thinking', thinking: 'hm yes', signature: 'c2ln' },
        { type: 'text', text: emoji },
        { type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Köln' } },
      ],
      stop_reason: 'tool_use',
      stop_sequence: null,
      usage: { input_tokens: 11, output_tokens: 40, output_tokens_details: { thinking_tokens: 7 } },
    },
  },
  {
    name: 'geo: thoughts, text with emoji, two calls of one function, figures at the end',
    api: 'geo',
    wire: [
      data({
        ...candidate([{ text: 'first ', thought: true }], { index: 0 }),
        modelVersion: 'geo-3.6-flash',
        responseId: 'r1',
      }),
      data(candidate([{ text: 'look', thought: true }], { index: 0 })),
      ...pieces.map((text) => data(candidate([{ text }]))),
      data({
        ...candidate([weatherIn('Köln'), weatherIn('Bonn')], { finishReason: 'STOP', index: 0 }),
        usageMetadata: figures,
      }),
    ].join(''),
    text: emoji,
    thinking: 'first look',
    toolCalls: [
      { id: 'weather', name: 'weather', arguments: '{"city":"Köln"}' },
      { id: 'weather-2', name: 'weather', arguments: '{"city":"Bonn"}' },
    ],
    finishReason: 'STOP',
    usage: { inputTokens: 5, cachedTokens: 4, outputTokens: 11, reasoningTokens: 3, totalTokens: 16 },
    reply: {
      ...candidate(
        [{ text: 'first look', thought: true }, { text: emoji }, weatherIn('Köln'), weatherIn('Bonn')],
        { finishReason: 'STOP', index: 0 },
      ),
      modelVersion: 'geo-3.6-flash',
      responseId: 'r1',
      usageMetadata: figures,
    },
  },
];
