import type * as z from 'zod/mini';
import { fieldsOf, rulesOf, setOf, takesInWords } from '../body.ts';
import { codecWords, HOUR_MS, MB, type MediaLimits, type Range } from '../limits.ts';
import type { ModelKind } from '../models.ts';

// What gw's tables know about the models in the gateway's list.

/** A value or limit of a model, in words. */
export interface Fact {
  readonly name: string;
  readonly value: string;
  /** True for a rule in the document's words, which only a detailed view shows. */
  readonly isRule?: true;
}

/** Everything that the tables know about one model, or about one endpoint that names a model (family B). */
export interface ModelSheet {
  readonly id: string;
  /** Other names that users type for the model. */
  readonly aliases: readonly string[];
  readonly kind: ModelKind;
  readonly facts: readonly Fact[];
}

/** Every sheet of the tables. */
export async function modelSheets(): Promise<readonly ModelSheet[]> {
  const { chatSheets, imageSheets, videoSheets } = await import('./video.ts');
  return [...chatSheets(), ...imageSheets(), ...videoSheets()];
}

// The tables' limits in words.

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

/** The rules of a body that the document states, in the document's words. */
export const ruleFacts = (body: z.ZodMiniType): Fact[] =>
  rulesOf(body).flatMap(({ name, sentence, verdict }) =>
    fact(name, sentence && (verdict === 'warn' ? `${sentence} (a warning)` : sentence)).map((told) => ({
      ...told,
      isRule: true as const,
    })),
  );

/** A range in words, such as `4-15 s`; an infinite maximum is left out. */
function rangeWords({ min, max, exclusive }: Range, unit = ''): string {
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

/** The limits of a file in words; empty if the document states none. */
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
