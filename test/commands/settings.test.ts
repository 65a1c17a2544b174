import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { describe, expect } from 'vitest';
import { helpTopics } from '../../src/program.ts';
import { cmd } from '../helpers/cmd.ts';
import { KEY, test, World } from '../helpers/gw.ts';

const bare = { bare: true } as const;
const keyFile = (world: World) => path.join(world.dir, '.config/gw/keys.json');

describe('login and logout', () => {
  test('stores a key that the gateway accepts, readable by this user only, and uses it from then on', async () => {
    const world = await World.open();
    const words = ['login', '--base-url', `${world.sandbox.baseUrl}/`, '--with-key'];
    const login = await world.ok(words, { ...bare, stdin: `${KEY}\n` });
    expect(world.requests()).toEqual(['GET /v1/models']);
    expect(statSync(keyFile(world)).mode & 0o777).toBe(0o600);
    expect(statSync(path.dirname(keyFile(world))).mode & 0o777).toBe(0o700);
    const created = await world.ok(['video', 'alpha', 'create', 'a fox'], bare);
    expect(login.out + login.err + created.out + created.err).not.toContain(KEY);
    expect(await world.gw(['logout'], bare)).toMatchObject({ code: 0 });
    expect(await world.gw(['video', 'alpha', 'create', 'a fox'], bare)).toMatchObject({ code: 3 });
    expect(await world.gw(['logout'], bare)).toMatchObject({ code: 4 });
    const { baseUrl } = world.sandbox;
    const moved = { bare: true, stdin: KEY, env: { GW_BASE_URL: `${baseUrl}/other` } };
    const { err } = await world.gw(['login', '--with-key', '--profile', 'default'], moved);
    expect(err).toContain(`profile default has ${baseUrl}; GW_BASE_URL puts ${baseUrl}/other in its place\n`);
  });

  test('a wrong key is exit 3 and nothing is stored', async ({ world }) => {
    const login = ['login', '--base-url', world.sandbox.baseUrl, '--with-key'];
    const run = await world.gw(login, { ...bare, stdin: 'wrong-key' });
    expect(run.code).toBe(3);
    expect(existsSync(keyFile(world))).toBe(false);
    expect(existsSync(path.join(world.dir, '.config/gw/config.json'))).toBe(false);
  });

  test('the sandbox has neither a key nor a key command to forget', async ({ world }) => {
    const run = await world.gw(['logout', '--sandbox'], bare);
    expect(run.code).toBe(4);
    expect(run.err).not.toContain('key_command');
  });

  test.each([
    ['set', 'key', 'gw login stores the API key'],
    ['set', 'timout', 'did you mean timeout?'],
    ['unset', 'nothing', 'gw config list shows them all'],
    ['get', 'timout', 'did you mean timeout?'],
  ])('config %s of %s, which is no setting, is answered in one line: %s', async (word, name, hint) => {
    const world = await World.open();
    const value = word === 'set' ? ['X'] : [];
    const run = await world.gw(['config', word, name, ...value], bare);
    expect([run.code, run.err]).toEqual([2, `error: there is no setting "${name}"\nhint: ${hint}\n`]);
  });

  test('asks on a terminal only', async ({ world }) => {
    const run = await world.gw(['login', '--base-url', world.sandbox.baseUrl], { ...bare, stdin: 'key' });
    expect(run).toMatchObject({ code: 2, err: expect.stringContaining('--with-key') });
  });

  test('a stdin that holds no key is told by the flag that asked for it', async ({ world }) => {
    const login = ['login', '--base-url', world.sandbox.baseUrl, '--with-key'];
    expect(await world.gw(login, { ...bare, stdin: '\n' })).toMatchObject({
      code: 3,
      err: expect.stringContaining('error: --with-key (stdin) holds no key (length 0)'),
    });
  });

  test('a stored key goes to its own origin and to no other', async ({ world }) => {
    await world.gw(['login', '--base-url', world.sandbox.baseUrl, '--with-key'], { ...bare, stdin: KEY });
    const before = world.requests().length;
    const run = await world.gw(['video', 'alpha', 'get', 'x', '--base-url', world.sandbox.outputUrl], bare);
    expect(run).toMatchObject({ code: 3, err: expect.stringContaining('is for http') });
    expect(world.requests()).toHaveLength(before);
  });

  test.each([
    ['with a newline in it', 'two\nlines'],
    ['blank', '  '],
    ['non-ASCII', 'clé'],
  ])('a key %s is refused without being shown', async (_, key) => {
    const world = await World.open();
    const login = ['login', '--base-url', world.sandbox.baseUrl, '--with-key'];
    const run = await world.gw(login, { ...bare, stdin: key });
    expect(run.code).toBe(3);
    expect(run.err).not.toContain(key.trim() || '   ');
    expect(world.requests()).toEqual([]);
  });
});

describe('profiles and settings', () => {
  test('add, use, list, set, get, unset, remove', async ({ world }) => {
    const run = (...argv: string[]) => world.gw(argv, bare);
    expect(
      await run(...cmd`profile add studio --base-url https://gateway.example.com/v/ --account enterprise`),
    ).toMatchObject({ code: 0 });
    expect(await run('profile', 'add', 'studio', '--base-url', 'https://other.example.com')).toMatchObject({
      code: 2,
      err: expect.stringContaining('there already'),
    });
    // `profile use default` works although the default profile has no entry in the file.
    for (const name of ['sandbox', 'default', 'studio'])
      expect(await run('profile', 'use', name), name).toMatchObject({ code: 0 });
    expect((await run('profile', 'list', '--json')).out).toContain(
      '"name":"studio","current":true,"base_url":"https://gateway.example.com/v","account":"enterprise"',
    );
    expect(await run('config', 'set', 'timeout', '90s')).toMatchObject({ code: 0 });
    expect(await run('config', 'get', 'timeout')).toMatchObject({ code: 0, out: '90s\n' });
    expect(await run('config', 'set', 'timout', '90s')).toMatchObject({ code: 2 });
    expect(await run('config', 'set', 'timeout', 'soon')).toMatchObject({ code: 2 });
    expect((await run('config', 'list')).out).toMatch(/^timeout\t90s\tprofile$/m);
    expect(await run('config', 'get', 'out', '--profile', 'studio')).toMatchObject({
      code: 4,
      err: expect.stringContaining('hint: set it with: gw config set out VALUE --profile studio\n'),
    });
    expect((await run('config', 'set', 'defaults.video.alpha.exec', 'true')).err).toContain(
      'defaults.video.alpha.exec holds for no row of a batch; the setting after_save holds for rows too',
    );
    expect((await run('config', 'get', 'key')).err).toContain('hint: set it with: gw login\n');
    expect(await run('config', 'get', 'defaults.video.alpha.ratio')).toMatchObject({
      code: 4,
      err: expect.stringContaining('error: defaults.video.alpha.ratio is not set\n'),
    });
    expect(await run('config', 'unset', 'timeout')).toMatchObject({ code: 0 });
    expect((await run('config', 'list')).out).toMatch(/^timeout\t60s\tdefault$/m);
    for (const [group, setting, value] of [
      ['budget', 'budget.jobs', '4/day'],
      ['defaults', 'defaults.chat.top-k', '4'],
      ['defaults.video', 'defaults.video.alpha.duration', '4'],
    ] as const) {
      await run('config', 'set', setting, value);
      expect(await run('config', 'unset', group)).toMatchObject({ code: 0 });
      expect((await run('config', 'list')).out).not.toMatch(`${setting}\t${value}`);
    }
    expect(await run('config', 'unset', 'budged')).toMatchObject({ code: 2 });
    expect(await run('profile', 'remove', 'studio')).toMatchObject({ code: 0 });
    for (const verb of ['add', 'remove'])
      expect((await run('profile', verb, 'sandbox')).err).toContain(
        'is the built-in profile and cannot be changed',
      );
    expect((await run('profile', 'list', '-q')).out).toBe('sandbox\n');
  });

  test.each([
    ['{nope}', '{nope} is not a placeholder'],
    ['{id', 'the brace of "{id" is not closed'],
    ['{ext}/{id}', '{ext} cannot stand in a directory'],
    ['-', 'only gw image writes to stdout, and only where -o - is typed'],
  ])('out %s is refused when it is set, as --out is when it is used', async (out, said) => {
    const world = await World.open();
    const set = await world.gw(['config', 'set', 'out', out], bare);
    const used = await world.gw(['video', 'alpha', 'create', 'a fox', '--dry-run', '-o', out]);
    expect([set.code, used.code]).toEqual([2, 2]);
    expect(used.err).toContain(said);
    expect(set.err).toBe(used.err.replaceAll('--out', 'out'));
    const imaged = await world.gw(['image', 'create', 'a fox', '--dry-run'], { env: { GW_OUT: out } });
    expect(imaged.err).toBe(used.err.replaceAll('--out', 'GW_OUT'));
    expect((await world.gw(['config', 'get', 'out'], bare)).code).toBe(4);
  });

  test('flag over environment over profile over default', async ({ world }) => {
    await world.gw(['config', 'set', 'retries', '1'], bare);
    const source = async (argv: string[], env: Record<string, string>) =>
      (await world.gw(['config', 'list', ...argv], { ...bare, env })).out
        .split('\n')
        .find((line) => line.startsWith('retries'));
    expect(await source(['--retries', '3'], { GW_RETRIES: '2' })).toBe('retries\t3\tflag');
    expect(await source([], { GW_RETRIES: '2' })).toBe('retries\t2\tenvironment');
    expect(await source([], {})).toBe('retries\t1\tprofile');
  });

  test('the model of a profile is used where none is named', async ({ world }) => {
    await world.gw(['config', 'set', 'models.alpha', 'alpha-video-2-0-mini-260615'], bare);
    await world.gw(['video', 'alpha', 'create', 'a fox']);
    expect(world.sandbox.requests[0]?.body).toMatchObject({ model: 'alpha-video-2-0-mini-260615' });
  });

  test.each([
    ['corrupt', '{"version":1,'],
    ['empty', ''],
    ['with a field nobody knows', '{"version":1,"profiles":{},"colour":"red"}'],
  ])('a configuration that is %s is named and left as it is', async (_, text) => {
    const world = await World.open();
    const file = path.join(world.dir, '.config/gw/config.json');
    mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(file, text);
    expect(await world.gw(['config', 'list'], bare)).toMatchObject({
      code: 2,
      err: expect.stringContaining(file),
    });
    expect(await world.gw(['config', 'set', 'retries', '2'], bare)).toMatchObject({ code: 2 });
    expect(readFileSync(file, 'utf8')).toBe(text);
  });

  test.each([
    ['without a scheme', 'gateway.example.com'],
    ['ftp', 'ftp://gateway.example.com'],
    ['with user info', 'https://me:secret@gateway.example.com'],
    ['plain http elsewhere', 'http://gateway.example.com'],
  ])('a base URL %s', async (_, url) => {
    const world = await World.open();
    const run = await world.gw(['video', 'alpha', 'get', 'x', '--base-url', url]);
    expect(run.code).toBe(2);
    expect(run.err).not.toContain('secret');
  });

  test.each([
    ['budget.jobs', '100 / day', '100/day'],
    ['budget.amount', '50 CNY/month', '50 CNY/month'],
    ['sidecar', 'on', 'on'],
    ['sidecar', 'true', 'on'],
    ['retries', '07', '7'],
    ['timeout', '90s', '90s'],
    ['base_url', 'HTTPS://Gateway.example.com/', 'https://gateway.example.com'],
    ['account', 'enterprise', 'enterprise'],
  ])('%s is shown as config set takes it', async (name, text, shown) => {
    const world = await World.open();
    for (const typed of [text, shown]) {
      await world.ok(['config', 'set', name, typed], bare);
      expect(await world.gw(['config', 'get', name], bare)).toMatchObject({ code: 0, out: `${shown}\n` });
      const list = await world.gw(['config', 'list'], bare);
      expect(list.out).toContain(`\n${name}\t${shown}\tprofile\n`);
    }
  });

  test.each([
    ['prices', 'nowhere.yaml', /the price file \/.*nowhere\.yaml: no such file/],
    ['prices', 'words.yaml', /words\.yaml: img-2: a model has an object of prices/],
    ['cacert', 'nowhere.pem', /the setting cacert nowhere\.pem: no such file/],
    ['cacert', 'words.yaml', /the setting cacert words\.yaml holds no certificate/],
  ])('config set %s %s warns of a file that the next command refuses', async (name, file, message) => {
    const world = await World.open();
    writeFileSync(path.join(world.cwd, 'words.yaml'), 'img-2: dear\n');
    expect(await world.gw(['config', 'set', name, file], bare)).toMatchObject({
      code: 0,
      err: expect.stringMatching(message),
    });
    const empty = await world.gw(['config', 'set', name, ' '], bare);
    expect(empty.err).toMatch(/ is empty\nhint: give a value, or take it out with gw config unset/);
  });

  test('config unset says where a setting was not set', async ({ world }) => {
    await world.ok(['config', 'set', 'timeout', '90s'], bare);
    expect((await world.gw(['config', 'unset', 'timeout'], bare)).err).toBe('');
    for (const name of ['timeout', 'defaults.chat.nope'])
      expect(await world.gw(['config', 'unset', name], bare)).toMatchObject({
        code: 0,
        err: `${name} was not set before\n`,
      });
  });

  test('an address that needs --insecure-http is stored with it alone', async ({ world }) => {
    const set = ['config', 'set', 'base_url', 'http://gateway.example.com'];
    expect(await world.gw(set, bare)).toMatchObject({
      code: 2,
      err: expect.stringContaining('plain http://'),
    });
    expect(existsSync(path.join(world.dir, '.config/gw/config.json'))).toBe(false);
    expect(await world.gw([...set, '--insecure-http'], bare)).toMatchObject({ code: 0 });
  });

  test('what is stored and cannot be used is set anew, taken out and listed all the same', async () => {
    const world = await World.open();
    const file = path.join(world.dir, '.config/gw/config.json');
    mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
    const unusable = { base_url: 'http://gateway.example.com', timeout: 'soon', retries: 2 };
    writeFileSync(file, JSON.stringify({ version: 1, profiles: { default: unusable } }));
    expect(await world.gw(['config', 'list'], bare)).toMatchObject({ code: 2 });
    expect(await world.gw(['profile', 'list'], bare)).toMatchObject({ code: 0 });
    expect(await world.gw(['config', 'unset', 'timeout'], bare)).toMatchObject({ code: 0 });
    const set = ['config', 'set', 'base_url', 'https://gateway.example.com'];
    expect(await world.gw(set, bare)).toMatchObject({ code: 0 });
    expect(JSON.parse(readFileSync(file, 'utf8')).profiles).toEqual({
      default: { base_url: 'https://gateway.example.com', retries: 2 },
    });
    expect(await world.gw([...set, '--profile', 'none'], bare)).toMatchObject({ code: 2 });
  });

  test('a base URL with a path and a trailing slash is joined once', async ({ world }) => {
    const run = await world.gw(cmd`
      video alpha get x --dry-run --base-url https://gateway.example.com/proxy/
    `);
    expect(run.out).toContain('GET https://gateway.example.com/proxy/api/v3/contents/generations/tasks/x');
  });
});

describe('help', () => {
  test('gw alone, gw help, and gw help COMMAND print help and exit 0', async ({ world }) => {
    for (const argv of [[], ['help'], ['--help'], ['video'], ['help', 'video', 'alpha', 'create']]) {
      const run = await world.gw(argv, bare);
      expect(run, argv.join(' ')).toMatchObject({
        code: 0,
        err: '',
        out: expect.stringMatching(/^Usage: gw/),
      });
    }
  });

  test('gw alone says where one stands', async ({ world }) => {
    expect((await world.gw([])).out).toContain('Now: ');
    expect((await world.gw([], bare)).out).toContain('Now: no gateway yet');
  });

  test('an unknown word after help, or beside --help, is a mistake and names the nearest', async () => {
    const world = await World.open();
    for (const [argv, message, hint] of [
      [
        ['help', 'nonsense'],
        'there is no help on nonsense',
        'for the commands: gw; for the topics: gw help help',
      ],
      [['help', 'enviroment'], 'there is no help on enviroment', 'did you mean gw help environment?'],
      [['help', ''], 'there is no help on ""', 'for the commands: gw; for the topics: gw help help'],
      [['help', 'vidoe'], 'there is no help on vidoe', 'did you mean gw help video?'],
      [['help', 'video', 'alhpa'], 'unknown command: gw video alhpa', 'did you mean gw video alpha?'],
      [['help', 'chat', 'x'], 'there is no help on chat x', 'did you mean gw help chat?'],
      [['vidoe', '--help'], 'unknown command: gw vidoe', 'did you mean gw video?'],
    ] as const) {
      const run = await world.gw([...argv], bare);
      expect(run, argv.join(' ')).toMatchObject({ code: 2, out: '' });
      expect(run.err).toContain(`error: ${message}\nhint: ${hint}`);
    }
  });

  test('the topics', async ({ world }) => {
    expect((await world.gw(['help', 'exit-codes'], bare)).out).toMatch(/^14 +unknown_outcome/m);
    expect((await world.gw(['help', 'environment'], bare)).out).toMatch(/^GW_API_KEY/m);
    for (const topic of helpTopics) {
      const { code, err, out } = await world.gw(['help', topic], bare);
      expect({ code, err }, topic).toEqual({ code: 0, err: '' });
      expect(out.split('\n').filter((line) => line.length > 120)).toEqual([]);
      expect(out.length, topic).toBeGreaterThan(200);
    }
  });

  test('--version --json is JSON', async () => {
    const { out } = await (await World.open()).gw(['--version', '--json']);
    expect(JSON.parse(out)).toEqual({ version: '0.0.0-test' });
  });

  test('an unknown command names what there is', async ({ world }) => {
    expect(await world.gw(['vidoe'], bare)).toMatchObject({
      code: 2,
      out: '',
      err: expect.stringContaining('did you mean gw video?'),
    });
    expect(await world.gw(['video', 'alpha', 'creat'], bare)).toMatchObject({
      code: 2,
      err: expect.stringContaining('create'),
    });
  });

  test('shared options that mean nothing to a command are refused, not ignored', async ({ world }) => {
    expect(await world.gw(['jobs', 'list', '--dry-run'], bare)).toMatchObject({ code: 2 });
    expect(await world.gw(['video', 'alpha', 'get', 'x', '--set', 'a=1'])).toMatchObject({ code: 2 });
  });
});

test.each([
  ['--root', 'nope', 'no such file'],
  ['--root', 'file', 'is no directory'],
  ['--out', 'file', 'is no directory'],
])('gw mcp %s %s: %s', async (flag, name, what) => {
  const world = await World.open();
  writeFileSync(path.join(world.cwd, 'file'), '');
  const run = await world.gw(['mcp', flag, name]);
  expect([run.code, run.err]).toEqual([2, `error: ${flag} ${name}: ${what}\nhint: name a directory\n`]);
});

test.each([
  ['jobs', 'list', '--batch', ''],
  ['gallery', '--out', ''],
  ['mcp', '--root', ''],
  ['mcp', '--out', ' '],
  ['worker', '--root', ''],
  ['batch', 'check', 'a.csv', '--root', ''],
  ['login', '--key-command', ''],
  ['models', '--api-key-file', ''],
  ['models', '--cacert', ''],
  ['models', '--client-key', ''],
  ['models', '--profile', ''],
  ['models', '--base-url', ''],
  ['models', '--preset', ''],
  ['image', 'create', 'a fox', '--body', ''],
  ['video', 'alpha', 'create', 'a fox', '--wait', '--exec', ''],
])('%s %s %s %s: a flag whose variable was not set is refused', async (...argv) => {
  const world = await World.open();
  const flag = argv.find((word) => word.startsWith('--') && word !== '--wait');
  const { code, out, err } = await world.gw(argv);
  expect([code, out]).toEqual([2, '']);
  expect(err).toContain(`error: ${flag} is empty\n`);
  expect(world.requests()).toEqual([]);
});
