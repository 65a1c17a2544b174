import * as z from 'zod';
import { AlphaCreateReply, alphaTasksPath } from './alpha-task.ts';
import type { Endpoint } from './endpoint.ts';
import { MB, type MediaLimits, type Modality, mediaFormats } from './media-limits.ts';
import type { Note } from './task.ts';

// Family A video ("Family A video task", "Family A: create task", "Family A: query task", "Limits").

export const alphaResolutions = ['480p', '720p', '1080p', '4k'] as const;
export const alphaFixedRatios = ['21:9', '16:9', '4:3', '1:1', '3:4', '9:16'] as const;
export const alphaRatios = [...alphaFixedRatios, 'adaptive'] as const;
export const alphaFormats = ['mp4', 'mov'] as const;
export const alphaTaskTypes = ['auto', 'reference', 'edit', 'extend'] as const;

/** `duration` of -1 lets the service choose the length (2.5 only). */
export const AUTO_DURATION = -1;

/** What differs by model: a row for each line of the document's table of models, output and asset limits. */
export interface AlphaModel {
  /** The name people type: `-m 2.5`. */
  readonly short: string;
  readonly version: '2.0' | '2.5';
  readonly durationS: { readonly min: number; readonly max: number };
  readonly resolutions: readonly (typeof alphaResolutions)[number][];
  readonly ratios: readonly (typeof alphaRatios)[number][];
  readonly formats: readonly (typeof alphaFormats)[number][];
  readonly references: { readonly [M in Modality]: number } & { readonly total: number };
  /** Limits of each referenced file; on 2.0 the document states none. */
  readonly media: { readonly [M in Modality]?: MediaLimits };
  /** Longest sum over all reference videos, and over all reference audio, in seconds. */
  readonly totalReferenceS?: number;
}

const references20 = { image: 9, video: 3, audio: 3, total: 15 };
const model20 = {
  version: '2.0',
  durationS: { min: 4, max: 15 },
  ratios: alphaFixedRatios,
  formats: ['mp4'],
  references: references20,
  media: {},
} as const;

export const alphaModels: Readonly<Record<string, AlphaModel>> = {
  'alpha-video-2-0-260128': {
    ...model20,
    short: '2.0',
    resolutions: ['480p', '720p', '1080p', '4k'],
  },
  'alpha-video-2-0-fast-260128': { ...model20, short: '2.0-fast', resolutions: ['480p', '720p'] },
  'alpha-video-2-0-mini-260615': { ...model20, short: '2.0-mini', resolutions: ['480p', '720p'] },
  'alpha-video-2-5-260628': {
    short: '2.5',
    version: '2.5',
    durationS: { min: 4, max: 30 },
    resolutions: ['480p', '720p', '1080p'],
    ratios: alphaRatios,
    formats: alphaFormats,
    references: { image: 30, video: 10, audio: 10, total: 50 },
    media: {
      image: {
        formats: mediaFormats.image,
        bytes: { max: 30 * MB, exclusive: true },
        edgePx: { min: 300, max: 6000 },
        aspect: { min: 0.4, max: 2.5 },
      },
      video: {
        formats: mediaFormats.video,
        bytes: { max: 200 * MB },
        aspect: { min: 0.4, max: 2.5 },
        durationS: { min: 2, max: 30 },
        framesPerS: { min: 24, max: 60 },
      },
      audio: {
        formats: mediaFormats.audio,
        bytes: { max: 15 * MB, exclusive: true },
        durationS: { min: 2, max: 30 },
      },
    },
    totalReferenceS: 30,
  },
};

/** A reference video that is edited must be at least this long ("Rules for content", 5). */
export const alphaEditMinS = 4;

export const ALPHA_MAX_BODY_BYTES = 64 * MB;

const assetUri = /^asset:\/\/[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
// One test for each form that "Rules for content", 1 allows; none holds white space or control characters.
const webUrl = /^https?:\/\/[^\s\p{Cc}]+$/u;
const dataUri = (modality: string) =>
  new RegExp(`^data:${modality}/[a-z0-9.+-]+;base64,[A-Za-z0-9+/]+={0,2}$`);

/** Whether a string is what `content[].<modality>_url.url` takes: rules 1 and 2 for content. */
function mediaUrl(modality: Modality, base64: boolean) {
  const forms = `${base64 ? 'a URL, a Base64 data URI' : 'a URL'} or asset://ID`;
  const data = dataUri(modality);
  return z.string().refine((url) => webUrl.test(url) || assetUri.test(url) || (base64 && data.test(url)), {
    error: (issue) =>
      /^[\w.-]{1,128}$/.test(String(issue.input))
        ? `a bare asset ID is rejected: write asset://${issue.input}`
        : `not ${forms} (${base64 ? `${modality}s` : `${modality}s are sent by address only`})`,
  });
}

type ObjectMaker = typeof z.looseObject | typeof z.strictObject;

/** The create body, loose (fields of `--set` pass) or strict (the sandbox refuses what the document does not list). */
function createBody(object: ObjectMaker) {
  const item = z.discriminatedUnion('type', [
    object({
      type: z.literal('text'),
      text: z.string().refine((text) => text.trim() !== '', { error: 'the prompt is empty' }),
    }),
    object({
      type: z.literal('image_url'),
      image_url: object({ url: mediaUrl('image', true) }),
      role: z.enum(['reference_image', 'first_frame', 'last_frame']),
    }),
    object({
      type: z.literal('video_url'),
      video_url: object({ url: mediaUrl('video', false) }),
      role: z.literal('reference_video'),
    }),
    object({
      type: z.literal('audio_url'),
      audio_url: object({ url: mediaUrl('audio', true) }),
      role: z.literal('reference_audio'),
    }),
  ]);
  return object({
    model: z.string().min(1).describe('model ID, or short'),
    content: z.array(item).min(1, 'a prompt or at least one image, video or audio is needed'),
    generate_audio: z.boolean().optional().describe('generate audio with the video'),
    resolution: z.enum(alphaResolutions).optional().describe('output resolution'),
    ratio: z.enum(alphaRatios).optional().describe('output aspect ratio'),
    duration: z.int().optional().describe('length in seconds'),
    output_format: z.enum(alphaFormats).optional().describe('container of the output (2.5)'),
    watermark: z.boolean().optional().describe('add an AI-generated mark in the lower-right corner'),
    return_last_frame: z.boolean().optional().describe("return the video's last frame too (2.0)"),
    omni_reference_task_type: z
      .enum(alphaTaskTypes)
      .optional()
      .describe('what to do with the references (2.5)'),
    tools: z
      .array(object({ type: z.literal('web_search') }))
      .length(1)
      .optional()
      .describe('let the model search the web (2.0, prompt only)'),
  }).superRefine((body, ctx) => {
    for (const { path, message } of alphaBreaches(body as AlphaCreateBody)) {
      ctx.addIssue({ code: 'custom', path: [...path], message });
    }
  });
}

/** The body of `POST /api/v3/contents/generations/tasks`, with every documented rule. */
export const AlphaCreateBody = createBody(z.looseObject);
export interface AlphaCreateBody {
  model: string;
  content: AlphaContentItem[];
  generate_audio?: boolean;
  resolution?: (typeof alphaResolutions)[number];
  ratio?: (typeof alphaRatios)[number];
  duration?: number;
  output_format?: (typeof alphaFormats)[number];
  watermark?: boolean;
  return_last_frame?: boolean;
  omni_reference_task_type?: (typeof alphaTaskTypes)[number];
  tools?: { type: 'web_search' }[];
}
export type AlphaContentItem =
  | { type: 'text'; text: string }
  | { type: 'image_url'; image_url: { url: string }; role: 'reference_image' | 'first_frame' | 'last_frame' }
  | { type: 'video_url'; video_url: { url: string }; role: 'reference_video' }
  | { type: 'audio_url'; audio_url: { url: string }; role: 'reference_audio' };

/** As {@link AlphaCreateBody}, refusing fields that the document does not list. */
export const AlphaStrictCreateBody = createBody(z.strictObject);

/** The models that fit, in words people can type. */
const modelsWhere = (fits: (model: AlphaModel) => boolean) =>
  Object.values(alphaModels)
    .filter(fits)
    .map((model) => model.short)
    .join(', ');

const only25 = 'only 2.5 takes it';

/** Counts the media of a request by modality, in request order. */
export function countAlphaMedia(content: readonly AlphaContentItem[]): { readonly [M in Modality]: number } {
  const of = (type: string) => content.filter((item) => item.type === type).length;
  return { image: of('image_url'), video: of('video_url'), audio: of('audio_url') };
}

/** The rules between fields and per model: each breach names the field, the rule and what to do. */
function* alphaBreaches(body: AlphaCreateBody): Generator<Note> {
  const model = alphaModels[body.model];
  if (!model) {
    yield {
      path: ['model'],
      message: `not a model of family alpha; one of ${Object.keys(alphaModels).join(', ')}`,
    };
    return;
  }
  yield* outputBreaches(body, model);
  yield* contentBreaches(body, model);
  if (model.version === '2.5') yield* taskBreaches(body);
}

function* outputBreaches(body: AlphaCreateBody, model: AlphaModel): Generator<Note> {
  const { resolution, ratio, duration, output_format: format } = body;
  const range = `${model.durationS.min}-${model.durationS.max}`;
  if (duration === AUTO_DURATION) {
    if (model.version === '2.0') {
      yield { path: ['duration'], message: `${model.short} takes ${range} seconds; ${only25}` };
    }
  } else if (duration !== undefined && (duration < model.durationS.min || duration > model.durationS.max)) {
    const auto = model.version === '2.5' ? ', or -1 (auto)' : '';
    yield { path: ['duration'], message: `${model.short} takes ${range} seconds${auto}` };
  }
  if (resolution && !model.resolutions.includes(resolution)) {
    yield {
      path: ['resolution'],
      message: `${model.short} takes ${model.resolutions.join(', ')}; ${resolution} is for ${modelsWhere((other) => other.resolutions.includes(resolution))}`,
    };
  }
  if (ratio && !model.ratios.includes(ratio)) {
    yield { path: ['ratio'], message: `${model.short} takes ${model.ratios.join(', ')}; ${only25}` };
  }
  if (format && model.version === '2.0') {
    yield {
      path: ['output_format'],
      message: `2.0 output is always mp4 and the format cannot be set; ${only25}`,
    };
  }
  if (body.return_last_frame !== undefined && model.version === '2.5') {
    yield { path: ['return_last_frame'], message: 'only the 2.0 models return the last frame' };
  }
  if (body.omni_reference_task_type && model.version === '2.0') {
    yield { path: ['omni_reference_task_type'], message: `not a setting of ${model.short}; ${only25}` };
  }
}

function* contentBreaches(body: AlphaCreateBody, model: AlphaModel): Generator<Note> {
  const { content } = body;
  const counts = countAlphaMedia(content);
  const total = counts.image + counts.video + counts.audio;
  for (const modality of ['image', 'video', 'audio'] as const) {
    if (counts[modality] > model.references[modality]) {
      yield {
        path: ['content', modality],
        message: `${model.short} takes up to ${model.references[modality]} ${modality} files, ${counts[modality]} given`,
      };
    }
  }
  if (total > model.references.total) {
    yield {
      path: ['content'],
      message: `${model.short} takes up to ${model.references.total} references, ${total} given`,
    };
  }
  const framesOf = (role: string) => content.filter((item) => 'role' in item && item.role === role).length;
  for (const role of ['first_frame', 'last_frame'] as const) {
    if (framesOf(role) > 1) yield { path: ['content', role], message: `at most one ${role}` };
  }
  if (framesOf('last_frame') > 0 && framesOf('first_frame') === 0) {
    yield { path: ['content', 'last_frame'], message: 'a last frame needs a first frame' };
  }
  if (model.version === '2.0' && counts.audio > 0 && counts.image === 0 && counts.video === 0) {
    yield {
      path: ['content', 'audio'],
      message: '2.0 rejects audio alone and text with audio alone: add an image or a video, or use 2.5',
    };
  }
  if (body.tools) {
    if (model.version === '2.5') yield { path: ['tools'], message: 'web search is for the 2.0 models' };
    else if (total > 0) yield { path: ['tools'], message: 'web search works for text-only input' };
  }
  yield* assetIdsInPrompt(content);
}

function* assetIdsInPrompt(content: readonly AlphaContentItem[]): Generator<Note> {
  const ids = content
    .map((item) => mediaUrlOf(item))
    .filter((url) => url?.startsWith('asset://'))
    .map((url) => String(url).slice('asset://'.length));
  for (const [index, item] of content.entries()) {
    if (item.type !== 'text') continue;
    const named = ids.find((id) => item.text.includes(id));
    if (named || item.text.includes('asset://')) {
      yield {
        path: ['content', index, 'text'],
        message: `an asset ID must not be written in the prompt${named ? ` (${named})` : ''}: say "image 1", "video 1", "audio 1" in request order`,
      };
    }
  }
}

/** The address of a media item of `content`, none for text. */
export function mediaUrlOf(item: AlphaContentItem): string | undefined {
  if (item.type === 'image_url') return item.image_url.url;
  if (item.type === 'video_url') return item.video_url.url;
  if (item.type === 'audio_url') return item.audio_url.url;
  return undefined;
}

/** "2.5 task constraints": what each task type requires of ratio, duration and references. */
function* taskBreaches(body: AlphaCreateBody): Generator<Note> {
  const { content, ratio, duration, omni_reference_task_type: task } = body;
  const hasVideo = content.some((item) => item.type === 'video_url');
  if (content.some((item) => 'role' in item && item.role === 'first_frame') && ratio !== 'adaptive') {
    yield { path: ['ratio'], message: 'a first frame on 2.5 requires the ratio adaptive' };
  }
  if (task === 'reference' && content.every((item) => item.type === 'text')) {
    yield {
      path: ['omni_reference_task_type'],
      message: 'reference needs at least one image, video or audio',
    };
  }
  if (task !== 'edit' && task !== 'extend') return;
  const named = task === 'edit' ? 'editing' : 'extension';
  if (!hasVideo) yield { path: ['omni_reference_task_type'], message: `${named} needs a reference video` };
  if (ratio !== 'adaptive') yield { path: ['ratio'], message: `${named} requires the ratio adaptive` };
  if (task === 'edit' && duration !== AUTO_DURATION) {
    yield {
      path: ['duration'],
      message: 'editing requires the duration -1 (the output follows the edited video)',
    };
  }
}

/**
 * Fills in what the documented rules imply and the user left open: on 2.5 a first frame makes the ratio
 * `adaptive`, editing and extension too, and editing makes the duration -1. Nothing that was given is changed.
 */
export function fillAlphaBody(body: Record<string, unknown>): Record<string, unknown> {
  if (alphaModels[String(body.model)]?.version !== '2.5') return body;
  const task = body.omni_reference_task_type;
  const content: unknown[] = Array.isArray(body.content) ? body.content : [];
  const hasFirstFrame = content.some((item) => (item as { role?: unknown } | null)?.role === 'first_frame');
  const implied: Record<string, unknown> = {};
  if (body.ratio === undefined && (hasFirstFrame || task === 'edit' || task === 'extend'))
    implied.ratio = 'adaptive';
  if (body.duration === undefined && task === 'edit') implied.duration = AUTO_DURATION;
  return { ...body, ...implied };
}

/** What is allowed but likely not meant; shown as warnings before the request is sent. */
export function alphaWarnings(body: AlphaCreateBody): Note[] {
  const notes: Note[] = [];
  const counts = countAlphaMedia(body.content);
  for (const [index, item] of body.content.entries()) {
    if (item.type !== 'text') continue;
    for (const [named, modality, number] of item.text.matchAll(/\b(image|video|audio) (\d{1,3})\b/gi)) {
      const given = counts[String(modality).toLowerCase() as Modality];
      if (Number(number) < 1 || Number(number) > given) {
        notes.push({
          path: ['content', index, 'text'],
          message: `the prompt says "${named}", but ${given === 0 ? 'none is' : `only ${given} ${given === 1 ? 'is' : 'are'}`} given (numbering starts at 1 per kind)`,
        });
      }
    }
  }
  const model = alphaModels[body.model];
  const highBitDepth = body.resolution === '4k' || (model?.version === '2.5' && body.resolution === '1080p');
  if (highBitDepth) {
    notes.push({
      path: ['resolution'],
      message: `${body.resolution} on ${model?.short ?? body.model} is 10-bit H.265 and may not play in all players`,
    });
  }
  if (body.output_format === 'mov') {
    notes.push({
      path: ['output_format'],
      message: 'mov uses professional encoding and may not play in all players',
    });
  }
  return notes;
}

export const alphaCreate: Endpoint = {
  name: 'alpha.create',
  method: 'POST',
  path: alphaTasksPath,
  credential: 'bearer',
  resend: 'paid',
  body: AlphaCreateBody,
  reply: AlphaCreateReply,
  maxBodyBytes: ALPHA_MAX_BODY_BYTES,
};
