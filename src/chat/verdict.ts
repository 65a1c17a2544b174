import { GwError } from '../errors.ts';
import { jsonOf } from '../json-text.ts';
import type { ChatAnswer, ChatUsage, FurtherAnswer } from './chat.ts';

/** The verdict on a finished answer: an error (exit 11), a warning, or nothing. */
export type Verdict = { readonly error?: GwError; readonly warning?: string };

/** The output limit was used up: `length` is the word of completions, the others of messages and geo. */
const limitReasons = ['length', 'max_tokens', 'MAX_TOKENS', 'model_context_window_exceeded'];

/** A filter or the model's own safety ended the answer; "safety-related reasons" are those of the public API. */
const filterReason =
  /^(?:content_filter|refusal|(?:IMAGE_)?(?:SAFETY|PROHIBITED_CONTENT)|RECITATION|LANGUAGE|BLOCKLIST|SPII|OTHER)$/;

/**
 * Text and finish reason together decide ("Errors": success is judged from content and finish reason). An answer with
 * tool calls needs no text; an answer that a filter ended is always unusable.
 */
export function judgeAnswer(answer: ChatAnswer): Verdict {
  const { hasText, toolCalls, finishReason: reason, usage, further = [] } = answer;
  if (reason !== undefined && filterReason.test(reason)) {
    return {
      error: new GwError('incomplete', `a filter ended the answer (${reason})`, {
        code: reason,
        hint: hasText ? 'what came before is on stdout; change the prompt' : 'change the prompt',
      }),
    };
  }
  const wasCut = reason !== undefined && limitReasons.includes(reason);
  if (toolCalls.some(({ arguments: text }) => text !== '' && jsonOf(text) === undefined)) {
    return {
      error: new GwError('incomplete', 'a tool call came with arguments that are not whole JSON', {
        code: reason,
        hint: wasCut ? raiseLimit : undefined,
      }),
    };
  }
  if (!hasText && toolCalls.length === 0)
    return { error: wasCut ? usedUp(reason, usage) : withoutText(reason) };
  const warnings = further.flatMap(warningOfFurther);
  if (wasCut)
    warnings.unshift(`the answer is cut short: the output limit was reached (${reason}); ${raiseLimit}`);
  return warnings.length > 0 ? { warning: warnings.join('; ') } : {};
}

/** A warning if the second or a later answer is cut, filtered or empty. */
function warningOfFurther({ text, finishReason: reason = '' }: FurtherAnswer, at: number): string[] {
  const which = `answer ${at + 2}`;
  const why = reason && ` (${reason})`;
  if (filterReason.test(reason)) return [`a filter ended ${which}${why}`];
  if (text === '') return [`${which} holds no text${why}: see the whole reply with --json`];
  return limitReasons.includes(reason) ? [`${which} is cut short${why}`] : [];
}

/** The part of an unusable or incomplete answer that a session stores: its text so far, without calls. */
export const wordsSoFar = (text: string): ChatAnswer['turn'] | undefined =>
  text === '' ? undefined : { role: 'assistant', text };

const raiseLimit = 'raise the output limit with --max-tokens';

function usedUp(reason: string, { outputTokens, reasoningTokens }: ChatUsage): GwError {
  const used = outputTokens === undefined ? '' : `: ${outputTokens} tokens were used`;
  const reasoned = `: ${reasoningTokens} of ${outputTokens ?? '?'} tokens went into reasoning`;
  const spent = reasoningTokens === undefined ? used : reasoned;
  return new GwError('incomplete', `the output limit was used up before any text came (${reason})${spent}`, {
    code: reason,
    hint: `${raiseLimit}, or let the model reason less (${reason === 'length' ? '--reasoning-effort' : '--thinking'})`,
  });
}

const withoutText = (reason: string | undefined): GwError =>
  new GwError('incomplete', `the answer holds no text${reason === undefined ? '' : ` (${reason})`}`, {
    code: reason,
    hint: 'see the whole reply with --json',
  });

/**
 * `tokens: 12 in (8 of them cached), 34 out (20 of them reasoning), 46 in all`; undefined if the reply has no figures. An
 * unused cache is not mentioned.
 */
export function usageLine(usage: ChatUsage): string | undefined {
  const reasoning =
    usage.reasoningTokens === undefined ? '' : ` (${usage.reasoningTokens} of them reasoning)`;
  const cached = usage.cachedTokens ? ` (${usage.cachedTokens} of them cached)` : '';
  const parts = [
    [usage.inputTokens, `in${cached}`],
    [usage.cacheWrittenTokens || undefined, 'written to the cache'],
    [usage.cacheReadTokens || undefined, 'read from the cache'],
    [usage.outputTokens, `out${reasoning}`],
    [usage.totalTokens, 'in all'],
  ].flatMap(([tokens, words]) => (tokens === undefined ? [] : [`${tokens} ${words}`]));
  return parts.length === 0 ? undefined : `tokens: ${parts.join(', ')}`;
}
