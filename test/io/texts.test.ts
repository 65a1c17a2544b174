import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { estimatedFraction, TransferRate } from '../../src/io/progress.ts';
import { bytesText, durationText } from '../../src/io/quantity-text.ts';

describe('durationText', () => {
  test.each([
    [0, '0 s'],
    [99, '0 s'],
    [400, '0.4 s'],
    [999, '0.9 s'],
    [1_000, '1 s'],
    [59_999, '59 s'],
    [60_000, '1 min'],
    [80_000, '1 min 20 s'],
    [3_599_999, '59 min 59 s'],
    [3_600_000, '1 h'],
    [7_500_000, '2 h 5 min'],
    [86_400_000, '1 d'],
    [100_000_000, '1 d 3 h'],
    [-5, '0 s'],
    [Number.NaN, 'unknown'],
    [Number.POSITIVE_INFINITY, 'unknown'],
  ])('%d ms is %s', (ms, text) => {
    expect(durationText(ms)).toBe(text);
  });
});

describe('bytesText', () => {
  test.each([
    [0, '0 B'],
    [999, '999 B'],
    [1_000, '1.0 kB'],
    [3_440_000, '3.4 MB'],
    [9_949, '9.9 kB'],
    [9_950, '10 kB'],
    [34_000_000, '34 MB'],
    [999_499, '999 kB'],
    [999_500, '1.0 MB'],
    [12e9, '12 GB'],
    [5e17, '500 PB'],
    [5e19, '50000 PB'],
    [-1, '0 B'],
    [Number.NaN, 'unknown'],
  ])('%d is %s', (bytes, text) => {
    expect(bytesText(bytes)).toBe(text);
  });
});

describe('estimatedFraction', () => {
  test.each([
    [0, 0],
    [50, 0.5],
    [80, 0.8],
  ])('%d of 100 ms is %d', (elapsedMs, fraction) => {
    expect(estimatedFraction(elapsedMs, 100)).toBeCloseTo(fraction, 10);
  });

  test('never goes back and never claims the end', () => {
    fc.assert(
      fc.property(fc.nat(), fc.nat(), fc.integer({ min: 1 }), (a, b, estimateMs) => {
        const [early, late] = [Math.min(a, b), Math.max(a, b)];
        expect(estimatedFraction(late, estimateMs)).toBeGreaterThanOrEqual(
          estimatedFraction(early, estimateMs),
        );
        expect(estimatedFraction(late, estimateMs)).toBeLessThan(0.99);
      }),
    );
  });

  test.each([
    [-1, 100],
    [10, 0],
    [10, Number.NaN],
    [Number.NaN, 10],
  ])('%d of %d ms is 0', (elapsedMs, estimateMs) => {
    expect(estimatedFraction(elapsedMs, estimateMs)).toBe(0);
  });
});

describe('TransferRate', () => {
  test('measures the last seconds and what is left', () => {
    const rate = new TransferRate();
    rate.add(0, 0);
    expect(rate.bytesPerSecond(0)).toBeUndefined();
    expect(rate.remainingMs(0, 100)).toBeUndefined();
    for (let second = 1; second <= 20; second++) rate.add(second * 1000, second * 500);
    expect(rate.bytesPerSecond(20_000)).toBe(500);
    expect(rate.remainingMs(20_000, 12_000)).toBe(4_000);
  });

  test('falls while nothing comes, and forgets what a restart threw away', () => {
    const rate = new TransferRate();
    rate.add(0, 0);
    rate.add(1_000, 1_000);
    expect(rate.bytesPerSecond(10_000)).toBe(100);
    rate.add(11_000, 0);
    expect(rate.bytesPerSecond(11_000)).toBeUndefined();
    expect(rate.remainingMs(12_000, 100)).toBeUndefined();
  });
});
