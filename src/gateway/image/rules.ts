import { isBareImage, isImageUrl, type Note, type Rule } from '../body.ts';
import { codePoints } from '../limits.ts';
import type { ImageEditBody, ImageGenerateBody } from './create.ts';
import {
  commonQualities,
  EXPERIMENTAL_ABOVE_PIXELS,
  type ImageModel,
  imageModel,
  imageModels,
  imageModelsWhere,
  MAX_EDIT_PROMPT_CHARACTERS,
  MAX_INPUT_IMAGES,
  sizeSentence,
} from './models.ts';
import { nearestSize, parseImageSize, sizeInWords, takesSize } from './size.ts';

// The rules of image requests between fields and per model ("Image endpoints", "Limits").

/** The fields that both endpoints share. */
type ImageSettings = Omit<ImageGenerateBody, 'image' | 'quality'> & { readonly quality?: string | undefined };

type Action = 'generate' | 'edit';

const qualitiesOf = (model: ImageModel, action: Action): readonly string[] =>
  (action === 'edit' ? model.editQualities : undefined) ?? model.qualities;

const isImg = (model: ImageModel | undefined) => model === undefined || model.family === 'img';

/**
 * Fields that only some models take. A model that no table lists takes those of the common variant; the delta models
 * take `response_format` of the common variant, but no field that is only for img models.
 */
const owners: Readonly<Record<string, [has: (model: ImageModel | undefined) => boolean, rule: string]>> = {
  background: [isImg, 'only img models take a background'],
  moderation: [isImg, 'only img models take a moderation level'],
  output_format: [isImg, 'only img models let the format be chosen'],
  output_compression: [isImg, 'only img models take a compression'],
  partial_images: [isImg, 'only img models stream partial images'],
  stream: [isImg, 'only img models stream'],
  response_format: [
    (model) => model?.family !== 'img',
    'img models always return Base64 and must not be sent this parameter',
  ],
  style: [(model) => model?.styles === true, 'only legacy-image-3 takes a style'],
};

const promptLength = (action: Action): Rule<ImageSettings> => ({
  name: `image.prompt-length-of-${action}`,
  verdict: 'refuse',
  sentence:
    action === 'edit'
      ? 'required, 1-32,000 characters'
      : 'max 32,000 characters for img models; 1,000 for legacy-image-2; 4,000 for legacy-image-3',
  *check({ model: id, prompt }) {
    if (action === 'edit' && prompt === '') yield { path: ['prompt'], message: 'the prompt is empty' };
    const max = action === 'edit' ? MAX_EDIT_PROMPT_CHARACTERS : imageModel(id)?.maxPromptCharacters;
    const length = codePoints(prompt);
    if (max === undefined || length <= max) return;
    const who = action === 'edit' ? 'an edit' : id;
    const message = `${who} takes a prompt of up to ${max} characters; this one has ${length}`;
    yield { path: ['prompt'], message };
  },
});

const qualityByModel = (action: Action): Rule<ImageSettings> => ({
  name: `image.quality-by-model-of-${action}`,
  verdict: 'refuse',
  sentence:
    action === 'edit'
      ? 'all img models support low/medium/high; xhigh and max only for the 2.5 models and snapshots'
      : 'img models: low/medium/high; xhigh, max only for the 2.5 models and snapshots; hd and standard for legacy-image-3; standard only for legacy-image-2',
  *check({ model: id, quality }) {
    const model = imageModel(id);
    if (!model || quality === undefined || qualitiesOf(model, action).includes(quality)) return;
    const others = imageModelsWhere(
      (each) => qualitiesOf(each, action).includes(quality) && (action === 'generate' || each.edits),
    ).filter((id) => !/(-\d\d){2}$|^delta-/.test(id));
    const elsewhere = others.length > 0 ? `; ${quality} is for ${others.join(', ')}` : '';
    yield { path: ['quality'], message: `${id} takes ${qualitiesOf(model, action).join(', ')}${elsewhere}` };
  },
});

const fieldsAndSize: readonly Rule<ImageSettings>[] = [
  {
    name: 'image.fields-by-model',
    verdict: 'refuse',
    *check(body) {
      const model = imageModel(body.model);
      for (const [field, [has, rule]] of Object.entries(owners)) {
        const value = body[field as keyof ImageSettings];
        // `stream: false` is fine for every model: none streams by default.
        if (value === undefined || has(model) || (field === 'stream' && value === false)) continue;
        yield { path: [field], message: rule };
      }
    },
  },
  {
    name: 'image.size-by-model',
    verdict: 'refuse',
    sentence: "within the model's pixel and edge limits … Accepted presets",
    *check({ model: id, size }) {
      const model = imageModel(id);
      if (model && size !== undefined && !takesSize(model.size, size)) yield sizeNote(id, model, size);
    },
  },
];

const formatAndRemarks: readonly Rule<ImageSettings>[] = [
  {
    name: 'image.transparent-needs-png-or-webp',
    verdict: 'refuse',
    sentence: 'transparent needs output_format png or webp',
    *check({ background, output_format: format }) {
      if (background !== 'transparent' || format !== 'jpeg') return;
      yield { path: ['background'], message: 'transparent needs the format png or webp' };
    },
  },
  {
    name: 'image.compression-of-webp-and-jpeg',
    verdict: 'refuse',
    sentence: 'img models, only for webp or jpeg',
    *check({ model, output_compression: compression, output_format: format }) {
      if (compression === undefined || format === 'webp' || format === 'jpeg' || !imageModel(model)) return;
      const message = 'a compression is only for webp and jpeg: name one of them as output_format (--format)';
      yield { path: ['output_compression'], message };
    },
  },
  {
    name: 'image.partial-images-in-a-stream',
    verdict: 'refuse',
    sentence: 'streaming; 0 = only the final image in a single event',
    *check({ partial_images: partial, stream }) {
      const message = 'partial images come only in a stream';
      if (partial !== undefined && stream !== true) yield { path: ['partial_images'], message };
    },
  },
  {
    name: 'image.model-is-listed',
    verdict: 'warn',
    remark: 'the common variant names no closed list of models',
    *check({ model: id }) {
      if (imageModel(id)) return;
      // A known model that begins the typed ID is not suggested: the longer ID is its own model, not a typo.
      const known = Object.keys(imageModels).filter((each) => !id.startsWith(each));
      yield {
        path: ['model'],
        message: 'not an image model that the document lists, so the rules of no model are checked',
        known,
      };
    },
  },
  {
    name: 'image.transparent-in-preview',
    verdict: 'warn',
    sentence: 'support on img-2 and its dated snapshot is in preview',
    *check({ model: id, background }) {
      if (background !== 'transparent' || imageModel(id)?.background !== 'preview') return;
      yield { path: ['background'], message: `transparent is in preview on ${id}` };
    },
  },
  {
    name: 'image.experimental-size',
    verdict: 'warn',
    sentence: 'above 2560x1440 is experimental',
    *check({ model: id, size }) {
      const asked = imageModel(id)?.family === 'img' && size !== undefined && parseImageSize(size);
      if (asked && asked.widthPx * asked.heightPx > EXPERIMENTAL_ABOVE_PIXELS)
        yield { path: ['size'], message: 'above 2560x1440 is experimental' };
    },
  },
];

const sharedRules = (action: Action): readonly Rule<ImageSettings>[] => [
  promptLength(action),
  ...fieldsAndSize,
  qualityByModel(action),
  ...formatAndRemarks,
];

/** Names the sizes that the model takes, and a related model with this size or else the nearest allowed size. */
function sizeNote(id: string, model: ImageModel, size: string): Note {
  const [other] = imageModelsWhere((each) => each.family === model.family && takesSize(each.size, size));
  const nearest = nearestSize(model.size, size);
  const instead = other ? `; ${size} is for ${other}` : nearest && `; the nearest is ${nearest}`;
  const message = `${id} takes ${sizeInWords(model.size)}${instead ?? ''}`;
  return { path: ['size'], message, sentence: sizeSentence(id) };
}

/** The maximum number of input images, for models whose maximum the document states. */
const inputImages = <B extends ImageSettings>(
  action: Action,
  sentence: string,
  countOf: (body: B) => number,
): Rule<B> => ({
  name: `image.input-images-of-${action}`,
  verdict: 'refuse',
  sentence,
  *check(body) {
    const given = countOf(body);
    if (given <= MAX_INPUT_IMAGES || (action === 'generate' && imageModel(body.model)?.family !== 'img'))
      return;
    const path = [action === 'edit' ? 'images' : 'image'];
    yield { path, message: `up to ${MAX_INPUT_IMAGES} input images, ${given} given` };
  },
});

const imagesOf = ({ image }: ImageGenerateBody): readonly string[] =>
  image === undefined ? [] : [image].flat();
const isDelta = ({ model }: ImageSettings) => imageModel(model)?.family === 'delta';

export const generateRules: readonly Rule<ImageGenerateBody>[] = [
  {
    name: 'image.fields-of-delta-models',
    verdict: 'warn',
    sentence: 'with model (for example delta-image-5-0-lite-260128), prompt, size, and image',
    *check(body) {
      if (!isDelta(body)) return;
      for (const field of ['n', 'quality', 'response_format', 'input_fidelity', 'user'] as const) {
        if (body[field] === undefined) continue;
        yield { path: [field], message: 'the document lists model, prompt, size and image for delta models' };
      }
    },
  },
  {
    name: 'image.fidelity-without-images',
    verdict: 'warn',
    sentence: 'if the array image (items are image URLs or Base64 data URLs) is present the request edits',
    *check(body) {
      if (body.input_fidelity === undefined || isDelta(body) || imagesOf(body).length > 0) return;
      yield { path: ['input_fidelity'], message: 'there is no input image (--image) to keep to' };
    },
  },
  inputImages<ImageGenerateBody>('generate', 'up to 16 for img models', (body) => imagesOf(body).length),
  {
    name: 'image.input-images-of-other-models',
    verdict: 'warn',
    sentence:
      'Reference-image counts and sequential-generation capabilities per delta image model: not shown.',
    *check(body) {
      const given = imagesOf(body).length;
      if (given <= MAX_INPUT_IMAGES || imageModel(body.model)?.family === 'img') return;
      yield { path: ['image'], message: `${given} input images; img models take up to ${MAX_INPUT_IMAGES}` };
    },
  },
  ...sharedRules('generate'),
  {
    name: 'image.one-image-a-request',
    verdict: 'refuse',
    sentence: 'legacy-image-3 supports only 1',
    *check({ model: id, n }) {
      const most = imageModel(id)?.maxImages;
      if (n === undefined || most === undefined || n <= most) return;
      yield { path: ['n'], message: `${id} makes ${most} image${most === 1 ? '' : 's'} a request` };
    },
  },
  {
    name: 'image.quality-of-the-common-variant',
    verdict: 'refuse',
    sentence: 'quality (low, medium, high, auto)',
    *check({ model, quality }) {
      const qualities: readonly string[] = commonQualities;
      if (imageModel(model) || quality === undefined || qualities.includes(quality)) return;
      const message = `a model that the document does not list takes ${qualities.join(', ')}`;
      yield { path: ['quality'], message };
    },
  },
  {
    name: 'image.references-in-a-list',
    verdict: 'refuse',
    sentence: 'if the array image (items are image URLs or Base64 data URLs) is present the request edits',
    *check(body) {
      if (typeof body.image !== 'string' || isDelta(body)) return;
      yield { path: ['image'], message: 'a list of images; only a delta model takes a single one' };
    },
  },
  {
    name: 'image.form-of-a-reference',
    verdict: 'refuse',
    sentence:
      'items are image URLs or Base64 data URLs … a single reference string URL/Base64, or an array of strings',
    *check(body) {
      for (const [index, url] of imagesOf(body).entries()) {
        // "a single reference string URL/Base64": a delta model also takes plain Base64.
        if (isImageUrl(url) || (isDelta(body) && isBareImage(url))) continue;
        const path = typeof body.image === 'string' ? ['image'] : ['image', index];
        yield { path, message: 'not a URL or a Base64 data URL of an image' };
      }
    },
  },
];

/** An unlisted ID that begins with `img-` may be a newer model, so it is allowed. */
const takesEdits = (id: string): boolean => imageModel(id)?.edits ?? id.startsWith('img-');

export const editRules: readonly Rule<ImageEditBody>[] = [
  {
    name: 'image.models-of-edits',
    verdict: 'refuse',
    sentence: 'supports img models and legacy-image-2',
    *check({ model: id }) {
      if (takesEdits(id)) return;
      const taken = 'the edits endpoint takes the img models and legacy-image-2';
      const isDelta = imageModel(id)?.family === 'delta';
      const message = isDelta ? `${taken}; delta models: generations (gw image create --image)` : taken;
      yield { path: ['model'], message, known: imageModelsWhere((each) => each.edits) };
    },
  },
  inputImages<ImageEditBody>('edit', 'up to 16 input images for edits', ({ images }) => images.length),
  ...sharedRules('edit').map(
    (rule): Rule<ImageEditBody> => ({
      ...rule,
      // If the model cannot edit at all, another rule reports it, so this one stays silent.
      check: (body, fields) => (takesEdits(body.model) ? rule.check(body, fields) : []),
    }),
  ),
  {
    name: 'image.reply-format-of-edits',
    verdict: 'warn',
    sentence: 'partial_images (0-3), size, stream, user … as in generation',
    *check(body) {
      const message = 'the document lists it for generation, not for edits';
      if (body.response_format !== undefined) yield { path: ['response_format'], message };
    },
  },
  {
    name: 'image.one-source',
    verdict: 'refuse',
    sentence: 'object with exactly one of image_url or file_id … each has optional file_id or image_url',
    *check({ images, mask }) {
      const sources = images.map((item, index) => ({ path: ['images', index] as PropertyKey[], item }));
      if (mask) sources.push({ path: ['mask'], item: mask });
      for (const { path, item } of sources) {
        if ((item.file_id === undefined) !== (item.image_url === undefined)) continue;
        yield { path, message: 'holds exactly one of file_id and image_url' };
      }
    },
  },
];

/** Fills in implied fields: partial images need a stream, and a transparent background gets the format png. */
export function fillImageBody(body: Record<string, unknown>): Record<string, unknown> {
  const isTaken = isImg(imageModel(String(body.model)));
  const stream = isTaken && body.partial_images !== undefined ? { stream: true } : {};
  const format = isTaken && body.background === 'transparent' ? { output_format: 'png' } : {};
  return { ...stream, ...format, ...body };
}
