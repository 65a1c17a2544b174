import * as path from 'node:path';
import { pathToFileURL } from 'node:url';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createGoogleGenerativeAI } from '@ai-sdk/google';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import Anthropic from '@anthropic-ai/sdk';
import { ApiError, GoogleGenAI } from '@google/genai';
import { ChatAnthropic } from '@langchain/anthropic';
import type { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessage, type ContentBlock, HumanMessage, ToolMessage } from '@langchain/core/messages';
import { ChatGoogleGenerativeAI } from '@langchain/google-genai';
import { ChatOpenAI } from '@langchain/openai';
import { generateImage, generateText, type LanguageModel, Output, stepCountIs, streamText, tool } from 'ai';
import { imageSize } from 'image-size';
import OpenAI, { toFile } from 'openai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { type Sandbox, startSandbox } from '../../src/sandbox/server.ts';
import { wasmDir } from '../helpers/assets-dir.ts';
import { document, isQuoted } from '../helpers/document.ts';
import { freePort } from '../helpers/free-port.ts';
import { World } from '../helpers/gw.ts';
import { clipsDir } from '../sandbox/fixture.ts';
import { key, pngBase64, served, weatherSchema } from './served.ts';

// The calls of third-party clients: what a sandbox answers, and what a strict sandbox refuses because the document does not
// list it, with the document's sentence. `npm run matrix` prints the table; it first installs further clients and servers
// from .ci/matrix.

const GEO = 'geo-3.6-flash';
const NATIVE = 'sandbox-chat-1';
const HELLO = 'hello there';
const WEATHER = 'get_weather for Oslo';
const PICTURE = 'https://example.com/fox.png';
const PNG = await pngBase64();
const DATA_URL = `data:image/png;base64,${PNG}`;
const nativeHeaders = { 'provider-version': '2023-06-01' };

/** The result of a call: it is answered, a field of it is refused, or the document has no such endpoint. */
type Outcome = 'answered' | 'refused' | 'no endpoint';

interface Call {
  readonly name: string;
  /** Sends the call to the origin of a sandbox. Throws if the answer is not the expected one. */
  readonly ask: (origin: string) => Promise<unknown>;
  /** The outcomes with a usual and with a strict sandbox. They differ if only unlisted fields are refused. */
  readonly usual: Outcome;
  readonly strict: Outcome;
}

const answered = (name: string, ask: Call['ask'], strict: Outcome = 'answered'): Call => ({
  name,
  ask,
  usual: 'answered',
  strict,
});
const outside = (name: string, ask: Call['ask'], outcome: Outcome = 'no endpoint'): Call => ({
  name,
  ask,
  usual: outcome,
  strict: outcome,
});

const has = (text: string | null | undefined, words: string) => expect(text).toContain(words);
const user = (content: string) => ({ role: 'user' as const, content });
const Person = z.object({ age: z.number().int() });
const personSchema = {
  type: 'object' as const,
  properties: { age: { type: 'integer' } },
  required: ['age'],
  additionalProperties: false,
};

async function collect<T>(stream: AsyncIterable<T>, textOf: (each: T) => string | null | undefined) {
  let text = '';
  for await (const each of stream) text += textOf(each) ?? '';
  return text;
}

// The official SDKs.

const openai = (origin: string) => new OpenAI({ apiKey: key, baseURL: `${origin}/v1`, maxRetries: 0 });
const completion =
  (of: Partial<OpenAI.ChatCompletionCreateParamsNonStreaming>, words = HELLO) =>
  async (at: string) => {
    const reply = await openai(at).chat.completions.create({ model: GEO, messages: [user(HELLO)], ...of });
    has(reply.choices[0]?.message.content, words);
    return reply;
  };
const functionTool = {
  type: 'function' as const,
  function: { name: 'get_weather', parameters: weatherSchema },
};
const seen = (url: string, detail?: 'low') =>
  [
    {
      role: 'user' as const,
      content: [
        { type: 'text' as const, text: HELLO },
        { type: 'image_url' as const, image_url: { url, ...(detail && { detail }) } },
      ],
    },
  ] satisfies OpenAI.ChatCompletionMessageParam[];

const openaiCalls: readonly Call[] = [
  answered('plain', completion({})),
  answered('system prompt', completion({ messages: [{ role: 'system', content: 'be brief' }, user(HELLO)] })),
  answered(
    'role developer',
    completion({ messages: [{ role: 'developer', content: 'be brief' }, user(HELLO)] }),
    'refused',
  ),
  answered('stream', async (at) => {
    const stream = await openai(at).chat.completions.create({
      model: GEO,
      messages: [user(HELLO)],
      stream: true,
    });
    has(await collect(stream, (chunk) => chunk.choices[0]?.delta.content), HELLO);
  }),
  answered('stream with usage', async (at) => {
    const options = { stream: true, stream_options: { include_usage: true } } as const;
    const stream = await openai(at).chat.completions.create({
      model: GEO,
      messages: [user(HELLO)],
      ...options,
    });
    let tokens = 0;
    for await (const chunk of stream) tokens = chunk.usage?.total_tokens ?? tokens;
    expect(tokens).toBeGreaterThan(0);
  }),
  answered('tool and its follow-up', async (at) => {
    const messages: OpenAI.ChatCompletionMessageParam[] = [user(WEATHER)];
    const asked = { model: GEO, tools: [functionTool] };
    const { choices } = await openai(at).chat.completions.create({ ...asked, messages });
    const message = choices[0]?.message;
    const call = message?.tool_calls?.[0];
    if (!message || !call) throw new Error('no tool was called');
    const result = { role: 'tool' as const, tool_call_id: call.id, content: 'rain' };
    const reply = await openai(at).chat.completions.create({
      ...asked,
      messages: [...messages, message, result],
    });
    has(reply.choices[0]?.message.content, 'rain');
  }),
  answered('tool, streamed, put together by the client', async (at) => {
    const asked = { model: GEO, messages: [user(WEATHER)], tools: [functionTool] };
    const options = { stream_options: { include_usage: true } };
    const streamed = await openai(at)
      .chat.completions.stream({ ...asked, ...options })
      .finalChatCompletion();
    const plain = await openai(at).chat.completions.create(asked);
    expect(streamed.choices[0]?.message.tool_calls).toMatchObject(plain.choices[0]?.message.tool_calls ?? []);
    expect([streamed.choices[0]?.finish_reason, streamed.usage]).toEqual(['tool_calls', plain.usage]);
  }),
  answered('tools run by the client', async (at) => {
    const runner = openai(at).chat.completions.runTools({
      model: GEO,
      messages: [user(WEATHER)],
      tools: [
        {
          type: 'function',
          function: {
            name: 'get_weather',
            description: 'weather',
            function: () => 'rain',
            parse: JSON.parse,
            parameters: weatherSchema,
          },
        },
      ],
    });
    has(await runner.finalContent(), 'rain');
  }),
  answered(
    'tool that is strict, parallel calls off',
    async (at) => {
      const { choices } = await openai(at).chat.completions.create({
        model: GEO,
        messages: [user(WEATHER)],
        tools: [{ ...functionTool, function: { ...functionTool.function, strict: true } }],
        tool_choice: 'required',
        parallel_tool_calls: false,
      });
      expect(choices[0]?.message.tool_calls).toHaveLength(1);
    },
    'refused',
  ),
  answered('JSON object', async (at) => {
    const reply = await openai(at).chat.completions.create({
      model: GEO,
      messages: [user(HELLO)],
      response_format: { type: 'json_object' },
    });
    JSON.parse(reply.choices[0]?.message.content ?? '');
  }),
  answered('JSON of a schema', async (at) => {
    const reply = await openai(at).chat.completions.parse({
      model: GEO,
      messages: [user(HELLO)],
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'person', schema: personSchema, strict: true },
      },
    });
    expect(reply.choices[0]?.message.parsed).toEqual({ age: expect.any(Number) });
  }),
  answered('picture as data URL', completion({ messages: seen(DATA_URL) }, 'image 1 is PNG 320x200')),
  answered('picture by address, detail low', completion({ messages: seen(PICTURE, 'low') }), 'refused'),
  answered('temperature and limit', completion({ temperature: 0.2, max_completion_tokens: 400 })),
  answered('reasoning effort', completion({ reasoning_effort: 'low' })),
  answered(
    'seed, store, penalties, user',
    completion({ seed: 1, store: false, presence_penalty: 0, user: 'u' }),
    'refused',
  ),
  answered('two stops and top_p', completion({ top_p: 0.9, stop: ['§'] }), 'refused'),
  answered('models', async (at) => {
    const ids: string[] = [];
    for await (const { id } of openai(at).models.list()) ids.push(id);
    expect(ids).toContain(GEO);
  }),
  outside('one model', (at) => openai(at).models.retrieve(GEO)),
  outside('responses', (at) => openai(at).responses.create({ model: GEO, input: HELLO })),
  outside('embeddings', (at) => openai(at).embeddings.create({ model: GEO, input: HELLO })),
  outside('moderations', (at) => openai(at).moderations.create({ input: HELLO })),
  outside('speech', (at) => openai(at).audio.speech.create({ model: GEO, voice: 'alloy', input: HELLO })),
  outside('files', (at) => openai(at).files.list()),
  answered(
    'part that is a file',
    completion({
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: HELLO },
            { type: 'file', file: { file_data: DATA_URL, filename: 'a.pdf' } },
          ],
        },
      ],
    }),
    'refused',
  ),
];

const images = (at: string) => openai(at).images;
const png = () => toFile(Buffer.from(PNG, 'base64'), 'a.png', { type: 'image/png' });
const sizeOf = (base64: string | undefined) => {
  const { type, width, height } = imageSize(Buffer.from(base64 ?? '', 'base64'));
  return `${type} ${width}x${height}`;
};
const drawn = (reply: OpenAI.ImagesResponse, size = 'png 1024x1024') =>
  expect(reply.data?.map((each) => sizeOf(each.b64_json))).toEqual([size]);
const small = { model: 'img-2', prompt: 'a fox', size: '1024x1024', n: 1 } as const;
const imageCalls: readonly Call[] = [
  answered('generate', async (at) => drawn(await images(at).generate({ ...small }))),
  answered('webp with a compression', async (at) =>
    drawn(
      await images(at).generate({ ...small, output_format: 'webp', output_compression: 50, quality: 'low' }),
      'webp 1024x1024',
    ),
  ),
  answered('address of a legacy model', async (at) => {
    const asked = { model: 'legacy-image-3', prompt: 'a fox', response_format: 'url' } as const;
    const { data } = await images(at).generate(asked);
    expect(data?.[0]?.revised_prompt).toContain('a fox');
    const file = await fetch(data?.[0]?.url ?? '');
    expect(sizeOf(Buffer.from(await file.arrayBuffer()).toString('base64'))).toBe('png 1024x1024');
  }),
  answered('stream', async (at) => {
    const stream = await images(at).generate({ ...small, stream: true, partial_images: 1 });
    const types: string[] = [];
    for await (const event of stream) types.push(`${event.type} ${sizeOf(event.b64_json)}`);
    expect(types).toEqual([
      'image_generation.partial_image png 1024x1024',
      'image_generation.completed png 1024x1024',
    ]);
  }),
  answered('edit, streamed', async (at) => {
    const stream = await images(at).edit({
      ...small,
      image: [await png()],
      stream: true,
      partial_images: 1,
    });
    const types: string[] = [];
    for await (const event of stream) types.push(event.type);
    expect(types).toEqual(['image_edit.partial_image', 'image_edit.completed']);
  }),
  answered('edit', async (at) => drawn(await images(at).edit({ ...small, image: [await png()] }))),
  answered('edit with a mask', async (at) =>
    drawn(await images(at).edit({ ...small, image: [await png()], mask: await png() })),
  ),
  answered(
    'edit of one image without brackets',
    async (at) => drawn(await images(at).edit({ ...small, image: await png() })),
    'refused',
  ),
  outside('variation', async (at) => images(at).createVariation({ image: await png() })),
];

const anthropic = (at: string) =>
  new Anthropic({ apiKey: key, baseURL: at, maxRetries: 0, defaultHeaders: nativeHeaders });
const native = { model: NATIVE, max_tokens: 4096 };
const textOf = ({ content }: Anthropic.Message) =>
  content.map((block) => (block.type === 'text' ? block.text : '')).join('');
const message =
  (of: Partial<Anthropic.MessageCreateParamsNonStreaming>, words = HELLO) =>
  async (at: string) =>
    has(textOf(await anthropic(at).messages.create({ ...native, messages: [user(HELLO)], ...of })), words);
const nativeTool = { name: 'get_weather', input_schema: weatherSchema };
const look = (source: Anthropic.ImageBlockParam['source']) => ({
  messages: [
    {
      role: 'user' as const,
      content: [
        { type: 'image' as const, source },
        { type: 'text' as const, text: HELLO },
      ],
    },
  ],
});
const anthropicCalls: readonly Call[] = [
  answered('plain', message({})),
  answered('system prompt', message({ system: 'be brief' })),
  answered('stream', async (at) =>
    has(
      await anthropic(at)
        .messages.stream({ ...native, messages: [user(HELLO)] })
        .finalText(),
      HELLO,
    ),
  ),
  answered('tool and its follow-up', async (at) => {
    const asked = { ...native, tools: [nativeTool] };
    const reply = await anthropic(at).messages.create({ ...asked, messages: [user(WEATHER)] });
    const call = reply.content.find((block) => block.type === 'tool_use');
    const result = { type: 'tool_result' as const, tool_use_id: call?.id ?? '', content: 'rain' };
    const messages: Anthropic.MessageParam[] = [
      user(WEATHER),
      { role: 'assistant', content: reply.content },
      { role: 'user', content: [result] },
    ];
    has(textOf(await anthropic(at).messages.create({ ...asked, messages })), 'rain');
  }),
  answered('forced tool, streamed', async (at) => {
    const stream = anthropic(at).messages.stream({
      ...native,
      messages: [user(HELLO)],
      tools: [nativeTool],
      tool_choice: { type: 'tool', name: 'get_weather' },
    });
    expect((await stream.finalMessage()).stop_reason).toBe('tool_use');
  }),
  answered('tool and thinking, streamed, put together by the client', async (at) => {
    const thinking = { type: 'enabled' as const, budget_tokens: 1024 };
    const asked = { ...native, messages: [user(WEATHER)], tools: [nativeTool], thinking };
    const thoughts: string[] = [];
    const stream = anthropic(at).messages.stream(asked);
    stream.on('thinking', (delta) => void thoughts.push(delta));
    const streamed = await stream.finalMessage();
    const plain = await anthropic(at).messages.create(asked);
    expect(streamed.content).toMatchObject(plain.content);
    expect(streamed.usage).toMatchObject({ ...plain.usage });
    expect(thoughts.length).toBeGreaterThan(3);
  }),
  answered('thinking with a budget', message({ thinking: { type: 'enabled', budget_tokens: 1024 } })),
  answered('adaptive thinking', message({ thinking: { type: 'adaptive' } })),
  answered('thinking disabled', message({ thinking: { type: 'disabled' } }), 'refused'),
  answered(
    'picture in Base64',
    message(look({ type: 'base64', media_type: 'image/png', data: PNG }), 'image 1 is PNG 320x200'),
  ),
  answered('picture by address', message(look({ type: 'url', url: PICTURE }))),
  answered('stops', message({ stop_sequences: ['§'] })),
  answered(
    'cached system prompt and metadata',
    message({
      system: [{ type: 'text', text: 'be brief', cache_control: { type: 'ephemeral' } }],
      metadata: { user_id: 'u' },
    }),
    'refused',
  ),
  outside('count of tokens', (at) =>
    anthropic(at).messages.countTokens({ model: NATIVE, messages: [user(HELLO)] }),
  ),
  outside('batches', (at) => anthropic(at).messages.batches.list()),
  answered(
    'document block',
    message({
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: HELLO },
            { type: 'document', source: { type: 'text', media_type: 'text/plain', data: HELLO } },
          ],
        },
      ],
    }),
    'refused',
  ),
];

const genai = (at: string) =>
  new GoogleGenAI({ apiKey: 'unused', httpOptions: { baseUrl: at, headers: { 'x-geo-api-key': key } } });
type GenaiConfig = NonNullable<Parameters<GoogleGenAI['models']['generateContent']>[0]['config']>;
const generated =
  (config: GenaiConfig, words = HELLO) =>
  async (at: string) =>
    has((await genai(at).models.generateContent({ model: GEO, contents: HELLO, config })).text, words);
const declared = { name: 'get_weather', parametersJsonSchema: weatherSchema };
const genaiCalls: readonly Call[] = [
  answered('plain', generated({})),
  answered('system prompt', generated({ systemInstruction: 'be brief' })),
  answered('stream', async (at) => {
    const stream = await genai(at).models.generateContentStream({ model: GEO, contents: HELLO });
    has(await collect(stream, (chunk) => chunk.text), HELLO);
  }),
  answered('tool and its follow-up', async (at) => {
    const config = { tools: [{ functionDeclarations: [declared] }] };
    const question = { role: 'user', parts: [{ text: WEATHER }] };
    const reply = await genai(at).models.generateContent({ model: GEO, contents: [question], config });
    const called = reply.candidates?.[0]?.content ?? {};
    const parts = [{ functionResponse: { name: 'get_weather', response: { output: 'rain' } } }];
    const contents = [question, called, { role: 'user', parts }];
    has((await genai(at).models.generateContent({ model: GEO, contents, config })).text, 'rain');
  }),
  answered(
    'JSON of a schema',
    async (at) => {
      const config = { responseMimeType: 'application/json', responseJsonSchema: personSchema };
      const reply = await genai(at).models.generateContent({ model: GEO, contents: HELLO, config });
      expect(JSON.parse(reply.text ?? '')).toEqual({ age: expect.any(Number) });
    },
    'refused',
  ),
  answered('JSON of a schema in the documented field', async (at) => {
    const config = { responseMimeType: 'application/json', responseSchema: personSchema };
    const reply = await genai(at).models.generateContent({ model: GEO, contents: HELLO, config });
    expect(JSON.parse(reply.text ?? '')).toEqual({ age: expect.any(Number) });
  }),
  answered('thoughts', async (at) => {
    const config = { thinkingConfig: { includeThoughts: true, thinkingBudget: 100 } };
    const reply = await genai(at).models.generateContent({ model: GEO, contents: HELLO, config });
    expect(reply.candidates?.[0]?.content?.parts?.map(({ thought = false }) => thought)).toEqual([
      true,
      false,
    ]);
  }),
  answered('picture in Base64', async (at) => {
    const parts = [{ text: HELLO }, { inlineData: { mimeType: 'image/png', data: PNG } }];
    has(
      (await genai(at).models.generateContent({ model: GEO, contents: [{ role: 'user', parts }] })).text,
      'PNG 320x200',
    );
  }),
  answered('picture by address', async (at) => {
    const parts = [{ text: HELLO }, { fileData: { mimeType: 'image/png', fileUri: PICTURE } }];
    has(
      (await genai(at).models.generateContent({ model: GEO, contents: [{ role: 'user', parts }] })).text,
      HELLO,
    );
  }),
  answered('conversation', async (at) => {
    const chat = genai(at).chats.create({ model: GEO });
    await chat.sendMessage({ message: 'one' });
    const stream = await chat.sendMessageStream({ message: HELLO });
    has(await collect(stream, (chunk) => chunk.text), `I read 3 messages. You wrote: "${HELLO}".`);
  }),
  answered(
    'sampling and stops',
    generated({ temperature: 0.3, topP: 0.9, topK: 5, stopSequences: ['§'], maxOutputTokens: 900 }),
  ),
  answered('seed and penalties', generated({ seed: 1, presencePenalty: 0.1 }), 'refused'),
  outside('count of tokens', (at) => genai(at).models.countTokens({ model: GEO, contents: HELLO })),
  outside('embeddings', (at) => genai(at).models.embedContent({ model: GEO, contents: HELLO })),
  outside('models', (at) => genai(at).models.list()),
];

// The AI SDK with each of its providers.

const weatherTool = tool({
  description: 'weather',
  inputSchema: z.object({ city: z.string() }),
  execute: () => 'rain',
});

/** The calls of the AI SDK with any model. `strictly` names those that send fields that the document does not list. */
function aiCalls(
  modelOf: (at: string) => LanguageModel,
  strictly: Readonly<Record<string, Outcome>>,
): Call[] {
  const options = { maxRetries: 0 };
  const calls: Record<string, Call['ask']> = {
    plain: async (at) =>
      has((await generateText({ ...options, model: modelOf(at), prompt: HELLO })).text, HELLO),
    'system prompt, sampling': async (at) => {
      const asked = { system: 'be brief', temperature: 0.3, maxOutputTokens: 900 };
      has((await generateText({ ...options, ...asked, model: modelOf(at), prompt: HELLO })).text, HELLO);
    },
    stream: async (at) =>
      has(
        await collect(
          streamText({ ...options, model: modelOf(at), prompt: HELLO }).textStream,
          (text) => text,
        ),
        HELLO,
      ),
    'tools in steps': async (at) => {
      const tools = { get_weather: weatherTool };
      const asked = { ...options, model: modelOf(at), tools, stopWhen: stepCountIs(3) };
      has((await generateText({ ...asked, prompt: WEATHER })).text, 'rain');
    },
    'tools in steps, streamed': async (at) => {
      const tools = { get_weather: weatherTool };
      const asked = { ...options, model: modelOf(at), tools, stopWhen: stepCountIs(3) };
      has(await streamText({ ...asked, prompt: WEATHER }).text, 'rain');
    },
    'JSON of a schema': async (at) => {
      const output = Output.object({ schema: Person });
      const reply = await generateText({ ...options, model: modelOf(at), prompt: HELLO, output });
      expect(reply.output).toEqual({ age: expect.any(Number) });
    },
    picture: async (at) => {
      const content = [
        { type: 'text' as const, text: HELLO },
        { type: 'image' as const, image: Buffer.from(PNG, 'base64') },
      ];
      const reply = await generateText({
        ...options,
        model: modelOf(at),
        messages: [{ role: 'user', content }],
      });
      has(reply.text, 'PNG 320x200');
    },
  };
  return Object.entries(calls).map(([name, ask]) => answered(name, ask, strictly[name]));
}

const aiOpenai = (at: string) => createOpenAI({ apiKey: key, baseURL: `${at}/v1` });
const aiAnthropic = (at: string) =>
  createAnthropic({ apiKey: key, baseURL: `${at}/v1`, headers: nativeHeaders });

// LangChain with each of its packages.

/** Does the same as `aiCalls` for LangChain's models. */
function chainCalls(
  modelOf: (at: string) => BaseChatModel,
  strictly: Readonly<Record<string, Outcome>>,
  shown: ContentBlock = { type: 'image_url', image_url: { url: DATA_URL } },
): Call[] {
  const contentOf = (message: { readonly content: unknown }) =>
    typeof message.content === 'string' ? message.content : JSON.stringify(message.content);
  const calls: Record<string, Call['ask']> = {
    plain: async (at) => has(contentOf(await modelOf(at).invoke(HELLO)), HELLO),
    'system prompt': async (at) =>
      has(
        contentOf(
          await modelOf(at).invoke([
            ['system', 'be brief'],
            ['human', HELLO],
          ]),
        ),
        HELLO,
      ),
    stream: async (at) => has(await collect(await modelOf(at).stream(HELLO), contentOf), HELLO),
    'tool and its follow-up': async (at) => {
      const tools = [{ name: 'get_weather', description: 'weather', schema: weatherSchema }];
      const model = modelOf(at).bindTools?.(tools);
      const reply = await model?.invoke(WEATHER);
      const call = reply?.tool_calls?.[0];
      if (!model || !(reply instanceof AIMessage) || !call) throw new Error('no tool was called');
      const result = new ToolMessage({ content: 'rain', tool_call_id: call.id ?? '', name: call.name });
      has(contentOf(await model.invoke([new HumanMessage(WEATHER), reply, result])), 'rain');
    },
    'JSON of a schema': async (at) => {
      const model = modelOf(at).withStructuredOutput(Person);
      expect(await model.invoke(HELLO)).toEqual({ age: expect.any(Number) });
    },
    picture: async (at) => {
      const content = [{ type: 'text', text: HELLO }, shown];
      has(contentOf(await modelOf(at).invoke([new HumanMessage({ content })])), 'PNG 320x200');
    },
  };
  return Object.entries(calls).map(([name, ask]) => answered(name, ask, strictly[name]));
}

const chainOpenai = (at: string) =>
  new ChatOpenAI({ model: GEO, apiKey: key, maxRetries: 0, configuration: { baseURL: `${at}/v1` } });

/** The exports of .ci/matrix/others.js, whose packages are installed by `npm run matrix` only. */
interface Others {
  readonly clientsOf: (asked: Readonly<Record<string, unknown>>) => Readonly<Record<string, readonly Call[]>>;
  readonly servers: Readonly<
    Record<
      string,
      (
        key: string,
        port: number,
      ) => Promise<{ readonly url: string; readonly answer: string; readonly stop: () => Promise<void> }>
    >
  >;
}
const others: Others | undefined =
  process.env.GW_MATRIX === undefined
    ? undefined
    : await import(pathToFileURL(path.join(import.meta.dirname, '../../.ci/matrix/others.js')).href);

const clients: Readonly<Record<string, readonly Call[]>> = {
  ...others?.clientsOf({
    key,
    model: GEO,
    hello: HELLO,
    weather: WEATHER,
    weatherSchema,
    picture: PICTURE,
    aiCalls,
  }),
  'openai, chat': openaiCalls,
  'openai, images': imageCalls,
  '@anthropic-ai/sdk': anthropicCalls,
  '@google/genai': genaiCalls,
  'ai, @ai-sdk/openai': [
    ...aiCalls((at) => aiOpenai(at).chat(GEO), {}),
    answered('image', async (at) => {
      const asked = { model: aiOpenai(at).image('legacy-image-3'), prompt: 'a fox', maxRetries: 0 };
      expect((await generateImage(asked)).image.uint8Array.length).toBeGreaterThan(100);
    }),
    outside(
      'image of an img model, in a format',
      (at) => generateImage({ model: aiOpenai(at).image('img-2'), prompt: 'a fox', maxRetries: 0 }),
      'refused',
    ),
    outside('responses, its default', (at) =>
      generateText({ model: aiOpenai(at)(GEO), prompt: HELLO, maxRetries: 0 }),
    ),
  ],
  'ai, @ai-sdk/openai-compatible': aiCalls(
    (at) =>
      createOpenAICompatible({
        name: 'gateway',
        apiKey: key,
        baseURL: `${at}/v1`,
        supportsStructuredOutputs: true,
      })(GEO),
    {},
  ),
  'ai, @ai-sdk/anthropic': [
    ...aiCalls((at) => aiAnthropic(at)(NATIVE), {}),
    answered('thinking', async (at) => {
      const providerOptions = { anthropic: { thinking: { type: 'enabled', budgetTokens: 1024 } } };
      const reply = await generateText({
        model: aiAnthropic(at)(NATIVE),
        prompt: HELLO,
        providerOptions,
        maxRetries: 0,
      });
      expect(reply.reasoningText).toBeTruthy();
    }),
  ],
  'ai, @ai-sdk/google': aiCalls(
    (at) =>
      createGoogleGenerativeAI({
        apiKey: 'unused',
        baseURL: `${at}/v1beta`,
        headers: { 'x-geo-api-key': key },
      })(GEO),
    {},
  ),
  '@langchain/openai': [
    ...chainCalls(chainOpenai, { 'tool and its follow-up': 'refused' }),
    outside('responses', (at) =>
      new ChatOpenAI({
        model: GEO,
        apiKey: key,
        maxRetries: 0,
        useResponsesApi: true,
        configuration: { baseURL: `${at}/v1` },
      }).invoke(HELLO),
    ),
  ],
  '@langchain/anthropic': chainCalls(
    (at) =>
      new ChatAnthropic({
        model: NATIVE,
        apiKey: key,
        maxRetries: 0,
        anthropicApiUrl: at,
        clientOptions: { defaultHeaders: nativeHeaders },
      }),
    {},
  ),
  '@langchain/google-genai': chainCalls(
    (at) =>
      new ChatGoogleGenerativeAI({
        model: GEO,
        apiKey: 'unused',
        baseUrl: at,
        maxRetries: 0,
        customHeaders: { 'x-geo-api-key': key },
      }),
    {},
    // This package refuses image_url for a model whose name it does not know.
    { type: 'media', mimeType: 'image/png', data: PNG },
  ),
};

// The AI SDK would warn about each setting that a model of its own does not have.
Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false });

const sandboxes: Partial<Record<'usual' | 'strict', Sandbox>> = {};
const start = (strict: boolean) =>
  startSandbox({ key, account: 'enterprise', speed: 1e6, faults: [], clipsDir, wasmDir, strict });
beforeAll(async () => {
  sandboxes.usual = await start(false);
  sandboxes.strict = await start(true);
});
const rows: string[] = [];
afterAll(async () => {
  await Promise.all(Object.values(sandboxes).map((each) => each.close()));
  if (process.env.GW_MATRIX !== undefined) console.log(tableOf(rows));
});

/** The outcome of a call, and the reason that the sandbox gave if it refused the request. */
async function outcomeOf(ask: Call['ask'], sandbox: Sandbox | undefined): Promise<[Outcome, string]> {
  if (!sandbox) throw new Error('the sandbox is not started yet');
  const from = sandbox.requests.length;
  const failed = await ask(sandbox.baseUrl).then(
    () => undefined,
    (error: unknown) => error ?? new Error('failed'),
  );
  const refused = sandbox.requests.slice(from).find(({ verdict }) => verdict?.startsWith('refused'));
  if (failed === undefined) return ['answered', ''];
  if (refused === undefined) throw failed;
  return [
    refused.status === 404 || refused.status === 405 ? 'no endpoint' : 'refused',
    refused.verdict ?? '',
  ];
}

/** The document's sentence behind each refused call, found by the client's name and the refused field. */
const sentences: readonly (readonly [RegExp, string])[] = [
  [/NotFound$/, '404 wrong path (for example a missing /v1 prefix)'],
  [/ image$/, 'multipart uploads use the field image[]'],
  [
    / response_format$/,
    'legacy models only; img models always return Base64 and must not be sent this parameter',
  ],
  [/ tool_choice$/, 'tool_choice string or object e.g. auto'],
  [
    /\.strict$/,
    'items of type function with function.name, function.description, function.parameters (JSON schema)',
  ],
  [
    /\.index$/,
    'message.tool_calls holds the call ID, type function, function name and arguments (a JSON string)',
  ],
  [
    /\.name$/,
    'The follow-up request appends the assistant message and a message with role tool, tool_call_id and content, with the same tools.',
  ],
  [
    /thinking\.type$/,
    'type enabled with budget_tokens (at least 1,024, normally below max_tokens), or type adaptive without budget_tokens',
  ],
  [
    / generationConfig\./,
    'maxOutputTokens, temperature, topP, topK, stopSequences, candidateCount, responseMimeType, responseSchema, thinkingConfig (thinkingLevel, thinkingBudget, includeThoughts)',
  ],
  [
    /^(?!@anthropic).* messages\[0\]\.content(\[1\]\.image_url\.detail)?$/,
    'content may be text or an array with text and image_url parts (URL or Base64 data URL',
  ],
  [
    / (messages\[0\]\.(role|content)|system\[0\]\.cache_control|seed, store, .*|top_p, stop)$/,
    'Which parameters a given model accepts varies by model; sending an unsupported parameter may produce an error.',
  ],
];

test.runIf(document !== undefined)(
  'what is said of calls that are not answered stands in the document',
  () => {
    expect(sentences.map(([, sentence]) => sentence).filter((sentence) => !isQuoted(sentence))).toEqual([]);
  },
);

const totals = { calls: 0, answered: 0, strict: 0 };
function tableOf(lines: readonly string[]): string {
  const sum = `${totals.calls} calls of ${Object.keys(clients).length} clients: ${totals.answered} answered, ${totals.calls - totals.answered} outside the document; ${totals.strict} answered under --strict`;
  return ['client | call | by default | --strict | refused for | the document', ...lines, sum].join('\n');
}

describe.each(Object.entries(clients))('%s', (client, calls) => {
  test.each(calls)('$name', async ({ name, ask, usual, strict }) => {
    const byDefault = await outcomeOf(ask, sandboxes.usual);
    const strictly = await outcomeOf(ask, sandboxes.strict);
    totals.calls += 1;
    totals.answered += byDefault[0] === 'answered' ? 1 : 0;
    totals.strict += strictly[0] === 'answered' ? 1 : 0;
    const row = [client, name, byDefault[0], strictly[0], strictly[1] || byDefault[1]].join(' | ');
    const [, sentence = ''] = sentences.find(([of]) => of.test(row)) ?? [];
    rows.push(`${row} | ${sentence}`);
    expect({ usual: byDefault[0], strict: strictly[0] }, strictly[1]).toEqual({ usual, strict });
    expect(sentence !== '', 'a sentence stands where the call is not answered').toBe(strict !== 'answered');
  });
});

describe('an error comes in the class of its client', () => {
  const failed = async (call: Promise<unknown>) => call.catch((error: unknown) => error);
  const at = () => sandboxes.usual?.baseUrl ?? '';

  test('openai', async () => {
    const ask = (apiKey: string, model: string) =>
      failed(
        new OpenAI({ apiKey, baseURL: `${at()}/v1`, maxRetries: 0 }).chat.completions.create({
          model,
          messages: [user(HELLO)],
        }),
      );
    expect(await ask('wrong', GEO)).toBeInstanceOf(OpenAI.AuthenticationError);
    expect(await ask(key, 'nope')).toBeInstanceOf(OpenAI.BadRequestError);
    expect(await failed(images(at()).generate({ ...small, size: '1000x1000' }))).toBeInstanceOf(
      OpenAI.BadRequestError,
    );
  });

  test('@anthropic-ai/sdk', async () => {
    const ask = (defaultHeaders: Record<string, string | null>) =>
      failed(
        new Anthropic({ apiKey: key, baseURL: at(), maxRetries: 0, defaultHeaders }).messages.create({
          ...native,
          messages: [user(HELLO)],
        }),
      );
    expect(await ask({ authorization: 'Bearer wrong' })).toBeInstanceOf(Anthropic.AuthenticationError);
    // The gateway wants its version beside x-api-key.
    const own = { authorization: null, 'x-api-key': key };
    expect(await ask(own)).toBeInstanceOf(Anthropic.BadRequestError);
    expect(await ask({ ...own, ...nativeHeaders })).toMatchObject({ stop_reason: 'end_turn' });
  });

  test('@google/genai', async () => {
    const ask = (headers: Record<string, string>, model: string) =>
      failed(
        new GoogleGenAI({ apiKey: 'unused', httpOptions: { baseUrl: at(), headers } }).models.generateContent(
          {
            model,
            contents: HELLO,
          },
        ),
      );
    const refused = await ask({}, GEO);
    expect(refused).toBeInstanceOf(ApiError);
    expect(refused).toMatchObject({ status: 401 });
    expect(await ask({ 'x-geo-api-key': key }, 'geo-9')).toMatchObject({ status: 400 });
  });
});

describe('the official SDKs talk to the built gw sandbox serve', () => {
  const gateway = served();
  const talks = { openaiCalls, imageCalls, anthropicCalls, genaiCalls };
  const first = ['plain', 'stream', 'tool and its follow-up', 'webp with a compression', 'edit with a mask'];
  const chosen = Object.entries(talks).flatMap(([client, calls]) =>
    calls.filter(({ name }) => first.includes(name)).map(({ name, ask }) => ({ client, name, ask })),
  );
  test.each(chosen)('$client: $name', async ({ ask }) => {
    await ask(gateway.baseUrl);
  });
});

if (others)
  describe.each(Object.entries(others.servers))('gw chat talks to %s', (_, start) => {
    test.each([['--stream'], ['--no-stream']])('%s', async (way) => {
      const server = await start(key, await freePort());
      const world = await World.open();
      const env = { GW_BASE_URL: server.url, GW_API_KEY: key };
      const run = await world.gw(['chat', '-m', 'gpt-4', 'hello', '--usage', way], { env });
      await world.close();
      await server.stop();
      expect(run).toMatchObject({ code: 0, out: server.answer });
      expect(run.err).toMatch(/^tokens: \d+ in|no token figures in its stream; --no-stream may bring them/);
    });
  });
