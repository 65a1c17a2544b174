// What holds where nobody says otherwise, as it is typed; help and the code read it from here.

export const DEFAULT_TIMEOUT = '60s';
export const DEFAULT_RETRIES = 4;
/** Longest wait for a job. */
export const DEFAULT_WAIT_TIMEOUT = '2h';
