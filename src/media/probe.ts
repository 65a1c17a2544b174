import { type Modality, mediaFormats } from '../gateway/limits.ts';
import { type ByteSource, openMediaFile } from './local-file.ts';
import { type FileType, SNIFF_BYTES, sniff } from './signatures.ts';
import type { TrackFacts } from './track-facts.ts';

/** The facts that the bytes of a media file tell; a fact that cannot be read is left out. */
export interface MediaFacts {
  readonly modality: FileType['modality'];
  /** The gateway's name of the format, if it has one; `unknown` if the bytes do not tell. */
  readonly format: string;
  readonly mime: string;
  readonly bytes: number;
  /** The displayed size, after rotation and pixel aspect ratio. */
  readonly widthPx?: number | undefined;
  readonly heightPx?: number | undefined;
  readonly durationS?: number | undefined;
  /** The average over the track. */
  readonly framesPerS?: number | undefined;
  /** Codec names of the probing library: `avc`, `hevc`, `aac`, `mp3`, …; {@link UNKNOWN_CODEC} if it has no name. */
  readonly videoCodec?: string | undefined;
  readonly audioCodec?: string | undefined;
  /** True if the tracks could not be read to the end within the limits; facts may be missing. */
  readonly isStuck?: boolean | undefined;
}

/** What to read from a source, and how. */
export interface ProbeOptions {
  /** Only for files of this modality are facts beyond the format read. */
  readonly modality: Modality;
  /** The directory of the files shipped with gw, which holds the thread that reads tracks. */
  readonly assetsDir: string;
  readonly deadlineMs?: number | undefined;
  /** If false, facts about the tracks are not read. */
  readonly readsTracks?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Timeout for reading a file's facts. */
export const DEADLINE_MS = 5_000;

/** The codec of a track whose kind is unknown. */
export const UNKNOWN_CODEC = 'unknown';

const unknownType = { format: 'unknown', modality: 'other', mime: 'application/octet-stream' } as const;

/**
 * Reads the facts of a source from only the ranges that it needs. If the format is unknown to the gateway or of another
 * modality, only its first bytes are read. Throws what `source.read` throws, and the signal's reason.
 */
export async function probe(source: ByteSource, options: ProbeOptions): Promise<MediaFacts> {
  const type = sniff(await source.read(0, Math.min(SNIFF_BYTES, source.bytes))) ?? unknownType;
  const { modality, format, mime } = type;
  const facts: MediaFacts = { modality, format, mime, bytes: source.bytes };
  if (modality !== options.modality) return facts;
  if (modality === 'image') {
    const { readImageSize } = await import('./image-facts.ts');
    return { ...facts, ...(await readImageSize(source, format)) };
  }
  if (options.readsTracks === false) return facts;
  if (!(mediaFormats[modality] as readonly string[]).includes(format)) return facts;
  const { inWorker } = await import('./in-worker.ts');
  const { last, isDone } = await inWorker<TrackFacts>({ do: 'tracks', content: source.content }, options);
  return { ...facts, ...last, ...(!isDone && { isStuck: true }) };
}

/** Like {@link probe}, for bytes in memory. */
export function probeBytes(bytes: Uint8Array, options: ProbeOptions): Promise<MediaFacts> {
  return probe(sourceOf(bytes), options);
}

/**
 * Like {@link probe}, for a file; `named` is its name in messages. Throws `usage` if it is missing, unreadable, empty,
 * irregular, or changes while it is read.
 */
export async function probeFile(path: string, named: string, options: ProbeOptions): Promise<MediaFacts> {
  const file = await openMediaFile(path, named);
  try {
    const facts = await probe(file, options);
    await file.assertUnchanged();
    return facts;
  } finally {
    await file.close();
  }
}

export function sourceOf(bytes: Uint8Array): ByteSource {
  return { bytes: bytes.length, content: bytes, read: async (start, end) => bytes.subarray(start, end) };
}
