import { GwError } from '../errors.ts';

/**
 * Checks a key, of which no message tells more than its length. `from` says where it came from, as the start of a
 * sentence. Throws GwError `auth`.
 */
export function checkKey(key: string, from: string): string {
  const fault = keyFault(key);
  if (fault === undefined) return key;
  throw new GwError('auth', `${from} ${fault} (length ${key.length})`, {
    hint: 'A key is one line of printable ASCII without blanks; copy it again from the console.',
  });
}

function keyFault(key: string): string | undefined {
  if (key === '') return 'holds no key';
  if (/[\r\n]/.test(key)) return 'holds a key with a newline in it';
  if (/\s/.test(key)) return 'holds a key with a blank in it';
  if (!/^[\x21-\x7e]+$/.test(key)) return 'holds a key with a character that is not printable ASCII';
  return undefined;
}
