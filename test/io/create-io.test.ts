import { describe, expect, test, vi } from 'vitest';
import { ClosedPipe, GwError, Interrupted, usage } from '../../src/errors.ts';
import type { Table } from '../../src/io/io.ts';
import { allModes, type TestIoOptions, testIo } from './memory-host.ts';

const hostile = 'a\x1b[31m\r\u009b\u202eb\tc\n';
const hostileShown = 'a\\x1b[31m\\r\\x9b\\u202eb\tc\n';
const hostileJson = '{"text":"a\\u001b[31m\\r\\u009b\\u202eb\\tc\\n"}';
const hostileLine = 'a\\x1b[31m\\r\\x9b\\u202eb\\tc\\n\n';
const escapes = /\x1b\[[0-9;]*m/g;

const table: Table = {
  columns: [{ name: 'id' }, { name: 'text' }],
  rows: [{ id: 'id-1', cells: ['id-1', hostile] }],
};

function nameOf({ mode, stdout }: TestIoOptions): string {
  const flags = Object.entries(mode ?? {}).flatMap(([flag, isOn]) => (isOn ? [flag] : []));
  return [stdout, ...flags].join(' ');
}

describe.each(allModes().map((options) => [nameOf(options), options] as const))('%s', (_, options) => {
  const isTerminal = options.stdout === 'terminal';
  const { json = false, quiet = false, verbose = false } = options.mode ?? {};

  test('out', async () => {
    const { io, stdout, stderr } = testIo(options);
    await io.out(hostile);
    expect(stdout.text).toBe(isTerminal ? hostileShown : hostile);
    expect(stderr.text).toBe('');
  });

  test('outJsonRows', async () => {
    const { io, stdout } = testIo(options);
    let written = 0;
    async function* rows(count: number) {
      for (let at = 0; at < count; at += 1) yield { text: hostile };
      written = stdout.text.length;
    }
    await io.outJsonRows(rows(0));
    await io.outJsonRows(rows(9_000));
    expect(stdout.text).toBe(`[]\n[${Array(9_000).fill(hostileJson).join(',')}]\n`);
    // However many rows there are, few of them wait to be written.
    expect(written).toBeGreaterThan(stdout.text.length - 200_000);
  });

  test('outJson', async () => {
    const { io, stdout } = testIo(options);
    await io.outJson({ text: hostile });
    expect(stdout.text).toBe(`${hostileJson}\n`);
  });

  test('outBytes', async () => {
    const { io, stdout } = testIo(options);
    const bytes = Uint8Array.of(0, 0xff, 0x1b, 0x9b);
    if (isTerminal) await expect(io.outBytes(bytes)).rejects.toMatchObject({ kind: 'usage' });
    else await io.outBytes(bytes);
    expect(Buffer.concat(stdout.chunks)).toEqual(Buffer.from(isTerminal ? [] : bytes));
  });

  test('table', async () => {
    const { io, stdout } = testIo(options);
    await io.table(table);
    const cell = hostileLine.trimEnd();
    const expected = quiet ? 'id-1\n' : isTerminal ? `ID    TEXT\nid-1  ${cell}\n` : `id-1\t${cell}\n`;
    expect(stdout.text.replaceAll(escapes, '')).toBe(expected);
    if (!isTerminal) expect(stdout.text).not.toContain('\x1b');
  });

  test.each([
    ['warn', `warning: ${hostileLine}`, !quiet],
    ['note', hostileLine, !quiet],
    ['trace', hostileLine, verbose],
  ] as const)('%s', async (call, line, isShown) => {
    const { io, stdout, stderr } = testIo(options);
    io[call](hostile);
    await io.drain();
    expect(stderr.text.replaceAll(escapes, '')).toBe(isShown ? line : '');
    if (!isTerminal) expect(stderr.text).not.toContain('\x1b');
    expect(stdout.text).toBe('');
  });

  test('aside', async () => {
    const { io, stderr } = testIo(options);
    io.aside(hostile);
    await io.drain();
    expect(stderr.text).toBe(isTerminal ? hostileShown : hostile);
  });

  test('error', async () => {
    const { io, stdout, stderr } = testIo(options);
    io.error(usage(hostile, 'do this'));
    await io.drain();
    const text = stderr.text.replaceAll(escapes, '');
    if (json) {
      expect(text).toBe(stderr.text);
      expect(text.match(/\n/g)).toHaveLength(1);
      expect(JSON.parse(text)).toEqual({
        error: { kind: 'usage', message: hostile, hint: 'do this', exit_code: 2 },
      });
    } else {
      expect(text).toBe(`error: ${hostileLine}hint: do this\n`);
    }
    expect(stdout.text).toBe('');
  });

  test('an unexpected error shows its stack only when verbose', async () => {
    const { io, stderr } = testIo(options);
    io.error(new TypeError('boom'));
    await io.drain();
    expect(stderr.text.includes('create-io.test')).toBe(verbose);
    expect(stderr.text).toContain('unexpected error: boom');
  });

  test('a closed pipe is no error', async () => {
    const { io, stdout, stderr } = testIo(options);
    io.error(new ClosedPipe('closed'));
    await io.drain();
    expect(stdout.text + stderr.text).toBe('');
  });

  test('progress', async () => {
    const { io, stdout, stderr } = testIo(options);
    const progress = io.progress();
    progress.task({ id: 'task\n1', status: 'running', elapsedMs: 0 });
    progress.line(hostile);
    progress.stop();
    await io.drain();
    expect(stderr.text).toBe(quiet ? '' : `task\\n1: running\n${hostileLine}`);
    expect(stdout.text).toBe('');
  });

  test('the key is in nothing, whole or in pieces', async () => {
    const key = 'sk-canary-0123456789';
    const { io, stdout, stderr } = testIo(options);
    io.hideSecret(key);
    for (const piece of ['my sk-can', 'ary-012', '3456789 ok\n']) {
      await io.out(piece);
      io.aside(piece);
    }
    await io.out(`${key}\n`);
    await io.outJson({ key, coded: Buffer.from(key).toString('base64') });
    await io.table({ columns: [{ name: 'x' }], rows: [{ id: key, cells: [`${'x'.repeat(490)}${key}`] }] });
    io.warn(key);
    io.note(`${'y'.repeat(490)}${key}`);
    io.trace(encodeURIComponent(key));
    io.error(new GwError('rejected', `bad key ${key}`, { hint: key, requestId: key }));
    io.progress().task({ id: key, status: key, elapsedMs: 0 });
    await io.drain();
    const all = stdout.text + stderr.text;
    expect(all).not.toContain('canary');
    expect(all).not.toContain(Buffer.from(key).toString('base64').slice(0, 12));
    expect(stdout.text.startsWith('my *** ok\n***\n')).toBe(true);
  });
});

describe('colour', () => {
  test('is used for words on a terminal, on both streams', async () => {
    const { io, stdout, stderr } = testIo({ stdout: 'terminal', stderr: 'terminal' });
    io.warn('careful');
    await io.table(table);
    await io.drain();
    expect(stderr.text).toBe('\x1b[33m\x1b[1mwarning:\x1b[22m\x1b[39m careful\n');
    expect(stdout.text).toContain('\x1b[1mID    TEXT\x1b[22m\n');
  });

  test('FORCE_COLOR colours side talk in a pipe, and never a result', async () => {
    const { io, stdout, stderr } = testIo({ env: { FORCE_COLOR: '1' } });
    io.warn('careful');
    await io.table(table);
    await io.drain();
    expect(stderr.text).toContain('\x1b[33m');
    expect(stdout.text).not.toContain('\x1b');
  });

  test.each([
    ['NO_COLOR', { env: { NO_COLOR: '1' } }],
    ['TERM=dumb', { env: { TERM: 'dumb' } }],
    ['--no-color', { noColor: true }],
  ])('%s leaves a terminal plain', async (_, options) => {
    const { io, stdout, stderr } = testIo({ stdout: 'terminal', stderr: 'terminal', ...options });
    io.warn('careful');
    await io.table(table);
    await io.drain();
    expect(stderr.text + stdout.text).not.toContain('\x1b');
  });

  test('lines keep their order while the colouring library is loaded', async () => {
    const { io, stdout, stderr } = testIo({ stdout: 'terminal', stderr: 'terminal' });
    io.note('first');
    io.warn('second');
    io.note('third');
    io.aside('fourth\n');
    io.error(new Interrupted('SIGINT'));
    expect(stderr.text).toBe('first\n');
    const before: string[] = [];
    const write = stdout._write.bind(stdout);
    stdout._write = (chunk, encoding, done) => {
      before.push(stderr.text.replaceAll(escapes, ''));
      write(chunk, encoding, done);
    };
    await io.out('result\n');
    expect(before).toHaveLength(1);
    expect(before[0]).toBe('first\nwarning: second\nthird\nfourth\nerror: interrupted\n');
    expect(stdout.text).toBe('result\n');
  });
});

describe('where two streams meet', () => {
  test('a line on stderr begins on its own line', async () => {
    const { io, stderr } = testIo({ stdout: 'terminal', stderr: 'terminal', noColor: true });
    await io.out('an answer without an end');
    io.note('usage: 12');
    io.aside('thinking');
    io.note('usage: 13');
    expect(stderr.text).toBe('\nusage: 12\nthinking\nusage: 13\n');
  });

  test('an error never shares its line with what was streamed to stderr', async () => {
    const { io, stderr } = testIo({ mode: { json: true } });
    io.aside('half a thou');
    io.error(usage('x'));
    expect(stderr.text.split('\n')[1]).toMatch(/^\{"error"/);
  });
});

describe('stdout that fails', () => {
  test.each(['EPIPE', 'EBADF', 'ERR_STREAM_DESTROYED', 'ECONNRESET'])(
    '%s is a closed pipe, for good',
    async (code) => {
      const { io, stdout } = testIo();
      stdout.failWith = Object.assign(new Error(code), { code });
      await expect(io.out('x')).rejects.toBeInstanceOf(ClosedPipe);
      await expect(io.outJson(1)).rejects.toBeInstanceOf(ClosedPipe);
      await expect(io.drain()).resolves.toBeUndefined();
    },
  );

  test('a full disk is an error with exit code 1 that says so', async () => {
    const { io, stdout } = testIo();
    stdout.failWith = Object.assign(new Error('x'), { code: 'ENOSPC' });
    const error: unknown = await io.out('x').catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ kind: 'internal', exitCode: 1 });
    expect(String(error)).toContain('could not write to stdout: no space left on the device (ENOSPC)');
  });

  test('a terminal that hung up is a closed pipe; an I/O error of a file is not', async () => {
    const eio = Object.assign(new Error('x'), { code: 'EIO' });
    const terminal = testIo({ stdout: 'terminal' });
    terminal.stdout.failWith = eio;
    await expect(terminal.io.out('x')).rejects.toBeInstanceOf(ClosedPipe);
    const file = testIo();
    file.stdout.failWith = eio;
    await expect(file.io.out('x')).rejects.toBeInstanceOf(GwError);
  });

  test('drain throws what no call has thrown', async () => {
    const { io, stdout } = testIo();
    io.hideSecret('sk-secret-0123456');
    await io.out('sk-');
    stdout.failWith = Object.assign(new Error('x'), { code: 'ENOSPC' });
    await expect(io.drain()).rejects.toMatchObject({ kind: 'internal' });
    await expect(io.drain()).resolves.toBeUndefined();
  });

  test('drain does not try again what a failed stdout left behind', async () => {
    const { io, stdout } = testIo();
    io.hideSecret('sk-secret-0123456');
    stdout.failWith = Object.assign(new Error('x'), { code: 'ENOSPC' });
    await expect(io.out('one sk-')).rejects.toMatchObject({ kind: 'internal' });
    await expect(io.drain()).resolves.toBeUndefined();
  });

  test('a stream destroyed beforehand is a closed pipe, and a broken stderr is nothing', async () => {
    const { io, stdout, stderr } = testIo();
    stdout.destroy();
    stderr.destroy();
    await expect(io.out('x')).rejects.toBeInstanceOf(ClosedPipe);
    io.note('x');
    io.error(usage('x'));
    await io.drain();
  });

  test('a failing stderr is nothing', async () => {
    const { io, stderr } = testIo();
    stderr.failWith = Object.assign(new Error('EPIPE'), { code: 'EPIPE' });
    io.note('x');
    io.error(usage('x'));
    await io.drain();
    await io.out('still here');
  });
});

test('out waits until the reader has taken it, and keeps the order', async () => {
  const { io, stdout } = testIo();
  let release: () => void = () => {};
  stdout.hold = new Promise((resolve) => {
    release = resolve;
  });
  const taken = vi.fn();
  const first = io.out('1').then(taken);
  const second = io.out('2');
  const third = io.outBytes(Uint8Array.of(0x33));
  await new Promise((resolve) => setImmediate(resolve));
  expect(taken).not.toHaveBeenCalled();
  expect(stdout.text).toBe('1');
  release();
  await Promise.all([first, second, third]);
  expect(stdout.text).toBe('123');
});

test('what waited is let go by drain and by other results, in order', async () => {
  const { io, stdout } = testIo();
  io.hideSecret('sk-secret-0123456');
  await io.out('one sk-');
  await io.table({ columns: [{ name: 'x' }], rows: [{ id: '', cells: ['cell'] }] });
  await io.out(' half \ud83d');
  expect(stdout.text).toBe('one sk-cell\n half ');
  await io.drain();
  expect(stdout.text).toBe('one sk-cell\n half \ufffd');
});

describe('what is awaited', () => {
  const seen = (text: string) => text.replace(/\x1b\[[0-9;?]*[a-zA-Z]/g, '');
  const terminal = { stdout: 'terminal', stderr: 'terminal', mode: { bars: true } } as const;

  test('is said on a terminal, the last that began, and is gone without a trace', async () => {
    const { io, stderr } = testIo(terminal);
    const first = io.awaiting('the first');
    const second = io.awaiting('the second');
    await vi.waitFor(() => expect(seen(stderr.text)).toContain('the second ('), 60_000);
    second();
    await vi.waitFor(() => expect(seen(stderr.text)).toContain('the first ('), 60_000);
    first();
    const before = stderr.text.length;
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(stderr.text.length).toBe(before);
    // The line is cleared, and the cursor is back at its start.
    expect(stderr.text).toMatch(/\x1b\[(0?J|2?K)[^A-Za-z⠋-⠿]*(\x1b\[\?25h)?\r?$/);
  });

  test('is not said in a pipe, and never over bars', async () => {
    const piped = testIo({ stderr: 'pipe' });
    const stop = piped.io.awaiting('nothing');
    const busy = testIo(terminal);
    const bars = busy.io.progress();
    bars.task({ id: 'vt-1', status: 'running', elapsedMs: 1 });
    const stopBusy = busy.io.awaiting('under the bars');
    await vi.waitFor(() => expect(seen(busy.stderr.text)).toContain('vt-1 running'), 60_000);
    await new Promise((resolve) => setTimeout(resolve, 600));
    stopBusy();
    stop();
    bars.stop();
    await busy.io.drain();
    expect(seen(busy.stderr.text)).not.toContain('under the bars');
    expect(piped.stderr.text).toBe('');
  });
});
