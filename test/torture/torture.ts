import * as fs from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { seededRandom } from '../../src/sandbox/seeded.ts';

// Runs suites of faults, races and kills in rounds. `npm test` runs a few rounds of each, always the same ones. `npm run
// test:torture` runs rounds for GW_TORTURE_SECONDS from GW_TORTURE_SEED on. This file decides which, and what is printed.

const { env } = process;
/** True in `npm run test:torture`. */
export const isLong = env.GW_TORTURE !== undefined;
export const seed = Number(env.GW_TORTURE_SEED ?? 20_261_120);
/** Duration of each suite. Two workers run all suites of the project in about ten minutes. */
const seconds = Number(env.GW_TORTURE_SECONDS ?? 90);
/** A round that takes longer counts as hanging. */
const LONGEST_ROUND_MS = 300_000;
/** Extra time for the cleanup of a round. */
const CLEANING_MS = 30_000;

/** What a suite did and found. `lost`, `doubled` and `halfFiles` must stay 0. */
export interface Counts {
  rounds: number;
  kills: number;
  faults: number;
  /** Tasks or outputs that were paid for or printed, and that are not in the ledger or cannot be found again. */
  lost: number;
  /** Requests that were sent or paid for more than once. */
  doubled: number;
  /** Final names that hold anything but the whole output. */
  halfFiles: number;
  /** Further counts of a suite. */
  [own: string]: number;
}

export interface Round {
  /** Number of the round, from 0. */
  readonly index: number;
  readonly counts: Counts;
  /** Returns a number from 0 to less than 1, the same one for the same seed and round. */
  random(): number;
  pick<T>(items: readonly T[]): T;
  /** Registers a function that runs when the round is over. The last one registered runs first. */
  after(clean: () => unknown): void;
}

interface Extent {
  /** Number of rounds in `npm test`. With 0, `npm test` leaves the suite out. */
  readonly short: number;
  /** Number of rounds at the same time. When unset: 1. */
  readonly atOnce?: number;
  /** Longest time of a round in `npm run test:torture`. When unset: two minutes. */
  readonly longestRoundMs?: number;
  /** Tags of the tools that the suite needs (test/helpers/needs.ts). */
  readonly tags?: string[];
}

/**
 * Runs a suite in rounds. The suite fails if a round throws, or counts something lost, doubled or half written. The message
 * names the seed that makes the failed round the first one.
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
  const random = seededRandom(seed + index);
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

/** Settings of a property: `fc.assert(property, fuzz(200))`. Torture makes fifty times as many runs, within a suite's duration. */
export function fuzz(runs: number) {
  if (!isLong) return { seed, numRuns: runs };
  return { seed, numRuns: runs * 50, interruptAfterTimeLimit: seconds * 1000, markInterruptAsFailure: false };
}

/** Adds counts to the summary of `npm run test:torture`. `npm test` prints no counts. */
export function tell(name: string, counts: Readonly<Record<string, number>>): void {
  if (env.GW_TORTURE_COUNTS !== undefined) {
    fs.appendFileSync(env.GW_TORTURE_COUNTS, `${JSON.stringify({ name, seed, counts })}\n`);
  }
}
