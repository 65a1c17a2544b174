import { usage } from '../errors.ts';

/** The built-in profile of the sandbox; it cannot be stored or changed. */
export const sandboxProfile = 'sandbox';

/** The profile that is used if none is chosen. */
export const defaultProfile = 'default';

export const isProfileName = (text: string): boolean => /^[a-z0-9][a-z0-9._-]{0,63}$/.test(text);

/** Checks a profile's name. `what` is the flag or variable. Throws GwError `usage`. */
export function parseProfileName(text: string, what: string): string {
  if (isProfileName(text)) return text;
  throw usage(
    `${what} ${JSON.stringify(text.slice(0, 80))} cannot be a profile's name`,
    'use at most 64 of a-z, 0-9, dot, dash and underscore, starting with a letter or digit',
  );
}

/** As parseProfileName, but refuses the built-in profile, which cannot be stored. */
export function parseStoredProfileName(text: string, what: string): string {
  const name = parseProfileName(text, what);
  if (name !== sandboxProfile) return name;
  throw usage(
    `${what} ${sandboxProfile} is the built-in profile and cannot be changed`,
    'choose another name',
  );
}
