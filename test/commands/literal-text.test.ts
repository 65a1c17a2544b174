import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { Readable } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readRows } from '../../src/batch/rows.ts';
import { ShownRequest } from '../../src/command.ts';
import { createCommands, creates } from '../../src/commands/batch/row-command.ts';
import { makeContext, newAfterSave } from '../../src/context.ts';
import { safeJson } from '../../src/io/escape.ts';
import { cmd } from '../helpers/cmd.ts';
import { KEY, World } from '../helpers/gw.ts';
import { testIo } from '../io/memory-host.ts';
import { tinyPng } from '../jobs/save/tiny-media.ts';

// gw sends a text unchanged, whoever wrote it, puts no key into a body, and warns of a field that the document does not list.

async function open() {
  const world = await World.open();
  writeFileSync(path.join(world.cwd, 'secret.txt'), 'what the file holds');
  return world;
}
const write = (world: World, name: string, text: string) => {
  writeFileSync(path.join(world.cwd, name), text);
  return name;
};

const texts = ['@secret.txt', '@/proc/self/environ', '@fox runs', '@', '@-', '- a list', '--', '{"a":1}'];
const beta = ['video', 'beta', 'create', '--mode', 'o1', '--ratio', '1:1', '--duration', '5'];

/** The prompts that were sent to family beta. */
const promptsOf = (world: World): unknown[] =>
  world.sandbox.requests.flatMap(({ body }) => {
    const { contents } = (body ?? {}) as { contents?: { text: string }[] };
    return contents === undefined ? [] : [contents[0]?.text];
  });

test.each<[where: string, run: (world: World, text: string) => ReturnType<World['gw']>]>([
  ['words', (world, text) => world.gw([...beta, '--', text])],
  ['--prompt', (world, text) => world.gw([...beta, `--prompt=${text}`])],
  [
    'a row of JSONL',
    (world, text) => {
      const row = { command: 'video beta', mode: 'o1', ratio: '1:1', duration: 5, prompt: text };
      return world.gw(['batch', 'run', write(world, `${texts.indexOf(text)}.jsonl`, JSON.stringify(row))]);
    },
  ],
  [
    'a row of CSV',
    (world, text) => {
      const csv = `mode,ratio,duration,prompt\no1,1:1,5,"${text.replaceAll('"', '""')}"\n`;
      return world.gw(cmd`
        batch run ${write(world, `${texts.indexOf(text)}.csv`, csv)} --command "video beta"
      `);
    },
  ],
  ['a file', (world, text) => world.gw([...beta, '--prompt-file', write(world, 'p.txt', `${text}\n`)])],
  [
    'a preset',
    (world, text) => {
      const dir = path.join(world.cwd, '.gw', 'presets');
      mkdirSync(dir, { recursive: true });
      for (const each of [path.dirname(dir), dir]) chmodSync(each, 0o700);
      writeFileSync(path.join(dir, 'p.json'), JSON.stringify({ prompt: text }), { mode: 0o600 });
      return world.gw([...beta, '--preset', 'p']);
    },
  ],
])('a text in %s is sent as it stands', async (_, run) => {
  const world = await open();
  for (const text of texts) {
    const { code, err } = await run(world, text);
    expect(err).not.toMatch(/^error/m);
    expect(code).toBe(0);
  }
  expect(promptsOf(world)).toEqual(texts);
});

test('a job that was made of such a text is made again of it', async () => {
  const world = await open();
  await world.gw([...beta, '@secret.txt']);
  await world.gw(['again', 'last', '--duration', '6']);
  expect(promptsOf(world)).toEqual(['@secret.txt', '@secret.txt']);
});

test('a typed text that names a file is sent with one note, which names the flag that reads it', async () => {
  const world = await open();
  const note = '@secret.txt is sent as it stands; --prompt-file secret.txt sends what the file holds\n';
  for (const words of [['@secret.txt'], ['-p', '@secret.txt']]) {
    const run = await world.gw(['image', 'create', ...words, '--dry-run']);
    expect([run.code, run.err]).toEqual([0, note]);
  }
  const system = await world.gw(['chat', 'hi', '--system', '@secret.txt', '--dry-run']);
  expect(system.err).toBe(note.replace('--prompt-file', '--system-file'));
  expect(JSON.parse(system.out.slice(system.out.indexOf('{'))).messages[0].content).toBe('@secret.txt');
});

test('a row may name a file of its manifest, and asks for no stdin', async () => {
  const world = await open();
  mkdirSync(path.join(world.cwd, 'sets'));
  write(world, 'sets/p.txt', 'a fox\n');
  const row = { command: 'video beta', mode: 'o1', ratio: '1:1', duration: 5 };
  write(world, 'sets/m.jsonl', JSON.stringify({ ...row, 'prompt-file': 'p.txt' }));
  expect(await world.gw(['batch', 'run', 'sets/m.jsonl'])).toMatchObject({ code: 0 });
  expect(promptsOf(world)[0]).toBe('a fox');
  const piped = [{ prompt: '-' }, { prompt_file: '-' }].map((each) => JSON.stringify({ ...row, ...each }));
  const run = await world.gw(['batch', 'check', write(world, 'piped.jsonl', piped.join('\n'))]);
  expect(run.out).toMatch(
    /^piped\.jsonl:1: prompt: -: a row reads no stdin.*\npiped\.jsonl:2: prompt-file: -: a row/,
  );
});

test('a typed --prompt-file is for rows without a prompt, and lies in the working directory', async () => {
  const world = await open();
  mkdirSync(path.join(world.cwd, 'sets'));
  const row = { command: 'video beta', mode: 'o1', ratio: '1:1', duration: 5 };
  write(
    world,
    'sets/m.jsonl',
    [row, { ...row, prompt: 'an owl' }].map((each) => JSON.stringify(each)).join('\n'),
  );
  await world.gw(['batch', 'run', 'sets/m.jsonl', '--prompt-file', 'secret.txt', '--concurrency', '1']);
  expect(promptsOf(world)).toEqual(['what the file holds', 'an owl']);
});

describe('no API key that is in force goes out in a body', () => {
  test.each<[where: string, argv: (world: World) => string[]]>([
    ['the prompt of a video', () => ['video', 'alpha', 'create', `a fox ${KEY}`]],
    ['the prompt of an image', () => ['image', 'create', `a fox ${KEY}`]],
    ['a dry run', () => ['image', 'create', `a fox ${KEY}`, '--dry-run']],
    ['a file', (world) => ['chat', '--prompt-file', write(world, 'k.txt', `x\n${KEY}`)]],
    ['a system prompt', () => ['chat', 'hi', '--system', KEY]],
    [
      '--set',
      () => cmd`
        video gamma create "a fox" --duration 5 --resolution 768P --ratio 1:1 --set ${`x.y=["${KEY}"]`}
      `,
    ],
    ['the name of a field', () => ['chat', 'hi', '--set', `${KEY}=1`]],
    ['--body', (world) => ['chat', 'hi', '--body', write(world, 'b.json', `{"metadata":{"k":"${KEY}"}}`)]],
    [
      'gw api',
      (world) => ['api', 'POST', '/v1/chat/completions', '--body', write(world, 'b.json', `[[["${KEY}"]]]`)],
    ],
    [
      'an escaped key',
      (world) => [
        ...['api', 'POST', '/v1/chat/completions', '--body'],
        write(world, 'b.json', `{"a":"\\u00${KEY.charCodeAt(0).toString(16)}${KEY.slice(1)}"}`),
      ],
    ],
    ['gw api --set', () => ['api', 'POST', '/v1/chat/completions', '--set', `a=${KEY}`]],
    ['the name of an asset', () => ['asset', 'group', 'create', '--name', KEY]],
    [
      'a row',
      (world) => [
        'batch',
        'run',
        write(world, 'm.jsonl', JSON.stringify({ command: 'image create', prompt: KEY })),
      ],
    ],
    [
      'a row that is checked',
      (world) => [
        'batch',
        'check',
        write(world, 'm.jsonl', JSON.stringify({ command: 'video alpha', prompt: KEY })),
      ],
    ],
  ])('%s', async (_, argv) => {
    const world = await open();
    const { code, out, err } = await world.gw(argv(world));
    expect(`${out}${err}`).toContain('holds an API key that is in force, and no body may');
    expect(`${out}${err}`).not.toContain(KEY);
    expect(code).toBe(2);
    expect(world.requests()).toEqual([]);
  });

  test.each([
    [['image', 'edit', KEY], 'error: prompt: holds'],
    [['image', 'edit', 'x', '--set', `a.b=${KEY}`], 'error: a: holds'],
    [['image', 'edit', 'x', '--set', `${KEY}=1`], 'error: the request body: holds'],
  ])('a form that is sent in parts: %j', async (argv, told) => {
    const world = await open();
    writeFileSync(path.join(world.cwd, 'fox.png'), tinyPng);
    expect((await world.gw([...argv, '--image', 'fox.png'])).err).toContain(told);
  });

  test('a key of fewer than 16 characters is a word like others', async () => {
    const world = await open();
    await world.ok(['chat', 'a short-key here', '--dry-run'], { env: { GW_API_KEY: 'short-key' } });
  });

  test('a request that is made again, with the key that came since', async () => {
    const world = await open();
    const later = 'later-key-0123456789abcdef';
    await world.gw(['image', 'create', `a fox ${later}`]);
    const run = await world.gw(['again', 'last'], { env: { GW_API_KEY: later } });
    expect([run.code, world.requests().length]).toEqual([2, 1]);
    expect(run.err).toContain('holds an API key that is in force');
  });
});

describe('what the document does not list is sent with one warning, which names the nearest', () => {
  const told = 'warning: sent as given, though the document does not list';
  const video = ['video', 'beta', 'create', 'a fox'];
  test.each<[argv: string[], fields: string]>([
    [cmd`${video} --set settings.duratoin=10`, 'it: settings.duratoin (did you mean settings.duration?)'],
    [cmd`${video} --set duration=10`, 'it: duration (did you mean settings.duration?)'],
    [
      cmd`${video} --set setings.duration=10 --set zzzzzz=1`,
      'them: setings (did you mean settings?), zzzzzz',
    ],
    [cmd`image create "a fox" --set qualty=low`, 'it: qualty (did you mean quality?)'],
    [
      cmd`chat hi --api geo --set generationConfig.topk=1`,
      'it: generationConfig.topk (did you mean generationConfig.topK?)',
    ],
    [cmd`chat hi --set seed=1`, 'it: seed'],
    [
      ['chat', 'hi', ...[...'abcdefghijklmnopqrstuvw'].flatMap((name) => cmd`--set ${name}${name}${name}=1`)],
      `them: ${[...'abcdefghijklmnopqrst'].map((name) => name.repeat(3)).join(', ')}, and 3 more`,
    ],
    [cmd`asset group create --name a --set Descripton=b`, 'it: Descripton (did you mean Description?)'],
  ])('%j', async (argv, fields) => {
    const world = await open();
    expect((await world.gw([...argv, '--dry-run'])).err).toBe(`${told} ${fields}\n`);
    expect((await world.gw([...argv, '--dry-run', '--no-validate'])).err).toBe('');
    expect((await world.gw(argv)).err).toContain(`${told} ${fields}\n`);
    expect(world.requests()).not.toEqual([]);
  });

  test('--body and --messages', async () => {
    const world = await open();
    const body = write(world, 'b.json', '{"prompt":"a","settings":{"resolutoin":"720p"}}');
    const run = await world.gw(['video', 'beta', 'create', '--body', body, '--dry-run']);
    expect(run.err).toBe(`${told} it: settings.resolutoin (did you mean settings.resolution?)\n`);
    // gw also warns when another part of the message has a type that the document does not list.
    for (const [beside, warned] of [
      ['', ''],
      [',{"type":"sound"}', 'content.1.type: sound'],
    ]) {
      const part = '{"type":"text","text":"a","cach":1}';
      const messages = write(world, 'm.json', `[{"role":"user","content":[${part}${beside}]}]`);
      const chat = await world.gw(['chat', '--messages', messages, '--dry-run']);
      expect(chat.err).toContain(`${told} it: messages.content.cach\n`);
      expect(chat.err).toContain(warned);
    }
  });

  test('a body that the document does not show lists nothing', async () => {
    const world = await open();
    const run = await world.gw(cmd`video beta create a --mode omni --set x=1 --dry-run`);
    expect(run.err).not.toContain('does not list');
  });
});

/** The document's prompts that refer to something by @id, and texts that are special to some program. */
const tricks = [
  ...[
    '@id',
    '@fox runs',
    '@fox and @element2',
    '@image_1 walks to @image_2',
    '@secret.txt',
    '@fifo',
    '@../secret.txt',
  ],
  ...[
    '@/proc/self/environ',
    '@/dev/zero',
    '@~/.ssh/id',
    'file:///etc/passwd',
    '$(id)',
    '%s',
    '__proto__',
    '{key}',
  ],
  ...['-', '@-', '--', '@'],
];
const settings: Readonly<Record<string, object>> = {
  'video alpha': {},
  'video beta': { mode: 'o1', ratio: '1:1', duration: 5 },
  'video gamma': { duration: 5, resolution: '768P', ratio: '1:1' },
  'image create': {},
};

test('a row sends its prompt as it stands, or is refused', async () => {
  const world = await open();
  // A program that opens the FIFO would wait for a writer.
  execFileSync('mkfifo', [path.join(world.cwd, 'fifo')]);
  const { io } = testIo();
  const globals = { dryRun: true };
  const { ctx, close } = makeContext({
    host: { ...world.host(), stdin: Readable.from([]) },
    io: { ...io, note: () => {}, warn: () => {} },
    globals,
    argv: [],
    afterSave: newAfterSave(),
    signal: new AbortController().signal,
  });
  const prompts = fc.oneof(
    fc.constantFrom(...tricks),
    fc
      .tuple(fc.constantFrom('@', '@/', '-', ''), fc.string({ unit: 'binary', maxLength: 40 }))
      .map(([sign, rest]) => sign + rest),
  );
  const counts = { sent: 0, refused: 0 };
  const rows = fc.tuple(fc.constantFrom(...Object.keys(settings)), prompts);
  await fc.assert(
    fc.asyncProperty(rows, async ([command, prompt]) => {
      const fields = { command, prompt, ...settings[command] };
      const manifest = {
        ...{ named: 'm.jsonl', file: path.join(world.cwd, 'm.jsonl') },
        async *rows() {
          yield { line: 1, fields };
        },
      };
      for await (const row of readRows({ manifest, name: 'm', creates, defaults: {} })) {
        const isRead = !('faults' in row);
        const made = isRead
          ? createCommands[command]?.run({ args: [], flags: row.flags, globals }, ctx)
          : undefined;
        const outcome = await Promise.resolve(made).catch((error: unknown) => ({ error }));
        const shown =
          outcome && 'value' in outcome && outcome.value instanceof ShownRequest ? outcome.value : undefined;
        if (shown === undefined) {
          expect(['', '-'].includes(prompt.trim()) || !isRead).toBe(true);
          counts.refused += 1;
        } else {
          const { body } = JSON.parse(safeJson(shown.json())) as { body: Record<string, { text: string }[]> };
          expect((body.contents ?? body.content)?.[0]?.text ?? body.prompt).toBe(prompt);
          counts.sent += 1;
        }
      }
    }),
    { numRuns: 300 },
  );
  expect(counts.sent).toBeGreaterThan(240);
  await close();
});
