/** The gateway's document says MB; gw and the sandbox read it as 1,048,576 bytes everywhere. */
export const MB = 1024 * 1024;

/** A closed range, or an open one where the document says "exclusive", "above" or "below". */
export interface Range {
  readonly min: number;
  readonly max: number;
  readonly exclusive?: true;
}

/** What an endpoint accepts of one kind of file. A bound left out is not stated in the document. */
export interface MediaLimits {
  readonly formats?: readonly string[];
  readonly bytes?: { readonly max: number; readonly exclusive?: true };
  /** Width and height, each. */
  readonly edgePx?: Range;
  /** Width divided by height. */
  readonly aspect?: Range;
  readonly pixels?: Range;
  readonly durationS?: Range;
  readonly framesPerS?: Range;
  readonly videoCodecs?: readonly Codec[];
  /** Of a video's sound; a silent video has none. */
  readonly audioCodecs?: readonly Codec[];
}

/** Codecs by their short names, with the document's words for them. */
export const codecWords = { avc: 'H.264', hevc: 'H.265', aac: 'AAC', mp3: 'MP3' } as const;
export type Codec = keyof typeof codecWords;

export type Modality = 'image' | 'video' | 'audio';

/** File formats by the gateway's names, with the MIME subtype of each as it stands in a data URI. */
export const mediaFormats = {
  image: ['jpeg', 'png', 'webp', 'bmp', 'tiff', 'gif', 'heic', 'heif'],
  video: ['mp4', 'mov'],
  audio: ['wav', 'mp3'],
} as const satisfies Record<Modality, readonly string[]>;
