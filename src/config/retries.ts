import { usage } from '../errors.ts';

export const maxRetries = 100;

/** Reads a number of retries, 0 to 100. `what` is the flag, variable or setting. Throws GwError `usage`. */
export function parseRetries(value: string | number, what: string): number {
  const text = String(value);
  const number = /^\d{1,3}$/.test(text) ? Number(text) : Number.NaN;
  if (number <= maxRetries) return number;
  throw usage(
    `${what} ${JSON.stringify(value)} is not a whole number from 0 to ${maxRetries}`,
    'Give such a number; 0 sends each request once.',
  );
}
