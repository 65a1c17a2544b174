import * as z from 'zod/mini';
import { described } from '../body.ts';
import { filled, filledText, stated, unstated } from '../checks.ts';
import { codePoints, MB, type MediaLimits, mediaFormats } from '../limits.ts';

// Fields and limits of the asset library's bodies ("Asset group and asset", "Asset library actions", "Limits").

export const groupTypes = ['AIGC', 'LivenessFace'] as const;
export const assetTypes = ['Image', 'Video', 'Audio'] as const;
export type AssetType = (typeof assetTypes)[number];
export const assetStatuses = ['Active', 'Processing', 'Failed'] as const;
export type AssetStatus = (typeof assetStatuses)[number];

/** The gateway's default group type, for a new group and for a list. */
export const DEFAULT_GROUP_TYPE = 'AIGC';
export const DEFAULT_PROJECT = 'default';
export const MAX_NAME = 64;
export const MAX_DESCRIPTION = 300;

/** Finds the documented spelling of a word in any case; undefined if the set does not hold the word. */
export const canonical = <const T extends string>(values: readonly T[], word: unknown): T | undefined =>
  typeof word === 'string' ? values.find((value) => value.toLowerCase() === word.toLowerCase()) : undefined;

/** A field that accepts the words of a set, "case-insensitive on input". */
export const anyCase = (values: readonly string[]) =>
  z.string().check(
    z.superRefine((word, ctx) => {
      if (canonical(values, word) !== undefined) return;
      ctx.addIssue({ code: 'custom', message: `one of ${values.join(', ')}`, params: { known: values } });
    }),
  );

/** A text of at most `max` characters, counted as code points. */
export const textUpTo = (max: number) =>
  z.string().check(
    z.superRefine((text, ctx) => {
      const count = codePoints(text);
      if (count > max)
        ctx.addIssue({ code: 'custom', message: `has ${count} characters, and may have at most ${max}` });
    }),
  );

export const nameText = () => textUpTo(MAX_NAME).check(filled());

const ASSET_SCHEME = /^asset:\/\//i;
const usableId = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
const notAnId = 'not an ID, which has letters, digits, dots, dashes and underscores';

/** An ID as the gateway takes it: without `asset://`. */
export const LibraryId = z.string().check(
  stated(
    (id) => !ASSET_SCHEME.test(id),
    'give the bare ID here, without asset://',
    'required, bare ID without asset://',
  ),
  unstated((id) => usableId.test(bareId(id)), notAnId),
);

export const bareId = (typed: string): string => typed.replace(ASSET_SCHEME, '');

export const projectField = described(
  z.optional(filledText()),
  `project that it belongs to, the same for creating, querying and using it (the service: ${DEFAULT_PROJECT})`,
);

/** "Asset requirements": a file must meet these limits to become `Active`; its address alone cannot show it. */
export const assetLimits: Readonly<Record<AssetType, MediaLimits>> = {
  Image: {
    formats: mediaFormats.image,
    bytes: { max: 30 * MB, exclusive: true },
    edgePx: { min: 300, max: 6000, exclusive: true },
    aspect: { min: 0.4, max: 2.5, exclusive: true },
  },
  Video: {
    formats: mediaFormats.video,
    bytes: { max: 200 * MB },
    durationS: { min: 2, max: 30 },
    edgePx: { min: 300, max: 6000 },
    aspect: { min: 0.4, max: 2.5 },
    pixels: { min: 407_696, max: 8_295_044 },
    framesPerS: { min: 24, max: 60 },
  },
  Audio: { formats: mediaFormats.audio, bytes: { max: 15 * MB }, durationS: { min: 2, max: 30 } },
};

/** The service downloads at most this many bytes of one asset. */
export const ASSET_MAX_DOWNLOAD_BYTES = 200 * MB;
