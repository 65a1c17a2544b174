import { spawn, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { describe, expect, it, onTestFinished } from 'vitest';
import { MB } from '../../src/gateway/limits.ts';
import type { Clock } from '../../src/host.ts';
import { readPipedPrompt } from '../../src/media/piped-prompt.ts';
import { readTypedText } from '../../src/media/text-input.ts';
import { sparse, temporaryDirectory } from './fixtures.ts';

/** A clock that moves only when the test moves it. */
function scriptedClock(): Clock & { advance(ms: number): Promise<void> } {
  let nowMs = 0;
  const sleepers = new Set<{ untilMs: number; wake: () => void }>();
  return {
    now: () => nowMs,
    steady: () => nowMs,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        const sleeper = { untilMs: nowMs + ms, wake: resolve };
        sleepers.add(sleeper);
        signal?.addEventListener('abort', () => reject(signal.reason));
      }),
    async advance(ms) {
      nowMs += ms;
      for (const sleeper of sleepers) {
        if (sleeper.untilMs > nowMs) continue;
        sleepers.delete(sleeper);
        sleeper.wake();
      }
      await new Promise(setImmediate);
    },
  };
}

const none = () => Readable.from([]);
/** The text that is read, and the notes that are printed meanwhile. */
const notes: string[] = [];
const readTyped = (typed: { text?: string; file?: string }, cwd = '/', stdin: Readable = none()) =>
  readTypedText(
    { flag: '--prompt', text: undefined, file: undefined, ...typed },
    { cwd, stdin, note: (text) => notes.push(text) },
  );
const read = (file: string, cwd = '/', stdin: Readable = none()) => readTyped({ file }, cwd, stdin);

function withFile(content: string | Uint8Array, name = 'p.txt') {
  const cwd = temporaryDirectory();
  fs.writeFileSync(path.join(cwd, name), content);
  return cwd;
}

describe('readTypedText', () => {
  it.each([
    'a fox',
    '',
    'mail@example.com',
    '--',
    'a\n',
    '@',
    '@-',
    '@none.txt',
    '@/proc/self/environ',
    ' -',
  ])('takes %j as the text itself', async (text) => {
    expect(await readTyped({ text })).toBe(text);
  });

  it('says once that a file is there whose name stands behind an @', async () => {
    const cwd = withFile('a fox');
    notes.length = 0;
    expect(await readTyped({ text: '@p.txt' }, cwd)).toBe('@p.txt');
    expect(await readTyped({ text: '@p.txt runs' }, cwd)).toBe('@p.txt runs');
    expect(notes).toEqual(['@p.txt is sent as it stands; --prompt-file p.txt sends what the file holds']);
  });

  it('takes a text or a file, not both, and is nothing where neither is given', async () => {
    expect(await readTyped({})).toBeUndefined();
    await expect(readTyped({ text: 'a', file: 'b' })).rejects.toThrow(
      '--prompt and --prompt-file both give the text',
    );
    await expect(read('')).rejects.toThrow('--prompt-file is empty');
  });

  it.each([
    ['a fox', 'a fox'],
    ['a fox\n', 'a fox'],
    ['a fox\r\n', 'a fox'],
    ['a fox\n\n', 'a fox\n'],
    ['\uFEFFa fox', 'a fox'],
    ['', ''],
    ['\uFFFD 🦊 \0', '\uFFFD 🦊 \0'],
  ])('reads a file of %j', async (content, text) => {
    expect(await read('p.txt', withFile(content))).toBe(text);
  });

  it.each([{ text: '-' }, { file: '-' }])('reads stdin for %j, however it is cut', async (typed) => {
    const bytes = Buffer.from('\uFEFFein Fuchs 🦊\n');
    expect(await readTyped(typed, '/', Readable.from([...bytes].map((byte) => Buffer.from([byte]))))).toBe(
      'ein Fuchs 🦊',
    );
  });

  it('says that stdin can be read once only', async () => {
    const stdin = Readable.from(['a']);
    await read('-', '/', stdin);
    await expect(read('-', '/', stdin)).rejects.toThrow('--prompt-file -: stdin has been read already');
  });

  it('refuses what is no text file', async () => {
    const cwd = temporaryDirectory();
    await expect(read('none.txt', cwd)).rejects.toMatchObject({
      kind: 'usage',
      message: '--prompt-file none.txt: no such file',
    });
    await expect(read('.', cwd)).rejects.toThrow('--prompt-file .: is a directory, not a file');
    await expect(read('/dev/zero', cwd)).rejects.toThrow('is a device, not a file');
  });

  it.each<[number, number[]]>([
    [0, [0xff]],
    [3, [0x61, 0xc3, 0xa9, 0xc3, 0x28]],
    [4, [0x61, 0x62, 0x63, 0x64, 0xe2, 0x82]],
    [3, [0xef, 0xbf, 0xbd, 0x80]],
    [3, [0xef, 0xbb, 0xbf, 0xfe]],
    [0, [0xed, 0xa0, 0x80]],
  ])('names offset %i of the first byte that is not UTF-8 (%#)', async (offset, bytes) => {
    await expect(read('p.txt', withFile(Buffer.from(bytes)))).rejects.toThrow(
      `--prompt-file p.txt: not UTF-8 text: the byte at offset ${offset} does not belong to it`,
    );
  });

  it('guesses UTF-16', async () => {
    await expect(read('p.txt', withFile(Buffer.from('\uFEFFfox', 'utf16le')))).rejects.toMatchObject({
      facts: { hint: 'it looks like UTF-16: save it as UTF-8' },
    });
  });

  it('reads 16 MB and not a byte more', async () => {
    const cwd = temporaryDirectory();
    sparse(path.join(cwd, 'at.txt'), Buffer.from('a'), 16 * MB);
    sparse(path.join(cwd, 'over.txt'), Buffer.from('a'), 16 * MB + 1);
    expect(await read('at.txt', cwd)).toHaveLength(16 * MB);
    await expect(read('over.txt', cwd)).rejects.toThrow('is larger than 16 MB');
    const endless = Readable.from(
      (function* () {
        for (;;) yield Buffer.alloc(MB);
      })(),
    );
    await expect(read('-', '/', endless)).rejects.toThrow('is larger than 16 MB');
    expect(endless.destroyed).toBe(true);
  });

  it('reads a pipe that another process fills', async () => {
    const cwd = temporaryDirectory();
    const fifo = path.join(cwd, 'fifo');
    expect(spawnSync('mkfifo', [fifo]).status).toBe(0);
    // The writer opens its end before it writes the first byte, as the shell does for <(command).
    const writer = spawn('sh', [
      '-c',
      'exec 3<>"$0"; echo ready; sleep 0.1; printf fox >&3; read line',
      fifo,
    ]);
    onTestFinished(() => {
      writer.kill();
    });
    await new Promise((resolve) => writer.stdout.once('data', resolve));
    const text = read('fifo', cwd);
    setTimeout(() => writer.stdin.end('\n'), 200);
    expect(await text).toBe('fox');
  });

  it('ends with the signal', async () => {
    const controller = new AbortController();
    const stdin = new PassThrough();
    const text = readTypedText(
      { flag: '--prompt', text: '-', file: undefined },
      { cwd: '/', stdin, signal: controller.signal, note: () => {} },
    );
    controller.abort(new Error('interrupted'));
    await expect(text).rejects.toThrow('interrupted');
    expect(stdin.destroyed).toBe(true);
  });
});

describe('readPipedPrompt', () => {
  const prompt = (stdin: Readable & { isTTY?: boolean; fd?: number }) =>
    readPipedPrompt(stdin, { clock: scriptedClock(), onWaiting: () => {} });

  it('is what was piped in', async () => {
    expect(await prompt(Readable.from(['a ', 'fox\n']))).toBe('a fox');
  });

  it('is nothing on a terminal, for an empty stdin, and for one that was read or closed', async () => {
    expect(await prompt(Object.assign(Readable.from(['x']), { isTTY: true }))).toBeUndefined();
    expect(await prompt(none())).toBeUndefined();
    const read = Readable.from(['x']);
    await prompt(read);
    expect(await prompt(read)).toBeUndefined();
    expect(await prompt(Object.assign(Readable.from(['x']), { fd: 987_654 }))).toBeUndefined();
  });

  it('is nothing from a device, and the content of a file', async () => {
    const device = fs.openSync('/dev/null', 'r');
    const file = fs.openSync(path.join(withFile('a fox'), 'p.txt'), 'r');
    onTestFinished(() => {
      fs.closeSync(device);
      fs.closeSync(file);
    });
    expect(await prompt(Object.assign(Readable.from(['x']), { fd: device }))).toBeUndefined();
    expect(await prompt(Object.assign(Readable.from(['x']), { fd: file }))).toBe('x');
  });

  it('says once that it waits, after 2 s of silence', async () => {
    const clock = scriptedClock();
    const stdin = new PassThrough();
    let told = 0;
    const text = readPipedPrompt(stdin, { clock, onWaiting: () => (told += 1) });
    await clock.advance(1999);
    expect(told).toBe(0);
    stdin.write('a ');
    await clock.advance(1);
    expect(told).toBe(0);
    await clock.advance(1999);
    expect(told).toBe(1);
    await clock.advance(60_000);
    expect(told).toBe(1);
    stdin.end('fox');
    expect(await text).toBe('a fox');
  });

  it('says nothing when all came in time, and leaves no sleep behind', async () => {
    const clock = scriptedClock();
    let told = 0;
    expect(await readPipedPrompt(Readable.from(['fox']), { clock, onWaiting: () => (told += 1) })).toBe(
      'fox',
    );
    await clock.advance(10_000);
    expect(told).toBe(0);
  });

  it('fails with the stream', async () => {
    const stdin = new Readable({ read() {} });
    const text = prompt(stdin);
    stdin.destroy(Object.assign(new Error('x'), { code: 'EIO' }));
    await expect(text).rejects.toThrow('stdin: cannot be read (EIO)');
  });
});
