import * as z from 'zod';
import { isImageUrl } from '../address.ts';
import { field, type ObjectMaker, requiredField, withRules } from '../body.ts';
import type { Endpoint } from '../endpoint.ts';
import { imageFields, qualityField } from './fields.ts';
import { imageEditQualities, imageModelsWhere } from './models.ts';
import { ImageReply } from './reply.ts';
import { editRules } from './rules.ts';

// `POST /v1/images/edits` ("Image endpoints"), as JSON. The same request as form data is `edit-form.ts`.

const source = (object: ObjectMaker) =>
  object({
    file_id: z.string().min(1, 'is empty').optional(),
    image_url: z
      .string()
      .refine(isImageUrl, { error: 'not a URL or a Base64 data URL of an image' })
      .optional(),
  });

const editFields = (object: ObjectMaker) =>
  object({
    ...imageFields(imageModelsWhere((model) => model.edits)),
    quality: qualityField(imageEditQualities),
    images: requiredField(
      z.array(source(object)).min(1, 'at least one image to edit is needed'),
      'images to edit',
      {
        items: {
          image: {
            kind: 'image',
            modality: 'image',
            many: true,
            value: 'REF',
            help: 'image to edit, 1-16: file, URL, data URI or file_id:ID',
          },
        },
      },
    ),
    mask: field(source(object), 'mask of the edit', {
      items: {
        mask: {
          kind: 'mask',
          modality: 'image',
          value: 'REF',
          help: 'mask of the edit: file, URL, data URI or file_id:ID',
        },
      },
    }),
  });

/** The body of `POST /v1/images/edits`; the strict one refuses fields that the document does not list. */
export const [ImageEditBody, ImageEditStrictBody] = withRules(editFields, editRules);
export type ImageEditBody = z.infer<ReturnType<typeof editFields>>;

export const imageEdit: Endpoint = {
  name: 'image.edit',
  method: 'POST',
  path: '/v1/images/edits',
  credential: 'bearer',
  resend: 'paid',
  body: ImageEditBody,
  reply: ImageReply,
};
