import type * as z from 'zod/mini';
import { fieldsOf, rulesOf, setOf, takesInWords } from '../body.ts';
import { codecWords, HOUR_MS, MB, type MediaLimits, type Range } from '../limits.ts';
import type { ModelKind } from '../models.ts';

// What gw's tables know of the models that the gateway's list names.

/** Something that a model takes, or a limit, in words. */
export interface Fact {
  readonly name: string;
  readonly value: string;
  /** A rule in the document's words; shown where more is asked for. */
  readonly isRule?: true;
}

/** Everything the tables say of one model, or of one endpoint that stands for a model (family B). */
export interface ModelSheet {
  readonly id: string;
  /** Other words by which it is meant. */
  readonly aliases: readonly string[];
  readonly kind: ModelKind;
  readonly facts: readonly Fact[];
}

/** Every sheet of the tables. */
export async function modelSheets(): Promise<readonly ModelSheet[]> {
  const { chatSheets, imageSheets, videoSheets } = await import('./video.ts');
  return [...chatSheets(), ...imageSheets(), ...videoSheets()];
}

// Limits of the tables in words.

export const fact = (name: string, value: string | undefined): Fact[] =>
  value === undefined || value === '' ? [] : [{ name, value }];

export function fieldFacts(body: z.ZodMiniType, model: unknown): Fact[] {
  return fieldsOf(body).flatMap(({ schema, facts }) => {
    const takes = facts.takes ? facts.takes(model) : setOf(schema);
    if (facts.row === undefined || takes === undefined) return [];
    const words = schema.type === 'boolean' ? 'on or off' : takesInWords(takes, facts, ' s');
    const fallback = facts.fallback === true ? 'on' : facts.fallback;
    return fact(facts.row, fallback === undefined ? words : `${words} (default ${fallback})`);
  });
}

/** The rules of a body that the document states, in its words. */
export const ruleFacts = (body: z.ZodMiniType): Fact[] =>
  rulesOf(body).flatMap(({ name, sentence, verdict }) =>
    fact(name, sentence && (verdict === 'warn' ? `${sentence} (a warning)` : sentence)).map((told) => ({
      ...told,
      isRule: true as const,
    })),
  );

/** `4-15 s`; a limit that is none is left out. */
export function rangeWords({ min, max, exclusive }: Range, unit = ''): string {
  const of = unit === '' ? '' : ` ${unit}`;
  const edge = exclusive ? ', exclusive' : '';
  if (max === Number.POSITIVE_INFINITY) return `${exclusive ? 'above' : 'at least'} ${min}${of}`;
  return `${min}-${max}${of}${edge}`;
}

export const bytesWords = ({ max, exclusive }: NonNullable<MediaLimits['bytes']>): string =>
  `${exclusive ? 'under' : 'up to'} ${max / MB} MB`;

/** `7 days`, `24 hours`, `60 minutes`. */
export function lifeWords(ms: number): string {
  if (ms > 48 * HOUR_MS) return `${ms / (24 * HOUR_MS)} days`;
  return ms > HOUR_MS ? `${ms / HOUR_MS} hours` : `${ms / 60_000} minutes`;
}

/** What a file must be; empty where the document states nothing. */
export function mediaWords(limits: MediaLimits): string {
  const { formats, bytes, edgePx, aspect, pixels, durationS, framesPerS, resolutions } = limits;
  const { videoCodecs, audioCodecs } = limits;
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
    resolutions?.join(' or '),
    videoCodecs && codecs(videoCodecs),
    audioCodecs && `sound ${codecs(audioCodecs)}`,
  ]
    .filter(Boolean)
    .join('; ');
}
