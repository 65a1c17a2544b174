import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { RunProgress } from '../../src/io/io.ts';
import { LiveRegion } from '../../src/io/live-region.ts';
import { type TestIo, testIo } from './memory-host.ts';
import { Screen } from './screen.ts';

const bars = { mode: { bars: true }, stdout: 'terminal', stderr: 'terminal', noColor: true } as const;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Waits until the libraries are loaded, then lets one frame be drawn. */
async function frame(world: TestIo): Promise<void> {
  await vi.dynamicImportSettled();
  world.clock.nowMs += 100;
  await vi.advanceTimersByTimeAsync(100);
}

function screenOf(world: TestIo, columns = 80): Screen {
  return new Screen(columns).write(asTerminal(world.stderr.text));
}

function asTerminal(text: string): string {
  return text.replaceAll('\n', '\r\n');
}

function running(progress: RunProgress, id: string, percent: number | undefined): void {
  progress.task({ id, status: 'running', elapsedMs: 10_000, percent });
}

describe('bars on a terminal', () => {
  test('a row a task and a row a download, drawn in place', async () => {
    const world = testIo(bars);
    const progress = world.io.progress();
    progress.whole({ done: 1, failed: 0, total: 4 });
    running(progress, 'task-1', 50);
    running(progress, 'task-2', undefined);
    progress.download({ name: 'clip.mp4', bytes: 1_000_000, totalBytes: 4_000_000 });
    await frame(world);
    running(progress, 'task-1', 75);
    await frame(world);
    const shown = screenOf(world).shown();
    expect(shown).toHaveLength(4);
    expect(shown[0]).toMatch(/^\S 1 of 4 done {2}█+░+ {2}25 %$/);
    expect(shown[1]).toMatch(/^\S task-1 running {2}█+░+ {2}75 % {2}10 s$/);
    expect(shown[2]).toMatch(/^\S task-2 running {2}░*█+░* {2}10 s$/);
    expect(shown[3]).toMatch(/^\S clip\.mp4 {2}█+░+ {2}1\.0 MB of 4\.0 MB {2}25 %$/);
    expect(screenOf(world).unknown).toEqual([]);
    expect(screenOf(world).cursorIsHidden).toBe(true);
    progress.stop();
    expect(screenOf(world).shown()).toEqual([]);
    expect(screenOf(world).cursorIsHidden).toBe(false);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('nothing is written between frames that look the same', async () => {
    const world = testIo(bars);
    const progress = world.io.progress();
    progress.whole({ done: 1, failed: 0, total: 4 });
    await frame(world);
    const frames = world.stderr.chunks.length;
    world.stderr.emit('resize');
    expect(world.stderr.chunks.length).toBeGreaterThan(frames);
    expect(screenOf(world).shown()[0]).toContain('1 of 4 done');
    const writes = world.stderr.chunks.length;
    for (let turn = 0; turn < 5; turn++) await frame(world);
    expect(world.stderr.chunks.length).toBeLessThanOrEqual(writes + 5);
    progress.stop();
  });

  test('notes, warnings and results go above and tear nothing', async () => {
    const world = testIo(bars);
    const both = new Screen(80);
    for (const stream of [world.stdout, world.stderr]) {
      const write = stream._write.bind(stream);
      stream._write = (chunk, encoding, done) => {
        both.write(asTerminal(chunk.toString()));
        write(chunk, encoding, done);
      };
    }
    const progress = world.io.progress();
    running(progress, 'task-1', 10);
    running(progress, 'task-2', 20);
    await frame(world);
    world.io.note('a note');
    world.io.warn(`a long warning ${'w'.repeat(100)}`);
    progress.line('a line');
    await world.io.out('result 1\nresult 2 begins');
    await frame(world);
    expect(both.shown()).toEqual([
      'a note',
      // A word that fits into a line is not broken.
      'warning: a long warning',
      'w'.repeat(80),
      'w'.repeat(100 - 80),
      'a line',
      'result 1',
      'result 2 begins',
    ]);
    await world.io.out(' and ends\n');
    await frame(world);
    expect(both.shown().slice(6, 7)).toEqual(['result 2 begins and ends']);
    expect(both.shown()[7]).toContain('task-1');
    expect(both.shown()[8]).toContain('task-2');
    expect(both.shown()).toHaveLength(9);
    progress.stop();
    expect(both.shown()).toHaveLength(7);
    expect(both.unknown).toEqual([]);
  });

  test('what ends stays as a line, once', async () => {
    const world = testIo(bars);
    const progress = world.io.progress();
    running(progress, 'task-1', 10);
    running(progress, 'task-2', 20);
    await frame(world);
    progress.task({ id: 'task-1', status: 'succeeded', elapsedMs: 80_000 });
    progress.task({ id: 'task-1', status: 'succeeded', elapsedMs: 80_000 });
    progress.task({ id: 'task-2', status: 'failed', elapsedMs: 90_000 });
    progress.download({ name: 'a.mp4', bytes: 1, totalBytes: 3_400_000 });
    world.clock.nowMs += 2_000;
    progress.download({ name: 'a.mp4', bytes: 3_400_000, totalBytes: 3_400_000 });
    await frame(world);
    expect(screenOf(world).shown()).toEqual([
      '✓ task-1 succeeded after 1 min 20 s',
      '✗ task-2 failed after 1 min 30 s',
      '✓ a.mp4 3.4 MB in 2 s',
    ]);
    expect(screenOf(world).cursorIsHidden).toBe(false);
    progress.stop();
  });

  test('time goes on between updates', async () => {
    const world = testIo(bars);
    const progress = world.io.progress();
    progress.task({ id: 'task-1', status: 'running', elapsedMs: 10_000, estimateMs: 100_000 });
    await frame(world);
    expect(screenOf(world).shown()[0]).toContain('~10 %');
    world.clock.nowMs += 40_000;
    await frame(world);
    expect(screenOf(world).shown()[0]).toMatch(/~50 % {2}50 s {2}about 49 s left$/);
    progress.stop();
  });

  test('more rows than the terminal has are counted by where they stand', async () => {
    const world = testIo({ ...bars, rows: 5 });
    const progress = world.io.progress();
    for (let number = 1; number <= 9; number++) running(progress, `task-${number}`, number);
    for (const id of ['task-7', 'task-9']) progress.task({ id, status: 'queued', elapsedMs: 10_000 });
    await frame(world);
    expect(screenOf(world).shown()).toHaveLength(4);
    expect(screenOf(world).shown()[3]).toBe('… and 6 more: 4 running, 2 queued');
    running(progress, 'task-9', 10);
    await frame(world);
    expect(screenOf(world).shown()[3]).toBe('… and 6 more: 5 running, 1 queued');
    progress.stop();
    expect(screenOf(world).shown()).toEqual([]);
  });

  test('a row that ends makes room for the next, and what is downloaded is shown before what waits', async () => {
    const world = testIo({ ...bars, rows: 5 });
    const progress = world.io.progress();
    for (let number = 1; number <= 5; number++) running(progress, `task-${number}`, number);
    await frame(world);
    progress.task({ id: 'task-1', status: 'succeeded', elapsedMs: 10_000 });
    progress.download({ name: 'one.mp4', bytes: 1, totalBytes: 2 });
    await frame(world);
    const shown = screenOf(world).shown();
    expect(shown[0]).toBe('✓ task-1 succeeded after 10 s');
    expect(shown.slice(1).map((line) => line.split(' ').slice(0, 4).join(' '))).toEqual([
      expect.stringMatching(/ task-2 running/),
      expect.stringMatching(/ task-3 running/),
      expect.stringMatching(/ one\.mp4 /),
      '… and 2 more:',
    ]);
    expect(shown).toHaveLength(5);
    progress.stop();
  });

  test('what has ended and waits to be saved is not lost, and gives way to all else', async () => {
    const world = testIo({ ...bars, rows: 6 });
    const progress = world.io.progress();
    for (let number = 1; number <= 6; number++) running(progress, `task-${number}`, number);
    await frame(world);
    const waits = (id: string) => {
      progress.task({ id, status: 'succeeded', elapsedMs: 10_000 });
      progress.download({ name: id, bytes: 0, totalBytes: undefined, isWaiting: true });
    };
    for (const id of ['task-1', 'task-2', 'task-3', 'task-4']) waits(id);
    await frame(world);
    const rows = () =>
      screenOf(world)
        .shown()
        .slice(-5)
        .map((line) => line.replace(/^. | {2}.*$/g, ''));
    expect(rows()).toEqual([
      ...['task-5 running', 'task-6 running', 'task-1 waiting to be saved', 'task-2 waiting to be saved'],
      'and 2 more: 2 waiting to be saved',
    ]);
    progress.download({ name: 'task-1', bytes: 1, totalBytes: 2 });
    await frame(world);
    expect(rows().slice(2)).toEqual([
      'task-2 waiting to be saved',
      'task-1',
      'and 2 more: 2 waiting to be saved',
    ]);
    progress.stop();
  });

  test('a line that tells of an end never stands above the row as it was before', async () => {
    const world = testIo(bars);
    const progress = world.io.progress();
    for (const id of ['task-1', 'task-2']) running(progress, id, 1);
    await frame(world);
    progress.task({ id: 'task-1', status: 'succeeded', elapsedMs: 10_000 });
    const [line, ...rest] = screenOf(world).shown();
    expect(line).toContain('task-1 succeeded');
    expect(rest.join()).not.toContain('task-1');
    progress.stop();
  });

  test('a taller terminal shows more rows', async () => {
    const world = testIo({ ...bars, rows: 5 });
    const progress = world.io.progress();
    for (let number = 1; number <= 9; number++) running(progress, `task-${number}`, number);
    await frame(world);
    world.stderr.rows = 20;
    world.stderr.emit('resize');
    await frame(world);
    expect(screenOf(world).shown()).toHaveLength(9);
    progress.stop();
    expect(vi.getTimerCount()).toBe(0);
  });

  test('rows that the terminal wrapped itself are erased, and not only written over', () => {
    const frames: string[] = [];
    let columns = 60;
    const size = () => ({ columns, rows: 20 });
    const region = new LiveRegion((frame) => frames.push(frame), size, { atLineStart: true });
    region.draw(['word '.repeat(11)]);
    region.draw(['word '.repeat(10)]);
    columns = 20;
    region.draw(['word word word', 'word']);
    expect(frames.slice(1)).toEqual([
      expect.stringMatching(/^\rword/),
      expect.stringMatching(/^\x1b\[2A\r\x1b\[Jword/),
    ]);
  });

  test('a narrower terminal is redrawn clean, also where lines were wrapped', async () => {
    const world = testIo(bars);
    const progress = world.io.progress();
    world.io.note('before');
    running(progress, 'task-1', 10);
    running(progress, 'task-2', 20);
    await frame(world);
    const old = screenOf(world);
    // A terminal that reflows shows each wide row as two rows.
    const reflowed = new Screen(40).write(asTerminal(old.shown().join('\n')));
    expect(reflowed.shown().length).toBe(5);
    const seen = world.stderr.text.length;
    world.stderr.columns = 40;
    world.stderr.emit('resize');
    reflowed.write(asTerminal(world.stderr.text.slice(seen)));
    expect(reflowed.shown()).toHaveLength(3);
    expect(reflowed.shown()[0]).toBe('before');
    expect(reflowed.shown()[2]).toContain('task-2');
    progress.stop();
    expect(world.stderr.listenerCount('resize')).toBe(0);
  });

  test('an error takes them down first and gives the cursor back', async () => {
    const world = testIo(bars);
    running(world.io.progress(), 'task-1', 10);
    await frame(world);
    world.io.error(new Error('boom'));
    const screen = screenOf(world);
    expect(screen.shown()[0]).toBe('error: unexpected error: boom');
    expect(screen.shown().join('\n')).not.toContain('task-1');
    expect(screen.cursorIsHidden).toBe(false);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('drain takes down what nobody stopped', async () => {
    const world = testIo(bars);
    running(world.io.progress(), 'task-1', 10);
    await frame(world);
    await world.io.drain();
    expect(screenOf(world).shown()).toEqual([]);
    expect(screenOf(world).cursorIsHidden).toBe(false);
  });

  test('a wait that ends before the bars are loaded draws nothing', async () => {
    const world = testIo(bars);
    const progress = world.io.progress();
    running(progress, 'task-1', 10);
    progress.stop();
    await frame(world);
    expect(screenOf(world).shown()).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('text from outside cannot leave its row', async () => {
    const world = testIo(bars);
    const progress = world.io.progress();
    progress.task({ id: 'x\x1b[2J\n', status: '\u009bA\u202e', elapsedMs: 0, percent: 1 });
    progress.download({ name: '\r\x07漢字', bytes: 1, totalBytes: 2 });
    await frame(world);
    const screen = screenOf(world);
    expect(screen.unknown).toEqual([]);
    expect(screen.shown()).toHaveLength(2);
    expect(screen.shown()[0]).toContain('x\\x1b[2J\\n \\x9bA\\u202e');
    progress.stop();
  });

  test('colour is used where it is wanted, and a terminal without block characters gets none', async () => {
    const colored = testIo({ ...bars, noColor: false, env: { TERM: 'linux' } });
    const progress = colored.io.progress();
    running(progress, 'task-1', 50);
    await frame(colored);
    expect(colored.stderr.text).toContain('\x1b[36m');
    expect(screenOf(colored).shown()[0]).toMatch(/#+-+/);
    progress.task({ id: 'task-1', status: 'succeeded', elapsedMs: 1_000 });
    await frame(colored);
    expect(screenOf(colored).shown()).toEqual(['+ task-1 succeeded after 1 s']);
  });
});
