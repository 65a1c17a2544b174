import * as z from 'zod/mini';
import { addRules, base64Text, field, inOurWords } from '../body.ts';
import type { Endpoint } from '../endpoint.ts';
import { imageItems } from './fields.ts';
import { imageReply } from './reply.ts';

// `POST /v1/models/{model}:generateContent`. The document shows no body. gw sends the body of the public API of this
// style and checks only the parts that gw builds; every other field passes.

const name = z.string().check(z.minLength(1, 'is empty'));
const Part = z.looseObject({
  text: z.optional(z.string()),
  inlineData: z.optional(z.looseObject({ mimeType: name, data: base64Text() })),
  fileData: z.optional(z.looseObject({ fileUri: name })),
});

/** The body, as far as gw builds it and the sandbox reads it. */
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

const nativeFields = (object: typeof z.looseObject) =>
  object({
    contents: field(
      z.unknown(),
      'the prompt and its images',
      imageItems('image to edit or to go by: file, URL or data URI'),
    ),
  });

/** The body as it is sent: any object passes, because the document shows none. */
export const ImageOpenBody = addRules(nativeFields(z.looseObject), [
  {
    name: 'image.native-body-not-shown',
    verdict: 'warn',
    sentence:
      'Request bodies of the native image endpoint /v1/models/{model}:generateContent and of the Gemini-style image variant that returns an image URL: not shown.',
    *check(body) {
      const isPublicShape = body.contents !== undefined;
      const issue = isPublicShape
        ? ImageNativeBody.safeParse(body, { error: inOurWords }).error?.issues[0]
        : undefined;
      const { path = [], message = 'the body of this endpoint is not documented: it is sent as given' } =
        issue ?? {};
      yield { path, message };
    },
  },
]);

/** The key goes as a bearer token: the document uses `x-geo-api-key` only for Gemini-style chat endpoints. */
export const imageNative: Endpoint = {
  name: 'image.native',
  method: 'POST',
  path: '/v1/models/{model}:generateContent',
  resend: 'paid',
  body: ImageOpenBody,
  reply: imageReply,
};
