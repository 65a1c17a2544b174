// A conversation on the real terminal with a made-up model, whose answer depends on the question.
import { setTimeout as delay } from 'node:timers/promises';
import type { ChatAnswer } from '../../../src/chat/chat.ts';
import { type Ask, startConversation } from '../../../src/chat/repl/start-conversation.ts';
import { openSession } from '../../../src/chat/session/session.ts';
import { readImages } from '../../../src/commands/chat/read-question.ts';
import type { Context } from '../../../src/context.ts';
import { GwError, Interrupted } from '../../../src/errors.ts';
import { createIo, readOutputMode } from '../../../src/io/create-io.ts';

const [sessionName] = process.argv.slice(2);
const abort = new AbortController();
const clock = {
  now: Date.now,
  steady: () => performance.now(),
  sleep: (ms: number, signal?: AbortSignal) => delay(ms, undefined, signal ? { signal } : {}),
};
const host = {
  env: process.env,
  cwd: process.cwd(),
  platform: process.platform,
  homeDir: process.env.HOME,
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  clock,
  guardTerminal: async () => () => {},
};
const io = createIo({ host, mode: readOutputMode({}, host) });
io.hideSecret('canary-key-5f1d8c7e9ab24d60');
const ctx = { host, io, clock, globals: {}, signal: abort.signal } as unknown as Context;
process.once('SIGTERM', () => abort.abort(new Interrupted('SIGTERM')));

const RICH = `# A title

Some **bold** words, a [link](https://example.com) and \`code\`.

- one
- two

| name | count |
|------|------:|
| a | 1 |
| b | 22 |

\`\`\`js
const x = 1;
\`\`\`

> a quote, and the end`;

function answerTo(question: string, turns: number): string {
  if (question.startsWith('echo ')) return `<${question.slice(5)}>`;
  if (question === 'rich') return RICH;
  if (question === 'hostile') return 'red \x1b[31m &#27;[31m \u202e end, canary-key-5f1d8c7e9ab24d60';
  if (question === 'pid') return `pid ${process.pid}`;
  if (question === 'turns') return `turns so far: ${turns}`;
  return `you said ${JSON.stringify(question)}`;
}

const ask: Ask = async ({ turns, system, model, signal }, onEvent) => {
  const last = turns.at(-1);
  const first = last?.role === 'user' ? last.parts[0] : undefined;
  const question =
    last?.role === 'tool' ? `result ${last.content}` : first?.type === 'text' ? first.text : '';
  if (question === 'fail') throw new GwError('unavailable', 'the gateway is away');
  const images = last?.role === 'user' ? last.parts.length - 1 : 0;
  const told = question === 'state' ? `model ${model}, system ${system}, images ${images}` : undefined;
  let text = '';
  const say = async (piece: string) => {
    text += piece;
    await onEvent({ type: 'text', text: piece });
  };
  if (question === 'late') await delay(3_000, undefined, { signal });
  if (question === 'slow') {
    for (let count = 0; count < 10_000; count += 1) {
      await say(`word${count} `);
      await delay(5, undefined, { signal });
    }
  }
  const calls = question === 'call' ? [{ id: 'c1', name: 'weather', arguments: '{"city":"Rome"}' }] : [];
  if (question === 'notes') {
    // Notes during an answer, and after it while the next line is being typed.
    io.note('a note before');
    await say('begin ');
    io.note('a note amid');
    await say('end');
    setTimeout(() => io.warn('a late note'), 300);
  } else if (calls.length === 0) {
    for (const piece of (told ?? answerTo(question, turns.length)).match(/[\s\S]{1,7}/g) ?? [])
      await say(piece);
  }
  const answer: ChatAnswer = {
    text,
    hasText: text !== '',
    toolCalls: calls,
    finishReason: 'stop',
    usage: {},
    ...(question === 'twice' && { further: [{ text: 'and **another**', finishReason: 'stop' }] }),
    turn: { role: 'assistant', text, ...(calls.length > 0 && { toolCalls: calls }) },
    reply: {},
  };
  return answer;
};

const run = async () => {
  try {
    const session = sessionName ? await openSession(sessionName, {}, ctx) : undefined;
    await startConversation(
      {
        api: 'completions',
        model: 'geo-3.6-flash',
        models: ['geo-3.6-flash', 'geo-3.7-flash'],
        session,
        ask,
        readImages: (references) => readImages(references, ctx, '/image'),
      },
      ctx,
    );
    await io.drain();
    console.log('LEFT');
  } catch (error) {
    io.error(error);
    await io.drain();
    console.log('ENDED', error instanceof Error ? error.message : error);
  }
};
void run();
