import * as z from 'zod';
import { isBase64 } from '../address.ts';
import type { Endpoint } from '../endpoint.ts';
import { ImageReply } from './reply.ts';

// `POST /v1/models/{model}:generateContent`. The document shows no body: gw makes that of the public API of this style
// and looks only at the parts it makes; every other field passes.

const Part = z.looseObject({
  text: z.string().optional(),
  inlineData: z
    .looseObject({
      mimeType: z.string().min(1, 'is empty'),
      data: z.string().refine(isBase64, { error: 'not Base64' }),
    })
    .optional(),
  fileData: z.looseObject({ fileUri: z.string().min(1, 'is empty') }).optional(),
});

/** The body, as far as gw makes it. */
export const ImageNativeBody = z.looseObject({
  contents: z
    .array(
      z.looseObject({
        role: z.string().optional(),
        parts: z.array(Part).min(1, 'a content needs at least one part'),
      }),
    )
    .min(1, 'a prompt or an image is needed'),
});
export type ImageNativeBody = z.infer<typeof ImageNativeBody>;

/** The document keeps `x-geo-api-key` for the Gemini-style endpoints and lists this one among the image endpoints. */
export const imageNative: Endpoint = {
  name: 'image.native',
  method: 'POST',
  path: '/v1/models/{model}:generateContent',
  credential: 'bearer',
  resend: 'paid',
  body: ImageNativeBody,
  reply: ImageReply,
};
