import { countTokens } from '../chat/tokens.ts';
import type { ImageOrder } from './order.ts';

/** Tokens of an image of 1024x1024 by its quality; other sizes cost in proportion. Plausible numbers, nothing more. */
const tokensAt: Readonly<Record<string, number>> = {
  low: 272,
  medium: 1056,
  high: 4160,
  xhigh: 6240,
  max: 8320,
};
const PARTIAL_TOKENS = 100;
const SQUARE_PX = 1024 * 1024;

export interface ImageUsage {
  readonly textTokens: number;
  readonly inputImageTokens: number;
  readonly outputTokens: number;
}

/** What `count` images of an order use, each with so many unfinished ones before it. */
export function usageOf(
  order: ImageOrder,
  inputImageTokens: number,
  count: number,
  partials: number,
): ImageUsage {
  const whole = (tokensAt[order.quality] ?? tokensAt.medium ?? 0) * (order.widthPx * order.heightPx);
  return {
    textTokens: countTokens(order.prompt),
    inputImageTokens,
    outputTokens: count * (Math.ceil(whole / SQUARE_PX) + partials * PARTIAL_TOKENS),
  };
}

/** `usage` of an image response. */
export function usageField({ textTokens, inputImageTokens, outputTokens }: ImageUsage) {
  const inputTokens = textTokens + inputImageTokens;
  return {
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    input_tokens_details: { image_tokens: inputImageTokens, text_tokens: textTokens },
    output_tokens_details: { image_tokens: outputTokens, text_tokens: 0 },
  };
}
