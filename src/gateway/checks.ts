import * as z from 'zod/mini';

// Checks of a field's value, by whether the document states the rule.

/** A check that the document states in a sentence. */
export const stated = <T>(holds: (value: T) => boolean, error: string, sentence: string) =>
  z.refine<T>(holds, { error, params: { sentence } });

/**
 * A check that the document does not state: gw refuses such a value from a flag, sends it with a warning if it comes
 * from --body or --set, and the sandbox accepts it.
 */
export const unstated = <T>(holds: (value: T) => boolean, error: string) =>
  z.refine<T>(holds, { error, params: { isUnstated: true } });

/** A text or a list that is not empty. */
export const filled = (error = 'is empty') =>
  unstated(({ length }: { readonly length: number }) => length > 0, error);

export const filledText = () => z.string().check(filled());

/** A text with at least one character that is not white space. */
export const words = () => z.string().check(unstated((text) => text.trim() !== '', 'the prompt is empty'));

export const modelId = () =>
  z.string().check(stated((id) => id !== '', 'is empty', 'Clients validate model IDs against this list.'));

export const outputLimit = unstated(
  (tokens: number) => Number.isInteger(tokens) && tokens >= 1,
  'a whole number of tokens, at least 1',
);
