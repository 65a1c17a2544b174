import { fieldsOf } from '../body.ts';
import { ImageEditBody } from './edit.ts';

// `POST /v1/images/edits` as multipart form data: images and mask are files, everything else is text.

/** The field that each uploaded image goes by; the document names only this one. */
export const EDIT_IMAGE_FIELD = 'image[]';
export const EDIT_MASK_FIELD = 'mask';

const namesOf = (type: string) =>
  new Set(fieldsOf(ImageEditBody).flatMap(({ schema, path }) => (schema.type === type ? path : [])));
const numbers = namesOf('number');
const switches = namesOf('boolean');

/** The text fields of a form, in the body's order: everything but the files. Objects and lists are written as JSON. */
export function editFormTexts(body: Readonly<Record<string, unknown>>): [name: string, value: string][] {
  return Object.entries(body)
    .filter(([name, value]) => name !== 'images' && name !== 'mask' && value !== undefined)
    .map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]);
}

/**
 * The body that the text fields of a form stand for: numbers and switches read where they are ones, anything else left
 * as text for the schema to refuse. Images and mask are the caller's.
 */
export function bodyOfEditForm(
  texts: Iterable<readonly [name: string, value: string]>,
): Record<string, unknown> {
  const body: Record<string, unknown> = {};
  for (const [name, text] of texts) body[name] = typedValue(name, text);
  return body;
}

function typedValue(name: string, text: string): unknown {
  if (numbers.has(name) && /^\d{1,9}$/.test(text)) return Number(text);
  if (switches.has(name) && (text === 'true' || text === 'false')) return text === 'true';
  return text;
}
