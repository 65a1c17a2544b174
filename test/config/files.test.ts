import * as fs from 'node:fs';
import * as path from 'node:path';
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { updateConfig, withSetting } from '../../src/config/change-config.ts';
import { readConfig } from '../../src/config/config-file.ts';
import { keyOrigin, readKey, readKeyFile, removeKey, storeKey } from '../../src/config/keys.ts';
import { hostOf } from '../../src/disk/lock-file.ts';
import { refuseUntrusted } from '../../src/disk/trust.ts';
import { mountTmpfs } from '../helpers/tmpfs.ts';
import { bundle, runNode } from '../ledger/bundle.ts';
import { refusal, testHost, writeConfig } from './fixtures.ts';

const canary = 'sk-canary-0123456789';
const origin = 'https://h.example';

describe('the configuration file', () => {
  it('is empty where it is missing, and comes back as it was written, private', async () => {
    const host = testHost();
    expect(readConfig(host)).toEqual({ version: 1, profiles: {} });
    await updateConfig(host, (config) => ({
      ...config,
      current: 'work',
      profiles: { work: { base_url: origin } },
    }));
    expect(readConfig(host)).toEqual({
      version: 1,
      current: 'work',
      profiles: { work: { base_url: origin } },
    });
    expect(fs.statSync(path.join(host.config, 'config.json')).mode & 0o777).toBe(0o600);
    expect(fs.statSync(host.config).mode & 0o777).toBe(0o700);
    expect(fs.readdirSync(host.config)).toEqual(['config.json']);
  });

  it.each([
    ['', 'is empty'],
    ['{"version":1', 'not valid JSON'],
    ['[]', 'not valid at'],
    ['{"version":1}', 'profiles'],
    ['{"version":2,"profiles":{}}', 'newer gw'],
    ['{"version":1,"profiles":{},"key":"x"}', 'key'],
    ['{"version":1,"profiles":{"a":{"api_key":"x"}}}', 'profiles.a'],
    ['{"version":1,"profiles":{"a":{"retries":"4"}}}', 'profiles.a.retries: it is no whole number'],
    ['{"version":1,"profiles":{"a":{"account":"big"}}}', 'profiles.a.account'],
    ['{"version":1,"profiles":{"sandbox":{}}}', 'profiles'],
    ['{"version":1,"profiles":{"A B":{}}}', 'profiles'],
    ['{"version":1,"current":"../x","profiles":{}}', 'current'],
  ])('%s is refused with its path and left alone', async (text, words) => {
    const host = testHost();
    const file = writeConfig(host, 'config.json', text);
    for (const act of [() => readConfig(host), () => updateConfig(host, (config) => config)]) {
      const error = await refusal(act);
      expect(error).toMatchObject({ kind: 'usage', message: expect.stringContaining(words) });
      expect(error.message).toContain(file);
    }
    expect(fs.readFileSync(file, 'utf8')).toBe(text);
    expect(fs.readdirSync(host.config)).toEqual(['config.json']);
  });

  it('is read with the byte order mark that an editor has put before it', async () => {
    const host = testHost();
    writeConfig(host, 'config.json', '\uFEFF{"version":1,"current":"work","profiles":{"work":{}}}');
    expect(readConfig(host).current).toBe('work');
    await updateConfig(host, (config) => ({ ...config, profiles: {} }));
    expect(readConfig(host).profiles).toEqual({});
  });

  it('a directory, or a file in the place of its directory, is named', async () => {
    const host = testHost();
    fs.mkdirSync(path.join(host.config, 'config.json'), { recursive: true });
    expect((await refusal(() => readConfig(host))).message).toContain('is a directory');
    const other = testHost();
    fs.writeFileSync(path.join(other.cwd, '.config'), '');
    expect((await refusal(() => updateConfig(other, (config) => config))).message).toContain('.config');
  });

  it('a link to it stays a link', async () => {
    const host = testHost();
    const real = path.join(host.cwd, 'dotfiles.json');
    fs.writeFileSync(real, '{"version":1,"profiles":{}}');
    fs.mkdirSync(host.config, { recursive: true });
    fs.symlinkSync(real, path.join(host.config, 'config.json'));
    await updateConfig(host, (config) => ({ ...config, current: 'work' }));
    expect(fs.lstatSync(path.join(host.config, 'config.json')).isSymbolicLink()).toBe(true);
    expect(JSON.parse(fs.readFileSync(real, 'utf8')).current).toBe('work');
  });

  it('two processes that write 200 profiles each keep 400', async () => {
    const host = testHost();
    const setMany = bundle(path.join(import.meta.dirname, 'scripts', 'set-many.ts'));
    const writers = ['a', 'b'].map((tag) => runNode(setMany, host.config, '200', tag));
    for (const { code, err } of await Promise.all(writers.map((writer) => writer.finished))) {
      expect({ code, err }).toEqual({ code: 0, err: '' });
    }
    expect(Object.keys(readConfig(host).profiles)).toHaveLength(400);
  });

  it('a full disk leaves the old file as it was', { tags: ['mount'] }, async () => {
    const host = testHost();
    fs.mkdirSync(host.config, { recursive: true });
    mountTmpfs(host.config, 'size=256k,mode=700');
    await updateConfig(host, (config) => ({ ...config, current: 'work' }));
    const out = 'x'.repeat(12_000);
    let error: unknown;
    for (let number = 0; number < 30 && error === undefined; number++) {
      const before = fs.readFileSync(path.join(host.config, 'config.json'), 'utf8');
      await updateConfig(host, (config) => ({
        ...config,
        profiles: { ...config.profiles, [`p${number}`]: { out } },
      })).catch((caught: unknown) => {
        error = caught;
        expect(fs.readFileSync(path.join(host.config, 'config.json'), 'utf8')).toBe(before);
      });
    }
    expect(error).toMatchObject({ kind: 'usage', message: expect.stringContaining('the disk is full') });
    expect(fs.readdirSync(host.config)).toEqual(['config.json']);
    expect(readConfig(host).current).toBe('work');
  });

  it('waits no longer than ten seconds for another writer, and says who', async () => {
    const host = testHost();
    writeConfig(
      host,
      'write.lock',
      JSON.stringify({ pid: process.ppid, host: hostOf(), started: '', nonce: 'ab', atMs: Date.now() }),
    );
    const error = await refusal(() => updateConfig(host, (config) => config));
    expect(error).toMatchObject({ kind: 'usage', message: expect.stringContaining('write.lock') });
  });
});

describe('settings of a profile', () => {
  it.each([
    ['base_url', 'https://h.example/api/', { base_url: 'https://h.example/api' }],
    ['account', 'enterprise', { account: 'enterprise' }],
    ['timeout', '90s', { timeout: '90s' }],
    ['retries', '2', { retries: 2 }],
    ['interval', '2s', { interval: '2s' }],
    ['provider_version', '2026-01-31', { provider_version: '2026-01-31' }],
    ['cacert', 'roots.pem', { cacert: '/home/ann/roots.pem' }],
    ['cacert', 'system', { cacert: 'system' }],
    ['key_command', 'pass show gw', { key_command: 'pass show gw' }],
    ['models.alpha', 'm', { models: { alpha: 'm' } }],
  ])('%s', (name, text, expected) => {
    const changed = withSetting({}, name, text, { cwd: '/home/ann' });
    expect(changed).toEqual(expected);
    const removed = withSetting(changed, name, undefined, { cwd: '/home/ann' });
    expect(removed).toEqual({});
  });
  it.each([
    ['nope', 'x'],
    ['toString', 'x'],
    ['account', 'big'],
    ['timeout', '5'],
    ['retries', 'x'],
    ['out', ' '],
    ['provider_version', '2026-01-31\r\nx: y'],
    ['provider_version', 'soon'],
    ['provider_version', '2023-13-01'],
    ['base_url', 'https://h.example/v1'],
    ['base_url', 'h'],
    ['base_url', 'http://h.example'],
  ])('refuses %s=%s', async (name, text) => {
    expect(await refusal(() => withSetting({}, name, text, { cwd: '/home/ann' }))).toMatchObject({
      kind: 'usage',
    });
  });
});

describe('stored keys', () => {
  it('belong to one profile and one origin, in a private file apart', async () => {
    const host = testHost();
    await storeKey(host, 'work', origin, canary);
    await updateConfig(host, (config) => ({ ...config, current: 'work' }));
    expect(readKey(host, 'work', origin)).toBe(canary);
    expect(readKey(host, 'other', origin)).toBeUndefined();
    expect(readKey(host, 'constructor', origin)).toBeUndefined();
    expect(keyOrigin(host, 'work')).toBe(origin);
    for (const elsewhere of ['https://evil.example', 'http://h.example', 'https://h.example:444']) {
      const error = await refusal(() => readKey(host, 'work', elsewhere));
      expect(error).toMatchObject({ kind: 'auth', message: expect.stringContaining(elsewhere) });
      expect(error.message + error.facts.hint).not.toContain(canary);
    }
    expect(fs.statSync(path.join(host.config, 'keys.json')).mode & 0o777).toBe(0o600);
    expect(fs.readFileSync(path.join(host.config, 'config.json'), 'utf8')).not.toContain(canary);
    expect(await removeKey(host, 'work')).toBe(true);
    expect(await removeKey(host, 'work')).toBe(false);
    expect(readKey(host, 'work', origin)).toBeUndefined();
  });

  it('are refused from a file that others can read, with the command to run', async () => {
    const host = testHost();
    await storeKey(host, 'work', origin, canary);
    const file = path.join(host.config, 'keys.json');
    fs.chmodSync(file, 0o640);
    expect(await refusal(() => readKey(host, 'work', origin))).toMatchObject({
      kind: 'auth',
      facts: { hint: `run: chmod 600 ${file}` },
    });
    const trusted = { file, what: 'the key file', kind: 'auth', platform: 'win32', secret: true } as const;
    expect(() => refuseUntrusted(fs.statSync(file), trusted)).not.toThrow();
  });

  it.each(['', '{', '[]', `{"version":1,"keys":{"work":"${canary}"}}`, `${canary}`])(
    'are not read from a damaged file %#',
    async (text) => {
      const host = testHost();
      const file = writeConfig(host, 'keys.json', text);
      const error = await refusal(() => readKey(host, 'work', origin));
      expect(error.kind).toBe('auth');
      expect(error.message).toContain(file);
      expect(error.message + error.facts.hint).not.toContain(canary);
      await refusal(() => storeKey(host, 'work', origin, 'another-key'));
      expect(fs.readFileSync(file, 'utf8')).toBe(text);
    },
  );

  it('are not stored for the sandbox, nor when they are no keys', async () => {
    const host = testHost();
    expect((await refusal(() => storeKey(host, 'sandbox', origin, canary))).kind).toBe('usage');
    expect((await refusal(() => storeKey(host, 'work', origin, 'a b'))).kind).toBe('auth');
  });
});

describe('--api-key-file', () => {
  it.each([`${canary}`, `${canary}\n`, `${canary}\r\n`, `\uFEFF${canary}\r\n`])('reads %j', async (text) => {
    const host = testHost();
    const file = writeConfig(host, 'key', text);
    expect(await readKeyFile(file, host)).toBe(canary);
    expect(await readKeyFile(path.relative(host.cwd, file), host)).toBe(canary);
    expect(await readKeyFile('-', { ...host, stdin: Readable.from([Buffer.from(text)]) })).toBe(canary);
  });
  it.each([
    ['', 'no key'],
    ['\n', 'no key'],
    [`${canary}\n\n`, 'newline'],
    [`${canary}\nx`, 'newline'],
    [`\n${canary}`, 'newline'],
    [` ${canary}`, 'blank'],
    [`${canary}\t`, 'blank'],
    [`${canary}ä`, 'printable ASCII'],
    [`${canary}\u0000`, 'printable ASCII'],
    [canary.repeat(1000), '8192'],
  ])('refuses what is no key %#', async (text, words) => {
    const host = testHost();
    const file = writeConfig(host, 'key', text);
    for (const error of [
      await refusal(() => readKeyFile(file, host)),
      await refusal(() => readKeyFile('-', { ...host, stdin: Readable.from([Buffer.from(text)]) })),
    ]) {
      expect(error).toMatchObject({ kind: 'auth', message: expect.stringContaining(words) });
      expect(error.message + error.facts.hint).not.toContain('canary');
    }
  });
  it('refuses a file that is missing, a directory, open to others or endless', async () => {
    const host = testHost();
    const open = writeConfig(host, 'open', canary);
    fs.chmodSync(open, 0o604);
    for (const [file, words] of [
      ['/nowhere/key', 'no such file'],
      [host.cwd, 'is a directory'],
      [open, 'open to other users'],
      ['/dev/zero', 'is a device'],
    ] as const) {
      const error = await refusal(() => readKeyFile(file, host));
      expect(error).toMatchObject({ kind: 'auth', message: expect.stringContaining(words) });
      expect(error.message).toContain(file);
    }
  });
  it('does not read a terminal', async () => {
    const stdin = Object.assign(Readable.from([canary]), { isTTY: true });
    expect((await refusal(() => readKeyFile('-', { ...testHost(), stdin }))).facts.hint).toContain(
      'gw login',
    );
  });
});
