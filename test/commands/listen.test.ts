import { createServer } from 'node:http';
import * as path from 'node:path';
import { expect } from 'vitest';
import { announce } from '../../src/listen/running.ts';
import { openNearPlace } from '../cli/near-place.ts';
import { openPlace, type Place, type Running, until } from '../cli/place.ts';
import { cmd } from '../helpers/cmd.ts';
import { test, World } from '../helpers/gw.ts';
import { listening } from '../helpers/listening.ts';
import { ask } from '../sandbox/fixture.ts';

/** Starts `gw listen` of the built gw and waits until it is ready. */
async function listen(place: Place, ...flags: string[]): Promise<Running & { readonly url: string }> {
  const running = place.start(['listen', ...flags]);
  await until('it listens', () => /^listening at /m.test(running.err()));
  return { ...running, url: /^listening at (\S+?),? /m.exec(running.err())?.[1] ?? '' };
}

const gamma = cmd`video gamma create "a fox" --resolution 768P --duration 4 --ratio 1:1`;
const beta = ['video', 'beta', 'create', 'a fox', '--duration', '3'];

test.each([
  ['gamma', gamma],
  ['beta', beta],
])('a %s job that tells the listener is saved by it', async (_, create) => {
  const place = await openPlace({ callbackPorts: 'any' });
  const { url, out, err, child, ended } = await listen(place);
  expect(out()).toBe(`${url}\n`);
  const made = await place.run([...create, '--callback-url', 'auto', '-o', '{id}.mp4']);
  expect(made.code, made.err).toBe(0);
  const id = made.out.trim();
  await until('it is saved', () => err().includes(`saved ${path.join(place.cwd, `${id}.mp4`)}\n`));
  expect(place.files()).toEqual([`${id}.mp4`]);
  expect((await place.jobs())[0]).toMatchObject({ id, state: 'succeeded', files: [{ role: 'video' }] });
  child.kill('SIGINT');
  const { code } = await ended;
  expect([code, out()]).toEqual([130, `${url}\n`]);
  const later = await place.run([...create, '--callback-url', 'auto']);
  expect([later.code, later.err]).toEqual([
    2,
    'error: --callback-url auto: no gw listen of this user is running\nhint: start one in another terminal: gw listen\n',
  ]);
});

test.each([
  ['gamma', gamma],
  ['beta', beta],
])(
  '--once and --callback-url auto: a %s job is the same under another listener',
  { timeout: 300_000 },
  async (_, create) => {
    const place = await openPlace({ callbackPorts: 'any' });
    const once = [...create, '--once', 'shots/1', '--callback-url'];
    const first = await listen(place);
    const made = await place.run([...once, 'auto']);
    expect(made.code, made.err).toBe(0);
    const second = await listen(place);
    expect(second.url).not.toBe(first.url);
    const again = await place.run([...once, 'auto']);
    expect([again.code, again.out], again.err).toEqual([0, made.out]);
    expect(await place.jobs()).toHaveLength(1);
    const named = await place.run([...once, 'https://gw.example.com/elsewhere']);
    expect([named.code, named.err]).toEqual([
      2,
      expect.stringMatching(/^error: --once shots\/1: .* with another --callback-url\n/),
    ]);
  },
);

test('a hint is only a hint: a task is looked at, whatever the callback says of it', async () => {
  const place = await openPlace({ speed: 0.001 });
  const { url, out, err } = await listen(place);
  const { out: made } = await place.run([...gamma, '--callback-url', 'https://gw.example.com/elsewhere']);
  const id = made.trim();
  const looks = () => place.sandbox.requests.filter(({ method }) => method === 'GET').length;
  const before = looks();
  const said = {
    task_id: id,
    task: { id, status: 'succeeded', content: { url: 'https://evil.example.com/x' } },
  };
  const answer = await ask(url, { method: 'POST', body: JSON.stringify(said) });
  expect(answer.status).toBe(200);
  await until('it is looked at', () => looks() > before);
  // gw does not query a task that is not in its ledger.
  await ask(url, { method: 'POST', body: '{"task_id":"none-of-ours"}' });
  const { text } = await ask(url, { method: 'POST', body: '{"challenge":"still here"}' });
  expect(text).toBe('{"challenge":"still here"}');
  expect(place.sandbox.requests.some((request) => request.path.includes('none-of-ours'))).toBe(false);
  expect((await place.jobs())[0]?.state).toBe('running');
  expect([out(), err().split('\n').length, place.files()]).toEqual([`${url}\n`, 2, []]);
});

test('--forward passes each callback on as it came, and --events tells what happens', async () => {
  const place = await openPlace({ callbackPorts: 'any' });
  const got: { readonly body: string; readonly headers: Record<string, unknown> }[] = [];
  const target = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    got.push({ body, headers: request.headers });
    response.end();
  });
  const { port } = await listening(target);
  const { url, out } = await listen(place, '--events', '--forward', `http://127.0.0.1:${port}/hook`);
  const told = () =>
    out()
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line));
  expect(told()).toEqual([{ event: 'listening', t: expect.any(String), url }]);
  const raw = '{"id" : "none-of-ours",\t"n":1.0}';
  await ask(url, {
    method: 'POST',
    body: raw,
    headers: { 'content-type': 'application/json; charset=utf-8' },
  });
  await until('it is passed on', () => got.length === 1);
  expect(got[0]).toMatchObject({ body: raw, headers: { 'content-type': 'application/json; charset=utf-8' } });
  expect(Object.keys(got[0]?.headers ?? {})).not.toContain('authorization');
  const made = await place.run([...gamma, '--callback-url', url]);
  expect(made.code, made.err).toBe(0);
  await until('it is over', () => told().some(({ event }) => event === 'result'));
  const names = told().map(({ event }) => event);
  expect(names.filter((name) => name !== 'status' && name !== 'download')).toEqual([
    'listening',
    'saved',
    'result',
  ]);
  expect(told().at(-1)).toMatchObject({ family: 'gamma', id: made.out.trim(), status: 'succeeded' });
  // gw answered the challenge itself; after the first request it forwarded only notices about the task.
  expect(got.slice(1).every(({ body }) => JSON.parse(body).task_id === made.out.trim())).toBe(true);
});

test('a forward that fails is said once until one succeeds, and ends nothing', async () => {
  const place = await openNearPlace();
  const answers = [undefined, 500, 200, 500];
  let closed = 0;
  const hook = createServer((request, response) => {
    // gw closes the connection at the first byte of the body, when it has read the status.
    response.on('close', () => (closed += 1));
    const status = answers[closed];
    if (status === undefined) request.destroy();
    else response.writeHead(status).write('x');
  });
  const { url: target } = await listening(hook);
  const { url, err } = await listen(place, '--forward', target);
  const told = () => err().split(`warning: a callback was not passed on to ${target}: `).length - 1;
  for (const [at, times] of [1, 1, 1, 2].entries()) {
    await ask(url, { method: 'POST', body: '{"id":"x"}' });
    await until('it is passed on', () => closed > at && told() === times);
  }
  const { text } = await ask(url, { method: 'POST', body: '{"challenge":"x"}' });
  expect(text).toBe('{"challenge":"x"}');
});

test('--forward asks only for a status: a hook whose replies have no end gets each callback', async () => {
  const place = await openPlace();
  let count = 0;
  const hook = createServer((request, response) => {
    request.resume();
    count += 1;
    response.writeHead(200);
    const drip = setInterval(() => response.write('x'), 50);
    response.on('close', () => clearInterval(drip));
  });
  const { port } = await listening(hook);
  const { url, err } = await listen(place, '--forward', `http://127.0.0.1:${port}/hook`);
  for (let sent = 0; sent < 20; sent += 1) await ask(url, { method: 'POST', body: '{"id":"x"}' });
  await until('each is passed on', () => count === 20);
  expect(err()).not.toContain('not passed on');
});

test.each([
  [['--host', '0.0.0.0'], '--host 0.0.0.0 is every address of this machine'],
  [['--host', ''], '--host "": not an address of this machine'],
  [['--host', '0x0'], '--host 0x0 is every address of this machine'],
  [['--host', '::0'], '--host ::0 is every address of this machine'],
  [['--host', '192.0.2.1'], '--host 192.0.2.1: not an address of this machine (EADDRNOTAVAIL)'],
  [['--port', '70000'], '--port 70000: not a whole number from 0 to 65535'],
  [['--public-url', 'gw.example.com'], '--public-url gw.example.com: not a URL'],
  [['--public-url', 'https://x.example.com/?a=b'], '--public-url: an address without a query'],
  [['--forward', 'http://me:secret@localhost/'], '--forward: an address without user, password and #'],
  [['--forward', 'ftp://me:secret@localhost/'], '--forward: an address without user, password and #'],
  [['--forward', 'me:secret@localhost'], '--forward: an address without user, password and #'],
])('%j is refused', async (flags, message) => {
  const world = await World.open();
  const { code, out, err } = await world.gw(['listen', ...flags]);
  expect([code, out]).toEqual([2, '']);
  expect(err).toContain(`error: ${message}\n`);
  expect(err).not.toContain('secret');
});

test('a port that is taken is refused by its name', async ({ world }) => {
  const { port } = new URL(world.sandbox.baseUrl);
  const { code, err } = await world.gw(['listen', '--port', port]);
  expect([code, err]).toEqual([
    2,
    `error: gw cannot listen on --port ${port}: another program has it\nhint: choose another --port\n`,
  ]);
});

test('--callback-url auto of a listener on this machine is warned of for a gateway elsewhere', async () => {
  const world = await World.open();
  announce(path.join(world.dir, '.local/state/gw'), 'http://127.0.0.1:1/x', world.clock.now());
  const run = (...more: string[]) => world.gw([...gamma, '--callback-url', 'auto', '--dry-run', ...more]);
  expect((await run()).err).not.toContain('--public-url');
  const { code, err } = await run('--base-url', 'https://gateway.example.com');
  expect([code, err]).toEqual([
    0,
    expect.stringContaining('gw listen --public-url URL says how it is reached'),
  ]);
});
