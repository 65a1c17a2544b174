import { usage } from '../../../errors.ts';
import { fromField, list, parsed, switchFromField, text } from '../../../flags/flag.ts';
import { GammaCreateBody } from '../../../gateway/gamma/create.ts';
import { gammaMedia, gammaModels } from '../../../gateway/gamma/models.ts';
import type { MediaInput } from '../../../media/resolve.ts';
import { flagOfContent, layContent, mediaInOrder } from '../content.ts';
import type { BodyInput } from '../create-video.ts';

// gamma create: typed flags and resolved media -> the body's own shape.

const { shape } = GammaCreateBody;
const forms = 'file, URL, data URI or gammafile://ID';

export const gammaFlags = {
  model: text('MODEL', 'model ID', {
    short: 'm',
    choices: Object.keys(gammaModels),
    completes: 'model:gamma',
  }),
  image: list('REF', `reference image: ${forms}`),
  video: list('REF', `reference video: ${forms}`),
  audio: list('REF', `reference audio: ${forms}`),
  firstFrame: text('REF', 'image that the video starts from'),
  lastFrame: text('REF', 'image that the video ends with'),
  resolution: fromField(shape.resolution),
  duration: parsed('SECONDS', shape.duration.description ?? '', secondsOf),
  ratio: fromField(shape.ratio, 'RATIO'),
  callbackUrl: fromField(shape.callback_url, 'URL'),
  watermark: { ...switchFromField(shape.aigc_watermark), negatable: true },
} as const;

type GammaFlags = BodyInput<typeof gammaFlags>['flags'];

function secondsOf(raw: string, flag: string): number {
  if (/^-?\d{1,9}$/.test(raw)) return Number(raw);
  throw usage(`${flag} ${raw}: not a whole number of seconds`, shape.duration.description);
}

/** The media of the flags, in request order. Every kind goes as Base64 too. */
export function gammaMediaInputs(flags: GammaFlags): MediaInput[] {
  return mediaInOrder(flags, (raw, flag, modality) => ({
    raw,
    flag,
    modality,
    takes: { url: true, base64: true, schemes: ['gammafile'] },
    limits: gammaMedia[modality],
  }));
}

/** Lays the flags over the body of --body: what a flag says replaces that field. */
export function gammaBody({
  base,
  flags,
  prompt,
  media,
  model,
}: BodyInput<typeof gammaFlags>): Record<string, unknown> {
  const given: Record<string, unknown> = {
    // A model of --body that is no text is left for the schema to refuse.
    model: flags.model ?? (base.model === undefined ? model : undefined),
    content: layContent(base.content, prompt, media),
    resolution: flags.resolution,
    duration: flags.duration,
    ratio: flags.ratio,
    callback_url: flags.callbackUrl,
    aigc_watermark: flags.watermark,
  };
  const typed = Object.entries(given).filter(([, value]) => value !== undefined);
  return { ...base, ...Object.fromEntries(typed) };
}

const flagOfField: Readonly<Record<string, string>> = {
  model: '--model',
  resolution: '--resolution',
  duration: '--duration',
  ratio: '--ratio',
  callback_url: '--callback-url',
  aigc_watermark: '--watermark',
};

/** The flag that a field of the body comes from. */
export function gammaFlagOf(path: readonly PropertyKey[], body: Record<string, unknown>): string | undefined {
  const [field, item] = path;
  return field === 'content' ? flagOfContent(item, body.content) : flagOfField[String(field)];
}
