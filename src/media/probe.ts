import { type Modality, mediaFormats } from '../gateway/limits.ts';
import { type ByteSource, openMediaFile } from './local-file.ts';
import { type FileType, SNIFF_BYTES, sniff } from './signatures.ts';
import type { TrackFacts } from './track-facts.ts';

/** What the bytes of a medium say about it. What cannot be read from them is left out. */
export interface MediaFacts {
  readonly modality: FileType['modality'];
  /** The gateway's name of the format where it has one; `unknown` where the bytes say nothing. */
  readonly format: string;
  readonly mime: string;
  readonly bytes: number;
  /** As shown: after rotation and pixel aspect. */
  readonly widthPx?: number | undefined;
  readonly heightPx?: number | undefined;
  readonly durationS?: number | undefined;
  /** The average over the track. */
  readonly framesPerS?: number | undefined;
  /** As the probing library spells them: `avc`, `hevc`, `aac`, `mp3`, …; {@link UNKNOWN_CODEC} for a track it cannot name. */
  readonly videoCodec?: string | undefined;
  readonly audioCodec?: string | undefined;
  /** True where reading the tracks did not come to an end within the limits; facts may be missing. */
  readonly isStuck?: boolean | undefined;
}

/** What of a source is wanted, and with what its tracks are read. */
export interface ProbeOptions {
  /** Facts beyond the format are read of this kind only. */
  readonly modality: Modality;
  /** Where the files that come with gw are; tracks are read in a thread from there. */
  readonly assetsDir: string;
  readonly deadlineMs?: number | undefined;
  /** False: what stands in the tracks is left out. */
  readonly readsTracks?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Longest time that a file is read for its facts. */
export const DEADLINE_MS = 5_000;

/** The codec of a track that is there, but of no known kind. */
export const UNKNOWN_CODEC = 'unknown';

const unknownType = { format: 'unknown', modality: 'other', mime: 'application/octet-stream' } as const;

/**
 * The facts of a source, from the pieces of it that are needed. A format that the gateway takes nowhere, or of another
 * kind than is wanted, is told by its first bytes and not read. Throws what `source.read` throws, and the signal's reason.
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

/** As {@link probe}, for bytes in memory. */
export function probeBytes(bytes: Uint8Array, options: ProbeOptions): Promise<MediaFacts> {
  return probe(sourceOf(bytes), options);
}

/**
 * As {@link probe}, for a file; `named` is what messages call it.
 * Throws `usage` for what is missing, unreadable, empty, no regular file, or changes while it is read.
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
