import * as z from 'zod';
import { isBase64, isImageUrl } from '../address.ts';
import type { Endpoint } from '../endpoint.ts';
import { imageFields, type ObjectMaker } from './fields.ts';
import { imageModel, imageQualities } from './models.ts';
import { ImageReply } from './reply.ts';
import { type ImageSettings, imageBreaches } from './rules.ts';

// `POST /v1/images/generations` ("Image endpoints"): the img and legacy models, the delta models, and the common
// variant, which edits where `image` is present.

/** Shorter ones are more likely a word or a file name that was not read. */
const SHORTEST_BASE64 = 64;

/** The body, loose (fields of `--set` pass) or strict (the sandbox refuses what the document does not list). */
function generateBody(object: ObjectMaker) {
  return object({
    ...imageFields(),
    quality: z.enum(imageQualities).optional().describe('quality of the image'),
    image: z.union([z.string(), z.array(z.string()).min(1, 'names no image')]).optional(),
  }).superRefine((body, ctx) => {
    const isDelta = imageModel(body.model)?.family === 'delta';
    const images = body.image === undefined ? [] : [body.image].flat();
    for (const { path, message, known } of imageBreaches(body as ImageSettings, 'generate', images.length)) {
      ctx.addIssue({ code: 'custom', path: [...path], message, ...(known && { params: { known } }) });
    }
    if (typeof body.image === 'string' && !isDelta) {
      ctx.addIssue({
        code: 'custom',
        path: ['image'],
        message: 'a list of images; only a delta model takes a single one without a list',
      });
    }
    for (const [index, url] of images.entries()) {
      // "a single reference string URL/Base64": for a delta model plain Base64 is also one of the forms.
      if (isImageUrl(url) || (isDelta && url.length >= SHORTEST_BASE64 && isBase64(url))) continue;
      const path = typeof body.image === 'string' ? ['image'] : ['image', index];
      ctx.addIssue({ code: 'custom', path, message: 'not a URL or a Base64 data URL of an image' });
    }
  });
}

/** The body of `POST /v1/images/generations`, with every documented rule. */
export const ImageGenerateBody = generateBody(z.looseObject);
export type ImageGenerateBody = z.infer<ReturnType<typeof generateBody>>;

/** As {@link ImageGenerateBody}, refusing fields that the document does not list. */
export const ImageGenerateStrictBody = generateBody(z.strictObject);

export const imageGenerate: Endpoint = {
  name: 'image.generate',
  method: 'POST',
  path: '/v1/images/generations',
  credential: 'bearer',
  resend: 'paid',
  body: ImageGenerateBody,
  reply: ImageReply,
};
