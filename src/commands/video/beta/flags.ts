import * as z from 'zod';
import { usage } from '../../../errors.ts';
import {
  type Flag,
  type FlagValues,
  fromField,
  list,
  on,
  parsed,
  switchFromField,
  text,
} from '../../../flags/flag.ts';
import { betaOptions } from '../../../gateway/beta/fields.ts';
import {
  type BetaMode,
  type BetaSettings,
  type BetaVariant,
  betaModeNames,
  betaVariantOf,
  betaVariants,
} from '../../../gateway/beta/modes.ts';
import type { BetaShot } from '../../../gateway/beta/shots.ts';
import { BetaTextBody } from '../../../gateway/beta/text.ts';

// The flags of `gw video beta create`; their choices and bounds come from the table of endpoints.

const settings = BetaTextBody.shape.settings.unwrap().shape;
const options = betaOptions(z.looseObject).shape;

const documented = Object.values<BetaVariant>(betaVariants).flatMap((variant) =>
  variant.settings ? [{ name: nameOf(variant), settings: variant.settings }] : [],
);

function nameOf({ mode, turbo }: BetaVariant): string {
  return turbo ? `${mode} --turbo` : mode;
}

/** `3-15 (text, text --turbo); 3-10 (o1)`: a fact of each documented mode, those alike together. */
function perMode(fact: (settings: BetaSettings) => string | undefined): string {
  const names = new Map<string, string[]>();
  for (const each of documented) {
    const value = fact(each.settings);
    if (value !== undefined) names.set(value, [...(names.get(value) ?? []), each.name]);
  }
  return [...names].map(([value, modes]) => `${value} (${modes.join(', ')})`).join('; ');
}

const rangeOf = ({ durationS: { min, max } }: BetaSettings): string => `${min}-${max}`;
const allOf = (values: (settings: BetaSettings) => readonly string[]): string[] => [
  ...new Set(documented.flatMap((each) => values(each.settings))),
];
const resolutions = allOf((each) => each.resolutions);
const audioChoices = allOf((each) => each.audio ?? []).toSorted(
  (a, b) => Number(a === 'off') - Number(b === 'off'),
);

const shot: Flag<readonly Pick<BetaShot, 'seconds' | 'words'>[]> = {
  value: 'SECONDS:WORDS',
  list: true,
  summary: 'one shot, in place of a prompt (text --turbo); the duration is their sum',
  parse(raw, flag) {
    const [, seconds, words] = /^\s*(\d{1,6})\s*:([\s\S]*)$/.exec(raw) ?? [];
    if (seconds === undefined || words === undefined || words.trim() === '') {
      throw usage(`${flag} ${raw}: not of the form SECONDS:WORDS`, `write ${flag} "3:a fox wakes up"`);
    }
    if (words.includes(';'))
      throw usage(`${flag} ${raw}: a ";" ends a shot`, 'put a comma or a dot in its place');
    return [{ seconds: String(Number(seconds)), words: words.trim() }];
  },
};

export const betaFlags = {
  mode: text(betaModeNames.join('|'), 'what to make the video from (default text)', {
    choices: betaModeNames,
  }),
  turbo: on('the turbo endpoint (text, image)'),
  multiShot: { ...switchFromField(settings.multi_shot), negatable: true },
  shot,
  audio: text(
    audioChoices.join('|'),
    `sound: ${perMode((each) => each.audio?.join(', '))}; the service: off`,
    {
      choices: audioChoices,
    },
  ),
  resolution: text(
    resolutions.join('|'),
    `${settings.resolution.description}: ${perMode((each) => each.resolutions.join(', '))}`,
    { choices: resolutions },
  ),
  ratio: fromField(settings.aspect_ratio),
  duration: parsed('SECONDS', `${settings.duration.description}: ${perMode(rangeOf)}`, (raw) => raw),
  firstFrame: text('[ID=]REF', 'image that the video starts from: file, URL or data URI (o1)'),
  lastFrame: text('[ID=]REF', 'image that the video ends with (o1, needs --first-frame)'),
  image: list('[ID=]REF', 'reference image: file, URL or data URI (o1)'),
  featureVideo: text('[ID=]URL', 'video whose looks or movement are taken up (o1)'),
  baseVideo: text('[ID=]URL', 'video to be changed (o1)'),
  element: list('[ID=]ELEMENT_ID', 'element of the account, called element1, element2, … without an ID (o1)'),
  callbackUrl: fromField(options.callback_url, 'URL'),
  externalId: fromField(options.external_task_id, 'ID'),
  watermark: { ...switchFromField(options.watermark_info.unwrap().shape.enabled), negatable: true },
} as const;

export type BetaFlags = FlagValues<typeof betaFlags>;

/** The endpoint that the flags ask for. Throws `usage` for an unknown mode, and for --turbo where there is none. */
export function betaVariant({ mode = 'text', turbo = false }: BetaFlags): BetaVariant {
  if (!betaModeNames.includes(mode as BetaMode)) {
    throw usage(`--mode ${mode}: one of ${betaModeNames.join(', ')}`);
  }
  const variant = betaVariantOf(mode, turbo);
  if (variant) return variant;
  const withTurbo = betaModeNames.filter((name) => betaVariantOf(name, true)).join(', ');
  throw usage(`--turbo: the mode ${mode} has no turbo endpoint`, `leave it out; turbo is for ${withTurbo}`);
}

/** The length as a number. Throws `usage` with the mode's range where it is none. */
export function betaDuration(raw: string, { settings, ...variant }: BetaVariant): number {
  if (/^-?\d{1,9}$/.test(raw)) return Number(raw);
  const range = settings ? `; ${nameOf(variant)} takes ${rangeOf(settings)}` : '';
  throw usage(`--duration ${raw}: not a whole number of seconds${range}`);
}
