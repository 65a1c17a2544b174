import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { key, pngBase64, served, servedWays, weatherSchema } from './served.ts';

const model = 'geo-3.6-flash';
const tools = [{ type: 'function' as const, function: { name: 'get_weather', parameters: weatherSchema } }];
const user = (content: string) => ({ role: 'user' as const, content });

describe.each(servedWays)('the openai SDK at %s', (way) => {
  const at = served(way);
  const client = (apiKey = key) => new OpenAI({ apiKey, baseURL: `${at.baseUrl}/v1`, maxRetries: 0 });

  it('asks plainly', async () => {
    const reply = await client().chat.completions.create({ model, messages: [user('hello there')] });
    expect(reply.object).toBe('chat.completion');
    expect(reply.choices[0]?.message.content).toContain('You wrote: "hello there".');
    expect(reply.choices[0]?.finish_reason).toBe('stop');
    expect(reply.usage?.completion_tokens_details?.reasoning_tokens).toBeGreaterThan(0);
  });

  it('streams, with usage', async () => {
    const request = { model, messages: [user('hello there')] };
    const whole = await client().chat.completions.create(request);
    const stream = await client().chat.completions.create({
      ...request,
      stream: true,
      stream_options: { include_usage: true },
    });
    const pieces: string[] = [];
    let last: OpenAI.ChatCompletionChunk | undefined;
    for await (const chunk of stream) {
      last = chunk;
      pieces.push(chunk.choices[0]?.delta.content ?? '');
    }
    expect(pieces.length).toBeGreaterThan(10);
    expect(pieces.join('')).toBe(whole.choices[0]?.message.content);
    expect([last?.choices, last?.usage]).toEqual([[], whole.usage]);
  });

  it('is streamed to by its own helper, which puts the reply together', async () => {
    const stream = client().chat.completions.stream({
      model,
      messages: [user('get_weather')],
      tools,
      stream_options: { include_usage: true },
    });
    const final = await stream.finalChatCompletion();
    const plain = await client().chat.completions.create({ model, messages: [user('get_weather')], tools });
    expect(final.choices[0]?.message.tool_calls).toMatchObject(plain.choices[0]?.message.tool_calls ?? []);
    expect(final.choices[0]?.finish_reason).toBe('tool_calls');
    expect(final.usage).toEqual(plain.usage);
  });

  it('calls a tool and brings its result', async () => {
    const question = user('get_weather for Oslo');
    const reply = await client().chat.completions.create({ model, messages: [question], tools });
    const message = reply.choices[0]?.message;
    const call = message?.tool_calls?.[0];
    if (!message || call?.type !== 'function') throw new Error('no tool was called');
    expect(JSON.parse(call.function.arguments)).toEqual({
      city: expect.any(String),
      days: expect.any(Number),
    });
    const result = { role: 'tool' as const, tool_call_id: call.id, content: '3 degrees' };
    const answer = await client().chat.completions.create({
      model,
      messages: [question, message, result],
      tools,
    });
    expect(answer.choices[0]?.message.content).toContain('The tool get_weather said: 3 degrees.');
  });

  it('runs a tool by itself', async () => {
    const seen: unknown[] = [];
    const get_weather = (given: unknown) => {
      seen.push(given);
      return 'sunny';
    };
    const runner = client().chat.completions.runTools({
      model,
      messages: [user('get_weather')],
      tools: [
        {
          type: 'function',
          function: {
            name: 'get_weather',
            description: 'the weather',
            function: get_weather,
            parse: JSON.parse,
            parameters: weatherSchema,
          },
        },
      ],
    });
    expect(await runner.finalContent()).toContain('The tool get_weather said: sunny.');
    expect(seen).toEqual([{ city: expect.any(String), days: expect.any(Number) }]);
  });

  it('shows an image', async () => {
    const url = `data:image/png;base64,${await pngBase64()}`;
    const reply = await client().chat.completions.create({
      model,
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'what is this' },
            { type: 'image_url', image_url: { url } },
          ],
        },
      ],
    });
    expect(reply.choices[0]?.message.content).toContain('image 1 is PNG 320x200');
  });

  it('is told of errors in its own classes', async () => {
    await expect(client('wrong').chat.completions.create({ model, messages: [user('x')] })).rejects.toThrow(
      OpenAI.AuthenticationError,
    );
    await expect(client().chat.completions.create({ model: 'nope', messages: [user('x')] })).rejects.toThrow(
      OpenAI.BadRequestError,
    );
  });

  it('lists the models', async () => {
    const ids: string[] = [];
    for await (const entry of client().models.list()) ids.push(entry.id);
    expect(ids).toContain(model);
  });
});
