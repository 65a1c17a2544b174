// What holds where nobody says otherwise, as it is typed; help and the code read it from here.

export const DEFAULT_TIMEOUT = '60s';
/** For what is answered when it is finished, and for models that think before they answer: chat, images. */
export const SLOW_ANSWER_SILENCE_MS = 300_000;
export const DEFAULT_RETRIES = 4;
/** Longest wait for a job. */
export const DEFAULT_WAIT_TIMEOUT = '2h';
