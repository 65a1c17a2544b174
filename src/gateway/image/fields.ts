import * as z from 'zod';
import {
  imageBackgrounds,
  imageFidelities,
  imageFormats,
  imageModerations,
  imageResponseFormats,
  imageStyles,
  MAX_COMPRESSION,
  MAX_IMAGES_PER_REQUEST,
  MAX_PARTIAL_IMAGES,
} from './models.ts';

/** The fields that generation and editing share ("Image endpoints"); which model takes which is `image-rules.ts`. */
export const imageFields = () => ({
  model: z.string().min(1, 'is empty').describe('model ID'),
  prompt: z.string().refine((text) => text.trim() !== '', { error: 'the prompt is empty' }),
  size: z
    .string()
    .optional()
    .describe('WIDTHxHEIGHT, auto (img), or a preset such as 2K (delta); what a model takes stands below'),
  n: numberOf(1, MAX_IMAGES_PER_REQUEST).describe(`how many images, 1-${MAX_IMAGES_PER_REQUEST}`),
  background: z.enum(imageBackgrounds).optional().describe('background of the image (img)'),
  moderation: z.enum(imageModerations).optional().describe('how strictly content is moderated (img)'),
  output_format: z.enum(imageFormats).optional().describe('format of the image (img)'),
  output_compression: numberOf(0, MAX_COMPRESSION).describe(
    `quality of webp or jpeg in percent, 0-${MAX_COMPRESSION} (img)`,
  ),
  style: z.enum(imageStyles).optional().describe('manner of the image (legacy-image-3)'),
  response_format: z
    .enum(imageResponseFormats)
    .optional()
    .describe('how the image comes (not for img models, which always send Base64)'),
  stream: z.boolean().optional().describe('receive the image as an event stream (img)'),
  partial_images: numberOf(0, MAX_PARTIAL_IMAGES).describe(
    `how many unfinished images a stream sends first, 0-${MAX_PARTIAL_IMAGES} (img); implies --stream`,
  ),
  input_fidelity: z.enum(imageFidelities).optional().describe('how closely to keep to the input images'),
  user: z.string().optional().describe('your own identifier of the end user'),
});

function numberOf(min: number, max: number) {
  const rule = `a whole number from ${min} to ${max}`;
  return z.int(rule).min(min, rule).max(max, rule).optional();
}

export type ObjectMaker = typeof z.looseObject | typeof z.strictObject;
