import { statSync } from 'node:fs';
import * as path from 'node:path';
import { describe, expect } from 'vitest';
import { alphaModels } from '../../src/gateway/alpha/models.ts';
import { betaVariants } from '../../src/gateway/beta/modes.ts';
import { geoModels } from '../../src/gateway/chat/models.ts';
import { gammaModels } from '../../src/gateway/gamma/models.ts';
import { imageModels } from '../../src/gateway/image/models.ts';
import { modelSheets } from '../../src/gateway/model-facts/sheets.ts';
import { kindOf } from '../../src/gateway/models.ts';
import { readModelCache } from '../../src/models/model-cache.ts';
import { cmd } from '../helpers/cmd.ts';
import { type Answer, fakeGateway } from '../helpers/fake-gateway.ts';
import { test, World } from '../helpers/gw.ts';

/** A world whose gateway gives this answer to `GET /v1/models`. */
async function listing(answer: Answer) {
  const world = await World.open();
  const gateway = await fakeGateway(() => answer);
  const gw = (argv: readonly string[], options: Parameters<World['gw']>[1] = {}) =>
    world.gw(argv, { ...options, env: { GW_BASE_URL: gateway.url, ...options.env } });
  return { world, gateway, gw };
}

/** The entry from "Model list entry" in the document, indented as some gateways send it. */
const literal = `{
  "object": "list",
  "data": [
    {"id": "geo-3.6-flash", "object": "model", "created": 1767225600, "owned_by": "geo", "supported_endpoint_types": ["openai"]},
    {"id": "writer-9", "object": "model", "created": 1767312000, "owned_by": "someone", "supported_endpoint_types": ["anthropic"], "price": 1.50},
    {"id": "alpha-video-3-0-270101", "object": "model", "created": 1798761600, "owned_by": "alpha", "supported_endpoint_types": []}
  ]
}
`;

describe('models list', () => {
  test('--json prints the reply as it came, byte for byte', async () => {
    const { gateway, gw } = await listing({ body: literal });
    expect(await gw(['models', '--json'])).toMatchObject({ code: 0, out: literal, err: '' });
    expect(await gw(['models', 'list', '--json'])).toMatchObject({ code: 0, out: literal });
    expect(gateway.requests).toEqual(['GET /v1/models', 'GET /v1/models']);
  });

  test('a pipe gets tab-separated rows, -q the IDs, a terminal a table', async () => {
    const { gw } = await listing({ body: literal });
    expect((await gw(['models'])).out).toBe(
      [
        'geo-3.6-flash\tchat\tgeo\topenai\t2026-01-01',
        'writer-9\tchat\tsomeone\tanthropic\t2026-01-02',
        'alpha-video-3-0-270101\tvideo\talpha\t-\t2027-01-01',
        '',
      ].join('\n'),
    );
    expect((await gw(['models', '-q'])).out).toBe('geo-3.6-flash\nwriter-9\nalpha-video-3-0-270101\n');
    expect((await gw(['models', '--no-color'], { terminal: true })).out).toMatch(/^ID +TYPE +OWNER/);
  });

  test.each([
    ['video', ['alpha-video-3-0-270101']],
    ['chat', ['geo-3.6-flash', 'writer-9']],
    ['image', []],
    ['anthropic', ['writer-9']],
    ['openai', ['geo-3.6-flash']],
  ])('--type %s', async (type, ids) => {
    const { gw } = await listing({ body: literal });
    expect((await gw(cmd`models list --type ${type} -q`)).out).toBe(ids.map((id) => `${id}\n`).join(''));
    const { data, object } = JSON.parse((await gw(['models', '--type', type, '--json'])).out);
    expect(object).toBe('list');
    expect(data).toEqual(JSON.parse(literal).data.filter(({ id }: { id: string }) => ids.includes(id)));
  });

  test('a type that nobody knows is a usage error with a suggestion', async () => {
    const { gw } = await listing({ body: literal });
    expect(await gw(['models', '--type', 'vidoe'])).toMatchObject({
      code: 2,
      out: '',
      err: expect.stringContaining('did you mean video?'),
    });
    expect((await gw(['models', '--type', 'q7'])).err).toMatch(/^error: --type "q7": one of \S.*\n$/);
  });

  test.each([
    ['no list at all', '{"object":"list"}', 8],
    ['an entry without an ID', '{"data":[{"object":"model"}]}', 8],
    ['a page', '<html></html>', 8],
    [
      'fields of other kinds',
      '{"data":[{"id":"x","created":"now","owned_by":null,"supported_endpoint_types":"openai"}]}',
      0,
    ],
    ['a date that is none', '{"data":[{"id":"x","created":1e300}]}', 0],
  ])('a reply with %s ends with the right exit code', async (_, body, code) => {
    const { gw } = await listing({ body });
    expect(await gw(['models', '--retries', '0'])).toMatchObject({ code });
  });

  test('a hostile entry cannot drive the terminal', async () => {
    const { gw } = await listing({
      body: JSON.stringify({ data: [{ id: 'a\u001b[2Jb', owned_by: 'x\ny' }] }),
    });
    const { out } = await gw(['models', '--no-color'], { terminal: true });
    expect(out).not.toContain('\u001b[2J');
    expect(out.split('\n')).toHaveLength(3);
  });

  test('a wrong key, a mistyped subcommand, --dry-run', async ({ world }) => {
    expect(await world.gw(['models'], { env: { GW_API_KEY: 'wrong' } })).toMatchObject({ code: 3, out: '' });
    expect(await world.gw(['models', 'lst'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('did you mean gw models list?'),
    });
    const before = world.requests().length;
    expect((await world.gw(['models', '--dry-run'])).out).toMatch(
      /^GET .*\/v1\/models\nauthorization: Bearer \*\*\*/,
    );
    expect(world.requests()).toHaveLength(before);
  });

  test('keeps the IDs for the gateway they came from, for this user only', async () => {
    const { world, gateway, gw } = await listing({ body: literal });
    await gw(['models', '-q']);
    const host = { env: {}, cwd: world.cwd, platform: process.platform, homeDir: world.dir };
    expect(readModelCache(host, gateway.url)).toEqual({
      fetchedAtMs: world.clock.now(),
      ids: ['geo-3.6-flash', 'writer-9', 'alpha-video-3-0-270101'],
    });
    expect(readModelCache(host, world.sandbox.baseUrl)).toBeUndefined();
    expect(statSync(path.join(world.dir, '.cache/gw/models')).mode & 0o777).toBe(0o700);
  });
});

test('a number of the list is told as it came, in one entry and in those of a type', async () => {
  const entry = '{"id":"writer-9","n":12345678901234567890,"x":{"y":[0.12345678901234567890]}}';
  const { gw } = await listing({ body: `{"object":"list","data":[{"id":"img-2"}, ${entry}]}` });
  expect((await gw(['models', 'show', 'writer-9', '--json'])).out).toContain(`"entry":${entry}`);
  expect((await gw(cmd`models --type image --json`)).out).toBe('{"object":"list","data":[{"id":"img-2"}]}\n');
  const chat = await listing({
    body: `{"data":[${entry.replace('}}', '},"supported_endpoint_types":["x"]}')}]}`,
  });
  expect((await chat.gw(['models', '--type', 'x', '--json'])).out).toContain('"n":12345678901234567890');
});

test('an entry without an ID hides no other', async () => {
  const entry = '{"id":"writer-9","supported_endpoint_types":["x"]}';
  const { gw } = await listing({ body: `{"data":[{"object":"model"},null,${entry}]}` });
  expect((await gw(['models', '-q'])).out).toBe('writer-9\n');
  expect((await gw(['models', '--type', 'x', '--json'])).out).toBe(`{"data":[${entry}]}\n`);
  expect((await gw(['models', 'show', 'writer-9', '--json'])).out).toContain(`"entry":${entry}`);
  const none = await listing({ body: '{"data":[{"object":"model"}]}' });
  expect((await none.gw(['models', '--retries', '0'])).code).toBe(8);
});

describe('models show', () => {
  test('tells what the tables say and what the gateway lists', async ({ world }) => {
    const run = await world.gw(['models', 'show', 'alpha-video-2-5-260628']);
    expect(run, run.err).toMatchObject({ code: 0, err: '' });
    for (const line of [
      /^duration +4-30 s, or -1/m,
      /^resolutions +480p, 720p, 1080p$/m,
      /^ratios +21:9, 16:9, 4:3, 1:1, 3:4, 9:16, adaptive$/m,
      /^formats +mp4, mov$/m,
      /^references +up to 30 images, 10 videos, 10 audio files; 50 in all$/m,
      /^video file +mp4, mov; up to 200 MB; width\/height 0.4-2.5; 2-30 s; 24-60 frames\/s; 480p or 720p$/m,
      /^link lives +24 hours, for 100 downloads$/m,
      /^owned_by +alpha$/m,
    ])
      expect(run.out).toMatch(line);
    expect((await world.gw(['models', 'show', '2.5'])).out).toBe(run.out);
    expect(run.out).not.toMatch(/^alpha\./m);
    const verbose = await world.gw(['models', 'show', '2.5', '-v']);
    expect(verbose.out).toMatch(/^alpha\.web-search +2\.0 web search: /m);
    expect(verbose.out).toMatch(
      /^link lives +24 hours, for 100 downloads \(the document says: video URLs 24 /m,
    );
  });

  test.each([
    [
      'alpha-video-2-0-260128',
      { resolutions: '480p, 720p, 1080p, 4k', 'at 4k': '15 requests a minute, 1 task at once' },
    ],
    [
      'gamma-H3-Max',
      { duration: '5-15 s', resolutions: '480P, 768P', references: 'none; first and last frame only' },
    ],
    [
      'img-2.5-flare',
      { qualities: 'low, medium, high, xhigh, max, auto (default auto)', 'images to edit': '1-16' },
    ],
    [
      'legacy-image-3',
      { sizes: '1024x1024, 1792x1024 or 1024x1792', images: '1 a request', styles: 'vivid, natural' },
    ],
    ['delta-image-5-0-pro-260628', { 'default size': '2K' }],
    ['gamma-H3', { 'link lives': 'for a time that is not stated; gw assumes 60 minutes' }],
    [
      'geo-3.7-flash',
      {
        'reasoning efforts': 'low, medium, high',
        'thinking levels': 'low, medium, high',
        'geo.level-by-model': 'thinkingLevel MINIMAL returns HTTP 400',
        'completions.usual-temperature': 'usually 0-2, model-dependent (a warning)',
      },
    ],
  ])('%s --json', async (id, facts) => {
    const world = await World.open();
    const shown = JSON.parse((await world.gw(['models', 'show', id, '--json'])).out);
    expect(shown).toMatchObject({ id, facts, entry: { id, object: 'model' } });
  });

  test('an image model has the rules that concern it', async ({ world }) => {
    const rulesOf = async (id: string) =>
      Object.keys(JSON.parse((await world.gw(['models', 'show', id, '--json'])).out).facts)
        .filter((name) => name.startsWith('image.'))
        .map((name) => name.slice('image.'.length));
    const shared = ['references-in-a-list', 'form-of-a-reference'];
    const delta = ['fields-of-delta-models', 'input-images-of-other-models', 'size-by-model', ...shared];
    expect(await rulesOf('delta-image-4-0-250828')).toEqual(delta);
    const sized = ['prompt-length-of-generate', 'size-by-model', 'quality-by-model-of-generate'];
    expect(await rulesOf('legacy-image-2')).toEqual([...sized, ...shared]);
    expect(await rulesOf('legacy-image-3')).toEqual([...sized, 'one-image-a-request', ...shared]);
    expect(await rulesOf('img-2.5-flare')).not.toContain('transparent-in-preview');
  });

  test("family B's endpoints are shown by path, and all that share a name by the name", async ({ world }) => {
    const one = await world.gw(['models', 'show', 'text-to-video/beta-3.0-turbo', '--json']);
    expect(JSON.parse(one.out)).toMatchObject({
      type: 'video',
      facts: {
        duration: '3-15 s (default 5)',
        resolutions: '720p, 1080p (default 720p)',
        shots: 'up to 6, each with up to 512 characters',
      },
      entry: null,
    });
    expect(one.err).toBe('');
    const several = (await world.gw(['models', 'show', 'beta-3.0', '--json'])).out.trimEnd().split('\n');
    expect(several.map((line) => JSON.parse(line).id)).toEqual([
      'text-to-video/beta-3.0',
      'image-to-video/beta-3.0',
      'motion-control/beta-3.0',
    ]);
  });

  test('a model that only the gateway knows is shown as listed', async () => {
    const { gw } = await listing({ body: literal });
    expect(JSON.parse((await gw(['models', 'show', 'writer-9', '--json'])).out)).toEqual({
      id: 'writer-9',
      type: 'chat',
      facts: {},
      entry: JSON.parse(literal).data[1],
    });
  });

  test('a model that the gateway does not list is shown with a warning', async () => {
    const { gw } = await listing({ body: literal });
    expect(await gw(['models', 'show', 'gamma-H3'])).toMatchObject({
      code: 0,
      err: expect.stringContaining('this key may not call it'),
    });
  });

  test('without a gateway the tables still tell what they know', async ({ world }) => {
    expect(await world.gw(['models', 'show', 'gamma-H3'], { bare: true })).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^resolutions +768P, 2K$/m),
      err: expect.stringContaining('could not be had'),
    });
    expect(await world.gw(['models', 'show', 'unheard-of'], { bare: true })).toMatchObject({
      code: 3,
      out: '',
    });
  });

  test('a model that nobody knows is exit 4 with the nearest ones', async ({ world }) => {
    expect(await world.gw(['models', 'show', 'gamma-h2'])).toMatchObject({
      code: 4,
      out: '',
      err: expect.stringContaining('did you mean gamma-H3'),
    });
  });
});

test('every model of every table has a sheet, and a word that means it means nothing else', async () => {
  const sheets = await modelSheets();
  const ids = sheets.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  for (const table of [alphaModels, gammaModels, imageModels, geoModels]) {
    expect(ids).toEqual(expect.arrayContaining(Object.keys(table)));
  }
  for (const { path: route } of Object.values(betaVariants)) expect(ids).toContain(route.slice(1));
  for (const { id, kind, facts } of sheets) {
    expect(facts.length, id).toBeGreaterThan(2);
    expect(new Set(facts.map(({ name }) => name)).size, id).toBe(facts.length);
    expect(JSON.stringify(facts), id).not.toMatch(/undefined|NaN|Infinity|null|\[object/);
    if (!id.includes('/')) expect(kindOf({ id }), id).toBe(kind);
  }
});

describe('a paid create with a model that no table lists', () => {
  const apiRequests = (world: World) => world.requests().filter((line) => !line.includes(' /outputs/'));

  test('is sent where the gateway lists it, which is asked for once', async ({ world }) => {
    for (const _ of [1, 2]) {
      expect(await world.gw(['image', 'create', 'a fox', '-m', 'sandbox-image-1'])).toMatchObject({
        code: 0,
      });
    }
    const create = 'POST /v1/images/generations';
    expect(apiRequests(world)).toEqual(['GET /v1/models', create, create]);
  });

  test('is refused where it does not, with the nearest, and nothing is created or kept', async () => {
    const world = await World.open();
    const run = await world.gw(['image', 'create', 'a fox', '-m', 'sandbox-image-2']);
    expect(run).toMatchObject({
      code: 2,
      out: '',
      err: expect.stringContaining('did you mean sandbox-image-1'),
    });
    expect(apiRequests(world)).toEqual(['GET /v1/models']);
    expect((await world.gw(['jobs', 'list', '-q'])).out).toBe('');
  });

  test('is sent with --no-validate, and where there is no list to be had', async ({ world }) => {
    await world.gw(['image', 'create', 'a fox', '-m', 'sandbox-image-2', '--no-validate']);
    expect(apiRequests(world)).toEqual(['POST /v1/images/generations']);
    const { gateway, gw } = await listing({ status: 500, body: {} });
    await gw(['image', 'create', 'a fox', '-m', 'sandbox-image-2']);
    expect(gateway.requests).toEqual(['GET /v1/models', 'POST /v1/images/generations']);
  });
});
