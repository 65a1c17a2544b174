import type { Modality } from '../media-limits.ts';
import type { Note } from '../task.ts';
import type { AlphaContentItem, AlphaCreateBody } from './create.ts';
import { type AlphaModel, AUTO_DURATION, alphaModels } from './models.ts';

// The rules of family A between fields and per model ("Rules for content", "2.5 task constraints", "Asset limits").

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
export function* alphaBreaches(body: AlphaCreateBody): Generator<Note> {
  const model = alphaModels[body.model];
  if (!model) {
    yield {
      path: ['model'],
      message: `not a model of family alpha; one of ${Object.keys(alphaModels).join(', ')}`,
      known: [...Object.keys(alphaModels), ...Object.values(alphaModels).map((known) => known.short)],
    };
    yield* frameBreaches(body.content);
    yield* assetIdsInPrompt(body.content);
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
  yield* frameBreaches(content);
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

/** What holds for frames whatever the model. */
function* frameBreaches(content: readonly AlphaContentItem[]): Generator<Note> {
  const framesOf = (role: string) => content.filter((item) => 'role' in item && item.role === role).length;
  for (const role of ['first_frame', 'last_frame'] as const) {
    if (framesOf(role) > 1) yield { path: ['content', role], message: `at most one ${role}` };
  }
  if (framesOf('last_frame') > 0 && framesOf('first_frame') === 0) {
    yield { path: ['content', 'last_frame'], message: 'a last frame needs a first frame' };
  }
}

/** An ID that cannot be mistaken for a word of the prompt. */
const isDistinct = (id: string): boolean => id.length >= 6 && /[\d._-]/.test(id);

function* assetIdsInPrompt(content: readonly AlphaContentItem[]): Generator<Note> {
  const ids = content
    .map((item) => mediaUrlOf(item))
    .filter((url) => url?.startsWith('asset://'))
    .map((url) => String(url).slice('asset://'.length));
  for (const [index, item] of content.entries()) {
    if (item.type !== 'text') continue;
    const named = ids.find((id) => isDistinct(id) && item.text.includes(id));
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
