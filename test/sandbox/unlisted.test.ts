import { describe, expect, it } from 'vitest';
import type { Sandbox } from '../../src/sandbox/server.ts';
import { completions, geo, geoModel, messages, messagesAuth, quick } from './chat-fixture.ts';
import { ask, auth, bodyOf, create, get, image, json, post, text } from './fixture.ts';
import { editsPath, generate, postForm } from './image-fixture.ts';

// Common clients send fields that the document does not list. The sandbox ignores an unlisted field and reports it once; it
// refuses a field that the document forbids or that has a wrong type. A strict sandbox refuses all of these.

const user = (content: unknown) => [{ role: 'user', content }];
const past = { Filter: { GroupType: 'AIGC' }, PageNumber: 1000, PageSize: 100 };
const deltaEdit = {
  ...{ model: 'delta-image-4-0-250828', prompt: 'x' },
  images: [{ image_url: 'https://example.com/a.png' }],
};
const tool = (more: object) => ({ type: 'function', function: { name: 'get_weather', ...more } });
const inline = {
  mime_type: 'image/png',
  data: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=',
};

const unlisted: [string, (at: Sandbox) => ReturnType<typeof ask>, string][] = [
  ['function.strict', (at) => completions(at, { tools: [tool({ strict: true })] }), 'tools.function.strict'],
  [
    'image_url.detail',
    (at) =>
      completions(at, {
        messages: user([
          { type: 'image_url', image_url: { url: 'https://example.com/a.png', detail: 'low' } },
        ]),
      }),
    'messages.content.image_url.detail',
  ],
  ['seed and store', (at) => completions(at, { seed: 1, store: false }), 'seed, store'],
  ['parallel_tool_calls', (at) => completions(at, { parallel_tool_calls: false }), 'parallel_tool_calls'],
  [
    'stream_options',
    (at) => completions(at, { stream: true, stream_options: { include_obfuscation: false } }),
    'stream_options.include_obfuscation',
  ],
  [
    'a name in a message',
    (at) => completions(at, { messages: [{ role: 'user', name: 'a', content: 'x' }] }),
    'messages.name',
  ],
  [
    'cache_control',
    (at) =>
      messages(at, { messages: user([{ type: 'text', text: 'x', cache_control: { type: 'ephemeral' } }]) }),
    'messages.content.cache_control',
  ],
  ['metadata', (at) => messages(at, { metadata: { user_id: 'u' } }), 'metadata'],
  ['labels', (at) => geo(at, { labels: { a: 'b' } }), 'labels'],
  ['the seed of a video', (at) => create(at, bodyOf({ seed: 7 })), 'seed'],
  [
    'a weight of an image',
    (at) => create(at, bodyOf({ content: [text('x'), { ...image('reference_image'), weight: 1 }] })),
    'content.weight',
  ],
  [
    'the seed of family B',
    (at) => post(at, '/text-to-video/beta-3.0', { prompt: 'x', settings: { seed: 1 } }),
    'settings.seed',
  ],
  ['a page of the task query', (at) => post(at, '/tasks', { page: 1 }), 'page'],
  ['the seed of an image', (at) => generate(at, { model: 'img-2', seed: 3 }), 'seed'],
  [
    'a tag of a group',
    (at) => post(at, '/?Action=CreateAssetGroup&Version=2024-01-01', { Name: 'a', Tag: 'b' }),
    'Tag',
  ],
  ['a parameter of a list', (at) => get(at, '/api/assets?project=film'), 'project'],
];

describe('what the document does not list', () => {
  it.each(unlisted)('%s passes, and is said once', async (_, send, fields) => {
    const told: string[] = [];
    const at = await quick({ tell: (what) => told.push(what) });
    for (let nth = 0; nth < 2; nth += 1) {
      const answer = await send(at);
      expect(answer.status, answer.text).toBe(200);
      expect(answer.headers['x-sandbox-verdict']).toBe(`passed over ${fields}`);
    }
    expect(told).toEqual(
      fields
        .split(', ')
        .map((field) => expect.stringMatching(`^passed over: ${field}, which [a-zA-Z.]+ does not document`)),
    );
    expect(at.requests.map(({ passedOver }) => passedOver)).toEqual(Array(2).fill(fields.split(', ')));
  });

  it.each(unlisted)('%s is refused by a strict sandbox', async (_, send, fields) => {
    const answer = await send(await quick({ strict: true }));
    expect(answer.status, answer.text).toBe(400);
    expect(answer.headers['x-sandbox-verdict']).toMatch(/^refused InvalidParameter/);
    expect(answer.text).toContain(fields.split(/[.,]/).at(-1)?.trim());
  });

  it('passes in a form too', async () => {
    const at = await quick();
    const png = Buffer.from(inline.data, 'base64');
    const answer = await postForm(at, [
      ['model', 'img-2'],
      ['prompt', 'x'],
      ['image[]', png],
      ['seed', '1'],
    ]);
    expect([answer.status, answer.headers['x-sandbox-verdict']], answer.text).toEqual([
      200,
      'passed over seed',
    ]);
    expect(at.requests.at(-1)?.path).toBe(editsPath);
  });
});

describe('kinds and types that the document does not show', () => {
  const part = (of: object) => ({ messages: user([{ type: 'text', text: 'x' }, of]) });
  const choice = 'taken; read another tool_choice as auto';
  const over = (fields: string) => `passed over ${fields}`;
  const level = (thinking_level: unknown) => ({
    extra_body: { geo: { thinking_config: { thinking_level } } },
  });
  const geoFields = [
    ...['maxOutputTokens', 'temperature', 'topP', 'topK', 'stopSequences', 'candidateCount'],
    ...['responseMimeType', 'responseSchema', 'thinkingConfig'],
  ];
  const turn = { messages: [...user('x'), { role: 'robot', content: 'x' }] };
  it.each<[string, Record<string, unknown>, typeof completions, string]>([
    ['a part', part({ type: 'document' }), completions, 'passed over messages.content.type document'],
    ['a block', part({ type: 'search' }), messages, 'passed over messages.content.type search'],
    ['a role', turn, completions, 'passed over messages.role robot'],
    ['a role of native messages', turn, messages, 'passed over messages.role'],
    ['a tool', { tools: [{ type: 'web_search' }] }, completions, 'passed over tools.type web_search'],
    ['a tool without a type', { tools: [{ name: 'f' }] }, completions, 'passed over tools.type undefined'],
    [
      'an image as a text',
      part({ type: 'image_url', image_url: 'https://example.com/a.png' }),
      completions,
      'taken; read a text as image_url.url',
    ],
    ['another choice', { tools: [tool({})], tool_choice: 'perhaps' }, completions, choice],
    ['a choice of another shape', { tools: [tool({})], tool_choice: { type: 'x' } }, completions, choice],
    ['another choice of native messages', { tool_choice: { type: 'perhaps' } }, messages, choice],
    ['the choice any', { tools: [tool({})], tool_choice: 'any' }, completions, 'taken; read any as required'],
    [
      'a picture of another kind',
      part({ type: 'image', source: {} }),
      messages,
      over('messages.content.source.type'),
    ],
    ['a tool without a name', { tools: [{ type: 'web' }] }, messages, over('tools.name')],
    ['a system prompt of numbers', { system: [5] }, messages, over('system')],
    ['options of a stream', { stream_options: 5 }, completions, over('stream_options')],
    ['a level of thought', level(5), completions, over('extra_body.geo.thinking_config.thinking_level')],
    ...geoFields.map((field): [string, Record<string, unknown>, typeof completions, string] => [
      field,
      { generationConfig: { [field]: null } },
      geo,
      over(`generationConfig.${field}`),
    ]),
    [
      'a part',
      { contents: [{ parts: [{ text: 'x' }, { text: 5, thought: 'x', functionCall: {} }] }] },
      geo,
      over('contents.parts.text, contents.parts.thought, contents.parts.functionCall.name'),
    ],
    ['a role', { contents: [{ role: 5, parts: [{ text: 'x' }] }] }, geo, over('contents.role')],
    ['tools in an object', { tools: {} }, geo, over('tools')],
  ])('%s is taken with a note, and refused by a strict sandbox', async (_, body, send, verdict) => {
    const answer = await send(await quick(), body);
    expect([answer.status, answer.headers['x-sandbox-verdict']], answer.text).toEqual([200, verdict]);
    expect((await send(await quick({ strict: true }), body)).status).toBe(400);
  });
});

it.each([
  ['geo', (at: Sandbox) => geo(at, { max_tokens: 5 })],
  ['images', (at: Sandbox) => generate(at, { output_compression: 5 })],
  ['edits', (at: Sandbox) => post(at, editsPath, deltaEdit)],
  ['assets', (at: Sandbox) => post(at, '/?Action=ListAssets&Version=2024-01-01', past)],
])('a refusal names no flag of gw (%s)', async (_, send) => {
  const answer = await send(await quick());
  expect([answer.status, answer.text]).toEqual([400, expect.not.stringMatching(/--|gw /)]);
});

describe('what the document forbids, or has a wrong type, is refused beside fields that it does not list', () => {
  it.each<[string, object, string]>([
    ['an alias that geo models refuse', { thinking: { type: 'enabled' } }, 'thinking'],
    ['a wrong type', { temperature: 'warm' }, 'temperature'],
    ['both limits', { max_tokens: 5, max_completion_tokens: 5 }, 'max_tokens'],
    [
      'a wrong type deep in a message',
      { messages: user([{ type: 'text', text: 5 }]) },
      'messages[0].content[0].text',
    ],
  ])('%s', async (_, over, field) => {
    const answer = await completions(await quick(), { seed: 1, ...over });
    expect([answer.status, answer.headers['x-sandbox-verdict']]).toEqual([
      400,
      `refused InvalidParameter ${field}`,
    ]);
  });

  it('a setting that turbo does not have', async () => {
    const body = { prompt: 'x', settings: { audio: 'on', seed: 1 } };
    const answer = await post(await quick(), '/text-to-video/beta-3.0-turbo', body);
    expect([answer.status, answer.headers['x-sandbox-verdict']]).toEqual([
      400,
      'refused InvalidParameter settings.audio',
    ]);
  });
});

describe('what public clients spell in their own way', () => {
  it('the role developer is the role system', async () => {
    const say = (role: string) => ({ messages: [{ role, content: 'be brief' }, ...user('hello')] });
    const at = await quick();
    const [developer, system] = [
      await completions(at, say('developer')),
      await completions(at, say('system')),
    ];
    expect(json(developer).choices).toEqual(json(system).choices);
    expect((await completions(await quick({ strict: true }), say('developer'))).status).toBe(400);
  });

  it('thinking may be disabled in so many words', async () => {
    expect((await messages(await quick(), { thinking: { type: 'disabled' } })).status).toBe(200);
    expect((await messages(await quick({ strict: true }), { thinking: { type: 'disabled' } })).status).toBe(
      400,
    );
  });

  it.each<[string, Record<string, unknown>, Record<string, unknown>]>([
    [
      'a picture',
      { contents: [{ parts: [{ text: 'x' }, { inline_data: inline }] }] },
      {
        contents: [{ parts: [{ text: 'x' }, { inlineData: { mimeType: 'image/png', data: inline.data } }] }],
      },
    ],
    [
      'settings and the system prompt',
      { system_instruction: { parts: [{ text: 's' }] }, generation_config: { max_output_tokens: 40 } },
      { systemInstruction: { parts: [{ text: 's' }] }, generationConfig: { maxOutputTokens: 40 } },
    ],
    [
      'a JSON schema',
      {
        generationConfig: {
          responseMimeType: 'application/json',
          responseJsonSchema: { type: 'object', properties: { an_age: { type: 'integer' } } },
        },
      },
      {
        generationConfig: {
          responseMimeType: 'application/json',
          responseSchema: { type: 'object', properties: { an_age: { type: 'integer' } } },
        },
      },
    ],
    [
      'a function',
      {
        tools: [
          {
            function_declarations: [
              {
                name: 'hello',
                parameters_json_schema: { type: 'object', properties: { the_city: { type: 'string' } } },
              },
            ],
          },
        ],
      },
      {
        tools: [
          {
            functionDeclarations: [
              { name: 'hello', parameters: { type: 'object', properties: { the_city: { type: 'string' } } } },
            ],
          },
        ],
      },
    ],
  ])('Gemini-style: %s means the same in either spelling', async (_, theirs, documented) => {
    const at = await quick();
    const [one, other] = [await geo(at, theirs), await geo(at, documented)];
    expect([one.status, json(one).candidates], one.text).toEqual([200, json(other).candidates]);
    expect(one.headers['x-sandbox-verdict']).toMatch(/^taken; read [a-zA-Z]\S* as \S+/);
    expect(other.headers['x-sandbox-verdict']).toBe('taken');
  });
});

it('the verdict names the code of any refusal, and a fault', async () => {
  const at = await quick({ faults: [] });
  const path = '/v1/chat/completions';
  const send = (headers: Record<string, string>, body: unknown, method = 'POST') =>
    ask(`${at.baseUrl}${path}`, {
      method,
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
  expect((await send({}, {})).headers['x-sandbox-verdict']).toBe('refused MissingApiKey');
  expect((await send(auth, { model: 'geo-9', messages: user('x') })).headers['x-sandbox-verdict']).toBe(
    'refused ModelNotFound',
  );
  expect((await send(auth, {}, 'PUT')).headers['x-sandbox-verdict']).toBe('refused NotFound');
  expect((await send(auth, { model: geoModel, messages: user('x') })).headers['x-sandbox-verdict']).toBe(
    'taken',
  );
  expect((await send(messagesAuth, {})).headers['x-sandbox-verdict']).toBe('refused MissingApiKey');
});
