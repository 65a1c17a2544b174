import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { displayWidth } from '../../src/io/display-width.ts';
import { downloadView, taskView } from '../../src/io/progress.ts';
import { downloadRow, type RowSetting, taskFraction, taskRow, wholeRow } from '../../src/io/progress-rows.ts';

const asIs = (text: string) => text;

function setting(columns: number): RowSetting {
  return {
    columns,
    spinner: '*',
    bar: (fraction, size) =>
      fraction === undefined ? '?'.repeat(size) : '#'.repeat(Math.floor(fraction * size)).padEnd(size, '-'),
  };
}

function task(more: object = {}) {
  return taskView({ id: 'task-1', status: 'running', elapsedMs: 0, ...more }, asIs);
}

function text(pieces: readonly { text: string }[]): string {
  return pieces.map((piece) => piece.text).join('');
}

describe('a task', () => {
  test.each([
    [{ percent: 45 }, 80_000, '* task-1 running  #############-----------------  45 %  1 min 20 s'],
    [{ percent: 100 }, 5_000, '* task-1 running  #############################-  99 %  5 s'],
    [{ percent: 300 }, 5_000, '* task-1 running  #############################-  99 %  5 s'],
    [
      { estimateMs: 100_000 },
      50_000,
      '* task-1 running  ###############---------------  ~50 %  50 s  about 50 s left',
    ],
    [{ estimateMs: 10_000 }, 500_000, '* task-1 running  #############################-  ~98 %  8 min 20 s'],
    [{}, 61_000, '* task-1 running  ??????????????????????????????  1 min 1 s'],
  ])('%j after %i ms', (facts, elapsedMs, row) => {
    expect(text(taskRow(task(facts), elapsedMs, setting(80)))).toBe(row);
  });

  test.each([
    [40, '* task-1 running  #####-----  50 %  10 s'],
    [34, '* task-1 running  50 %  10 s'],
    [24, '* task-1 running  50 %'],
    [12, '* task-1 … …'],
  ])('in %i columns', (columns, expected) => {
    const row = text(taskRow(task({ percent: 50 }), 10_000, setting(columns)));
    expect(row).toBe(expected);
    expect(displayWidth(row)).toBeLessThanOrEqual(columns);
  });

  test.each([
    [79, { percent: 50 }, '  ########---------  50 %  10 s'],
    [79, { estimateMs: 20_000 }, '  ########--------  ~50 %  10 s'],
    [119, { percent: 50, estimateMs: 20_000 }, '  ###############---------------  50 %  10 s'],
    [119, { estimateMs: 20_000 }, '  ###############---------------  ~50 %  10 s  about 10 s left'],
  ])('in %i columns an ID and its status are whole, with a bar: %j', (columns, facts, rest) => {
    const id = 'vt-20261121001503-f06187473128fb8a7000';
    expect(text(taskRow(task({ id, ...facts }), 10_000, setting(columns)))).toBe(`* ${id} running${rest}`);
  });

  test('never claims the end while it runs', () => {
    fc.assert(
      fc.property(fc.double(), fc.double(), fc.nat(), (percent, estimateMs, elapsedMs) => {
        for (const view of [task({ percent }), task({ estimateMs })]) {
          const fraction = taskFraction(view, elapsedMs);
          if (fraction !== undefined) {
            expect(fraction).toBeGreaterThanOrEqual(0);
            expect(fraction).toBeLessThanOrEqual(0.99);
          }
        }
      }),
    );
  });
});

test.each([
  [{ bytes: 1_200_000, totalBytes: 3_400_000 }, 400_000, 5_500, '1.2 MB of 3.4 MB  35 %  400 kB/s  6 s left'],
  [{ bytes: 1_200_000, totalBytes: undefined }, 400_000, undefined, '1.2 MB  400 kB/s'],
  [{ bytes: 0, totalBytes: 10 }, undefined, undefined, '0 B of 10 B  0 %'],
])('a download %j', (facts, bytesPerSecond, remainingMs, end) => {
  const view = downloadView({ name: 'clip.mp4', ...facts }, asIs);
  const row = text(downloadRow(view, { bytesPerSecond, remainingMs }, setting(100)));
  expect(row.startsWith('* clip.mp4  ')).toBe(true);
  expect(row.endsWith(`  ${end}`)).toBe(true);
});

test('the whole', () => {
  const row = (done: number, failed: number, total: number) =>
    text(wholeRow({ done, failed, total }, setting(60)));
  expect(row(3, 1, 10)).toMatch(/^\* 3 of 10 done, 1 failed {2}#+-+ {2}30 %$/);
  expect(row(0, 0, 0)).toMatch(/^\* 0 of 0 done {2}\?+$/);
});

test('no row is wider than it may be, whatever it holds', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme' }),
      fc.string({ unit: 'binary' }),
      fc.integer({ min: 1, max: 120 }),
      fc.nat(),
      (id, status, columns, amount) => {
        const view = taskView({ id, status, elapsedMs: amount, estimateMs: amount * 2 }, asIs);
        const download = downloadView({ name: id, bytes: amount, totalBytes: amount * 3 }, asIs);
        const pace = { bytesPerSecond: amount, remainingMs: amount };
        for (const row of [
          taskRow(view, amount, setting(columns)),
          downloadRow(download, pace, setting(columns)),
          wholeRow({ done: amount, failed: 1, total: amount }, setting(columns)),
        ]) {
          expect(displayWidth(text(row))).toBeLessThanOrEqual(columns);
        }
      },
    ),
  );
});
