import { createServer, type ServerResponse } from 'node:http';
import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { type RunOptions, World } from '../helpers/gw.ts';
import { listening } from '../helpers/listening.ts';

// How a single answer looks on a terminal when the gateway is slow.

const event = (content: string) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`;
const END = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';

/** Asks a gateway that answers with `answer`. gw's clock is scripted, but the gateway delays in real time. */
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
  const { url } = await listening(server);
  const world = await World.open();
  const env = { GW_BASE_URL: url, ...options.env };
  return world.gw(['chat', 'hello', ...words], { ...options, env });
}

/** The visible text after the last draft has been erased. */
const lastDrawn = (out: string) => stripVTControlCharacters(out.split('\x1b[J').at(-1) ?? '');

const late = (response: ServerResponse) => void setTimeout(() => response.end(event('Hi.') + END), 900);
const WAITING = 'waiting for geo-3.6-flash';

test('on a terminal it says what it waits for until the text comes, and leaves no trace', async () => {
  const { code, out, err } = await ask([], late, { terminal: true });
  expect([code, lastDrawn(out)]).toEqual([0, 'Hi.\n']);
  expect(stripVTControlCharacters(err)).toContain(`${WAITING} (`);
  // The waiting line is erased and the cursor is shown again.
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

const RICH = '# A title\n\nSome **bold** words.\n\n- one\n- two\n';
const rich = (response: ServerResponse) =>
  response.end(event(RICH.slice(0, 20)) + event(RICH.slice(20)) + END);
const xterm = { TERM: 'xterm-256color' };

test('on a terminal an answer is drawn as Markdown, and gives the cursor back', async () => {
  const { code, out } = await ask([], rich, { terminal: true, env: xterm });
  expect(code).toBe(0);
  const shown = stripVTControlCharacters(out);
  expect(shown).toMatch(/Some bold words\.\n/);
  expect(shown).toMatch(/ one\n\S two\n$/);
  expect(shown).not.toMatch(/\*\*|# A title/);
  expect(out.lastIndexOf('\x1b[?25h')).toBeGreaterThanOrEqual(out.lastIndexOf('\x1b[?25l'));
});

test.each<[string, readonly string[], RunOptions]>([
  ['with --raw', ['--raw'], { terminal: true, env: xterm }],
  ['in a pipe', [], {}],
  ['in a pipe with --raw', ['--raw'], {}],
  ['where JSON was asked for', ['--response-format', 'json_object'], { terminal: true, env: xterm }],
  ['on a terminal that cannot redraw', [], { terminal: true, env: { TERM: 'dumb' } }],
])('%s it is as it came', async (_, words, options) => {
  const { code, out } = await ask(words, rich, options);
  expect([code, out]).toEqual([0, RICH]);
});

test('figures of --usage are wrapped between words', async () => {
  const [n, part] = [123_456_789, { reasoning_tokens: 123_456_788, cached_tokens: 123_456_788 }];
  const usage = {
    ...{ prompt_tokens: n, prompt_tokens_details: part },
    ...{ completion_tokens: n, completion_tokens_details: part, total_tokens: 2 * n },
  };
  const figures = `data: ${JSON.stringify({ choices: [], usage })}\n\n`;
  const { err } = await ask(['--usage'], (response) => response.end(event('Hi.') + figures + END), {
    terminal: true,
  });
  expect(stripVTControlCharacters(err.slice(err.lastIndexOf('tokens:')))).toBe(
    'tokens: 123456789 in (123456788 of them cached), 123456789 out (123456788 of them reasoning),\n246913578 in all\n',
  );
});

test('--json is the reply, drawn nowhere', async () => {
  const { code, out } = await ask(['--json'], rich, { terminal: true, env: xterm });
  expect(code).toBe(0);
  expect(JSON.parse(out).choices[0].message.content).toBe(RICH);
});

test('a drawn answer that breaks off is shown as far as it came', async () => {
  const broken = (response: ServerResponse) => {
    response.write(event(RICH));
    setTimeout(() => response.destroy(), 50);
  };
  const { code, out, err } = await ask([], broken, { terminal: true, env: xterm });
  expect(code).toBe(8);
  expect(stripVTControlCharacters(err)).toMatch(/^error: /);
  expect(stripVTControlCharacters(out)).toMatch(/ one\n\S two\n$/);
});
