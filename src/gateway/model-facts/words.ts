import type * as z from 'zod';
import { fieldsOf, rulesOf, setOf, takesInWords } from '../body.ts';
import { codecWords, MB, type MediaLimits, type Range } from '../media-limits.ts';
import type { Fact } from './sheets.ts';

// Limits of the tables in words.

export const fact = (name: string, value: string | undefined): Fact[] =>
  value === undefined || value === '' ? [] : [{ name, value }];

/** What a model takes of each field of a body that has a row. */
export function fieldFacts(body: z.ZodType, model: unknown): Fact[] {
  return fieldsOf(body).flatMap(({ schema, facts }) => {
    const takes = facts.takes ? facts.takes(model) : setOf(schema);
    if (facts.row === undefined || takes === undefined) return [];
    const words = schema.type === 'boolean' ? 'on or off' : takesInWords(takes, facts, ' s');
    const fallback = facts.fallback === true ? 'on' : facts.fallback;
    return fact(facts.row, fallback === undefined ? words : `${words} (default ${fallback})`);
  });
}

/** The rules of a body in the document's words. */
export const ruleFacts = (body: z.ZodType): Fact[] =>
  rulesOf(body).map(({ name, sentence, verdict }) => ({
    name,
    value: verdict === 'warn' ? `${sentence} (a warning)` : sentence,
  }));

/** `4-15 s`; a bound that is no bound is left out. */
export function rangeWords({ min, max, exclusive }: Range, unit = ''): string {
  const of = unit === '' ? '' : ` ${unit}`;
  const edge = exclusive ? ', exclusive' : '';
  if (max === Number.POSITIVE_INFINITY) return `${exclusive ? 'above' : 'at least'} ${min}${of}`;
  return `${min}-${max}${of}${edge}`;
}

export const bytesWords = ({ max, exclusive }: NonNullable<MediaLimits['bytes']>): string =>
  `${exclusive ? 'under' : 'up to'} ${max / MB} MB`;

const HOUR_MS = 3_600_000;
/** `7 days`, `24 hours`, `60 minutes`. */
export function lifeWords(ms: number): string {
  if (ms > 48 * HOUR_MS) return `${ms / (24 * HOUR_MS)} days`;
  return ms > HOUR_MS ? `${ms / HOUR_MS} hours` : `${ms / 60_000} minutes`;
}

/** What a file must be; empty where the document states nothing. */
export function mediaWords(limits: MediaLimits): string {
  const { formats, bytes, edgePx, aspect, pixels, durationS, framesPerS, videoCodecs, audioCodecs } = limits;
  const codecs = (names: NonNullable<MediaLimits['videoCodecs']>) =>
    names.map((name) => codecWords[name]).join(' or ');
  return [
    formats?.join(', '),
    bytes && bytesWords(bytes),
    edgePx && `edges ${rangeWords(edgePx, 'px')}`,
    aspect && `width/height ${rangeWords(aspect)}`,
    pixels && rangeWords(pixels, 'pixels'),
    durationS && rangeWords(durationS, 's'),
    framesPerS && rangeWords(framesPerS, 'frames/s'),
    videoCodecs && codecs(videoCodecs),
    audioCodecs && `sound ${codecs(audioCodecs)}`,
  ]
    .filter(Boolean)
    .join('; ');
}
