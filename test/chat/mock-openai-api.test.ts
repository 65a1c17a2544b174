import { writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { createRequire } from 'node:module';
import * as path from 'node:path';
import { describe, expect, test } from 'vitest';
import { World } from '../helpers/gw.ts';
import { listening } from '../helpers/listening.ts';

// Chat completions with a second third-party server (the first is in aimock.test.ts).

const { default: app } = createRequire(import.meta.url)('mock-openai-api/dist/app.js') as {
  default: RequestListener;
};
const { url } = await listening(createServer(app));
const world = await World.open();

const gw = (...words: string[]) => world.gw(words, { env: { GW_BASE_URL: url } });
const chat = (model: string, ...words: string[]) => gw('chat', '-m', model, ...words);
const greeting = 'Hello! How can I help you today? 😊';

describe('the second mock server', () => {
  test.each(['--stream', '--no-stream'])('answers (%s)', async (way) => {
    expect(await chat('mock-gpt-thinking', 'Hello', way)).toEqual({ code: 0, out: greeting, err: '' });
  });

  test.each(['--stream', '--no-stream'])('--usage has figures (%s)', async (way) => {
    const { err } = await chat('mock-gpt-thinking', 'Hello', '--usage', way);
    expect(err).toMatch(/^tokens: \d+ in, \d+ out \(\d+ of them reasoning\), \d+ in all\n$/);
  });

  test('thinks aloud', async () => {
    const run = await chat('mock-gpt-thinking', 'Hello', '--show-thoughts');
    expect(run).toMatchObject({ code: 0, out: greeting, err: expect.stringContaining('friendly response') });
  });

  test('calls a tool', async () => {
    const tool = path.join(world.cwd, 'time.json');
    writeFileSync(tool, JSON.stringify({ name: 'get_current_time', parameters: { type: 'object' } }));
    const words = ['What time is it now?', '--no-stream', '--tool', tool];
    const asked = await chat('gpt-4-mock', ...words, '--json');
    const [call] = JSON.parse(asked.out).choices[0].message.tool_calls;
    expect(call.type).toBe('function');
  });

  test('refuses a model that it does not have, whole and in a stream', async () => {
    const whole = await chat('none', 'Hello', '--no-stream', '--no-validate');
    expect(whole).toMatchObject({ code: 5, out: '', err: expect.stringContaining("Model 'none'") });
    const streamed = await chat('none', 'Hello', '--no-validate');
    expect(streamed).toMatchObject({ code: 8, out: '', err: expect.stringContaining("Model 'none'") });
  });

  test('lists its models', async () => {
    expect((await gw('models', 'list', '-q')).out.split('\n')).toContain('mock-gpt-markdown');
  });
});
