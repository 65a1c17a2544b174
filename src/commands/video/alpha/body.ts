import { usage } from '../../../errors.ts';
import { fromField, list, parsed, switchFromField, text } from '../../../flags/flag.ts';
import { AlphaCreateBody } from '../../../gateway/alpha/create.ts';
import {
  type AlphaModel,
  AUTO_DURATION,
  alphaModels,
  alphaTaskTypes,
} from '../../../gateway/alpha/models.ts';
import type { MediaInput } from '../../../media/resolve.ts';
import { flagOfContent, layContent, mediaInOrder } from '../content.ts';
import type { BodyInput } from '../create-video.ts';

// alpha create: typed flags and resolved media -> the body's own shape.

const { shape } = AlphaCreateBody;
const shortNames = Object.values(alphaModels).map((model) => model.short);

export const alphaFlags = {
  model: text('MODEL', 'model ID, or short', { short: 'm', choices: shortNames, completes: 'model:alpha' }),
  image: list('REF', 'reference image: file, URL, data URI or asset://ID'),
  video: list('REF', 'reference video: URL or asset://ID'),
  audio: list('REF', 'reference audio: file, URL, data URI or asset://ID'),
  firstFrame: text('REF', 'image that the video starts from'),
  lastFrame: text('REF', 'image that the video ends with (needs --first-frame)'),
  generateAudio: { ...switchFromField(shape.generate_audio), negatable: true },
  resolution: fromField(shape.resolution),
  ratio: fromField(shape.ratio, 'RATIO'),
  duration: parsed('SECONDS', `${shape.duration.description}: ${durationHelp()}`, (raw) => raw),
  format: fromField(shape.output_format),
  watermark: { ...switchFromField(shape.watermark), negatable: true },
  returnLastFrame: switchFromField(shape.return_last_frame),
  taskType: fromField(shape.omni_reference_task_type, alphaTaskTypes.join('|')),
  webSearch: switchFromField(shape.tools),
} as const;

type AlphaFlags = BodyInput<typeof alphaFlags>['flags'];

function durationHelp(): string {
  const ranges = new Map<string, string[]>();
  for (const model of Object.values(alphaModels)) {
    const range = rangeOf(model);
    ranges.set(range, [...(ranges.get(range) ?? []), model.short]);
  }
  return [...ranges].map(([range, names]) => `${range} on ${names.join(', ')}`).join('; ');
}

function rangeOf({ durationS: { min, max }, version }: AlphaModel): string {
  return version === '2.5' ? `${min}-${max}, or auto (-1)` : `${min}-${max}`;
}

/** The full ID of a model typed by its short name; anything else stays as typed. */
export const alphaModelId = (typed: string): string =>
  Object.entries(alphaModels).find(([, model]) => model.short === typed)?.[0] ?? typed;

/** The media of the flags, in request order: frames first, then references by kind. */
export function alphaMedia(flags: AlphaFlags, model: string): MediaInput[] {
  const limits = alphaModels[model]?.media ?? {};
  return mediaInOrder(flags, (raw, flag, modality) => ({
    raw,
    flag,
    modality,
    takes: { url: true, base64: modality !== 'video', schemes: ['asset'] },
    ...(limits[modality] && { limits: limits[modality] }),
  }));
}

/**
 * Lays the flags over the body of --body: what a flag says replaces that field; a prompt replaces the text item,
 * and media of a role replace the items of that role.
 */
export function alphaBody({
  base,
  flags,
  prompt,
  media,
  model,
}: BodyInput<typeof alphaFlags>): Record<string, unknown> {
  const given: Record<string, unknown> = {
    model,
    content: layContent(base.content, prompt, media),
    generate_audio: flags.generateAudio,
    resolution: flags.resolution,
    ratio: flags.ratio,
    duration: durationOf(flags.duration, model),
    output_format: flags.format,
    watermark: flags.watermark,
    return_last_frame: flags.returnLastFrame,
    omni_reference_task_type: flags.taskType,
    tools: flags.webSearch ? [{ type: 'web_search' }] : undefined,
  };
  const typed = Object.entries(given).filter(([, value]) => value !== undefined);
  return { ...base, ...Object.fromEntries(typed) };
}

function durationOf(raw: string | undefined, model: string): number | undefined {
  if (raw === undefined) return undefined;
  if (raw === 'auto') return AUTO_DURATION;
  if (/^-?\d{1,9}$/.test(raw)) return Number(raw);
  const row = alphaModels[model];
  throw usage(
    `--duration ${raw}: not a whole number of seconds${row ? `; ${row.short} takes ${rangeOf(row)}` : ''}`,
  );
}

const flagOfField: Record<string, string> = {
  model: '--model',
  generate_audio: '--generate-audio',
  resolution: '--resolution',
  ratio: '--ratio',
  duration: '--duration',
  output_format: '--format',
  watermark: '--watermark',
  return_last_frame: '--return-last-frame',
  omni_reference_task_type: '--task-type',
  tools: '--web-search',
};

/** The flag that a field of the body comes from. */
export function alphaFlagOf(path: readonly PropertyKey[], body: Record<string, unknown>): string | undefined {
  const [field, item] = path;
  return field === 'content' ? flagOfContent(item, body.content) : flagOfField[String(field)];
}
