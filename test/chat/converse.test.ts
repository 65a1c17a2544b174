import { describe, expect, test } from 'vitest';
import {
  type ChatAnswer,
  type ChatApi,
  type ChatEvent,
  type ChatRequest,
  chatApis,
} from '../../src/chat/chat.ts';
import { converse } from '../../src/chat/converse.ts';
import { geo } from '../../src/chat/geo/surface.ts';
import { openSession } from '../../src/chat/session/session.ts';
import { judgeAnswer } from '../../src/chat/verdict.ts';
import { answerPrinter } from '../../src/commands/chat/print-answer.ts';
import { GwError } from '../../src/errors.ts';
import type { Endpoint } from '../../src/gateway/endpoint.ts';
import type { Client, Reply, RequestInput } from '../../src/http/client.ts';
import type { WireHead } from '../../src/http/exchange.ts';
import type { Io } from '../../src/io/io.ts';
import { sessionContext, tempDir } from './fixtures.ts';
import { recordedStreams } from './recorded-streams.ts';

// Recorded streams are cut at every byte (promise 12).

interface Came {
  readonly text: string;
  readonly thinking: string;
  readonly raw: string[];
  readonly answer?: ChatAnswer;
  readonly error?: unknown;
}

/** A client whose stream delivers these pieces, then ends normally or with an error. */
const clientOf = (pieces: readonly Uint8Array[], failure?: Error): Pick<Client, 'send' | 'stream'> => ({
  send: () => Promise.reject(new Error('not asked for')),
  async stream(_endpoint, _input, { onHead, takeChunk }) {
    onHead({ status: 200, headers: { 'x-request-id': 'r-1' } } as Partial<WireHead> as WireHead);
    for (const piece of pieces) await takeChunk(piece);
    if (failure) throw failure;
    return undefined;
  },
});

/** A reply as a reader of its JSON sees it. */
const parsed = (reply: unknown): unknown => JSON.parse(JSON.stringify(reply));

/** The reply of an answer as --json prints it. */
async function printed(answer: ChatAnswer | undefined): Promise<string> {
  const out: string[] = [];
  const io = { out: async (text: string) => void out.push(text) } as unknown as Io;
  await answerPrinter(io, { form: 'reply', showThoughts: false }).finish(answer as ChatAnswer);
  return out.join('');
}

async function talk(
  api: ChatApi,
  client: Pick<Client, 'send' | 'stream'>,
  more: Partial<ChatRequest> = {},
): Promise<Came> {
  const came = { text: '', thinking: '', raw: [] as string[] };
  const take = (event: ChatEvent) => {
    if (event.type === 'raw') came.raw.push(event.data);
    else came[event.type] += event.text;
  };
  const turns = [{ role: 'user' as const, parts: [{ type: 'text' as const, text: 'hi' }] }];
  try {
    const answer = await converse({ api, model: 'm', turns, stream: true, ...more }, { client }, take);
    return { ...came, answer };
  } catch (error) {
    return { ...came, error };
  }
}

describe.each(recordedStreams)('$name', (recorded) => {
  const { api, wire, text, thinking, toolCalls, finishReason, usage, reply } = recorded;
  const bytes = Buffer.from(wire);
  const whole = { text, thinking, answer: { text, toolCalls, finishReason, usage } };

  test('says what it says, in two pieces cut at every byte', async () => {
    for (let at = 0; at <= bytes.length; at += 1) {
      const came = await talk(api, clientOf([bytes.subarray(0, at), bytes.subarray(at)]));
      expect(came, `cut at byte ${at}`).toMatchObject(whole);
      expect(parsed(came.answer?.reply), `cut at byte ${at}`).toEqual(reply);
    }
  });

  test('says it byte by byte', async () => {
    const came = await talk(api, clientOf([...bytes].map((byte) => Uint8Array.of(byte))));
    expect(came).toMatchObject(whole);
    expect(parsed(came.answer?.reply)).toEqual(reply);
  });

  test('keeps only what the verdict needs where no more is asked for', async () => {
    const { answer, ...came } = await talk(api, clientOf([bytes]), { keep: 'calls' });
    expect(came).toMatchObject({ text, thinking });
    expect(answer).toMatchObject({ text: '', hasText: text !== '', toolCalls, finishReason, usage });
  });

  test('broken off at every byte: what came is told, then the break', async () => {
    const broken = new GwError('unavailable', 'broken off');
    for (let at = 0; at <= bytes.length; at += 1) {
      const came = await talk(api, clientOf([bytes.subarray(0, at)], broken));
      expect(came.error, `cut at byte ${at}`).toEqual(broken.told({ requestId: 'r-1' }));
      expect(text.startsWith(came.text), `cut at byte ${at}: ${came.text}`).toBe(true);
    }
  });

  test('ended in order at every byte: a whole answer, or an error that says so', async () => {
    let wholes = 0;
    for (let at = 0; at <= bytes.length; at += 1) {
      const came = await talk(api, clientOf([bytes.subarray(0, at)]));
      expect(text.startsWith(came.text), `cut at byte ${at}: ${came.text}`).toBe(true);
      if (came.answer) {
        wholes += 1;
        expect(came.answer, `cut at byte ${at}`).toMatchObject({ text, toolCalls, finishReason });
      } else {
        expect(came.error, `cut at byte ${at}`).toMatchObject({ kind: 'unavailable' });
      }
    }
    // The answer is already whole without the last blank line, but never when less than half of the stream has arrived.
    expect(wholes).toBeGreaterThan(1);
    expect(wholes).toBeLessThan(bytes.length / 2);
  });

  test('gives each event as it came', async () => {
    const { raw } = await talk(api, clientOf([bytes]), { raw: true });
    const sent = wire
      .replace(/^\uFEFF/, '')
      .replaceAll('\r\n', '\n')
      .split('\n\n')
      .map((lines) => lines.split('\n').flatMap((line) => /^data: ?(.*)$/s.exec(line)?.[1] ?? []))
      .filter((lines) => lines.length > 0 && lines[0] !== '[DONE]')
      .map((lines) => lines.join('\n'));
    expect(raw).toEqual(sent);
  });
});

const errors: [ChatApi, string][] = [
  ['completions', '{"error":{"message":"upstream is gone","type":"server_error","code":"E7"}}'],
  ['messages', '{"type":"error","error":{"type":"server_error","message":"upstream is gone","code":"E7"}}'],
  ['geo', '{"error":{"code":"E7","message":"upstream is gone","type":"server_error"}}'],
];
const firstEvents: Record<ChatApi, string> = {
  completions: '{"choices":[{"delta":{"content":"half"}}]}',
  messages: '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"half"}}',
  geo: '{"candidates":[{"content":{"parts":[{"text":"half"}]}}]}',
};

test.each(errors)('%s: an error event in mid-stream comes after what was said', async (api, error) => {
  const wire = `data: ${firstEvents[api]}\n\nevent: error\ndata: ${error}\n\ndata: ${firstEvents[api]}\n\n`;
  const bytes = Buffer.from(wire);
  for (let at = 0; at <= bytes.length; at += 1) {
    const came = await talk(api, clientOf([bytes.subarray(0, at), bytes.subarray(at)]));
    expect(came.text).toBe('half');
    expect(came.error).toMatchObject({
      kind: 'unavailable',
      message: 'the gateway broke off the answer with an error: upstream is gone',
      facts: {
        type: 'server_error',
        code: 'E7',
        requestId: 'r-1',
        hint: 'what came is printed; nothing was sent again',
      },
    });
  }
});

test.each([
  ['half', 'what came is printed; nothing was sent again'],
  ['', 'nothing was sent again'],
])('an event that is not JSON ends the answer with what came: %j', async (text, hint) => {
  const wire = `data: {"choices":[{"delta":{"content":"${text}"}}]}\n\ndata: {"choices":[\n\n`;
  const came = await talk('completions', clientOf([Buffer.from(wire)]));
  expect(came.text).toBe(text);
  expect(came.error).toMatchObject({
    kind: 'unavailable',
    message: 'the stream brought an event that is not JSON: {"choices":[',
    facts: { hint },
  });
});

const odd = [
  ['null', 'null'],
  ['a number', '7'],
  ['an unknown event', '{"type":"weather","sunny":true}'],
  ['choices of another kind', '{"choices":{"a":1}}'],
  ['a null choice', '{"choices":[null]}'],
  ['a delta that is a text', '{"choices":[{"delta":"x"}]}'],
  ['content of another kind', '{"choices":[{"delta":{"content":7}}]}'],
  ['a tool call far away', '{"choices":[{"delta":{"tool_calls":[{"index":1e9,"id":"x"}]}}]}'],
  ['blocks of another kind', '{"type":"content_block_delta","index":"x","delta":null}'],
  ['candidates of another kind', '{"candidates":[7,{"content":7},{"content":{"parts":[null,7]}}]}'],
] as const;
const lastEvents: Record<ChatApi, string> = {
  completions: '{"choices":[{"delta":{},"finish_reason":"stop"}]}',
  messages: '{"type":"message_delta","delta":{"stop_reason":"end_turn"}}',
  geo: '{"candidates":[{"finishReason":"STOP"}]}',
};
describe.each(['completions', 'messages', 'geo'] as const)('%s', (api) => {
  test.each(odd)('is not thrown by %s in the stream', async (_, event) => {
    const wire = [firstEvents[api], event, firstEvents[api], lastEvents[api]]
      .map((line) => `data: ${line}\n\n`)
      .join('');
    const { text, error, answer } = await talk(api, clientOf([Buffer.from(wire)]));
    expect({ text, error }).toEqual({ text: 'halfhalf', error: undefined });
    expect(JSON.stringify(answer?.reply)).not.toContain('weather');
  });

  test('a reply that comes whole in place of a stream is the answer', async () => {
    const recorded = recordedStreams.filter((stream) => stream.api === api);
    for (const { reply, text, thinking, toolCalls, finishReason, usage } of recorded) {
      const client: Pick<Client, 'send' | 'stream'> = {
        ...clientOf([]),
        stream: async () => ({
          status: 200,
          headers: {},
          value: reply as never,
          json: reply,
          text: JSON.stringify(reply),
          bytes: Buffer.from(JSON.stringify(reply)),
          requestId: undefined,
          serverDateMs: undefined,
        }),
      };
      const came = await talk(api, client);
      const calls = toolCalls.map((call) => ({
        ...call,
        arguments: JSON.stringify(JSON.parse(call.arguments)),
      }));
      expect(came).toMatchObject({ text, thinking, answer: { text, finishReason, usage, reply } });
      expect(came.answer?.toolCalls).toEqual(calls);
    }
  });

  test('a stream without an event is an error', async () => {
    for (const wire of ['', '\n\n', ': only a comment\n\n', 'data: [DONE]\n\n', 'hello\n\n']) {
      const came = await talk(api, clientOf([Buffer.from(wire)]));
      expect(came.error, wire).toMatchObject({ kind: 'unavailable' });
    }
  });
});

test('invalid UTF-8 becomes U+FFFD, once a character', async () => {
  const [before, after] = ['data: {"choices":[{"delta":{"content":"a', 'b"},"finish_reason":"stop"}]}\n\n'];
  const bytes = Buffer.concat([
    Buffer.from(before ?? ''),
    Buffer.from([0xff, 0xc3]),
    Buffer.from(after ?? ''),
  ]);
  expect((await talk('completions', clientOf([bytes]))).text).toBe('a\ufffd\ufffdb');
});

test('an event that does not end is refused before it fills the memory', async () => {
  const piece = Buffer.alloc(4 * 1024 * 1024, 'x');
  const pieces = Array.from({ length: 40 }, () => piece);
  const came = await talk('completions', clientOf([Buffer.from('data: '), ...pieces]));
  expect(came.error).toMatchObject({
    kind: 'unavailable',
    message: 'the stream brought an event that does not end',
  });
});

test('a listener that is busy holds the stream back', async () => {
  const order: string[] = [];
  const client: Pick<Client, 'send' | 'stream'> = {
    ...clientOf([]),
    async stream(_endpoint, _input, { takeChunk }) {
      for (const line of [firstEvents.completions, lastEvents.completions]) {
        order.push('read');
        await takeChunk(Buffer.from(`data: ${line}\n\n`));
      }
      return undefined;
    },
  };
  const turns = [{ role: 'user' as const, parts: [{ type: 'text' as const, text: 'hi' }] }];
  await converse({ api: 'completions', model: 'm', turns, stream: true }, { client }, async () => {
    await new Promise((resolve) => setImmediate(resolve));
    order.push('written');
  });
  expect(order).toEqual(['read', 'written', 'read']);
});

test('what the listener throws ends the answer and is thrown on', async () => {
  const closed = new Error('closed');
  const turns = [{ role: 'user' as const, parts: [{ type: 'text' as const, text: 'hi' }] }];
  const client = clientOf([Buffer.from(`data: ${firstEvents.completions}\n\n`)]);
  const talking = converse({ api: 'completions', model: 'm', turns, stream: true }, { client }, () => {
    throw closed;
  });
  await expect(talking).rejects.toBe(closed);
});

/** Gives a whole reply to the endpoint's own schema, and returns the result of the chat. */
function talkWhole(api: ChatApi, json: unknown, stream: boolean): Promise<Came> {
  const reply = ({ reply: reader }: Endpoint) => {
    expect(reader.safeParse(json).success).toBe(true);
    return {
      status: 200,
      headers: {},
      value: json as never,
      json,
      text: JSON.stringify(json),
      bytes: Buffer.from(JSON.stringify(json)),
      requestId: 'r-1',
      serverDateMs: undefined,
    };
  };
  const client: Pick<Client, 'send' | 'stream'> = {
    send: async (endpoint) => reply(endpoint),
    stream: async (endpoint) => reply(endpoint),
  };
  return talk(api, client, { stream });
}

describe.each([true, false])('in one piece, a stream asked for: %s', (stream) => {
  test.each(errors)(
    '%s: an error with status 200 is told in the words of the gateway',
    async (api, error) => {
      expect((await talkWhole(api, JSON.parse(error), stream)).error).toMatchObject({
        kind: 'unavailable',
        message: 'the gateway answered with an error: upstream is gone',
        facts: { type: 'server_error', code: 'E7', requestId: 'r-1' },
      });
    },
  );

  test('geo: a list of replies is one answer, and an error in it comes after what was said', async () => {
    const list = [JSON.parse(firstEvents.geo), JSON.parse(firstEvents.geo), JSON.parse(lastEvents.geo)];
    const came = await talkWhole('geo', list, stream);
    expect(came).toMatchObject({ text: 'halfhalf', answer: { text: 'halfhalf', finishReason: 'STOP' } });
    const broken = await talkWhole('geo', [list[0], { error: { message: 'gone' } }], stream);
    expect(broken).toMatchObject({ text: 'half', error: { kind: 'unavailable' } });
  });

  test('messages: content null is an empty answer', async () => {
    const { answer, error } = await talkWhole('messages', { content: null, stop_reason: 'end_turn' }, stream);
    expect(error).toBeUndefined();
    expect(answer && judgeAnswer(answer).error).toMatchObject({
      kind: 'incomplete',
      facts: { code: 'end_turn' },
    });
  });
});

test('completions: the mark at the end ends an answer without a finish_reason, an end without it does not', async () => {
  const said = `data: ${firstEvents.completions}\n\n`;
  const came = await talk('completions', clientOf([Buffer.from(`${said}data: [DONE]\n\n`)]));
  expect(came).toMatchObject({ text: 'half', answer: { text: 'half', finishReason: undefined } });
  expect(came.answer && judgeAnswer(came.answer)).toEqual({});
  const cut = await talk('completions', clientOf([Buffer.from(said)]));
  expect(cut).toMatchObject({ text: 'half', error: { kind: 'unavailable' } });
});

test.each(['completions', 'messages', 'geo'] as const)(
  '%s: an event without data says nothing',
  async (api) => {
    const wire = Buffer.from(`data:\n\ndata: ${firstEvents[api]}\n\ndata: \n\n`);
    const { text, error } = await talk(api, clientOf([wire]));
    expect({ text, error }).toMatchObject({
      text: 'half',
      error: { message: 'the stream ended before the answer did' },
    });
  },
);

test('completions: a name that comes with every fragment of a call is taken once', async () => {
  const named = (fields: object) => ({ choices: [{ delta: { tool_calls: [{ index: 0, ...fields }] } }] });
  const events = [
    named({ id: 'c1', type: 'function', function: { name: 'f', arguments: '{"a"' } }),
    named({ function: { name: 'f', arguments: ':1}' } }),
    { choices: [{ delta: {}, finish_reason: 'tool_calls' }] },
  ];
  const wire = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
  const { answer } = await talk('completions', clientOf([Buffer.from(wire)]));
  expect(answer?.toolCalls).toEqual([{ id: 'c1', name: 'f', arguments: '{"a":1}' }]);
  const called = { name: 'f', arguments: '{"a":1}' };
  expect(answer?.reply).toMatchObject({ choices: [{ message: { tool_calls: [{ function: called }] } }] });
});

test.each(['completions', 'messages', 'geo'] as const)(
  '%s: an error event with no more than a message',
  async (api) => {
    for (const error of [{ message: 'too busy' }, { type: 'error', message: 'too busy' }]) {
      const wire = `data: ${firstEvents[api]}\n\nevent: error\ndata: ${JSON.stringify(error)}\n\n`;
      expect(await talk(api, clientOf([Buffer.from(wire)]))).toMatchObject({
        text: 'half',
        error: { message: 'the gateway broke off the answer with an error: too busy' },
      });
    }
  },
);

test('geo: a reply put together from events has an index only where one came', async () => {
  const wire = `data: ${firstEvents.geo}\n\ndata: ${lastEvents.geo}\n\n`;
  const { answer } = await talk('geo', clientOf([Buffer.from(wire)]));
  expect(answer?.reply).toEqual({
    candidates: [{ content: { parts: [{ text: 'half' }], role: 'model' }, finishReason: 'STOP' }],
  });
});

test.each([
  [
    'completions',
    { choices: ['one', 'two'].map((content) => ({ delta: { content }, finish_reason: 'stop' })) },
  ],
  [
    'geo',
    { candidates: ['one', 'two'].map((text) => ({ content: { parts: [{ text }] }, finishReason: 'STOP' })) },
  ],
] as const)('%s: answers without an index are told apart by their places', async (api, event) => {
  const { text, answer } = await talk(api, clientOf([Buffer.from(`data: ${JSON.stringify(event)}\n\n`)]));
  expect([text, answer?.further]).toMatchObject(['one', [{ text: 'two' }]]);
});

test.each([
  [
    'completions',
    { choices: ['one', null].map((content) => ({ delta: { content }, finish_reason: 'length' })) },
  ],
  [
    'geo',
    {
      candidates: [{ text: 'one' }, { functionCall: {} }].map((part) => ({
        content: { parts: [part] },
        finishReason: 'length',
      })),
    },
  ],
] as const)('%s: a further answer without words is one, with the reason it ended', async (api, event) => {
  const { answer } = await talk(api, clientOf([Buffer.from(`data: ${JSON.stringify(event)}\n\n`)]));
  expect(answer?.further).toEqual([{ text: '', finishReason: 'length' }]);
});

describe('arguments of a call are told as they were written', () => {
  const written = '{"n":12345678901234567890,"x":1.0,"s":"\\u00e9 ]}"}';
  const input = written.replace('"x"', '\n "x" ');
  const call = `{"type":"tool_use","id":"c","name":"f","input":${input}}`;
  const part = `{"functionCall":{"name":"f","args":${input}}}`;
  const candidate = `{"content":{"parts":[{"text":"so"},${part}]},"finishReason":"STOP"}`;
  const called = `{"id":"c","function":{"name":"f","arguments":${input}}}`;
  const end = '{"type":"message_stop"}';
  const begin = `{"type":"content_block_start","index":0,"content_block":${call}}`;
  const whole: readonly [ChatApi, string][] = [
    ['messages', `{"content":[{"type":"text","text":"so"},${call}],"stop_reason":"tool_use"}`],
    ['geo', `{"candidates":[${candidate}]}`],
    ['geo', `[{"candidates":[]}, {"candidates": [${candidate}]}]`],
    ['completions', `{"choices":[{"message":{"tool_calls":[${called}]},"finish_reason":"tool_calls"}]}`],
  ];
  const delta = { type: 'input_json_delta', partial_json: written };
  const streams: readonly [ChatApi, string[]][] = [
    ['messages', [begin, end]],
    ['messages', [begin.replace(input, '{}'), JSON.stringify({ type: 'content_block_delta', delta }), end]],
    ['geo', [`{"candidates":[${candidate}]}`]],
    ['completions', [`{"choices":[{"delta":{"tool_calls":[${called}]},"finish_reason":"tool_calls"}]}`]],
  ];

  test.each(whole)('on %s without a stream: %s', async (api, text) => {
    const bytes = Buffer.from(text);
    const reply = { text, bytes, json: JSON.parse(text) } as Partial<Reply<never>> as Reply<never>;
    const client = { send: async () => reply, stream: async () => reply };
    for (const stream of [true, false]) {
      const { answer } = await talk(api, client, { stream });
      expect(answer?.toolCalls.map((told) => told.arguments)).toEqual([written]);
    }
  });

  test.each(streams)('on %s in a stream: %s', async (api, events) => {
    const bytes = Buffer.from(events.map((data) => `data: ${data.replace('\n', '')}\n\n`).join(''));
    for (const keep of ['whole', 'calls'] as const) {
      const { answer } = await talk(api, clientOf([bytes]), { keep });
      expect(answer?.toolCalls.map((told) => told.arguments)).toEqual([written]);
    }
    const { answer } = await talk(api, clientOf([bytes]), { keep: 'reply' });
    // The arguments of completions are a text in the reply.
    expect(await printed(answer)).toContain(api === 'completions' ? JSON.stringify(written) : `:${written}`);
  });

  const signature = '{"thoughtSignature":"s","functionCall"';
  const thought =
    '{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"t"}}';
  test.each<[string, ChatApi, string[]]>([
    ['a call', 'messages', [begin, end]],
    ['a call after a thought', 'messages', [thought, begin.replace('"index":0', '"index":1'), end]],
    ['a call', 'geo', [`{"candidates":[${candidate}]}`]],
    ['a signed call', 'geo', [`{"candidates":[${candidate.replace('{"functionCall"', signature)}]}`]],
  ])('%s on %s is sent again with its integers, from a session too', async (_, api, events) => {
    const bytes = Buffer.from(events.map((data) => `data: ${data.replace('\n', '')}\n\n`).join(''));
    const { answer } = await talk(api, clientOf([bytes]));
    const dir = tempDir();
    const { turn } = answer as ChatAnswer;
    await (await openSession('s', {}, sessionContext(dir))).append([turn]);
    const result = { role: 'tool', toolCallId: 'c', content: written } as const;
    for (const turns of [[turn], (await openSession('s', {}, sessionContext(dir))).turns]) {
      let sent = '';
      const send = async (_: Endpoint, { body, bodyText = JSON.stringify(body) }: RequestInput) => {
        sent = bodyText;
        throw new Error('not answered');
      };
      await talk(api, { send, stream: send }, { turns: [...turns, result], stream: false });
      // On messages a result is a text.
      expect(sent.match(/"n":12345678901234567890/g)).toHaveLength(api === 'geo' ? 2 : 1);
    }
  });

  test.each<[ChatApi, string[]]>([
    ['messages', ['{"type":"message_start","message":{"at":9007199254740993,"usage":{}}}', end]],
    ['geo', [`{"candidates":[${candidate}],"at":9007199254740993}`]],
    ['completions', ['{"at":9007199254740993,"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}']],
  ])('an integer of a streamed reply on %s stays as it came', async (api, events) => {
    const bytes = Buffer.from(events.map((data) => `data: ${data.replace('\n', '')}\n\n`).join(''));
    const { answer } = await talk(api, clientOf([bytes]), { keep: 'reply' });
    expect(await printed(answer)).toContain('"at":9007199254740993');
  });

  test('a signed call is sent again as an object', async () => {
    const signed = candidate.replace('{"functionCall"', signature);
    const { answer } = await talk(
      'geo',
      clientOf([Buffer.from(`data: {"candidates":[${signed.replace('\n', '')}]}\n\n`)]),
    );
    const { turn } = answer as ChatAnswer;
    expect(turn.native?.api).toBe('geo');
    const body = geo.body({ model: 'm', turns: [turn], stream: true });
    expect(geo.schema('m').safeParse(body)).toMatchObject({ success: true });
    expect(parsed(body)).toMatchObject({
      contents: [
        { parts: [{ text: 'so' }, { thoughtSignature: 's', functionCall: { args: { x: 1, s: 'é ]}' } } }] },
      ],
    });
  });
});

describe('an answer without an end', () => {
  const words = 'x'.repeat(1024 * 1024);
  const sayings: Record<ChatApi, unknown> = {
    completions: { choices: [{ index: 0, delta: { content: words } }] },
    messages: { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: words } },
    geo: { candidates: [{ content: { parts: [{ text: words }] } }] },
  };
  const calls: Record<ChatApi, unknown> = {
    completions: { choices: [{ index: 0, delta: { tool_calls: [{ function: { arguments: words } }] } }] },
    messages: {
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'input_json_delta', partial_json: words },
    },
    geo: { candidates: [{ content: { parts: [{ functionCall: { name: 'f', args: { words } } }] } }] },
  };
  /** Delivers the same event 66 times, 66 MiB in all. Returns how many events were read. */
  const endless = (event: unknown) => {
    const bytes = Buffer.from(`data: ${JSON.stringify(event)}\n\n`);
    const told = { count: 0 };
    const client: Pick<Client, 'send' | 'stream'> = {
      send: () => Promise.reject(new Error('not asked for')),
      async stream(_endpoint, _input, { takeChunk }) {
        for (; told.count < 66; told.count += 1) await takeChunk(bytes);
        return undefined;
      },
    };
    return { client, told };
  };
  const tooLong = {
    kind: 'unavailable',
    message: 'the answer grew beyond 64 MiB, more than gw keeps of one, and was broken off',
  };

  // Whether the text is kept beside the reply is the same code for all three.
  test.each([...chatApis.map((api) => [api, 'whole'] as const), ['completions', 'reply'] as const])(
    'of %s is kept up to 64 MiB, and what came is told (%s)',
    async (api, keep) => {
      const { client, told } = endless(sayings[api]);
      const came = await talk(api, client, { keep });
      expect(came.error).toMatchObject(tooLong);
      expect([63, 64]).toContain(told.count);
      expect(came.text).toHaveLength((told.count + 1) * words.length);
    },
  );

  test.each(chatApis)('of %s that is not kept has no bound, but for its tool calls', async (api) => {
    const text = endless(sayings[api]);
    expect((await talk(api, text.client, { keep: 'calls' })).text).toHaveLength(66 * words.length);
    expect(text.told.count).toBe(66);
    const called = endless(calls[api]);
    expect((await talk(api, called.client, { keep: 'calls' })).error).toMatchObject(tooLong);
    expect([63, 64]).toContain(called.told.count);
  });

  test('of many small calls ends too', async () => {
    const event = (id: number) => {
      const fragment = { id: `c${id}`, function: { name: 'f' } };
      return `data: ${JSON.stringify({ choices: [{ index: 0, delta: { tool_calls: [fragment] } }] })}\n\n`;
    };
    const pieces = Array.from({ length: 20_000 }, (_, id) => Buffer.from(event(id)));
    expect((await talk('completions', clientOf(pieces), { keep: 'calls' })).error).toMatchObject(tooLong);
  });
});
