import * as fs from 'node:fs';
import * as path from 'node:path';
import { describe, expect, it } from 'vitest';
import { openSession, parseSessionName } from '../../src/chat/session/session.ts';
import { bundle, runNode } from '../ledger/bundle.ts';
import { answers, exchange, sessionContext, tempDir } from './fixtures.ts';

const appendExchanges = bundle(path.join(import.meta.dirname, 'scripts', 'append-exchanges.ts'));
const sessionsIn = (dir: string) => path.join(dir, 'chat', 'sessions');

describe('the name of a session', () => {
  it.each(['work', 'a', '2026-11-20', 'a.b_c-d', 'x'.repeat(100)])('may be %s', (name) => {
    expect(parseSessionName(name)).toBe(name);
  });
  it.each([
    '',
    '.',
    '..',
    '.hidden',
    '-x',
    'a/b',
    '../x',
    'a b',
    'ä',
    'a\n',
    'x'.repeat(101),
    'con',
    'nul.a',
  ])('may not be %j', (name) => {
    expect(() => parseSessionName(name)).toThrow(/^--session /);
  });
  it('in capitals is answered with the name in small letters', () => {
    expect(() => parseSessionName('My Work')).toThrow(
      expect.objectContaining({ kind: 'usage', facts: { hint: expect.stringContaining(': my-work') } }),
    );
  });
});

it('a conversation is there again in the next run, with what it was held with', async () => {
  const dir = tempDir();
  const first = await openSession('work', {}, sessionContext(dir));
  expect(first.turns).toEqual([]);
  const image = { type: 'image', url: 'data:image/png;base64,AAAA' } as const;
  const turns = [
    { role: 'user', parts: [{ type: 'text', text: 'two\nlines' }, image] },
    { role: 'assistant', text: '', toolCalls: [{ id: 'c', name: 'f', arguments: '{}' }] },
    { role: 'tool', toolCallId: 'c', name: 'f', content: '1' },
    {
      role: 'assistant',
      text: 'done',
      native: { api: 'messages', content: [{ type: 'thinking', signature: 's' }] },
    },
  ] as const;
  await first.append(turns, { api: 'messages', model: 'm', system: 'be brief' });
  expect(first.turns).toEqual(turns);
  const second = await openSession('work', {}, sessionContext(dir));
  expect(second.turns).toEqual(turns);
  expect(second.settings).toEqual({ api: 'messages', model: 'm', system: 'be brief' });
});

it('nothing is written before there is something to store', async () => {
  const dir = tempDir();
  await openSession('work', {}, sessionContext(dir));
  expect(fs.readdirSync(sessionsIn(dir))).toEqual([]);
});

it('only this user can read it, and no lock stays behind', async () => {
  const dir = tempDir();
  const session = await openSession('work', {}, sessionContext(dir));
  await session.append(exchange('a'));
  expect(fs.statSync(session.file).mode & 0o777).toBe(0o600);
  expect(fs.statSync(sessionsIn(dir)).mode & 0o777).toBe(0o700);
  expect(fs.readdirSync(sessionsIn(dir))).toEqual(['work.jsonl']);
});

describe('starting over', () => {
  it('keeps the old conversation as a session of its own, named on stderr', async () => {
    const dir = tempDir();
    await (await openSession('work', {}, sessionContext(dir))).append(exchange('old'));
    const ctx = sessionContext(dir);
    const session = await openSession('work', { fresh: true }, ctx);
    expect(session.turns).toEqual([]);
    await session.append(exchange('new'));
    await session.append(exchange('newer'));
    expect(session.turns).toEqual([...exchange('new'), ...exchange('newer')]);
    expect(ctx.notes).toEqual(['the old conversation is kept: gw chat --session work.20261120t120000z']);
    const old = await openSession('work.20261120t120000z', {}, sessionContext(dir));
    expect(old.turns).toEqual(exchange('old'));
  });

  it('leaves the old one in its place until there is an answer', async () => {
    const dir = tempDir();
    await (await openSession('work', {}, sessionContext(dir))).append(exchange('old'));
    await openSession('work', { fresh: true }, sessionContext(dir));
    expect((await openSession('work', {}, sessionContext(dir))).turns).toEqual(exchange('old'));
  });

  it('twice within a second keeps both', async () => {
    const dir = tempDir();
    for (const word of ['a', 'b', 'c']) {
      await (await openSession('work', { fresh: true }, sessionContext(dir))).append(exchange(word));
    }
    expect(fs.readdirSync(sessionsIn(dir)).sort()).toEqual([
      'work.20261120t120000z-1.jsonl',
      'work.20261120t120000z.jsonl',
      'work.jsonl',
    ]);
  });

  it('works for a name of full length', async () => {
    const dir = tempDir();
    const name = 'x'.repeat(100);
    await (await openSession(name, {}, sessionContext(dir))).append(exchange('old'));
    const ctx = sessionContext(dir);
    await (await openSession(name, { fresh: true }, ctx)).append(exchange('new'));
    const kept = ctx.notes[0]?.split(' ').at(-1) ?? '';
    expect((await openSession(kept, {}, sessionContext(dir))).turns).toEqual(exchange('old'));
  });
});

describe('two processes', () => {
  it('that add at once lose nothing and never mix their exchanges', async () => {
    const dir = tempDir();
    const count = 40;
    const both = ['a', 'b'].map((who) => runNode(appendExchanges, dir, 'work', who, String(count)));
    await Promise.all(both.map(({ finished }) => finished));
    const { turns } = await openSession('work', {}, sessionContext(dir));
    expect(turns).toHaveLength(4 * count);
    for (let at = 0; at < turns.length; at += 2) {
      const asked = turns[at]?.role === 'user' ? turns[at] : undefined;
      const text = asked?.role === 'user' && asked.parts[0]?.type === 'text' ? asked.parts[0].text : '';
      expect(turns[at + 1]).toEqual(answers(text.replace('?', '!')));
    }
    for (const who of ['a', 'b']) {
      const own = turns.filter((turn) => turn.role === 'assistant' && turn.text.startsWith(who));
      expect(own).toEqual(Array.from({ length: count }, (_, at) => answers(`${who}${at}!`)));
    }
  });

  it('see what the other has added when they look again', async () => {
    const dir = tempDir();
    const [mine, other] = [
      await openSession('work', {}, sessionContext(dir)),
      await openSession('work', {}, sessionContext(dir)),
    ];
    await other.append(exchange('other'));
    expect(mine.turns).toEqual([]);
    mine.reload();
    expect(mine.turns).toEqual(exchange('other'));
    await mine.append(exchange('mine'));
    expect(mine.turns).toEqual([...exchange('other'), ...exchange('mine')]);
  });
});

describe('a damaged session', () => {
  it('is read as far as it can be, and what cannot is counted', async () => {
    const dir = tempDir();
    const session = await openSession('work', {}, sessionContext(dir));
    await session.append(exchange('a'));
    fs.appendFileSync(session.file, '{"v":1,"t":0,"turns":[{"role":"us');
    await session.append(exchange('b'));
    fs.appendFileSync(session.file, '\n{"v":1,"t":0,"turns":[{"role":"wizard"}]}\nnull\n');
    const ctx = sessionContext(dir);
    const again = await openSession('work', {}, ctx);
    expect(again.turns).toEqual([...exchange('a'), ...exchange('b')]);
    expect(ctx.warnings).toEqual([
      `session work: 3 exchanges of ${session.file} cannot be read and are left out`,
    ]);
  });

  it('of a newer format is refused', async () => {
    const dir = tempDir();
    fs.mkdirSync(sessionsIn(dir), { recursive: true });
    fs.writeFileSync(path.join(sessionsIn(dir), 'work.jsonl'), '{"v":2,"turns":[]}\n');
    await expect(openSession('work', {}, sessionContext(dir))).rejects.toMatchObject({
      kind: 'usage',
      message: expect.stringContaining('newer gw (format 2'),
    });
  });

  it('that is a directory is refused before anything is sent', async () => {
    const dir = tempDir();
    fs.mkdirSync(path.join(sessionsIn(dir), 'work.jsonl'), { recursive: true });
    await expect(openSession('work', {}, sessionContext(dir))).rejects.toMatchObject({
      kind: 'usage',
      message: expect.stringMatching(/work\.jsonl cannot be used: .*; nothing was sent/),
    });
  });

  it('in a state directory that is a file is refused before anything is sent', async () => {
    const file = path.join(tempDir(), 'file');
    fs.writeFileSync(file, '');
    await expect(openSession('work', {}, sessionContext(file))).rejects.toMatchObject({ kind: 'usage' });
  });
});

it('a lock that another process holds for 10 s is told', async () => {
  const dir = tempDir();
  const session = await openSession('work', {}, sessionContext(dir));
  const { ownIdentity } = await import('../../src/disk/lock-file.ts');
  const holder = { ...ownIdentity(), nonce: 'ab', atMs: Date.UTC(2026, 10, 20, 12) };
  fs.writeFileSync(path.join(sessionsIn(dir), 'work.lock'), JSON.stringify(holder));
  await expect(session.append(exchange('a'))).rejects.toMatchObject({
    kind: 'usage',
    message: expect.stringContaining('has held'),
  });
});
