import * as fs from 'node:fs';
import { describe, expect, it } from 'vitest';
import { storeKey } from '../../src/config/keys.ts';
import { resolveSettings, type SettingsFlags } from '../../src/config/settings.ts';
import { refusal, testHost, writeConfig } from './fixtures.ts';

const canary = 'sk-canary-0123456789';
const work = {
  base_url: 'https://work.example/',
  timeout: '7s',
  retries: 1,
  account: 'enterprise',
  models: { alpha: 'm-work' },
};

function setUp(
  flags: SettingsFlags = {},
  env: Record<string, string> = {},
  config: object | undefined = undefined,
) {
  const host = testHost(env);
  if (config) writeConfig(host, 'config.json', JSON.stringify({ version: 1, ...config }));
  return { host, resolve: () => resolveSettings({ flags, host }) };
}

describe('precedence', () => {
  const config = { current: 'work', profiles: { work, home: {} } };
  const env = { GW_BASE_URL: 'https://env.example', GW_TIMEOUT: '8s', GW_RETRIES: '2' };
  const flags = { baseUrl: 'https://flag.example', timeout: '9s', retries: '3' };
  it.each([
    ['default', {}, {}, undefined, undefined, 60_000, 4],
    ['profile', {}, {}, config, 'https://work.example', 7000, 1],
    ['environment', {}, env, config, 'https://env.example', 8000, 2],
    ['flag', flags, env, config, 'https://flag.example', 9000, 3],
  ] as const)('%s', (source, givenFlags, givenEnv, stored, url, timeoutMs, retries) => {
    const settings = setUp(givenFlags, givenEnv, stored).resolve();
    expect(settings.baseUrl).toEqual({ value: url, source });
    expect(settings.timeoutMs).toEqual({ value: timeoutMs, source });
    expect(settings.retries).toEqual({ value: retries, source });
  });
  it('of the profile itself', () => {
    const both = { current: 'work', profiles: { work, home: {}, third: {} } };
    expect(setUp().resolve().profile).toEqual({ value: 'default', source: 'default' });
    expect(setUp({}, {}, both).resolve().profile).toEqual({ value: 'work', source: 'profile' });
    expect(setUp({}, { GW_PROFILE: 'home' }, both).resolve().profile).toEqual({
      value: 'home',
      source: 'environment',
    });
    expect(setUp({ profile: 'third' }, { GW_PROFILE: 'home' }, both).resolve().profile).toEqual({
      value: 'third',
      source: 'flag',
    });
  });
  it('of models, account and verbosity', () => {
    const settings = setUp({}, { GW_VERBOSE: '1' }, config).resolve();
    expect(settings.models.alpha).toEqual({ value: 'm-work', source: 'profile' });
    expect(settings.models.gamma).toEqual({ value: 'gamma-H3', source: 'default' });
    expect(settings.account).toEqual({ value: 'enterprise', source: 'profile' });
    expect(settings.verbose.source).toBe('environment');
    expect(setUp({ verbose: true }).resolve().verbose.source).toBe('flag');
  });
});

it('unusable values name where they stand', async () => {
  const cases: [SettingsFlags, Record<string, string>, object | undefined, string][] = [
    [{ timeout: '0' }, {}, undefined, '--timeout'],
    [{ retries: 'x' }, {}, undefined, '--retries'],
    [{ baseUrl: 'h' }, {}, undefined, '--base-url'],
    [{ profile: 'A' }, {}, undefined, '--profile'],
    [{ profile: 'nope' }, {}, undefined, 'there is no profile nope'],
    [{ profile: 'constructor' }, {}, undefined, 'there is no profile constructor'],
    [{}, { GW_TIMEOUT: '1y' }, undefined, 'GW_TIMEOUT'],
    [{}, { GW_RETRIES: '-1' }, undefined, 'GW_RETRIES'],
    [{}, { GW_OUT: '{nope}' }, undefined, 'GW_OUT: {nope} is not a placeholder'],
    [{}, { GW_BASE_URL: 'ftp://h' }, undefined, 'GW_BASE_URL'],
    [{}, { GW_PROFILE: '../x' }, undefined, 'GW_PROFILE'],
    [{}, {}, { profiles: { default: { base_url: 'http://h.example' } } }, 'base_url of profile default in'],
    [{}, {}, { profiles: { default: { timeout: '5' } } }, 'timeout of profile default in'],
    [{}, {}, { current: 'gone', profiles: {} }, 'there is no profile gone'],
    [{ sandbox: true, profile: 'work' }, {}, undefined, '--sandbox and --profile work'],
    [{ sandbox: true, baseUrl: 'https://h.example' }, {}, undefined, '--base-url'],
  ];
  for (const [flags, env, config, words] of cases) {
    expect(await refusal(setUp(flags, env, config).resolve)).toMatchObject({
      kind: 'usage',
      message: expect.stringContaining(words),
    });
  }
});

describe('the gateway and its key', () => {
  const baseUrl = 'https://h.example';
  it('none configured names every way to give one', async () => {
    const settings = setUp().resolve();
    for (const act of [() => settings.gatewayUrl(), () => settings.key()]) {
      const error = await refusal(act);
      expect(error.kind).toBe('auth');
      for (const way of ['--base-url', 'GW_BASE_URL', 'gw login', '--sandbox'])
        expect(error.facts.hint).toContain(way);
    }
  });
  it('no key names every way to give one, and only when it is asked for', async () => {
    const settings = setUp({ baseUrl }).resolve();
    expect(settings.gatewayUrl()).toBe(baseUrl);
    const error = await refusal(() => settings.key());
    expect(error.kind).toBe('auth');
    for (const way of ['GW_API_KEY', '--api-key-file', 'gw login']) expect(error.facts.hint).toContain(way);
  });
  it('file over environment over store', async () => {
    const { host } = setUp();
    await storeKey(host, 'default', baseUrl, 'stored-key');
    const file = writeConfig(host, 'key', 'file-key\n');
    const key = (flags: SettingsFlags, env = {}) => {
      const settings = resolveSettings({ flags: { baseUrl, ...flags }, host: { ...host, env } });
      return Promise.all([settings.key(), settings.keySource()]);
    };
    expect(await key({})).toEqual(['stored-key', 'profile']);
    expect(await key({}, { GW_API_KEY: '' })).toEqual(['stored-key', 'profile']);
    expect(await key({}, { GW_API_KEY: 'env-key' })).toEqual(['env-key', 'environment']);
    expect(await key({ apiKeyFile: file }, { GW_API_KEY: 'env-key' })).toEqual(['file-key', 'flag']);
    expect(await key({ baseUrl: 'https://else.example' }, { GW_API_KEY: 'env-key' })).toEqual([
      'env-key',
      'environment',
    ]);
    expect((await refusal(() => key({ baseUrl: 'https://else.example' }))).kind).toBe('auth');
    expect((await refusal(() => key({}, { GW_API_KEY: `${canary}\n` }))).message).toBe(
      'GW_API_KEY holds a key with a newline in it (length 21)',
    );
  });
  it('the sandbox has neither, whatever the environment says', async () => {
    for (const [flags, env] of [
      [{ sandbox: true }, {}],
      [{ profile: 'sandbox' }, {}],
      [{}, { GW_PROFILE: 'sandbox' }],
    ] as const) {
      const settings = setUp(flags, { ...env, GW_API_KEY: canary, GW_BASE_URL: baseUrl }).resolve();
      expect(settings).toMatchObject({
        sandbox: true,
        profile: { value: 'sandbox' },
        baseUrl: { value: undefined },
      });
      // The key is new in each run, so no other program can use this run's gateway.
      expect(await settings.key()).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    }
  });
  it('works without a home where flags and environment say enough', async () => {
    const host = testHost({ GW_API_KEY: canary }, { homeDir: undefined });
    const settings = resolveSettings({ flags: { baseUrl }, host });
    expect(await settings.key()).toBe(canary);
  });
  it('no file of the working directory sets either', async () => {
    const host = testHost();
    for (const name of ['config.json', 'keys.json', '.env', '.gwrc', 'gw.json']) {
      fs.writeFileSync(`${host.cwd}/${name}`, JSON.stringify({ version: 1, profiles: { default: work } }));
    }
    expect(resolveSettings({ flags: {}, host }).baseUrl).toEqual({ value: undefined, source: 'default' });
  });
});

it('the table shows every setting with its source, and never the key', () => {
  const { resolve } = setUp({ retries: 9 }, { GW_API_KEY: canary }, { current: 'work', profiles: { work } });
  const rows = resolve().rows;
  const source = Object.fromEntries(rows.map((row) => [row.name, row.source]));
  expect(source).toMatchObject({
    profile: 'profile',
    base_url: 'profile',
    key: 'environment',
    retries: 'flag',
    out: 'not set',
    'models.chat': 'default',
  });
  expect(rows.find((row) => row.name === 'timeout')?.value).toBe('7s');
  expect(JSON.stringify(rows)).not.toContain('canary');
});

describe('only what is stored', () => {
  it('a key of the environment is not one, and the message does not ask for one', async () => {
    const { host, resolve } = setUp(
      { profile: 'work', storedOnly: true },
      { GW_API_KEY: canary, GW_BASE_URL: 'https://env.example' },
      { profiles: { work } },
    );
    const settings = resolve();
    expect(settings.gatewayUrl()).toBe('https://work.example');
    expect(settings.keySource()).toBeUndefined();
    await expect(settings.key()).rejects.toMatchObject({
      kind: 'auth',
      message: 'there is no stored key of profile work for https://work.example',
      facts: { hint: expect.stringContaining('gw login --profile work') },
    });
    await storeKey(host, 'work', 'https://work.example', 'sk-stored-0123456789');
    expect(resolve().keySource()).toBe('profile');
  });
});
