import { ApiError, FunctionCallingConfigMode, GoogleGenAI, ThinkingLevel, Type } from '@google/genai';
import { describe, expect, it } from 'vitest';
import { key, pngBase64, served, servedWays } from './served.ts';

const model = 'geo-3.6-flash';
const tools = [
  {
    functionDeclarations: [
      {
        name: 'get_weather',
        parameters: { type: Type.OBJECT, properties: { city: { type: Type.STRING } }, required: ['city'] },
      },
    ],
  },
];

describe.each(servedWays)('the Gemini-style SDK at %s', (way) => {
  const at = served(way);
  // The SDK sends its key in its own header, so the gateway's header is added.
  const client = (headers: Record<string, string> = { 'x-geo-api-key': key }) =>
    new GoogleGenAI({ apiKey: 'not-the-key', httpOptions: { baseUrl: at.baseUrl, headers } });

  it('asks plainly', async () => {
    const reply = await client().models.generateContent({ model, contents: 'hello there' });
    expect(reply.text).toContain('You wrote: "hello there".');
    expect(reply.candidates?.[0]?.finishReason).toBe('STOP');
    expect(reply.usageMetadata?.thoughtsTokenCount).toBeGreaterThan(0);
    expect([reply.modelVersion, typeof reply.responseId]).toEqual([model, 'string']);
  });

  it('streams', async () => {
    const request = { model, contents: 'hello there', config: { systemInstruction: 'be kind' } };
    const whole = await client().models.generateContent(request);
    const pieces: (string | undefined)[] = [];
    let last: unknown;
    for await (const chunk of await client().models.generateContentStream(request)) {
      pieces.push(chunk.text);
      last = chunk.usageMetadata;
    }
    expect(pieces.length).toBeGreaterThan(10);
    expect(pieces.join('')).toBe(whole.text);
    expect(last).toEqual(whole.usageMetadata);
  });

  it('gets the thoughts when it asks for them', async () => {
    const reply = await client().models.generateContent({
      model,
      contents: 'hello there',
      config: { thinkingConfig: { includeThoughts: true, thinkingLevel: ThinkingLevel.LOW } },
    });
    expect(reply.candidates?.[0]?.content?.parts?.map((part) => part.thought ?? false)).toEqual([
      true,
      false,
    ]);
    expect(reply.usageMetadata?.thoughtsTokenCount).toBe(16);
  });

  it('calls a tool and brings its result', async () => {
    const question = { role: 'user', parts: [{ text: 'hello' }] };
    const reply = await client().models.generateContent({
      model,
      contents: [question],
      config: { tools, toolConfig: { functionCallingConfig: { mode: FunctionCallingConfigMode.ANY } } },
    });
    expect(reply.functionCalls).toEqual([{ name: 'get_weather', args: { city: expect.any(String) } }]);
    const called = reply.candidates?.[0]?.content;
    if (!called) throw new Error('no tool was called');
    const result = { functionResponse: { name: 'get_weather', response: { output: 'sunny' } } };
    const answer = await client().models.generateContent({
      model,
      contents: [question, called, { role: 'user', parts: [result] }],
      config: { tools },
    });
    expect(answer.text).toContain('The tool get_weather said: {"output":"sunny"}.');
  });

  it('talks in its own chat, streamed', async () => {
    const chat = client().chats.create({ model });
    await chat.sendMessage({ message: 'hello there' });
    let text = '';
    for await (const chunk of await chat.sendMessageStream({ message: 'and again' }))
      text += chunk.text ?? '';
    expect(text).toContain('I read 3 messages. You wrote: "and again".');
  });

  it('gets JSON of a schema', async () => {
    const reply = await client().models.generateContent({
      model,
      contents: 'a person',
      config: {
        responseMimeType: 'application/json',
        responseSchema: { type: Type.OBJECT, properties: { age: { type: Type.INTEGER } } },
      },
    });
    expect(JSON.parse(reply.text ?? '')).toEqual({ age: expect.any(Number) });
  });

  it('shows an image', async () => {
    const inlineData = { mimeType: 'image/png', data: await pngBase64() };
    const reply = await client().models.generateContent({
      model,
      contents: [{ role: 'user', parts: [{ text: 'what is this' }, { inlineData }] }],
    });
    expect(reply.text).toContain('image 1 is PNG 320x200');
  });

  it('is told of errors in its own class', async () => {
    const ask = (from: GoogleGenAI, id = model) =>
      from.models.generateContent({ model: id, contents: 'x' }).catch((error: unknown) => error);
    const refused = await ask(client({}));
    expect(refused).toBeInstanceOf(ApiError);
    expect(refused).toMatchObject({ status: 401 });
    expect(await ask(client(), 'geo-9')).toMatchObject({ status: 400 });
  });
});
