import type { thinkingLevels } from '../../gateway/chat/models.ts';
import { type ReasoningEffort, reasoningEfforts } from '../../gateway/chat/models.ts';

/** Tokens of thought for an effort or a thinking level; far fewer than the service's, as answers are short too. */
const tokensOfEffort: Readonly<Record<ReasoningEffort | (typeof thinkingLevels)[number], number>> = {
  none: 0,
  minimal: 4,
  low: 16,
  medium: 32,
  high: 64,
};

/** A thinking model that is told nothing thinks so much. */
export const UNASKED_REASONING_TOKENS = tokensOfEffort.medium;

/** One token of thought for so many of a budget. */
const BUDGET_PER_TOKEN = 32;

/** What a model thinks that does not heed a budget of 0. */
export const UNRELIABLE_REASONING_TOKENS = 8;

/** Tokens of thought for a word such as `low` or `HIGH`; undefined for a word that is none of them. */
export function tokensForEffort(word: string | undefined): number | undefined {
  const effort = reasoningEfforts.find((one) => one === word?.toLowerCase());
  return effort && tokensOfEffort[effort];
}

/** Tokens of thought for a budget in tokens: in proportion, within what the budget allows. */
export const tokensForBudget = (budget: number): number =>
  Math.min(budget, Math.max(1, Math.round(budget / BUDGET_PER_TOKEN)), tokensOfEffort.high);
