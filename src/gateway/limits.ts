/** Account limits of family A ("Limits"): requests per minute and concurrent tasks. */
export const accountLimits = {
  enterprise: { requestsPerMinute: 600, concurrentTasks: 10 },
  personal: { requestsPerMinute: 180, concurrentTasks: 3 },
} as const;

/** Limits of family A standard 2.0 at 4k, for both account types. */
export const fourKLimits = { requestsPerMinute: 15, concurrentTasks: 1 } as const;

/** The other families have no documented rate: two requests a second are gentle, and enough for thousands of tasks. */
const gentleLimits = { requestsPerMinute: 120 } as const;

export type AccountType = keyof typeof accountLimits;
export const accountTypes = Object.keys(accountLimits) as AccountType[];

/** Tasks that share a rate limit and, if documented, a limit of concurrent tasks. */
export interface RatePool {
  readonly name: string;
  readonly requestsPerMinute: number;
  readonly concurrentTasks?: number;
}

/** The facts that decide a task's pool. */
export interface PooledTask {
  readonly family: string;
  readonly settings: Readonly<Record<string, unknown>>;
}

/** The rate pool of a task; 4k tasks of family A have their own ("Limits"). */
export function poolOf({ family, settings }: PooledTask, account: AccountType): RatePool {
  if (family !== 'alpha') return { name: family, ...gentleLimits };
  if (settings.resolution === '4k') return { name: 'alpha-4k', ...fourKLimits };
  return { name: 'alpha', ...accountLimits[account] };
}

export const HOUR_MS = 3_600_000;

/** The gateway's document says MB; gw and the sandbox read it as 1,048,576 bytes everywhere. */
export const MB = 1024 * 1024;

/** A closed range; `exclusive` if the document says "exclusive", "above" or "below". */
export interface Range {
  readonly min: number;
  readonly max: number;
  readonly exclusive?: true;
}

/** True if a value is in a range, or at most `tolerance` outside a closed one. */
export function within(value: number, range: Range, tolerance = 0): boolean {
  if (range.exclusive) return value > range.min && value < range.max;
  return value >= range.min - tolerance && value <= range.max + tolerance;
}

/** The limits of an endpoint for one kind of file. A missing limit is not stated in the document. */
export interface MediaLimits {
  readonly formats?: readonly string[];
  readonly bytes?: { readonly max: number; readonly exclusive?: true };
  readonly edgePx?: Range;
  /** Width divided by height. */
  readonly aspect?: Range;
  readonly pixels?: Range;
  readonly durationS?: Range;
  readonly framesPerS?: Range;
  /** Stated for videos that are given by URL, which gw does not open. */
  readonly resolutions?: readonly string[];
  readonly videoCodecs?: readonly Codec[];
  /** Codecs of a video's sound track; a silent video has none. */
  readonly audioCodecs?: readonly Codec[];
}

/** Codecs by short name, with the document's name for each. */
export const codecWords = { avc: 'H.264', hevc: 'H.265', aac: 'AAC', mp3: 'MP3' } as const;
type Codec = keyof typeof codecWords;

export type Modality = 'image' | 'video' | 'audio';

/** File formats by the gateway's names, which are also the MIME subtypes in a data URI. */
export const mediaFormats = {
  image: ['jpeg', 'png', 'webp', 'bmp', 'tiff', 'gif', 'heic', 'heif'],
  video: ['mp4', 'mov'],
  audio: ['wav', 'mp3'],
} as const satisfies Record<Modality, readonly string[]>;

/** Counts characters as the limits do: an emoji of one code point counts as one. */
export function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}
