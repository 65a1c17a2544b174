import { type ImageModelFamily, imageModel, imageModels } from '../../gateway/image/models.ts';
import { Refusal } from '../reply.ts';

/** A model of the sandbox's own that no table of the document lists: it follows the common variant. */
export const SANDBOX_IMAGE_MODEL = 'sandbox-image-1';

/** A model of the sandbox's own whose native replies hold an address in place of Base64. */
export const SANDBOX_IMAGE_URL_MODEL = 'sandbox-image-url-1';

const own = [SANDBOX_IMAGE_MODEL, SANDBOX_IMAGE_URL_MODEL];

/** Every image model of the sandbox, and who it belongs to. */
export const sandboxImageModels: Readonly<Record<string, string>> = {
  ...Object.fromEntries(Object.entries(imageModels).map(([id, { family }]) => [id, family])),
  ...Object.fromEntries(own.map((id) => [id, 'sandbox'])),
};

/** Names of models that no table lists: the common variant has no closed list of them. */
const unlisted = /(^|-)image(-|$)/;
/** Names of the listed families: what begins so and is not in their tables is misspelled. */
const listed = /^(img|legacy-image|delta-image)-/;

/** Whose rules a model follows; throws Refusal (400) for one that is misspelled or no image model. */
export function familyOf(id: string): ImageModelFamily | 'common' {
  const model = imageModel(id);
  if (model) return model.family;
  if (unlisted.test(id) && !listed.test(id)) return 'common';
  const list = Object.keys(sandboxImageModels).join(', ');
  throw new Refusal(
    400,
    `Invalid parameter model: ${id} is not an image model; ${list} are.`,
    'ModelNotFound',
  );
}
