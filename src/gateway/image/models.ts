// The image models and the limits of each ("Image endpoints", "Limits"). All limits of image models are kept here.

export const imageQualities = ['standard', 'hd', 'low', 'medium', 'high', 'xhigh', 'max', 'auto'] as const;
/** The `quality` values of `POST /v1/images/edits`. */
export const imageEditQualities = ['low', 'medium', 'high', 'xhigh', 'max', 'auto'] as const;
export const imageFormats = ['png', 'jpeg', 'webp'] as const;
export const imageBackgrounds = ['transparent', 'opaque', 'auto'] as const;
export const imageModerations = ['low', 'auto'] as const;
export const imageStyles = ['vivid', 'natural'] as const;
export const imageResponseFormats = ['url', 'b64_json'] as const;
export const imageFidelities = ['high', 'low'] as const;

export const MAX_IMAGES_PER_REQUEST = 10;
export const MAX_INPUT_IMAGES = 16;
export const MAX_PARTIAL_IMAGES = 3;
export const MAX_COMPRESSION = 100;
/** The gateway's defaults, as far as the document states them. */
export const imageDefaults = {
  quality: 'auto',
  background: 'auto',
  moderation: 'auto',
  compression: MAX_COMPRESSION,
} as const;
/** Longest prompt of an edit, for every model ("Image endpoints", edits). */
export const MAX_EDIT_PROMPT_CHARACTERS = 32_000;
/** Sizes of img models with more pixels than 2560x1440 are experimental. */
export const EXPERIMENTAL_ABOVE_PIXELS = 2560 * 1440;

type Quality = (typeof imageQualities)[number];

/** Rules for sizes that need not come from a list. */
export interface FreeSizes {
  /** Width and height must each be a multiple of this number. */
  readonly multipleOf: number;
  /** Maximum of the longer edge divided by the shorter one. */
  readonly maxAspect: number;
  readonly maxEdgePx?: number;
  readonly pixels: { readonly min: number; readonly max: number };
}

/** The values that `size` may have. */
export interface SizeRule {
  /** Words such as `auto` or a preset. */
  readonly words: readonly string[];
  /** Fixed sizes as `WIDTHxHEIGHT`. */
  readonly list?: readonly string[];
  readonly free?: FreeSizes;
}

export type ImageModelFamily = 'img' | 'legacy' | 'delta';

/** The limits that differ by model. */
export interface ImageModel {
  readonly family: ImageModelFamily;
  /** In code points; absent if the document states no maximum. */
  readonly maxPromptCharacters?: number;
  readonly size: SizeRule;
  readonly defaultSize?: string;
  /** `auto` is the documented default, so every model takes it. */
  readonly qualities: readonly Quality[];
  /** The qualities of an edit, if they differ. */
  readonly editQualities?: readonly Quality[];
  readonly maxImages: number;
  /** Support for `background`; absent if it is not a parameter of this model. */
  readonly background?: 'supported' | 'preview';
  /** Whether the model takes `style`. */
  readonly styles: boolean;
  /** Whether `POST /v1/images/edits` takes the model. */
  readonly edits: boolean;
}

/** Qualities of the common variant, also used for models that no table of the document lists. */
export const commonQualities: readonly Quality[] = ['low', 'medium', 'high', 'auto'];

const img = {
  family: 'img',
  maxPromptCharacters: 32_000,
  size: {
    // The listed sizes 1024x1024, 1536x1024 and 1024x1536 satisfy `free` too.
    words: ['auto'],
    // The document's maximum 3840x2160 limits the longer edge and the pixel count, in either orientation.
    free: { multipleOf: 16, maxAspect: 3, maxEdgePx: 3840, pixels: { min: 1, max: 3840 * 2160 } },
  },
  maxImages: MAX_IMAGES_PER_REQUEST,
  styles: false,
  edits: true,
} as const;
const img2: ImageModel = { ...img, qualities: ['low', 'medium', 'high', 'auto'], background: 'preview' };
const img25: ImageModel = {
  ...img,
  qualities: ['low', 'medium', 'high', 'xhigh', 'max', 'auto'],
  background: 'supported',
};

const delta = (presets: readonly string[], pixels: FreeSizes['pixels'], defaultSize: string): ImageModel => ({
  family: 'delta',
  size: { words: presets, free: { multipleOf: 1, maxAspect: 16, pixels } },
  defaultSize,
  qualities: commonQualities,
  maxImages: MAX_IMAGES_PER_REQUEST,
  styles: false,
  edits: false,
});

export const imageModels: Readonly<Record<string, ImageModel>> = {
  'img-2': img2,
  'img-2-2026-04-21': img2,
  'img-2.5-sunburst': img25,
  'img-2.5-sunburst-2026-09-08': img25,
  'img-2.5-flare': img25,
  'img-2.5-flare-2026-09-08': img25,
  'legacy-image-2': {
    family: 'legacy',
    maxPromptCharacters: 1000,
    size: { words: [], list: ['256x256', '512x512', '1024x1024'] },
    qualities: ['standard', 'auto'],
    editQualities: commonQualities,
    maxImages: MAX_IMAGES_PER_REQUEST,
    styles: false,
    edits: true,
  },
  'legacy-image-3': {
    family: 'legacy',
    maxPromptCharacters: 4000,
    size: { words: [], list: ['1024x1024', '1792x1024', '1024x1792'] },
    qualities: ['standard', 'hd', 'auto'],
    maxImages: 1,
    styles: true,
    edits: false,
  },
  'delta-image-4-0-250828': delta(['1K', '2K', '4K'], { min: 921_600, max: 16_777_216 }, '2048x2048'),
  'delta-image-4-5-251128': delta(['2K', '4K'], { min: 3_686_400, max: 16_777_216 }, '2048x2048'),
  'delta-image-5-0-lite-260128': delta(['2K', '3K', '4K'], { min: 3_686_400, max: 16_777_216 }, '2048x2048'),
  'delta-image-5-0-pro-260628': delta(['1K', '1.5K', '2K'], { min: 921_600, max: 4_624_220 }, '2K'),
};

/** All sizes that the document names, for any model. */
export const namedSizes: readonly string[] = [
  ...new Set([
    ...['auto', '1024x1024', '1536x1024', '1024x1536'],
    ...Object.values(imageModels).flatMap(({ size }) => [...size.words, ...(size.list ?? [])]),
  ]),
];

/**
 * The documented facts about a model; undefined if no table lists it. The common variant has no closed list of models,
 * so an unknown ID is not refused; only the rules that name no model apply.
 */
export const imageModel = (id: string): ImageModel | undefined =>
  Object.hasOwn(imageModels, id) ? imageModels[id] : undefined;

export const imageModelsWhere = (fits: (model: ImageModel) => boolean): string[] =>
  Object.entries(imageModels)
    .filter(([, model]) => fits(model))
    .map(([id]) => id);

/** The document's sentence about the sizes of a model. */
export function sizeSentence(id: string): string {
  const { size, defaultSize } = imageModel(id) ?? img2;
  if (size.list) return `${id}: ${size.list.join(', ')}`;
  if (!defaultSize) return 'divisible by 16, aspect ratio between 1:3 and 3:1 … maximum 3840x2160';
  const [min, max] = Object.values(size.free?.pixels ?? {}).map((each) => each.toLocaleString('en'));
  return `${id} ${size.words.join(', ')} ${min}-${max} ${defaultSize}`;
}
