import { MB, type MediaLimits, type Modality, mediaFormats } from '../limits.ts';

// The models of family A and all its limits by model ("Family A video task", "Limits").

export const alphaResolutions = ['480p', '720p', '1080p', '4k'] as const;
export const alphaFixedRatios = ['21:9', '16:9', '4:3', '1:1', '3:4', '9:16'] as const;
export const alphaRatios = [...alphaFixedRatios, 'adaptive'] as const;
export const alphaFormats = ['mp4', 'mov'] as const;
export const alphaTaskTypes = ['auto', 'reference', 'edit', 'extend'] as const;

/** `duration` of -1 lets the service choose the length (2.5 only). */
export const AUTO_DURATION = -1;

/** The limits that differ by model, from the document's table of models and its output and asset limits. */
export interface AlphaModel {
  /** The name people type: `-m 2.5`. */
  readonly short: string;
  readonly version: '2.0' | '2.5';
  readonly durationS: { readonly min: number; readonly max: number };
  readonly resolutions: readonly (typeof alphaResolutions)[number][];
  readonly ratios: readonly (typeof alphaRatios)[number][];
  readonly formats: readonly (typeof alphaFormats)[number][];
  readonly references: { readonly [M in Modality]: number } & { readonly total: number };
  /** Limits of each referenced file; on 2.0 the document states none. */
  readonly media: { readonly [M in Modality]?: MediaLimits };
  /** Maximum total duration of all reference videos, and separately of all reference audio, in seconds. */
  readonly totalReferenceS?: number;
}

const references20 = { image: 9, video: 3, audio: 3, total: 15 };
const model20 = {
  version: '2.0',
  durationS: { min: 4, max: 15 },
  ratios: alphaFixedRatios,
  formats: ['mp4'],
  references: references20,
  media: {},
} as const;

export const alphaModels: Readonly<Record<string, AlphaModel>> = {
  'alpha-video-2-0-260128': { ...model20, short: '2.0', resolutions: ['480p', '720p', '1080p', '4k'] },
  'alpha-video-2-0-fast-260128': { ...model20, short: '2.0-fast', resolutions: ['480p', '720p'] },
  'alpha-video-2-0-mini-260615': { ...model20, short: '2.0-mini', resolutions: ['480p', '720p'] },
  'alpha-video-2-5-260628': {
    short: '2.5',
    version: '2.5',
    durationS: { min: 4, max: 30 },
    resolutions: ['480p', '720p', '1080p'],
    ratios: alphaRatios,
    formats: alphaFormats,
    references: { image: 30, video: 10, audio: 10, total: 50 },
    media: {
      image: {
        formats: mediaFormats.image,
        bytes: { max: 30 * MB, exclusive: true },
        edgePx: { min: 300, max: 6000 },
        aspect: { min: 0.4, max: 2.5 },
      },
      video: {
        formats: mediaFormats.video,
        bytes: { max: 200 * MB },
        aspect: { min: 0.4, max: 2.5 },
        durationS: { min: 2, max: 30 },
        framesPerS: { min: 24, max: 60 },
        resolutions: ['480p', '720p'],
      },
      audio: {
        formats: mediaFormats.audio,
        bytes: { max: 15 * MB, exclusive: true },
        durationS: { min: 2, max: 30 },
      },
    },
    totalReferenceS: 30,
  },
};

export const ALPHA_MAX_BODY_BYTES = 64 * MB;

/** The full ID for a model's short name; any other value is returned unchanged. */
export const alphaModelId = <T>(typed: T): string | T =>
  Object.entries(alphaModels).find(([, { short }]) => short === typed)?.[0] ?? typed;
