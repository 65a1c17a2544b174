import { randomBytes } from 'node:crypto';

/** A hidden name that nobody can foresee, for a file that is not finished. */
export function newPartName(): string {
  return `.gw-${randomBytes(16).toString('hex')}.part`;
}

/** True for names that newPartName makes: nothing else is ever resumed or removed. */
export function isPartName(name: string): boolean {
  return /^\.gw-[0-9a-f]{32}\.part$/.test(name);
}
