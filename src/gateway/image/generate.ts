import * as z from 'zod';
import { field, type ObjectMaker, withRules } from '../body.ts';
import type { Endpoint } from '../endpoint.ts';
import { imageFields, qualityField } from './fields.ts';
import { imageQualities } from './models.ts';
import { ImageReply } from './reply.ts';
import { generateRules } from './rules.ts';

// `POST /v1/images/generations` ("Image endpoints"): the img and legacy models, the delta models, and the common
// variant, which edits where `image` is present.

const generateFields = (object: ObjectMaker) =>
  object({
    ...imageFields(),
    quality: qualityField(imageQualities),
    image: field(
      z.union([z.string(), z.array(z.string()).min(1, 'names no image')]),
      'images to edit or to go by',
      {
        items: {
          image: {
            kind: 'image',
            modality: 'image',
            many: true,
            value: 'REF',
            help: 'image to edit, or reference image (delta): file, URL or data URI',
          },
        },
      },
    ),
  });

/** The body of `POST /v1/images/generations`; the strict one refuses fields that the document does not list. */
export const [ImageGenerateBody, ImageGenerateStrictBody] = withRules(generateFields, generateRules);
export type ImageGenerateBody = z.infer<ReturnType<typeof generateFields>>;

export const imageGenerate: Endpoint = {
  name: 'image.generate',
  method: 'POST',
  path: '/v1/images/generations',
  credential: 'bearer',
  resend: 'paid',
  body: ImageGenerateBody,
  reply: ImageReply,
};
