import { fstatSync, readSync } from 'node:fs';
import {
  CustomSource,
  Input,
  type InputVideoTrack,
  Logging,
  LogLevel,
  MP3,
  MP4,
  QTFF,
  WAVE,
} from 'mediabunny';
import { MB } from '../gateway/limits.ts';
import type { TracksTask } from './in-worker.ts';
import { type MediaFacts, UNKNOWN_CODEC } from './probe.ts';

export type TrackFacts = Pick<
  MediaFacts,
  'widthPx' | 'heightPx' | 'durationS' | 'framesPerS' | 'videoCodec' | 'audioCodec'
>;

/** The exact length of an MP3 is known after a walk over all its frames: not done beyond this size. */
const MAX_WALKED_BYTES = 64 * MB;
/** More than any sound file has to be read for its facts, twice. */
const MAX_READ_BYTES = 128 * MB;
/** Enough for the average of a minute at 60 frames a second. */
const COUNTED_FRAMES = 3600;

/**
 * Length, picture size, frame rate and codecs of a video or audio file, told one by one as they are found, so that what
 * was read before an error or the deadline is kept. Never throws. Made for a thread that can be ended: on a damaged file the
 * library may loop.
 */
export async function readTrackFacts(
  content: TracksTask['content'],
  tell: (facts: TrackFacts) => void,
): Promise<void> {
  // It would write what a file holds straight to the terminal; what matters of it stands in the facts.
  Logging.level = LogLevel.Silent;
  const bytes = typeof content === 'number' ? fstatSync(content).size : content.length;
  let readBytes = 0;
  const read = (start: number, end: number) => {
    readBytes += end - start;
    if (readBytes > MAX_READ_BYTES) throw new Error('too much to read');
    return typeof content === 'number' ? readRange(content, start, end) : content.slice(start, end);
  };
  const input = new Input({
    formats: [MP4, QTFF, WAVE, MP3],
    source: new CustomSource({
      getSize: () => bytes,
      read,
      prefetchProfile: 'fileSystem',
      handleUnhandledError: () => {},
    }),
  });
  try {
    for await (const facts of collect(input, bytes)) tell(facts);
  } catch {
    // What was told counts.
  } finally {
    input.dispose();
  }
}

async function* collect(input: Input, bytes: number): AsyncGenerator<TrackFacts> {
  let facts: TrackFacts = {};
  const video = await input.getPrimaryVideoTrack();
  const audio = await input.getPrimaryAudioTrack();
  if (video)
    facts = {
      widthPx: await video.getDisplayWidth(),
      heightPx: await video.getDisplayHeight(),
      videoCodec: (await video.getCodec()) ?? UNKNOWN_CODEC,
    };
  if (audio) facts = { ...facts, audioCodec: (await audio.getCodec()) ?? UNKNOWN_CODEC };
  yield facts;
  const timed = video ?? audio;
  if (!timed) return;
  const isWalked = (await input.getFormat()).name !== 'MP3' || bytes <= MAX_WALKED_BYTES;
  const durationS = isWalked
    ? await timed.computeDuration({ metadataOnly: true })
    : ((await timed.getDurationFromMetadata()) ?? undefined);
  facts = { ...facts, durationS };
  yield facts;
  if (video) yield { ...facts, framesPerS: await frameRate(video) };
}

async function frameRate(video: InputVideoTrack): Promise<number | undefined> {
  const { averagePacketRate } = await video.computePacketStats(COUNTED_FRAMES);
  return Number.isFinite(averagePacketRate) && averagePacketRate > 0 ? averagePacketRate : undefined;
}

function readRange(fd: number, start: number, end: number): Uint8Array {
  const buffer = new Uint8Array(end - start);
  let filled = 0;
  while (filled < buffer.length) {
    const count = readSync(fd, buffer, filled, buffer.length - filled, start + filled);
    if (count === 0) break;
    filled += count;
  }
  return buffer.subarray(0, filled);
}
