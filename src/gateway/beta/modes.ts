import type { Note } from '../body.ts';
import { codePoints, MB, type MediaLimits, mediaFormats } from '../limits.ts';

// The create endpoints of family B and all its limits by endpoint ("Family B endpoints", "Limits").

export const betaModeNames = ['text', 'image', 'omni', 'motion', 'o1'] as const;
export type BetaMode = (typeof betaModeNames)[number];

/** The values that an endpoint's `settings` may have, from the document. */
export interface BetaSettings {
  readonly resolutions: readonly string[];
  readonly aspectRatios: readonly string[];
  readonly durationS: { readonly min: number; readonly max: number };
  /** Absent if the endpoint has no audio setting. */
  readonly audio?: readonly string[];
  readonly multiShot?: true;
}

/** One create endpoint. */
export interface BetaVariant {
  readonly mode: BetaMode;
  readonly turbo: boolean;
  /** The last part of the path, which names the model. */
  readonly model: string;
  readonly path: string;
  /** Absent if the document does not show the endpoint's body. */
  readonly settings?: BetaSettings;
}

/** All values that any documented endpoint takes. */
export const betaResolutions = ['720p', '1080p', '4k'] as const;
export const betaAudio = ['native', 'original', 'off'] as const;
export const betaAspectRatios = ['16:9', '9:16', '1:1'] as const;
/** The gateway's default for `settings.duration`, in seconds. */
export const BETA_DEFAULT_DURATION_S = 5;
/** The gateway's defaults for the other settings. */
export const betaDefaults = {
  resolution: '720p',
  aspectRatio: '16:9',
  audio: 'off',
  multiShot: true,
} as const;

/** The settings of each documented endpoint, by the name that help and messages use. */
export const betaSettings = {
  text: {
    resolutions: ['720p', '1080p', '4k'],
    aspectRatios: betaAspectRatios,
    durationS: { min: 3, max: 15 },
    audio: ['native', 'off'],
    multiShot: true,
  },
  'text --turbo': {
    resolutions: ['720p', '1080p'],
    aspectRatios: betaAspectRatios,
    durationS: { min: 3, max: 15 },
  },
  o1: {
    resolutions: ['720p', '1080p'],
    aspectRatios: betaAspectRatios,
    durationS: { min: 3, max: 10 },
    audio: ['original', 'off'],
  },
} as const satisfies Readonly<Record<string, BetaSettings>>;

const variant = (mode: BetaMode, path: string, settings?: BetaSettings): BetaVariant => ({
  mode,
  turbo: path.endsWith('-turbo'),
  model: path.slice(path.lastIndexOf('/') + 1),
  path,
  ...(settings && { settings }),
});

/** The seven create endpoints. */
export const betaVariants = {
  text: variant('text', '/text-to-video/beta-3.0', betaSettings.text),
  textTurbo: variant('text', '/text-to-video/beta-3.0-turbo', betaSettings['text --turbo']),
  image: variant('image', '/image-to-video/beta-3.0'),
  imageTurbo: variant('image', '/image-to-video/beta-3.0-turbo'),
  omni: variant('omni', '/omni-video/beta-3.0-omni'),
  motion: variant('motion', '/motion-control/beta-3.0'),
  o1: variant('o1', '/omni-video/beta-o1', betaSettings.o1),
} as const;

/** The endpoint of a mode; undefined if there is none (only text and image have a `turbo` endpoint). */
export const betaVariantOf = (mode: string, turbo: boolean): BetaVariant | undefined =>
  Object.values<BetaVariant>(betaVariants).find((each) => each.mode === mode && each.turbo === turbo);

export const betaCreateName = ({ mode, turbo }: BetaVariant) => `beta.create.${mode}${turbo ? '-turbo' : ''}`;

/** The gateway's defaults by endpoint name. Endpoints without a documented body have no documented defaults. */
export const betaImplied = Object.fromEntries(
  Object.values<BetaVariant>(betaVariants)
    .filter(({ settings }) => settings !== undefined)
    .map((each) => [
      betaCreateName(each),
      { resolution: betaDefaults.resolution, duration: BETA_DEFAULT_DURATION_S },
    ]),
);

/** Longest prompt of text-to-video, and the longest that the service recommends, in code points. */
export const BETA_MAX_PROMPT = 3072;
export const BETA_RECOMMENDED_PROMPT = 2500;
/** Longest prompt item of O1, in code points. */
export const BETA_O1_MAX_PROMPT = 2500;

export const BETA_MAX_SHOTS = 6;
const BETA_MIN_SHOT_S = 1;
/** Longest prompt of one shot, in code points. */
export const BETA_MAX_SHOT_PROMPT = 512;

/** How many images and elements together O1 takes with a reference video, and without one. */
export const betaO1References = { withVideo: 4, withoutVideo: 7 } as const;
/** Durations that O1 offers when a first frame is the only reference, in seconds. */
export const betaO1FirstFrameDurationsS: readonly number[] = [5, 10];

/** Limits of each media file that O1 takes ("O1 combination rules"). */
export const betaO1Media = {
  image: {
    formats: mediaFormats.image.filter((format) => format === 'jpeg' || format === 'png'),
    bytes: { max: 50 * MB },
    edgePx: { min: 300, max: Number.POSITIVE_INFINITY },
    aspect: { min: 0.4, max: 2.5 },
  },
  video: {
    formats: mediaFormats.video,
    bytes: { max: 200 * MB },
    edgePx: { min: 700, max: 2160 },
    durationS: { min: 3, max: 10 },
    framesPerS: { min: 24, max: 60 },
  },
} as const satisfies Record<'image' | 'video', MediaLimits>;

// The multi-shot prompt: `shot n, m, words;`, repeated up to six times ("Family B endpoints").

/** One shot: its number, its duration as typed, and its prompt. */
export interface BetaShot {
  readonly number: number;
  readonly seconds: string;
  readonly words: string;
}

const opening = /^\s*shot\s+\d+\s*,/i;
const shot = /\s*shot\s+(\d+)\s*,([^,;]*),([^;]*)(?:;|$)\s*/iy;

/** Writes shots as the prompt that the gateway expects, numbered from 1. */
export const buildShots = (shots: readonly Pick<BetaShot, 'seconds' | 'words'>[]): string =>
  shots.map(({ seconds, words }, index) => `shot ${index + 1}, ${seconds}, ${words};`).join(' ');

/** Parses a multi-shot prompt; undefined for an ordinary one. `rest` is the text from which on the syntax does not fit. */
export function parseShots(prompt: string): { shots: BetaShot[]; rest: string } | undefined {
  if (!opening.test(prompt)) return undefined;
  const shots: BetaShot[] = [];
  let at = 0;
  for (;;) {
    shot.lastIndex = at;
    const found = shot.exec(prompt);
    if (!found) return { shots, rest: prompt.slice(at).trim() };
    const [whole, number = '', seconds = '', words = ''] = found;
    shots.push({ number: Number(number), seconds: seconds.trim(), words: words.trim() });
    at += whole.length;
    if (at >= prompt.length) return { shots, rest: '' };
  }
}

const isLength = (seconds: string): boolean =>
  /^\d{1,6}(\.\d{1,3})?$/.test(seconds) && Number(seconds) >= BETA_MIN_SHOT_S;

/** The total duration of a prompt of well-formed shots, in seconds; undefined for any other prompt. */
export function shotsTotalS(prompt: string): number | undefined {
  const { shots = [], rest } = parseShots(prompt) ?? {};
  if (rest !== '' || !shots.every(({ seconds }) => isLength(seconds))) return undefined;
  // Whole thousandths are added, because sums of decimal fractions would be inexact.
  return shots.reduce((sum, { seconds }) => sum + Math.round(Number(seconds) * 1000), 0) / 1000;
}

/** Describes the first syntax error of a multi-shot prompt; undefined if there is none. */
export function shotSyntaxBreach(prompt: string): string | undefined {
  const { shots = [], rest } = parseShots(prompt) ?? {};
  if (rest === undefined) return undefined;
  if (rest !== '') {
    const where = shots.length > 0 ? `after shot ${shots.length}` : 'at its beginning';
    return `${where} the prompt is not of the form "shot n, m, words;" (n the number, m the seconds)`;
  }
  const unended = shots.findIndex(({ words }) => /\bshot\s+\d+\s*,/i.test(words));
  return unended < 0 ? undefined : `a ";" is missing at the end of shot ${unended + 1}`;
}

/** Yields each limit that well-formed shots exceed. */
export function* shotBreaches(prompt: string): Generator<Note> {
  const path = ['prompt'];
  const { shots = [], rest } = parseShots(prompt) ?? {};
  if (rest !== '') return;
  if (shots.length > BETA_MAX_SHOTS)
    yield { path, message: `at most ${BETA_MAX_SHOTS} shots, and ${shots.length} are given` };
  for (const [index, { number, seconds, words }] of shots.entries()) {
    const name = `shot ${index + 1}`;
    if (number !== index + 1)
      yield { path, message: `shots are numbered 1, 2, 3 and so on; ${name} has the number ${number}` };
    if (!isLength(seconds)) {
      const message = `${name} has the length "${seconds}": whole seconds, at least ${BETA_MIN_SHOT_S}`;
      yield { path, message };
    }
    if (words === '') yield { path, message: `${name} has no words` };
    const length = codePoints(words);
    if (length > BETA_MAX_SHOT_PROMPT) {
      const message = `${name} has ${length} characters, and may have at most ${BETA_MAX_SHOT_PROMPT}`;
      yield { path, message };
    }
  }
}
