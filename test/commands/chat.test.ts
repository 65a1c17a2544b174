import { writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { beforeEach, describe, expect } from 'vitest';
import { main } from '../../src/main.ts';
import { cmd } from '../helpers/cmd.ts';
import { fakeGateway } from '../helpers/fake-gateway.ts';
import { reply, startFaultServer } from '../helpers/fault-server.ts';
import { KEY, test, World } from '../helpers/gw.ts';

let world: World;
beforeEach(async () => {
  world = await World.open({ speed: 1e9 });
});

const surfaces = [
  ['completions', []],
  ['messages', ['--api', 'messages', '-m', 'sandbox-chat-1']],
  ['geo', ['--api', 'geo']],
] as const;
const setUp = () => world.gw(['config', 'set', 'provider_version', '2026-01-31']);
const file = (name: string, value: unknown): string => {
  writeFileSync(path.join(world.cwd, name), typeof value === 'string' ? value : JSON.stringify(value));
  return name;
};
/** The request that the command line would send; nothing is sent. */
async function shown(words: readonly string[], stdin?: string) {
  const run = await world.gw(['chat', ...words, '--dry-run', '--json'], stdin === undefined ? {} : { stdin });
  expect(run, run.err).toMatchObject({ code: 0 });
  expect(world.requests()).toEqual([]);
  return JSON.parse(run.out) as {
    method: string;
    url: string;
    headers: Record<string, string>;
    body: Record<string, unknown>;
  };
}
/** The first line of the error for a refused command line; nothing is sent. */
async function refusal(words: readonly string[], stdin?: string): Promise<string> {
  const run = await world.gw(['chat', ...words], stdin === undefined ? {} : { stdin });
  expect(run, run.out + run.err).toMatchObject({ code: 2, out: '' });
  expect(world.requests()).toEqual([]);
  return run.err;
}
const weather = {
  name: 'get_weather',
  description: 'Weather of a city',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};
const pixel = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

describe.each(surfaces)('on %s', (api, words) => {
  beforeEach(setUp);

  test('streams the answer, byte for byte what the whole reply holds', async () => {
    const streamed = await world.gw(['chat', 'why is the sky blue?', ...words]);
    const whole = await world.gw(['chat', 'why is the sky blue?', ...words, '--no-stream']);
    expect(streamed).toMatchObject({ code: 0, err: '' });
    expect(streamed.out).toMatch(/sky blue/);
    expect(whole).toEqual(streamed);
    const wanted = {
      completions: ['/v1/chat/completions', '/v1/chat/completions'],
      messages: ['/v1/messages', '/v1/messages'],
      geo: ['streamGenerateContent', 'generateContent'].map(
        (action) => `/v1beta/models/geo-3.6-flash:${action}`,
      ),
    }[api];
    // A model that the document does not name is looked up once and then remembered.
    const looked = api === 'messages' ? ['GET /v1/models'] : [];
    expect(world.requests()).toEqual([...looked, ...wanted.map((each) => `POST ${each}`)]);
  });

  test('ends the line on a terminal and nowhere else', async () => {
    const piped = await world.gw(['chat', 'hello', ...words]);
    const { out } = await world.gw(['chat', 'hello', ...words, '--raw'], { terminal: true });
    expect(out).toBe(`${piped.out}\n`);
    expect(piped.out).not.toMatch(/\n$/);
  });

  test('--json gives the reply as it would have come unstreamed', async () => {
    const streamed = await world.gw(['chat', 'hello', ...words, '--json', '--usage']);
    const whole = await world.gw(['chat', 'hello', ...words, '--json', '--no-stream', '--usage']);
    expect(streamed).toMatchObject({ code: 0, err: whole.err });
    const plain = (text: string) => {
      const { id: _, created: __, responseId: ___, ...rest } = JSON.parse(text);
      return rest;
    };
    expect(plain(streamed.out)).toEqual(plain(whole.out));
    for (const { out } of [streamed, whole]) expect(out).toMatch(/^.*\n$/);
  });

  test('stream in --body or --set counts as typed', async () => {
    const body = file('body.json', { stream: false });
    const all = [
      ['--body', body],
      ['--set', 'stream=false'],
      ['--body', '-'],
    ];
    // On geo the path says it.
    for (const typed of api === 'geo' ? [] : all) {
      const options = { stdin: '{"stream":false}' };
      const shown = await world.gw(['chat', 'hello', ...words, ...typed, '--dry-run', '--json'], options);
      expect(JSON.parse(shown.out).body.stream, typed.join(' ')).toBe(false);
    }
    const over = ['--no-stream', '--set', 'stream=true'];
    const { out } = await world.gw(['chat', 'hello', ...words, '--json', ...over]);
    expect(out.trimEnd().split('\n').length).toBeGreaterThan(3);
  });

  test('--json --stream gives one event a line', async () => {
    const { out, code } = await world.gw(['chat', 'hello', ...words, '--json', '--stream']);
    const events = out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
    expect([code, events.length > 3]).toEqual([0, true]);
  });

  test('a tool call is one JSON line, and its result goes on with the tools that the session keeps', async () => {
    const tool = file('weather.json', weather);
    const question = cmd`chat weather? ${words} --tool ${tool} --tool-choice required`;
    const { out } = await world.ok([...question, '--session', 'w']);
    // The events have the call already.
    const events = await world.ok([...question, '--json', '--stream']);
    expect(events.out).not.toMatch(/^\{"id":"[^"]*","name":"get_weather","arguments":/m);
    const call = JSON.parse(out) as { id: string; name: string; arguments: string };
    expect(call).toEqual({ id: expect.any(String), name: 'get_weather', arguments: expect.any(String) });
    expect(JSON.parse(call.arguments)).toMatchObject({ city: expect.any(String) });

    const answer = await world.gw(cmd`
      chat --session w --tool-result ${`${call.id}={"t":21}`} ${words}
    `);
    expect(answer).toMatchObject({ code: 0, err: '' });
    expect(answer.out).toMatch(/21/);
    const wrong = await world.gw(['chat', '--session', 'w', '--tool-result', 'nope=1', ...words]);
    expect(wrong).toMatchObject({ code: 2, err: expect.stringMatching(/holds no such call/) });
  });

  test('an image goes in this surface’s form and is seen', async () => {
    writeFileSync(path.join(world.cwd, 'dot.png'), pixel);
    const { out, code, err } = await world.gw(['chat', 'what is this?', '--image', 'dot.png', ...words]);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(/1 ?x ?1|png/i);
  });

  test('an answer cut short is there, with a warning', async () => {
    const quiet = { completions: cmd`--reasoning-effort none`, messages: [], geo: cmd`--thinking off` }[api];
    const run = await world.gw(['chat', 'hello', ...words, ...quiet, '--max-tokens', '8']);
    expect(run).toMatchObject({
      code: 0,
      err: expect.stringMatching(/warning: the answer is cut short.*--max-tokens/),
    });
    expect(run.out.length).toBeGreaterThan(5);
  });

  test('a content filter is exit 11', async () => {
    const run = await world.gw(['chat', 'sensitive-text', ...words]);
    expect(run).toMatchObject({ code: 11, out: '', err: expect.stringMatching(/a filter ended the answer/) });
  });

  test('what came of a filtered answer is kept in its session, and no call of it', async () => {
    const json = {
      completions: { choices: [{ message: { content: 'Once upon' }, finish_reason: 'content_filter' }] },
      messages: {
        content: [
          { type: 'text', text: 'Once upon' },
          { type: 'tool_use', id: 't', name: 'get_time', input: {} },
        ],
        stop_reason: 'refusal',
      },
      geo: { candidates: [{ content: { parts: [{ text: 'Once upon' }] }, finishReason: 'SAFETY' }] },
    }[api];
    const server = await startFaultServer({ steps: [reply(200, JSON.stringify(json))] });
    const talk = ['chat', 'a tale', ...words, '--no-stream', '--no-validate', '--session', 'f'];
    const env = { GW_BASE_URL: server.url };
    expect((await world.gw(talk, { env })).code).toBe(11);
    const kept = await world.gw(['sessions', 'show', 'f']);
    expect(kept.out).toMatch(/a tale[\s\S]*Once upon/);
    expect(kept.out).not.toContain('get_time');
  });

  test('a session goes on where it was', async () => {
    const talk = (text: string, ...more: string[]) =>
      world.gw(['chat', text, ...words, '--session', 's', ...more]);
    expect((await talk('one')).out).toMatch(/I read 1 message/);
    expect((await talk('two')).out).toMatch(/I read 3 messages/);
    expect((await talk('three', '--new')).out).toMatch(/I read 1 message/);
  });

  test('the key goes in this surface’s header and is shown nowhere', async () => {
    const run = await world.gw(['chat', 'hello', ...words, '--verbose']);
    const { headers } = await shownHeaders(words);
    expect(Object.keys(headers)).toContain(
      { completions: 'authorization', messages: 'x-api-key', geo: 'x-geo-api-key' }[api],
    );
    expect(run.err).toMatch(/> POST .*\n/);
    expect(run.err).toMatch(/< HTTP 200 in/);
    expect(run.err + run.out).not.toContain(KEY);
  });

  const shownHeaders = async (more: readonly string[]) => {
    const { out } = await world.gw(['chat', 'hello', ...more, '--dry-run', '--json']);
    return JSON.parse(out) as { headers: Record<string, string> };
  };

  test('text from the model cannot drive a terminal', async () => {
    const { out } = await world.gw(['chat', 'say \u001b[31mred\u202e', ...words], { terminal: true });
    expect(out).toContain('\\x1b[31mred\\u202e');
    expect((await world.gw(['chat', 'say \u001b[31mred', ...words])).out).toContain('\u001b[31mred');
  });
});

test.each(surfaces)('--usage has its figures in a stream on %s', async (_, words) => {
  await setUp();
  const { err } = await world.ok(['chat', 'hello', '--usage', ...words]);
  expect(err).toMatch(/^tokens: \d+ in, \d+ out.* \d+ in all\n$/);
});

test('completions are asked for figures in a stream alone, and only by --usage', async () => {
  expect((await shown(['hi', '--usage'])).body).toMatchObject({ stream_options: { include_usage: true } });
  expect((await shown(['hi', '--usage', '--no-stream'])).body).not.toHaveProperty('stream_options');
  expect((await shown(['hi'])).body).not.toHaveProperty('stream_options');
});

test.each([['--no-stream'], ['--stream']])(
  '--candidates prints every answer, parted by a line (%s)',
  async (how) => {
    const asked = ['chat', 'hello', '--api', 'geo', how];
    const { out: first } = await world.gw(asked);
    const { out } = await world.ok([...asked, '--candidates', '3']);
    const answers = out.split('\n---\n');
    expect(answers[0]).toBe(first);
    expect(new Set(answers).size).toBe(3);
  },
);

test.each([['--stream'], ['--no-stream']])(
  '--json %s prints a whole reply with its numbers as they came',
  async (how) => {
    const text =
      '{"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}], "seed": 9007199254740993}';
    const server = await startFaultServer({ steps: [reply(200, text)] });
    const run = await world.ok(['chat', 'hi', '--json', how, '--base-url', server.url]);
    expect(run.out).toBe(`${how === '--stream' ? text.replaceAll(': ', ':').replaceAll(', ', ',') : text}\n`);
  },
);

test('--safety and --candidates are of geo alone', async () => {
  const safety = ['--safety', 'HARM_CATEGORY_HARASSMENT=BLOCK_NONE'];
  expect((await shown(['hi', '--api', 'geo', '--candidates', '2', ...safety])).body).toMatchObject({
    generationConfig: { candidateCount: 2 },
    safetySettings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }],
  });
  expect(await refusal(['hi', ...safety])).toMatch(/^error: --safety: not documented for --api completions/);
  expect(await refusal(cmd`hi --api messages -m m --candidates 2`)).toMatch(/--candidates: not/);
  expect(await refusal(['hi', '--api', 'geo', '--safety', 'high'])).toMatch(/not of the form CATEGORY=LEVEL/);
});

test.each([
  ['completions', ['--reasoning-effort', 'high']],
  ['geo', ['--thinking', '2048']],
])('an empty answer at the limit is exit 11 on %s and says which flag to raise', async (api, thinking) => {
  const words = ['--api', api, ...thinking, '--max-tokens', '5', '--usage', '--json'];
  const run = await world.gw(['chat', 'hello', ...words]);
  expect(run).toMatchObject({ code: 11 });
  expect(JSON.parse(run.out)).toBeTypeOf('object');
  const { error } = JSON.parse(run.err.trimEnd().split('\n').at(-1) ?? '');
  expect(error).toMatchObject({
    kind: 'incomplete',
    message: expect.stringMatching(
      /^the output limit was used up before any text came \(.*\): \d+ of \d+ tokens went into reasoning$/,
    ),
    hint: expect.stringMatching(/--max-tokens/),
    exit_code: 11,
  });
  expect(run.err).toMatch(/tokens: \d+ in, \d+ out \(\d+ of them reasoning\)/);
});

describe('one meaning, three spellings', () => {
  beforeEach(setUp);
  const common = ['hi', '--temperature', '0.5', '--max-tokens', '2000', '--system', 'Be brief.'];

  test('completions', async () => {
    const { method, url, body, headers } = await shown(cmd`
      ${common} --reasoning-effort low --tool ${file('t.json', weather)} --tool-choice get_weather
      --response-format json_object --usage
    `);
    expect([method, new URL(url).pathname, headers.accept]).toEqual([
      'POST',
      '/v1/chat/completions',
      'text/event-stream',
    ]);
    expect(body).toEqual({
      model: 'geo-3.6-flash',
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'hi' },
      ],
      temperature: 0.5,
      max_completion_tokens: 2000,
      reasoning_effort: 'low',
      tools: [{ type: 'function', function: weather }],
      tool_choice: { type: 'function', function: { name: 'get_weather' } },
      response_format: { type: 'json_object' },
      stream: true,
      stream_options: { include_usage: true },
    });
    expect((await shown([...common, '--compat-max-tokens', '--no-stream'])).body).toEqual({
      model: 'geo-3.6-flash',
      messages: expect.any(Array),
      temperature: 0.5,
      max_tokens: 2000,
    });
    expect((await shown(['hi', '--thinking-level', 'low', '--show-thoughts'])).body.extra_body).toEqual({
      geo: { thinking_config: { thinking_level: 'low', include_thoughts: true } },
    });
    expect((await shown(['hi', '--thinking', 'off'])).body.reasoning_effort).toBe('none');
    // gw does not request thoughts where the service refuses the combination, nor from models without that field.
    expect((await shown(['hi', '--show-thoughts', '--reasoning-effort', 'low'])).body).not.toHaveProperty(
      'extra_body',
    );
    for (const other of [
      ['-m', 'other'],
      ['--set', 'model=other'],
      ['--set', 'reasoning_effort=low'],
    ])
      expect((await shown(['hi', '--show-thoughts', ...other])).body).not.toHaveProperty('extra_body');
  });

  test('messages', async () => {
    const { url, body, headers } = await shown(cmd`
      ${common} --api messages -m m --top-p 0.9 --top-k 40 --stop A --stop B --thinking 1500 --tool
      ${file('t.json', weather)} --tool-choice required
    `);
    expect(new URL(url).pathname).toBe('/v1/messages');
    expect(headers).toMatchObject({ 'x-api-key': '***', 'provider-version': '2026-01-31' });
    expect(body).toEqual({
      model: 'm',
      max_tokens: 2000,
      messages: [{ role: 'user', content: 'hi' }],
      system: 'Be brief.',
      temperature: 0.5,
      top_p: 0.9,
      top_k: 40,
      stop_sequences: ['A', 'B'],
      thinking: { type: 'enabled', budget_tokens: 1500 },
      tools: [{ name: 'get_weather', description: weather.description, input_schema: weather.parameters }],
      tool_choice: { type: 'any' },
      stream: true,
    });
    const limitOf = async (...more: string[]) =>
      (await shown(['hi', '--api', 'messages', '--set', 'model=m', ...more])).body;
    const own = { thinking: { type: 'enabled', budget_tokens: 8000 } };
    const started = file('own.json', own);
    expect(await limitOf()).toMatchObject({ max_tokens: 4096 });
    expect(await limitOf('--thinking', '8000')).toMatchObject({ max_tokens: 12_096 });
    expect(await limitOf('--thinking', 'adaptive')).toMatchObject({
      max_tokens: 4096,
      thinking: { type: 'adaptive' },
    });
    for (const given of [
      ['--body', started],
      ['--set', `thinking=${JSON.stringify(own.thinking)}`],
    ])
      expect(await limitOf(...given)).toMatchObject({ max_tokens: 12_096, ...own });
    for (const typed of [[], ['--body', started]]) {
      const { max_tokens, thinking } = await limitOf('--thinking', 'off', ...typed);
      expect([max_tokens, thinking]).toEqual([4096, undefined]);
    }
  });

  test('geo', async () => {
    const { url, body } = await shown(cmd`
      ${common} --api geo --top-p 0.9 --top-k 40 --stop A --thinking-level LOW --show-thoughts
      --tool ${file('t.json', weather)} --tool-choice get_weather
      --response-format ${file('s.json', { type: 'object' })}
    `);
    expect(url).toMatch(/\/v1beta\/models\/geo-3\.6-flash:streamGenerateContent$/);
    expect(body).toEqual({
      contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
      systemInstruction: { parts: [{ text: 'Be brief.' }] },
      generationConfig: {
        maxOutputTokens: 2000,
        temperature: 0.5,
        topP: 0.9,
        topK: 40,
        stopSequences: ['A'],
        responseMimeType: 'application/json',
        responseSchema: { type: 'object' },
        thinkingConfig: { thinkingLevel: 'LOW', includeThoughts: true },
      },
      tools: [{ functionDeclarations: [weather] }],
      toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['get_weather'] } },
    });
    const json = ['hi', '--api', 'geo', '--no-stream', '-m', 'a/b', '--response-format', 'json_object'];
    const { url: whole, headers, body: wanted } = await shown(json);
    expect(wanted.generationConfig).toEqual({ responseMimeType: 'application/json' });
    expect(whole).toMatch(/\/v1beta\/models\/a%2Fb:generateContent$/);
    expect(headers.accept).toBe('application/json');
  });

  test('a schema file is a named schema on completions', async () => {
    const { body } = await shown([
      'hi',
      '--response-format',
      file('s.json', { title: 'City list', type: 'object' }),
    ]);
    expect(body.response_format).toEqual({
      type: 'json_schema',
      json_schema: { name: 'City_list', schema: { title: 'City list', type: 'object' } },
    });
  });

  test('images by URL and file', async () => {
    writeFileSync(path.join(world.cwd, 'dot.png'), pixel);
    const data = pixel.toString('base64');
    const images = ['hi', '--image', 'https://example.com/fox.webp', '--image', 'dot.png'];
    expect((await shown(images)).body.messages).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'hi' },
          { type: 'image_url', image_url: { url: 'https://example.com/fox.webp' } },
          { type: 'image_url', image_url: { url: `data:image/png;base64,${data}` } },
        ],
      },
    ]);
    expect((await shown([...images, '--api', 'messages', '-m', 'm'])).body.messages).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'hi' },
          { type: 'image', source: { type: 'url', url: 'https://example.com/fox.webp' } },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data } },
        ],
      },
    ]);
    expect((await shown([...images, '--api', 'geo'])).body.contents).toEqual([
      {
        role: 'user',
        parts: [
          { text: 'hi' },
          { fileData: { mimeType: 'image/webp', fileUri: 'https://example.com/fox.webp' } },
          { inlineData: { mimeType: 'image/png', data } },
        ],
      },
    ]);
  });

  test('--body is laid under the flags, --set over them', async () => {
    const body = file('b.json', {
      model: 'x',
      temperature: 2,
      messages: [{ role: 'user', content: 'one' }],
      seed: 7,
    });
    expect((await shown(['two', '--body', body, '--temperature', '0.1', '--set', 'seed=8'])).body).toEqual({
      model: 'x',
      temperature: 0.1,
      messages: [
        { role: 'user', content: 'one' },
        { role: 'user', content: 'two' },
      ],
      seed: 8,
      stream: true,
    });
  });

  const saved = [
    { role: 'developer', content: 'Be kind.' },
    { role: 'user', content: 'weather?' },
    {
      role: 'assistant',
      content: null,
      tool_calls: [
        { id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Köln"}' } },
      ],
    },
  ];
  test('--messages in the form of completions goes everywhere', async () => {
    const words = cmd`
      --messages ${file('m.json', saved)} --tool-result ${'call_1={"t":21}'}
      --tool ${file('t.json', weather)}
    `;
    const completions = (await shown(words)).body;
    expect(completions.messages).toEqual([
      ...saved,
      { role: 'tool', tool_call_id: 'call_1', content: '{"t":21}' },
    ]);
    const one = words;
    expect((await shown([...one, 'and?', '--api', 'messages', '-m', 'm'])).body).toMatchObject({
      system: 'Be kind.',
      messages: [
        { role: 'user', content: 'weather?' },
        {
          role: 'assistant',
          content: [{ type: 'tool_use', id: 'call_1', name: 'get_weather', input: { city: 'Köln' } }],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'call_1', content: '{"t":21}' },
            { type: 'text', text: 'and?' },
          ],
        },
      ],
    });
    expect((await shown([...one, '--api', 'geo'])).body).toMatchObject({
      systemInstruction: { parts: [{ text: 'Be kind.' }] },
      contents: [
        { role: 'user', parts: [{ text: 'weather?' }] },
        {
          role: 'model',
          parts: [{ functionCall: { id: 'call_1', name: 'get_weather', args: { city: 'Köln' } } }],
        },
        {
          role: 'user',
          parts: [{ functionResponse: { id: 'call_1', name: 'get_weather', response: { t: 21 } } }],
        },
      ],
    });
  });

  test('a developer is a system on the surfaces that have none', async () => {
    const list = [
      { role: 'developer', content: 'be brief' },
      { role: 'user', content: 'x' },
    ];
    const { body } = await shown(['--messages', file('m.json', list), '--api', 'messages', '-m', 'm']);
    expect(body).toMatchObject({ system: 'be brief', messages: [{ role: 'user', content: 'x' }] });
  });

  test('an image whose address stands alone goes everywhere, and of another part the way is named', async () => {
    const says = (part: object) => file('m.json', [{ role: 'user', content: [part] }]);
    const url = 'https://a.example/b.png';
    const words = ['--messages', says({ type: 'image_url', image_url: url })];
    const { messages } = (await shown([...words, '--api', 'messages', '-m', 'm'])).body;
    expect(messages).toEqual([{ role: 'user', content: [{ type: 'image', source: { type: 'url', url } }] }]);
    const { contents } = (await shown([...words, '--api', 'geo'])).body;
    expect(contents).toEqual([
      { role: 'user', parts: [{ fileData: { mimeType: 'image/png', fileUri: url } }] },
    ]);
    for (const part of [
      { type: 'document' },
      { type: 'image_url', image_url: { url: 'b.png' } },
      { type: 'image_url', image_url: 'data:image/png,raw' },
    ]) {
      const odd = ['chat', '--api', 'geo', '--messages', says(part), '--dry-run'];
      expect(await world.gw(odd), JSON.stringify(part)).toMatchObject({
        code: 2,
        err: expect.stringMatching(/neither text nor an image_url with a URL or .*\n.*--body FILE/),
      });
    }
  });

  test.each([
    ['a role', [], { role: 'developer', content: 'be brief' }, /messages\.0\.role: developer is none that/],
    [
      'an address alone',
      [],
      { role: 'user', content: [{ type: 'image_url', image_url: 'https://a.example/b.png' }] },
      /image_url: must be an object in the public API/,
    ],
    [
      'a part',
      [],
      { role: 'user', content: [{ type: 'file', file: { id: 'x' } }] },
      /content\.0\.type: file is none that/,
    ],
    [
      'a block',
      ['--api', 'messages', '-m', 'm'],
      { role: 'user', content: [{ type: 'document', source: {} }] },
      /content\.0\.type: document is none that/,
    ],
    [
      'an image block of another form',
      ['--api', 'messages', '-m', 'm'],
      { role: 'user', content: [{ type: 'image', source: { type: 'file', file_id: 'f' } }] },
      /messages\.0\.content\.0\.source.*of this shape \(sent as given: the document does not forbid it/s,
    ],
    [
      'a tool without a name',
      ['--api', 'messages', '-m', 'm', '--set', 'tools=[{"type":"web_search"}]'],
      { role: 'user', content: 'hi' },
      /--tool: is required in the public API|tools\.0\.name/,
    ],
    [
      'a format without a type',
      ['--set', 'response_format={"schema":{}}'],
      { role: 'user', content: 'hi' },
      /response_format\.type: is required in the public API/,
    ],
  ])('%s that the document does not show is sent with a warning', async (_, words, message, warning) => {
    const argv = cmd`
      chat --messages ${file('odd.json', [message, { role: 'user', content: 'hi' }])} ${words}
    `;
    const run = await world.gw([...argv, '--dry-run', '--json']);
    expect(run, run.err).toMatchObject({ code: 0, err: expect.stringMatching(warning) });
    expect(JSON.parse(run.out).body.messages[0]).toEqual(message);
    expect((await world.gw([...argv, '--dry-run', '--no-validate'])).err).toBe('');
  });

  test.each([
    ['an image without a type', ['--messages'], { inlineData: { data: 'AAAA' } }, /inlineData\.mimeType/],
    ['a file by another name', ['--messages'], { fileData: { uri: 'files/1' } }, /fileData\.fileUri/],
    [
      'safety in an object',
      ['--set', 'safetySettings={"a":"b"}', '--messages'],
      { text: 'x' },
      /^warning: safetySettings: /,
    ],
    [
      'tools in an object',
      ['--set', 'tools={"google":{}}', '--messages'],
      { text: 'x' },
      /^warning: tools: /,
    ],
    ['a text that is none', ['--messages'], { text: 5 }, /parts\.0\.text: must be a text/],
    ...['maxOutputTokens', 'topK', 'stopSequences', 'responseSchema', 'thinkingConfig.thinkingLevel'].map(
      (field): [string, string[], object, RegExp] => [
        `${field} of another type`,
        ['--set', `generationConfig.${field}=true`, '--messages'],
        { text: 'x' },
        /must be .* in the public API of this shape \(sent as given: the document does not forbid it\)\n$/,
      ],
    ),
  ])('of the Gemini style, %s is sent with a warning', async (_, words, part, warning) => {
    const contents = [{ role: 'user', parts: [part] }];
    const run = await world.gw([
      ...['chat', '--api', 'geo', '--dry-run', '--json'],
      ...[...words, file('part.json', contents)],
    ]);
    expect(run, run.err).toMatchObject({ code: 0, err: expect.stringMatching(warning) });
    expect(JSON.parse(run.out).body.contents).toEqual(contents);
  });

  test('--set changes a call beside an integer beyond 2^53, and not inside of that', async () => {
    const call = { id: 'c', type: 'function', function: { name: 'f', arguments: '{"n":9007199254740993}' } };
    const messages = [
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'c', content: 'x' },
    ];
    const argv = ['chat', '--api', 'geo', '--no-validate', '--messages', file('c.json', messages)];
    const at = 'contents.0.parts.0.functionCall.args.';
    const run = await world.gw([...argv, '--dry-run', '--json', '--set', `${at}city="Oslo"`]);
    expect(run.out, run.err).toContain('"args":{"n":9007199254740993,"city":"Oslo"}');
    const inside = await world.gw([...argv, '--dry-run', '--set', `${at}n.x=1`]);
    expect(inside).toMatchObject({
      code: 2,
      err: expect.stringContaining('n is no object or list, so nothing can'),
    });
  });

  test('--messages in the surface’s own form is sent as it is', async () => {
    const contents = [{ role: 'user', parts: [{ text: 'hi', x: 1 }] }];
    const geo = (await shown(['--messages', file('g.json', contents), '--api', 'geo'])).body;
    expect(geo).toEqual({ contents });
    const messages = [
      { role: 'user', content: [{ type: 'text', text: 'hi', cache_control: { type: 'ephemeral' } }] },
    ];
    const native = (await shown(['--messages', file('n.json', { messages }), '--api', 'messages', '-m', 'm']))
      .body;
    expect(native.messages).toEqual(messages);
    for (const set of [`messages=${JSON.stringify(messages)}`, `messages.0=${JSON.stringify(messages[0])}`])
      expect((await shown(['--set', set])).body.messages).toEqual(messages);
  });
});

describe('the prompt', () => {
  test('comes from words, --prompt, stdin, or words and stdin together', async () => {
    const content = async (words: string[], stdin?: string) =>
      ((await shown(words, stdin)).body.messages as { content: unknown }[])[0]?.content;
    expect(await content(['what', 'broke?'])).toBe('what broke?');
    expect(await content(['--prompt-file', file('p.txt', 'from a file\n')])).toBe('from a file');
    expect(await content([], 'from stdin\n')).toBe('from stdin');
    expect(await content(['what broke?'], 'log line 1\nlog line 2\n')).toBe(
      'what broke?\n\nlog line 1\nlog line 2',
    );
    expect(await content(['--prompt', '-'], 'all of it')).toBe('all of it');
  });
});

describe('refused before anything is sent', () => {
  beforeEach(setUp);
  const native = ['--api', 'messages', '-m', 'm'];
  const refused: [string, string[], RegExp][] = [
    ['no prompt', [], /^error: no prompt\nhint: .*words/],
    ['an empty prompt', [' '], /the prompt is empty/],
    ['an empty model', cmd`hi -m ""`, /^error: --model: is empty\n/],
    ['an empty model of geo', cmd`hi --api geo -m ""`, /^error: --model: is empty\n/],
    ['a prompt given twice', cmd`hi --prompt ho`, /given twice/],
    [
      '--top-k on completions',
      cmd`hi --top-k 40`,
      /--top-k: not documented for --api completions\nhint: --set top_k=VALUE sends it all the same/,
    ],
    ['--top-p on completions', cmd`hi --top-p 0.4`, /--top-p: not documented.*\nhint: --set top_p=VALUE/],
    ['--stop on completions', cmd`hi --stop x`, /--stop: not documented.*\nhint: --set stop=VALUE/],
    ['--candidates on completions', cmd`hi --candidates 2`, /: not documented.*\nhint: --set n=VALUE/],
    [
      'a thinking budget on completions',
      cmd`hi --thinking 5000`,
      /--thinking 5000: not documented.*\nhint: say --reasoning-effort/,
    ],
    [
      '--reasoning-effort on messages',
      cmd`hi ${native} --reasoning-effort low`,
      /--reasoning-effort: not documented for --api messages/,
    ],
    [
      '--response-format on messages',
      cmd`hi ${native} --response-format json_object`,
      /--set response_format=VALUE/,
    ],
    ['--reasoning-effort on geo', cmd`hi --api geo --reasoning-effort low`, /--thinking-level/],
    [
      'two output limits',
      cmd`hi --max-tokens 5 --set max_tokens=6`,
      /error: max_tokens 6: only one of the two output limits/,
    ],
    [
      'effort with a level',
      cmd`hi --reasoning-effort low --thinking-level low`,
      /--reasoning-effort low: does not go with/,
    ],
    [
      'effort none on 3.7',
      cmd`hi -m geo-3.7-flash --reasoning-effort none`,
      /--reasoning-effort none: geo-3.7-flash takes low, medium, high; none is for geo-3.5-flash/,
    ],
    ['thinking off on 3.7', cmd`hi -m geo-3.7-flash --thinking off`, /geo-3.7-flash takes low, medium, high/],
    ['a refused alias', cmd`hi --set thinking_budget=0`, /thinking_budget 0: geo models refuse this field/],
    [
      'level minimal on 3.7',
      cmd`hi --api geo -m geo-3.7-flash --thinking-level minimal`,
      /--thinking-level MINIMAL: geo-3.7-flash refuses it with HTTP 400; it takes LOW, MEDIUM, HIGH/,
    ],
    [
      'a budget of 1023',
      cmd`hi ${native} --thinking 1023`,
      /--thinking 1023: a thinking budget is at least 1024 tokens/,
    ],
    [
      'adaptive with a budget',
      cmd`hi ${native} --thinking adaptive --set thinking.budget_tokens=2000`,
      /adaptive thinking takes no budget/,
    ],
    [
      'no model for messages',
      cmd`hi --api messages`,
      /native messages have no default model\nhint: name one with --model/,
    ],
    ['a number that is none', cmd`hi --temperature warm`, /--temperature warm: not a number/],
    ['an unknown surface', cmd`hi --api native`, /--api native: one of completions, messages, geo/],
    ['--new alone', cmd`hi --new`, /--new starts a session over, and none is named/],
    [
      'a session and messages',
      cmd`hi --session s --messages m.json`,
      /^error: --session and --messages both give the conversation\n/,
    ],
    [
      'a session and messages that --set gives',
      cmd`hi --session s --set messages.0.content=ho`,
      /^error: --session and --set both give the conversation\n/,
    ],
    [
      'a tool result without its conversation',
      cmd`--tool-result call_1=2`,
      /the conversation holds no such call/,
    ],
    ['a tool result of another form', cmd`--tool-result call_1`, /not of the form ID=VALUE/],
    ['two readers of stdin', cmd`--prompt - --system -`, /both read stdin/],
    ['a missing conversation', cmd`--messages nope.json`, /nope\.json/],
    ['a missing tool', cmd`hi --tool nope.json`, /--tool nope\.json/],
    ['a pollution', cmd`hi --set __proto__.x=1`, /gw sends no field named __proto__/],
  ];
  test.each(refused)('%s', async (_, words, message) => {
    expect(await refusal(words, words.length === 0 ? '' : undefined)).toMatch(message);
  });

  test('with --no-validate a breach is a warning', async () => {
    const run = await world.gw(cmd`chat hi -m geo-3.7-flash --reasoning-effort none --no-validate`);
    expect(run.err).toMatch(/^warning: --reasoning-effort none: geo-3.7-flash takes low, medium, high/);
    expect(run.code).toBe(5);
    expect(world.requests()).toHaveLength(1);
  });

  test('files that hold no tool, no messages, or those beside a session', async () => {
    const filed = file('i.json', { messages: [{ role: 'user', content: 'hi' }] });
    expect(await refusal(['ho', '--session', 's', '--body', filed])).toMatch(
      /^error: --session and --body both give the conversation\n/,
    );
    expect(await refusal(['hi', '--tool', file('a.json', { title: 'x' })])).toMatch(
      /not the description of a function/,
    );
    expect(await refusal(['hi', '--tool', file('b.json', [weather, weather])])).toMatch(
      /two tools of the name get_weather/,
    );
    expect(await refusal(['hi', '--tool', file('c.json', weather), '--tool-choice', 'other'])).toMatch(
      /--tool-choice other: no such tool/,
    );
    expect(await refusal(['--messages', file('d.json', { a: 1 })])).toMatch(/holds no list of messages/);
    expect(await refusal(['--messages', file('e.json', [])])).toMatch(/the list of messages is empty/);
    expect(await refusal(['--messages', file('f.json', '[{]')])).toMatch(/not JSON, line 1/);
    expect(
      await refusal(['--api', 'geo', '--messages', file('g.json', [{ role: 'x', content: 'y' }])]),
    ).toMatch(/message 1 is of none of the roles/);
  });

  test('a key is missing only when something is to be sent', async () => {
    const bare = { bare: true, env: { GW_BASE_URL: 'https://gateway.example.com' } };
    expect(await world.gw(['chat', 'hi'], bare)).toMatchObject({ code: 3 });
    expect(await world.gw(['chat', 'hi', '--dry-run'], bare)).toMatchObject({ code: 0 });
  });
});

test('a budget of 0 on 3.7 is warned of', async () => {
  const run = await world.gw(cmd`chat hi --api geo -m geo-3.7-flash --thinking off --dry-run`);
  expect(run).toMatchObject({
    code: 0,
    err: expect.stringMatching(/warning: --thinking: a thinking budget of 0 is not reliable/),
  });
});

test('thoughts go to stderr when they are asked for, and only then', async () => {
  const words = ['chat', 'hello', '--api', 'geo', '--thinking', '200'];
  const silent = await world.gw(words);
  const told = await world.gw([...words, '--show-thoughts']);
  expect(silent.err).toBe('');
  expect(told.err.length).toBeGreaterThan(20);
  expect(told.err).toMatch(/\n$/);
  expect(told.out).toBe(silent.out);
});

test('what is piped beside --messages is the question that follows; a level goes out with --no-validate', async () => {
  const messages = [
    { role: 'user', content: 'name three boats' },
    { role: 'assistant', content: 'Ada, Bea, Cora' },
  ];
  const { body } = await shown(['--messages', file('m.json', messages)], 'and a fourth?');
  expect(body.messages).toEqual([...messages, { role: 'user', content: 'and a fourth?' }]);
  expect((await shown(['--messages', 'm.json'], '')).body.messages).toEqual(messages);
  for (const more of [[], ['--api', 'geo']]) {
    const other = await world.gw(cmd`
      chat hi ${more} -m sandbox-chat-1 --thinking-level low --dry-run
    `);
    expect(other.err).toMatch(
      /^warning: --thinking-level: the document shows a thinking configuration for geo models, not for sandbox-chat-1/,
    );
  }
  const level = ['chat', 'hi', '--thinking-level', 'Extreme', '--dry-run', '--json'];
  const refused = await world.gw(level);
  expect([refused.code, refused.err]).toEqual([
    2,
    expect.stringContaining('--thinking-level extreme: one of minimal, low, medium, high'),
  ]);
  const sent = await world.gw([...level, '--no-validate']);
  expect([sent.code, sent.out], sent.err).toEqual([0, expect.stringContaining('"extreme"')]);
});

test('--curl shows a command that reads the key from the environment', async () => {
  const { out } = await world.gw(['chat', 'hi', '--api', 'geo', '--curl']);
  expect(out).toMatch(/^curl .*streamGenerateContent[\s\S]*x-geo-api-key: \$GW_API_KEY/);
});

const faults: [string, number, RegExp][] = [
  ['odd-form', 0, /^$/],
  ['unknown-event', 0, /^$/],
  ['end-twice', 0, /^$/],
  ['long-line', 0, /^$/],
  ['plain-json', 0, /^$/],
  ['bad-event', 8, /an event that is not JSON/],
  ['error-event', 8, /broke off the answer with an error/],
];
describe.each(surfaces)('on %s, a stream', (api, words) => {
  // A Gemini-style stream has no end marker except its last text, and every event may carry a finish reason.
  test.each(faults.filter(([fault]) => api !== 'geo' || fault !== 'end-twice'))(
    'with %s',
    async (fault, code, message) => {
      await world.close();
      world = await World.open({ speed: 1e9, fault: `chat:${fault}` });
      await setUp();
      const clean = await world.gw(['chat', 'hello', ...words, '--no-stream']);
      const run = await world.gw(['chat', 'hello', ...words]);
      expect(run.code, run.err).toBe(code);
      expect(run.err).toMatch(message);
      if (code === 0) expect(run.out).toBe(clean.out);
      else expect(clean.out.startsWith(run.out) && run.out !== '').toBe(true);
      if (code === 0) return;
      // The session keeps the text that arrived.
      expect((await world.gw(['chat', 'hello', ...words, '--session', 'cut'])).code).toBe(code);
      const kept = await world.gw(['sessions', 'show', 'cut']);
      expect(kept.out).toContain(run.out.trim());
      // --json also prints the partial reply, with the same text.
      const json = await world.gw(['chat', 'hello', ...words, '--json']);
      expect(json.code).toBe(code);
      expect(JSON.stringify(JSON.parse(json.out))).toContain(
        JSON.stringify(run.out.slice(0, 20)).slice(1, -1),
      );
    },
  );
});

test('a refusal of the gateway is told with its message', async () => {
  const run = await world.gw(['chat', 'hi', '-m', 'nope', '--no-validate']);
  expect(run).toMatchObject({
    code: 5,
    out: '',
    err: expect.stringMatching(/^error: the gateway refused the request \(HTTP 400/),
  });
});

test('a model that nobody lists is refused before anything is sent, with the nearest', async () => {
  const run = await world.gw(['chat', 'hi', '-m', 'sandbox-chat-2']);
  expect(run).toMatchObject({ code: 2, out: '' });
  expect(run.err).toMatch(/the gateway lists no such model\nhint: did you mean sandbox-chat-1/);
  expect(world.requests()).toEqual(['GET /v1/models']);
});

test('an interrupted answer ends with 130 and keeps what came', async () => {
  await world.close();
  world = await World.open({ speed: 1e9, fault: 'chat:stall' });
  let interrupt = () => {};
  const host = world.host({
    interrupts: (send) => {
      interrupt = () => send('SIGINT');
    },
  });
  const ended = main(['chat', 'hello'], host);
  while (host.stdout.text === '') await new Promise(setImmediate);
  interrupt();
  expect(await ended).toBe(130);
});

test('help is complete', async () => {
  const { out } = await world.gw(['chat', '--help']);
  expect(out).toMatch(/--max-tokens N .*4096/s);
  expect(out).toMatch(/does not show/);
});

describe('conversations and limits that do not fit', () => {
  beforeEach(setUp);
  const native = ['--api', 'messages', '-m', 'm'];
  const calls = ['call_1', 'call_2'].map((id) => ({
    id,
    type: 'function',
    function: { name: 'get_weather', arguments: '{}' },
  }));
  const asked = [
    { role: 'user', content: 'weather?' },
    { role: 'assistant', content: null, tool_calls: calls },
  ];
  const history = () => ['--messages', file('asked.json', asked)];
  const tool = () => ['--tool', file('weather.json', weather)];
  const both = ['--tool-result', 'call_1=1', '--tool-result', 'call_2=2'];

  test('the system prompt beside the list of --messages is sent, and --system goes before it', async () => {
    const system = [{ type: 'text', text: 'Be kind.', cache_control: { type: 'ephemeral' } }];
    const messages = [{ role: 'user', content: 'hi' }];
    const n = ['--messages', file('n.json', { system, messages }), ...native];
    expect((await shown(n)).body).toMatchObject({ system, messages });
    expect((await shown([...n, '--system', 'Be brief.'])).body.system).toBe('Be brief.');
    const systemInstruction = { parts: [{ text: 'Be kind.' }] };
    const contents = [{ role: 'user', parts: [{ text: 'hi' }] }];
    const g = ['--messages', file('g.json', { systemInstruction, contents }), '--api', 'geo'];
    expect((await shown(g)).body).toEqual({ systemInstruction, contents });
    expect((await shown(n.slice(0, 2))).body.messages).toEqual([
      { role: 'system', content: 'Be kind.' },
      ...messages,
    ]);
  });

  test.each([
    ['model', []],
    ['max_tokens', native],
    ['generationConfig', ['--api', 'geo']],
  ])('%s beside the list of --messages is refused', async (field, words) => {
    const name = file('m.json', { messages: [{ role: 'user', content: 'hi' }], [field]: 'x' });
    expect(await refusal(['--messages', name, ...words])).toMatch(
      new RegExp(`holds ${field} beside messages.*\\nhint: --body FILE takes whole bodies`),
    );
  });

  test.each([
    [{ model: 4 }, [], 'model 4: must be a text'],
    [{ messages: 'x' }, [], 'messages x: must be a list'],
    [{ messages: 'x' }, native, 'messages x: must be a list'],
    [{ contents: 'x' }, ['--api', 'geo'], 'contents x: must be a list'],
    [{ generationConfig: 'x' }, ['--api', 'geo', '--top-k', '4'], 'generationConfig x: must be an object'],
    [{ extra_body: 'x' }, ['--thinking-level', 'low'], 'extra_body x: must be an object'],
  ])('%j of a body is refused, not dropped', async (body, words, said) => {
    expect(await refusal(['hi', '--body', file('b.json', body), ...words])).toMatch(`error: ${said}`);
  });

  test('a model of a body that no text names is sent on geo as given, and a typed one replaces it', async () => {
    const words = ['hi', '--body', file('b.json', { model: 4 }), '--api', 'geo'];
    expect((await shown(words)).body).toHaveProperty('model', 4);
    const typed = await shown([...words, '-m', 'geo-3.6-flash']);
    expect(typed.body).not.toHaveProperty('model');
    expect(typed.url).toMatch('geo-3.6-flash');
  });

  test('a typed limit takes the place of the other limit of a body', async () => {
    const old = file('b.json', { max_tokens: 5 });
    const { body } = await shown(['hi', '--body', old, '--max-tokens', '9']);
    expect(body).toMatchObject({ max_completion_tokens: 9 });
    expect(body).not.toHaveProperty('max_tokens');
    const fresh = file('c.json', { max_completion_tokens: 5 });
    const compat = await shown(['hi', '--body', fresh, '--max-tokens', '9', '--compat-max-tokens']);
    expect(compat.body).toMatchObject({ max_tokens: 9 });
    expect(compat.body).not.toHaveProperty('max_completion_tokens');
    expect(await refusal(['hi', '--body', old, '--set', 'max_completion_tokens=5'])).toMatch(
      /only one of the two output limits/,
    );
  });

  test.each(surfaces)('calls without a result are named on %s', async (_, words) => {
    const one = [...history(), ...tool(), ...words, '--tool-result', 'call_1=1'];
    expect(await refusal(one)).toMatch(
      /^error: call_2: a tool call without a result.*--tool-result ID=VALUE/,
    );
    expect(await refusal([...history(), ...tool(), ...words, 'and?'])).toMatch(
      /^error: call_1, call_2: tool calls/,
    );
    await shown([...history(), ...tool(), ...words, ...both]);
    const run = await world.gw(['chat', ...one, '--no-validate', '--dry-run']);
    expect(run).toMatchObject({ code: 0, err: expect.stringMatching(/^warning: call_2: a tool call/) });
  });

  test.each(surfaces)('a conversation with calls wants its tools again on %s', async (_, words) => {
    expect(await refusal([...history(), ...both, ...words])).toMatch(/same (tools|--tool files)/);
    const run = await world.gw(['chat', ...history(), ...both, ...words, '--no-validate', '--dry-run']);
    expect(run).toMatchObject({
      code: 0,
      err: expect.stringMatching(/^warning: --tool: .*same (tools|--tool files)/),
    });
  });

  test.each(surfaces)(
    'a result of a call that --messages does not hold is refused on %s',
    async (_, words) => {
      expect(await refusal([...history(), ...tool(), ...words, ...both, '--tool-result', 'x=y'])).toMatch(
        /--tool-result x: the conversation holds no such call\nhint: it holds call_1, call_2/,
      );
    },
  );

  test('a Gemini-style call without an ID is answered by its name', async () => {
    const contents = [{ role: 'model', parts: [{ functionCall: { name: 'get_weather', args: {} } }] }];
    const geo = ['--messages', file('g.json', { contents }), '--api', 'geo', ...tool()];
    expect(await refusal(geo)).toMatch(/^error: get_weather: a tool call without a result/);
    await shown([...geo, '--tool-result', 'get_weather=1']);
  });

  test('on geo an ID that begins with the name of its function is sent back with its result', async () => {
    const call = { name: 'get_weather', args: {} };
    const parts = ['get_weather_77', undefined, undefined].map((id) => ({ functionCall: { id, ...call } }));
    const reply = { candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP' }] };
    const { url } = await fakeGateway(() => ({ body: reply }));
    const env = { GW_BASE_URL: url, GW_API_KEY: KEY };
    const geo = ['--api', 'geo', ...tool(), '--session', 'w'];
    await world.gw(['chat', 'weather?', ...geo, '--no-stream'], { env, bare: true });
    const results = ['get_weather_77', 'get_weather-2', 'get_weather-3'].flatMap((id) => [
      '--tool-result',
      `${id}=1`,
    ]);
    const { contents } = (await shown([...geo, ...results])).body as { contents: { parts: object[] }[] };
    const named = (kind: string) => (id?: string) => ({ [kind]: { ...(id && { id }), name: 'get_weather' } });
    const ids = ['get_weather_77', undefined, undefined];
    expect(contents[1]?.parts).toMatchObject(ids.map(named('functionCall')));
    expect(contents[2]?.parts).toMatchObject(ids.map(named('functionResponse')));
    expect(JSON.stringify(contents)).not.toContain('get_weather-');
  });

  test.each([
    ['--thinking adaptive', ['--thinking', 'adaptive']],
    ['--compat-max-tokens', ['--compat-max-tokens', ...native]],
    ['--compat-max-tokens', ['--compat-max-tokens', '--api', 'geo']],
  ])('the way around for %s is --set (%j)', async (flag, words) => {
    expect(await refusal(['hi', ...words])).toMatch(
      new RegExp(`${flag}: not documented.*\\nhint: .*--set PATH=VALUE`),
    );
  });

  test('--compat-max-tokens alone is refused', async () => {
    expect(await refusal(['hi', '--compat-max-tokens'])).toMatch(
      /spells the limit.*\nhint: add --max-tokens N/,
    );
  });
});

test('-q hides what no typed flag asks for: figures, thoughts and requests stay', async ({ world }) => {
  const quiet = await world.ok(['chat', 'hello', '-q'], { env: { GW_VERBOSE: '1' } });
  expect(quiet.err).toBe('');
  const asked = ['--usage', '-v', '--api', 'geo', '--show-thoughts', '--thinking-level', 'high'];
  const told = await world.ok(['chat', 'hello', '-q', ...asked]);
  expect(told.err).toMatch(/^tokens: /m);
  expect(told.err).toMatch(/^> POST /m);
  const thought = await world.ok(['chat', 'hello', '-q', ...asked.slice(2)]);
  expect(thought.err).not.toBe('');
});
