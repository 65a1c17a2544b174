import * as fs from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { expect, test } from 'vitest';

// Rounds of faults, races and kills. Every suite runs in `npm test`, few rounds of it, the same each time; `npm run
// test:torture` goes on with it for GW_TORTURE_SECONDS from GW_TORTURE_SEED on. One place decides which, and what is told.

const { env } = process;
/** Whether this is `npm run test:torture`. */
export const isLong = env.GW_TORTURE !== undefined;
export const seed = Number(env.GW_TORTURE_SEED ?? 20_261_120);
/** For each suite. Two workers take the suites of the project in about ten minutes. */
const seconds = Number(env.GW_TORTURE_SECONDS ?? 90);
/** A round that takes longer hangs. */
const LONGEST_ROUND_MS = 120_000;
/** For what a round leaves to be put away. */
const CLEANING_MS = 30_000;

/** What a suite did, and what it found; the last three must stay 0. */
export interface Counts {
  rounds: number;
  kills: number;
  faults: number;
  /** Paid for, or printed, and not in the ledger or not to be found again. */
  lost: number;
  /** Sent or paid for more than once. */
  doubled: number;
  /** Final names that hold something else than the whole output. */
  halfFiles: number;
  /** What a suite counts of its own. */
  [own: string]: number;
}

export interface Round {
  /** From 0. */
  readonly index: number;
  readonly counts: Counts;
  /** From 0 to less than 1; the same for the same seed and round. */
  random(): number;
  pick<T>(items: readonly T[]): T;
  /** Called when the round is over, the last one first. */
  after(clean: () => unknown): void;
}

interface Extent {
  /** Rounds in `npm test`; 0: none there. */
  readonly short: number;
  /** Rounds under way at the same time; 1 where nothing else is said. */
  readonly atOnce?: number;
  /** Under torture a round that takes longer hangs; two minutes where nothing else is said. */
  readonly longestRoundMs?: number;
  /** What it needs (test/helpers/needs.ts). */
  readonly tags?: string[];
}

/**
 * A suite of rounds. One that throws, or that counts something lost, doubled or half written, fails it; the message names
 * the seed that makes the failed round the first one.
 */
export function torture(
  name: string,
  { short, atOnce = 1, longestRoundMs = LONGEST_ROUND_MS, tags = [] }: Extent,
  body: (round: Round) => Promise<void>,
) {
  const longestMs = (isLong ? seconds * 1000 : 0) + longestRoundMs + CLEANING_MS;
  if (!isLong && short === 0) return;
  test(name, { tags, timeout: longestMs }, async () => {
    const counts: Counts = { rounds: 0, kills: 0, faults: 0, lost: 0, doubled: 0, halfFiles: 0 };
    const endMs = performance.now() + seconds * 1000;
    let next = 0;
    const errors: unknown[] = [];
    const isOver = () => errors.length > 0 || (isLong ? performance.now() > endMs : next >= short);
    const worker = async () => {
      while (!isOver()) {
        const index = next;
        next += 1;
        await run(body, index, counts, longestRoundMs).catch((error: unknown) => errors.push(error));
        counts.rounds += 1;
      }
    };
    await Promise.all(Array.from({ length: atOnce }, worker));
    tell(name, { ...counts });
    if (errors.length > 0) throw errors[0];
    const { lost, doubled, halfFiles } = counts;
    expect({ lost, doubled, halfFiles }, `seed ${seed}`).toEqual({ lost: 0, doubled: 0, halfFiles: 0 });
  });
}

async function run(
  body: (round: Round) => Promise<void>,
  index: number,
  counts: Counts,
  longestMs: number,
): Promise<void> {
  const random = randomFrom(seed + index);
  const cleaning: (() => unknown)[] = [];
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;
  const hangs = new AbortController();
  const hung = setTimeout(longestMs, undefined, { signal: hangs.signal }).then(
    () => Promise.reject(new Error(`not over after ${longestMs / 1000} s`)),
    () => {},
  );
  try {
    const done = body({ index, counts, random, pick, after: (clean) => void cleaning.unshift(clean) });
    await Promise.race([done, hung]);
  } catch (error) {
    const { message } = error as Error;
    throw new Error(`round ${index}, the first with GW_TORTURE_SEED=${seed + index}: ${message}`, {
      cause: error,
    });
  } finally {
    hangs.abort();
    for (const clean of cleaning) await clean();
  }
}

/** Numbers from 0 to less than 1, the same for the same seed (mulberry32). */
export function randomFrom(start: number): () => number {
  let state = start >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** How often a property is tried: `fc.assert(property, fuzz(200))`. Under torture fifty times as often, for as long as a suite. */
export function fuzz(runs: number) {
  if (!isLong) return { seed, numRuns: runs };
  return { seed, numRuns: runs * 50, interruptAfterTimeLimit: seconds * 1000, markInterruptAsFailure: false };
}

/** Counts go to the summary at the end of `npm run test:torture`; `npm test` says nothing of a suite that passes. */
export function tell(name: string, counts: Readonly<Record<string, number>>): void {
  if (env.GW_TORTURE_COUNTS !== undefined) {
    fs.appendFileSync(env.GW_TORTURE_COUNTS, `${JSON.stringify({ name, seed, counts })}\n`);
  }
}
