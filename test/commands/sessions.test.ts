import { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { Readable } from 'node:stream';
import { beforeEach, expect, test } from 'vitest';
import { cmd } from '../helpers/cmd.ts';
import { World } from '../helpers/gw.ts';

// `gw sessions`, `gw chat --continue`, and pictures on stdin.

let world: World;
beforeEach(async () => {
  world = await World.open({ speed: 1e9 });
});

const dir = () => path.join(world.dir, '.local/state/gw/chat/sessions');
const stored = () => readdirSync(dir()).filter((name) => name.endsWith('.jsonl'));

/** A stored session with one exchange, made `seconds` seconds after the first one. */
async function talk(name: string, words: string, seconds: number): Promise<void> {
  await world.ok(['chat', '--session', name, words]);
  const at = Date.UTC(2026, 10, 20, 11) / 1000 + seconds;
  utimesSync(path.join(dir(), `${name}.jsonl`), at, at);
}

test('lists the stored conversations, the one that was talked in last first', async () => {
  expect(await world.gw(['sessions'])).toMatchObject({ code: 0, out: '' });
  await talk('trip', 'name three boats', 0);
  await talk('work', `what is ${'very '.repeat(20)}wrong?`, 60);
  const piped = await world.gw(['sessions']);
  expect(piped.out.split('\n').map((line) => line.split('\t'))).toEqual([
    [
      'work',
      '2',
      '2026-11-20T11:01:00.000Z',
      'geo-3.6-flash',
      expect.stringMatching(/^what is very .{40,60}…$/),
    ],
    ['trip', '2', '2026-11-20T11:00:00.000Z', 'geo-3.6-flash', 'name three boats'],
    [''],
  ]);
  expect((await world.gw(['sessions', 'list', '-q'])).out).toBe('work\ntrip\n');
  const terminal = await world.gw(['sessions', 'list', '--no-color'], { terminal: true });
  expect(terminal.out).toMatch(/^NAME +TURNS +CHANGED/);
  expect(terminal.out).toMatch(/^trip +2 +1 h .*ago/m);
  const [, trip] = JSON.parse((await world.gw(['sessions', 'list', '--json'])).out);
  expect(trip).toEqual({
    name: 'trip',
    api: 'completions',
    model: 'geo-3.6-flash',
    turns: 2,
    changed_at: '2026-11-20T11:00:00.000Z',
    last: 'name three boats',
    file: path.join(dir(), 'trip.jsonl'),
  });
  expect(world.requests()).toHaveLength(2);
});

test('shows a conversation as Markdown, and as messages that --messages takes', async () => {
  await talk('trip', 'name three boats', 0);
  const { out } = await world.gw(['sessions', 'show', 'trip']);
  expect(out).toMatch(/^## You\n\nname three boats\n\n## Model\n\n\S/);
  const shown = JSON.parse((await world.gw(['sessions', 'show', 'trip', '--json'])).out);
  expect(shown).toEqual({
    name: 'trip',
    api: 'completions',
    model: 'geo-3.6-flash',
    messages: [
      { role: 'user', content: 'name three boats' },
      { role: 'assistant', content: expect.stringMatching(/\S/) },
    ],
  });
});

test('deletes after a question, and off a terminal with --yes only', async () => {
  await talk('trip', 'name three boats', 0);
  await talk('work', 'what broke?', 1);
  const unasked = await world.gw(['sessions', 'delete', 'trip'], { stdin: '' });
  expect([unasked.code, unasked.out]).toEqual([2, '']);
  expect(unasked.err).toContain('error: deleting session trip cannot be undone, and gw cannot ask here\n');
  expect(unasked.err).not.toContain('--dry-run');
  const none = await world.gw(['sessions', 'delete', 'gone'], { stdin: '' });
  expect([none.code, none.err]).toEqual([4, expect.stringContaining('there is no session gone')]);
  const missing = await world.gw(['sessions', 'delete', 'gone', 'trip', '--yes']);
  expect([missing.code, missing.out, missing.err]).toEqual([
    13,
    'trip\n',
    'error: there is no session gone\nhint: gw sessions lists the stored ones\n',
  ]);
  expect(stored()).toEqual(['work.jsonl']);
  const no = await world.gw(['sessions', 'delete', 'work'], {
    terminal: true,
    stdin: Object.assign(Readable.from(['n\n']), { isTTY: true }),
  });
  expect([no.code, stored()]).toEqual([2, ['work.jsonl']]);
  const json = await world.gw(['sessions', 'delete', 'work', '--yes', '--json']);
  expect([JSON.parse(json.out), stored()]).toEqual([{ name: 'work', status: 'deleted' }, []]);
});

test.each(['show', 'delete'])('%s takes names, not paths', async (command) => {
  const { code, err } = await world.gw(['sessions', command, '../config']);
  expect([code, err]).toEqual([
    2,
    expect.stringContaining('error: NAME "../config": not the name of a session\n'),
  ]);
});

test('--continue goes on with the session that was talked in last', async () => {
  const none = await world.gw(['chat', '--continue', 'and?']);
  expect([none.code, none.err]).toEqual([
    4,
    'error: --continue: there is no talk to go on with\nhint: keep one under a name: gw chat --session NAME\n',
  ]);
  await talk('work', 'what broke?', 60);
  await talk('trip', 'name three boats', 0);
  const run = await world.gw(['chat', '--continue', 'and a fourth?', '--dry-run', '--json']);
  expect([run.code, run.err]).toEqual([0, 'this goes on with the talk work, 2 turns so far\n']);
  const { messages } = JSON.parse(run.out).body;
  expect([messages.length, messages[0].content, messages[2].content]).toEqual([
    3,
    'what broke?',
    'and a fourth?',
  ]);
  const anew = await world.gw(['chat', '--continue', '--new', 'hello', '--dry-run']);
  expect([anew.code, anew.err]).toEqual([0, 'this starts the talk work over\n']);
  const both = await world.gw(['chat', '--continue', '--session', 'work', 'x']);
  expect([both.code, both.err]).toEqual([
    2,
    expect.stringContaining('--continue and --session both name the session'),
  ]);
  expect(existsSync(path.join(world.cwd, 'work.jsonl'))).toBe(false);
});

test('a talk that a person sees is kept without a word, gone on with by --continue, and gone after 30 days', async () => {
  const terminal = { terminal: true, env: { TZ: 'UTC' } };
  const names = () => stored().map((name) => name.replace('.jsonl', ''));
  const seen = await world.gw(['chat', 'name three boats'], terminal);
  expect([seen.code, seen.err], seen.err).toEqual([0, expect.not.stringMatching(/kept|talk/)]);
  const [first = ''] = names();
  expect(first).toMatch(/^2026-11-20-\d{6}$/);
  // No session is kept for a chat in a pipe, for a dry run, or when a setting forbids it.
  await world.gw(['chat', 'in a pipe']);
  await world.gw(['chat', 'shown', '--dry-run'], terminal);
  await world.gw(['chat', 'secret'], { terminal: true, env: { GW_LEDGER_PROMPTS: 'off' } });
  await world.ok(['config', 'set', 'keep_talks', 'off']);
  await world.gw(['chat', 'secret too'], terminal);
  expect(names()).toEqual([first]);
  await world.ok(['config', 'unset', 'keep_talks']);
  const more = await world.gw(['chat', '--continue', 'and a fourth?'], terminal);
  expect(more.err).toContain(`this goes on with the talk ${first}, 2 turns so far`);
  expect((await world.gw(cmd`sessions list`)).out).toMatch(new RegExp(`^${first}\t4\t.*and a fourth\\?\n$`));
  // A session that the user named is never removed, however old it is.
  await talk('trip', 'name a boat', -40 * 24 * 3_600);
  const old = path.join(dir(), '2026-10-01-101010.jsonl');
  writeFileSync(old, '');
  utimesSync(old, 1_790_000_000, 1_790_000_000);
  await world.gw(['chat', 'another'], terminal);
  expect(existsSync(old)).toBe(false);
  expect(names()).toHaveLength(3);
});

test('a talk that the disk does not take is a warning, and the answer is shown', async () => {
  mkdirSync(path.dirname(dir()), { recursive: true });
  writeFileSync(dir(), 'no directory');
  const run = await world.gw(['chat', 'name three boats'], { terminal: true });
  expect([run.code, run.out], run.err).toEqual([0, expect.stringMatching(/\S/)]);
  expect(run.err.replaceAll('\n', ' ')).toContain(' the answer could not be added to the session ');
});

test('what a session was held with goes before the defaults of the profile, and what is typed before both', async () => {
  for (const [flag, value] of Object.entries({ system: 'dull', model: 'geo-3.7-flash', api: 'completions' }))
    await world.ok(['config', 'set', `defaults.chat.${flag}`, value]);
  await world.ok(cmd`chat --session s --api geo -m geo-3.5-flash --system pirate one`);
  const shown = async (...words: string[]) => {
    const { out, err } = await world.ok(['chat', 'two', '--dry-run', '--json', ...words]);
    return { ...(JSON.parse(out) as { url: string; body: object }), err };
  };
  const { url, body, err } = await shown('--session', 's');
  expect(url).toMatch(/geo-3\.5-flash:streamGenerateContent$/);
  expect(body).toMatchObject({ systemInstruction: { parts: [{ text: 'pirate' }] } });
  for (const flag of ['system dull', 'model geo-3.7-flash', 'api completions'])
    expect(err).toContain(`--${flag} of the profile's defaults is left out: --session says it\n`);
  expect((await shown('--session', 's', '-m', 'geo-3.6-flash')).url).toMatch(/geo-3\.6-flash:/);
  const other = await shown('--session', 's', '--api', 'completions', '--system', 'odd');
  expect(other.body).toMatchObject({ model: 'geo-3.7-flash', messages: [{ content: 'odd' }, {}, {}, {}] });
  expect((await shown()).body).toMatchObject({ model: 'geo-3.7-flash', messages: [{ content: 'dull' }, {}] });
});

test('an old talk that cannot be removed stays, and costs no answer', async () => {
  const old = path.join(dir(), '2026-10-01-101010.jsonl');
  mkdirSync(old, { recursive: true });
  utimesSync(old, 1_790_000_000, 1_790_000_000);
  const run = await world.gw(['chat', 'name three boats'], { terminal: true });
  expect([run.code, run.out], run.err).toEqual([0, expect.stringMatching(/\S/)]);
});

test.each([
  ['messages', 'sandbox-chat-1', 'system', '"new"'],
  ['geo', 'geo-3.6-flash', 'systemInstruction', '{"parts":[{"text":"new"}]}'],
])(
  'on %s what --body says goes before what a session keeps, and the session keeps it',
  async (api, model, field, said) => {
    const json = (name: string, text: string) => {
      writeFileSync(path.join(world.cwd, name), text);
      return name;
    };
    const tool = json('old.json', '{"name":"old_tool"}');
    const tools = '[{"name":"new_tool","functionDeclarations":[]}]';
    const body = json('body.json', `{"${field}":${said},"tools":${tools}}`);
    const begin = cmd`chat --session s --api ${api} -m ${model} --system old --tool ${tool} one`;
    await world.ok([...begin, '--no-validate']);
    const shown = async (name: string, ...more: string[]) =>
      JSON.parse((await world.ok(['chat', '--session', name, 'x', '--dry-run', '--json', ...more])).out).body;
    expect(await shown('s', '--body', body)).toMatchObject({
      [field]: JSON.parse(said),
      tools: JSON.parse(tools),
    });
    for (const name of ['s', 'new'])
      await world.ok(cmd`chat --session ${name} --api ${api} -m ${model} two --body ${body} --no-validate`);
    const kept = JSON.stringify(await shown('s'));
    expect([kept.includes('"old"'), kept.includes('old_tool')], kept).toEqual([true, true]);
    expect(await shown('new')).toMatchObject({ [field]: JSON.parse(said) });
  },
);

const pixel = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const piped = (bytes: Buffer) => Object.assign(Readable.from([bytes]), { isTTY: false });

test('--image - takes a picture from stdin, beside others', async () => {
  const words = cmd`chat "what is this?" --image - --image https://example.com/fox.png --dry-run --json`;
  const run = await world.ok(words, { stdin: piped(pixel) });
  expect(JSON.parse(run.out).body.messages[0].content).toEqual([
    { type: 'text', text: 'what is this?' },
    { type: 'image_url', image_url: { url: `data:image/png;base64,${pixel.toString('base64')}` } },
    { type: 'image_url', image_url: { url: 'https://example.com/fox.png' } },
  ]);
});

test.each([
  [
    'a picture that is piped as text',
    cmd`chat "what is this?"`,
    pixel,
    'stdin holds PNG (an image), not text\nhint: add --image - to send it as a picture',
  ],
  [
    'text as a picture',
    cmd`chat x --image -`,
    Buffer.from('words'),
    '--image -: stdin holds plain text, not a picture',
  ],
  ['an empty stdin', cmd`chat x --image -`, Buffer.alloc(0), '--image -: stdin is empty, not a picture'],
  [
    'stdin for two',
    cmd`chat x --image - --system -`,
    pixel,
    '--system and --image both read stdin\nhint: give all but one of them a file',
  ],
])('%s is refused with the cure', async (_, words, bytes, message) => {
  const { code, out, err } = await world.gw(words, { stdin: piped(bytes) });
  expect([code, out, err]).toEqual([2, '', `error: ${message}\n`]);
  expect(world.requests()).toEqual([]);
});

test('--image - needs something on stdin', async () => {
  const { code, err } = await world.gw(['chat', 'x', '--image', '-'], { terminal: true });
  expect([code, err]).toEqual([2, expect.stringContaining('--image -: stdin is a terminal')]);
});
