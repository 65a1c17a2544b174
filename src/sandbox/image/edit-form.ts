import { ImageEditBody, ImageEditStrictBody } from '../../gateway/image/edit.ts';
import { bodyOfEditForm, EDIT_IMAGE_FIELD, EDIT_MASK_FIELD } from '../../gateway/image/edit-form.ts';
import type { FormBody, FormFile } from '../form-body.ts';
import { checkBody, refuseField } from '../request-body.ts';
import type { Call } from '../route.ts';
import type { World } from '../world.ts';
import { type InputImage, seeBytes } from './inputs.ts';

/** Stands in the body where the form has a file, so that the schema sees how many there are. */
const uploaded = { file_id: 'file-uploaded' };

export interface ReadForm {
  readonly request: ImageEditBody;
  readonly images: readonly InputImage[];
  readonly hasMask: boolean;
}

/** Reads an edit that came as form data; throws Refusal (400) that names the field which breaks a rule. */
export async function readEditForm(
  { fields, files }: FormBody,
  { passOver }: Pick<Call, 'passOver'>,
  world: World,
): Promise<ReadForm> {
  const texts: [string, string][] = [];
  for (const [name, values] of fields) {
    if (name === EDIT_IMAGE_FIELD || name === EDIT_MASK_FIELD) throw refuseField([name], 'not a file');
    const [value, ...others] = values;
    if (others.length > 0) throw refuseField([name], `given ${values.length} times`);
    texts.push([name, value ?? '']);
  }
  for (const { field } of files) {
    if (field === EDIT_IMAGE_FIELD || field === EDIT_MASK_FIELD) continue;
    throw refuseField(
      [field],
      `no file is taken here; images go into ${EDIT_IMAGE_FIELD}, a mask into ${EDIT_MASK_FIELD}`,
    );
  }
  const images = files.filter(({ field }) => field === EDIT_IMAGE_FIELD);
  const [mask, ...moreMasks] = files.filter(({ field }) => field === EDIT_MASK_FIELD);
  if (images.length === 0) throw refuseField([EDIT_IMAGE_FIELD], 'at least one image to edit is needed');
  if (moreMasks.length > 0) throw refuseField([EDIT_MASK_FIELD], 'one mask at most');
  const request = {
    ...bodyOfEditForm(texts),
    images: images.map(() => uploaded),
    ...(mask && { mask: uploaded }),
  };
  passOver(checkBody({ strict: ImageEditStrictBody, loose: ImageEditBody }, request, world));
  if (mask) await seeBytes(mask.bytes, [EDIT_MASK_FIELD]);
  return {
    request: request as unknown as ImageEditBody,
    images: await seeAll(images),
    hasMask: mask !== undefined,
  };
}

async function seeAll(files: readonly FormFile[]): Promise<InputImage[]> {
  const seen: InputImage[] = [];
  for (const [nth, { bytes }] of files.entries()) seen.push(await seeBytes(bytes, [EDIT_IMAGE_FIELD, nth]));
  return seen;
}
