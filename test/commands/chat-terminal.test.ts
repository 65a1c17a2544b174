import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { stripVTControlCharacters } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { type RunOptions, World } from '../helpers/gw.ts';

// What a one-shot answer looks like on a terminal, from a gateway that takes its time.

const event = (content: string) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`;
const END = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';

/** Asks a gateway that answers as told; the run's own time is scripted, the wait is not. */
async function ask(
  words: readonly string[],
  answer: (response: ServerResponse) => void,
  options: RunOptions,
) {
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      response.setHeader('content-type', 'text/event-stream');
      answer(response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const world = await World.open();
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await world.close();
  });
  const { port } = server.address() as AddressInfo;
  const env = { GW_BASE_URL: `http://127.0.0.1:${port}`, ...options.env };
  return world.gw(['chat', 'hello', ...words], { ...options, env });
}

const late = (response: ServerResponse) => void setTimeout(() => response.end(event('Hi.') + END), 900);
const WAITING = 'waiting for geo-3.6-flash';

test('on a terminal it says what it waits for until the text comes, and leaves no trace', async () => {
  const { code, out, err } = await ask([], late, { terminal: true });
  expect([code, stripVTControlCharacters(out)]).toEqual([0, 'Hi.\n']);
  expect(stripVTControlCharacters(err)).toContain(`${WAITING} (`);
  // The line is erased and the cursor given back.
  expect(err).toMatch(/\r\x1b\[J\x1b\[\?25h$/);
});

test.each<[string, readonly string[], RunOptions]>([
  ['in a pipe', [], {}],
  ['with --quiet', ['-q'], { terminal: true }],
  ['with --no-progress', ['--no-progress'], { terminal: true }],
  ['in CI', [], { terminal: true, env: { CI: 'true' } }],
])('%s it says nothing', async (_, words, options) => {
  const { code, err } = await ask(words, late, options);
  expect([code, err]).toEqual([0, '']);
});

test('a failure after the wait stands alone', async () => {
  const lost = (response: ServerResponse) => void setTimeout(() => response.destroy(), 900);
  const { code, err } = await ask([], lost, { terminal: true });
  expect(code).toBe(8);
  expect(err).toMatch(/\r\x1b\[J\x1b\[\?25h/);
  expect(stripVTControlCharacters(err.slice(err.lastIndexOf('\x1b[?25h')))).toMatch(/^error: /);
});
