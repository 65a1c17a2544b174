import { type Rule, takenByModel, valueAt } from '../body.ts';
import { type ContentItem, countRole, hasRole, mediaWithoutRole, oneOfEachFrame } from '../content.ts';
import { codePoints, type Modality } from '../limits.ts';
import type { GammaCreateBody } from './create.ts';
import { GAMMA_MAX_TEXT_CHARACTERS, type GammaModel, gammaFixedRatios, gammaModels } from './models.ts';

// The rules of family C between fields and per model ("Family C endpoints").

const plurals: { readonly [M in Modality]: string } = {
  image: 'reference images',
  video: 'reference videos',
  audio: 'reference audio files',
};
const modalities = ['image', 'video', 'audio'] as const;

/** Whether a request makes a video from text alone, from a first or last frame, or from references. */
export function gammaScenario(content: readonly ContentItem[]): 'text' | 'frames' | 'references' {
  if (hasRole(content, 'first_frame') || hasRole(content, 'last_frame')) return 'frames';
  return content.some((item) => item.type !== 'text') ? 'references' : 'text';
}

const modelOf = (id: string): GammaModel | undefined =>
  Object.hasOwn(gammaModels, id) ? gammaModels[id] : undefined;

export const gammaRules: readonly Rule<GammaCreateBody>[] = [
  {
    name: 'gamma.model-is-known',
    verdict: 'refuse',
    sentence: 'gamma-H3, gamma-H3-Max',
    *check({ model }) {
      if (modelOf(model)) return;
      const known = Object.keys(gammaModels);
      yield { path: ['model'], message: `not a model of family gamma; one of ${known.join(', ')}`, known };
    },
  },
  {
    name: 'gamma.resolution-and-duration-are-required',
    verdict: 'refuse',
    sentence: 'resolution … string … yes … duration … integer … yes',
    *check(body) {
      const { resolutions = [], durationS } = modelOf(body.model) ?? {};
      const duration = durationS ? [`${durationS.min}-${durationS.max} seconds`] : [];
      for (const [path, known] of Object.entries({ resolution: resolutions, duration })) {
        const takes = known.length > 0 ? `: ${body.model} takes ${known.join(', ')}` : '';
        if (valueAt(body, [path]) === undefined)
          yield { path: [path], message: `is required${takes}`, known };
      }
    },
  },
  takenByModel(
    {
      name: 'gamma.resolution-and-duration-by-model',
      sentence: 'H3: 768P, 2K; H3-Max: 480P, 768P … H3: 4-15; H3-Max: 5-15',
    },
    gammaModels,
    ({ model }) => model,
  ),
  {
    name: 'gamma.text-needs-a-ratio',
    verdict: 'refuse',
    sentence: 'required for text-to-video … text-to-video cannot use adaptive',
    *check({ ratio, content }) {
      if (gammaScenario(content) !== 'text' || (ratio !== undefined && ratio !== 'adaptive')) return;
      const rule = ratio === undefined ? 'is required for text-to-video' : 'text-to-video cannot use it';
      const known = gammaFixedRatios;
      yield { path: ['ratio'], message: `${rule}: one of ${known.join(', ')}`, known };
    },
  },
  {
    name: 'gamma.text-length',
    verdict: 'refuse',
    sentence: 'each text item at most 7,000 characters',
    *check({ content }) {
      for (const [index, item] of content.entries()) {
        const characters = item.type === 'text' ? codePoints(item.text) : 0;
        if (characters <= GAMMA_MAX_TEXT_CHARACTERS) continue;
        const message = `has ${characters} characters; a text item has at most ${GAMMA_MAX_TEXT_CHARACTERS}`;
        yield { path: ['content', index, 'text'], message };
      }
    },
  },
  {
    name: 'gamma.text-in-every-scenario',
    verdict: 'refuse',
    sentence: 'at least one non-empty text item … required in every scenario',
    *check({ content }) {
      if (content.some((item) => item.type === 'text' && item.text.trim() !== '')) return;
      const message = 'a prompt is required in every scenario: at least one text item that is not empty';
      yield { path: ['content', 'text'], message };
    },
  },
  {
    name: 'gamma.references-by-model',
    verdict: 'refuse',
    sentence: 'neither multimodal reference inputs nor 2K … 9 reference images … at most 3 clips',
    *check({ model: name, content }) {
      const model = modelOf(name);
      if (!model) return;
      for (const modality of modalities) {
        const role = `reference_${modality}`;
        const given = countRole(content, role);
        const most = model.references[modality];
        if (given <= most) continue;
        const others = Object.entries(gammaModels).filter(([, other]) => other.references[modality] > 0);
        yield {
          path: ['content', role],
          message:
            most === 0
              ? `${name} takes no ${plurals[modality]}: use ${others.map(([id]) => id).join(', ')}`
              : `${name} takes up to ${most} ${plurals[modality]}, ${given} given`,
        };
      }
    },
  },
  oneOfEachFrame({ name: 'gamma.one-of-each-frame', sentence: 'at most 1 first frame, 1 last frame' }),
  {
    name: 'gamma.frames-or-references',
    verdict: 'refuse',
    sentence: 'First/last-frame image-to-video and reference generation are mutually exclusive.',
    *check({ content }) {
      const frame = ['first_frame', 'last_frame'].find((role) => hasRole(content, role));
      const message = 'cannot go with references: leave out one or the other';
      if (frame && modalities.some((each) => hasRole(content, `reference_${each}`)))
        yield { path: ['content', frame], message };
    },
  },
  {
    name: 'gamma.frames-set-the-ratio',
    verdict: 'warn',
    sentence: 'image-to-video follows the input image',
    *check({ ratio, content }) {
      if (ratio === undefined || ratio === 'adaptive' || gammaScenario(content) !== 'frames') return;
      const message = `the video follows the input image, whatever its ratio; ${ratio} may not count`;
      yield { path: ['ratio'], message };
    },
  },
  mediaWithoutRole('gamma'),
];
