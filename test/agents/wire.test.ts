import * as fs from 'node:fs';
import * as path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { skillPage } from '../../src/agents/skill.ts';
import { errorKinds } from '../../src/errors.ts';
import { builtGw } from '../cli/built.ts';
import { creates, openPlace, type Place, type Running } from '../cli/place.ts';
import { cmd } from '../helpers/cmd.ts';
import { openAgent } from './agent.ts';

// The server receives input that is no valid protocol message or that ends in the middle.

const hello = {
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
};
const line = (id: number, message: object) => `${JSON.stringify({ jsonrpc: '2.0', id, ...message })}\n`;
const call = (id: number, name: string, args: object) =>
  line(id, { method: 'tools/call', params: { name, arguments: args } });

const started = (place: Place, ...args: string[]): Running => {
  const running = place.start(['mcp', ...args], { stdin: 'open' });
  running.child.stdin?.write(line(0, hello));
  return running;
};
const answers = ({ out }: { out: string }) =>
  out
    .split('\n')
    .filter((text) => text !== '')
    .map(
      (text) =>
        JSON.parse(text) as { id?: number; result?: { content?: { text: string }[] }; error?: object },
    );
const until = async (isSo: () => boolean) => {
  for (let tries = 0; !isSo() && tries < 600; tries += 1) await delay(50);
  expect(isSo()).toBe(true);
};

test.each<[string, string | Buffer, string[]]>([
  [
    'garbage',
    'hello?\n{"jsonrpc":\n[]\n{}\nnull\n\u0000\u001b[31m\n{"jsonrpc":"2.0","id":{},"method":4}\n',
    ['warning: a line on stdin is no message of the protocol, and gets no answer'],
  ],
  ['bytes that are no text', Buffer.from([0xff, 0xfe, 0x0a, 0xc3, 0x28, 0x0a]), []],
])('%s is passed over, and nothing but protocol is on stdout', async (_, sent, warnings) => {
  const place = await openPlace();
  const running = started(place);
  running.child.stdin?.write(sent);
  running.child.stdin?.write(call(7, 'list_jobs', {}));
  await until(() => running.out().includes('"id":7'));
  running.child.stdin?.end();
  const ended = await running.ended;
  expect(ended.code).toBe(0);
  expect(answers(ended).map(({ id }) => id)).toEqual(expect.arrayContaining([0, 7]));
  expect(ended.err).not.toContain('\u001b');
  expect(new Set(ended.err.match(/^warning: .*/gm) ?? [])).toEqual(new Set(warnings));
});

const half = '{"jsonrpc":"2.0","id":1,"method":"tools/ca';

test.each([
  ['half a message ends quietly with stdin', half, 0, ''],
  ['a message of 100 MB is refused by its limit', half + 'x'.repeat(100_000_000), 2, 'longer than 8 MB'],
])('%s', async (_, sent, code, told) => {
  const place = await openPlace();
  const running = started(place);
  running.child.stdin?.end(sent);
  const { out, err, ...ended } = await running.ended;
  expect(ended.code).toBe(code);
  expect(err.match(/^(error|warning): .*/gm)?.join('\n') ?? '').toContain(told);
  expect(err).not.toContain('warning');
  expect(answers({ out }).length).toBeLessThan(2);
});

test('a message just below the limit is answered, and stdin may stay open at one above it', async () => {
  const place = await openPlace();
  const running = started(place);
  running.child.stdin?.write(call(1, 'x'.repeat(7_000_000), {}));
  running.child.stdin?.write(call(2, 'x'.repeat(7_000_000), {}));
  await until(() => running.out().includes('"id":2'));
  running.child.stdin?.write(half + 'x'.repeat(9_000_000));
  expect((await running.ended).code).toBe(2);
});

test('a thousand calls at once are all answered', async () => {
  const place = await openPlace();
  const running = started(place);
  const ids = Array.from({ length: 1_000 }, (_, at) => at + 1);
  running.child.stdin?.write(
    ids.map((id) => call(id, id % 2 ? 'list_jobs' : 'get_job', { ...(id % 2 ? {} : { id: 'x' }) })).join(''),
  );
  await until(() => running.out().split('\n').length > 1_001);
  running.child.stdin?.end();
  const ended = await running.ended;
  expect(new Set(answers(ended).map(({ id }) => id)).size).toBe(1_001);
});

const image = { prompt: 'a fox', key: 'fox', settings: { size: '1024x1024' } };

test('stdin that closes in the middle of a create loses no image, and the next server finds it', async () => {
  const place = await openPlace({ fault: 'create:slow:x1' });
  const running = started(place);
  running.child.stdin?.write(call(1, 'make_image', image));
  await until(() => creates(place.sandbox).length === 1);
  running.child.stdin?.end();
  expect((await running.ended).code).toBe(0);
  expect(await place.jobs()).toEqual([
    expect.objectContaining({ state: 'succeeded', files: [expect.anything()] }),
  ]);
  const agent = await openAgent(place);
  expect((await agent.call('make_image', image)).value.status).toBe('succeeded');
  expect(creates(place.sandbox)).toHaveLength(1);
});

test.each(['SIGKILL', 'SIGTERM'] as const)(
  'a server that gets %s has made what the next one goes on with',
  async (signal) => {
    const place = await openPlace({ speed: 20 });
    const running = started(place);
    const clip = { family: 'beta', prompt: 'a boat', key: 'boat', settings: { duration: 5 } };
    running.child.stdin?.write(call(1, 'make_video', clip));
    await until(() => creates(place.sandbox).length === 1);
    running.child.kill(signal);
    expect((await running.ended).code).toBe(signal === 'SIGTERM' ? 143 : null);
    const agent = await openAgent(place);
    const { value } = await agent.call('make_video', clip);
    expect(value.error ?? value.status).toBe('succeeded');
    expect(creates(place.sandbox)).toHaveLength(1);
  },
);

describe('what it costs', () => {
  const dist = path.join(path.dirname(path.dirname(builtGw().script)), 'dist');

  test('no other command loads the SDK', () => {
    const { file, names, starts, together } = JSON.parse(
      fs.readFileSync(path.join(dist, 'parts.json'), 'utf8'),
    );
    const text = fs.readFileSync(path.join(dist, file), 'latin1');
    const holds = (place: number) =>
      text.slice(starts[place], starts[place + 1]).includes('notifications/progress');
    const sdk = Object.entries<number[]>(together).filter(([, places]) => places.some(holds));
    expect(sdk).toHaveLength(1);
    expect(sdk[0]?.[0]).toMatch(/^serve-/);
    expect(names).toContain('gw.js');
  });

  test('the page for agents takes at most 6 kB and has every exit code', () => {
    const page = skillPage();
    expect(Buffer.byteLength(page)).toBeLessThanOrEqual(6_000);
    for (const [kind, { exitCode }] of Object.entries(errorKinds))
      expect(page).toContain(`- ${exitCode} \`${kind}\``);
    for (const word of cmd`--once --json --sandbox "gw mcp" --max-cost`) expect(page).toContain(word);
  });
});
