import { chmodSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { expect } from 'vitest';
import { cmd } from '../helpers/cmd.ts';
import { test, World } from '../helpers/gw.ts';

const alpha = ['video', 'alpha', 'create', 'a fox', '--dry-run', '--json'];
const bodyOf = (out: string): Record<string, unknown> => JSON.parse(out).body;
function preset(world: World, file: string, text: string): string {
  const at = path.join(world.cwd, '.gw/presets', file);
  mkdirSync(path.dirname(at), { recursive: true });
  writeFileSync(at, text);
  return at;
}

test('a preset gives flags, as JSON or YAML, and what is typed wins', async ({ world }) => {
  preset(
    world,
    'wide.yaml',
    'ratio: "21:9"\nduration: 6\nwatermark: true\nimage: [https://example.com/a.png]\n',
  );
  preset(world, 'tall.json', '{"ratio":"9:16","no-watermark":true}');
  const wide = await world.ok([...alpha, '--preset', 'wide', '--duration', '8']);
  expect(bodyOf(wide.out)).toMatchObject({ ratio: '21:9', duration: 8, watermark: true });
  expect(JSON.stringify(bodyOf(wide.out).content)).toContain('https://example.com/a.png');
  const over = await world.ok([...alpha, '--preset', 'wide', '--body', '-'], { stdin: '{"duration":9}' });
  expect(bodyOf(over.out)).toMatchObject({ duration: 9, ratio: '21:9' });
  expect(over.err).toContain('--duration 6 of --preset wide is left out: --body says it\n');
  const tall = await world.gw([...alpha, '--preset', 'tall']);
  expect(bodyOf(tall.out)).toMatchObject({ ratio: '9:16', watermark: false });
});

test('a preset of the working directory that others could change is refused by the name that was typed', async ({
  world,
}) => {
  const outside = path.join(world.dir, 'a.json');
  writeFileSync(outside, '{"duration":5}');
  const at = preset(world, 'b.json', '{"duration":5}');
  symlinkSync(outside, path.join(path.dirname(at), 'a.json'));
  const led = await world.gw([...alpha, '--preset', 'a']);
  expect(led.code).toBe(2);
  expect(led.err).toContain('--preset a: lies outside the working directory, at ');
  chmodSync(path.dirname(at), 0o777);
  const open = await world.gw([...alpha, '--preset', 'b']);
  expect(open.err).toContain(`--preset b: ${path.dirname(at)} may be written by other users`);
});

test.each([
  ['{"duration":5,\n "duration":15}', ': line 2, column 2: "duration" is given twice: give it once\n'],
  [
    '{"return-last-frame":true,"return_last_frame":false}',
    ': give return-last-frame or return_last_frame, not both\n',
  ],
])('a preset that gives a flag twice is refused by name: %s', async (text, told) => {
  const world = await World.open();
  const file = preset(world, 'day.json', text);
  const run = await world.gw([...alpha.slice(0, -1), '--preset', 'day']);
  expect(run).toMatchObject({ code: 2, out: '', err: expect.stringContaining(`${file}${told}`) });
});

test('a preset serves several commands: what another has is left out, and said', async ({ world }) => {
  const file = preset(world, 'day.yaml', 'ratio: "21:9"\nsize: 1024x1024\n');
  const image = await world.gw(['image', 'create', 'a fox', '--dry-run', '--json', '--preset', 'day']);
  expect(bodyOf(image.out), image.err).toMatchObject({ size: '1024x1024' });
  expect(image.err).toContain(`${file}: gw image create has no --ratio, so it is left out\n`);
  const video = await world.gw([...alpha, '--preset', 'day']);
  expect(bodyOf(video.out), video.err).toMatchObject({ ratio: '21:9' });
  expect(video.err).toContain(`${file}: gw video alpha create has no --size, so it is left out\n`);
});

test.for([
  'callback-url: https://example.com/',
  'force: true',
  'yes: true',
  'exec: id',
  'base-url: https://example.com/',
])('what no preset of the working directory may say is never left out: %s', async (said, { world }) => {
  preset(world, 'day.yaml', `${said}\n`);
  for (const words of [cmd`image create "a fox"`, cmd`video alpha create "a fox"`, cmd`chat hello`]) {
    const run = await world.gw([...words, '--dry-run', '--preset', 'day']);
    expect([words[0], run.code]).toEqual([words[0], 2]);
  }
});

test.each([
  [['video', 'alpha', 'create'], 'ratio: "5:4"', '--preset day, ratio 5:4: one of 21:9'],
  [['video', 'beta', 'create', '--ratio', '5:4'], 'duration: 5', '--ratio 5:4: one of 16:9'],
  [['image', 'create'], 'size: 99x', '--preset day, size 99x: img-2 takes auto'],
  [['chat'], 'max-tokens: 0', '--preset day, max-tokens 0: a whole number'],
  [['chat'], 'top-k: 4', '--preset day, top-k: not documented for --api completions'],
])('a value of a preset that breaks a rule is told as its own: %j, %s', async (words, said, message) => {
  const world = await World.open();
  preset(world, 'day.yaml', `${said}\n`);
  const run = await world.gw([...words, 'a fox', '--dry-run', '--preset', 'day']);
  expect(run).toMatchObject({ code: 2, err: expect.stringContaining(`\nerror: ${message}`) });
});

test.each([
  ['shot: ["2:a fox", "3:it runs"]', ['a hare'], 'a hare'],
  ['prompt: a hare', ['--turbo', '--shot', '3:a fox'], 'shot 1, 3, a fox;'],
])('what is typed of the prompt stands for the whole of it: over %s, %j', async (said, words, prompt) => {
  const world = await World.open();
  preset(world, 'day.yaml', `${said}\n`);
  const run = await world.ok(['video', 'beta', 'create', ...words, '--dry-run', '--json', '--preset', 'day']);
  expect(bodyOf(run.out).prompt).toBe(prompt);
});

test('a preset of the configuration goes before one of the working directory, which is named', async () => {
  const world = await World.open();
  const dir = path.join(world.dir, '.config/gw/presets');
  mkdirSync(dir, { recursive: true });
  writeFileSync(path.join(dir, 'p.yaml'), 'duration: 5\n');
  const file = preset(world, 'p.yaml', 'duration: 7\n');
  const own = await world.gw([...alpha, '--preset', 'p']);
  expect([bodyOf(own.out).duration, own.err]).toEqual([5, '']);
  rmSync(path.join(dir, 'p.yaml'));
  const foreign = await world.gw([...alpha, '--preset', 'p']);
  expect([bodyOf(foreign.out).duration, foreign.err]).toEqual([
    7,
    `--preset p is the one of the working directory: ${file}\n`,
  ]);
});

test.each([
  [
    'an unknown flag',
    'ratoi: "1:1"\n',
    'error: FILE: ratoi is no flag of gw video alpha create\nhint: did you mean ratio?\n',
  ],
  [
    'an address',
    'base-url: https://example.com\n',
    'error: FILE: base-url is no flag of gw video alpha create\n',
  ],
  [
    'what is typed beside it',
    'prompt-file: p.txt\n',
    'error: FILE: prompt-file: a preset of the working directory may not say it\n',
  ],
  ['a key', 'api_key_file: k\n', 'error: FILE: api-key-file is no flag of gw video alpha create\n'],
  [
    'a list where one value is taken',
    'ratio: ["1:1", "4:3"]\n',
    'error: FILE: ratio: give one value, not 2\n',
  ],
  ['another value', 'duration: x\n', 'error: FILE: duration x: not a whole number of seconds\n'],
  ['another placeholder', 'out: "{nope}.mp4"\n', 'error: FILE: out: {nope} is not a placeholder\n'],
  [
    'a list of flags',
    '- a\n',
    'error: the preset FILE holds no flags by name\nhint: write flags and their values, such as {"resolution": "720p"}\n',
  ],
])('%s in a preset is refused with the file, and nothing is sent', async (_, text, message) => {
  const world = await World.open();
  const file = preset(world, 'p.yaml', text);
  const run = await world.gw(['video', 'alpha', 'create', 'a fox', '--preset', 'p']);
  expect(run).toMatchObject({ code: 2, out: '' });
  expect(run.err).toContain(`directory: ${file}\n${message.replace('FILE', file)}`);
  expect(world.requests()).toEqual([]);
});

test('a preset that is not there names the nearest', async ({ world }) => {
  preset(world, 'wide.yaml', 'duration: 5\n');
  const run = await world.gw([...alpha, '--preset', 'wied']);
  expect(run.code).toBe(2);
  expect(JSON.parse(run.err).error).toMatchObject({
    message: expect.stringMatching(/^--preset wied: no such preset in .* or /),
    hint: 'did you mean wide?',
  });
  expect((await world.gw([...alpha, '--preset', '../x'])).err).toContain('--preset ../x: not a name');
  expect((await world.gw([...alpha, '--preset', ''])).err).toContain('--preset is empty');
});

/** A default for chat, the flags typed with it, and the expected body. */
const chatYields: Readonly<Record<string, readonly [string, string, readonly string[], object]>> = {
  'an effort to no thinking': [
    'reasoning-effort',
    'low',
    ['--thinking', 'off'],
    { reasoning_effort: 'none' },
  ],
  'an effort to a level': [
    'reasoning-effort',
    'low',
    ['--thinking-level', 'high'],
    { extra_body: { geo: { thinking_config: { thinking_level: 'high' } } } },
  ],
  'a system prompt to that of a file': [
    'system',
    'Be brief.',
    ['--system-file', 's.txt'],
    { messages: [{ role: 'system', content: 'Rhyme.' }, { role: 'user' }] },
  ],
  'a session to a file of messages': [
    'session',
    'day',
    ['--messages', 'm.json'],
    { messages: [{ content: 'first' }, { content: 'a fox' }] },
  ],
  'an effort to a surface without one': ['reasoning-effort', 'low', ['--api', 'geo'], { contents: [{}] }],
  'a limit of candidates to another surface': ['candidates', '2', cmd`--api messages -m m`, { model: 'm' }],
};
test.each(Object.keys(chatYields))('a default of a chat yields to what is typed: %s', async (name) => {
  const world = await World.open();
  const [flag = '', value = '', typed = [], body = {}] = chatYields[name] ?? [];
  writeFileSync(path.join(world.cwd, 's.txt'), 'Rhyme.');
  writeFileSync(path.join(world.cwd, 'm.json'), '[{"role":"user","content":"first"}]');
  await world.ok(['config', 'set', `defaults.chat.${flag}`, value]);
  const run = await world.ok(['chat', 'a fox', ...typed, '--dry-run', '--json']);
  expect(bodyOf(run.out)).toMatchObject(body);
  expect(run.out).not.toContain(value === '2' ? 'candidate' : `"${value}"`);
  const isOfSurface = typed.includes('--api');
  expect(run.err).toBe(
    isOfSurface
      ? `--${flag}: not documented for --api ${typed[1]}; this default of the profile is left out\n`
      : '',
  );
  const both = await world.gw(['chat', 'a fox', ...typed, `--${flag}`, value, '--dry-run']);
  expect([both.code, both.out]).toEqual([2, '']);
});

test.each([
  ['a model', 'reasoning-effort', 'none', ['-m', 'geo-3.7-flash']],
  ['a model of the Gemini-style surface', 'thinking-level', 'minimal', cmd`--api geo -m geo-3.7-flash`],
])('a default of a chat yields to %s that does not take it', async (_, flag, value, typed) => {
  const world = await World.open();
  await world.ok(['config', 'set', `defaults.chat.${flag}`, value]);
  const run = await world.ok(['chat', 'a fox', ...typed, '--dry-run', '--json']);
  expect(run.out).not.toMatch(/effort|minimal/);
  expect(run.err).toContain(`--${flag} ${value} of the profile's defaults is left out: `);
  const both = await world.gw(['chat', 'a fox', ...typed, `--${flag}`, value, '--dry-run']);
  expect([both.code, both.out]).toEqual([2, '']);
});

test('figures and thoughts that nobody typed give way to -q', async ({ world }) => {
  await world.ok(['config', 'set', 'defaults.chat.usage', 'true']);
  preset(world, 'p.yaml', 'show-thoughts: true\n');
  const words = ['chat', 'a fox', '--preset', 'p'];
  expect((await world.ok(words)).err).toContain('tokens: ');
  expect((await world.ok([...words, '-q'])).err).toBe('');
  expect((await world.ok([...words, '-q', '--usage'])).err).toMatch(/^tokens: .*\n$/);
});

/** A default of a profile, the flags or fields given with it, and the expected body. */
const yields: Readonly<Record<string, readonly [string, string, Record<string, unknown>, object]>> = {
  'a ratio to a first frame': [
    'defaults.video.alpha.ratio',
    '16:9',
    { command: 'video alpha', 'first-frame': 'https://example.com/a.png' },
    { ratio: 'adaptive' },
  ],
  'a duration to an edit': [
    'defaults.video.alpha.duration',
    '5',
    { command: 'video alpha', 'task-type': 'edit', video: 'https://example.com/a.mp4' },
    { duration: -1 },
  ],
  'a quality to a model': [
    'defaults.image.create.quality',
    'medium',
    { command: 'image create', model: 'legacy-image-3' },
    { model: 'legacy-image-3' },
  ],
};
test.each([
  ['chat.max-tokens', '7', cmd`chat hi --set max_tokens=5`, { max_tokens: 5 }, '--set says it'],
  [
    'chat.system',
    'STORED',
    cmd`chat --messages -`,
    { messages: [{ role: 'system', content: 'OWN' }, { role: 'user' }] },
    '--messages says it',
  ],
  [
    'chat.system',
    'STORED',
    cmd`chat --api geo --messages -`,
    { systemInstruction: { parts: [{ text: 'OWN' }] } },
    '--messages says it',
  ],
  [
    'chat.system',
    'STORED',
    cmd`chat hi --api messages -m m --set system=OWN`,
    { system: 'OWN' },
    '--set says it',
  ],
  [
    'video.alpha.duration',
    '10',
    cmd`video alpha create hi --set duration=4`,
    { duration: 4 },
    '--set says it',
  ],
])('a default yields to --set and --messages: %s %s', async (name, value, words, body, why) => {
  const world = await World.open();
  await world.ok(['config', 'set', `defaults.${name}`, value]);
  const stdin = '[{"role":"system","content":"OWN"},{"role":"user","content":"hi"}]';
  const run = await world.ok([...words, '--dry-run', '--json'], { stdin });
  expect(bodyOf(run.out)).toMatchObject(body);
  expect(JSON.stringify(bodyOf(run.out))).not.toContain(value);
  expect(run.err).toContain(`--${name.split('.').at(-1)} ${value} of the profile's defaults is left out: `);
  expect(run.err).toContain(why);
});

test.each([
  [
    'video.alpha.duration',
    '10',
    ['video', 'alpha', 'create'],
    { duration: 4, content: [{ type: 'text', text: 'a fox' }] },
  ],
  ['image.create.n', '3', ['image', 'create'], { n: 1, prompt: 'a fox' }],
  ['image.create.model', 'img-2.5-flare', ['image', 'create'], { model: 'img-2', prompt: 'a fox' }],
  [
    'chat.max-tokens',
    '77',
    ['chat'],
    { max_completion_tokens: 5, messages: [{ role: 'user', content: 'hi' }] },
  ],
  ['chat.model', 'other', ['chat'], { model: 'geo-3.6-flash', messages: [{ role: 'user', content: 'hi' }] }],
])('a default yields to what --body says: %s %s', async (name, value, words, body) => {
  const world = await World.open();
  await world.ok(['config', 'set', `defaults.${name}`, value]);
  const run = await world.ok([...words, '--body', '-', '--dry-run', '--json'], {
    stdin: JSON.stringify(body),
  });
  expect(bodyOf(run.out)).toMatchObject(body);
  const flag = `--${name.split('.').at(-1)} ${value}`;
  expect(run.err).toContain(`${flag} of the profile's defaults is left out: --body says it`);
});

const G = 'group-1';
const media = { GroupId: G, URL: 'https://example.com/a.png', AssetType: 'Image', Name: 'OWN' };
test.each<[string, string, string[], object | undefined, object, string]>([
  ['asset.create.name', 'STORED', ['create'], media, { Name: 'OWN' }, '--body says it'],
  ['asset.upload.group', 'STORED', ['upload'], media, { GroupId: G }, '--body says it'],
  ['asset.update.name', 'STORED', cmd`update a-1 --set Name=OWN`, undefined, { Name: 'OWN' }, '--set'],
  ['asset.get.project', 'STORED', cmd`get a-1`, { ProjectName: 'OWN' }, { ProjectName: 'OWN' }, '--body'],
  ['asset.group.create.name', 'STORED', cmd`group create`, { Name: 'OWN' }, { Name: 'OWN' }, '--body'],
  [
    'asset.group.list.name',
    'STORED',
    cmd`group list`,
    { Filter: { Name: 'x' } },
    { Filter: { Name: 'x' } },
    '--body',
  ],
  [
    'asset.list.status',
    'Failed',
    ['list'],
    { Filter: { Statuses: ['Active'] } },
    { Filter: { Statuses: ['Active'] } },
    '--body',
  ],
  [
    'asset.list.limit',
    '77',
    cmd`list --page 2 --page-size 5`,
    undefined,
    { PageNumber: 2 },
    'it does not go with --page',
  ],
  [
    'asset.list.all',
    'true',
    cmd`list --page 2 --page-size 5`,
    undefined,
    { PageNumber: 2 },
    'it does not go with --page',
  ],
  [
    'asset.list.page-size',
    '77',
    cmd`list --all`,
    undefined,
    { MaxResults: 100 },
    'it does not go with --all',
  ],
  [
    'asset.list.rest',
    'true',
    cmd`list --type AIGC`,
    undefined,
    { Filter: { GroupType: 'AIGC' } },
    'it does not go with --type',
  ],
])('a default of the library yields: %s %s beside %j', async (name, value, words, base, body, why) => {
  const world = await World.open();
  await world.ok(['config', 'set', `defaults.${name}`, value]);
  const all = ['asset', ...words, ...(base ? ['--body', '-'] : []), '--dry-run', '--json'];
  const run = await world.ok(all, { stdin: JSON.stringify(base) });
  expect(bodyOf(run.out)).toMatchObject(body);
  expect(JSON.stringify(bodyOf(run.out))).not.toContain(value);
  const flag = `--${name.split('.').at(-1)} ${value}`;
  expect(run.err).toContain(`${flag} of the profile's defaults is left out: ${why}`);
});

test.each([
  ['list', 'type', 'LivenessFace', []],
  ['get', 'project', 'film', ['a-1']],
])('a default of gw asset %s yields to --rest: %s', async (command, flag, value, ids) => {
  const world = await World.open();
  await world.ok(['config', 'set', `defaults.asset.${command}.${flag}`, value]);
  const words = ['asset', command, ...ids, '--rest', '--dry-run'];
  const run = await world.ok(words);
  expect(run.err).toBe(
    `--${flag} ${value} of the profile's defaults is left out: it does not go with --rest\n`,
  );
  expect(await world.gw([...words, `--${flag}`, value])).toMatchObject({ code: 2, out: '' });
});

const frame = { type: 'image_url', image_url: { url: 'https://example.com/a.png' }, role: 'first_frame' };
const clip = ['--video', 'https://example.com/a.mp4'];
test.for<[string, string, string[], object, string]>([
  [
    'video.alpha.ratio',
    '16:9',
    ['video', 'alpha', 'create', ...clip, '--set', 'omni_reference_task_type=extend'],
    {},
    'ratio',
  ],
  ['video.alpha.ratio', '16:9', ['video', 'alpha', 'create'], { content: [frame] }, 'content'],
  ['image.create.quality', 'medium', ['image', 'create', '--set', 'model=legacy-image-3'], {}, 'model'],
  ['image.create.quality', 'medium', ['image', 'create'], { model: 'legacy-image-3' }, 'model'],
  ['chat.reasoning-effort', 'none', ['chat', '--set', 'model=geo-3.7-flash'], {}, 'model'],
  ['chat.reasoning-effort', 'none', ['chat'], { model: 'geo-3.7-flash' }, 'model'],
  ['asset.list.limit', '77', ['asset', 'list', '--set', 'PageSize=5'], { PageNumber: 2 }, 'PageNumber'],
])(
  'a default yields where it breaks a rule only beside --set or --body: %s %s beside %j',
  async ([name, value, words, base, has], { world }) => {
    await world.ok(['config', 'set', `defaults.${name}`, value]);
    const stdin = JSON.stringify(base);
    const all = [...words, ...(words[0] === 'asset' ? [] : ['a fox']), '--body', '-', '--dry-run', '--json'];
    const run = await world.ok(all, { stdin });
    expect(bodyOf(run.out)).toHaveProperty(has);
    expect(JSON.stringify(bodyOf(run.out))).not.toContain(value);
    const flag = `--${name.split('.').at(-1)}`;
    expect(run.err).toContain(`${flag} ${value} of the profile's defaults is left out: `);
    const typed = await world.gw([...all, flag, value], { stdin });
    expect(typed.code).toBe(2);
  },
);

test('a default yields to a --set that replaces the object it stands in', async ({ world }) => {
  await world.ok(['config', 'set', 'defaults.video.beta.duration', '14']);
  const sets = ['--set', 'settings={"resolution":"1080p"}'];
  const words = ['video', 'beta', 'create', 'hi', ...sets, '--dry-run', '--json'];
  const { out, err } = await world.ok(words);
  expect([bodyOf(out).settings, err]).toEqual([{ resolution: '1080p' }, '']);
  expect((await world.gw([...words, '--duration', '14'])).err).toContain('--duration 14: --set settings');
});

test.each(Object.keys(yields))('a default yields, typed and in a row: %s', async (name) => {
  const world = await World.open();
  const [setting = '', value = '', { command, ...fields } = {}, body = {}] = yields[name] ?? [];
  await world.ok(['config', 'set', setting, value]);
  const flags = Object.entries(fields).flatMap(([flag, typed]) => [`--${flag}`, String(typed)]);
  const words = [...String(command).split(' '), ...(command === 'video alpha' ? ['create'] : [])];
  const run = await world.ok([...words, 'a fox', ...flags, '--dry-run', '--json']);
  expect(bodyOf(run.out)).toMatchObject(body);
  const flag = `--${setting.split('.').at(-1)}`;
  expect(run.err).toContain(`${flag} ${value} of the profile's defaults is left out`);
  const typed = await world.gw([...words, 'a fox', ...flags, flag, value, '--dry-run', '--json']);
  expect([typed.code, typed.err]).toEqual([2, expect.stringContaining(`${flag} ${value}`)]);
  writeFileSync(
    path.join(world.cwd, 'm.jsonl'),
    `${JSON.stringify({ command, prompt: 'a fox', ...fields })}\n`,
  );
  const check = await world.gw(['batch', 'check', 'm.jsonl']);
  expect([check.code, check.err], check.out).toEqual([0, '']);
});

test("one's own defaults are set, listed, used and taken out; what is typed and a preset win over them", async () => {
  const world = await World.open();
  const name = 'defaults.video.alpha.resolution';
  expect(await world.gw(['config', 'set', name, '480p'])).toMatchObject({ code: 0 });
  expect((await world.gw(['config', 'list'])).out).toContain(`${name}\t480p\tprofile`);
  expect((await world.gw(['config', 'get', name])).out).toBe('480p\n');
  expect(bodyOf((await world.gw(alpha)).out)).toMatchObject({ resolution: '480p' });
  preset(world, 'p.yaml', 'resolution: 720p\n');
  expect(bodyOf((await world.gw([...alpha, '--preset', 'p'])).out)).toMatchObject({ resolution: '720p' });
  expect(bodyOf((await world.gw(cmd`${alpha} --resolution 1080p`)).out)).toMatchObject({
    resolution: '1080p',
  });
  expect(await world.gw(['config', 'unset', name])).toMatchObject({ code: 0 });
  expect(bodyOf((await world.gw(alpha)).out)).not.toHaveProperty('resolution');
});

test.each([
  ['defaults.video.alpha.model', 'alpha-video-2-0-260128', alpha, { model: 'alpha-video-2-0-260128' }],
  ['defaults.image.create.model', 'img-9', cmd`image create "a fox" --dry-run --json`, { model: 'img-9' }],
  [
    'defaults.asset.create.type',
    'image',
    cmd`asset create --group g-1 --url https://e.com/a.png --name a --dry-run --json`,
    { AssetType: 'Image' },
  ],
])('config set %s %s takes what the typed flag takes', async (name, value, words, body) => {
  const world = await World.open();
  const typed = await world.ok([...words, `--${name.split('.').at(-1)}`, value]);
  expect(bodyOf(typed.out)).toMatchObject(body);
  await world.ok(['config', 'set', name, value]);
  expect((await world.ok(words)).out).toBe(typed.out);
});

test.each([
  ['defaults.video.alpha.resolution', '4000p', /resolution 4000p: one of 480p, 720p, 1080p, 4k/],
  [
    'defaults.video.alpha.resolutoin',
    '720p',
    /resolutoin is no flag of gw video alpha create\nhint: did you mean resolution\?/,
  ],
  ['defaults.video.delta.resolution', '720p', /no command that has defaults/],
  ['defaults.video.alpha.base-url', 'https://example.com', /base-url is no flag of gw video alpha create/],
  ['defaults.video.alpha.once', 'a', /--once belongs to one run and has no default/],
  ['defaults.video.beta.external-id', 'a', /--external-id belongs to one run and has no default/],
  ['defaults.video.alpha.out', '{nope}', /defaults.video.alpha.out: \{nope\} is not a placeholder/],
  ['defaults.video.alpha.wait', 'maybe', /^error: defaults\.video\.alpha\.wait: maybe: write true or false/],
  ['defaults.chat.temperature', 'x', /^error: defaults\.chat\.temperature x: not a number\n/],
])('config set %s %s is refused', async (name, value, message) => {
  const world = await World.open();
  expect(await world.gw(['config', 'set', name, value])).toMatchObject({
    code: 2,
    err: expect.stringMatching(message),
  });
});

test.each([
  [
    'video alpha create',
    'defaults.video.alpha.duration',
    'error: defaults.video.alpha.duration 3: 2.5 takes',
  ],
  ['image create', 'defaults.image.create.partial-images', 'error: defaults.image.create.partial-images 9: '],
  ['chat', 'defaults.chat.temperature', 'warning: defaults.chat.temperature: usually 0-2'],
  [
    'chat',
    'defaults.chat.candidates',
    'error: defaults.chat.candidates: not documented for --api completions',
  ],
])(
  'a default that breaks a rule of %s is named as the setting it is, what is typed as typed',
  async (command, name, said) => {
    const world = await World.open();
    const [value = '', flag = ''] = [/ (\d): /.exec(said)?.[1] ?? '9', name.split('.').at(-1)];
    const words = [...command.split(' '), 'a fox', '--dry-run'];
    await world.ok(['config', 'set', name, value]);
    expect((await world.gw(words)).err).toContain(said);
    expect((await world.gw([...words, `--${flag}`, value])).err).toContain(said.replace(name, `--${flag}`));
  },
);

test('a value that --set lays over a flag is told by its field, not as if the flag had said it', async ({
  world,
}) => {
  const over = [...alpha, '--duration', '5', '--set', 'duration=3'];
  expect((await world.gw(over)).err).toMatch(/(?<!-)duration 3: 2\.5 takes/);
});

test('a default that is stored and cannot be used is named as the setting it is', async ({ world }) => {
  await world.ok(['config', 'set', 'defaults.chat.temperature', '1']);
  const file = path.join(world.dir, '.config/gw/config.json');
  writeFileSync(file, readFileSync(file, 'utf8').replace('"1"', '"x"'));
  const run = await world.gw(['chat', 'hello']);
  expect(run).toMatchObject({
    code: 2,
    err: expect.stringMatching(/^error: defaults\.chat\.temperature x: not/),
  });
});

test('--notify rings and shows a notice when it is done, on a terminal only', async ({ world }) => {
  const create = ['video', 'alpha', 'create', 'a fox', '--notify'];
  const rung = await world.ok(create, { terminal: true });
  expect(rung.err).toContain(
    '\u0007\u001b]9;gw video alpha create: done\u0007\u001b]777;notify;gw;gw video alpha create: done\u0007',
  );
  expect((await world.gw(create)).err).not.toContain('\u0007');
});
