import type { Note } from '../body.ts';
import { codePoints } from '../code-points.ts';
import { BETA_MAX_SHOT_PROMPT, BETA_MAX_SHOTS, BETA_MIN_SHOT_S } from './modes.ts';

// The multi-shot prompt: `shot n, m, words;` up to six times ("Family B endpoints").

/** One shot: its number, its length as it was written, and its words. */
export interface BetaShot {
  readonly number: number;
  readonly seconds: string;
  readonly words: string;
}

const opening = /^\s*shot\s+\d+\s*,/i;
const shot = /\s*shot\s+(\d+)\s*,([^,;]*),([^;]*)(?:;|$)\s*/iy;

/** Writes shots as the prompt that the gateway takes, numbered from 1. */
export const buildShots = (shots: readonly Pick<BetaShot, 'seconds' | 'words'>[]): string =>
  shots.map(({ seconds, words }, index) => `shot ${index + 1}, ${seconds}, ${words};`).join(' ');

/**
 * Reads a multi-shot prompt; undefined for one that does not begin as one, which is an ordinary prompt. What does not
 * fit the syntax is `rest`.
 */
export function parseShots(prompt: string): { shots: BetaShot[]; rest: string } | undefined {
  if (!opening.test(prompt)) return undefined;
  const shots: BetaShot[] = [];
  let at = 0;
  for (;;) {
    shot.lastIndex = at;
    const found = shot.exec(prompt);
    if (!found) return { shots, rest: prompt.slice(at).trim() };
    const [whole, number = '', seconds = '', words = ''] = found;
    shots.push({ number: Number(number), seconds: seconds.trim(), words: words.trim() });
    at += whole.length;
    if (at >= prompt.length) return { shots, rest: '' };
  }
}

const isLength = (seconds: string): boolean =>
  /^\d{1,6}(\.\d{1,3})?$/.test(seconds) && Number(seconds) >= BETA_MIN_SHOT_S;

/** How long a prompt of well-formed shots is in all, in seconds; undefined for any other prompt. */
export function shotsTotalS(prompt: string): number | undefined {
  const { shots = [], rest } = parseShots(prompt) ?? {};
  if (rest !== '' || !shots.every(({ seconds }) => isLength(seconds))) return undefined;
  // Thousandths add up without a rest.
  return shots.reduce((sum, { seconds }) => sum + Math.round(Number(seconds) * 1000), 0) / 1000;
}

/** Where a prompt that begins as shots leaves the syntax; undefined where it does not. */
export function shotSyntaxBreach(prompt: string): string | undefined {
  const { shots = [], rest } = parseShots(prompt) ?? {};
  if (rest === undefined) return undefined;
  if (rest !== '') {
    const where = shots.length > 0 ? `after shot ${shots.length}` : 'at its beginning';
    return `${where} the prompt is not of the form "shot n, m, words;" (n the number, m the seconds)`;
  }
  const unended = shots.findIndex(({ words }) => /\bshot\s+\d+\s*,/i.test(words));
  return unended < 0 ? undefined : `a ";" is missing at the end of shot ${unended + 1}`;
}

/** The bounds that well-formed shots break. */
export function* shotBreaches(prompt: string): Generator<Note> {
  const path = ['prompt'];
  const { shots = [], rest } = parseShots(prompt) ?? {};
  if (rest !== '') return;
  if (shots.length > BETA_MAX_SHOTS) {
    yield { path, message: `at most ${BETA_MAX_SHOTS} shots are taken, ${shots.length} given` };
  }
  for (const [index, { number, seconds, words }] of shots.entries()) {
    const name = `shot ${index + 1}`;
    if (number !== index + 1) {
      yield { path, message: `shots are numbered 1, 2, 3 and so on; ${name} has the number ${number}` };
    }
    if (!isLength(seconds)) {
      yield {
        path,
        message: `${name} has the length "${seconds}": whole seconds, at least ${BETA_MIN_SHOT_S}`,
      };
    }
    if (words === '') yield { path, message: `${name} has no words` };
    const length = codePoints(words);
    if (length > BETA_MAX_SHOT_PROMPT) {
      yield { path, message: `${name} has ${length} characters; at most ${BETA_MAX_SHOT_PROMPT} are taken` };
    }
  }
}
