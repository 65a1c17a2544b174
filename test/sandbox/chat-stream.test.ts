import { type ClientRequest, createServer, type IncomingMessage, request } from 'node:http';
import { describe, expect, it } from 'vitest';
import { paceOf } from '../../src/sandbox/chat/answer.ts';
import { deliver } from '../../src/sandbox/deliver.ts';
import { bendEvents, type Fault, parseFaults, type StreamFaultKind } from '../../src/sandbox/faults.ts';
import type { SandboxRequest } from '../../src/sandbox/listener.ts';
import type { SandboxReply } from '../../src/sandbox/reply.ts';
import type { Sandbox } from '../../src/sandbox/server.ts';
import { listening } from '../helpers/listening.ts';
import { completions, eventsOf, geoModel, quick, surfaces } from './chat-fixture.ts';
import { type Answer, auth, CutReply, handClock, json, query } from './fixture.ts';

const faulty = (spec: string) => quick({ faults: parseFaults(spec), now: handClock().now });

describe('the pace', () => {
  it('is so many tokens a second, the first as late as twenty', () => {
    const pace = paceOf({ tokensPerS: 50 });
    expect([pace(0), pace(1), pace(50)]).toEqual([400, 420, 1400]);
    expect(paceOf({ tokensPerS: Number.POSITIVE_INFINITY })(1000)).toBe(0);
  });

  /** Sends a chat request whose reply is read piece by piece. */
  async function begin(at: Sandbox, stream: boolean) {
    const asked = request(`${at.baseUrl}/v1/chat/completions`, {
      method: 'POST',
      headers: { ...auth, 'content-type': 'application/json' },
      agent: false,
    });
    const messages = [{ role: 'user', content: '5 words' }];
    asked.end(JSON.stringify({ model: geoModel, messages, stream, reasoning_effort: 'none' }));
    asked.on('error', () => {});
    while (at.requests.at(-1)?.body === undefined) await new Promise((resolve) => setImmediate(resolve));
    return asked;
  }
  const replyTo = (asked: ClientRequest) =>
    new Promise<IncomingMessage>((resolve) => void asked.once('response', resolve));

  it('holds an answer back until it would be written, streamed or not', async () => {
    const ended: SandboxRequest[] = [];
    const log = (entry: SandboxRequest) => void ended.push(entry);
    const at = await quick({ speed: 1, tokensPerS: 0.001, log });
    for (const stream of [false, true]) {
      const asked = await begin(at, stream);
      const first = await Promise.race([
        replyTo(asked).then(() => 'the chat'),
        query(at, 'x').then(() => 'a query'),
      ]);
      expect(first).toBe('a query');
      asked.destroy();
    }
    // When the client closes its connection, the sandbox ends both requests without an answer.
    const chats = () => ended.filter(({ path }) => path.includes('chat'));
    while (chats().length < 2) await new Promise((resolve) => setImmediate(resolve));
  });

  it.each<[string, Partial<SandboxReply>]>([
    ['a whole reply', { readyAfterMs: 1e9 }],
    ['a stream', { events: [{ text: 'data: 1\n\n', atMs: 1e9 }] }],
    ['a stream that stalls', { events: [{ text: 'data: 1\n\n', atMs: Number.POSITIVE_INFINITY }] }],
  ])('is no longer waited for when the client has gone (%s)', async (_, reply) => {
    let delivered: Promise<void> | undefined;
    const server = createServer((request, response) => {
      const entry = { server: 'api', method: 'GET', path: '/', headers: {}, atMs: 0 } as const;
      const to = {
        request,
        response,
        entry,
        struck: undefined,
        world: { now: () => 0, slowGapMs: 0, speed: 1 },
      };
      delivered = deliver({ status: 200, headers: {}, body: Buffer.from('x'), ...reply }, to);
      asked.destroy();
    });
    const { port } = await listening(server);
    const asked = request({ host: '127.0.0.1', port, agent: false });
    const gone = new Promise<void>(
      (resolve) => void asked.on('error', () => {}).on('close', () => resolve()),
    );
    asked.end();
    await gone;
    await delivered;
  });

  it('runs faster with the speed', async () => {
    const at = await quick({ speed: 1e9, tokensPerS: 0.001 });
    expect((await completions(at, { stream: true })).status).toBe(200);
  });
});

describe('a SPEC for chat', () => {
  it.each<[string, Partial<Fault>]>([
    ['chat:503', { where: 'chat', kind: 'status', status: 503, places: ['chat'] }],
    ['chat:cut:x1', { kind: 'cut', times: 1, places: ['chat'] }],
    ['any:stall', { kind: 'stall', places: ['create', 'chat'] }],
  ])('%s is read', (spec, fault) => {
    expect(parseFaults(spec)).toEqual([expect.objectContaining({ spec, ...fault })]);
  });

  it('strikes chats, not creates and queries', async () => {
    const at = await faulty('chat:429+7:x1,query:500,create:500');
    const refused = await completions(at);
    expect([refused.status, refused.headers['retry-after']]).toEqual([429, '7']);
    expect(json(refused).error.code).toBe('RateLimitExceeded');
    expect((await completions(at)).status).toBe(200);
    expect((await query(at, 'x')).status).toBe(500);
  });
});

it.each<[StreamFaultKind, (string | RegExp)[], (number | undefined)[]]>([
  ['plain-json', ['a\n', 'b\n', 'c\n'], [1, 2, 3]],
  ['odd-form', ['\uFEFFa\r\n', ': keep-', 'alive\r\n', 'b\r\n', ': keep-', 'alive\r\n', 'c\r\n'], []],
  ['unknown-event', ['a\n', 'b\n', /^event: surprise\ndata: \{.+\}\n\n$/, 'c\n'], [1, 2, 3, 3]],
  ['bad-event', ['a\n', 'b\n', /^data: \{"choices":\[\{"delta"\n\n$/, 'c\n'], [1, 2, 3, 3]],
  ['error-event', ['a\n', 'b\n', /^event: error\ndata: \{"type":"error",.*\}\n\n$/], [1, 2, 3]],
  ['long-line', ['a\n', 'b\n', /^: -{1000}/, 'c\n'], [1, 2, 3, 3]],
  ['stall', ['a\n', 'b\n', ''], [1, 2, Number.POSITIVE_INFINITY]],
  ['no-end', ['a\n', 'b\n'], [1, 2]],
  ['end-twice', ['a\n', 'b\n', 'c\n', 'c\n'], [1, 2, 3, 3]],
])('the fault %s bends the events of a stream', (kind, texts, times) => {
  const bent = bendEvents(
    kind,
    ['a\n', 'b\n', 'c\n'].map((text, at) => ({ text, atMs: at + 1 })),
  );
  expect(bent.map(({ text }) => text)).toEqual(
    texts.map((text) => (typeof text === 'string' ? text : expect.stringMatching(text))),
  );
  if (times.length > 0) expect(bent.map(({ atMs }) => atMs)).toEqual(times);
});

describe.each(surfaces)('faults of a stream on $name', ({ say }) => {
  const prompt = 'hello there';
  /** The whole stream without a fault, and the reply with this fault. */
  async function both(spec: string): Promise<[whole: string, struck: Answer]> {
    const whole = await say(await faulty('query:500'), prompt, true);
    return [whole.text, await say(await faulty(`${spec}:x1`), prompt, true)];
  }

  it.each(['cut', 'wrong-length', 'reset-after', 'reset-before'])(
    '%s breaks the connection',
    async (what) => {
      const at = await faulty(`chat:${what}:x1`);
      const error: unknown = await say(at, prompt, true).catch((reason: unknown) => reason);
      expect(error).toMatchObject({ code: 'ECONNRESET' });
      const again = await say(at, prompt, true);
      if (what === 'cut') {
        expect(error).toBeInstanceOf(CutReply);
        const { answer } = error as CutReply;
        expect(answer.bytes.equals(again.bytes.subarray(0, Math.floor(again.bytes.length / 2)))).toBe(true);
        expect(answer.headers).not.toHaveProperty('content-length');
      }
    },
  );

  it('slow comes whole in the end', async () => {
    const [whole, struck] = await both('chat:slow');
    expect(struck.text).toBe(whole);
  });

  it('odd-form is the same stream in another form', async () => {
    const [whole, struck] = await both('chat:odd-form');
    expect(struck.bytes.subarray(0, 3)).toEqual(Buffer.from([0xef, 0xbb, 0xbf]));
    expect(struck.text).toContain('\r\n: keep-alive\r\n');
    expect(struck.text.slice(1).replaceAll('\r\n', '\n').replaceAll(': keep-alive\n', '')).toBe(whole);
  });

  it('plain-json is the reply unstreamed', async () => {
    const [, struck] = await both('chat:plain-json');
    expect(struck.headers['content-type']).toContain('application/json');
    expect(struck.text).toBe((await say(await faulty('query:500'), prompt, false)).text);
  });

  it.each([
    ['unknown-event', 'event: surprise\ndata: {"type":"surprise","surprise":true}\n\n'],
    ['bad-event', 'data: {"choices":[{"delta"\n\n'],
    ['long-line', `: ${'-'.repeat(10 * 1024 * 1024)}\n\n`],
  ])('%s is one event more in the middle', async (what, event) => {
    const [whole, struck] = await both(`chat:${what}`);
    const at = struck.text.indexOf(event);
    expect(at).toBeGreaterThan(whole.length / 4);
    expect(struck.text.slice(0, at) + struck.text.slice(at + event.length)).toBe(whole);
  });

  it('error-event ends the stream in its middle', async () => {
    const [whole, struck] = await both('chat:error-event');
    const events = eventsOf(struck.text);
    expect(events.at(-1)).toMatchObject({ event: 'error', data: { error: { message: expect.any(String) } } });
    expect(events.length).toBeLessThan(eventsOf(whole).length);
  });

  it('no-end lacks the last event, end-twice has it twice', async () => {
    const last = /(?:event: \w+\n)?data: [^\n]*\n\n$/;
    const [whole, without] = await both('chat:no-end');
    expect(without.text).toBe(whole.replace(last, ''));
    const [, twice] = await both('chat:end-twice');
    expect(twice.text).toBe(whole + last.exec(whole)?.[0]);
  });

  it('empty and garbage are 200', async () => {
    const [, empty] = await both('chat:empty');
    expect([empty.status, empty.bytes.length]).toEqual([200, 0]);
    const [, garbage] = await both('chat:garbage');
    expect([garbage.status, garbage.text.endsWith('garbage')]).toEqual([200, true]);
  });

  it('stall falls silent and stays open until the client goes', async () => {
    const at = await faulty('chat:stall');
    const asked = say(at, prompt, true).then(
      () => 'ended',
      (error: unknown) => error,
    );
    while (at.requests.at(-1)?.status === undefined) await new Promise((resolve) => setImmediate(resolve));
    expect(await Promise.race([asked, query(at, 'x').then(() => 'still open')])).toBe('still open');
    await at.close();
    const error = await asked;
    expect(error).toBeInstanceOf(CutReply);
    const { text } = (error as CutReply).answer;
    expect(eventsOf(text).length).toBeGreaterThan(3);
  });

  it('faults of events leave a reply alone that is not streamed', async () => {
    const answer = await say(await faulty('chat:stall'), prompt, false);
    expect(answer.text).toBe((await say(await faulty('query:500'), prompt, false)).text);
  });
});
