import * as z from 'zod/mini';
import { inOurWords, isBase64, type ObjectMaker, requiredField, withRules } from '../body.ts';
import type { Endpoint } from '../endpoint.ts';
import { imageItems } from './fields.ts';
import { ImageReply } from './reply.ts';

// `POST /v1/models/{model}:generateContent`. The document shows no body: gw makes that of the public API of this style
// and looks only at the parts it makes; every other field passes.

const Part = z.looseObject({
  text: z.optional(z.string()),
  inlineData: z.optional(
    z.looseObject({
      mimeType: z.string().check(z.minLength(1, 'is empty')),
      data: z.string().check(z.refine(isBase64, { error: 'not Base64' })),
    }),
  ),
  fileData: z.optional(z.looseObject({ fileUri: z.string().check(z.minLength(1, 'is empty')) })),
});

/** The body, as far as gw makes it and the sandbox reads it. */
export const ImageNativeBody = z.looseObject({
  contents: z
    .array(
      z.looseObject({
        role: z.optional(z.string()),
        parts: z.array(Part).check(z.minLength(1, 'a content needs at least one part')),
      }),
    )
    .check(z.minLength(1, 'a prompt or an image is needed')),
});
export type ImageNativeBody = z.infer<typeof ImageNativeBody>;

const nativeFields = (object: ObjectMaker) =>
  object({
    contents: requiredField(
      z.unknown(),
      'the prompt and its images',
      imageItems('image to edit or to go by: file, URL or data URI'),
    ),
  });

/** The body as it is sent: any object, as the document shows none. */
export const [ImageOpenBody] = withRules(nativeFields, [
  {
    name: 'image.native-body-not-shown',
    verdict: 'warn',
    sentence: 'request bodies of the native image endpoint: not shown',
    *check(body) {
      const issue = ImageNativeBody.safeParse(body, { error: inOurWords }).error?.issues[0];
      const { path = [], message = 'the body of this endpoint is not documented: it is sent as given' } =
        issue ?? {};
      yield { path, message };
    },
  },
]);

/** The document keeps `x-geo-api-key` for the Gemini-style endpoints and lists this one among the image endpoints. */
export const imageNative: Endpoint = {
  name: 'image.native',
  method: 'POST',
  path: '/v1/models/{model}:generateContent',
  credential: 'bearer',
  resend: 'paid',
  body: ImageOpenBody,
  reply: ImageReply,
};
