import * as z from 'zod/mini';

// The checks of a field's value, by what the document says of it.

/** A check for which the document has a sentence of its own. */
export const stated = <T>(holds: (value: T) => boolean, error: string, sentence: string) =>
  z.refine<T>(holds, { error, params: { sentence } });

/**
 * A check of what the document does not forbid: refused where a flag says it or gw would make it, sent with a warning where
 * --body or --set says it, taken by the sandbox.
 */
export const unstated = <T>(holds: (value: T) => boolean, error: string) =>
  z.refine<T>(holds, { error, params: { isUnstated: true } });

/** A text or a list that holds something. */
export const filled = (error = 'is empty') =>
  unstated(({ length }: { readonly length: number }) => length > 0, error);

export const filledText = () => z.string().check(filled());

/** A text that is more than blanks. */
export const words = () => z.string().check(unstated((text) => text.trim() !== '', 'the prompt is empty'));

export const modelId = () =>
  z.string().check(stated((id) => id !== '', 'is empty', 'Clients validate model IDs against this list.'));

export const outputLimit = unstated(
  (tokens: number) => Number.isInteger(tokens) && tokens >= 1,
  'a whole number of tokens, at least 1',
);
