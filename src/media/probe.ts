import { type ByteSource, openMediaFile } from './local-file.ts';
import { type FileType, SNIFF_BYTES, sniff } from './signatures.ts';

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
}

/** The codec of a track that is there, but of no known kind. */
export const UNKNOWN_CODEC = 'unknown';

const unknownType = { format: 'unknown', modality: 'other', mime: 'application/octet-stream' } as const;

/** The facts of a source, from the pieces of it that are needed. Throws only what `source.read` throws. */
export async function probe(source: ByteSource): Promise<MediaFacts> {
  const type = sniff(await source.read(0, Math.min(SNIFF_BYTES, source.bytes))) ?? unknownType;
  const { modality, format, mime } = type;
  const facts: MediaFacts = { modality, format, mime, bytes: source.bytes };
  if (modality === 'image') {
    const { readImageSize } = await import('./image-facts.ts');
    return { ...facts, ...(await readImageSize(source, format)) };
  }
  if (modality === 'video' || modality === 'audio') {
    const { readTrackFacts } = await import('./track-facts.ts');
    return { ...facts, ...(await readTrackFacts(source, format)) };
  }
  return facts;
}

/** As {@link probe}, for bytes in memory. */
export function probeBytes(bytes: Uint8Array): Promise<MediaFacts> {
  return probe(sourceOf(bytes));
}

/**
 * As {@link probe}, for a file; `named` is what messages call it.
 * Throws `usage` for what is missing, unreadable, empty, no regular file, or changes while it is read.
 */
export async function probeFile(path: string, named: string): Promise<MediaFacts> {
  const file = await openMediaFile(path, named);
  try {
    const facts = await probe(file);
    await file.assertUnchanged();
    return facts;
  } finally {
    await file.close();
  }
}

/** Bytes in memory as a source. */
export function sourceOf(bytes: Uint8Array): ByteSource {
  return { bytes: bytes.length, read: async (start, end) => bytes.subarray(start, end) };
}
