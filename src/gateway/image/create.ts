import * as z from 'zod/mini';
import { field, fieldsOf, isImageUrl, type ObjectMaker, requiredField, withRules } from '../body.ts';
import { filled, filledText } from '../checks.ts';
import type { Endpoint } from '../endpoint.ts';
import { imageFields, imageItems, qualityField } from './fields.ts';
import { imageEditQualities, imageModelsWhere, imageQualities } from './models.ts';
import { imageReply } from './reply.ts';
import { editRules, generateRules } from './rules.ts';

// `POST /v1/images/generations` ("Image endpoints"): the img and legacy models, the delta models, and the common
// variant, which edits where `image` is present.

const generateFields = (object: ObjectMaker) =>
  object({
    ...imageFields(),
    quality: qualityField(imageQualities),
    image: field(
      z.union([z.string(), z.array(z.string()).check(filled('names no image'))]),
      'images to edit or to go by',
      imageItems('image to edit, or reference image (delta): file, URL or data URI'),
    ),
  });

export const ImageGenerateBody = withRules(generateFields, generateRules);
export type ImageGenerateBody = z.infer<ReturnType<typeof generateFields>>;

export const imageGenerate: Endpoint = {
  name: 'image.generate',
  method: 'POST',
  path: '/v1/images/generations',
  resend: 'paid',
  body: ImageGenerateBody,
  reply: imageReply,
};

// `POST /v1/images/edits` ("Image endpoints"), as JSON. The same request as form data follows below.

const source = (object: ObjectMaker) =>
  object({
    file_id: z.optional(filledText()),
    image_url: z.optional(
      z.string().check(z.refine(isImageUrl, { error: 'not a URL or a Base64 data URL of an image' })),
    ),
  });

const maskHelp = 'mask of the edit: file, URL, data URI or file_id:ID';

const editFields = (object: ObjectMaker) =>
  object({
    ...imageFields(imageModelsWhere((model) => model.edits)),
    quality: qualityField(imageEditQualities),
    images: requiredField(
      z.array(source(object)).check(filled('at least one image to edit is needed')),
      'images to edit',
      imageItems('image to edit, 1-16: file, URL, data URI or file_id:ID'),
    ),
    mask: field(source(object), 'mask of the edit', {
      items: { mask: { kind: 'mask', modality: 'image', value: 'REF', help: maskHelp } },
    }),
  });

/** The body of `POST /v1/images/edits`. */
export const ImageEditBody = withRules(editFields, editRules);
export type ImageEditBody = z.infer<ReturnType<typeof editFields>>;

export const imageEdit: Endpoint = {
  name: 'image.edit',
  method: 'POST',
  path: '/v1/images/edits',
  resend: 'paid',
  body: ImageEditBody,
  reply: imageReply,
};

// `POST /v1/images/edits` as multipart form data: images and mask are files, all other fields are text.

/** The field name of each uploaded image; the document names no other. */
export const EDIT_IMAGE_FIELD = 'image[]';
export const EDIT_MASK_FIELD = 'mask';

const namesOf = (type: string) =>
  new Set(fieldsOf(ImageEditBody).flatMap(({ schema, path }) => (schema.type === type ? path : [])));
const numbers = namesOf('number');
const switches = namesOf('boolean');

/** The text fields of a form in the body's order, without the files. Objects and lists are written as JSON. */
export function editFormTexts(body: Readonly<Record<string, unknown>>): [name: string, value: string][] {
  return Object.entries(body)
    .filter(([name, value]) => name !== 'images' && name !== 'mask' && value !== undefined)
    .map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]);
}

/**
 * The body that a form's text fields represent. Numbers and booleans are parsed if they are valid; an invalid one stays
 * text, so that the schema refuses it. The caller adds images and mask.
 */
export const bodyOfEditForm = (
  texts: Iterable<readonly [name: string, value: string]>,
): Record<string, unknown> =>
  Object.fromEntries([...texts].map(([name, text]) => [name, typedValue(name, text)]));

function typedValue(name: string, text: string): unknown {
  if (numbers.has(name) && /^\d{1,9}$/.test(text)) return Number(text);
  if (switches.has(name) && (text === 'true' || text === 'false')) return text === 'true';
  return text;
}
