import { X509Certificate } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { expect, test } from 'vitest';
import { openNearPlace } from '../cli/near-place.ts';
import { KEY, openPlace, openSandbox, until } from '../cli/place.ts';
import { World } from '../helpers/gw.ts';
import { ask } from '../sandbox/fixture.ts';

async function world() {
  const made = await World.open();
  return made;
}

/** Starts `gw sandbox serve`, in the test's process unless another place is given, and waits until it serves. */
async function serve(flags: readonly string[], open: typeof openPlace = openNearPlace) {
  const place = await open();
  const running = place.start(['sandbox', 'serve', '--fresh', ...flags]);
  await until('it serves', () => /callbacks to ports/.test(running.err()));
  return running;
}

test('a key that nobody knows, new in each run, printed with what holds', async () => {
  const keys: string[] = [];
  for (const json of [false, true]) {
    const running = await serve(['--speed', '20', ...(json ? ['--json'] : [])], openPlace);
    const [, url = '', key = ''] = json
      ? ['', JSON.parse(running.out()).base_url, JSON.parse(running.out()).key]
      : (/^GW_BASE_URL=(\S+)\nGW_API_KEY=(\S+)\n$/.exec(running.out()) ?? []);
    expect(key).toMatch(/^[0-9a-f-]{36}$/);
    keys.push(key);
    expect(running.err().split('\n').slice(0, 4)).toEqual([
      `serving at ${url}, 20 times as fast as the service, until Ctrl-C`,
      `key: ${key} (new for this run; --key sets one); programs send Authorization: Bearer KEY`,
      `requests must name it by its own address (Host ${new URL(url).host})`,
      'pages of other origins: none (--cors allows one); callbacks to ports: none (--callbacks allows one)',
    ]);
    if (json) expect(JSON.parse(running.out())).toMatchObject({ speed: 20, cors: [], callbacks: [] });
    const models = (sent: string) =>
      ask(`${url}/v1/models`, { headers: { authorization: `Bearer ${sent}` } });
    expect((await models('sandbox-key')).status).toBe(401);
    expect((await models(key)).status).toBe(200);
  }
  expect(new Set(keys).size).toBe(2);
});

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)('%s ends it with %i and no error', async (signal, code) => {
  const running = await serve([]);
  const printed = running.err();
  running.child.kill(signal);
  expect(await running.ended).toMatchObject({ code, err: printed });
});

test('--fresh forgets what earlier runs made, for later runs too', async () => {
  const place = await openNearPlace();
  const during = async (flags: readonly string[], ...args: string[]) => {
    const running = place.start(['sandbox', 'serve', '--json', '--key', KEY, ...flags]);
    await until('it serves', () => running.out().includes('base_url'));
    const env = {
      GW_BASE_URL: JSON.parse(running.out()).base_url,
      GW_API_KEY: KEY,
      GW_STATE_DIR: place.temp,
    };
    const ended = await place.run(['video', 'alpha', ...args], { env });
    running.child.kill('SIGTERM');
    await running.ended;
    return ended;
  };
  const id = (await during([], 'create', 'a fox')).out.trim();
  const codes: unknown[] = [];
  for (const flags of [[], ['--fresh'], []]) codes.push((await during(flags, 'get', id)).code);
  expect(codes).toEqual([0, 4, 4]);
});

test('--tls serves API and outputs with a certificate of its own, whose file is printed and goes with it', async () => {
  for (const host of ['127.0.0.1', '::1', 'localhost']) {
    const running = await serve(['--tls', '--speed', '1000', '--host', host]);
    const [, url = '', key = '', cacert = ''] =
      /^GW_BASE_URL=(https:\S+)\nGW_API_KEY=(\S+)\nGW_CACERT=(\S+)\n$/.exec(running.out()) ?? [];
    const { subjectAltName, ca } = new X509Certificate(readFileSync(cacert));
    expect([subjectAltName, ca]).toEqual([
      'DNS:localhost, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1',
      true,
    ]);
    const place = await openNearPlace();
    const env = { GW_BASE_URL: url, GW_API_KEY: key, GW_CACERT: cacert };
    const asked = ['image', 'create', 'a fox', '-m', 'legacy-image-2', '--response-format', 'url'];
    const run = await place.run([...asked, '--size', '256x256'], { env });
    expect(run.code, run.err).toBe(0);
    const untrusted = await place.run(['models', '--retries', '0'], { env: { ...env, GW_CACERT: '' } });
    expect(untrusted).toMatchObject({ code: 8, err: expect.stringContaining('self-signed') });
    running.child.kill('SIGTERM');
    await until('it has ended', () => !existsSync(cacert));
  }
});

test('what it was told to let in is said', async () => {
  const running = await serve([
    ...['--key', 'demo', '--cors', 'http://localhost:3000', '--cors', 'https://app.example.com'],
    ...['--callbacks', '9000', '--callbacks', '9001', '--host', 'localhost'],
  ]);
  expect(running.out()).toMatch(/^GW_BASE_URL=http:\/\/localhost:\d+\nGW_API_KEY=demo\n$/);
  expect(running.err()).toContain('key: demo; programs send');
  expect(running.err()).toContain(
    'pages of other origins: http://localhost:3000, https://app.example.com; callbacks to ports: 9000, 9001\n',
  );
});

test.each([
  [['--host', '0.0.0.0'], '--host 0.0.0.0 is every address of this machine'],
  [['--host', '0x0'], '--host 0x0 is every address of this machine'],
  [['--host', '192.0.2.1'], '--host 192.0.2.1: not an address of this machine (EADDRNOTAVAIL)'],
  [['--host', 'a/b'], '--host a/b: not an address of this machine'],
  [['--cors', '*'], '--cors *: not an origin'],
  [['--cors', 'http://localhost:3000/'], '--cors http://localhost:3000/: not an origin'],
  [['--callbacks', 'all'], '--callbacks all: not a whole number from 0 to 65535'],
  [
    ['--key', 'a b'],
    '--key holds a key with a blank in it\nhint: a key is one line of printable ASCII without blanks',
  ],
  [['--port', '4010', '--output-port', '4010'], '--output-port 4010 is --port too'],
])('%j is refused', async (flags, message) => {
  const { code, out, err } = await (await world()).gw(['sandbox', 'serve', ...flags]);
  expect([code, out]).toEqual([2, '']);
  expect(err).toContain(`error: ${message}\n`);
});

test.each(['--port', '--output-port'])('a %s that is taken is refused by its name', async (flag) => {
  const { port } = new URL((await openSandbox()).baseUrl);
  const { code, err } = await (await world()).gw(['sandbox', 'serve', flag, port]);
  expect([code, err]).toEqual([
    2,
    `error: gw cannot listen on ${flag} ${port}: another program has it\nhint: choose another ${flag}\n`,
  ]);
});

test('a file of faults that does not exist is told of as a file', async () => {
  const { code, err } = await (await world()).gw(['sandbox', 'serve', '--fault', './nofile']);
  expect(code).toBe(2);
  expect(err).toBe(
    'error: --fault ./nofile: no such file\nhint: a SPEC is written WHERE:WHAT, such as create:503: gw help faults\n',
  );
});

test('faults come from a SPEC or from a file of them', async () => {
  const here = await world();
  writeFileSync(path.join(here.cwd, 'bad-day'), '# mornings\ncreate:503:x1\n\noutput:dance # no such\n');
  const { code, err } = await here.gw(['sandbox', 'serve', '--fault', 'bad-day']);
  expect([code, err]).toEqual([
    2,
    expect.stringContaining('--fault bad-day: fault "output:dance": "dance" is not'),
  ]);
  const file = path.join(here.cwd, 'good-day');
  writeFileSync(file, 'query:503+7 # every one\n');
  const running = await serve(['--key', 'demo', '--json', '--fault', file]);
  const { base_url } = JSON.parse(running.out());
  const answer = await ask(`${base_url}/v1/models`, { headers: { authorization: 'Bearer demo' } });
  expect([answer.status, answer.headers['retry-after']]).toEqual([503, '7']);
});

test('looks follow the speed of the sandbox, unless --interval says', async () => {
  const here = await world();
  const create = ['video', 'alpha', 'create', 'a fox', '--wait', '--no-download'];
  const pauses = async (argv: readonly string[]) => {
    const before = here.clock.slept.length;
    await here.ok(argv);
    return here.clock.slept.slice(before).filter((ms) => ms >= 50);
  };
  const sped = await pauses(create);
  expect(sped.length).toBeGreaterThan(1);
  expect(Math.max(...sped)).toBeLessThanOrEqual(3000);
  expect(Math.min(...sped)).toBeGreaterThanOrEqual(900);
  expect(Math.max(...(await pauses([...create, '--interval', '10s'])))).toBe(10_000);
});

test('a link of the embedded sandbox works in the next run', async () => {
  const here = await world();
  const create = ['video', 'alpha', 'create', 'a fox', '--sandbox', '--wait', '--no-download', '--json'];
  const made = await here.ok(create, { bare: true });
  const { id } = JSON.parse(made.out);
  const { code, out, err } = await here.gw(['jobs', 'download', id], { bare: true });
  expect([code, out], err).toEqual([0, `${path.join(here.cwd, `${id}.mp4`)}\n`]);
});
