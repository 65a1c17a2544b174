import * as z from 'zod';
import { isImageUrl } from '../address.ts';
import type { Endpoint } from '../endpoint.ts';
import { imageFields, type ObjectMaker } from './fields.ts';
import { imageEditQualities } from './models.ts';
import { ImageReply } from './reply.ts';
import { type ImageSettings, imageBreaches } from './rules.ts';

// `POST /v1/images/edits` ("Image endpoints"), as JSON. The same request as form data is `image-edit-form.ts`.

/** The body, loose (fields of `--set` pass) or strict (the sandbox refuses what the document does not list). */
function editBody(object: ObjectMaker) {
  const source = object({
    file_id: z.string().min(1, 'is empty').optional(),
    image_url: z
      .string()
      .refine(isImageUrl, { error: 'not a URL or a Base64 data URL of an image' })
      .optional(),
  });
  return object({
    ...imageFields(),
    images: z.array(source).min(1, 'at least one image to edit is needed'),
    mask: source.optional(),
    quality: z.enum(imageEditQualities).optional().describe('quality of the image'),
  }).superRefine((body, ctx) => {
    const sources = [...body.images.entries()].map(([index, item]) => ({ path: ['images', index], item }));
    if (body.mask) sources.push({ path: ['mask'], item: body.mask });
    for (const { path, item } of sources) {
      if ((item.file_id === undefined) !== (item.image_url === undefined)) continue;
      ctx.addIssue({ code: 'custom', path, message: 'holds exactly one of file_id and image_url' });
    }
    for (const { path, message, known } of imageBreaches(body as ImageSettings, 'edit', body.images.length)) {
      ctx.addIssue({ code: 'custom', path: [...path], message, ...(known && { params: { known } }) });
    }
  });
}

/** The body of `POST /v1/images/edits`, with every documented rule. */
export const ImageEditBody = editBody(z.looseObject);
export type ImageEditBody = z.infer<ReturnType<typeof editBody>>;

/** As {@link ImageEditBody}, refusing fields that the document does not list. */
export const ImageEditStrictBody = editBody(z.strictObject);

export const imageEdit: Endpoint = {
  name: 'image.edit',
  method: 'POST',
  path: '/v1/images/edits',
  credential: 'bearer',
  resend: 'paid',
  body: ImageEditBody,
  reply: ImageReply,
};
