import type { Input, InputVideoTrack } from 'mediabunny';
import { MB } from '../gateway/media-limits.ts';
import type { ByteSource } from './local-file.ts';
import { type MediaFacts, UNKNOWN_CODEC } from './probe.ts';

type TrackFacts = Pick<
  MediaFacts,
  'widthPx' | 'heightPx' | 'durationS' | 'framesPerS' | 'videoCodec' | 'audioCodec'
>;

/** The exact length of an MP3 is known after a walk over all its frames: not done beyond this size. */
const MAX_WALKED_BYTES = 64 * MB;
/** Enough for the average of a minute at 60 frames a second. */
const COUNTED_FRAMES = 3600;

/**
 * Length, picture size, frame rate and codecs of a video or audio file, read by ranges.
 * Facts that a damaged or foreign file does not give are left out; errors of `source.read` are thrown.
 */
export async function readTrackFacts(source: ByteSource, format: string): Promise<TrackFacts> {
  const { ADTS, CustomSource, FLAC, Input, Logging, LogLevel, MATROSKA, MP3, MP4, OGG, QTFF, WAVE, WEBM } =
    await import('mediabunny');
  // It would write what a file holds straight to the terminal; what matters of it stands in the facts.
  Logging.level = LogLevel.Silent;
  let readError: unknown;
  const read = async (start: number, end: number) => {
    try {
      return await source.read(start, end);
    } catch (error) {
      readError ??= error;
      throw error;
    }
  };
  const input = new Input({
    // All that are one file: a playlist would have other files read.
    formats: [MP4, QTFF, WAVE, MP3, WEBM, MATROSKA, OGG, FLAC, ADTS],
    source: new CustomSource({
      getSize: () => source.bytes,
      read,
      prefetchProfile: 'fileSystem',
      // Kept in `readError`, or about bytes that no fact needs.
      handleUnhandledError: () => {},
    }),
  });
  const facts: TrackFacts = {};
  try {
    return await collect(input, facts, format === 'mp3' && source.bytes > MAX_WALKED_BYTES);
  } catch {
    if (readError !== undefined) throw readError;
    return facts;
  } finally {
    input.dispose();
  }
}

/** Fills `facts` one by one, so that what was read before an error is kept. */
async function collect(
  input: Input,
  facts: { -readonly [K in keyof TrackFacts]: TrackFacts[K] },
  roughly: boolean,
) {
  const video = await input.getPrimaryVideoTrack();
  const audio = await input.getPrimaryAudioTrack();
  if (video) {
    facts.widthPx = await video.getDisplayWidth();
    facts.heightPx = await video.getDisplayHeight();
    facts.videoCodec = (await video.getCodec()) ?? UNKNOWN_CODEC;
  }
  if (audio) facts.audioCodec = (await audio.getCodec()) ?? UNKNOWN_CODEC;
  const timed = video ?? audio;
  if (!timed) return facts;
  facts.durationS = roughly
    ? ((await timed.getDurationFromMetadata()) ?? undefined)
    : await timed.computeDuration({ metadataOnly: true });
  if (video) facts.framesPerS = await frameRate(video);
  return facts;
}

async function frameRate(video: InputVideoTrack): Promise<number | undefined> {
  const { averagePacketRate } = await video.computePacketStats(COUNTED_FRAMES);
  return Number.isFinite(averagePacketRate) && averagePacketRate > 0 ? averagePacketRate : undefined;
}
