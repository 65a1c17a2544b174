import Anthropic from '@anthropic-ai/sdk';
import { describe, expect, it } from 'vitest';
import { key, pngBase64, served, servedWays, weatherSchema } from './served.ts';

const base = { model: 'sandbox-chat-1', max_tokens: 2048 };
const tools = [{ name: 'get_weather', input_schema: weatherSchema }];
const user = (content: Anthropic.MessageParam['content']) => ({ role: 'user' as const, content });

describe.each(servedWays)('the native messages SDK at %s', (way) => {
  const at = served(way);
  // The SDK sends its key as Bearer, which the gateway accepts too. Its version header has another name.
  const client = (defaultHeaders: Record<string, string | null> = {}) =>
    new Anthropic({ apiKey: key, baseURL: at.baseUrl, maxRetries: 0, defaultHeaders });

  it('asks plainly', async () => {
    const reply = await client().messages.create({ ...base, messages: [user('hello there')] });
    expect(reply.content).toEqual([{ type: 'text', text: expect.stringContaining('hello there') }]);
    expect([reply.type, reply.role, reply.stop_reason, reply.stop_sequence]).toEqual([
      'message',
      'assistant',
      'end_turn',
      null,
    ]);
    expect(reply.usage).toMatchObject({ input_tokens: 5, cache_read_input_tokens: 0 });
  });

  it('streams the full sequence of events', async () => {
    const stream = await client().messages.create({ ...base, messages: [user('4 words')], stream: true });
    const types: string[] = [];
    for await (const event of stream) types.push(event.type);
    // The SDK does not pass on `ping`.
    expect(types).toEqual([
      'message_start',
      'content_block_start',
      ...Array(4).fill('content_block_delta'),
      'content_block_stop',
      'message_delta',
      'message_stop',
    ]);
  });

  it('is streamed to by its own helper, thinking and tools included', async () => {
    const request = {
      ...base,
      messages: [user('get_weather')],
      tools,
      thinking: { type: 'enabled' as const, budget_tokens: 1024 },
    };
    const thoughts: string[] = [];
    const stream = client()
      .messages.stream(request)
      .on('thinking', (delta) => void thoughts.push(delta));
    const final = await stream.finalMessage();
    const plain = await client().messages.create(request);
    expect(final.content).toMatchObject(plain.content);
    expect(final.stop_reason).toBe('tool_use');
    expect(final.usage).toMatchObject({ ...plain.usage });
    expect(thoughts.length).toBeGreaterThan(3);

    const [, call] = final.content;
    if (call?.type !== 'tool_use') throw new Error('no tool was called');
    expect(call.input).toEqual({ city: expect.any(String), days: expect.any(Number) });
    const result = { type: 'tool_result' as const, tool_use_id: call.id, content: '3 degrees' };
    const answer = await client().messages.create({
      ...request,
      messages: [...request.messages, { role: 'assistant', content: final.content }, user([result])],
    });
    expect(answer.content.at(-1)).toMatchObject({
      type: 'text',
      text: expect.stringContaining('The tool get_weather said: 3 degrees.'),
    });
  });

  it('shows an image', async () => {
    const source = { type: 'base64' as const, media_type: 'image/png' as const, data: await pngBase64() };
    const stream = client().messages.stream({ ...base, messages: [user([{ type: 'image', source }])] });
    expect(await stream.finalText()).toContain('image 1 is PNG 320x200');
  });

  it('is told of errors in its own classes', async () => {
    const ask = (from: Anthropic) => from.messages.create({ ...base, messages: [user('x')] });
    await expect(ask(client({ authorization: 'Bearer wrong' }))).rejects.toThrow(
      Anthropic.AuthenticationError,
    );
    await expect(ask(client({ authorization: null, 'x-api-key': key }))).rejects.toThrow(
      Anthropic.BadRequestError,
    );
  });

  it('may send the key in x-api-key, with the version that goes with it', async () => {
    const headers = { authorization: null, 'x-api-key': key, 'provider-version': '2023-06-01' };
    const reply = await client(headers).messages.create({ ...base, messages: [user('hello there')] });
    expect(reply.stop_reason).toBe('end_turn');
  });
});
