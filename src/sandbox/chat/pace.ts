import type { World } from '../world.ts';

/** What a chat model of middling size writes in a second, at speed 1. */
export const TOKENS_PER_S = 50;

/** The first token takes as long as so many others. */
const FIRST_TOKENS = 20;

/** When the nth token of an answer is there, in milliseconds after the request. */
export type Pace = (nthToken: number) => number;

export const paceOf =
  ({ tokensPerS }: Pick<World, 'tokensPerS'>): Pace =>
  (nthToken) =>
    ((FIRST_TOKENS + nthToken) * 1000) / tokensPerS;
