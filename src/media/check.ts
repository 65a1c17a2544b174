import { codecWords, MB, type MediaLimits, type Modality, type Range, within } from '../gateway/limits.ts';
import { DEADLINE_MS, type MediaFacts, UNKNOWN_CODEC } from './probe.ts';
import { modalityInWords, typeInWords } from './signatures.ts';

/** Containers round durations to whole frames: a 30 s clip from any editor may report 30.03 s. */
const DURATION_TOLERANCE_S = 0.05;
/** Frame rates are averages; this tolerance is far smaller than the difference of 23.976 and 24. */
const FRAME_RATE_TOLERANCE = 0.01;

/** A breach if the bytes are not of the flag's modality; `what` begins the sentence: `--image photo.png`. */
export function checkModality(facts: MediaFacts, wanted: Modality, what: string): string[] {
  if (facts.modality === wanted) return [];
  return [`${what}: is ${typeInWords(facts)}, not ${modalityInWords[wanted]}`];
}

/**
 * Every documented limit that a file breaks, one sentence each with the rule's numbers; `what` begins each sentence. A
 * limit on a fact that could not be read is a breach too: the gateway could not read it either. If the format is not
 * accepted, or the file could not be read to the end, only that is reported.
 */
export function checkMedia(facts: MediaFacts, limits: MediaLimits, what: string): string[] {
  return [...breaches(facts, limits)].map((breach) => `${what}: ${breach}`);
}

function* breaches(facts: MediaFacts, limits: MediaLimits): Generator<string> {
  const { formats, bytes, durationS, framesPerS } = limits;
  const isTaken = !formats || formats.includes(facts.format);
  if (!isTaken) yield `is ${typeInWords(facts)}; the formats taken are ${formats.join(', ')}`;
  if (bytes && (bytes.exclusive ? facts.bytes >= bytes.max : facts.bytes > bytes.max))
    yield `has ${inMB(facts.bytes)}; it must be ${bytes.exclusive ? 'under' : 'at most'} ${inMB(bytes.max)}`;
  if (!isTaken && facts.modality !== 'image') return;
  if (facts.isStuck) {
    yield `could not be read as ${facts.format.toUpperCase()} within ${DEADLINE_MS / 1000} s: the file looks damaged`;
    return;
  }
  yield* pictureBreaches(facts, limits);
  yield* codecBreaches(facts, limits);
  if (durationS) {
    if (facts.durationS === undefined) yield unreadable('length', facts);
    else if (!within(facts.durationS, durationS, DURATION_TOLERANCE_S))
      yield `is ${inSeconds(facts.durationS)} long; it must be ${rangeInWords(durationS)} s`;
  }
  if (framesPerS) {
    if (facts.framesPerS === undefined) yield unreadable('frame rate', facts);
    else if (!within(facts.framesPerS, framesPerS, FRAME_RATE_TOLERANCE))
      yield `has ${trimmed(facts.framesPerS)} frames a second; it must be ${rangeInWords(framesPerS)}`;
  }
}

function* pictureBreaches(facts: MediaFacts, { edgePx, aspect, pixels }: MediaLimits): Generator<string> {
  if (!edgePx && !aspect && !pixels) return;
  const { widthPx, heightPx } = facts;
  if (widthPx === undefined || heightPx === undefined) return yield unreadable('width and height', facts);
  const size = `is ${widthPx}x${heightPx} px`;
  if (edgePx && !(within(widthPx, edgePx) && within(heightPx, edgePx)))
    yield `${size}; width and height must each be ${rangeInWords(edgePx)} px`;
  if (aspect && !within(widthPx / heightPx, aspect))
    yield `${size}, an aspect ratio of ${trimmed(widthPx / heightPx)}; width divided by height must be ${rangeInWords(aspect)}`;
  if (pixels && !within(widthPx * heightPx, pixels))
    yield `${size}, ${widthPx * heightPx} pixels; width times height must be ${rangeInWords(pixels)}`;
}

function* codecBreaches(facts: MediaFacts, { videoCodecs, audioCodecs }: MediaLimits): Generator<string> {
  const { videoCodec, audioCodec } = facts;
  if (videoCodecs) {
    if (videoCodec === undefined) yield unreadable('picture', facts);
    else if (!includes(videoCodecs, videoCodec))
      yield `its picture is ${codecInWords(videoCodec)}; the codecs taken are ${videoCodecs.map(codecInWords).join(', ')}`;
  }
  // A video without sound breaks no rule.
  if (audioCodecs && audioCodec !== undefined && !includes(audioCodecs, audioCodec))
    yield `its sound is ${codecInWords(audioCodec)}; the codecs taken are ${audioCodecs.map(codecInWords).join(', ')}`;
}

const includes = (names: readonly string[], name: string): boolean => names.includes(name);

const codecInWords = (codec: string): string =>
  codec === UNKNOWN_CODEC
    ? 'of an unknown codec'
    : ((codecWords as Readonly<Record<string, string>>)[codec] ?? codec.toUpperCase());

/**
 * Checks the total duration of all videos, and of all audio, against the maximum of a request in seconds. Each sentence
 * names the flag of the first file that counts. Unknown durations (URLs, assets) count as zero.
 */
export function checkTotals(
  items: readonly { readonly flag: string; readonly facts?: MediaFacts | undefined }[],
  maxTotalS: number,
): string[] {
  return (['video', 'audio'] as const).flatMap((modality) => {
    const all = items.filter(({ facts }) => facts?.modality === modality);
    const sumS = all.reduce((sum, { facts }) => sum + (facts?.durationS ?? 0), 0);
    if (sumS <= maxTotalS + DURATION_TOLERANCE_S) return [];
    const are = all[1] ? `the ${all.length} ${modality} files together are` : `the ${modality} file is`;
    return [`${all[0]?.flag}: ${are} ${inSeconds(sumS)} long; at most ${maxTotalS} s together are allowed`];
  });
}

function rangeInWords({ min, max, exclusive }: Range): string {
  if (max === Number.POSITIVE_INFINITY) return `at least ${min}`;
  return exclusive ? `above ${min} and below ${max}` : `${min}-${max}`;
}

function unreadable(fact: string, facts: MediaFacts): string {
  return `its ${fact} cannot be read: the ${facts.format.toUpperCase()} may be damaged`;
}

/** `31.5 MB (33030144 bytes)`: a rounded size for reading, and the exact one for comparing with the limit. */
export function inMB(bytes: number): string {
  const megabytes = trimmed(bytes / MB, 1);
  return bytes === Number(megabytes) * MB ? `${megabytes} MB` : `${megabytes} MB (${bytes} bytes)`;
}

const inSeconds = (lengthS: number) => `${trimmed(lengthS, 2)} s`;

function trimmed(value: number, digits = 3): string {
  return String(Number(value.toFixed(digits)));
}
