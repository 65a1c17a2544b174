import { type ChildProcess, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { Socket } from 'node:net';
import * as path from 'node:path';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { builtGw } from '../cli/built.ts';
import { listening } from '../helpers/listening.ts';
import { newDir } from '../helpers/new-dir.ts';

// Runs the spawned gw with real pipes.

const home = newDir();
let gw = '';
beforeAll(() => {
  gw = builtGw().command.join(' ');
});

const chunk = (content: string) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`;
const end = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';

interface Streamer {
  readonly url: string;
  /** Length of each request's body in bytes. */
  readonly bodies: number[];
  readonly closed: Promise<void>;
}

/** A gateway that streams as the test says. `closed` resolves when a client has disconnected. */
async function serve(stream: (write: (text: string) => boolean, socket: Socket) => void): Promise<Streamer> {
  const bodies: number[] = [];
  let left = () => {};
  const closed = new Promise<void>((resolve) => {
    left = resolve;
  });
  const server = createServer((request, reply) => {
    let bytes = 0;
    request.on('data', (piece: Buffer) => {
      bytes += piece.length;
    });
    request.on('end', () => {
      bodies.push(bytes);
      reply.on('close', left);
      reply.writeHead(200, { 'content-type': 'text/event-stream' });
      stream((text) => (text === '' ? !reply.end().writableEnded : reply.write(text)), request.socket);
    });
  });
  return { ...(await listening(server)), bodies, closed };
}

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

function start(command: string, url: string): { child: ChildProcess; ended: Promise<Ended> } {
  const child = spawn('bash', ['-c', `set -o pipefail; ${command}`], {
    env: {
      PATH: process.env.PATH,
      HOME: home,
      CI: 'true',
      GW: gw,
      GW_BASE_URL: url,
      GW_API_KEY: 'canary-key-1234567890',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let out = '';
  let err = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text;
  });
  const ended = new Promise<Ended>((resolve) => {
    child.on('close', (code) => resolve({ code, out, err }));
  });
  return { child, ended };
}
const run = (command: string, url: string) => start(command, url).ended;

test('| head -c1 ends quietly with 0 and closes the connection', async () => {
  const { url, closed } = await serve((write) => {
    const more = setInterval(() => write(chunk('word ')), 5);
    onTestFinished(() => clearInterval(more));
  });
  expect(await run('$GW chat hi | head -c1', url)).toEqual({ code: 0, out: 'w', err: '' });
  await closed;
});

test('the first words are out before the rest has come', async () => {
  let go = () => {};
  const { url } = await serve((write) => {
    write(chunk('first '));
    go = () => {
      write(chunk('last'));
      write(end);
      write('');
    };
  });
  const { child, ended } = start('$GW chat hi', url);
  await new Promise((resolve) => child.stdout?.once('data', resolve));
  go();
  expect(await ended).toEqual({ code: 0, out: 'first last', err: '' });
});

test('bytes go into a pipe and a file unchanged', async () => {
  const text = 'caf\u00e9 \u001b[31m\r\n\u202e 🦊\u0000\n';
  const { url } = await serve((write) => {
    write(chunk(text));
    write(end);
    write('');
  });
  expect(await run('$GW chat hi', url)).toEqual({ code: 0, out: text, err: '' });
  expect(await run('F=$(mktemp); $GW chat hi > "$F"; cat "$F"; rm "$F"', url).then(({ out }) => out)).toBe(
    text,
  );
});

test('a prompt of 30 MB from stdin is sent whole', async () => {
  const { url, bodies } = await serve((write) => {
    write(chunk('ok'));
    write(end);
    write('');
  });
  const ended = await run('head -c 30000000 < <(yes) | $GW chat "what is this?"', url);
  expect(ended).toEqual({ code: 0, out: 'ok', err: '' });
  // JSON writes each newline as two characters.
  expect(bodies[0]).toBeGreaterThan(44_000_000);
});

test('stdin that never closes is explained after two seconds', async () => {
  const { url, bodies } = await serve(() => {});
  const { child, ended } = start('sleep 60 | exec $GW chat hi', url);
  const began = performance.now();
  const said = await new Promise<string>((resolve) => child.stderr?.once('data', resolve));
  expect(said).toMatch(/^waiting for the end of stdin/);
  expect(performance.now() - began).toBeGreaterThan(1900);
  expect(bodies).toEqual([]);
  child.kill('SIGKILL');
  child.stdout?.destroy();
  child.stderr?.destroy();
  await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 100))]);
});

test('an answer that stdout does not take is in its session all the same', async () => {
  const { url } = await serve((write) => {
    write(chunk('word'));
    write(end);
    write('');
  });
  for (const [name, words] of [
    ['text', ''],
    ['reply', '--json'],
  ]) {
    const asked = `$GW chat hi --session ${name} ${words}`;
    expect(await run(`${asked} > /dev/full`, url)).toMatchObject({ code: 1 });
    expect(await run(`${asked} >&-`, url)).toMatchObject({ code: 0, err: '' });
    const { out } = await run(`$GW sessions show ${name} --json`, url);
    const { messages } = JSON.parse(out);
    expect(messages, name).toMatchObject([{}, { content: 'word' }, {}, { content: 'word' }]);
  }
});

test('a slow reader holds the server back', async () => {
  let written = 0;
  const line = chunk('x'.repeat(1000));
  const { url } = await serve((write, socket) => {
    const more = () => {
      while (written < 30_000_000) {
        written += line.length;
        if (!write(line)) {
          socket.once('drain', more);
          return;
        }
      }
      write(end);
      write('');
    };
    more();
  });
  const { child, ended } = start(
    '$GW chat hi | { dd bs=1024 count=2 status=none | wc -c; until [ -e "$HOME/go" ]; do sleep 0.1; done; wc -c; }',
    url,
  );
  await new Promise((resolve) => child.stdout?.once('data', resolve));
  await new Promise((resolve) => setTimeout(resolve, 1000));
  expect(written).toBeLessThan(16_000_000);
  writeFileSync(path.join(home, 'go'), '');
  const { code, out } = await ended;
  expect(code).toBe(0);
  const [first, rest] = out.trim().split(/\s+/).map(Number);
  expect(Number(first) + Number(rest)).toBe(Math.ceil(30_000_000 / line.length) * 1000);
});
