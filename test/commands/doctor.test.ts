import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { expect } from 'vitest';
import { worstOf } from '../../src/commands/doctor/checks.ts';
import { type Answer, fakeGateway } from '../helpers/fake-gateway.ts';
import { KEY, test, World } from '../helpers/gw.ts';
import { HOUR_MS, succeededJob } from './jobs-seed.ts';

interface Diagnosis {
  readonly code: number;
  readonly state: string;
  /** State and message of the named check. */
  readonly of: (check: string) => string;
  readonly text: string;
}

async function diagnose(world: World, options: Parameters<World['gw']>[1] = {}): Promise<Diagnosis> {
  // Without a PATH, each run would start the ffmpeg of this machine.
  const env = { PATH: world.dir, ...options.env };
  const run = await world.gw(['doctor', '--json'], { ...options, env });
  const { state, findings } = JSON.parse(run.out) as {
    state: string;
    findings: { check: string; state: string; message: string }[];
  };
  const of = (check: string) => {
    const found = findings.filter((each) => each.check === check);
    expect(found, check).toHaveLength(1);
    return `${found[0]?.state}: ${found[0]?.message}`;
  };
  return { code: run.code, state, of, text: run.out + run.err };
}

async function answering(answer: Answer) {
  const world = await World.open();
  const gateway = await fakeGateway(() => answer);
  return { world, gateway, env: { GW_BASE_URL: gateway.url } };
}

test('all is well: a line for each check of the contract, with -v all; exit 0, one request, the key nowhere', async () => {
  const world = await World.open();
  const run = await world.gw(['doctor'], { env: { PATH: world.dir } });
  expect(run).toMatchObject({ code: 0, err: '' });
  const linesOf = ({ out }: { out: string }) => out.trimEnd().split('\n');
  expect(linesOf(run).map((line) => line.slice(9, 33).trim())).toEqual([
    ...['node', 'configuration', 'gateway', 'key', 'clock', 'ledger', 'formats', 'disk for outputs'],
    ...['tls', 'code cache', 'ffmpeg', 'more'],
  ]);
  expect(run.out).toMatch(/^ok +key +present \(environment\), accepted, may call \d+ models$/m);
  expect(run.out).toMatch(/^skipped +ffmpeg +not installed/m);
  expect(run.out).toMatch(/^ok +more +\d+ further checks: gw doctor -v lists them$/m);
  expect(world.requests()).toEqual(['GET /v1/models']);
  // gw finds ffmpeg through PATH, so the test puts a fake one there.
  writeFileSync(path.join(world.dir, 'ffmpeg'), '#!/bin/sh\necho ffmpeg version 7.1 Copyright', {
    mode: 0o755,
  });
  const verbose = await world.gw(['doctor', '-v'], { env: { PATH: world.dir } });
  expect(verbose.out).toMatch(/^ok +ffmpeg +7\.1$/m);
  for (const check of [
    'node',
    'configuration',
    'setting base_url',
    'proxy',
    'gateway',
    'key',
    'clock',
    'ledger',
    'links',
  ]) {
    const found = linesOf(verbose).filter((line) => line.startsWith(`ok       ${check}  `));
    expect(found, check).toHaveLength(1);
  }
  expect(verbose.out).toMatch(/^ok +setting base_url +http:\/\/127\.0\.0\.1:\d+ \(environment\)$/m);
  expect(verbose.out).toMatch(/^ok +setting retries +4 \(default\)$/m);
  for (const { out, err } of [run, verbose]) expect(out + err).not.toContain(KEY);
  expect((await world.gw(['doctor', '-q'])).out).toBe('');
});

test('the embedded gateway is well too', async ({ world }) => {
  expect(await world.gw(['doctor', '--sandbox'], { bare: true })).toMatchObject({ code: 0, err: '' });
});

test('no gateway: exit 3, and what does not need one is looked at all the same', async () => {
  const { code, state, of } = await diagnose(await World.open(), { bare: true });
  expect([code, state]).toEqual([3, 'error']);
  expect(of('gateway')).toMatch(/^error: no gateway is configured/);
  expect(of('key')).toMatch(/^skipped/);
  expect(of('ledger')).toMatch(/^ok/);
});

test('no key: exit 3, and the gateway is not asked', async ({ world }) => {
  const { code, of } = await diagnose(world, { bare: true, env: { GW_BASE_URL: world.sandbox.baseUrl } });
  expect(code).toBe(3);
  expect(of('key')).toMatch(/^error: there is no key/);
  expect(of('gateway')).toMatch(/^skipped/);
  expect(world.requests()).toEqual([]);
});

test('a key that is not accepted: the gateway is there, exit 3, and the key is not shown', async () => {
  const world = await World.open();
  const { code, of, text } = await diagnose(world, { env: { GW_API_KEY: 'wrong-key-123456' } });
  expect(code).toBe(3);
  expect(of('gateway')).toMatch(/^ok/);
  expect(of('key')).toMatch(/^error: present \(environment\): .*HTTP 401/);
  expect(text).not.toContain('wrong-key-123456');
});

test('a broken configuration: exit 2, with the file', async ({ world }) => {
  mkdirSync(path.join(world.dir, '.config/gw'), { recursive: true });
  const file = path.join(world.dir, '.config/gw/config.json');
  writeFileSync(file, '{');
  const { code, of } = await diagnose(world);
  expect(code).toBe(2);
  expect(of('configuration')).toBe(`error: the configuration file ${file} is not valid JSON`);
});

test('nobody there: exit 8, asked once', async ({ world }) => {
  await world.sandbox.close();
  const { code, of } = await diagnose(world);
  expect(code).toBe(8);
  expect(of('gateway')).toContain('connection refused');
  expect(of('key')).toMatch(/^skipped: present/);
  expect(world.clock.slept).toEqual([]);
});

test.each([
  [503, 8, 'error'],
  [404, 4, 'error'],
  [429, 7, 'error'],
])('status %d of the gateway: exit %d', async (status, code, state) => {
  const { world, gateway, env } = await answering({ status, body: { error: { message: 'no' } } });
  const diagnosis = await diagnose(world, { env });
  expect(diagnosis.code).toBe(code);
  expect(diagnosis.of('gateway')).toContain(`${state}: `);
  expect(gateway.requests).toHaveLength(1);
});

test.each([
  ['ahead of', -3 * HOUR_MS],
  ['behind', 3 * HOUR_MS],
])('a clock %s the gateway is a warning, exit 0', async (where, offMs) => {
  const world = await World.open();
  const date = new Date(world.clock.now() + offMs).toUTCString();
  const gateway = await fakeGateway(() => ({ headers: { date }, body: { data: [] } }));
  const { code, state, of } = await diagnose(world, { env: { GW_BASE_URL: gateway.url } });
  expect([code, state]).toEqual([0, 'warning']);
  expect(of('clock')).toBe(`warning: this machine is 3 h ${where} the gateway`);
});

test('a proxy is named without its password, and an unusable one is an error', async () => {
  const { world, env } = await answering({ body: { data: [] } });
  const proxied = { ...env, HTTP_PROXY: 'http://user:proxy-secret@proxy.example:3128' };
  const off = await diagnose(world, { env: proxied });
  expect(off.of('proxy')).toBe(
    'ok: for the gateway: none, as it is this machine; for outputs elsewhere: https none, http http://proxy.example:3128',
  );
  expect((await diagnose(world, { env })).of('proxy')).toBe('ok: none');
  const away = { ...env, GW_BASE_URL: 'https://gateway.example.com' };
  const bad = await diagnose(world, { env: { ...away, HTTPS_PROXY: 'socks5://proxy.example' } });
  expect(bad.code).toBe(2);
  expect(bad.of('proxy')).toMatch(/^error: HTTPS_PROXY names a socks5 proxy/);
  const unreachable = { ...away, HTTPS_PROXY: 'http://user:proxy-secret@127.0.0.1:9' };
  const dead = await diagnose(world, { env: unreachable });
  expect(dead.code).toBe(8);
  expect(dead.of('proxy')).toBe(
    'ok: for the gateway: http://127.0.0.1:9; for outputs elsewhere: https http://127.0.0.1:9, http none',
  );
  expect(dead.text).not.toContain('proxy-secret');
});

test.for(['taken', 'taken/below'])(
  'a ledger that cannot be made at %s: exit 2, with the path',
  async (dir, { world }) => {
    writeFileSync(path.join(world.dir, 'taken'), '');
    const { code, of } = await diagnose(world, { env: { GW_STATE_DIR: path.join(world.dir, dir) } });
    expect(code).toBe(2);
    expect(of('ledger')).toMatch(/^error: .*taken/);
  },
);

test('leaves nothing in the ledger that was not there', async ({ world }) => {
  const dir = path.join(world.dir, '.local/state/gw');
  await diagnose(world);
  expect(existsSync(dir)).toBe(false);
  succeededJob(world, 'vt-1', HOUR_MS);
  const before = readdirSync(path.join(dir, 'ledger'));
  expect((await diagnose(world)).of('ledger')).toContain('1 job, readable and writable');
  expect(readdirSync(path.join(dir, 'ledger'))).toEqual(before);
});

test('links about to die are a warning that names what to run', async ({ world }) => {
  succeededJob(world, 'vt-1', HOUR_MS);
  expect((await diagnose(world)).of('links')).toMatch(/^ok: 1 job waits/);
  succeededJob(world, 'vt-2', 23 * HOUR_MS);
  const { code, of, text } = await diagnose(world);
  expect(code).toBe(0);
  expect(of('links')).toMatch(
    /^warning: 1 job is not saved and about to be lost, the first in (1 h|59 min.*)$/,
  );
  expect(text).toContain('run gw jobs sync');
});

test('the exit code is that of the first error in the order of the checks', () => {
  expect(worstOf([{ check: 'a', state: 'warning', message: 'm' }])).toBeUndefined();
  const worst = worstOf([
    { check: 'a', state: 'ok', message: 'm' },
    { check: 'b', state: 'error', message: 'first', kind: 'auth' },
    { check: 'c', state: 'error', message: 'second', kind: 'usage' },
  ]);
  expect(worst).toMatchObject({ kind: 'auth', message: 'b: first' });
});

test('the clock is read off a refusal too, and a 404 points to the base URL', async ({ world }) => {
  const date = new Date(world.clock.now() - 3 * HOUR_MS).toUTCString();
  const gateway = await fakeGateway(() => ({ status: 404, headers: { date }, body: {} }));
  const { of } = await diagnose(world, { env: { GW_BASE_URL: gateway.url } });
  expect(of('clock')).toMatch(/^warning: this machine is 3 h .*ahead of the gateway/);
  const { out } = await world.gw(['doctor'], { env: { GW_BASE_URL: gateway.url } });
  expect(out).toMatch(/^error +gateway .*check the base URL and its path/m);
  expect(out).not.toContain('check the ID');
});

test('a ledger that is not made yet is not called readable, and is not made', async ({ world }) => {
  const dir = path.join(world.dir, 'fresh/state');
  const { of } = await diagnose(world, { env: { GW_STATE_DIR: dir } });
  expect(of('ledger')).toMatch(/^ok: .*not made yet/);
  expect(existsSync(path.join(world.dir, 'fresh'))).toBe(false);
  expect(readdirSync(world.dir).filter((name) => name.startsWith('.gw-doctor'))).toEqual([]);
});

test('a place where nothing can be written is found by writing', async () => {
  const { of } = await diagnose(await World.open(), { env: { GW_STATE_DIR: '/proc/gw' } });
  expect(of('ledger')).toMatch(/^error: \/proc cannot be written/);
});

test('a TLS variable that is not obeyed is a warning, and one that adds roots is told', async ({ world }) => {
  const off = await diagnose(world, { env: { NODE_TLS_REJECT_UNAUTHORIZED: '0' } });
  expect(off.code).toBe(0);
  expect(off.of('tls')).toBe(
    'warning: NODE_TLS_REJECT_UNAUTHORIZED=0 is ignored: certificates are always checked',
  );
  const other = await diagnose(world, { env: { SSL_CERT_FILE: '/etc/roots.pem' } });
  expect(other.of('tls')).toBe(
    'ok: certificates are checked; not read by gw: SSL_CERT_FILE (--cacert FILE adds roots)',
  );
  const extra = await diagnose(world, { env: { NODE_EXTRA_CA_CERTS: '/etc/roots.pem' } });
  expect(extra.of('tls')).toContain('also trusted: /etc/roots.pem (NODE_EXTRA_CA_CERTS)');
});

test.skipIf(process.platform === 'win32')(
  'a directory that others may write to is an error with the chmod',
  async () => {
    const world = await World.open();
    const config = path.join(world.dir, 'conf');
    const state = path.join(world.dir, 'state');
    for (const dir of [config, state]) mkdirSync(dir, { mode: 0o700 });
    writeFileSync(path.join(config, 'config.json'), '{"version":1,"profiles":{}}', { mode: 0o600 });
    const env = { GW_CONFIG_DIR: config, GW_STATE_DIR: state };
    const well = await diagnose(world, { env });
    expect(well.of('config owner')).toMatch(/^ok: .*conf is this user's, mode 700/);
    expect(well.of('state owner')).toMatch(/^ok: .*state is this user's, mode 700/);
    chmodSync(state, 0o777);
    const open = await diagnose(world, { env });
    expect(open.code).toBe(2);
    expect(open.of('state owner')).toMatch(
      /^error: the state directory .* may be written by other users \(mode 777\)/,
    );
    expect(open.text).toContain(`chmod go-w ${state}`);
  },
);

test('a price file that cannot be read is found', async ({ world }) => {
  writeFileSync(path.join(world.cwd, 'p.yaml'), 'nobody: {per_second: much}');
  await world.ok(['config', 'set', 'prices', 'p.yaml']);
  const { code, of } = await diagnose(world);
  expect([code, of('prices')]).toEqual([2, expect.stringContaining('p.yaml')]);
});

test('-v and --json tell of each thing that gw keeps its size, and the command that deletes it', async () => {
  const world = await World.open();
  expect((await diagnose(world)).text).not.toContain('kept: ledger');
  await world.gw(['image', 'create', 'a fox']);
  const { of } = await diagnose(world);
  expect(of('kept: ledger')).toMatch(/^ok: 1 file, [\d.]+ kB; gw jobs prune --before 90d/);
  expect(of('kept: models')).toMatch(/^ok: 1 file, \d+ B; delete the cache directory$/);
});
