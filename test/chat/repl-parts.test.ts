import * as fs from 'node:fs';
import * as path from 'node:path';
import { describe, expect, it } from 'vitest';
import { completerFor, expandHome, parseCommand, splitWords } from '../../src/chat/repl/commands.ts';
import { Conversation, saveConversation } from '../../src/chat/repl/conversation.ts';
import { foldPaste } from '../../src/chat/repl/line-editor.ts';
import { openHistory } from '../../src/chat/repl/start-conversation.ts';
import { openSession } from '../../src/chat/session/session.ts';
import { answers, exchange, KEY, sessionContext, tempDir } from './fixtures.ts';

describe('a line is a command', () => {
  it.each([
    ['/help', { name: 'help', rest: '' }],
    ['/', { name: '', rest: '' }],
    ['/system  be brief\nand kind ', { name: 'system', rest: 'be brief\nand kind' }],
    ['/etc/passwd is what?', undefined],
    ['/** a comment */', undefined],
    [' /help', undefined],
    ['what is /help', undefined],
  ])('%j: %j', (line, command) => {
    expect(parseCommand(line)).toEqual(command);
  });
});

describe('words', () => {
  it.each([
    ['a b  c', ['a', 'b', 'c']],
    ['a\\ b "c d" \'e f\'', ['a b', 'c d', 'e f']],
    ['"a \\"b\\" \\n"', ['a "b" \\n']],
    ["x'y z'w", ['xy zw']],
    ['""', ['']],
    ['  ', []],
  ])('of %j are %j', (text, words) => {
    expect(splitWords(text)).toEqual(words);
  });
  it.each(['"open', "it's", 'a\\'])('cannot be told in %j', (text) => {
    expect(() => splitWords(text)).toThrow('does not end');
  });
});

describe('a pasted block', () => {
  it('loses control characters and the newline at its end', () => {
    expect(foldPaste('a\r\nb\rc\x1b[31m\x07\n\n', new Map())).toBe('a\nb\nc[31m');
  });
  it('that is long becomes a word, each its own', () => {
    const pastes = new Map();
    expect(foldPaste('x\n'.repeat(13), pastes)).toBe('[paste 1: 13 lines]');
    expect(foldPaste('y'.repeat(1001), pastes)).toBe('[paste 2: 1001 characters]');
    expect([...pastes.values()].map((text: string) => text.length)).toEqual([25, 1001]);
  });
});

describe('completion', () => {
  it('knows the commands', () => {
    const complete = completerFor({ cwd: '/', homeDir: undefined });
    expect(complete('/s')).toEqual([['/system', '/save'], '/s']);
    expect(complete('/mo')).toEqual([['/model '], '/mo']);
    expect(complete('/r')).toEqual([['/raw '], '/r']);
    expect(complete('hello /s')).toEqual([[], 'hello /s']);
  });
  it('knows the models behind /model', () => {
    const complete = completerFor({ cwd: '/', homeDir: undefined }, ['geo-3.6-flash', 'geo-4', 'other']);
    expect(complete('/model geo-3')).toEqual([['geo-3.6-flash'], 'geo-3']);
    expect(complete('/model ')).toEqual([['geo-3.6-flash', 'geo-4', 'other'], '']);
    expect(complete('/model geo-4 x')).toEqual([[], '/model geo-4 x']);
  });
  it('knows paths, and offers no name that could drive the terminal', () => {
    const dir = tempDir();
    for (const name of ['a b.png', 'ab.png', '.hidden', 'a\x1b[31m', 'a\nb'])
      fs.writeFileSync(path.join(dir, name), '');
    fs.mkdirSync(path.join(dir, 'sub'));
    fs.writeFileSync(path.join(dir, 'sub', 'x.png'), '');
    const complete = completerFor({ cwd: dir, homeDir: dir });
    const [matches, typed] = complete('/image a');
    expect([...matches].sort()).toEqual(['a\\ b.png', 'ab.png']);
    expect(typed).toBe('a');
    expect(complete('/image ab.png a\\ ')).toEqual([['a\\ b.png'], 'a\\ ']);
    expect(complete('/save su')).toEqual([['sub/'], 'su']);
    expect(complete('/image ~/sub/')).toEqual([['~/sub/x.png'], '~/sub/']);
    expect(complete('/image nowhere/')).toEqual([[], 'nowhere/']);
  });
  it('expands a home only where one stands', () => {
    expect(expandHome('~/a', '/home/u')).toBe('/home/u/a');
    expect(expandHome('~a', '/home/u')).toBe('~a');
    expect(expandHome('~', undefined)).toBe('~');
  });
});

describe('a saved conversation', () => {
  const conversation = {
    system: 'be brief',
    turns: [
      {
        role: 'user',
        parts: [
          { type: 'text', text: 'see' },
          { type: 'image', url: 'https://e.com/a.png' },
        ],
      },
      { role: 'assistant', text: '', toolCalls: [{ id: 'c', name: 'f', arguments: '{}' }] },
      { role: 'tool', toolCallId: 'c', name: 'f', content: KEY },
      answers('done'),
    ],
  } as const;
  const options = (dir: string) => ({
    host: {
      cwd: dir,
      homeDir: dir,
      clock: { now: () => Date.UTC(2026, 10, 20, 12), steady: () => 0, sleep: async () => {} },
    },
    hideSecret: (text: string) => text.replaceAll(KEY, '***'),
  });

  it('is one that --messages reads, where its name ends in .json', () => {
    const dir = tempDir();
    const file = saveConversation(conversation, '~/talk.json', options(dir));
    expect(file).toBe(path.join(dir, 'talk.json'));
    expect(JSON.parse(fs.readFileSync(file, 'utf8'))).toEqual([
      { role: 'system', content: 'be brief' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'see' },
          { type: 'image_url', image_url: { url: 'https://e.com/a.png' } },
        ],
      },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'c', content: '***' },
      { role: 'assistant', content: 'done' },
    ]);
  });

  it('has a name of its own where none is given, and never takes the place of a file', () => {
    const dir = tempDir();
    const names = [1, 2, 3].map(() => path.basename(saveConversation(conversation, undefined, options(dir))));
    expect(names).toEqual([
      'chat-20261120-120000.md',
      'chat-20261120-120000-1.md',
      'chat-20261120-120000-2.md',
    ]);
    expect(fs.readFileSync(path.join(dir, names[0] ?? ''), 'utf8')).toMatch(
      /^## System\n\nbe brief\n\n## You\n/,
    );
  });

  it('that cannot be written is told with its path', () => {
    const dir = tempDir();
    expect(() => saveConversation(conversation, 'no/such/dir.md', options(dir))).toThrow(
      /^\/save .*no\/such\/dir\.md: the file cannot be written: a part of the path is missing/,
    );
    expect(() => saveConversation({ turns: [], system: undefined }, undefined, options(dir))).toThrow(
      'nothing to save',
    );
  });
});

it('a session keeps the tools that its conversation was begun with', async () => {
  const dir = tempDir();
  const tools = [{ name: 'weather' }];
  const start = { model: 'geo-3.6-flash', system: undefined, held: { tools } };
  const session = await openSession('talk', {}, sessionContext(dir));
  await new Conversation('completions', start, session).add(exchange('one'));
  const again = await openSession('talk', {}, sessionContext(dir));
  expect(again.settings).toEqual({ api: 'completions', model: 'geo-3.6-flash', tools });
});

describe('the history', () => {
  it('is cut to the newest lines when it has grown', () => {
    const dir = tempDir();
    const file = path.join(dir, 'chat', 'history.jsonl');
    fs.mkdirSync(path.dirname(file));
    fs.writeFileSync(file, Array.from({ length: 2_500 }, (_, at) => `"${at}"\n`).join(''));
    const { lines } = openHistory(sessionContext(dir));
    expect([lines.length, lines[0], lines.at(-1)]).toEqual([1_000, '2499', '1500']);
    expect(fs.statSync(file).mode & 0o777).toBe(0o600);
    expect(fs.readdirSync(path.dirname(file))).toEqual(['history.jsonl']);
    expect(openHistory(sessionContext(dir)).lines).toEqual(lines);
  });
  it('leaves out torn lines and repetitions', () => {
    const dir = tempDir();
    fs.mkdirSync(path.join(dir, 'chat'));
    fs.writeFileSync(path.join(dir, 'chat', 'history.jsonl'), '"a"\n"a"\n"tor\n7\n"b"\n');
    expect(openHistory(sessionContext(dir)).lines).toEqual(['b', 'a']);
  });
  it('that cannot be used is warned of once and no reason not to talk', () => {
    const dir = tempDir();
    fs.writeFileSync(path.join(dir, 'chat'), '');
    const ctx = sessionContext(dir);
    const history = openHistory(ctx);
    history.add('one');
    history.add('two');
    expect(history.lines).toEqual([]);
    expect(ctx.warnings).toEqual([expect.stringMatching(/^the history .* cannot be used: /)]);
  });
});
