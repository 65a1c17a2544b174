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

/** The exact duration of an MP3 requires reading all its frames, which is not done for larger files. */
const MAX_WALKED_BYTES = 64 * MB;
/** Twice as much as must be read of any valid file for its facts. */
const MAX_READ_BYTES = 128 * MB;
/** Enough for an average over a minute at 60 frames a second. */
const COUNTED_FRAMES = 3600;

/**
 * Reports duration, picture size, frame rate and codecs of a video or audio file one by one, so that facts found before
 * an error or the timeout are kept. Never throws. Run it in a thread that can be stopped: the library may loop on a
 * damaged file.
 */
export async function readTrackFacts(
  content: TracksTask['content'],
  tell: (facts: TrackFacts) => void,
): Promise<void> {
  // The library would log a file's content to the terminal; the facts hold everything that matters.
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
    // The facts that were reported so far still count.
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
