import { codePoints } from '../code-points.ts';
import type { Modality } from '../media-limits.ts';
import type { Note } from '../task.ts';
import type { GammaContentItem, GammaCreateBody } from './create.ts';
import { GAMMA_MAX_TEXT_CHARACTERS, type GammaModel, gammaFixedRatios, gammaModels } from './models.ts';

// The rules of family C between fields and per model ("Family C endpoints").

const frameRoles = ['first_frame', 'last_frame'] as const;

const referenceRoles: { readonly [M in Modality]: string } = {
  image: 'reference_image',
  video: 'reference_video',
  audio: 'reference_audio',
};

const plurals: { readonly [M in Modality]: string } = {
  image: 'reference images',
  video: 'reference videos',
  audio: 'reference audio files',
};

const countOf = (content: readonly GammaContentItem[], role: string): number =>
  content.filter((item) => 'role' in item && item.role === role).length;

/** What a request makes: from text alone, from a first or last frame, or from references. */
export function gammaScenario(content: readonly GammaContentItem[]): 'text' | 'frames' | 'references' {
  if (frameRoles.some((role) => countOf(content, role) > 0)) return 'frames';
  return content.some((item) => item.type !== 'text') ? 'references' : 'text';
}

/** The rules between fields and per model: each breach names the field, the rule and what to do. */
export function* gammaBreaches(body: GammaCreateBody): Generator<Note> {
  const model = gammaModels[body.model];
  if (!model) {
    const known = Object.keys(gammaModels);
    yield { path: ['model'], message: `not a model of family gamma; one of ${known.join(', ')}`, known };
    for (const path of ['resolution', 'duration'] as const) {
      if (body[path] === undefined) yield { path: [path], message: 'is required' };
    }
  } else yield* outputBreaches(body, model);
  yield* ratioBreaches(body);
  yield* textBreaches(body.content);
  if (model) yield* mediaBreaches(body, model);
  yield* frameBreaches(body.content);
}

function* outputBreaches(body: GammaCreateBody, model: GammaModel): Generator<Note> {
  const { resolution, duration } = body;
  const resolutions = `${body.model} takes ${model.resolutions.join(', ')}`;
  if (resolution === undefined) {
    yield { path: ['resolution'], message: `is required: ${resolutions}` };
  } else if (!model.resolutions.includes(resolution)) {
    const others = modelsWhere((other) => other.resolutions.includes(resolution));
    yield { path: ['resolution'], message: `${resolutions}; ${resolution} is for ${others}` };
  }
  const { min, max } = model.durationS;
  const seconds = `${body.model} takes ${min}-${max} seconds`;
  if (duration === undefined) {
    yield { path: ['duration'], message: `is required: ${seconds}` };
  } else if (duration < min || duration > max) {
    yield { path: ['duration'], message: seconds };
  }
}

function* ratioBreaches({ ratio, content }: GammaCreateBody): Generator<Note> {
  if (gammaScenario(content) !== 'text') return;
  const ratios = gammaFixedRatios.join(', ');
  if (ratio === undefined) {
    yield { path: ['ratio'], message: `is required for text-to-video: one of ${ratios}` };
  } else if (ratio === 'adaptive') {
    yield {
      path: ['ratio'],
      message: `text-to-video cannot use it: one of ${ratios}`,
    };
  }
}

function* textBreaches(content: readonly GammaContentItem[]): Generator<Note> {
  let hasText = false;
  for (const [index, item] of content.entries()) {
    if (item.type !== 'text') continue;
    hasText ||= item.text.trim() !== '';
    const characters = codePoints(item.text);
    if (characters > GAMMA_MAX_TEXT_CHARACTERS) {
      yield {
        path: ['content', index, 'text'],
        message: `has ${characters} characters; a text item has at most ${GAMMA_MAX_TEXT_CHARACTERS}`,
      };
    }
  }
  if (!hasText) {
    yield {
      path: ['content'],
      message: 'a prompt is required in every scenario: at least one text item that is not empty',
    };
  }
}

function* mediaBreaches({ model: name, content }: GammaCreateBody, model: GammaModel): Generator<Note> {
  for (const modality of ['image', 'video', 'audio'] as const) {
    const given = countOf(content, referenceRoles[modality]);
    const most = model.references[modality];
    if (given <= most) continue;
    const others = modelsWhere((other) => other.references[modality] > 0);
    yield {
      path: ['content', modality],
      message:
        most === 0
          ? `${name} takes no ${plurals[modality]}: use ${others}`
          : `${name} takes up to ${most} ${plurals[modality]}, ${given} given`,
    };
  }
}

function* frameBreaches(content: readonly GammaContentItem[]): Generator<Note> {
  for (const role of frameRoles) {
    if (countOf(content, role) > 1) yield { path: ['content', role], message: `at most one ${role}` };
  }
  const frame = frameRoles.find((role) => countOf(content, role) > 0);
  if (frame && Object.values(referenceRoles).some((role) => countOf(content, role) > 0)) {
    yield {
      path: ['content', frame],
      message: 'a first or last frame cannot go with references: leave out one or the other',
    };
  }
}

const modelsWhere = (fits: (model: GammaModel) => boolean): string =>
  Object.entries(gammaModels)
    .filter(([, model]) => fits(model))
    .map(([name]) => name)
    .join(', ');

/** What is allowed but likely not meant; shown as warnings before the request is sent. */
export function gammaWarnings({ ratio, content }: GammaCreateBody): Note[] {
  if (ratio === undefined || ratio === 'adaptive' || gammaScenario(content) !== 'frames') return [];
  return [
    {
      path: ['ratio'],
      message: `the video follows the input image, whatever its ratio; ${ratio} may not count`,
    },
  ];
}
