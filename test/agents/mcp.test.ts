import * as fs from 'node:fs';
import * as path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { NearPlace, openNearPlace } from '../cli/near-place.ts';
import { creates, KEY, openPlace } from '../cli/place.ts';
import { cmd } from '../helpers/cmd.ts';
import { type Agent, openAgent } from './agent.ts';

// `gw mcp`, driven by the SDK's own client over stdio against a sandbox that counts requests. gw is a child process where every
// tool is tried and where two servers run at once; otherwise it runs in the test's process.

async function opened(
  args: readonly string[] = [],
  options: Parameters<typeof openAgent>[2] = {},
  fault?: string,
) {
  const place = await openNearPlace(fault === undefined ? {} : { fault });
  const agent = await openAgent(place, args, options);
  return { place, agent, sent: () => creates(place.sandbox).length };
}

const bodies = (place: { sandbox: { requests: readonly { method: string; body?: unknown }[] } }) =>
  place.sandbox.requests.filter(({ method }) => method === 'POST').map(({ body }) => JSON.stringify(body));

describe('what a client is told', () => {
  test('eight tools whose schemas take less than 12 kB, with nothing in them that only the user may say', async () => {
    const { agent } = await opened();
    const { tools } = await agent.client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      'make_video',
      'make_image',
      'make_again',
      'wait_for_job',
      'get_job',
      'list_jobs',
      'list_models',
      'get_balance',
    ]);
    const text = JSON.stringify(tools);
    expect(text.length).toBeLessThan(12_000);
    const names = [...text.matchAll(/"([\w-]+)":\{/g)].map(([, name]) => name);
    for (const banned of cmd`again force yes unpriced max-cost callback-url exec count base-url`)
      expect(names).not.toContain(banned);
    for (const { name, inputSchema, description } of tools) {
      expect(inputSchema).toHaveProperty('additionalProperties', false);
      expect(description?.includes('COSTS MONEY')).toBe(name.startsWith('make_'));
    }
  });

  test('the settings of a family and its models, by the flags of its create', async () => {
    const { agent } = await opened();
    const { value } = await agent.call('list_models', { family: 'gamma' });
    expect(value.settings).toMatchObject({ ratio: { enum: expect.arrayContaining(['16:9']) } });
    const model = { id: 'gamma-H3', duration: '4-15 s' };
    expect(value.models).toEqual(expect.arrayContaining([expect.objectContaining(model)]));
  });
});

test('every tool does what it says', async () => {
  const place = await openPlace();
  const agent = await openAgent(place);
  const [steps, progress]: [unknown[], number[]] = [[], []];
  // Steps are recorded as they arrive, because the SDK drops a step that arrives together with the answer.
  const { transport } = agent.client;
  const { onmessage } = transport ?? {};
  if (transport)
    transport.onmessage = (message, extra) => {
      if ('method' in message && message.method === 'notifications/progress') {
        steps.push(message.params?.message);
        progress.push(Number(message.params?.progress));
      }
      onmessage?.(message, extra);
    };
  const clip = await agent.call(
    'make_video',
    { family: 'beta', prompt: 'a boat', key: 'boat', settings: { duration: 5 } },
    { onprogress: () => {} },
  );
  expect(clip.value).toMatchObject({ key: 'boat', family: 'beta', status: 'succeeded' });
  expect(clip.kinds).toEqual(['text', 'resource_link']);
  expect(fs.statSync(fileURLToPath(clip.links[0] ?? '')).size).toBeGreaterThan(1000);
  expect(steps).toEqual(expect.arrayContaining(['intent', 'succeeded', 'saved']));
  expect(progress).toEqual([...new Set(progress)].toSorted((one, other) => one - other));
  const fox = await agent.call('make_image', {
    prompt: '@/etc/passwd is what it says',
    settings: { out: 'foxes/' },
  });
  expect(fox.kinds).toEqual(['text', 'resource_link', 'image']);
  expect(path.dirname(fox.value.files?.[0]?.path ?? '')).toBe(fs.realpathSync(path.join(place.cwd, 'foxes')));
  expect(bodies(place).at(-1)).toContain('@/etc/passwd is what it says');
  await agent.call('make_image', { prompt: '-' });
  expect(JSON.parse(bodies(place).at(-1) ?? '{}')).toMatchObject({ prompt: '-' });
  const more = await agent.call('make_again', { id: 'boat', prompt: 'a boat at night' });
  expect(more.value.status).toBe('succeeded');
  expect(more.value.id).not.toBe(clip.value.id);
  expect(await agent.call('wait_for_job', { id: clip.value.id }).then(({ value }) => value.files)).toEqual(
    clip.value.files,
  );
  expect((await agent.call('get_job', { id: 'boat' })).value).toMatchObject({
    id: clip.value.id,
    prompt: 'a boat',
  });
  expect((await agent.call('list_jobs', { family: 'beta' })).value.jobs).toHaveLength(2);
  expect((await agent.call('list_models')).value).toHaveProperty('data');
  expect((await agent.call('get_balance')).value).toHaveProperty('hard_limit_usd');
  expect(creates(place.sandbox)).toHaveLength(4);
  expect((await place.jobs()).every(({ via }) => via === 'mcp')).toBe(true);
  expect(agent.log()).not.toContain(KEY);
});

test('a picture that is gone is told with one command that makes it anew', async () => {
  const { agent } = await opened();
  const { value } = await agent.call('make_image', { prompt: 'a fox' });
  const [{ path: file }] = value.files as [{ path: string }];
  fs.rmSync(file);
  const gone = (await agent.call('wait_for_job', { id: value.id })).value.error as { hint: string };
  expect(gone.hint.match(/gw again/g)).toHaveLength(1);
});

test('a blind retry of make_again pays once, by key or by the ID of its job', async () => {
  const { agent, sent } = await opened();
  const fox = await agent.call('make_image', { prompt: 'a fox' });
  const asked = { id: 'last', prompt: 'a hare' };
  expect((await agent.call('make_again', asked)).value.error).toMatchObject({
    kind: 'usage',
    message: expect.stringMatching(/^id: last /),
  });
  for (const named of [
    { ...asked, key: 'hare' },
    { id: fox.value.id, prompt: 'a boat' },
  ]) {
    const before = sent();
    const first = await agent.call('make_again', named);
    const retry = await agent.call('make_again', named);
    expect([first.value.status, retry.value.id, sent()]).toEqual(['succeeded', first.value.id, before + 1]);
  }
});

test('the same key, and without one the same request, never pays again, also for a server that was started anew', async () => {
  const { agent, place, sent } = await opened();
  const asked = { prompt: 'a fox', settings: { size: '1024x1024' } };
  const first = await agent.call('make_image', asked);
  expect(first.value.key).toMatch(/^mcp\//);
  const all = await Promise.all(Array.from({ length: 8 }, () => agent.call('make_image', asked)));
  for (const { value } of all) expect(value.files).toEqual(first.value.files);
  await agent.call('make_image', { ...asked, key: 'other' });
  await agent.close();
  const next = await openAgent(place);
  expect((await next.call('make_image', asked)).value.id).toBe(first.value.id);
  // Another spelling of a value or another place to save does not make it another request.
  const alike = { command: 'create', prompt: 'a fox', settings: { n: 1, size: '1024x1024' } };
  const counted = await next.call('make_image', alike);
  expect(sent()).toBe(3);
  const settings = { size: '1024x1024', n: '1', out: 'elsewhere/' };
  expect((await next.call('make_image', { ...alike, settings })).value.id).toBe(counted.value.id);
  const other = await next.call('make_image', { prompt: 'a dog', key: 'other' });
  expect(other.value.error).toMatchObject({
    kind: 'usage',
    message: expect.stringMatching(/^key: .*prompt/),
  });
  expect(sent()).toBe(3);
});

test('a key whose job is being waited for does not stand for another request', async () => {
  const place = await openNearPlace({ speed: 10 });
  const { out } = await place.run(['video', 'alpha', 'create', 'a fox', '--once', 'fox']);
  const agent = await openAgent(place);
  const waited = agent.call('wait_for_job', { id: 'fox' });
  await expect.poll(() => agent.log()).toContain('fox: begun');
  const other = await agent.call('make_video', { family: 'alpha', prompt: 'a dog', key: 'fox' });
  expect(other.value.error).toMatchObject({
    kind: 'usage',
    message: expect.stringMatching(/^key: .*prompt/),
  });
  const same = await agent.call('make_video', { family: 'alpha', prompt: 'a fox', key: 'fox' });
  expect(same.value).toMatchObject({ id: out.trim() });
  expect((await waited).value.id).toBe(out.trim());
  expect(creates(place.sandbox)).toHaveLength(1);
});

describe('a call that breaks a rule sends nothing and names what is wrong', () => {
  let place: Awaited<ReturnType<typeof openNearPlace>>;
  let agent: Agent;
  beforeAll(async () => {
    place = await openNearPlace({}, afterAll);
    const outside = path.join(place.dir, 'outside.png');
    fs.writeFileSync(outside, 'x');
    fs.symlinkSync(outside, path.join(place.cwd, 'link.png'));
    fs.symlinkSync(place.dir, path.join(place.cwd, 'away'));
    agent = await openAgent(place);
  });
  afterAll(() => agent.close());

  test.each<[string, object, RegExp, string?]>([
    ['make_video', { family: 'alpha', promt: 'x' }, /^promt: there is no such argument/],
    ['make_video', { family: 'delta', prompt: 'x' }, /^family: one of alpha, beta, gamma/],
    ['make_video', { prompt: 'x' }, /^family: /],
    ['make_video', { family: 'alpha', prompt: 3 }, /^prompt: give string/],
    ['make_image', {}, /^prompt: there is none$/],
    ['make_video', { family: 'alpha', prompt: 'x', key: '' }, /^key: /],
    ['make_video', { family: 'alpha', prompt: 'x', key: 'a\nb' }, /^key: .*control character/],
    ['make_video', { family: 'alpha', prompt: 'x', settings: { duration: 3 } }, /^duration: 3: /],
    ['make_video', { family: 'gamma', prompt: 'x' }, /^resolution: .*; duration: .*; ratio: /],
    [
      'make_video',
      { family: 'alpha', prompt: 'x', settings: { duratoin: 5 } },
      /^duratoin: .*did you mean duration/,
    ],
    [
      'make_video',
      { family: 'alpha', prompt: 'x', settings: { constructor: 1 } },
      /^constructor: ((?!spreadsheet).)*$/,
    ],
    ...['count', 'set', 'body', 'prompt-file', 'command', 'id', 'skip'].map(
      (name): [string, object, RegExp] => [
        'make_image',
        { prompt: 'x', settings: { [name]: 2 } },
        new RegExp(`^settings.${name}: there is no such argument`),
      ],
    ),
    ...[
      'force',
      'yes',
      'unpriced',
      'max-cost',
      'callback-url',
      'exec',
      'base-url',
      'api-key-file',
      'again',
      'once',
    ].map((name): [string, object, RegExp] => [
      'make_video',
      { family: 'beta', prompt: 'x', settings: { [name]: 'true' } },
      new RegExp(`^${name}: `),
    ]),
    [
      'make_image',
      { prompt: 'x', settings: { image: ['/etc/passwd'] } },
      /^image: \/etc\/passwd: lies outside --root/,
    ],
    ['make_image', { prompt: 'x', settings: { image: ['../outside.png'] } }, /^image: .*outside --root/],
    ['make_image', { prompt: 'x', settings: { image: ['link.png'] } }, /^image: .*outside --root/],
    [
      'make_image',
      { prompt: 'x', settings: { image: ['/proc/self/environ'] } },
      /^image: .*no file that gw reads/,
    ],
    [
      'make_image',
      { prompt: 'x', settings: { out: 'https://example.com/x.png' } },
      /^out: .*is no file or folder/,
    ],
    ['make_image', { prompt: 'x', settings: { out: '/tmp/x.png' } }, /^out: /],
    ['make_image', { prompt: 'x', settings: { out: '../x.png' } }, /^out: /],
    ['make_image', { prompt: 'x', settings: { out: 'away/x.png' } }, /^out: .*link leads out/],
    ['make_image', { prompt: 'x', settings: { out: '-' } }, /^out: -: is no file or folder/],
    ['make_image', { prompt: '  ' }, /^prompt/],
    ['make_again', { id: 'gw-00000000000000000000000000' }, /^no job /, 'not_found'],
    ['wait_for_job', { id: '../../etc' }, /./],
    ['get_job', {}, /^id: /],
    ['list_jobs', { limit: 1000 }, /^limit: .*at most 100/],
  ])('%s %j', async (name, args, message, kind = 'usage') => {
    const { value } = await agent.call(name, args);
    expect(value.error).toMatchObject({ kind, message: expect.stringMatching(message) });
    expect(value.error?.hint ?? '').not.toContain('also: --');
    expect(creates(place.sandbox)).toEqual([]);
    expect(fs.readdirSync(place.cwd).sort()).toEqual(['away', 'link.png']);
  });

  test('a tool that is not there is an error of the protocol', async () => {
    await expect(agent.call('run_shell', { command: 'id' })).rejects.toThrow(/no tool run_shell/);
  });
});

test('a job of another gateway, and of the user elsewhere, is not for an agent', async () => {
  const { agent, place, sent } = await opened();
  const other = await openNearPlace();
  const elsewhere = path.join(place.dir, 'elsewhere/');
  fs.mkdirSync(elsewhere);
  const env = { HOME: place.home };
  const made = await other.run(['image', 'create', 'a fox'], { env });
  expect(made.code).toBe(0);
  const [job] = await place.jobs();
  for (const name of ['get_job', 'wait_for_job', 'make_again'])
    expect((await agent.call(name, { id: job?.key })).value.error?.kind).toBe('not_found');
  const { out } = await place.run(['video', 'alpha', 'create', 'a boat', '-o', elsewhere]);
  const { value } = await agent.call('wait_for_job', { id: out.trim() });
  expect(value.error).toMatchObject({ kind: 'usage', message: expect.stringContaining('outside --out') });
  expect((await agent.call('list_jobs')).value.jobs).toHaveLength(1);
  expect(sent()).toBe(1);
  expect(fs.readdirSync(elsewhere)).toEqual([]);
});

test('jobs of another gateway are not listed where the profile, and no flag, names the sandbox', async () => {
  const { place } = await opened();
  expect((await place.run(['image', 'create', 'a fox'])).code).toBe(0);
  const agent = await openAgent(place, [], { env: { GW_PROFILE: 'sandbox' } });
  expect((await agent.call('list_jobs')).value.jobs).toEqual([]);
});

test('an output below --root may be sent again, and one of the user elsewhere may not', async () => {
  const { agent, place, sent } = await opened();
  const elsewhere = path.join(place.dir, 'elsewhere.png');
  const { out } = await place.run(['image', 'create', 'a fox', '-o', elsewhere, '--json']);
  const outside = `job:${JSON.parse(out).id}`;
  const inside = `job:${(await agent.call('make_image', { prompt: 'a boat' })).value.id}`;
  const make = async (image: string, tool = 'make_video', more: object = { family: 'alpha' }) =>
    (await agent.call(tool, { ...more, prompt: `on from ${image}`, settings: { image: [image] } })).value;
  expect((await make(inside)).error).toBeUndefined();
  expect((await make(`${inside}#image`, 'make_image', {})).error).toBeUndefined();
  const before = sent();
  for (const [tool, more] of [
    ['make_video', { family: 'alpha' }],
    ['make_image', {}],
  ] as const)
    expect((await make(outside, tool, more)).error).toMatchObject({
      kind: 'usage',
      message: expect.stringMatching(/^image: job:.*: lies outside --root/),
      hint: expect.stringContaining('gw mcp --root DIR'),
    });
  expect([before, sent()]).toEqual([4, before]);
});

test('what the profile says for the user alone replaces no file for an agent, and runs no command', async () => {
  const { agent, place } = await opened();
  const mine = path.join(place.cwd, 'mine.png');
  fs.writeFileSync(mine, 'mine');
  for (const [flag, value] of [
    ['force', 'true'],
    ['exec', 'touch "$GW_FILE.ran"'],
  ] as const)
    await place.run(['config', 'set', `defaults.image.create.${flag}`, value]);
  const settings = { out: 'mine.png' };
  const made = await agent.call('make_image', { prompt: 'a fox', settings });
  const again = await agent.call('make_again', { id: made.value.id, prompt: 'a hare', settings });
  expect([made, again].map(({ value }) => value.files)).toEqual(
    ['mine-1.png', 'mine-2.png'].map((name) => [
      expect.objectContaining({ path: path.join(place.cwd, name) }),
    ]),
  );
  expect(fs.readFileSync(mine, 'utf8')).toBe('mine');
  expect(fs.readdirSync(place.cwd).filter((name) => name.endsWith('.ran'))).toEqual([]);
});

test('the limits hold over two servers at once and one that is started after them', async () => {
  const place = await openPlace();
  const limit = ['--max-jobs', '5'];
  const agents = await Promise.all([openAgent(place, limit), openAgent(place, limit)]);
  const asked = Array.from({ length: 12 }, (_, at) =>
    agents[at % 2]?.call('make_image', { prompt: `fox ${at}`, settings: { size: '1024x1024' } }),
  );
  const said = await Promise.all(asked);
  const refused = said.flatMap((each) => each?.value.error ?? []);
  expect(refused.map(({ kind }) => kind)).toEqual(Array(7).fill('budget'));
  expect(refused[0]?.message).toContain('--max-jobs 5: 5 of gw mcp in the last hour are used');
  await Promise.all(agents.map((agent) => agent.close()));
  const next = await openAgent(place, limit);
  expect((await next.call('make_video', { family: 'alpha', prompt: 'x' })).value.error?.kind).toBe('budget');
  expect(creates(place.sandbox)).toHaveLength(5);
  // The limit does not apply to commands that the user types.
  expect((await place.run(['image', 'create', 'a fox'])).code).toBe(0);
});

test('--max-cost counts by the price file, and refuses what has no price', async () => {
  const place = await openNearPlace();
  const prices = path.join(place.dir, 'prices.json');
  fs.writeFileSync(prices, JSON.stringify({ 'img-2': { per_image: 2, currency: 'CNY' } }));
  await place.run(['config', 'set', 'prices', prices]);
  const agent = await openAgent(place, ['--max-cost', '5 CNY']);
  const errors: unknown[] = [];
  for (const prompt of ['a', 'b', 'c'])
    errors.push(
      (await agent.call('make_image', { prompt, settings: { model: 'img-2' } })).value.error?.message,
    );
  expect(errors.slice(0, 2)).toEqual([undefined, undefined]);
  expect(errors[2]).toContain('--max-cost 5 CNY: 4 CNY of gw mcp in the last hour are used');
  const { value } = await agent.call('make_video', { family: 'alpha', prompt: 'x' });
  const hint = expect.stringContaining('gw config set prices FILE');
  expect(value.error).toMatchObject({
    kind: 'budget',
    message: expect.stringContaining('is not known'),
    hint,
  });
  expect(creates(place.sandbox)).toHaveLength(2);
});

describe.each<[string, object]>([
  ['2025', {}],
  ['2026', { versionNegotiation: { mode: { pin: '2026-07-28' } } }],
])('--confirm, by the protocol of %s', (_, client) => {
  test('pays where the user agrees, once a job', async () => {
    const questions: string[] = [];
    const confirms = (question: string) => {
      questions.push(question);
      return 'accept' as const;
    };
    const { agent, sent } = await opened(['--confirm'], { client, confirms });
    const asked = { prompt: 'a fox', key: 'fox' };
    expect((await agent.call('make_image', asked)).value.status).toBe('succeeded');
    expect((await agent.call('make_image', asked)).value.status).toBe('succeeded');
    expect(questions).toEqual([expect.stringMatching(/^Pay for this\? make_image .*a fox$/)]);
    expect(sent()).toBe(1);
  });

  test('asks nobody for a payment that a limit refuses', async () => {
    const questions: string[] = [];
    const confirms = (question: string) => {
      questions.push(question);
      return 'accept' as const;
    };
    const { agent, sent } = await opened(['--confirm', '--max-jobs', '1'], { client, confirms });
    const { value } = await agent.call('make_image', { prompt: 'a fox' });
    const again = await agent.call('make_again', { id: value.id, prompt: 'an owl' });
    const other = await agent.call('make_image', { prompt: 'an owl' });
    expect([again.value.error?.kind, other.value.error?.kind]).toEqual(['budget', 'budget']);
    expect([questions.length, sent()]).toEqual([1, 1]);
  });

  test('sends nothing where the user declines, or the client cannot ask', async () => {
    const no = await opened(['--confirm'], { client, confirms: () => 'decline' });
    expect((await no.agent.call('make_image', { prompt: 'x' })).value.error?.message).toContain(
      'did not agree',
    );
    const mute = await opened(['--confirm'], { client });
    expect((await mute.agent.call('make_image', { prompt: 'x' })).value.error?.message).toContain(
      'cannot ask',
    );
    expect(no.sent() + mute.sent()).toBe(0);
  });
});

test.each<[string, () => string, { url?: Record<string, never> }, RegExp]>([
  [
    'fails to ask',
    () => {
      throw new Error('no dialog');
    },
    {},
    /gave no answer .* nothing was sent/,
  ],
  ['answers with an unknown word', () => 'yes', {}, /gave no answer .* nothing was sent/],
  ['can only open addresses', () => 'accept', { url: {} }, /this client cannot ask/],
])('--confirm sends nothing where the client %s', async (_, confirms, elicitation, message) => {
  const client = { capabilities: { elicitation } };
  const { agent, sent } = await opened(['--confirm'], { client, confirms });
  const { value } = await agent.call('make_image', { prompt: 'x' });
  expect(value.error).toMatchObject({ kind: 'usage', message: expect.stringMatching(message) });
  expect(sent()).toBe(0);
});

test.each<[string, string, RegExp]>([
  ['refuses the key', 'create:401', /auth/],
  ['has no balance', 'create:402', /balance/],
  ['fails', 'create:reset-after', /unknown_outcome/],
])('a gateway that %s is told with its kind', async (_, fault, kind) => {
  const { agent, sent } = await opened([], {}, fault);
  const { value } = await agent.call('make_video', { family: 'alpha', prompt: 'x', key: 'k' });
  expect(value.error?.kind).toMatch(kind);
  const before = sent();
  const next = await agent.call('make_video', { family: 'alpha', prompt: 'x', key: 'k' });
  expect(next.value.error?.kind).toMatch(kind);
  // A job that may exist is not sent again.
  expect(sent() - before).toBe(fault.includes('reset') ? 0 : 1);
});

test('an asset that is not there is told of by the names of settings', async () => {
  const { agent } = await opened();
  const settings = { image: ['asset://asset-none'] };
  const { value } = await agent.call('make_video', { family: 'alpha', prompt: 'x', settings });
  expect(value.error).toMatchObject({
    kind: 'not_found',
    message: expect.stringMatching(/^image asset:\/\/asset-none: there is no such asset/),
    hint: expect.stringMatching(/^give the project /),
  });
});

test('a gateway that answers 429 is asked again, and one job is made', async () => {
  const { agent, place, sent } = await opened([], {}, 'create:429:x1');
  expect((await agent.call('make_image', { prompt: 'a fox', key: 'fox' })).value.status).toBe('succeeded');
  expect([sent(), await place.jobs()]).toEqual([2, [expect.objectContaining({ state: 'succeeded' })]]);
});

test('a gateway that is away is unavailable, and the server goes on', async () => {
  const place = new NearPlace({ baseUrl: 'http://127.0.0.1:9' });
  const agent = await openAgent(place, ['--retries', '0']);
  expect((await agent.call('get_balance')).value.error?.kind).toBe('unavailable');
  expect((await agent.call('list_jobs')).value.jobs).toEqual([]);
});
