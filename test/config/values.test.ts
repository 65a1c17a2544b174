import { describe, expect, it } from 'vitest';
import { keyIdOf } from '../../src/config/api-key.ts';
import { originOf, parseBaseUrl } from '../../src/config/base-url.ts';
import { cacheDir, configDir, stateDir } from '../../src/config/dirs.ts';
import { environmentVariables, readSwitch, readVariable } from '../../src/config/environment.ts';
import { parseProfileName, parseStoredProfileName } from '../../src/config/profile-name.ts';
import { parseDuration, settingsTable } from '../../src/config/table.ts';
import { isLoopback } from '../../src/loopback.ts';
import { refusal } from './fixtures.ts';

const parseRetries = settingsTable.retries.parse;

describe('durations', () => {
  it.each([
    ['500ms', 500],
    ['30s', 30_000],
    ['10m', 600_000],
    ['2h', 7_200_000],
    ['1.5s', 1500],
    ['1d', 86_400_000],
    ['1w', 604_800_000],
    ['596h', 2_145_600_000],
  ])('%s', (text, ms) => {
    expect(parseDuration(text, '--timeout')).toBe(ms);
  });
  it('longer than a timer only where a span is meant', async () => {
    expect(parseDuration('5w', '--since', { span: true })).toBe(3_024_000_000);
    await refusal(() => parseDuration('5w', '--timeout'));
  });
  it.each([
    '0',
    '0s',
    '0.0001ms',
    '-5',
    '-5s',
    '1y',
    'NaN',
    '',
    ' 1s',
    '1 s',
    '60',
    '1e1s',
    '0x1s',
    '1h30m',
    '597h',
    `${'9'.repeat(400)}s`,
    'Infinitys',
    '1S',
  ])('refuses %j, naming the flag', async (text) => {
    const error = await refusal(() => parseDuration(text, '--timeout'));
    expect(error.kind).toBe('usage');
    expect(error.message).toContain('--timeout');
    expect(error.facts.hint).toBeTruthy();
  });
});

it('a key is known by the start of its SHA-256, which stands in every ledger', () => {
  expect(keyIdOf('sk-abcdefghijklmnop')).toBe('32f4cf588c77');
});

describe('base URLs', () => {
  it.each([
    ['https://h.example', 'https://h.example'],
    ['https://h.example/', 'https://h.example'],
    ['https://h.example/api/', 'https://h.example/api'],
    ['https://h.example//api//v//', 'https://h.example/api/v'],
    ['HTTPS://H.Example:443/a', 'https://h.example/a'],
    ['https://h.example:8443', 'https://h.example:8443'],
    ['http://127.0.0.1:8080', 'http://127.0.0.1:8080'],
    ['http://127.9.8.7', 'http://127.9.8.7'],
    ['http://[::1]:80/x', 'http://[::1]/x'],
    ['http://localhost:3000/', 'http://localhost:3000'],
  ])('%s', (text, expected) => {
    expect(parseBaseUrl(text, '--base-url')).toBe(expected);
  });
  it.each([
    ['gateway.example', 'no scheme'],
    ['localhost:8080', 'no scheme'],
    ['//gateway.example', 'no scheme'],
    ['', 'no scheme'],
    ['ftp://h.example', 'ftp://'],
    ['file:///etc/passwd', 'file://'],
    ['https://user:geheim@h.example', 'user name or password'],
    ['https:///user@h.example', 'user name or password'],
    ['https://@h.example', 'user name or password'],
    ['https://h.example?key=geheim', 'query'],
    ['https://h.example/#geheim', 'query'],
    ['https://h.example/v1', 'ends in /v1'],
    ['https://h.example/api/v1/', 'ends in /v1'],
    ['https://h.example/V1', 'ends in /v1'],
    ['https://', 'not a usable address'],
    ['https://h:99999', 'not a usable address'],
    ['https://h.example/\nx', 'control character'],
    ['https://good.example\\@evil.example', 'backslash'],
    ['http://h.example', 'plain http://'],
    ['http://127.0.0.1.evil.example', 'plain http://'],
    ['http://localhost.evil.example', 'plain http://'],
    ['http://0.0.0.0', 'plain http://'],
  ])('refuses %j', async (text, words) => {
    const error = await refusal(() => parseBaseUrl(text, '--base-url'));
    expect(error).toMatchObject({ kind: 'usage', message: expect.stringContaining(words) });
    expect(error.message).toContain('--base-url');
    expect(error.message + error.facts.hint).not.toContain('geheim');
  });
  it('allows plain http elsewhere when told so', () => {
    expect(parseBaseUrl('http://h.example/', '--base-url', { insecureHttp: true })).toBe('http://h.example');
    expect(isLoopback('h.example')).toBe(false);
    expect(originOf('https://h.example:444/api')).toBe('https://h.example:444');
  });
});

describe('names and numbers', () => {
  it.each(['a', 'default', '0', 'my.work-profile_2', 'x'.repeat(64), 'constructor'])(
    '%s names a profile',
    (name) => {
      expect(parseStoredProfileName(name, '--profile')).toBe(name);
    },
  );
  it.each(['', 'A', '-a', '.a', '../x', 'a b', 'x'.repeat(65), '__proto__', 'ä', 'a\n'])(
    '%j does not',
    async (name) => {
      expect(await refusal(() => parseProfileName(name, '--profile'))).toMatchObject({ kind: 'usage' });
    },
  );
  it('the sandbox can be chosen and not stored', async () => {
    expect(parseProfileName('sandbox', '--profile')).toBe('sandbox');
    expect((await refusal(() => parseStoredProfileName('sandbox', '--profile'))).message).toContain(
      'built-in',
    );
  });
  it.each([
    ['0', 0],
    ['4', 4],
    ['100', 100],
  ])('%s retries', (value, number) => {
    expect(parseRetries(value, '--retries')).toBe(number);
  });
  it.each(['-1', '1.5', 'many', '', '101', '1e1', 'NaN'])('refuses %s retries', async (value) => {
    expect((await refusal(() => parseRetries(value, '--retries'))).message).toContain('--retries');
  });
});

describe('directories', () => {
  const linux = { cwd: '/home/me', platform: 'linux' as const, homeDir: '/home/u' };
  it('own variable, then XDG, then home', () => {
    expect(configDir({ ...linux, env: { GW_CONFIG_DIR: '/c', XDG_CONFIG_HOME: '/x' } })).toBe('/c');
    expect(configDir({ ...linux, env: { GW_CONFIG_DIR: 'c' } })).toBe('/home/me/c');
    expect(configDir({ ...linux, env: { GW_CONFIG_DIR: '', XDG_CONFIG_HOME: '/x' } })).toBe('/x/gw');
    expect(configDir({ ...linux, env: { XDG_CONFIG_HOME: 'relative' } })).toBe('/home/u/.config/gw');
    expect(stateDir({ ...linux, env: { GW_STATE_DIR: '/s' } })).toBe('/s');
    expect(stateDir({ ...linux, env: { XDG_STATE_HOME: '/x' } })).toBe('/x/gw');
    expect(stateDir({ ...linux, env: {} })).toBe('/home/u/.local/state/gw');
    expect(cacheDir({ ...linux, env: {} })).toBe('/home/u/.cache/gw');
  });
  it('on Windows', () => {
    const windows = { cwd: 'C:\\work', platform: 'win32' as const, homeDir: 'C:\\Users\\u' };
    const env = { APPDATA: 'D:\\Roaming', LOCALAPPDATA: 'D:\\Local' };
    expect(configDir({ ...windows, env })).toBe('D:\\Local\\gw\\config');
    expect(configDir({ ...windows, env: {} })).toBe('C:\\Users\\u\\AppData\\Local\\gw\\config');
    // gw uses the files that an older gw left in the roaming profile, until there are others.
    const left = (...files: string[]) =>
      configDir({ ...windows, env }, (file) => files.includes(String(file)));
    const former = 'D:\\Roaming\\gw\\config.json';
    expect(left(former)).toBe('D:\\Roaming\\gw');
    expect(left(former, 'D:\\Local\\gw\\config')).toBe('D:\\Local\\gw\\config');
    expect(stateDir({ ...windows, env: { LOCALAPPDATA: 'D:\\Local' } })).toBe('D:\\Local\\gw\\state');
    expect(cacheDir({ ...windows, env: { LOCALAPPDATA: 'D:\\Local' } })).toBe('D:\\Local\\gw\\cache');
  });
  it.each([undefined, '', 'relative/home'])(
    'a home of %j is refused with the variable to set',
    async (homeDir) => {
      const host = { ...linux, homeDir, env: {} };
      expect((await refusal(() => stateDir(host))).facts.hint).toContain('GW_STATE_DIR');
      expect((await refusal(() => configDir(host))).facts.hint).toContain('GW_CONFIG_DIR');
      expect(stateDir({ ...host, env: { GW_STATE_DIR: '/s' } })).toBe('/s');
    },
  );
});

describe('the environment', () => {
  it('has a meaning for every variable, and an empty one counts as not set', () => {
    for (const meaning of Object.values(environmentVariables)) expect(meaning.length).toBeGreaterThan(10);
    expect(readVariable({ GW_PROFILE: '' }, 'GW_PROFILE')).toBeUndefined();
  });
  it('reads switches', async () => {
    expect(readSwitch({ GW_LEDGER_PROMPTS: 'OFF' }, 'GW_LEDGER_PROMPTS')).toBe(false);
    expect(readSwitch({ GW_LEDGER_PROMPTS: '1' }, 'GW_LEDGER_PROMPTS')).toBe(true);
    expect(readSwitch({}, 'GW_LEDGER_PROMPTS')).toBeUndefined();
    expect(
      (await refusal(() => readSwitch({ GW_LEDGER_PROMPTS: 'maybe' }, 'GW_LEDGER_PROMPTS'))).message,
    ).toContain('GW_LEDGER_PROMPTS');
  });
});
