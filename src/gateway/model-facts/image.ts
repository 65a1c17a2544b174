import { ImageGenerateBody } from '../image/generate.ts';
import {
  IMAGE_LINK_LIFE_MS,
  type ImageModel,
  imageBackgrounds,
  imageDefaults,
  imageModels,
  MAX_COMPRESSION,
  MAX_INPUT_IMAGES,
  MAX_PARTIAL_IMAGES,
} from '../image/models.ts';
import { sizeInWords } from '../image/size.ts';
import { type Fact, fact, fieldFacts, lifeWords, type ModelSheet, ruleFacts } from './sheets.ts';

/** What the tables say of each image model ("Image endpoints"). */
export const imageSheets = (): ModelSheet[] =>
  Object.entries(imageModels).map(([id, model]) => ({
    id,
    aliases: [],
    kind: 'image',
    facts: factsOf(model),
  }));

const factsOf = (model: ImageModel): Fact[] => [
  ...fact('command', `gw image create${model.edits ? ', gw image edit' : ''}`),
  ...fact(
    'prompt',
    model.maxPromptCharacters === undefined ? undefined : `up to ${model.maxPromptCharacters} characters`,
  ),
  ...fact('sizes', sizeInWords(model.size)),
  ...fact('default size', model.defaultSize),
  ...fact('qualities', `${model.qualities.join(', ')} (default ${imageDefaults.quality})`),
  ...fact('images', `${model.maxImages === 1 ? 1 : `1-${model.maxImages}`} a request`),
  ...(model.family === 'img' ? imgFacts(model) : []),
  ...fieldFacts(ImageGenerateBody, model),
  ...(model.family === 'legacy' ? [...fact('links live', lifeWords(IMAGE_LINK_LIFE_MS))] : []),
  ...ruleFacts(ImageGenerateBody),
];

/** What only img models take. */
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
