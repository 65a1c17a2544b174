import { writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { describe, expect, test } from 'vitest';
import { cmd } from '../helpers/cmd.ts';
import { document, markedBetween } from '../helpers/document.ts';
import { fakeGateway } from '../helpers/fake-gateway.ts';
import { World } from '../helpers/gw.ts';

// The literal reply of each row has all fields that the document lists for it. gw must show every field unchanged with --json,
// must tell people what `told` says, and its sandbox must send every field that `leavesOut` does not name.

interface Row {
  /** The part of the document that lists the fields, and the words that are marked there but are no fields. */
  readonly section?: { readonly from: string; readonly to: string; readonly values?: string };
  readonly reply: unknown;
  /** The command that shows the reply, and which part of its output is the reply. */
  readonly argv: readonly string[];
  readonly as?: 'record';
  /** What stdout and stderr must say about the fields without --json. */
  readonly told?: readonly RegExp[];
  /** Commands to the sandbox whose replies together have all fields. ID stands for the ID from the first reply. */
  readonly sandbox: readonly (readonly string[])[];
  /** The fields that the sandbox leaves out, and why. */
  readonly leavesOut?: Readonly<Record<string, string>>;
}

// Nothing listens on this port.
const link = 'http://127.0.0.1:1/out';
const asset = {
  Id: 'asset-1',
  Name: 'fox',
  GroupId: 'group-1',
  ProjectName: 'default',
  AssetType: 'Image',
  Status: 'Failed',
  Moderation: { Strategy: 'Default' },
  URL: 'https://example.com/fox.png',
  CreateTime: '2026-11-20T12:00:00Z',
  UpdateTime: '2026-11-20T12:00:01Z',
  LastInferenceTime: '2026-11-20T12:00:02Z',
  Error: { Code: 'InvalidAsset', Message: 'violates requirements' },
};
const { LastInferenceTime: _, ...unusedAsset } = asset;
const group = {
  ...{ Id: 'group-1', Name: 'foxes', Description: 'all foxes', GroupType: 'AIGC', ProjectName: 'default' },
  ...{ CreateTime: '2026-11-20T12:00:00Z', UpdateTime: '2026-11-20T12:00:01Z' },
};
const envelope = (Result: unknown) => ({
  ResponseMetadata: {
    ...{ RequestId: 'request-1', Action: 'GetAsset', Version: '2024-01-01' },
    ...{ Service: 'assets', Region: 'here' },
  },
  Result,
});
const billing = [
  { charge_type: 'cash', cash_type: 'balance', amount: 1.5, currency: 'CNY', list_price: 2 },
  { charge_type: 'unit', amount: 3, package_type: 'video' },
];
const outputs = [
  { type: 'video', id: 'o1', url: `${link}.mp4`, watermark_url: `${link}-w.mp4`, duration: '5.0' },
  { type: 'image', url: `${link}.png`, watermark_url: `${link}-w.png`, group_id: 'g1' },
  {
    ...{ type: 'audio', id: 'o3', mp3_url: `${link}.mp3`, wav_url: `${link}.wav` },
    ...{ mp3_duration: '5.1', wav_duration: '5.0' },
  },
  { type: 'voice', id: 'o4', name: 'a voice', url: `${link}.mp3`, owned_by: 'me', status: 'succeeded' },
  {
    ...{
      type: 'element',
      id: 'o5',
      name: 'an element',
      description: 'of a fox',
      element_type: 'multi_image',
    },
    references: [
      { type: 'image', role: 'frontal', url: `${link}.png`, id: 'v1', name: 'a voice', owned_by: 'me' },
    ],
    ...{ owned_by: 'me', status: 'succeeded', tags: [{ id: 't1', name: 'fox', description: 'red' }] },
  },
];
const betaRecord = {
  ...{ id: 'task-1', status: 'succeeded', message: 'as asked', external_id: 'mine', outputs, billing },
  ...{ create_time: 1795211159000, update_time: 1795211166000 },
};
const notStated = 'the document does not say when; the sandbox makes no such reference';
const small = ['--size', '64x48'];
const chat = ['chat', 'hi', '--no-stream'];

const rows: Readonly<Record<string, Row>> = {
  'POST /api/v3/contents/generations/tasks': {
    section: { from: 'Create response fields: `id`', to: 'Subsequent queries', values: 'video queued' },
    reply: {
      ...{ id: 'task-1', task_id: 'task-1', object: 'video', model: 'alpha-video-2-5-260628' },
      ...{ status: 'queued', progress: 0, created_at: 1795211159 },
    },
    argv: ['video', 'alpha', 'create', 'a fox'],
    as: 'record',
    told: [/task-1/],
    sandbox: [['video', 'alpha', 'create', 'a fox']],
  },
  'GET /api/v3/contents/generations/tasks/{task_id}': {
    section: {
      from: 'Task record (query response) fields:',
      to: 'A failed record carries',
      values: 'queued running succeeded failed',
    },
    reply: {
      ...{ id: 'task-1', model: 'alpha-video-2-0-260128', status: 'succeeded' },
      ...{ created_at: 1795211159, updated_at: 1795211166, content: { video_url: `${link}.mp4` } },
      ...{ duration: 5, ratio: '16:9', resolution: '720p', output_format: 'mp4', framespersecond: 24 },
      ...{ generate_audio: true, seed: 42, execution_expires_after: 172800, service_tier: 'default' },
      usage: { completion_tokens: 90, total_tokens: 100, tool_usage: { web_search: 2 } },
      ...{ priority: 0, draft: false, error: { code: 'a', message: 'b' } },
    },
    argv: ['video', 'alpha', 'get', 'task-1'],
    told: [/succeeded/],
    sandbox: [
      ['video', 'alpha', 'create', 'a fox', '-m', '2.0', '--web-search', '--wait'],
      ['video', 'alpha', 'create', 'sensitive-output', '-m', '2.0', '--wait'],
    ],
  },
  'GET /api/assets/{asset_id}': {
    section: {
      from: 'Asset object fields:',
      to: 'Asset failure codes',
      values: 'Image Video Audio Processing Active Failed Default',
    },
    reply: asset,
    argv: ['asset', 'get', 'asset-1', '--rest'],
    told: [/Failed/, /InvalidAsset/],
    sandbox: [
      ['asset', 'group', 'create', '--name', 'foxes'],
      cmd`asset create --url https://example.com/invalid.png --group ID --name fox --wait`,
      ['asset', 'list'],
    ],
    leavesOut: { LastInferenceTime: 'returned only after use, and a failed asset is not used' },
  },
  'POST /?Action=GetAsset': {
    section: {
      from: 'Envelope of every action response:',
      to: 'Using an asset in a family A request',
      values: '',
    },
    reply: { ...envelope(unusedAsset) },
    argv: ['asset', 'get', 'asset-1'],
    sandbox: [['asset', 'get', 'asset-sandbox-image-1']],
    leavesOut: Object.fromEntries(
      ['Error.Code', 'Error.Message'].map((name) => [`Result.${name}`, 'only when processing failed']),
    ),
  },
  'POST /?Action=GetAssetGroup': {
    section: {
      from: 'Asset group object fields:',
      to: 'Asset object fields:',
      values: 'AIGC LivenessFace default',
    },
    reply: envelope(group),
    argv: ['asset', 'group', 'get', 'group-1'],
    sandbox: [cmd`asset group create --name foxes --description all`, ['asset', 'group', 'get', 'ID']],
  },
  'POST /?Action=ListAssets': {
    reply: envelope({ Items: [asset], NextToken: 'next', PageNumber: 1, PageSize: 10, TotalCount: 11 }),
    argv: ['asset', 'list'],
    sandbox: [],
  },
  'GET /api/assets': {
    reply: { items: [asset], data: [asset], total: 1 },
    argv: ['asset', 'list', '--rest'],
    sandbox: [],
  },
  'POST /text-to-video/beta-3.0': {
    section: {
      from: 'Create response (all family B create endpoints)',
      to: 'Task record in the query response',
      values: 'submitted processing succeeded failed',
    },
    reply: {
      ...{ code: 0, message: 'SUCCEED', request_id: 'request-1' },
      data: {
        ...{ id: 'task-1', status: 'submitted', create_time: 1795211159000, update_time: 1795211159000 },
        external_id: 'mine',
      },
    },
    argv: ['video', 'beta', 'create', 'a fox', '--external-id', 'mine'],
    as: 'record',
    sandbox: [['video', 'beta', 'create', 'a fox', '--external-id', 'mine']],
  },
  'GET /tasks': {
    section: {
      from: 'Task record in the query response `data[]`',
      to: 'Output URLs are removed after 30 days',
      values:
        'data[] submitted processing succeeded failed type video image audio voice element references[] tags[] cash unit balance test_balance CNY USD',
    },
    reply: { code: 0, message: 'SUCCEED', request_id: 'request-1', data: [betaRecord] },
    argv: ['video', 'beta', 'get', 'task-1'],
    told: [/succeeded/, /as asked/],
    sandbox: [
      [
        ...['video', 'beta', 'create', 'output-video output-image output-audio output-voice output-element'],
        ...['--external-id', 'ours', '--watermark'],
      ],
      ['video', 'beta', 'wait', 'ID'],
      ['video', 'beta', 'get', 'ID'],
    ],
    leavesOut: {
      'data[].outputs[].references[].id': notStated,
      'data[].outputs[].references[].name': notStated,
      'data[].outputs[].references[].owned_by': notStated,
      'data[].billing[].cash_type': 'for cash: which way a task was paid for depends on its ID',
      'data[].billing[].currency': 'for cash',
      'data[].billing[].list_price': 'for cash',
      'data[].billing[].package_type': 'for unit',
    },
  },
  'POST /tasks': {
    section: { from: 'Response: `data.result`', to: '### Family C endpoints', values: '' },
    reply: {
      ...{ code: 0, message: 'SUCCEED', request_id: 'request-1' },
      data: { result: [betaRecord], count: 1, next_cursor: 'next', has_more: true },
    },
    argv: ['video', 'beta', 'list'],
    sandbox: [],
  },
  'POST /v2/video_generation': {
    section: { from: 'Create response: `task_id`', to: '. Task record (in object', values: '' },
    reply: { task_id: 'task-1' },
    argv: ['video', 'gamma', 'create', 'a fox', '--resolution', '768P', '--duration', '5', '--ratio', '1:1'],
    as: 'record',
    sandbox: [],
  },
  'GET /v2/query/video_generation/{task_id}': {
    section: {
      from: 'Task record (in object `task`)',
      to: 'Tasks are retained 7 days (UTC)',
      values:
        'task queued running succeeded failed cancelled adaptive generation regeneration h3_context_ir video usage',
    },
    reply: {
      task: {
        ...{ id: 'task-1', model: 'gamma-H3', status: 'succeeded', created_at: 1795211159 },
        ...{ updated_at: 1795211166, content: { url: `${link}.mp4` }, resolution: '768P', duration: 5 },
        ...{ ratio: '16:9', task_type: 'generation', modality: 'video', error: { code: 'a', message: 'b' } },
        usage: {
          ...{ total_seconds: 7, input_seconds: 2, output_seconds: 5, input_image_count: 1 },
          ...{ input_audio_seconds: 3, total_tokens: 100, prompt_tokens: 10, completion_tokens: 90 },
        },
      },
    },
    argv: ['video', 'gamma', 'get', 'task-1'],
    told: [/succeeded/],
    sandbox: [
      [...cmd`video gamma create "a fox" --resolution 768P`, ...cmd`--duration 5 --ratio 1:1`],
      ['video', 'gamma', 'wait', 'ID'],
      ['video', 'gamma', 'get', 'ID'],
    ],
    leavesOut: {
      'task.error.code': 'on failure or cancellation',
      'task.error.message': 'on failure or cancellation',
      'task.usage.input_audio_seconds': 'may be omitted',
    },
  },
  'POST /v1/images/generations': {
    section: {
      from: '### Image response',
      to: 'URLs for legacy models are valid 60 minutes',
      values:
        'transparent opaque b64_json legacy-image-3 url png webp jpeg low medium high xhigh max WIDTHxHEIGHT .text_tokens data',
    },
    reply: {
      ...{ created: 1795211159, background: 'opaque', output_format: 'png', quality: 'high' },
      data: [{ b64_json: '', revised_prompt: 'a red fox', url: `${link}.png` }],
      size: '64x48',
      usage: {
        ...{ input_tokens: 10, output_tokens: 90, total_tokens: 100 },
        input_tokens_details: { image_tokens: 4, text_tokens: 6 },
        output_tokens_details: { image_tokens: 90, text_tokens: 0 },
      },
    },
    argv: ['image', 'create', 'a fox', ...small],
    as: 'record',
    told: [/revised prompt: a red fox/],
    sandbox: [
      ['image', 'create', 'a fox', ...small],
      ['image', 'create', 'a fox', '-m', 'legacy-image-3', '--response-format', 'url'],
    ],
  },
  'POST /v1/chat/completions': {
    section: {
      from: '### Chat completion response',
      to: '### Native messages response',
      values: 'stop length tool_calls content_filter choices[]',
    },
    reply: {
      ...{ id: 'chat-1', object: 'chat.completion', created: 1795211159, model: 'geo-3.6-flash' },
      choices: [
        {
          index: 0,
          message: {
            ...{ role: 'assistant', content: 'Red.' },
            tool_calls: [{ id: 'call-1', type: 'function', function: { name: 'f', arguments: '{}' } }],
          },
          finish_reason: 'stop',
        },
        { index: 1, message: { role: 'assistant', content: 'Brown.' }, finish_reason: 'stop' },
      ],
      usage: {
        ...{ prompt_tokens: 11, completion_tokens: 22, total_tokens: 33 },
        completion_tokens_details: { reasoning_tokens: 7 },
      },
    },
    argv: [...chat, '--usage'],
    told: [/"id":"call-1","name":"f"/, /Brown\./, /11 in, 22 out \(7 of them reasoning\), 33 in all/],
    sandbox: [
      [...chat, '--usage'],
      ['chat', 'call hello', '--no-stream', '--tool', 'hello.json'],
    ],
  },
  'POST /v1/messages': {
    section: {
      from: '### Native messages response',
      to: '### Gemini-style response',
      values: 'message assistant text thinking tool_use end_turn max_tokens stop_sequence tool_use content[]',
    },
    reply: {
      ...{ id: 'msg-1', type: 'message', role: 'assistant', model: 'm' },
      content: [
        { type: 'thinking', thinking: 'Foxes…' },
        { type: 'text', text: 'Red.' },
        { type: 'tool_use', id: 'call-1', name: 'f', input: {} },
      ],
      ...{ stop_reason: 'end_turn', stop_sequence: null },
      usage: {
        ...{ input_tokens: 10, output_tokens: 30, output_tokens_details: { thinking_tokens: 7 } },
        ...{ cache_creation_input_tokens: 100, cache_read_input_tokens: 50 },
      },
    },
    argv: [...chat, '--api', 'messages', '-m', 'm', '--usage', '--show-thoughts'],
    told: [
      /"id":"call-1","name":"f"/,
      /Foxes…/,
      /10 in, 100 written to the cache, 50 read from the cache, 30 out \(7 of them reasoning\), 190 in all/,
    ],
    sandbox: [
      [...chat, '--api', 'messages', '-m', 'sandbox-chat-1', '--thinking', '1024', '--max-tokens', '4000'],
      cmd`chat "call hello" --no-stream --tool hello.json --api messages -m sandbox-chat-1`,
    ],
  },
  'POST /v1beta/models/{model}:generateContent': {
    section: { from: '### Gemini-style response', to: '### Model list entry', values: 'STOP MAX_TOKENS' },
    reply: {
      candidates: [
        {
          content: { role: 'model', parts: [{ text: 'Foxes…', thought: true }, { text: 'Red.' }] },
          finishReason: 'STOP',
        },
        { content: { role: 'model', parts: [{ text: 'Brown.' }] }, finishReason: 'STOP', index: 1 },
      ],
      usageMetadata: {
        ...{ promptTokenCount: 11, candidatesTokenCount: 15, thoughtsTokenCount: 7, totalTokenCount: 33 },
      },
      ...{ modelVersion: 'geo-3.6-flash', responseId: 'resp-1' },
    },
    argv: [...chat, '--api', 'geo', '--usage', '--show-thoughts'],
    told: [/Red\./, /Foxes…/, /Brown\./, /11 in, 22 out \(7 of them reasoning\), 33 in all/],
    sandbox: [[...chat, '--api', 'geo', '--show-thoughts', '--candidates', '2']],
  },
  'GET /v1/models': {
    section: {
      from: 'returns `object` = `list`',
      to: 'The list contains only models',
      values: 'list model openai anthropic data[]',
    },
    reply: {
      object: 'list',
      data: [
        {
          ...{ id: 'geo-3.6-flash', object: 'model', created: 1767225600, owned_by: 'geo' },
          supported_endpoint_types: ['openai'],
        },
      ],
    },
    argv: ['models'],
    told: [/geo-3\.6-flash.*openai/],
    sandbox: [['models']],
  },
  'any error': {
    section: { from: 'Error bodies are JSON with', to: 'Full list of', values: '' },
    reply: { error: { message: 'no such thing', type: 'invalid_request_error', code: 'Nope' } },
    argv: ['models'],
    sandbox: [],
  },
};

/** The paths of all fields in a value, such as `data[].url`. A path in a list is given once. */
function pathsOf(value: unknown, above = ''): string[] {
  if (Array.isArray(value)) return [...new Set(value.flatMap((item) => pathsOf(item, `${above}[]`)))];
  if (typeof value !== 'object' || value === null || Object.keys(value).length === 0) return [above];
  return Object.entries(value).flatMap(([name, inner]) =>
    pathsOf(inner, above === '' ? name : `${above}.${name}`),
  );
}

const isError = (name: string) => name === 'any error';

const world = await World.open({ speed: 1e9 });
writeFileSync(path.join(world.cwd, 'hello.json'), JSON.stringify({ name: 'hello', parameters: {} }));

describe.each(Object.entries(rows))('%s', (name, row) => {
  const { argv, reply, as, told = [], sandbox, leavesOut = {} } = row;

  async function run(...more: string[]) {
    const gateway = await fakeGateway(() => ({ status: isError(name) ? 404 : 200, body: reply }));
    const env = { GW_BASE_URL: gateway.url, GW_LEDGER_PROMPTS: 'off' };
    return world.gw([...argv, ...more, '--retries', '0', '--no-validate'], { env });
  }

  test('--json shows each field', async () => {
    const { out, err } = await run('--json');
    if (isError(name)) {
      const message = expect.stringContaining('no such thing');
      expect(JSON.parse(err)).toMatchObject({
        error: { type: 'invalid_request_error', code: 'Nope', message },
      });
    } else
      expect((JSON.parse(out) as Record<string, unknown>)[as ?? ''] ?? JSON.parse(out), err).toEqual(reply);
  });

  if (told.length > 0)
    test('people are told', async () => {
      const { out, err } = await run();
      for (const text of told) expect(out + err).toMatch(text);
    });

  if (sandbox.length > 0)
    test('the sandbox sends each field', async () => {
      const sent = new Set<string>();
      let id: string | undefined;
      for (const words of sandbox) {
        const { out, err } = await world.gw([
          ...words.map((word) => (word === 'ID' ? (id ?? '') : word)),
          '--json',
        ]);
        expect(out, err).not.toBe('');
        const came = JSON.parse(out) as { id?: string; record?: unknown; Result?: { Id?: string } };
        id ??= came.id ?? came.Result?.Id;
        for (const each of [came, came.record, came.Result]) for (const at of pathsOf(each)) sent.add(at);
      }
      const missing = pathsOf(reply).filter(
        (at) =>
          !sent.has(at) && ![...sent].some((each) => each.startsWith(`${at}[`) || each.startsWith(`${at}.`)),
      );
      expect(missing.filter((at) => !Object.hasOwn(leavesOut, at))).toEqual([]);
    });

  if (document !== undefined && row.section)
    test('no field of the document is left out', () => {
      const { from = '', to = '', values = '' } = row.section ?? {};
      const known = new Set(pathsOf(reply).flatMap((at) => at.replaceAll('[]', '').split('.')));
      const listed = markedBetween(from, to).filter((word) => !values.split(' ').includes(word));
      const missing = listed.flatMap((word) =>
        word
          .replaceAll('[]', '')
          .split('.')
          .filter((part) => part !== '' && !known.has(part)),
      );
      expect(missing).toEqual([]);
    });
});
