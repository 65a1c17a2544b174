import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import * as path from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { firstLineOf, type OwnCommand, runKeyCommand } from '../../src/config/keys.ts';
import { refusal, testHost } from '../config/fixtures.ts';
import { cmd } from '../helpers/cmd.ts';
import { type FakeGateway, fakeGateway } from '../helpers/fake-gateway.ts';
import { type RunOptions, World } from '../helpers/gw.ts';
import { ledgerOf } from './jobs-seed.ts';

// A key and an address are a pair (promises, section 5): gw sends a key only to its own origin, whatever else is named.

const WORK = 'canary-work-5f1d8c7e9ab2';
const ENV = 'canary-envi-5f1d8c7e9ab2';

/** A gateway that records the keys it receives. */
async function listening(): Promise<FakeGateway & { readonly keys: string[] }> {
  const keys: string[] = [];
  const gateway = await fakeGateway((_, __, headers) => {
    keys.push(String(headers.authorization ?? headers['x-api-key']));
    return { body: { object: 'list', data: [] } };
  });
  return Object.assign(gateway, { keys });
}

/** A process that has ended counts as ended even when no parent has waited for it. */
function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

async function place() {
  const world = await World.open();
  const work = await listening();
  const other = await listening();
  const run = (argv: readonly string[], options: RunOptions = {}) =>
    world.gw(argv, { bare: true, ...options });
  const config = path.join(world.dir, '.config/gw');
  return { world, work, other, run, config };
}

/** Like `place`, with one gateway's key stored under the profile `work`. */
async function withProfile() {
  const here = await place();
  const login = await here.run(['login', '--profile', 'work', '--base-url', here.work.url, '--with-key'], {
    stdin: WORK,
  });
  expect(login.code, login.err).toBe(0);
  here.work.keys.length = 0;
  return here;
}

describe('a profile that is named and has a key', () => {
  test('uses its own key and its own address, whatever the environment says, and one note says so', async () => {
    const { run, work, other } = await withProfile();
    const env = { GW_API_KEY: ENV, GW_BASE_URL: other.url };
    const got = await run(['models', '--profile', 'work', '--json'], { env });
    expect(got).toMatchObject({
      code: 0,
      err: 'profile work has a key of its own: its key and address are used, not GW_API_KEY and GW_BASE_URL\n',
    });
    expect([work.keys, other.keys]).toEqual([[`Bearer ${WORK}`], []]);
    const quiet = await run(['models', '--profile', 'work', '-q'], { env });
    expect(quiet.err).toBe('');
    const shown = await run(['config', 'list', '--profile', 'work'], { env });
    expect(shown.out).toMatch(new RegExp(`^base_url\t${work.url}\tprofile$`, 'm'));
    expect(shown.out).toMatch(/^key\t\*\*\*\tprofile$/m);
  });

  test('one of the two variables alone is passed over as well', async () => {
    const { run, work, other } = await withProfile();
    for (const env of [{ GW_API_KEY: ENV }, { GW_BASE_URL: other.url }]) {
      const got = await run(['models', '--profile', 'work'], { env });
      expect(got.code, got.err).toBe(0);
      expect(got.err).toContain(`not ${Object.keys(env)[0]}`);
    }
    expect([work.keys, other.keys]).toEqual([[`Bearer ${WORK}`, `Bearer ${WORK}`], []]);
  });

  test('is named by GW_PROFILE as by --profile', async () => {
    const { run, work, other } = await withProfile();
    const got = await run(['models'], {
      env: { GW_PROFILE: 'work', GW_API_KEY: ENV, GW_BASE_URL: other.url },
    });
    expect(got).toMatchObject({ code: 0, err: expect.stringContaining('has a key of its own') });
    expect([work.keys, other.keys]).toEqual([[`Bearer ${WORK}`], []]);
  });

  test('a typed address that is not its own is refused: nothing is sent', async () => {
    const { run, work, other } = await withProfile();
    const got = await run(['models', '--profile', 'work', '--base-url', other.url], {
      env: { GW_API_KEY: ENV },
    });
    expect(got).toMatchObject({ code: 3, out: '' });
    expect(got.err).toContain(`is for ${work.url}, not for ${other.url}`);
    expect([work.keys, other.keys]).toEqual([[], []]);
  });

  test('a profile in force that was not named, or has no key, leaves the environment in place', async () => {
    const { run, work, other } = await withProfile();
    const env = { GW_API_KEY: ENV, GW_BASE_URL: other.url };
    expect(await run(['models'], { env })).toMatchObject({ code: 0, err: '' });
    expect(await run(['profile', 'add', 'bare', '--base-url', work.url])).toMatchObject({ code: 0 });
    expect(await run(['models', '--profile', 'bare'], { env })).toMatchObject({ code: 0, err: '' });
    expect([work.keys, other.keys]).toEqual([[], [`Bearer ${ENV}`, `Bearer ${ENV}`]]);
  });
});

describe('GW_API_KEY_ORIGIN', () => {
  test('is the only origin that GW_API_KEY goes to; another is auth, both named', async () => {
    const { run, work, other } = await place();
    const env = { GW_API_KEY: ENV, GW_API_KEY_ORIGIN: `${work.url}/` };
    expect(await run(['models'], { env: { ...env, GW_BASE_URL: work.url } })).toMatchObject({ code: 0 });
    const refused = await run(['models', '--base-url', other.url], { env });
    expect(refused).toMatchObject({ code: 3, out: '' });
    expect(refused.err).toContain(`GW_API_KEY is for ${work.url} (GW_API_KEY_ORIGIN), not for ${other.url}`);
    expect([work.keys, other.keys]).toEqual([[`Bearer ${ENV}`], []]);
  });

  test('a text that is no address is no origin', async () => {
    const { run, work } = await place();
    const env = { GW_API_KEY: ENV, GW_API_KEY_ORIGIN: 'gateway', GW_BASE_URL: work.url };
    expect(await run(['models'], { env })).toMatchObject({ code: 3 });
    expect(work.keys).toEqual([]);
  });
});

describe('a key command', () => {
  const KEY_COMMAND = `printf '%s\\nmore\\n' ${WORK}; echo unlocked >&2`;

  test('is stored in place of a key, and its first line is the key each time one is needed', async () => {
    const { run, work, config } = await withProfile();
    const login = await run(cmd`login --profile work --base-url ${work.url} --key-command ${KEY_COMMAND}`);
    expect(login.code, login.err).toBe(0);
    expect(login.err).toContain('unlocked');
    expect(readFileSync(path.join(config, 'keys.json'), 'utf8')).not.toContain(WORK);
    const got = await run(['models', '--profile', 'work'], { env: { GW_API_KEY: ENV } });
    expect(got.code, got.err).toBe(0);
    expect(work.keys).toEqual([`Bearer ${WORK}`, `Bearer ${WORK}`]);
    expect((await run(['profile', 'list', '--json'])).out).toContain('"has_key":true');
    expect((await run(['config', 'list', '--profile', 'work'])).out).toMatch(/^key\t\*\*\*\tprofile$/m);
    const logout = await run(['logout', '--profile', 'work']);
    expect(logout).toMatchObject({ code: 4, err: expect.stringContaining('key_command --profile work') });
  });

  test('is not run where no key is needed, nor for what is only shown', async () => {
    const { run, world, work } = await place();
    const trace = path.join(world.dir, 'ran');
    await run(['profile', 'add', 'work', '--base-url', work.url]);
    await run(['config', 'set', 'key_command', `echo ran >> ${trace}; echo ${WORK}`, '--profile', 'work']);
    for (const argv of [
      ['config', 'list'],
      ['jobs', 'list'],
      ['profile', 'list'],
      ['chat', 'x', '--dry-run'],
      ['video', 'alpha', 'create', 'x', '--curl'],
    ]) {
      const got = await run([...argv, '--profile', 'work']);
      expect(got.code, got.err).toBe(0);
    }
    expect(statSync(trace, { throwIfNoEntry: false })).toBeUndefined();
    expect((await run(['models', '--profile', 'work'])).code).toBe(0);
    expect(readFileSync(trace, 'utf8')).toBe('ran\n');
  });

  test('is run again once where its key is refused, and what has a new one is sent once more', async () => {
    const { run, world } = await place();
    const file = path.join(world.dir, 'n');
    const keys: string[] = [];
    const gateway = await fakeGateway((_, __, headers) => {
      keys.push(String(headers.authorization));
      const isOld = /(1|4)$/.test(keys.at(-1) ?? '');
      return isOld ? { status: 401, body: {} } : { body: { object: 'list', data: [] } };
    });
    await run(['profile', 'add', 'work', '--base-url', gateway.url]);
    const command = `echo x >> ${file}; echo ${WORK}$(wc -l < ${file})`;
    await run(['config', 'set', 'key_command', command, '--profile', 'work']);
    expect((await run(['models', '--profile', 'work'])).code).toBe(0);
    expect(keys).toEqual([`Bearer ${WORK}1`, `Bearer ${WORK}2`]);
    await run(['config', 'set', 'key_command', `echo ${WORK}4`, '--profile', 'work']);
    expect((await run(['balance', '--profile', 'work'])).code).toBe(3);
    expect(keys).toHaveLength(3);
  });

  test('a create that its key and then a 429 refused was not sent: a kill in the wait leaves nothing open', async () => {
    const { run, world } = await place();
    const file = path.join(world.dir, 'n');
    const statuses = [401, 429, 402];
    const headers = { 'retry-after': '2' };
    const gateway = await fakeGateway(() => ({ status: statuses.shift() ?? 402, headers, body: {} }));
    await run(['profile', 'add', 'work', '--base-url', gateway.url]);
    const command = `echo x >> ${file}; echo ${WORK}$(wc -l < ${file})`;
    await run(['config', 'set', 'key_command', command, '--profile', 'work']);
    const sleep = world.clock.sleep.bind(world.clock);
    const states: (string | undefined)[] = [];
    world.clock.sleep = async (ms, signal) => {
      states.push((await ledgerOf(world).find())[0]?.state);
      return sleep(ms, signal);
    };
    await run(['video', 'alpha', 'create', 'x', '--profile', 'work']);
    expect(statuses).toEqual([]);
    expect(states).toContain('intent');
    expect(states).not.toContain('sent');
  });

  test("its key goes to its profile's address only", async () => {
    const { run, work, other } = await place();
    await run(['profile', 'add', 'work', '--base-url', work.url]);
    await run(['config', 'set', 'key_command', `echo ${WORK}`, '--profile', 'work']);
    const got = await run(['models', '--profile', 'work', '--base-url', other.url]);
    expect(got).toMatchObject({ code: 3 });
    expect(got.err).toContain(`is for ${work.url}, not for ${other.url}`);
    expect(other.keys).toEqual([]);
  });

  test.each([
    ['that fails', `echo ${WORK}; exit 4`, 'ended with exit code 4'],
    ['that says nothing', 'true', 'what the key command printed holds no key'],
    ['that is not there', 'no-such-program-of-gw', 'ended with exit code 127'],
    ['that prints no key', 'echo "two words"', 'with a blank in it'],
  ])('%s is auth', async (_, command, words) => {
    const { run, work } = await place();
    const got = await run(['login', '--base-url', work.url, '--key-command', command]);
    expect(got).toMatchObject({ code: 3, out: '' });
    expect(got.err).toContain(words);
    expect(got.err).not.toContain(WORK);
    expect(work.requests).toEqual([]);
  });

  test('ends at its limit, with what it left running, and at an interrupt', async () => {
    for (const way of ['limit', 'signal'] as const) {
      const { world } = await place();
      const pid = path.join(world.dir, 'pid');
      // The background process holds no pipe, so only a signal can end it.
      const command = `sleep 300 >/dev/null 2>&1 & echo $! > ${pid}; wait`;
      let interrupt: (signal: 'SIGINT') => void = () => {};
      const host = testHost(
        {},
        {
          onSignal: (heard) => {
            interrupt = heard;
            return () => {};
          },
        },
      );
      const ended = runKeyCommand(command, host, way === 'limit' ? 1500 : 60_000).catch((error) => error);
      await expect.poll(() => existsSync(pid) && readFileSync(pid, 'utf8')).toMatch(/^\d+\n$/);
      if (way === 'signal') interrupt('SIGINT');
      expect(await ended).toMatchObject(
        way === 'limit'
          ? { kind: 'auth', message: 'the key command gave no key within 1.5 s' }
          : { name: 'Interrupted', exitCode: 130 },
      );
      await expect.poll(() => isRunning(Number(readFileSync(pid, 'utf8')))).toBe(false);
    }
  });

  test('is run by cmd.exe on Windows, where "$GW_FILE" means what it means elsewhere, and all of it ends', async () => {
    const { world } = await place();
    const at = (name: string, text: string) => {
      writeFileSync(path.join(world.dir, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
      return path.join(world.dir, name);
    };
    const ended = path.join(world.dir, 'ended');
    at('taskkill', `echo "$*" > ${ended}; kill $2`);
    const host = (script: string) =>
      testHost(
        { ComSpec: at('cmd.exe', script), PATH: `${world.dir}:${process.env.PATH}` },
        { platform: 'win32' },
      );
    const own = { what: 'it', setting: 'upload_command', gives: 'address', kind: 'usage', longestMs: 60_000 };
    const said = (command: string) => firstLineOf({ ...own, command } as OwnCommand, host('echo "$*"'));
    expect(await said(`up "$GW_FILE" $${'{GW_FILE}'} %HOME%`)).toBe(
      '/d /v:on /s /c "up "!GW_FILE!" !GW_FILE! %HOME%"',
    );
    expect(await said('up --loud!')).toBe('/d /s /c "up --loud!"');
    await refusal(() => runKeyCommand('x', host('exec sleep 60'), 300));
    await expect
      .poll(() => existsSync(ended) && readFileSync(ended, 'utf8'))
      .toMatch(/^\/pid \d+ \/t \/f\n$/);
  });

  test('where it was only typed, no setting is named that would show it', async () => {
    const { run, work } = await place();
    const { code, err } = await run(['login', '--base-url', work.url, '--key-command', 'exit 3']);
    expect(code).toBe(3);
    expect(err).toMatch(/^hint: run it by hand to see why$/m);
  });

  test.each([
    ['it gave a key', 'sleep 300 >/dev/null 2>&1', `echo ${WORK}`],
    // The key comes once the shell has ended.
    [
      'that gives the key',
      `(while kill -0 $$; do sleep 0.05; done; echo ${WORK}; exec sleep 300) 2>/dev/null`,
      ':',
    ],
  ])('leaves what it started in the background where %s', async (_, background, then) => {
    const { world } = await place();
    const pid = path.join(world.dir, 'pid');
    const command = `${background} & echo $! > ${pid}; ${then}`;
    expect(await runKeyCommand(command, testHost())).toBe(WORK);
    const left = Number(readFileSync(pid, 'utf8'));
    expect(isRunning(left)).toBe(true);
    process.kill(left);
  });

  test('finds a named environment: no secret of gw, and what children_env adds', async () => {
    const { run, work } = await place();
    const env = {
      GW_API_KEY: ENV,
      GW_REDIS_URL: 'redis://:secret@h',
      MINE: 'mine',
      OTHER: 'other',
      LC_ALL: 'C',
    };
    const command = 'echo "key-$GW_API_KEY$GW_REDIS_URL-$MINE-$OTHER-$LC_ALL"';
    const got = await run(['login', '--base-url', work.url, '--key-command', command], { env });
    expect(got.code, got.err).toBe(0);
    expect(await run(['config', 'set', 'children_env', 'MINE, GNUPGHOME'])).toMatchObject({ code: 0 });
    await run(['models'], { env: { ...env, GW_API_KEY: '' } });
    expect(work.keys).toEqual(['Bearer key----C', 'Bearer key--mine--C']);
    const refused = await run(['config', 'set', 'children_env', 'PATH,GW_REDIS_URL']);
    expect(refused).toMatchObject({
      code: 2,
      err: expect.stringContaining('no program that gw starts gets it'),
    });
  });
});

describe('login', () => {
  /** A terminal that types each line when gw starts to read it. */
  const answering = (lines: readonly string[]) => {
    const left = [...lines];
    const stdin = Object.assign(new PassThrough(), { isTTY: true });
    stdin.on('resume', () => {
      const line = left.shift();
      if (line !== undefined) setImmediate(() => stdin.write(`${line}\n`));
    });
    return stdin;
  };

  test('asks for the address where none is known, and for the key', async () => {
    const { run, work, config } = await place();
    const got = await run(['login'], { terminal: true, stdin: answering([work.url, WORK]) });
    expect(got.code, got.err).toBe(0);
    expect(got.err).toContain('Address of the gateway');
    expect(got.err).toContain(`API key for ${work.url}`);
    expect(got.err + got.out).not.toContain(WORK);
    expect(work.keys).toEqual([`Bearer ${WORK}`]);
    expect(JSON.parse(readFileSync(path.join(config, 'config.json'), 'utf8')).profiles.default).toEqual({
      base_url: work.url,
    });
  });

  test('an empty line is no key', async () => {
    const { run, work } = await place();
    const got = await run(['login', '--base-url', work.url], { terminal: true, stdin: answering(['']) });
    expect(got).toMatchObject({ code: 3, err: expect.stringContaining('the input holds no key') });
    expect(work.requests).toEqual([]);
  });

  test('an address that cannot be is refused before a key is asked for', async () => {
    const { run, work } = await place();
    const got = await run(['login'], { terminal: true, stdin: answering([`${work.url}/v1`]) });
    expect(got).toMatchObject({ code: 2, err: expect.stringContaining('ends in /v1') });
    expect(work.requests).toEqual([]);
  });

  test('two ways to give the key are one too many', async () => {
    const { run, work } = await place();
    const got = await run(['login', '--base-url', work.url, '--with-key', '--key-command', 'true']);
    expect(got).toMatchObject({ code: 2, err: expect.stringContaining('--with-key and --key-command') });
  });

  test('without an address off a terminal: the ways to give one', async () => {
    const { run } = await place();
    expect(await run(['login', '--with-key'], { stdin: WORK })).toMatchObject({
      code: 3,
      err: expect.stringContaining('no gateway is configured'),
    });
  });
});

describe.skipIf(process.platform === 'win32')('owners and modes', () => {
  const CONFIG = '{"version":1,"profiles":{}}';

  test('a configuration that others may write to is refused with the chmod to run', async () => {
    const { run, config } = await place();
    mkdirSync(config, { recursive: true, mode: 0o700 });
    const file = path.join(config, 'config.json');
    writeFileSync(file, CONFIG);
    for (const [at, mode] of [
      [file, 0o666],
      [file, 0o620],
      [config, 0o777],
      [config, 0o730],
    ] as const) {
      const before = statSync(at).mode;
      chmodSync(at, mode);
      for (const argv of [
        ['config', 'list'],
        ['config', 'set', 'retries', '1'],
      ]) {
        const got = await run(argv);
        expect(got).toMatchObject({ code: 2, out: '' });
        expect(got.err).toContain(`may be written by other users (mode ${mode.toString(8)})`);
        expect(got.err).toContain(`hint: run: chmod go-w ${at}\n`);
      }
      chmodSync(at, before);
    }
    expect(readFileSync(file, 'utf8')).toBe(CONFIG);
    expect(await run(['config', 'list'])).toMatchObject({ code: 0 });
  });

  test('one that another user owns, with the chown', { tags: ['root'] }, async () => {
    const { run, config } = await withProfile();
    for (const [at, kind] of [
      [path.join(config, 'config.json'), 2],
      [path.join(config, 'keys.json'), 3],
      [config, 2],
    ] as const) {
      chownSync(at, 12_345, 12_345);
      const got = await run(['models', '--profile', 'work']);
      expect(got).toMatchObject({ code: kind, out: '' });
      expect(got.err).toContain('belongs to another user (uid 12345)');
      expect(got.err).toMatch(/hint: run: chown \S+ /);
      chownSync(at, 0, 0);
    }
    expect(await run(['models', '--profile', 'work'])).toMatchObject({ code: 0 });
  });

  test.each([
    ['a state directory', ''],
    ['a ledger', 'ledger'],
  ])('%s that others may write to: no paid job is sent, no session begun', async (_, name) => {
    const { world } = await place();
    const state = path.join(world.dir, 'state');
    const open = path.join(state, name);
    mkdirSync(open, { recursive: true, mode: 0o700 });
    chmodSync(open, 0o777);
    for (const argv of [
      ['video', 'alpha', 'create', 'x'],
      ['chat', 'x', '--session', 's'],
      ['jobs', 'list'],
    ]) {
      const got = await world.gw(argv, { env: { GW_STATE_DIR: state } });
      expect(got, argv.join(' ')).toMatchObject({ code: 2, out: '' });
      expect(got.err).toContain(`chmod go-w ${open}`);
    }
    expect(world.requests()).toEqual([]);
  });
});

describe('settings of the environment', () => {
  test('GW_INTERVAL is the time between two looks', async () => {
    const { world } = await place();
    await world.ok(['video', 'alpha', 'create', 'a fox', '--wait'], {
      env: { GW_INTERVAL: '7s' },
    });
    expect(world.clock.slept).toContain(7000);
    expect(await world.gw(['jobs', 'list'], { env: { GW_INTERVAL: 'soon' } })).toMatchObject({ code: 0 });
    const refused = await world.gw(['models'], { env: { GW_INTERVAL: 'soon' } });
    expect(refused).toMatchObject({ code: 2, err: expect.stringContaining('GW_INTERVAL "soon"') });
  });

  test('GW_OUT is where outputs go', async () => {
    const { world } = await place();
    await world.ok(['video', 'alpha', 'create', 'a fox', '--wait'], {
      env: { GW_OUT: 'clips/' },
    });
    expect(Object.keys(world.files())).toEqual([expect.stringMatching(/^clips\/vt-.*\.mp4$/)]);
    for (const words of [['video', 'alpha'], ['image']]) {
      const run = await world.gw([...words, 'create', 'a fox'], { env: { GW_OUT: '/dev/null' } });
      expect(run).toMatchObject({ code: 2, err: expect.stringMatching(/^error: GW_OUT \/dev\/null: /) });
    }
    rmSync(world.cwd, { recursive: true });
    writeFileSync(world.cwd, '');
    const { err } = await world.gw(['video', 'alpha', 'create', 'a fox']);
    expect(err).toMatch(/^error: the default of --out /);
  });

  test.each([
    ['1', true],
    ['on', true],
    ['0', false],
    ['off', false],
    ['no', false],
    // As with CI, any other word means on.
    ['2', true],
  ])('GW_VERBOSE=%s', async (value, isOn) => {
    const { world } = await place();
    const env = { GW_VERBOSE: value };
    expect((await world.ok(['balance'], { env })).err.includes('> GET ')).toBe(isOn);
    const listed = await world.ok(['config', 'list', '--json'], { env });
    expect(JSON.parse(listed.out)).toContainEqual({ name: 'verbose', value: isOn, source: 'environment' });
  });

  test('native messages need an address and a key, and nothing more', async () => {
    const { world } = await place();
    const asked = ['chat', 'x', '--api', 'messages', '-m', 'sandbox-chat-1'];
    expect(await world.gw(asked)).toMatchObject({ code: 0 });
    // gw looks the model up once and remembers it.
    const sent = () => world.sandbox.requests.filter(({ method }) => method === 'POST');
    expect(sent()[0]?.headers['provider-version']).toBe('2023-06-01');
    await world.gw(asked, { env: { GW_PROVIDER_VERSION: '2026-01-31' } });
    expect(sent()[1]?.headers['provider-version']).toBe('2026-01-31');
    const refused = await world.gw(asked, { env: { GW_PROVIDER_VERSION: '2026-01-31\r\nx: y' } });
    expect(refused).toMatchObject({ code: 2, err: expect.stringContaining('GW_PROVIDER_VERSION') });
    expect(sent()).toHaveLength(2);
  });
});
