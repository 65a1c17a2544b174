import { usage } from '../errors.ts';
import type { Flag } from '../flags/flag.ts';
import { can } from '../host.ts';

// Restores values that a spreadsheet has changed while saving them (the contract, section "batch").

/** Booleans as spreadsheets write them in several languages. */
const truths = ['TRUE', 'WAHR', 'VRAI', 'VERDADERO', 'VERO', 'VERDADEIRO', 'ИСТИНА'];
const falsehoods = ['FALSE', 'FALSCH', 'FAUX', 'FALSO', 'ЛОЖЬ'];

export function truthCell(word: string): string {
  const upper = word.toUpperCase();
  return truths.includes(upper) ? 'true' : falsehoods.includes(upper) ? 'false' : word;
}

/**
 * Restores a cell's value for its flag: `4,0` is 4, and `16:09` is 16:9 if the flag has that ratio. `flag` is undefined
 * for `id` and `count`, which are no flags. Throws `usage` for a number whose digits the spreadsheet has lost or grouped.
 */
export function cellOf(name: string, word: string, flag: Flag | undefined): string {
  if (name === 'prompt' || flag?.choices?.includes(word)) return word;
  if (flag !== undefined && flag.value === undefined) return truthCell(word);
  if (/^-?\d[.,]?\d*E[+-]?\d+$/i.test(word)) throw asText(name, word, 'has lost its digits');
  if (name !== 'count' && (flag === undefined || isTaken(flag, word))) return ratioCell(word, flag) ?? word;
  const [, whole] = /^(-?\d{1,9})[.,]0{1,2}$/.exec(word) ?? [];
  if (whole !== undefined) return whole;
  if (/^-?\d{1,3}([.,'\s\u00a0\u202f]\d{3})+$/.test(word))
    throw asText(name, word, 'has its digits in groups');
  return ratioCell(word, flag) ?? word;
}

const asText = (name: string, word: string, what: string) =>
  usage(
    `${name}: ${word.slice(0, 60)}: the number ${what}`,
    'give the column the format text, and write it again',
  );

const isTaken = (flag: Flag, word: string): boolean => can(() => flag.parse(word, '--x'));

/** The am/pm mark before or after a time, as spreadsheets write it. */
const half = String.raw`(?:([ap])\.?\s?m\.?|(nachm|vorm)\.|([上下]午|午[前後]|م|ص))`;
const time = new RegExp(String.raw`^(?:${half}\s*)?(\d{1,2}):(\d{2})(?::00)?(?:\s*${half})?$`, 'i');

/** Restores a ratio that was read as a time: `16:09`, `04:09:00 PM`, `下午 4:09`; undefined if no ratio of the flag fits. */
function ratioCell(word: string, flag: Flag | undefined): string | undefined {
  const [, ...parts] = time.exec(word) ?? [];
  const [hours = '', minutes = ''] = parts.splice(3, 2);
  const told = parts.find((part) => part !== undefined);
  const later = /^(p|nachm|下午|午後|م)$/i.test(told ?? '') ? 12 : 0;
  const ratio = `${(Number(hours) % (told === undefined ? 24 : 12)) + later}:${Number(minutes)}`;
  return flag?.choices?.includes(ratio) ? ratio : undefined;
}
