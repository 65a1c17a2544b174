import { describe, expect, it } from 'vitest';
import {
  assembleCompletions,
  assembleMessages,
  completions,
  eventsOf,
  geo,
  geoAuth,
  messages,
  messagesAuth,
  quick,
  surfaces,
  withUsage,
} from './chat-fixture.ts';
import { type Answer, ask, auth, handClock, json, key, pngUri } from './fixture.ts';

const user = (content: unknown) => [{ role: 'user', content }];
const weather = {
  type: 'object',
  properties: {
    city: { type: 'string' },
    days: { type: 'integer', minimum: 1, maximum: 7 },
    unit: { type: 'string', enum: ['C', 'F'] },
  },
  required: ['city'],
};
const weatherTool = { type: 'function', function: { name: 'get_weather', parameters: weather } };

describe.each(surfaces)('$name', (surface) => {
  it('says what it read, the same each time, and differently to another question', async () => {
    const at = await quick({ now: handClock().now });
    const [one, again, other] = [
      await surface.say(at, 'hello there', false),
      await surface.say(at, 'hello there', false),
      await surface.say(at, 'hello you', false),
    ];
    expect(one.status, one.text).toBe(200);
    expect(one.headers['content-type']).toContain('application/json');
    expect(surface.text(json(one))).toMatch(/^I read 1 message\. You wrote: "hello there"\. \w/);
    expect(again.text).toBe(one.text);
    expect(other.text).not.toBe(one.text);
  });

  it.each(['hello there', '3 words', 'show me markdown', 'sensitive-text'])(
    'streams %j as it would have come unstreamed',
    async (prompt) => {
      const at = await quick({ now: handClock().now });
      const streamed = await surface.say(at, prompt, true);
      expect(streamed.headers['content-type']).toBe('text/event-stream');
      expect(streamed.headers).not.toHaveProperty('content-length');
      expect(surface.assemble(eventsOf(streamed.text))).toEqual(json(await surface.say(at, prompt, false)));
    },
  );

  it('writes as many words as are asked for', async () => {
    const at = await quick();
    const reply = json(await surface.say(at, 'give me 250 words on ferns', false));
    expect(surface.text(reply)?.split(' ')).toHaveLength(250);
  });

  it('takes a prompt of megabytes', async () => {
    const at = await quick();
    const answer = await surface.say(at, 'y\n'.repeat(2_000_000), false);
    expect(answer.status).toBe(200);
    expect(answer.text).toMatch(/20000\d\d/);
  });

  it('stops at the content filter with 200 and no text', async () => {
    const reply = json(await surface.say(await quick(), 'a sensitive-text here', false));
    expect(surface.text(reply) ?? '').toBe('');
    expect(JSON.stringify(reply)).toMatch(/"(content_filter|refusal|SAFETY)"/);
  });
});

describe('credentials', () => {
  it.each<[string, (headers: Record<string, string>) => Promise<Answer>, Record<string, string>, number]>([
    ['completions with Bearer', async (h) => completions(await quick(), {}, h), auth, 200],
    ['completions with x-api-key', async (h) => completions(await quick(), {}, h), messagesAuth, 401],
    ['messages with x-api-key', async (h) => messages(await quick(), {}, h), messagesAuth, 200],
    ['messages with Bearer alone', async (h) => messages(await quick(), {}, h), auth, 200],
    ['messages with another key', async (h) => messages(await quick(), {}, h), { 'x-api-key': 'no' }, 401],
    [
      'messages with a restricted key',
      async (h) => messages(await quick(), {}, h),
      { 'x-api-key': `${key}-restricted` },
      403,
    ],
    ['messages without version', async (h) => messages(await quick(), {}, h), { 'x-api-key': key }, 400],
    [
      'messages with a version that is no date',
      async (h) => messages(await quick(), {}, h),
      { 'x-api-key': key, 'provider-version': 'v1' },
      400,
    ],
    [
      'messages with a month 13',
      async (h) => messages(await quick(), {}, h),
      { 'x-api-key': key, 'provider-version': '2023-13-01' },
      400,
    ],
    ['geo with its header', async (headers) => geo(await quick(), {}, { headers }), geoAuth, 200],
    ['geo with Bearer', async (headers) => geo(await quick(), {}, { headers }), auth, 401],
    [
      'geo stream with Bearer',
      async (headers) => geo(await quick(), {}, { headers, stream: true }),
      auth,
      401,
    ],
  ])('%s', async (_, send, headers, status) => {
    const answer = await send(headers);
    expect(answer.status).toBe(status);
    if (status === 400) expect(json(answer).error.message).toContain('provider-version');
    if (status !== 200) expect(json(answer).error).toMatchObject({ message: expect.any(String) });
  });
});

describe('what is refused with 400', () => {
  const thinkingConfig = (config: unknown) => ({ generationConfig: { thinkingConfig: config } });
  const level = (thinking_level: string) => ({
    extra_body: { geo: { thinking_config: { thinking_level } } },
  });
  const image = (url: string) => user([{ type: 'image_url', image_url: { url } }]);
  const notAnImage = `data:image/png;base64,${Buffer.from('<html>').toString('base64')}`;

  it.each<[string, Record<string, unknown>, string]>([
    ['a model that is none', { model: 'geo-9' }, 'geo-3.5-flash, geo-3.6-flash'],
    ['a video model', { model: 'alpha-video-2-5-260628' }, 'model'],
    ['a level that is none', level('enormous'), 'thinking_level'],
    ['a level on another model', { model: 'sandbox-chat-1', ...level('low') }, 'thinking_config'],
    ['an image that is none', { messages: image(notAnImage) }, 'messages[0].content[0].image_url.url'],
    ['a forced tool without tools', { tool_choice: 'required' }, 'tool_choice'],
    [
      'a forced tool that is not there',
      { tools: [weatherTool], tool_choice: { type: 'function', function: { name: 'fly' } } },
      'fly',
    ],
    [
      'a result of no call',
      { messages: [...user('x'), { role: 'tool', tool_call_id: 'call_9', content: '1' }] },
      'messages[1].tool_call_id',
    ],
    ['a format that is none', { response_format: { type: 'yaml' } }, 'response_format.type'],
    ['a format without its schema', { response_format: { type: 'json_schema' } }, 'schema'],
  ])('completions: %s', async (_, over, named) => {
    const answer = await completions(await quick({ strict: true }), over);
    expect([answer.status, answer.text]).toEqual([400, expect.stringContaining(named)]);
    expect(json(answer).error.message).toMatch(/^Invalid parameter [^\n]+\.$/);
  });

  it.each<[string, Record<string, unknown>, string]>([
    ['a model of other endpoints', { model: 'geo-3.6-flash' }, 'sandbox-chat-1 is'],
    ['a forced tool without tools', { tool_choice: { type: 'any' } }, 'tool_choice'],
    [
      'a result of no call',
      { messages: user([{ type: 'tool_result', tool_use_id: 'toolu_9', content: '1' }]) },
      'messages[0].content[0].tool_use_id',
    ],
    [
      'an image that is none',
      {
        messages: user([
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'PGh0bWw+' } },
        ]),
      },
      'messages[0].content[0].source.data',
    ],
  ])('messages: %s', async (_, over, named) => {
    const answer = await messages(await quick({ strict: true }), over);
    expect([answer.status, answer.text]).toEqual([400, expect.stringContaining(named)]);
  });

  it.each<[string, Record<string, unknown>, string, string]>([
    ['a model that is none', {}, 'geo-9', 'geo-3.7-flash'],
    ['a model of other endpoints', {}, 'sandbox-chat-1', 'geo-3.7-flash'],
    ['a level that is none', thinkingConfig({ thinkingLevel: 'HUGE' }), 'geo-3.6-flash', 'thinkingLevel'],
    ['nine candidates', { generationConfig: { candidateCount: 9 } }, 'geo-3.6-flash', 'candidateCount'],
    ['the model in the body', { model: 'geo-3.6-flash' }, 'geo-3.6-flash', 'model'],
    [
      'an image that is none',
      { contents: [{ parts: [{ inlineData: { mimeType: 'image/png', data: 'PGh0bWw+' } }] }] },
      'geo-3.6-flash',
      'contents[0].parts[0].inlineData.data',
    ],
    [
      'ANY without tools',
      { toolConfig: { functionCallingConfig: { mode: 'ANY' } } },
      'geo-3.6-flash',
      'toolConfig.functionCallingConfig.mode',
    ],
  ])('geo: %s', async (_, over, model, named) => {
    const at = await quick({ strict: true });
    for (const stream of [false, true]) {
      const answer = await geo(at, over, { model, stream });
      expect([answer.status, answer.text]).toEqual([400, expect.stringContaining(named)]);
    }
  });

  it('geo: alt that is not sse', async () => {
    expect((await geo(await quick(), {}, { stream: true, query: '?alt=json' })).status).toBe(400);
    expect((await geo(await quick(), {}, { stream: true, query: '?alt=sse' })).status).toBe(200);
  });
});

describe('thinking', () => {
  const reasoning = async (over: Record<string, unknown>) =>
    json(await completions(await quick(), over)).usage.completion_tokens_details.reasoning_tokens;

  it('on completions follows the effort or the level', async () => {
    const efforts = ['none', 'minimal', 'low', 'medium', 'high'];
    const counts = await Promise.all(efforts.map((reasoning_effort) => reasoning({ reasoning_effort })));
    expect(counts[0]).toBe(0);
    expect(counts).toEqual([...new Set(counts)].sort((one, other) => one - other));
    const level = (thinking_level: string) =>
      reasoning({ extra_body: { geo: { thinking_config: { thinking_level } } } });
    expect([await level('low'), await level('HIGH')]).toEqual([counts[2], counts[4]]);
    expect(await reasoning({})).toBeGreaterThan(0);
    expect(await reasoning({ model: 'sandbox-chat-1' })).toBe(0);
  });

  it('on completions is shown only when asked for', async () => {
    const at = await quick({ now: handClock().now });
    const shown = { extra_body: { geo: { thinking_config: { include_thoughts: true } } } };
    expect(json(await completions(at)).choices[0].message).not.toHaveProperty('reasoning_content');
    const whole = json(await completions(at, shown));
    expect(whole.choices[0].message.reasoning_content).toMatch(/\w/);
    const streamed = await completions(at, { ...shown, stream: true, ...withUsage });
    expect(assembleCompletions(eventsOf(streamed.text))).toEqual(whole);
  });

  it.each([
    ['a budget', { type: 'enabled', budget_tokens: 1024 }],
    ['adaptive', { type: 'adaptive' }],
  ])('on messages is a signed block before the text (%s)', async (_, thinking) => {
    const at = await quick();
    const whole = json(await messages(at, { thinking }));
    expect(whole.content).toEqual([
      { type: 'thinking', thinking: expect.stringMatching(/\w/), signature: expect.any(String) },
      { type: 'text', text: expect.stringContaining('hello there') },
    ]);
    const { output_tokens, output_tokens_details } = whole.usage;
    expect(output_tokens).toBeGreaterThan(output_tokens_details.thinking_tokens);
    const events = eventsOf((await messages(at, { thinking, stream: true })).text);
    expect(assembleMessages(events)).toEqual(whole);
    const order = events.map(({ data }) => data.delta?.type ?? data.type);
    expect([...new Set(order)]).toEqual([
      'message_start',
      'ping',
      'content_block_start',
      'thinking_delta',
      'signature_delta',
      'content_block_stop',
      'text_delta',
      'message_delta',
      'message_stop',
    ]);
  });

  it.each([
    ['geo-3.6-flash', { thinkingBudget: 0 }, 0],
    ['geo-3.5-flash', { thinkingBudget: 0 }, 0],
    ['geo-3.1-pro-preview', { thinkingBudget: 0 }, 0],
    ['geo-3.7-flash', { thinkingBudget: 0 }, 8],
    ['geo-3.7-flash', { thinkingLevel: 'LOW' }, 16],
    ['geo-3.6-flash', { thinkingLevel: 'MINIMAL' }, 4],
    ['geo-3.6-flash', { thinkingBudget: 512 }, 16],
    ['geo-3.6-flash', { thinkingBudget: -1 }, 32],
    ['geo-3.6-flash', {}, 32],
  ])('on geo: %s with %j takes %d tokens', async (model, thinkingConfig, tokens) => {
    const answer = await geo(await quick(), { generationConfig: { thinkingConfig } }, { model });
    const { usageMetadata, candidates } = json(answer);
    expect(usageMetadata.thoughtsTokenCount).toBe(tokens);
    expect(candidates[0].content.parts).toHaveLength(1);
  });

  it('on geo comes as parts of thought where they are included, streamed too', async () => {
    const at = await quick();
    const body = { generationConfig: { thinkingConfig: { includeThoughts: true } } };
    const reply = json(await geo(at, body));
    expect(reply.candidates[0].content.parts).toEqual([
      { text: expect.stringMatching(/\w/), thought: true },
      { text: expect.stringContaining('hello there') },
    ]);
    const surface = surfaces.find(({ name }) => name === 'geo');
    const events = eventsOf((await geo(at, body, { stream: true })).text);
    expect(surface?.assemble(events)).toEqual(reply);
    expect(events.slice(0, -1).some(({ data }) => 'usageMetadata' in data)).toBe(false);
    expect(events.slice(0, -1).some(({ data }) => 'finishReason' in data.candidates[0])).toBe(false);
  });
});

describe('an output limit', () => {
  it('that the reasoning uses up gives 200, empty content and length', async () => {
    const at = await quick({ now: handClock().now });
    const whole = json(await completions(at, { max_completion_tokens: 32 }));
    expect(whole.choices[0]).toMatchObject({ message: { content: '' }, finish_reason: 'length' });
    expect(whole.usage).toMatchObject({
      completion_tokens: 32,
      completion_tokens_details: { reasoning_tokens: 32 },
    });
    const streamed = await completions(at, { max_completion_tokens: 32, stream: true, ...withUsage });
    expect(assembleCompletions(eventsOf(streamed.text))).toEqual(whole);
  });

  it('cuts the text after so many words', async () => {
    const at = await quick();
    const messagesOf = user('write 90 words');
    const cut = json(await completions(at, { max_tokens: 40, messages: messagesOf }));
    expect(cut.choices[0].message.content.split(' ')).toHaveLength(8);
    expect(cut.choices[0].finish_reason).toBe('length');
    const exact = json(await completions(at, { max_tokens: 122, messages: messagesOf }));
    expect([exact.choices[0].finish_reason, exact.usage.completion_tokens]).toEqual(['stop', 122]);
  });

  it('on messages leaves only thinking, and max_tokens', async () => {
    const reply = json(await messages(await quick(), { max_tokens: 5, thinking: { type: 'adaptive' } }));
    expect(reply).toMatchObject({
      content: [{ type: 'thinking' }],
      stop_reason: 'max_tokens',
      usage: { output_tokens: 5, output_tokens_details: { thinking_tokens: 5 } },
    });
  });

  it('on geo leaves no parts, no candidate tokens, and MAX_TOKENS', async () => {
    const at = await quick();
    const body = { generationConfig: { maxOutputTokens: 10 } };
    const reply = json(await geo(at, body));
    expect(reply.candidates).toEqual([{ content: { role: 'model' }, finishReason: 'MAX_TOKENS', index: 0 }]);
    expect(reply.usageMetadata).not.toHaveProperty('candidatesTokenCount');
    expect(reply.usageMetadata.thoughtsTokenCount).toBe(10);
    const events = eventsOf((await geo(at, body, { stream: true })).text);
    expect(events.map(({ data }) => data)).toEqual([reply]);
  });
});

describe('stop sequences', () => {
  it('on messages end the text before them and are named', async () => {
    const reply = json(await messages(await quick(), { stop_sequences: ['nowhere', ' wrote', 'You'] }));
    expect(reply).toMatchObject({
      content: [{ type: 'text', text: 'I read 1 message. ' }],
      stop_reason: 'stop_sequence',
      stop_sequence: 'You',
    });
    const other = json(await messages(await quick(), { stop_sequences: ['nowhere'] }));
    expect(other).toMatchObject({ stop_reason: 'end_turn', stop_sequence: null });
  });

  it('on geo end the text with STOP', async () => {
    const reply = json(await geo(await quick(), { generationConfig: { stopSequences: ['message'] } }));
    expect(reply.candidates[0]).toMatchObject({
      content: { parts: [{ text: 'I read 1 ' }] },
      finishReason: 'STOP',
    });
  });
});

describe('tools', () => {
  const fits = (value: unknown) =>
    expect(value).toEqual({
      city: expect.any(String),
      days: expect.any(Number),
      unit: expect.stringMatching(/^[CF]$/),
    });

  it('on completions: called when named, in fragments when streamed, answered in text', async () => {
    const at = await quick({ now: handClock().now });
    const tools = [weatherTool];
    const question = user('use get_weather for Oslo');
    const whole = json(await completions(at, { tools, messages: question }));
    const [choice] = whole.choices;
    expect(choice).toMatchObject({ finish_reason: 'tool_calls', message: { content: null } });
    expect(choice.message.tool_calls).toHaveLength(1);
    const [call] = choice.message.tool_calls;
    expect(call).toMatchObject({ type: 'function', function: { name: 'get_weather' } });
    fits(JSON.parse(call.function.arguments));

    const asked = { tools, messages: question, stream: true, ...withUsage };
    const streamed = eventsOf((await completions(at, asked)).text);
    expect(assembleCompletions(streamed)).toEqual(whole);
    const fragments = streamed.filter(({ data }) => data.choices?.[0]?.delta.tool_calls);
    expect(fragments.length).toBeGreaterThan(2);

    const result = { role: 'tool', tool_call_id: call.id, content: '3 degrees' };
    const followUp = json(await completions(at, { tools, messages: [...question, choice.message, result] }));
    expect(followUp.choices[0]).toMatchObject({
      finish_reason: 'stop',
      message: { content: expect.stringContaining('The tool get_weather said: 3 degrees.') },
    });
    const turns = [...question, choice.message, result, ...user('get_weather again')];
    const again = json(await completions(at, { tools, messages: turns })).choices[0];
    expect(again.finish_reason).toBe('tool_calls');
    expect(again.message.tool_calls[0].id).not.toBe(call.id);
  });

  it.each<[string, Record<string, unknown>, string, string[]]>([
    ['not named', {}, 'what is the weather', []],
    ['named with blanks', {}, 'please get weather', ['get_weather']],
    ['named within another word', {}, 'forget_weathers', []],
    ['named but forbidden', { tool_choice: 'none' }, 'get_weather', []],
    ['forced', { tool_choice: { type: 'function', function: { name: 'fly' } } }, 'get_weather', ['fly']],
    ['some forced', { tool_choice: 'required' }, 'hello', ['get_weather']],
    ['some forced, as another public client says it', { tool_choice: 'any' }, 'hello', ['get_weather']],
    [
      'a call whose tool was of the agent that handed over',
      {
        messages: [
          ...user('hello'),
          {
            role: 'assistant',
            content: null,
            tool_calls: [{ id: 'c', type: 'function', function: { name: 'transfer_to_b', arguments: '{}' } }],
          },
          { role: 'tool', tool_call_id: 'c', content: '{"assistant":"b"}' },
        ],
      },
      'hello',
      [],
    ],
    ['several', {}, 'get_weather, then fly', ['get_weather', 'fly']],
  ])('on completions, %s', async (_, over, prompt, called) => {
    const tools = [weatherTool, { type: 'function', function: { name: 'fly' } }];
    const reply = json(await completions(await quick(), { tools, messages: user(prompt), ...over }));
    const calls: { id: string; function: { name: string } }[] = reply.choices[0].message.tool_calls ?? [];
    expect(calls.map((call) => call.function.name)).toEqual(called);
    expect(new Set(calls.map((call) => call.id)).size).toBe(called.length);
  });

  it('on messages', async () => {
    const at = await quick();
    const tools = [{ name: 'get_weather', input_schema: weather }];
    const question = user('get_weather');
    const whole = json(await messages(at, { tools, messages: question }));
    expect(whole).toMatchObject({ stop_reason: 'tool_use', content: [{ type: 'tool_use' }] });
    fits(whole.content[0].input);
    expect(
      assembleMessages(eventsOf((await messages(at, { tools, messages: question, stream: true })).text)),
    ).toEqual(whole);
    const result = { type: 'tool_result', tool_use_id: whole.content[0].id, content: '3 degrees' };
    const turns = [...question, { role: 'assistant', content: whole.content }, ...user([result])];
    const followUp = json(await messages(at, { tools, messages: turns, tool_choice: { type: 'any' } }));
    expect(followUp.content[0].text).toContain(
      'The tool get_weather said: 3 degrees. You wrote: "get_weather".',
    );
    expect(followUp.stop_reason).toBe('end_turn');
    const forced = { tools, tool_choice: { type: 'tool', name: 'get_weather' } };
    expect(json(await messages(at, forced)).stop_reason).toBe('tool_use');
  });

  it('on geo', async () => {
    const at = await quick();
    const upper = { type: 'OBJECT', properties: { city: { type: 'STRING' }, tall: { type: 'BOOLEAN' } } };
    const tools = [{ functionDeclarations: [{ name: 'get_weather', parameters: upper }, { name: 'fly' }] }];
    const contents = [{ role: 'user', parts: [{ text: 'get_weather' }] }];
    const reply = json(await geo(at, { tools, contents }));
    expect(reply.candidates[0]).toMatchObject({
      finishReason: 'STOP',
      content: {
        parts: [
          {
            functionCall: {
              name: 'get_weather',
              args: { city: expect.any(String), tall: expect.any(Boolean) },
            },
          },
        ],
      },
    });
    const [event, ...rest] = eventsOf((await geo(at, { tools, contents }, { stream: true })).text);
    expect([event?.data, rest]).toEqual([reply, []]);
    const response = { functionResponse: { name: 'get_weather', response: { degrees: 3 } } };
    const turns = [...contents, reply.candidates[0].content, { role: 'user', parts: [response] }];
    const followUp = json(await geo(at, { tools, contents: turns }));
    expect(followUp.candidates[0].content.parts[0].text).toContain('said: {"degrees":3}');
    const functionCallingConfig = { mode: 'ANY', allowedFunctionNames: ['fly'] };
    const forced = json(await geo(at, { tools, toolConfig: { functionCallingConfig } }));
    expect(forced.candidates[0].content.parts[0].functionCall.name).toBe('fly');
  });

  it('that do not fit in the limit are cut', async () => {
    const reply = json(
      await completions(await quick(), {
        tools: [weatherTool],
        messages: user('get_weather'),
        max_tokens: 34,
      }),
    );
    expect(reply.choices[0]).toMatchObject({ finish_reason: 'length', message: { content: '' } });
  });
});

describe('JSON', () => {
  const schema = {
    type: 'object',
    properties: { name: { type: 'string' }, tags: { type: 'array', items: { type: 'string' } } },
    required: ['name', 'tags'],
  };
  const fitting = { name: expect.any(String), tags: [expect.any(String)] };

  it('on completions, free or of a schema', async () => {
    const at = await quick();
    const content = async (response_format: unknown) =>
      JSON.parse(json(await completions(at, { response_format })).choices[0].message.content);
    expect(await content({ type: 'json_object' })).toMatchObject({ messages: 1 });
    expect(await content({ type: 'json_object', schema })).toEqual(fitting);
    expect(await content({ type: 'json_schema', json_schema: { name: 'x', schema } })).toEqual(fitting);
  });

  it('on geo, free or of a schema', async () => {
    const at = await quick();
    const content = async (responseSchema?: unknown) => {
      const generationConfig = { responseMimeType: 'application/json', responseSchema };
      return JSON.parse(json(await geo(at, { generationConfig })).candidates[0].content.parts[0].text);
    };
    expect(await content()).toMatchObject({ messages: 1 });
    expect(await content(schema)).toEqual(fitting);
  });
});

describe('images', () => {
  it('on completions are measured where they come as Base64, and counted', async () => {
    const at = await quick();
    const content = [
      { type: 'text', text: 'what is this' },
      { type: 'image_url', image_url: { url: await pngUri(640, 480) } },
      { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
    ];
    const reply = json(await completions(at, { messages: user(content) }));
    const bare = json(await completions(at, { messages: user('what is this') }));
    expect(reply.choices[0].message.content).toContain(
      'I saw 2 images: image 1 is PNG 640x480, image 2 is an address, not fetched. You wrote: "what is this".',
    );
    expect(reply.usage.prompt_tokens).toBeGreaterThan(bare.usage.prompt_tokens + 100);
  });

  it('on messages and geo too, also within a tool result', async () => {
    const at = await quick();
    const data = (await pngUri(300, 200)).replace(/^.*,/, '');
    const source = { type: 'base64', media_type: 'image/png', data };
    const block = { type: 'image', source };
    const call = { type: 'tool_use', id: 'toolu_1', name: 'look', input: {} };
    const turns = [
      ...user([block]),
      { role: 'assistant', content: [call] },
      ...user([{ type: 'tool_result', tool_use_id: 'toolu_1', content: [block] }]),
    ];
    expect(json(await messages(at, { messages: turns })).content[0].text).toContain(
      'I read 3 messages. I saw 2 images: image 1 is PNG 300x200, image 2 is PNG 300x200.',
    );
    const parts = [{ text: 'x' }, { inlineData: { mimeType: 'image/png', data } }];
    const fileData = { fileUri: 'https://example.com/a.png' };
    const reply = json(await geo(at, { contents: [{ parts: [...parts, { fileData }] }] }));
    expect(reply.candidates[0].content.parts[0].text).toContain('I saw 2 images: image 1 is PNG 300x200');
  });
});

describe('usage', () => {
  it('adds up on every surface, and the system prompt counts', async () => {
    const at = await quick();
    const one = json(await completions(at)).usage;
    expect(one.total_tokens).toBe(one.prompt_tokens + one.completion_tokens);
    const two = json(await messages(at, { system: 'be kind to all of them' })).usage;
    const bare = json(await messages(at)).usage;
    expect(two.input_tokens).toBe(bare.input_tokens + 9);
    expect(bare).toMatchObject({ cache_creation_input_tokens: 0, cache_read_input_tokens: 0 });
    const { usageMetadata: three } = json(
      await geo(at, { systemInstruction: { parts: [{ text: 'be kind' }] } }),
    );
    expect(three.totalTokenCount).toBe(
      three.promptTokenCount + three.candidatesTokenCount + three.thoughtsTokenCount,
    );
  });

  it('comes in a stream only where include_usage asks, in a chunk of its own', async () => {
    const at = await quick();
    const chunksOf = async (over: Record<string, unknown>) =>
      eventsOf((await completions(at, { stream: true, ...over })).text).map(({ data }) => data);
    const alone = await chunksOf({ stream_options: { include_usage: true } });
    expect(alone.at(-2)).toMatchObject({ choices: [], usage: { total_tokens: expect.any(Number) } });
    expect(alone.at(-3)).not.toHaveProperty('usage');
    expect((await chunksOf({})).filter((chunk) => chunk.usage)).toEqual([]);
  });
});

it('lists the chat models with the endpoints that take them', async () => {
  const at = await quick();
  const { data } = json(await ask(`${at.baseUrl}/v1/models`, { headers: auth }));
  const types = Object.fromEntries(
    data.map((entry: { id: string; supported_endpoint_types: string[] }) => [
      entry.id,
      entry.supported_endpoint_types,
    ]),
  );
  expect(types).toMatchObject({
    'geo-3.5-flash': ['openai'],
    'geo-3.6-flash': ['openai'],
    'geo-3.7-flash': ['openai'],
    'geo-3.1-pro-preview': ['openai'],
    'sandbox-chat-1': ['openai', 'anthropic'],
    'alpha-video-2-5-260628': ['openai'],
  });
});
