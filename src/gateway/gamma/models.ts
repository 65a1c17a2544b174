import { MB, type MediaLimits, type Modality } from '../limits.ts';

// The models of family C and the limits of each ("Family C endpoints"). All limits of family C are kept here.

export const gammaResolutions = ['480P', '768P', '2K'] as const;
export const gammaFixedRatios = ['21:9', '16:9', '4:3', '1:1', '3:4', '9:16'] as const;
export const gammaRatios = ['adaptive', ...gammaFixedRatios] as const;

/** The limits that differ by model. */
export interface GammaModel {
  readonly durationS: { readonly min: number; readonly max: number };
  readonly resolutions: readonly (typeof gammaResolutions)[number][];
  /** How many references of each modality the model takes; H3-Max takes none. */
  readonly references: { readonly [M in Modality]: number };
}

export const gammaModels: Readonly<Record<string, GammaModel>> = {
  'gamma-H3': {
    durationS: { min: 4, max: 15 },
    resolutions: ['768P', '2K'],
    references: { image: 9, video: 3, audio: 3 },
  },
  'gamma-H3-Max': {
    durationS: { min: 5, max: 15 },
    resolutions: ['480P', '768P'],
    references: { image: 0, video: 0, audio: 0 },
  },
};

/** Limits of each file; a frame has the limits of any other image. */
export const gammaMedia = {
  image: {
    formats: ['jpeg', 'png', 'webp', 'heic', 'heif'],
    bytes: { max: 30 * MB },
    edgePx: { min: 256, max: 5760 },
    aspect: { min: 0.4, max: 2.5 },
  },
  video: {
    formats: ['mp4', 'mov'],
    bytes: { max: 50 * MB },
    durationS: { min: 2, max: 15 },
    framesPerS: { min: 23.976, max: 60 },
    videoCodecs: ['avc', 'hevc'],
    audioCodecs: ['aac', 'mp3'],
  },
  audio: { formats: ['wav', 'mp3'], bytes: { max: 15 * MB }, durationS: { min: 2, max: 15 } },
} as const satisfies { readonly [M in Modality]: MediaLimits };

/** The MIME subtypes that a data URI may use for those formats. */
export const gammaDataTypes: { readonly [M in Modality]: readonly string[] } = {
  image: ['jpeg', 'jpg', 'png', 'webp', 'heic', 'heif'],
  video: ['mp4', 'quicktime', 'mov'],
  audio: ['wav', 'x-wav', 'wave', 'vnd.wave', 'mpeg', 'mp3'],
};

/** Maximum total duration of all reference videos, and separately of all reference audio, in seconds. */
export const GAMMA_TOTAL_REFERENCE_S = 15;

/** Longest text item, in code points. */
export const GAMMA_MAX_TEXT_CHARACTERS = 7000;

export const GAMMA_MAX_BODY_BYTES = 64 * MB;
