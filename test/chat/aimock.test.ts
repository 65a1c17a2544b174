import { writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { LLMock } from '@copilotkit/aimock';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { World } from '../helpers/gw.ts';

// The three surfaces with a third-party server.

const said = 'Hello from the mock 🦊, in several pieces so that there is something to stream.';
const weather = { type: 'object', properties: { city: { type: 'string' } } };
const mock = new LLMock({ port: 0, chunkSize: 7 });
let world: World;
let url = '';
beforeAll(async () => {
  mock.on({ userMessage: 'hello' }, { content: said });
  mock.on({ userMessage: 'weather' }, { toolCalls: [{ name: 'get_weather', arguments: '{"city":"Köln"}' }] });
  mock.on({ userMessage: 'picture' }, { content: 'a red dot' });
  url = await mock.start();
  world = await World.open();
  await world.gw(['config', 'set', 'provider_version', '2026-01-31']);
  writeFileSync(
    path.join(world.cwd, 'tool.json'),
    JSON.stringify({ name: 'get_weather', parameters: weather }),
  );
  writeFileSync(
    path.join(world.cwd, 'dot.png'),
    Buffer.from(
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
      'base64',
    ),
  );
});
afterAll(async () => {
  await world.close();
  await mock.stop();
});
beforeEach(() => mock.clearRequests());

const surfaces = [
  ['completions', '/v1/chat/completions'],
  ['messages', '/v1/messages'],
  ['geo', '/v1beta/models/geo-3.6-flash:'],
] as const;

describe.each(surfaces)('%s', (api, at) => {
  const chat = (...words: string[]) =>
    world.gw(['chat', '--api', api, '-m', 'geo-3.6-flash', ...words], { env: { GW_BASE_URL: url } });

  test('streamed', async () => {
    expect(await chat('hello')).toEqual({ code: 0, out: said, err: '' });
    expect(mock.getLastRequest()?.path).toContain(at);
  });

  test('in one piece', async () => {
    expect(await chat('hello', '--no-stream')).toEqual({ code: 0, out: said, err: '' });
  });

  test.each(['--stream', '--no-stream'])('--usage has figures (%s)', async (way) => {
    expect((await chat('hello', '--usage', way)).err).toMatch(/^tokens: \d+ in, \d+ out, \d+ in all\n$/);
  });

  test('as the reply it would have been', async () => {
    const shape = (value: unknown): unknown =>
      Array.isArray(value)
        ? value.map(shape)
        : typeof value === 'object' && value !== null
          ? Object.fromEntries(
              Object.entries(value)
                .filter(([, inner]) => inner !== null)
                .map(([name, inner]) => [name, shape(inner)]),
            )
          : typeof value === 'string' && value.includes('Hello')
            ? value
            : typeof value;
    const streamed = JSON.parse((await chat('hello', '--json')).out);
    const whole = JSON.parse((await chat('hello', '--json', '--no-stream')).out);
    for (const name of ['choices', 'content', 'candidates']) {
      expect(shape(streamed[name])).toMatchObject(shape(whole[name] ?? undefined) as object);
    }
  });

  test.each([['streamed'], ['in one piece', '--no-stream']])('a tool call, %s', async (_, ...more) => {
    const { code, out, err } = await chat('weather', '--tool', 'tool.json', ...more);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    const call = JSON.parse(out) as { name: string; arguments: string };
    expect([call.name, JSON.parse(call.arguments)]).toEqual(['get_weather', { city: 'Köln' }]);
  });

  test('an image', async () => {
    expect(await chat('picture', '--image', 'dot.png')).toEqual({ code: 0, out: 'a red dot', err: '' });
    // The server's journal keeps the images of completions only.
    if (api === 'completions') expect(JSON.stringify(mock.getLastRequest()?.body)).toContain('iVBORw0KGgo');
  });
});
