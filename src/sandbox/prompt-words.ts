/** A prompt with this word passes the request's checks and fails the review of the output. */
export const SENSITIVE_OUTPUT_WORD = 'sensitive-output';

/** A prompt with this word is refused by family C's content review before anything is created (422). */
export const SENSITIVE_PROMPT_WORD = 'sensitive-prompt';
