// Third-party clients and servers, which only `npm run matrix` needs and installs here: the calls of each client to a sandbox,
// and gw's calls to each server.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { createDeepSeek } from '@ai-sdk/deepseek';
import { createMistral } from '@ai-sdk/mistral';
import Cerebras from '@cerebras/cerebras_cloud_sdk';
import { GoogleGenerativeAI } from '@google/generative-ai';
import { InferenceClient } from '@huggingface/inference';
import instructor from '@instructor-ai/instructor';
import { Mistral } from '@mistralai/mistralai';
import { Agent, OpenAIChatCompletionsModel, Runner, setTracingDisabled, tool } from '@openai/agents';
import OpenAI from 'openai';
import { Configuration, OpenAIApi } from 'openai-edge';
import { MockLLM } from 'phantomllm';
import Together from 'together-ai';
import * as z from 'zod';
import * as z3 from 'zod/v3';

setTracingDisabled(true);

const answered = (name, ask, strict = 'answered') => ({ name, ask, usual: 'answered', strict });
const outside = (name, ask, outcome = 'no endpoint') => ({ name, ask, usual: outcome, strict: outcome });

const user = (content) => ({ role: 'user', content });

function has(text, words) {
  if (!String(text).includes(words)) throw new Error(`"${words}" is not in: ${text}`);
}

async function collect(stream, textOf) {
  let text = '';
  for await (const each of stream) text += textOf(each) ?? '';
  return text;
}

/** `key` is the API key of the sandboxes, `model` a chat model; `aiCalls` makes the calls of the AI SDK with such a model. */
export function clientsOf({ key, model, hello, weather, weatherSchema, picture, aiCalls }) {
  const offered = { type: 'function', function: { name: 'get_weather', parameters: weatherSchema } };

  const mistral = (at) => new Mistral({ apiKey: key, serverURL: at, retryConfig: { strategy: 'none' } }).chat;
  const mistralAsk =
    (of, words = hello) =>
    async (at) =>
      has(
        (await mistral(at).complete({ model, messages: [user(hello)], ...of })).choices[0].message.content,
        words,
      );

  const google = (at, of = {}) =>
    new GoogleGenerativeAI('unused').getGenerativeModel(
      { model, ...of },
      { baseUrl: at, customHeaders: { 'x-geo-api-key': key } },
    );

  const openai = (at) => new OpenAI({ apiKey: key, baseURL: `${at}/v1`, maxRetries: 0 });
  const agent = (at, of = {}) =>
    new Agent({
      name: 'Front',
      instructions: 'be brief',
      model: new OpenAIChatCompletionsModel(openai(at), model),
      ...of,
    });

  const together = (at) => new Together({ apiKey: key, baseURL: `${at}/v1`, maxRetries: 0 });
  const edge = (at) => new OpenAIApi(new Configuration({ apiKey: key, basePath: `${at}/v1` }));

  const cerebras = (at) => new Cerebras({ apiKey: key, baseURL: at, maxRetries: 0, warmTCPConnection: false });
  const hugging = (at) => new InferenceClient(key, { endpointUrl: `${at}/v1` });

  const person = { name: 'Person', schema: z3.object({ age: z3.number() }) };
  const instructed = (mode) => async (at) => {
    const client = instructor({ client: openai(at), mode });
    const found = await client.chat.completions.create({
      model,
      messages: [user(hello)],
      response_model: person,
    });
    if (typeof found.age !== 'number') throw new Error(JSON.stringify(found));
  };

  return {
    '@mistralai/mistralai': [
      answered('plain', mistralAsk({})),
      answered('stream', async (at) =>
        has(
          await collect(
            await mistral(at).stream({ model, messages: [user(hello)] }),
            ({ data }) => data.choices[0]?.delta.content,
          ),
          hello,
        ),
      ),
      answered('JSON object', async (at) => {
        const asked = { model, messages: [user(hello)], responseFormat: { type: 'json_object' } };
        JSON.parse((await mistral(at).complete(asked)).choices[0].message.content);
      }),
      answered(
        'the choice any',
        async (at) => {
          const asked = { model, messages: [user(hello)], tools: [offered], toolChoice: 'any' };
          if ((await mistral(at).complete(asked)).choices[0].message.toolCalls.length !== 1)
            throw new Error('no call');
        },
        'refused',
      ),
      answered(
        'tool and its follow-up',
        async (at) => {
          const asked = { model, tools: [offered] };
          const { choices } = await mistral(at).complete({ ...asked, messages: [user(weather)] });
          const [{ message }] = choices;
          const result = { role: 'tool', toolCallId: message.toolCalls[0].id, content: 'rain' };
          const reply = await mistral(at).complete({ ...asked, messages: [user(weather), message, result] });
          has(reply.choices[0].message.content, 'rain');
        },
        'refused',
      ),
      answered(
        'picture, its address a text',
        mistralAsk({
          messages: [
            user([
              { type: 'text', text: hello },
              { type: 'image_url', imageUrl: picture },
            ]),
          ],
        }),
        'refused',
      ),
    ],
    '@google/generative-ai': [
      answered('plain', async (at) => has((await google(at).generateContent(hello)).response.text(), hello)),
      answered('stream', async (at) =>
        has(
          await collect((await google(at).generateContentStream(hello)).stream, (chunk) => chunk.text()),
          hello,
        ),
      ),
      answered('system prompt, JSON of a schema', async (at) => {
        const generationConfig = { responseMimeType: 'application/json', responseSchema: weatherSchema };
        const asked = google(at, { systemInstruction: 'be brief', generationConfig });
        JSON.parse((await asked.generateContent(hello)).response.text());
      }),
      answered('tool and its follow-up', async (at) => {
        const tools = [{ functionDeclarations: [{ name: 'get_weather', parameters: weatherSchema }] }];
        const chat = google(at, { tools }).startChat();
        const [call] = (await chat.sendMessage(weather)).response.functionCalls();
        const result = { functionResponse: { name: call.name, response: { output: 'rain' } } };
        has((await chat.sendMessage([result])).response.text(), 'rain');
      }),
      outside('count of tokens', (at) => google(at).countTokens(hello)),
    ],
    '@openai/agents': [
      answered('plain', async (at) => has((await new Runner().run(agent(at), hello)).finalOutput, hello)),
      answered('stream', async (at) => {
        const streamed = await new Runner().run(agent(at), hello, { stream: true });
        has(await collect(streamed.toTextStream(), (text) => text), hello);
        await streamed.completed;
      }),
      answered('JSON of a schema', async (at) => {
        const outputType = z.object({ age: z.number() });
        const { finalOutput } = await new Runner().run(agent(at, { outputType }), hello);
        if (typeof finalOutput.age !== 'number') throw new Error(JSON.stringify(finalOutput));
      }),
      answered(
        'tool and its follow-up',
        async (at) => {
          const parameters = z.object({ city: z.string() });
          const tools = [
            tool({ name: 'get_weather', description: 'weather', parameters, execute: () => 'rain' }),
          ];
          has((await new Runner().run(agent(at, { tools }), weather)).finalOutput, 'rain');
        },
        'refused',
      ),
      answered('handoff', async (at) => {
        const front = agent(at, { handoffs: [agent(at, { name: 'Weather' })] });
        const { lastAgent } = await new Runner().run(front, 'transfer_to_Weather please');
        has(lastAgent.name, 'Weather');
      }),
      answered(
        'handoff beside a tool',
        async (at) => {
          const parameters = z.object({ city: z.string() });
          const tools = [
            tool({ name: 'get_weather', description: 'weather', parameters, execute: () => 'rain' }),
          ];
          const front = agent(at, { tools, handoffs: [agent(at, { name: 'Weather' })] });
          const { lastAgent } = await new Runner().run(front, 'transfer_to_Weather please');
          has(lastAgent.name, 'Weather');
        },
        'refused',
      ),
    ],
    'together-ai': [
      answered('plain', async (at) => {
        const reply = await together(at).chat.completions.create({ model, messages: [user(hello)] });
        has(reply.choices[0].message.content, hello);
      }),
      answered('stream', async (at) => {
        const asked = { model, messages: [user(hello)], stream: true };
        const stream = await together(at).chat.completions.create(asked);
        has(await collect(stream, (chunk) => chunk.choices[0]?.delta?.content), hello);
      }),
      answered('tool', async (at) => {
        const asked = { model, messages: [user(weather)], tools: [offered], tool_choice: 'auto' };
        const reply = await together(at).chat.completions.create(asked);
        has(reply.choices[0].message.tool_calls[0].function.name, 'get_weather');
      }),
      answered('models', async (at) => has(JSON.stringify(await together(at).models.list()), model)),
    ],
    'openai-edge': [
      answered('plain', async (at) => {
        const reply = await edge(at).createChatCompletion({ model, messages: [user(hello)] });
        has((await reply.json()).choices[0].message.content, hello);
      }),
      answered('stream', async (at) => {
        const reply = await edge(at).createChatCompletion({ model, messages: [user(hello)], stream: true });
        has(await reply.text(), '[DONE]');
      }),
      answered('image', async (at) => {
        const reply = await edge(at).createImage({
          model: 'legacy-image-2',
          prompt: 'a fox',
          size: '256x256',
        });
        if (!(await reply.json()).data) throw new Error('no image');
      }),
    ],
    '@instructor-ai/instructor': [
      answered('as a tool', instructed('TOOLS')),
      answered('as a JSON schema', instructed('JSON_SCHEMA')),
    ],
    // This provider asks for any JSON object and puts the schema into the prompt.
    'ai, @ai-sdk/deepseek': aiCalls(
      (at) => createDeepSeek({ apiKey: key, baseURL: `${at}/v1` })(model),
      {},
    ).filter(({ name }) => name !== 'JSON of a schema'),
    'ai, @ai-sdk/mistral': aiCalls((at) => createMistral({ apiKey: key, baseURL: `${at}/v1` })(model), {
      'tools in steps': 'refused',
      'tools in steps, streamed': 'refused',
      picture: 'refused',
    }),
    '@cerebras/cerebras_cloud_sdk': [
      answered('plain', async (at) => {
        const reply = await cerebras(at).chat.completions.create({ model, messages: [user(hello)] });
        has(reply.choices[0].message.content, hello);
      }),
      answered('stream', async (at) => {
        const asked = { model, messages: [user(hello)], stream: true };
        const stream = await cerebras(at).chat.completions.create(asked);
        has(await collect(stream, (chunk) => chunk.choices[0]?.delta?.content), hello);
      }),
      answered('tool', async (at) => {
        const asked = { model, messages: [user(weather)], tools: [offered] };
        const reply = await cerebras(at).chat.completions.create(asked);
        has(reply.choices[0].message.tool_calls[0].function.name, 'get_weather');
      }),
      answered('models', async (at) => has(JSON.stringify(await cerebras(at).models.list()), model)),
      outside('one model', (at) => cerebras(at).models.retrieve(model)),
      outside('text completion', (at) => cerebras(at).completions.create({ model, prompt: hello })),
    ],
    '@huggingface/inference': [
      answered('plain', async (at) => {
        const reply = await hugging(at).chatCompletion({ model, messages: [user(hello)] });
        has(reply.choices[0].message.content, hello);
      }),
      answered('stream with a limit', async (at) => {
        const stream = hugging(at).chatCompletionStream({ model, messages: [user(hello)], max_tokens: 400 });
        has(await collect(stream, (chunk) => chunk.choices[0]?.delta?.content), hello);
      }),
      answered('tool', async (at) => {
        const asked = { model, messages: [user(weather)], tools: [offered], tool_choice: 'auto' };
        const reply = await hugging(at).chatCompletion(asked);
        has(reply.choices[0].message.tool_calls[0].function.name, 'get_weather');
      }),
      answered('JSON object', async (at) => {
        const asked = { model, messages: [user(hello)], response_format: { type: 'json_object' } };
        JSON.parse((await hugging(at).chatCompletion(asked)).choices[0].message.content);
      }),
      outside('text generation', (at) => hugging(at).textGeneration({ model, inputs: hello })),
      outside('embeddings', (at) => hugging(at).featureExtraction({ model, inputs: hello })),
    ],
  };
}

const answer = 'Hello from the mock.';

/** Servers that gw talks to: each entry starts one and returns its address, its answer and a function that stops it. */
export const servers = {
  phantomllm: async () => {
    const server = new MockLLM();
    await server.start();
    server.given.chatCompletion.willReturn(answer);
    const url = new URL(server.apiBaseUrl);
    return { url: `http://127.0.0.1:${url.port}`, answer, stop: () => server.stop() };
  },
  'openai-mock-api': async (key, port) => {
    const cli = createRequire(import.meta.url).resolve('openai-mock-api/dist/cli.js');
    const child = spawn(process.execPath, [cli, '--port', String(port)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const messages = [user('hello'), { role: 'assistant', content: answer }];
    child.stdin.end(JSON.stringify({ apiKey: key, port, responses: [{ id: 'greeting', messages }] }));
    await once(child.stdout, 'data');
    return {
      url: `http://127.0.0.1:${port}`,
      answer,
      stop: async () => {
        child.kill();
        await once(child, 'exit');
      },
    };
  },
};
