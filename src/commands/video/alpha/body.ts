import { usage } from '../../../errors.ts';
import { fromField, list, parsed, switchFromField, text } from '../../../flags/flag.ts';
import { type AlphaContentItem, AlphaCreateBody } from '../../../gateway/alpha.ts';
import {
  type AlphaModel,
  AUTO_DURATION,
  alphaModels,
  alphaTaskTypes,
} from '../../../gateway/alpha-models.ts';
import type { MediaInput } from '../../../media/resolve.ts';
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
  const input = (raw: string, flag: string, modality: 'image' | 'video' | 'audio'): MediaInput => ({
    raw,
    flag,
    modality,
    takes: { url: true, base64: modality !== 'video', schemes: ['asset'] },
    ...(limits[modality] && { limits: limits[modality] }),
  });
  const one = (raw: string | undefined, flag: string) =>
    raw === undefined ? [] : [input(raw, flag, 'image')];
  return [
    ...one(flags.firstFrame, '--first-frame'),
    ...one(flags.lastFrame, '--last-frame'),
    ...(flags.image ?? []).map((raw) => input(raw, '--image', 'image')),
    ...(flags.video ?? []).map((raw) => input(raw, '--video', 'video')),
    ...(flags.audio ?? []).map((raw) => input(raw, '--audio', 'audio')),
  ];
}

const roles: Record<string, string> = {
  '--first-frame': 'first_frame',
  '--last-frame': 'last_frame',
  '--image': 'reference_image',
  '--video': 'reference_video',
  '--audio': 'reference_audio',
};

function contentItem(media: MediaInput, url: string): Record<string, unknown> {
  const key = `${media.modality}_url`;
  return { type: key, [key]: { url }, role: roles[media.flag] };
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
  const items = media.map(({ input, url }) => contentItem(input, url));
  const replaced = new Set(items.map((item) => item.role));
  const kept = (Array.isArray(base.content) ? base.content : []).filter(
    (item: Partial<AlphaContentItem> | null) => {
      if (item?.type === 'text') return prompt === undefined;
      return !replaced.has((item as { role?: string } | null)?.role);
    },
  );
  // A content that is no list is left as it is: the schema says what is wrong with it.
  const isOdd =
    base.content !== undefined && !Array.isArray(base.content) && prompt === undefined && items.length === 0;
  const textItem = prompt === undefined ? [] : [{ type: 'text', text: prompt }];
  const given: Record<string, unknown> = {
    model,
    content: isOdd ? base.content : [...textItem, ...kept, ...items],
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
const flagOfContent: Record<string, string> = {
  image: '--image',
  video: '--video',
  audio: '--audio',
  first_frame: '--first-frame',
  last_frame: '--last-frame',
};
const flagOfRole = Object.fromEntries(Object.entries(roles).map(([flag, role]) => [role, flag]));

/** The flag that a field of the body comes from. */
export function alphaFlagOf(path: readonly PropertyKey[], body: Record<string, unknown>): string | undefined {
  const [field, item] = path;
  if (field !== 'content') return flagOfField[String(field)];
  if (typeof item === 'string') return flagOfContent[item];
  if (typeof item !== 'number') return undefined;
  const content = (Array.isArray(body.content) ? body.content[item] : undefined) as
    | Partial<Record<string, string>>
    | undefined;
  return content?.type === 'text' ? '--prompt' : flagOfRole[content?.role ?? ''];
}
