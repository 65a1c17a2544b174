import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { Writable } from 'node:stream';
import { expect, test, vi } from 'vitest';
import * as z from 'zod/mini';
import { lookAtBody } from '../../src/flags/breaches.ts';
import { apiEndpoint } from '../../src/gateway/all-endpoints.ts';
import { AlphaCreateBody } from '../../src/gateway/alpha/create.ts';
import { alphaModels } from '../../src/gateway/alpha/models.ts';
import { fillAlphaBody } from '../../src/gateway/alpha/rules.ts';
import {
  CreateAssetBody,
  CreateGroupBody,
  IdBody,
  UpdateAssetBody,
  UpdateGroupBody,
} from '../../src/gateway/asset/actions.ts';
import { ListAssetsBody, ListGroupsBody, RestListQuery } from '../../src/gateway/asset/list.ts';
import { betaCreates } from '../../src/gateway/beta/create.ts';
import { BetaListBody } from '../../src/gateway/beta/list.ts';
import { betaSettings } from '../../src/gateway/beta/modes.ts';
import { fillBetaShots } from '../../src/gateway/beta/rules.ts';
import { fieldsOf, setOf, strictOf, valueAt } from '../../src/gateway/body.ts';
import { CompletionsBody } from '../../src/gateway/chat/completions.ts';
import { geoBodyFor } from '../../src/gateway/chat/geo.ts';
import { MessagesBody } from '../../src/gateway/chat/messages.ts';
import { geoModels, reasoningEfforts, thinkingLevels } from '../../src/gateway/chat/models.ts';
import { GammaCreateBody } from '../../src/gateway/gamma/create.ts';
import { gammaModels } from '../../src/gateway/gamma/models.ts';
import { ImageEditBody, ImageGenerateBody } from '../../src/gateway/image/create.ts';
import { imageModels } from '../../src/gateway/image/models.ts';
import { ImageOpenBody } from '../../src/gateway/image/native.ts';
import { fillImageBody } from '../../src/gateway/image/rules.ts';
import { apiListener } from '../../src/sandbox/api-listener.ts';
import { Callbacks } from '../../src/sandbox/callbacks.ts';
import { FaultDraw } from '../../src/sandbox/faults.ts';
import type { World } from '../../src/sandbox/route.ts';
import { seededRandom } from '../../src/sandbox/seeded.ts';
import { routes } from '../../src/sandbox/server.ts';
import { memoryStore } from '../../src/sandbox/store.ts';
import { document, isQuoted } from '../helpers/document.ts';
import { alphaExamples, smallMedia } from '../wire/alpha-examples.ts';
import { assetExamples } from '../wire/asset-examples.ts';
import { betaExamples } from '../wire/beta-examples.ts';
import { chatExamples } from '../wire/chat-examples.ts';
import { gammaExamples } from '../wire/gamma-examples.ts';
import { imageEditExamples } from '../wire/image-edit-examples.ts';
import { imageExamples } from '../wire/image-examples.ts';
import * as ruleExamples from '../wire/rule-examples.ts';
import { isLong, seed, tell } from './torture.ts';

// Compares two judges of a request: gw's checks and the sandbox. A request is a literal of the document with up to three
// fields changed to values from their declarations: each bound at, below and above, each allowed word, other types, or no
// value. The sandbox must accept what gw sends, the strict sandbox must refuse what gw refuses, gw must be able to read the
// sandbox's replies, and each refusal of gw must quote the document literally. Two lists hold the known exceptions, each with
// its sentence of the document and its highest number in 100,000 requests.

const BODIES = isLong ? 100_000 : 1_500;

// The sandbox draws no images here, because this test judges requests only.
vi.mock('../../src/sandbox/image/draw.ts', async (original) => ({
  ...(await original<object>()),
  draw: () => ({ width: 1, height: 1, inBlocks: () => ({}) }),
}));
vi.mock('../../src/sandbox/image/codecs.ts', async (original) => ({
  ...(await original<object>()),
  encode: async () => new Uint8Array(1),
}));

/** One known exception. */
interface Row {
  readonly says: RegExp;
  readonly at?: RegExp;
  /** A literal quotation from the document. */
  readonly quote: string;
  /** How gw understands the quotation. */
  readonly reading: string;
  /** Highest number of such requests in 100,000. */
  readonly most: number;
}

/** Requests that gw sends and the sandbox refuses. No list exists for requests that gw refuses and the strict sandbox accepts. */
const sandboxRefuses: readonly Row[] = [
  {
    says: /is not a model of this endpoint/,
    quote: 'Clients validate model IDs against this list.',
    reading: 'the sandbox has a list of its own',
    most: 1100,
  },
  {
    says: /not an image|not video|not audio|the data are not an image|width and height must be/,
    quote: 'aspect ratio 0.4-2.5; 300-6000 px; under 30 MB each',
    reading: 'what the bytes of Base64 hold is looked at where gw reads the file, not in the body',
    most: 150,
  },
  {
    says: /the asset \S+ (does not exist|is)/,
    quote: 'the request fails when an asset does not exist',
    reading: 'only the service knows its assets',
    most: 40,
  },
  {
    says: /NextToken does not belong|not a next_cursor of an earlier page/,
    quote: 'a token is bound to filter and sort options',
    reading: 'only the service knows its tokens and cursors',
    most: 80,
  },
  {
    at: /^\/v1\/models\//,
    says: /Invalid parameter contents/,
    quote: 'Request bodies of the native image endpoint /v1/models/{model}:generateContent',
    reading: 'gw sends any, the sandbox can draw the public one only',
    most: 2200,
  },
  {
    at: /^\/v1beta\//,
    says: /at most 8 are given here/,
    quote: 'stopSequences, candidateCount, responseMimeType',
    reading: 'candidateCount is listed without its values: the sandbox gives eight at most, and says so',
    most: 40,
  },
  {
    says: /there is no file/,
    quote: 'Fields of the stored file object referenced by file_id: not shown.',
    reading: 'only the service knows its files',
    most: 60,
  },
  {
    says: /no earlier message has a call/,
    quote: 'appends the assistant message and a message with role tool',
    reading: 'gw looks where it reads the conversation, not in the body',
    most: 40,
  },
  {
    says: /not a choice that this endpoint knows|text, json_object and json_schema are taken|there is no tool/,
    quote: 'tool_choice  string or object  e.g. auto',
    reading: 'gw sends any, the sandbox knows those of the public formats',
    most: 40,
  },
  {
    says: /not auto, WIDTHxHEIGHT or a preset/,
    quote: 'size (for example 1024x1024, 1536x1024, 2048x2048)',
    reading: 'of a model that no table lists any size may be one: the sandbox draws those that it can read',
    most: 40,
  },
  {
    says: /not a thinking level/,
    quote: 'native thinking controls: thinking_level, include_thoughts',
    reading: 'the levels are not listed: gw sends any, the sandbox knows four',
    most: 60,
  },
];

/** Refusals by rules of gw that quote nothing, each with the sentence of the document on which it rests. */
const gwRefuses: readonly Row[] = [
  {
    at: /^\/v1beta\/|completions$/,
    says: /(generationConfig\.\w+|parts\.\d\.\w+|(contents\.\d|systemInstruction)\.role|thinking_config\.\w+|stream_options.*): must be /,
    quote: 'maxOutputTokens, temperature, topP, topK, stopSequences, candidateCount',
    reading: 'named without their types: whatever they are, gw warns and sends them',
    most: 0,
  },
  {
    says: /(^|: |[^:] )(is required|must be |one of )|is in no form|not a known type of content item|a text, or a list of/,
    quote: 'missing parameters',
    reading: 'the type of a field that the document lists, its words, and whether it is required',
    most: 55000,
  },
  {
    says: / from \d+ (to \d+|on)|pages are counted from 1/,
    quote: 'page size 1-100',
    reading: 'the ranges that the tables of the document give',
    most: 2200,
  },
  {
    says: /characters, and may have at most/,
    quote: 'name max 64 characters; group name max 64, description max 300',
    reading: 'lengths of names',
    most: 2900,
  },
  {
    says: /bare (asset|file) ID|bare ID here|this is an asset already/,
    quote: 'a bare asset ID is rejected',
    reading: 'in an address the URI of an asset or a file, in Id the bare one',
    most: 90,
  },
  {
    says: /public host|where anybody can fetch it|white space or control characters|complete address/,
    quote: 'Asset URLs must be publicly reachable HTTP/HTTPS',
    reading: 'a host of a private network is out of reach',
    most: 1350,
  },
  {
    says: /not a URL|not Base64|by URL or Base64|in Base64|asset:\/\/ID/,
    quote:
      'Images may be passed by URL, Base64 or asset URI; videos by URL or asset URI; audio by URL, Base64 or asset URI.',
    reading: 'what is neither names no medium',
    most: 750,
  },
  {
    says: /a text item has no role/,
    quote: 'role none, required in every scenario',
    reading: 'a text with a role of family C',
    most: 40,
  },
  {
    says: /one item, /,
    quote: 'one item whose type is web_search',
    reading: 'neither none nor two',
    most: 60,
  },
  {
    says: /Unix milliseconds, as a text/,
    quote: 'Unix milliseconds; earlier than end_time',
    reading: 'a string of digits',
    most: 150,
  },
  {
    says: /user or assistant/,
    quote: 'user/assistant messages; no system role inside',
    reading: 'the system prompt has a field of its own',
    most: 150,
  },
];

/** An endpoint, the schema by which gw judges its bodies, and the literal bodies that requests are made from. */
interface Judged {
  readonly path: string;
  readonly schema: z.ZodMiniType;
  /** Adds the fields that gw fills in before it checks a body. */
  readonly fill?: (body: Record<string, unknown>) => Record<string, unknown>;
  /** Models by name; the `takes` of each field gives its bounds for a model. */
  readonly models?: Readonly<Record<string, unknown>>;
  /** True for a GET endpoint, whose fields are parameters of the query. */
  readonly isQuery?: true;
  readonly literals: readonly unknown[];
}

const bodiesOf = (examples: Readonly<Record<string, ruleExamples.RuleExample>>) =>
  Object.values(examples).flatMap(({ kept, broken }) => [kept, broken]);
const betaRuleBodies: Readonly<Record<string, readonly unknown[]>> = {
  text: bodiesOf(ruleExamples.betaTextRuleExamples),
  'text-turbo': bodiesOf(ruleExamples.betaTurboRuleExamples),
  o1: bodiesOf(ruleExamples.betaO1RuleExamples),
};
const chatOf = (api: string, model?: string) =>
  chatExamples.filter((each) => each.api === api && each.model === model).map(({ body }) => body);
const assetOf = (action: string) =>
  assetExamples.filter((each) => each.action === action).map(({ body }) => body);
const drawing = { contents: [{ role: 'user', parts: [{ text: 'a fox' }] }], generationConfig: { topP: 1 } };

const judged: readonly Judged[] = [
  {
    path: '/api/v3/contents/generations/tasks',
    schema: AlphaCreateBody,
    fill: fillAlphaBody,
    models: alphaModels,
    literals: [...alphaExamples.map(({ body }) => body), ...bodiesOf(ruleExamples.alphaRuleExamples)],
  },
  ...betaCreates.map(({ name, path, body }) => ({
    path,
    schema: body,
    fill: fillBetaShots,
    models: betaSettings,
    literals: [
      ...betaExamples.filter((each) => each.path === path).map((each) => each.body),
      ...(betaRuleBodies[name.slice('beta.create.'.length)] ?? bodiesOf(ruleExamples.betaOpenRuleExamples)),
    ],
  })),
  { path: '/tasks', schema: BetaListBody, literals: bodiesOf(ruleExamples.betaListRuleExamples) },
  {
    path: '/v2/video_generation',
    schema: GammaCreateBody,
    models: gammaModels,
    literals: [...gammaExamples.map(({ body }) => body), ...bodiesOf(ruleExamples.gammaRuleExamples)],
  },
  {
    path: '/v1/images/generations',
    schema: ImageGenerateBody,
    fill: fillImageBody,
    models: imageModels,
    literals: [...imageExamples.map(({ body }) => body), ...bodiesOf(ruleExamples.imageGenerateRuleExamples)],
  },
  {
    path: '/v1/images/edits',
    schema: ImageEditBody,
    fill: fillImageBody,
    models: imageModels,
    literals: [...imageEditExamples.map(({ body }) => body), ...bodiesOf(ruleExamples.imageEditRuleExamples)],
  },
  { path: '/v1/models/img-2:generateContent', schema: ImageOpenBody, literals: [drawing] },
  {
    path: '/v1/chat/completions',
    schema: CompletionsBody,
    models: geoModels,
    literals: [...chatOf('completions'), ...bodiesOf(ruleExamples.completionsRuleExamples)],
  },
  {
    path: '/v1/messages',
    schema: MessagesBody,
    literals: [...chatOf('messages'), ...bodiesOf(ruleExamples.messagesRuleExamples)],
  },
  ...Object.keys(geoModels).map((model) => ({
    path: `/v1beta/models/${model}:generateContent`,
    schema: geoBodyFor(model),
    literals: [...chatOf('geo', model), ...bodiesOf(ruleExamples.geoRuleExamples)],
  })),
  ...Object.entries({
    CreateAssetGroup: CreateGroupBody,
    ListAssetGroups: ListGroupsBody,
    GetAssetGroup: IdBody,
    UpdateAssetGroup: UpdateGroupBody,
    CreateAsset: CreateAssetBody,
    ListAssets: ListAssetsBody,
    GetAsset: IdBody,
    UpdateAsset: UpdateAssetBody,
  }).map(([action, schema]) => ({
    path: `/?Action=${action}&Version=2024-01-01`,
    schema,
    literals: assetOf(action),
  })),
  {
    path: '/api/assets',
    schema: RestListQuery,
    isQuery: true,
    literals: [{ name: 'fox', status: 'Active', limit: '20', offset: '0' }, {}],
  },
];

// Values that a declaration alone does not give: texts chosen by the purpose of their field.

const lengths = [64, 65, 300, 301, 512, 513, 1000, 1001, 2500, 2501, 3072, 3073, 4000, 4001, 7000, 7001];
const texts = [...lengths, 32_000, 32_001].map((length) => 'a'.repeat(length));
const shots = (seconds: number, ...more: number[]) =>
  [seconds, ...more].map((each, at) => `shot ${at + 1}, ${each}, a fox;`).join(' ');
const prompts = [
  'a fox',
  ' ',
  'as in image 1 and video 2',
  'asset://asset-20260101-ab',
  'with @tail',
  shots(2, 3),
  shots(6),
  shots(1.5, 3.5),
  shots(1, 1, 1, 1, 1, 1, 1),
  shots(0, 5),
  `shot 1, 5, ${'a'.repeat(513)};`,
  'shot 1, 5, a fox; and then',
  '🦊'.repeat(2501),
];
const addresses = [
  'https://example.com/a.png',
  'HTTPS://example.com/a.mp4',
  'http://example.com:65535/a.mp3',
  'https://example.com:65536/a',
  'https://example.com/a b',
  'ftp://example.com/a',
  'http://127.0.0.1/a',
  'asset://asset-image',
  'asset-20260101-ab',
  'asset://a b',
  'gammafile://file-1',
  smallMedia.png,
  smallMedia.wav,
  'data:image/png;base64,AAAAA',
  'data:image/svg+xml;base64,AAAA',
  'data:video/mp4;base64,AAAA',
  smallMedia.png.slice(smallMedia.png.indexOf(',') + 1),
];
const sizes = [
  'auto 1K 2K 2k 3K 4K 1.5K 5K 256x256 512x512 1024x1024 1792x1024 1536x1024 2048x2048 3840x2160 3856x2160',
  '3840x1280 3840x1264 1000x1000 0x16 16x16 960x960 959x960 4096x4096 4097x4096 1920x1920 wide',
].flatMap((line) => line.split(' '));
const textsByField: readonly (readonly [RegExp, readonly unknown[]])[] = [
  [/^(text|prompt)$/, [...prompts, ...texts]],
  [/^(Name|Description)$/, texts.slice(0, 4)],
  [/url|uri/i, addresses],
  [/^(limit|offset)$/, ['0', '1', '100', '101', '-1', '1.5', '', 'x']],
  [/^size$/, sizes],
  [/^image$/, addresses],
  [/_time$/, ['1790000000000', '1790000000', '1789999999999', 'now', '1.5']],
  [/level$|effort$/i, [...reasoningEfforts, ...thinkingLevels, 'LOW', 'MINIMAL', 'extreme']],
  [/id$/i, ['asset-1', 'a b', 'a,b', '@a', 'tail', 'ab', 'asset://asset-1', '🦊']],
  [/^data$/, ['AAAA', 'AAAAA', '?', smallMedia.png.slice(smallMedia.png.indexOf(',') + 1)]],
  [/MimeType$/, ['text/plain', 'application/json', 'text/html']],
];
const counts = [1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 16, 17, 30, 31, 50, 51];
const otherTypes = [null, 5, 'x', true, [], {}, ''];

/** Marks a field to leave out. */
const nothing = Symbol('nothing');

function unwrapped(schema: z.ZodMiniType): z.ZodMiniType {
  if (schema instanceof z.ZodMiniOptional || schema instanceof z.ZodMiniNullable)
    return unwrapped(schema.def.innerType as z.ZodMiniType);
  return schema instanceof z.ZodMiniLazy ? unwrapped(schema.def.getter() as z.ZodMiniType) : schema;
}

/** Lists the values that a field may be changed to. */
function valuesFor(declared: z.ZodMiniType, name: string, told: readonly unknown[]): unknown[] {
  const schema = unwrapped(declared);
  const own = [nothing, ...otherTypes, ...told];
  const words = setOf(schema);
  if (words) return [...own, ...words, ...words.map((word) => word.toUpperCase())];
  if (schema instanceof z.ZodMiniNumber) {
    const { minimum, maximum } = schema._zod.bag;
    const bounds = [minimum, maximum].filter((bound) => bound !== undefined && Math.abs(bound) < 1e6);
    return [
      ...own,
      ...bounds.flatMap((bound) => [Number(bound) - 1, bound, Number(bound) + 1]),
      -1,
      0,
      1.5,
      2048,
    ];
  }
  if (schema instanceof z.ZodMiniBoolean) return [...own, true, false];
  if (schema instanceof z.ZodMiniUnion) {
    return [...own, ...schema.def.options.flatMap((option) => valuesFor(option as z.ZodMiniType, name, []))];
  }
  if (schema instanceof z.ZodMiniLiteral) return [...own, ...schema.def.values];
  return [...own, ...textsByField.flatMap(([of, values]) => (of.test(name) ? values : []))];
}

interface Change {
  readonly path: readonly PropertyKey[];
  readonly values: readonly unknown[];
}

/** Lists the fields that a body has or could have, each with the values that it may be changed to. */
function* changesIn(
  of: Judged,
  declared: z.ZodMiniType,
  value: unknown,
  path: readonly PropertyKey[] = [],
): Generator<Change> {
  const schema = unwrapped(declared);
  if (schema instanceof z.ZodMiniUnion) {
    const word = (option: z.ZodMiniType) => {
      const shape = option instanceof z.ZodMiniObject ? (option.shape as Record<string, z.ZodMiniType>) : {};
      return ['type', 'role'].every((key) => {
        const kind = shape[key];
        return !(kind instanceof z.ZodMiniLiteral) || kind.safeParse(valueAt(value, [key])).success;
      });
    };
    const option = (schema.def.options as z.ZodMiniType[]).find(
      (each) =>
        (each instanceof z.ZodMiniObject &&
          typeof value === 'object' &&
          !Array.isArray(value) &&
          word(each)) ||
        (each instanceof z.ZodMiniArray && Array.isArray(value)),
    );
    if (option) yield* changesIn(of, option, value, path);
    return;
  }
  if (schema instanceof z.ZodMiniArray && Array.isArray(value)) {
    const first: unknown = value[0];
    const last: unknown = value.at(-1);
    const kin = of.literals
      .map((literal) => valueAt(literal, path))
      .flatMap((list) => (Array.isArray(list) ? list : []));
    const repeated = counts.map((count) => [
      ...value,
      ...Array.from({ length: count - 1 }, () => last ?? 'x'),
    ]);
    yield {
      path,
      values: [value.slice(1), [...value, first], ...repeated, ...kin.map((item) => [...value, item])],
    };
    for (const [at, item] of value.slice(0, 3).entries()) {
      yield {
        path: [...path, at],
        values: [...otherTypes, ...valuesFor(schema.def.element as z.ZodMiniType, String(path.at(-1)), [])],
      };
      yield* changesIn(of, schema.def.element as z.ZodMiniType, item, [...path, at]);
    }
    return;
  }
  if (!(schema instanceof z.ZodMiniObject) || typeof value !== 'object' || value === null) return;
  yield { path: [...path, 'unlisted'], values: [1] };
  for (const [name, inner] of Object.entries(schema.shape as Record<string, z.ZodMiniType>)) {
    const told = toldBy(of, [...path, name]);
    yield { path: [...path, name], values: valuesFor(inner, name, told) };
    const held = valueAt(value, [name]);
    yield* changesIn(
      of,
      inner,
      held === undefined && unwrapped(inner) instanceof z.ZodMiniObject ? {} : held,
      [...path, name],
    );
  }
}

/** Lists values from the facts of a declared field: each bound at, below and above, and the models. */
function toldBy({ schema, models = {} }: Judged, path: readonly PropertyKey[]): unknown[] {
  const field = fieldsOf(schema).find((each) => each.path.join('.') === path.map(String).join('.'));
  if (path.join('.') === 'model')
    return [...Object.keys(models), ...(field?.facts.choices ?? []), 'other-image-1'];
  return Object.values(models).flatMap((model): unknown[] => {
    const takes = field?.facts.takes?.(model);
    if (takes === undefined) return [];
    if (!('min' in takes)) return [...takes];
    return [
      takes.min - 1,
      takes.min,
      takes.max,
      takes.max + 1,
      ...(takes.also === undefined ? [] : [takes.also]),
    ];
  });
}

/** Returns a copy of the body with this value at a path. Missing objects on the path are added. */
function changed(body: unknown, [key, ...rest]: readonly PropertyKey[], value: unknown): unknown {
  if (key === undefined) return value;
  if (Array.isArray(body)) return body.map((item, at) => (at === key ? changed(item, rest, value) : item));
  const fields = typeof body === 'object' && body !== null ? (body as Record<PropertyKey, unknown>) : {};
  const { [key]: held, ...others } = fields;
  const made = changed(held, rest, value);
  return made === nothing ? others : { ...others, [key]: made };
}

/** Makes the request of this index, always the same for a seed: its endpoint, its body, and a text of the changes. */
function generate(index: number): { readonly of: Judged; readonly body: unknown; readonly made: string } {
  const random = seededRandom(seed + index);
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;
  const of = pick(judged);
  let body = pick(of.literals);
  const made: string[] = [];
  for (let changes = index % 4; changes > 0; changes--) {
    const { path, values } = pick([...changesIn(of, strictOf(of.schema), body)]);
    const value = pick(values);
    body = changed(body, path, value);
    made.push(`${path.map(String).join('.')} = ${short(value)}`);
  }
  return { of, body, made: made.join(', ') };
}

const short = (value: unknown): string =>
  value === nothing ? 'nothing' : (JSON.stringify(value) ?? 'undefined').slice(0, 80);

/** Opens a sandbox without a socket: requests go straight to the listener of its API. */
function inProcess(strict: boolean) {
  const now = () => Date.UTC(2026, 10, 20);
  const none = () => {};
  const world: World = {
    store: memoryStore(),
    key: 'sk-judge',
    account: 'enterprise',
    speed: Number.POSITIVE_INFINITY,
    tokensPerS: Number.POSITIVE_INFINITY,
    minTaskMs: 0,
    strict,
    tell: none,
    faults: new FaultDraw([], 1),
    callbacks: new Callbacks(now, [], none),
    slowGapMs: 0,
    host: '127.0.0.1',
    cors: [],
    clipsDir: '',
    wasmDir: '',
    now,
    outputUrl: () => 'http://127.0.0.1:81',
  };
  const listener = apiListener(routes, world, none);
  return async ({ path, isQuery }: Judged, body: string): Promise<{ status: number; text: string }> => {
    // The sandbox forgets the request before: its rate limit, its number of tasks and its external ID.
    world.store.clear();
    const request = Object.assign(new IncomingMessage(new Socket()), {
      method: isQuery ? 'GET' : 'POST',
      url: isQuery ? `${path}?${new URLSearchParams(JSON.parse(body))}` : path,
      headers: {
        host: '127.0.0.1',
        authorization: 'Bearer sk-judge',
        'x-geo-api-key': 'sk-judge',
        'content-type': 'application/json',
      },
    });
    Object.defineProperty(request.socket, 'localPort', { value: 80 });
    request.push(body);
    request.push(null);
    const chunks: Buffer[] = [];
    const wire = new Writable({
      write(chunk: Buffer, _, done) {
        chunks.push(Buffer.from(chunk));
        done();
      },
    });
    const response = new ServerResponse(request);
    response.assignSocket(wire as Socket);
    const ended = new Promise<void>((resolve) => void response.once('finish', () => resolve()));
    listener(request, response);
    await ended;
    response.emit('close');
    const text = Buffer.concat(chunks).toString();
    return { status: response.statusCode, text: text.slice(text.indexOf('\r\n\r\n') + 4) };
  };
}

const endpointOf = ({ path, isQuery }: Judged) => {
  const [pathname = '', query = ''] = path.split('?');
  return apiEndpoint(isQuery ? 'GET' : 'POST', { path: pathname, query });
};

/** Turns a body into parameters of a query, whose values are all texts. */
const asQuery = (body: unknown) =>
  Object.fromEntries(
    Object.entries(body as object).map(([name, value]) => [
      name,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
  );

test('gw and its sandbox judge generated requests alike', { timeout: 1_800_000 }, async () => {
  const sandbox = inProcess(false);
  const strict = inProcess(true);
  const differences: string[] = [];
  const used = new Map<Row, number>();
  const quoted = new Set<string>();
  const seen = { taken: 0, refused: 0, read: 0, unquoted: 0 };
  const isListed = (rows: readonly Row[], path: string, text: string) => {
    const row = rows.find((each) => each.says.test(text) && (each.at?.test(path) ?? true));
    if (row) used.set(row, (used.get(row) ?? 0) + 1);
    return row !== undefined;
  };
  for (let index = 0; index < BODIES && differences.length < 500; index++) {
    const { of, body, made } = generate(index);
    const filled = of.fill?.(body as Record<string, unknown>) ?? (of.isQuery ? asQuery(body) : body);
    const text = JSON.stringify(filled);
    const differs = (side: string, what: string) =>
      differences.push(
        `${of.path}: ${side}: ${what.slice(0, 300)}\n  ${index}: ${made} -> ${text.slice(0, 400)}`,
      );
    const { breaches, oddities } = lookAtBody(of.schema, JSON.parse(text), () => undefined, {
      isGiven: () => true,
    });
    const [loosely, strictly] = [await sandbox(of, text), await strict(of, text)];
    // 404 means that something named in the request, such as a group, does not exist; the body itself was accepted.
    const refuses = ({ status }: { status: number }) => status === 400 || status === 422;
    if (Math.max(loosely.status, strictly.status) >= 500) differs('the sandbox fails', loosely.text);
    if (loosely.status === 200 && loosely.text.startsWith('{')) {
      seen.read += 1;
      const { reply, refusal } = endpointOf(of);
      const came: unknown = JSON.parse(loosely.text);
      if (refusal?.(came) ?? !reply.safeParse(came).success) differs('gw cannot read', loosely.text);
    }
    if (breaches.length === 0) {
      seen.taken += 1;
      const said = [loosely.text, ...oddities.map((each) => each.text)].join('\n');
      if (refuses(loosely) && !isListed(sandboxRefuses, of.path, said))
        differs('the sandbox refuses', loosely.text);
    } else {
      seen.refused += 1;
      const why = breaches.map((each) => each.text).join('; ');
      for (const { says } of breaches) if (says) quoted.add(says.replace(/^the document says: | …$/g, ''));
      if (!refuses(strictly)) differs('the strict sandbox takes', why);
      if (breaches.every(({ says }) => says === undefined) && !isListed(gwRefuses, of.path, why)) {
        seen.unquoted += 1;
        differs('gw refuses without a sentence of the document', why);
      }
    }
  }
  const isTrue = (sentence: string) => document === undefined || isQuoted(sentence);
  differences.push(...[...quoted].filter((sentence) => !isTrue(sentence)));
  tell('judges', { bodies: BODIES, ...seen, differences: differences.length });
  const share = BODIES / 100_000;
  for (const row of isLong ? [...sandboxRefuses, ...gwRefuses] : []) {
    const times = used.get(row) ?? 0;
    console.log(`${times} times: ${row.quote}: ${row.reading}`);
    if (times > row.most * share)
      differences.push(`${times} times, and at most ${row.most * share}: ${row.reading}`);
  }
  expect(differences.slice(0, 400).join('\n')).toBe('');
});

test.runIf(document !== undefined)('each row of the two lists quotes the document', () => {
  const rows = [...sandboxRefuses, ...gwRefuses];
  expect(rows.filter(({ quote }) => !isQuoted(quote)).map(({ quote }) => quote)).toEqual([]);
});
