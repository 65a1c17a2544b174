import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { TaskProgress } from '../../src/io/io.ts';
import { type TestIo, testIo } from './memory-host.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
});
afterEach(() => {
  vi.useRealTimers();
});

function pass(world: TestIo, ms: number): void {
  for (let passed = 0; passed < ms; passed += 1_000) {
    world.clock.nowMs += 1_000;
    vi.advanceTimersByTime(1_000);
  }
}

function task(status: string, elapsedMs: number, more: Partial<TaskProgress> = {}): TaskProgress {
  return { id: 'task-1', status, elapsedMs, ...more };
}

describe('a task in a pipe', () => {
  test('has one line for each change of state', () => {
    const world = testIo();
    const progress = world.io.progress();
    progress.task(task('queued', 0));
    progress.task(task('queued', 2_000));
    progress.task(task('running', 4_000, { percent: 12.7 }));
    progress.task(task('running', 6_000, { percent: 40 }));
    progress.task(task('succeeded', 80_000));
    progress.task(task('succeeded', 80_000));
    progress.stop();
    expect(world.stderr.text.split('\n')).toEqual([
      'task-1: queued',
      'task-1: running, 12 %, 4 s so far',
      'task-1: succeeded after 1 min 20 s',
      '',
    ]);
  });

  test('shows that it lives at least every 30 s, without any update', () => {
    const world = testIo();
    const progress = world.io.progress();
    progress.task(task('running', 1_000));
    for (let halfMinute = 1; halfMinute <= 10; halfMinute++) {
      const before = world.stderr.chunks.length;
      pass(world, 30_000);
      expect(world.stderr.chunks.length).toBeGreaterThan(before);
    }
    expect(world.stderr.text).toContain('task-1: running, 26 s so far\n');
    progress.stop();
    const atStop = world.stderr.text;
    pass(world, 120_000);
    expect(world.stderr.text).toBe(atStop);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("shows that it lives by the updates of a caller whose clock is not the machine's", () => {
    const world = testIo();
    const progress = world.io.progress();
    progress.task(task('running', 0));
    world.clock.nowMs += 30_000;
    progress.task(task('running', 30_000, { percent: 50 }));
    expect(world.stderr.text).toBe('task-1: running\ntask-1: running, 50 %, 30 s so far\n');
  });

  test('is silent once nothing is under way', () => {
    const world = testIo();
    const progress = world.io.progress();
    progress.task(task('running', 0));
    progress.task(task('FAILED', 1_000));
    pass(world, 60_000);
    expect(world.stderr.text).toBe('task-1: running\ntask-1: FAILED after 1 s\n');
    expect(vi.getTimerCount()).toBe(0);
  });

  test('may say itself where it stands', () => {
    const world = testIo();
    world.io.progress().task(task('Active', 1_000, { state: 'succeeded' }));
    expect(world.stderr.text).toBe('task-1: Active after 1 s\n');
  });

  test('many tasks share one sign of life', () => {
    const world = testIo();
    const progress = world.io.progress();
    for (const id of ['a', 'b', 'c']) {
      progress.task({ id, status: id === 'a' ? 'running' : 'queued', elapsedMs: 0 });
    }
    pass(world, 26_000);
    expect(world.stderr.text.split('\n').slice(3)).toEqual(['waiting for 3 tasks: 1 running, 2 queued', '']);
    progress.stop();
  });

  test('text from outside cannot forge a line', () => {
    const world = testIo();
    world.io.progress().task({ id: 'x\n::error::', status: 'run\x1b[2Jning', elapsedMs: 0 });
    expect(world.stderr.text).toBe('x\\n::error::: run\\x1b[2Jning\n');
  });

  test('numbers that are none are left out', () => {
    const world = testIo();
    world.io.progress().task(task('running', Number.NaN, { percent: Number.NaN, estimateMs: -1 }));
    expect(world.stderr.text).toBe('task-1: running\n');
  });
});

describe('a download in a pipe', () => {
  test('has a line at the start, every 30 s and at the end', () => {
    const world = testIo();
    const progress = world.io.progress();
    const at = (bytes: number) => progress.download({ name: 'clip.mp4', bytes, totalBytes: 3_400_000 });
    at(0);
    at(10_000);
    for (let second = 1; second <= 30; second++) {
      pass(world, 1_000);
      at(second * 100_000);
    }
    at(3_400_000);
    at(3_400_000);
    progress.stop();
    expect(world.stderr.text.split('\n')).toEqual([
      'clip.mp4: downloading 3.4 MB',
      'clip.mp4: 2.4 MB of 3.4 MB (70 %), 86 kB/s',
      'clip.mp4: 3.4 MB downloaded in 30 s',
      '',
    ]);
  });

  test('says where it goes on from, and ends when it says so', () => {
    const world = testIo();
    const progress = world.io.progress();
    progress.download({ name: 'a.png', bytes: 2_000, totalBytes: undefined });
    progress.download({ name: 'a.png', bytes: 5_000, totalBytes: undefined });
    progress.download({ name: 'a.png', bytes: 5_000, totalBytes: undefined, done: true });
    expect(world.stderr.text).toBe(
      'a.png: downloading, 2.0 kB already here\na.png: 5.0 kB downloaded in 0 s\n',
    );
  });
});

test('a run of many jobs counts in its sign of life, with the time left, and has no line for each', () => {
  const world = testIo();
  const progress = world.io.progress();
  progress.whole({ done: 0, failed: 0, total: 3000 });
  for (let done = 1; done <= 100; done += 1) {
    world.clock.nowMs += 300;
    progress.whole({ done, failed: 1, total: 3000, leftMs: (3000 - done) * 300 });
  }
  progress.stop();
  progress.whole({ done: 3000, failed: 1, total: 3000 });
  expect(world.stderr.text).toMatch(/^0 of 3000 done\n84 of 3000 done, 1 failed, 14 min \d+ s left\n$/);
});

test("one reporter's stop leaves another's rows", () => {
  const world = testIo();
  const [one, two] = [world.io.progress(), world.io.progress()];
  one.task(task('running', 0));
  two.task(task('running', 0, { id: 'task-2' }));
  one.stop();
  pass(world, 26_000);
  expect(world.stderr.text.split('\n').slice(2)).toEqual(['task-2: running, 25 s so far', '']);
  two.stop();
  expect(vi.getTimerCount()).toBe(0);
});

test('tasks and downloads share one sign of life', () => {
  const world = testIo();
  const progress = world.io.progress();
  for (const id of ['task-1', 'task-2']) progress.task({ id, status: 'running', elapsedMs: 0 });
  for (const name of ['a.mp4', 'b.mp4']) progress.download({ name, bytes: 1_000_000, totalBytes: 9_000_000 });
  world.clock.nowMs += 26_000;
  vi.advanceTimersByTime(26_000);
  expect(world.stderr.text.split('\n').slice(4)).toEqual([
    'waiting for 2 tasks: 2 running; downloading 2 files: 2.0 MB so far',
    '',
  ]);
  progress.stop();
});
