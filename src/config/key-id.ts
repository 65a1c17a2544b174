import { createHash } from 'node:crypto';

/** What tells a key from others without giving it away: the first 12 hex digits of its SHA-256. */
export const keyIdOf = (key: string): string => createHash('sha256').update(key).digest('hex').slice(0, 12);
