import { type Rule, takenByModel } from '../body.ts';
import { countMedia, countRole, hasRole, mediaWithoutRole, mediumOf, oneOfEachFrame } from '../content.ts';
import type { Modality } from '../limits.ts';
import type { AlphaCreateBody } from './create.ts';
import { type AlphaModel, AUTO_DURATION, alphaModels } from './models.ts';

// The rules of family A between fields and per model ("Rules for content", "2.5 task constraints", "Asset limits").

const modelOf = (id: string): AlphaModel | undefined =>
  Object.hasOwn(alphaModels, id) ? alphaModels[id] : undefined;
const versionOf = ({ model }: AlphaCreateBody) => modelOf(model)?.version;
const hasPrompt = ({ content }: AlphaCreateBody) => content.some((item) => item.type === 'text');
const modalities = ['image', 'video', 'audio'] as const;

export const alphaRules: readonly Rule<AlphaCreateBody>[] = [
  {
    name: 'alpha.model-is-known',
    verdict: 'refuse',
    sentence: 'Models: … standard 2.0 … 2.0 Fast … 2.0 Mini … 2.5',
    *check({ model }) {
      if (modelOf(model)) return;
      const shorts = Object.values(alphaModels).map(({ short }) => short);
      const known = [...Object.keys(alphaModels), ...shorts];
      yield { path: ['model'], message: `not a model of family alpha; one of ${shorts.join(', ')}`, known };
    },
  },
  takenByModel(
    { name: 'alpha.settings-by-model', sentence: 'settable only on 2.5' },
    Object.fromEntries(Object.values(alphaModels).map((model) => [model.short, model])),
    ({ model }) => modelOf(model)?.short ?? model,
  ),
  {
    name: 'alpha.last-frame-of-2.0',
    verdict: 'refuse',
    sentence: "return the output video's last frame (2.0)",
    *check(body) {
      if (versionOf(body) !== '2.5' || body.return_last_frame !== true) return;
      yield { path: ['return_last_frame'], message: 'only the 2.0 models return the last frame' };
    },
  },
  {
    name: 'alpha.no-last-frame-of-2.5',
    verdict: 'warn',
    remark: 'the document names it for 2.0 and does not say that 2.5 refuses a false one',
    *check(body) {
      if (versionOf(body) !== '2.5' || body.return_last_frame !== false) return;
      yield { path: ['return_last_frame'], message: 'a setting of the 2.0 models' };
    },
  },
  {
    name: 'alpha.reference-counts',
    verdict: 'refuse',
    sentence: 'images / videos / audio files … up to 9 / 3 / 3 (15 total) … up to 30 / 10 / 10 (50 total)',
    *check({ model: id, content }) {
      const model = modelOf(id);
      if (!model) return;
      const counts = countMedia(content);
      const { short, references } = model;
      for (const modality of modalities) {
        const message = `${short} takes up to ${references[modality]} ${modality} files, ${counts[modality]} given`;
        const path = ['content', `reference_${modality}`];
        if (counts[modality] > references[modality]) yield { path, message };
      }
      const total = counts.image + counts.video + counts.audio;
      const message = `${short} takes up to ${references.total} references, ${total} given`;
      if (total > references.total) yield { path: ['content'], message };
    },
  },
  oneOfEachFrame({
    name: 'alpha.one-of-each-frame',
    sentence: 'first-frame task contains one image with role first_frame',
  }),
  {
    name: 'alpha.last-frame-needs-a-first',
    verdict: 'refuse',
    sentence: 'a first/last-frame task contains images with both first_frame and last_frame',
    *check({ content }) {
      if (!hasRole(content, 'last_frame') || hasRole(content, 'first_frame')) return;
      yield { path: ['content', 'last_frame'], message: 'a last frame needs a first frame' };
    },
  },
  {
    name: 'alpha.frames-beside-references',
    verdict: 'warn',
    remark: 'the document shows first-frame tasks and reference generation apart, and no task that has both',
    *check({ content }) {
      const isBoth =
        hasRole(content, 'first_frame') && modalities.some((of) => hasRole(content, `reference_${of}`));
      const message = 'a frame and references are shown in no task together';
      if (isBoth) yield { path: ['content', 'first_frame'], message };
    },
  },
  {
    name: 'alpha.audio-alone-on-2.0',
    verdict: 'refuse',
    sentence: '2.0 rejects: text plus audio only, and audio-only input',
    *check(body) {
      const { image, video, audio } = countMedia(body.content);
      if (versionOf(body) !== '2.0' || audio === 0 || image > 0 || video > 0) return;
      const message =
        '2.0 rejects audio alone and text with audio alone: add an image or a video, or use 2.5';
      yield { path: ['content', 'reference_audio'], message };
    },
  },
  {
    name: 'alpha.web-search',
    verdict: 'refuse',
    sentence: '2.0 web search: one item whose type is web_search; only with text-only input',
    *check(body) {
      if (!body.tools) return;
      const isText = body.content.every((item) => item.type === 'text');
      if (versionOf(body) === '2.5') yield { path: ['tools'], message: 'web search is for the 2.0 models' };
      else if (!isText) yield { path: ['tools'], message: 'web search works for text-only input' };
    },
  },
  {
    name: 'alpha.no-asset-id-in-the-prompt',
    verdict: 'refuse',
    sentence: 'Asset IDs must not be written in the prompt.',
    *check({ content }) {
      const urls = content.map((item) => mediumOf(item)?.url ?? '');
      const ids = urls.filter((url) => url.startsWith('asset://')).map((url) => url.slice('asset://'.length));
      for (const [index, item] of content.entries()) {
        if (item.type !== 'text') continue;
        const named = ids.find((id) => isDistinct(id) && item.text.includes(id));
        if (!named && !item.text.includes('asset://')) continue;
        const message = `holds an asset ID${named ? ` (${named})` : ''}: say "image 1", "video 1", "audio 1" in request order`;
        yield { path: ['content', index, 'text'], message };
      }
    },
  },
  {
    name: 'alpha.frames-need-adaptive',
    verdict: 'refuse',
    sentence: 'On 2.5 both require ratio adaptive.',
    *check(body) {
      if (versionOf(body) !== '2.5' || body.ratio === 'adaptive' || !hasRole(body.content, 'first_frame'))
        return;
      yield { path: ['ratio'], message: 'a first frame on 2.5 requires the ratio adaptive' };
    },
  },
  {
    name: 'alpha.reference-needs-a-reference',
    verdict: 'refuse',
    sentence: 'at least one reference image, video or audio',
    *check(body) {
      const { content, omni_reference_task_type: task } = body;
      if (versionOf(body) !== '2.5' || task !== 'reference') return;
      if (modalities.some((modality) => countRole(content, `reference_${modality}`) > 0)) return;
      const message = 'reference needs at least one reference image, video or audio; a frame is none';
      yield { path: ['omni_reference_task_type'], message };
    },
  },
  {
    name: 'alpha.edit-and-extend',
    verdict: 'refuse',
    sentence:
      'reference_video plus editing prompt ratio adaptive, duration -1 … reference_video plus extension prompt ratio adaptive, duration 4-30 or -1',
    *check(body) {
      const { content, ratio, duration, omni_reference_task_type: task } = body;
      if (versionOf(body) !== '2.5' || (task !== 'edit' && task !== 'extend')) return;
      const named = task === 'edit' ? 'editing' : 'extension';
      const path = ['omni_reference_task_type'];
      if (!hasRole(content, 'reference_video')) yield { path, message: `${named} needs a reference video` };
      const what = task === 'edit' ? 'change' : 'add';
      if (!hasPrompt(body)) yield { path, message: `${named} needs a prompt that says what to ${what}` };
      if (ratio !== 'adaptive') yield { path: ['ratio'], message: `${named} requires the ratio adaptive` };
      if (task === 'edit' && duration !== AUTO_DURATION) {
        const message = 'editing requires the duration -1 (the output follows the edited video)';
        yield { path: ['duration'], message };
      }
    },
  },
  {
    name: 'alpha.numbering-in-the-prompt',
    verdict: 'warn',
    sentence: 'numbering starts at 1 per media type in request order',
    *check({ content }) {
      const counts = countMedia(content);
      for (const [index, item] of content.entries()) {
        if (item.type !== 'text') continue;
        for (const [named, modality, number] of item.text.matchAll(/\b(image|video|audio) (\d{1,3})\b/gi)) {
          const given = counts[String(modality).toLowerCase() as Modality];
          if (Number(number) >= 1 && Number(number) <= given) continue;
          const are = given === 0 ? 'none is' : `only ${given} ${given === 1 ? 'is' : 'are'}`;
          yield { path: ['content', index, 'text'], message: `the prompt says "${named}", but ${are} given` };
        }
      }
    },
  },
  {
    name: 'alpha.encoding-of-1080p-and-4k',
    verdict: 'warn',
    sentence: 'Standard 2.0 4K and 2.5 1080p use 10-bit/H.265 encoding and may not play in all players',
    *check(body) {
      const { resolution, model } = body;
      if (resolution !== '4k' && (versionOf(body) !== '2.5' || resolution !== '1080p')) return;
      const short = modelOf(model)?.short ?? model;
      yield { path: ['resolution'], message: `${resolution} on ${short} is 10-bit H.265` };
    },
  },
  {
    name: 'alpha.encoding-of-mov',
    verdict: 'warn',
    sentence: 'on 2.5 mov uses professional encoding and may not play in all players',
    *check({ output_format: format }) {
      if (format === 'mov') yield { path: ['output_format'], message: 'mov may not play everywhere' };
    },
  },
  mediaWithoutRole('alpha'),
];

/** True if an ID is long and odd enough that it cannot be an ordinary word of the prompt. */
const isDistinct = (id: string): boolean => id.length >= 6 && /[\d._-]/.test(id);

/**
 * Fills in fields that the user left out and the documented rules imply: on 2.5 a first frame, editing or extension
 * sets the ratio to `adaptive`, and editing sets the duration to -1. Fields that the user gave stay unchanged.
 */
export function fillAlphaBody(body: Record<string, unknown>): Record<string, unknown> {
  if (modelOf(String(body.model))?.version !== '2.5') return body;
  const task = body.omni_reference_task_type;
  const content: unknown[] = Array.isArray(body.content) ? body.content : [];
  const hasFirstFrame = content.some((item) => (item as { role?: unknown } | null)?.role === 'first_frame');
  const implied: Record<string, unknown> = {};
  if (body.ratio === undefined && (hasFirstFrame || task === 'edit' || task === 'extend'))
    implied.ratio = 'adaptive';
  if (body.duration === undefined && task === 'edit') implied.duration = AUTO_DURATION;
  return { ...body, ...implied };
}
