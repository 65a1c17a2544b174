import { usage } from '../../../errors.ts';
import { flagName } from '../../../flags/flag.ts';
import { type BetaVariant, betaO1Media } from '../../../gateway/beta/modes.ts';
import type { BetaO1Item } from '../../../gateway/beta/o1.ts';
import type { MediaInput } from '../../../media/resolve.ts';
import { type BetaFlags, betaVariant } from './flags.ts';

// `[ID=]REF` of the O1 flags -> what is resolved, and what is put into `contents`.

type MediaType = Exclude<BetaO1Item['type'], 'prompt' | 'element'>;

/** A reference to a medium as it was typed: where it goes, the ID it is called by, and the rest. */
export interface O1Reference {
  readonly type: MediaType;
  readonly flag: string;
  readonly id: string | undefined;
  readonly raw: string;
}

/** The flags of O1 that refer to something, and the type of item that each makes; in request order. */
export const o1Flags = {
  firstFrame: 'first_frame',
  lastFrame: 'last_frame',
  image: 'refer_image',
  featureVideo: 'feature_video',
  baseVideo: 'base_video',
  element: 'element',
} as const satisfies Partial<Record<keyof BetaFlags, BetaO1Item['type']>>;

const typed = (value: string | readonly string[] | undefined): readonly string[] =>
  value === undefined ? [] : typeof value === 'string' ? [value] : value;

/** Splits `ID=REF`; a URL, a path and a data URI hold something before their `=` that no ID has. */
function splitId(raw: string): { id: string | undefined; rest: string } {
  const [, id, rest] = /^([\p{L}\p{N}_-]{1,64})=([\s\S]*)$/u.exec(raw) ?? [];
  return id !== undefined && rest !== undefined ? { id, rest } : { id: undefined, rest: raw };
}

/** The media of the flags, in request order. */
export const o1References = (flags: BetaFlags): O1Reference[] =>
  (['firstFrame', 'lastFrame', 'image', 'featureVideo', 'baseVideo'] as const).flatMap((key) =>
    typed(flags[key]).map((raw) => {
      const { id, rest } = splitId(raw);
      return { type: o1Flags[key], flag: flagName(key), id, raw: rest };
    }),
  );

/** The elements of the flags as items. An element needs an ID: without one it is called by its number. */
export const o1Elements = (flags: BetaFlags): BetaO1Item[] =>
  typed(flags.element).map((raw, index) => {
    const { id, rest } = splitId(raw);
    return { type: 'element', id: id ?? `element${index + 1}`, element_id: rest };
  });

/**
 * The media of the flags, to be resolved: images by file, URL or Base64, videos by address only.
 * Throws `usage` where the mode has no place for any.
 */
export function betaMedia(flags: BetaFlags): MediaInput[] {
  const variant = betaVariant(flags);
  if (variant.mode !== 'o1') refuseReferences(flags, variant);
  return o1References(flags).map(({ type, flag, raw }) => {
    const modality = type === 'feature_video' || type === 'base_video' ? 'video' : 'image';
    return {
      raw,
      flag,
      modality,
      takes: { url: true, base64: modality === 'image', schemes: [] },
      limits: betaO1Media[modality],
    };
  });
}

/** Throws `usage` for what only O1 has a place for. */
function refuseReferences(flags: BetaFlags, { mode, settings }: BetaVariant): void {
  const key = (Object.keys(o1Flags) as (keyof typeof o1Flags)[]).find((name) => flags[name] !== undefined);
  if (key === undefined) return;
  const flag = flagName(key);
  throw settings
    ? usage(`${flag}: the mode ${mode} takes a prompt only`, 'add --mode o1, or leave it out')
    : usage(
        `${flag}: how the mode ${mode} takes media is not documented`,
        'put it into the body as the gateway takes it, with --body FILE or --set PATH=VALUE',
      );
}
