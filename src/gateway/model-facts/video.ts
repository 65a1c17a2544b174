import { AlphaCreateBody } from '../alpha/create.ts';
import { ALPHA_MAX_BODY_BYTES, type AlphaModel, alphaModels } from '../alpha/models.ts';
import { alphaFamily } from '../alpha/task.ts';
import { type BetaCreate, betaCreates } from '../beta/create.ts';
import {
  BETA_MAX_PROMPT,
  BETA_MAX_SHOT_PROMPT,
  BETA_MAX_SHOTS,
  BETA_O1_MAX_PROMPT,
  BETA_RECOMMENDED_PROMPT,
  betaO1FirstFrameDurationsS,
  betaO1Media,
  betaO1References,
} from '../beta/modes.ts';
import { betaFamily } from '../beta/task.ts';
import { CompletionsBody } from '../chat/completions.ts';
import { geoBodyFor } from '../chat/geo.ts';
import { geoModels, thinkingLevels } from '../chat/models.ts';
import { GammaCreateBody } from '../gamma/create.ts';
import {
  GAMMA_MAX_BODY_BYTES,
  GAMMA_MAX_TEXT_CHARACTERS,
  GAMMA_TOTAL_REFERENCE_S,
  type GammaModel,
  gammaMedia,
  gammaModels,
} from '../gamma/models.ts';
import { gammaFamily } from '../gamma/task.ts';
import { ImageGenerateBody } from '../image/create.ts';
import { imageFamily } from '../image/job.ts';
import {
  type ImageModel,
  imageBackgrounds,
  imageDefaults,
  imageModels,
  MAX_COMPRESSION,
  MAX_INPUT_IMAGES,
  MAX_PARTIAL_IMAGES,
} from '../image/models.ts';
import { sizeInWords } from '../image/size.ts';
import { accountLimits, accountTypes, fourKLimits, type Modality } from '../limits.ts';
import type { ModelKind } from '../models.ts';
import type { TaskFamily } from '../task.ts';
import {
  bytesWords,
  type Fact,
  fact,
  fieldFacts,
  lifeWords,
  type ModelSheet,
  mediaWords,
  ruleFacts,
} from './sheets.ts';

/** A sheet for each video model, and for each create endpoint of family B. */
export const videoSheets = (): ModelSheet[] => [
  ...Object.entries(alphaModels).map(([id, model]) => sheet('video', id, [model.short], alphaFacts(model))),
  ...betaCreates.map((create) =>
    sheet('video', create.path.slice(1), [create.path, create.variant.model], betaFacts(create)),
  ),
  ...Object.entries(gammaModels).map(([id, model]) => sheet('video', id, [], gammaFacts(model))),
];

const sheet = (
  kind: ModelKind,
  id: string,
  aliases: readonly string[],
  facts: readonly Fact[],
): ModelSheet => ({ id, aliases, kind, facts });

const alphaFacts = (model: AlphaModel): Fact[] => [
  ...fact('command', `gw video alpha create -m ${model.short}`),
  ...fieldFacts(AlphaCreateBody, model),
  ...fact('formats', model.formats.join(', ')),
  ...fact('references', `${referenceWords(model.references)}; ${model.references.total} in all`),
  ...mediaFacts(model.media),
  ...fact(
    'reference length',
    model.totalReferenceS === undefined
      ? undefined
      : `${model.totalReferenceS} s of video and of audio in all`,
  ),
  ...fact('request', bytesWords({ max: ALPHA_MAX_BODY_BYTES })),
  ...accountTypes.map((type) => ({ name: `${type} account`, value: rateWords(accountLimits[type]) })),
  ...fact('at 4k', model.resolutions.includes('4k') ? rateWords(fourKLimits) : undefined),
  ...lifeFacts(alphaFamily),
  ...ruleFacts(AlphaCreateBody),
];

const betaFacts = ({ variant: { mode, turbo, settings }, body }: BetaCreate): Fact[] => [
  ...fact('command', `gw video beta create --mode ${mode}${turbo ? ' --turbo' : ''}`),
  ...(settings
    ? [...fieldFacts(body, settings), ...(mode === 'o1' ? o1Facts() : textFacts())]
    : fact('body', 'not documented: give it with --body and --set')),
  ...lifeFacts(betaFamily),
  ...ruleFacts(body),
];

const textFacts = (): Fact[] => [
  ...fact('prompt', `up to ${BETA_MAX_PROMPT} characters, ${BETA_RECOMMENDED_PROMPT} recommended`),
  ...fact('shots', `up to ${BETA_MAX_SHOTS}, each with up to ${BETA_MAX_SHOT_PROMPT} characters`),
];

const o1Facts = (): Fact[] => [
  ...fact('prompt', `up to ${BETA_O1_MAX_PROMPT} characters`),
  ...fact('first frame alone', `${betaO1FirstFrameDurationsS.join(' or ')} s`),
  ...fact(
    'images and elements',
    `up to ${betaO1References.withoutVideo}, with a reference video ${betaO1References.withVideo}`,
  ),
  ...mediaFacts(betaO1Media),
];

const gammaFacts = (model: GammaModel): Fact[] => {
  const takesReferences = Object.values(model.references).some((most) => most > 0);
  const { image, ...others } = gammaMedia;
  return [
    ...fact('command', 'gw video gamma create'),
    ...fieldFacts(GammaCreateBody, model),
    ...fact('prompt', `text items of up to ${GAMMA_MAX_TEXT_CHARACTERS} characters`),
    ...fact(
      'references',
      takesReferences ? referenceWords(model.references) : 'none; first and last frame only',
    ),
    ...mediaFacts(takesReferences ? { image, ...others } : { image }),
    ...fact(
      'reference length',
      takesReferences ? `${GAMMA_TOTAL_REFERENCE_S} s of video and of audio in all` : undefined,
    ),
    ...fact('request', bytesWords({ max: GAMMA_MAX_BODY_BYTES })),
    ...lifeFacts(gammaFamily),
    ...ruleFacts(GammaCreateBody),
  ];
};

const words: Readonly<Record<Modality, string>> = { image: 'images', video: 'videos', audio: 'audio files' };

const referenceWords = (most: { readonly [M in Modality]: number }): string =>
  `up to ${(Object.keys(words) as Modality[]).map((modality) => `${most[modality]} ${words[modality]}`).join(', ')}`;

const mediaFacts = (media: { readonly [M in Modality]?: Parameters<typeof mediaWords>[0] }): Fact[] =>
  (Object.keys(words) as Modality[]).flatMap((modality) =>
    fact(`${modality} file`, media[modality] && mediaWords(media[modality])),
  );

const rateWords = ({
  requestsPerMinute: rate,
  concurrentTasks: tasks,
}: Record<keyof typeof fourKLimits, number>) =>
  `${rate} requests a minute, ${tasks} ${tasks === 1 ? 'task' : 'tasks'} at once`;

const lifeFacts = ({ recordLifeMs, linkLifeMs, linkLifeIsAssumed, maxDownloads }: TaskFamily): Fact[] => [
  ...fact('record is kept', recordLifeMs === undefined ? undefined : lifeWords(recordLifeMs)),
  ...fact(
    'link lives',
    `${linkLifeIsAssumed ? 'for a time that is not stated; gw assumes ' : ''}${lifeWords(linkLifeMs)}${maxDownloads === undefined ? '' : `, for ${maxDownloads} downloads`}`,
  ),
];

/** A sheet for each image model ("Image endpoints"). */
export const imageSheets = (): ModelSheet[] =>
  Object.entries(imageModels).map(([id, model]) => sheet('image', id, [], factsOf(model)));

const factsOf = (model: ImageModel): Fact[] => [
  ...fact('command', `gw image create${model.edits ? ', gw image edit' : ''}`),
  ...fact(
    'prompt',
    model.maxPromptCharacters === undefined ? undefined : `up to ${model.maxPromptCharacters} characters`,
  ),
  ...fact('sizes', sizeInWords(model.size)),
  ...fact('default size', model.defaultSize),
  // "with `model`, `prompt`, `size`, and `image`": the document states nothing else about delta models.
  ...(model.family === 'delta'
    ? []
    : [
        ...fact('qualities', `${model.qualities.join(', ')} (default ${imageDefaults.quality})`),
        ...fact('images', `${model.maxImages === 1 ? 1 : `1-${model.maxImages}`} a request`),
      ]),
  ...(model.family === 'img' ? imgFacts(model) : []),
  ...fieldFacts(ImageGenerateBody, model),
  ...(model.family === 'legacy' ? [...fact('links live', lifeWords(imageFamily.linkLifeMs))] : []),
  ...ruleFacts(ImageGenerateBody).filter(({ name }) => rulesOfSome[name]?.(model) ?? true),
];

/** Rules that concern only some models, and which models those are. */
const rulesOfSome: Readonly<Record<string, (model: ImageModel) => boolean>> = {
  'image.transparent-needs-png-or-webp': ({ family }) => family === 'img',
  'image.compression-of-webp-and-jpeg': ({ family }) => family === 'img',
  'image.partial-images-in-a-stream': ({ family }) => family === 'img',
  'image.transparent-in-preview': ({ background }) => background === 'preview',
  'image.experimental-size': ({ family }) => family === 'img',
  'image.fidelity-without-images': ({ family }) => family === 'img',
  'image.input-images-of-generate': ({ family }) => family === 'img',
  'image.quality-of-the-common-variant': ({ family }) => family === 'img',
  'image.fields-of-delta-models': ({ family }) => family === 'delta',
  'image.input-images-of-other-models': ({ family }) => family === 'delta',
  'image.prompt-length-of-generate': ({ family }) => family !== 'delta',
  'image.quality-by-model-of-generate': ({ family }) => family !== 'delta',
  'image.one-image-a-request': ({ maxImages }) => maxImages === 1,
};

const imgFacts = (model: ImageModel): Fact[] => [
  ...fact('compression', `0-${MAX_COMPRESSION}, of jpeg and webp (default ${imageDefaults.compression})`),
  ...fact(
    'backgrounds',
    model.background &&
      `${imageBackgrounds.join(', ')} (default ${imageDefaults.background}${model.background === 'preview' ? '; in preview' : ''})`,
  ),
  ...fact('streaming', `with up to ${MAX_PARTIAL_IMAGES} partial images`),
  ...fact('images to edit', `1-${MAX_INPUT_IMAGES}`),
];

/** A sheet for each chat model ("Chat completions", "Gemini-style generation"). */
export const chatSheets = (): ModelSheet[] =>
  Object.entries(geoModels).map(([id, { efforts, budgetZero, refusedLevels }]) => ({
    id,
    aliases: [],
    kind: 'chat',
    facts: [
      ...fact('commands', 'gw chat, gw chat --api geo'),
      ...fact('reasoning efforts', efforts.join(', ')),
      ...fact('thinking levels', thinkingLevels.filter((level) => !refusedLevels.includes(level)).join(', ')),
      ...fact('thinking off', `a budget of 0 ${budgetZero === 'works' ? 'works' : 'is not reliable'}`),
      ...ruleFacts(CompletionsBody).filter(({ name }) => !name.endsWith('-of-others')),
      ...ruleFacts(geoBodyFor(id)),
    ],
  }));
