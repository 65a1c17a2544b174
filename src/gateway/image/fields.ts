import * as z from 'zod/mini';
import { field, requiredField, whole } from '../body.ts';
import { modelId, unstated, words } from '../checks.ts';
import {
  type ImageModel,
  imageBackgrounds,
  imageDefaults,
  imageFidelities,
  imageFormats,
  imageModels,
  imageModerations,
  imageResponseFormats,
  imageStyles,
  MAX_COMPRESSION,
  MAX_IMAGES_PER_REQUEST,
  MAX_PARTIAL_IMAGES,
  namedSizes,
} from './models.ts';

/** Declares the flag for the images that a field takes. */
export const imageItems = (help: string) =>
  ({ items: { image: { kind: 'image', modality: 'image', many: true, value: 'REF', help } } }) as const;

const PERCENT = `a whole number from 0 to ${MAX_COMPRESSION}`;

const ofImg =
  <T>(takes: T) =>
  (model: ImageModel) =>
    model.family === 'img' ? takes : undefined;

/** The fields that generation and editing share ("Image endpoints"); `models` are the endpoint's models. */
export const imageFields = (models: readonly string[] = Object.keys(imageModels)) => ({
  model: requiredField(modelId(), 'model ID', {
    short: 'm',
    value: 'MODEL',
    choices: models,
    completes: 'model:image',
  }),
  prompt: words(),
  size: field(
    z.string(),
    'WIDTHxHEIGHT, auto (img), or a preset such as 2K (delta); what a model takes: gw help image-sizes',
    { value: 'SIZE', offers: namedSizes },
  ),
  n: field(whole({ min: 1, max: MAX_IMAGES_PER_REQUEST }), `how many images, 1-${MAX_IMAGES_PER_REQUEST}`, {
    value: 'N',
    says: 'number 1-10 … legacy-image-3 supports only 1',
  }),
  background: field(z.enum(imageBackgrounds), 'background of the image (img)', {
    says: 'transparent, opaque, auto (default auto) … img models only; the 2.5 models and their dated snapshots support opaque and transparent',
  }),
  moderation: field(z.enum(imageModerations), 'how strictly content is moderated (img)', {
    takes: ofImg(imageModerations),
    row: 'moderation',
    fallback: imageDefaults.moderation,
    says: 'low, auto (default auto) … img models',
  }),
  output_format: field(z.enum(imageFormats), 'format of the image (img)', {
    flag: 'format',
    takes: ofImg(imageFormats),
    row: 'formats',
    says: 'png, jpeg, webp … img models',
  }),
  output_compression: field(
    // The document says "number 0-100", which takes a fraction too.
    z.number().check(z.gte(0, PERCENT), z.lte(MAX_COMPRESSION, PERCENT), unstated(Number.isInteger, PERCENT)),
    `quality of webp or jpeg in percent, 0-${MAX_COMPRESSION} (img)`,
    { flag: 'compression', value: 'N', says: 'number 0-100, default 100 … only for webp or jpeg' },
  ),
  style: field(z.enum(imageStyles), 'manner of the image (legacy-image-3)', {
    takes: (model: ImageModel) => (model.styles ? imageStyles : undefined),
    row: 'styles',
    says: 'vivid, natural … legacy-image-3 only',
  }),
  response_format: field(
    z.enum(imageResponseFormats),
    'how the image comes (not for img models, which always send Base64)',
    {
      takes: (model: ImageModel) => (model.family === 'legacy' ? imageResponseFormats : undefined),
      row: 'replies',
      says: 'url, b64_json … legacy models only; img models always return Base64 and must not be sent this parameter',
    },
  ),
  stream: field(z.boolean(), 'receive the image as an event stream (img)', {
    says: 'boolean, default false … img models only',
  }),
  partial_images: field(
    whole({ min: 0, max: MAX_PARTIAL_IMAGES }),
    `how many unfinished images a stream sends first, 0-${MAX_PARTIAL_IMAGES} (img); implies --stream`,
    { value: 'N', says: 'number 0-3 … streaming; 0 = only the final image in a single event' },
  ),
  input_fidelity: field(z.enum(imageFidelities), 'how closely to keep to the input images', {
    says: 'input_fidelity … high, low',
  }),
  user: field(z.string(), 'your own identifier of the end user', { value: 'ID' }),
});

/** The field `quality`, whose values differ by endpoint. */
export const qualityField = <const W extends readonly string[]>(qualities: W) =>
  field(z.enum(qualities), 'quality of the image', {
    value: 'QUALITY',
    says: `${qualities.join(', ')} (default auto)`,
  });
