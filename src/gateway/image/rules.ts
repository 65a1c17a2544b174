import type { Note } from '../body.ts';
import { codePoints } from '../code-points.ts';
import {
  commonQualities,
  EXPERIMENTAL_ABOVE_PIXELS,
  type ImageModel,
  imageFormats,
  imageModel,
  imageModels,
  imageModelsWhere,
  MAX_EDIT_PROMPT_CHARACTERS,
  MAX_INPUT_IMAGES,
} from './models.ts';
import { nearestSize, parseImageSize, sizeInWords, takesSize } from './size.ts';

// The rules of image requests between fields and per model ("Image endpoints", "Limits").

/** What the rules look at; both endpoints have it. */
export interface ImageSettings {
  readonly model: string;
  readonly prompt: string;
  readonly n?: number | undefined;
  readonly size?: string | undefined;
  readonly quality?: string | undefined;
  readonly background?: string | undefined;
  readonly moderation?: string | undefined;
  readonly output_format?: string | undefined;
  readonly output_compression?: number | undefined;
  readonly stream?: boolean | undefined;
  readonly partial_images?: number | undefined;
  readonly response_format?: string | undefined;
  readonly style?: string | undefined;
}

export type ImageAction = 'generate' | 'edit';

/** The rules that a request breaks: each breach names the field, the rule and what to do. */
export function* imageBreaches(
  body: ImageSettings,
  action: ImageAction,
  inputImages: number,
): Generator<Note> {
  const model = imageModel(body.model);
  if (action === 'edit' && model && !model.edits) {
    yield { path: ['model'], message: editsNot(model), known: imageModelsWhere((each) => each.edits) };
    return;
  }
  yield* promptBreaches(body, action, model);
  if (model?.family !== 'delta' && inputImages > MAX_INPUT_IMAGES) {
    yield {
      path: [action === 'edit' ? 'images' : 'image'],
      message: `up to ${MAX_INPUT_IMAGES} input images, ${inputImages} given`,
    };
  }
  yield* ownerBreaches(body, model);
  if (model) yield* modelBreaches(body, model);
  else yield* commonBreaches(body, action);
  yield* formatBreaches(body);
}

function editsNot({ family }: ImageModel): string {
  const taken = 'the edits endpoint takes the img models and legacy-image-2';
  return family === 'delta' ? `${taken}; a delta model takes references with gw image create --image` : taken;
}

function* promptBreaches(
  { model: id, prompt }: ImageSettings,
  action: ImageAction,
  model: ImageModel | undefined,
): Generator<Note> {
  const max = action === 'edit' ? MAX_EDIT_PROMPT_CHARACTERS : model?.maxPromptCharacters;
  if (max === undefined || prompt.length <= max) return;
  const length = codePoints(prompt);
  if (length <= max) return;
  yield {
    path: ['prompt'],
    message: `${action === 'edit' ? 'an edit' : id} takes a prompt of up to ${max} characters; this one has ${length}`,
  };
}

const isImg = (model: ImageModel | undefined) => model === undefined || model.family === 'img';

/**
 * Fields that only some models have. A model that no table lists has those of the common variant; the delta models
 * have `response_format` of the common variant, and none of those that the document keeps for img models.
 */
const owners: Readonly<
  Partial<Record<keyof ImageSettings, { has(model: ImageModel | undefined): boolean; rule: string }>>
> = {
  background: { has: isImg, rule: 'only img models take a background' },
  moderation: { has: isImg, rule: 'only img models take a moderation level' },
  output_format: { has: isImg, rule: 'only img models let the format be chosen' },
  output_compression: { has: isImg, rule: 'only img models take a compression' },
  stream: { has: isImg, rule: 'only img models stream' },
  partial_images: { has: isImg, rule: 'only img models stream partial images' },
  response_format: {
    has: (model) => model?.family !== 'img',
    rule: 'img models always return Base64 and must not be sent this parameter',
  },
  style: { has: (model) => model?.styles === true, rule: 'only legacy-image-3 takes a style' },
};

function* ownerBreaches(body: ImageSettings, model: ImageModel | undefined): Generator<Note> {
  for (const [field, { has, rule }] of Object.entries(owners)) {
    const value = body[field as keyof ImageSettings];
    // Not streaming is what every model does.
    if (value === undefined || has(model) || (field === 'stream' && value === false)) continue;
    yield { path: [field], message: rule };
  }
}

function* modelBreaches(body: ImageSettings, model: ImageModel): Generator<Note> {
  const { model: id, n, size, quality } = body;
  if (n !== undefined && n > model.maxImages) {
    yield { path: ['n'], message: `${id} makes ${model.maxImages} image a request` };
  }
  if (size !== undefined && !takesSize(model.size, size)) yield sizeBreach(id, model, size);
  const qualities: readonly string[] = model.qualities;
  if (quality !== undefined && !qualities.includes(quality)) {
    const others = imageModelsWhere((each) => (each.qualities as readonly string[]).includes(quality));
    const elsewhere = others.length > 0 ? `; ${quality} is for ${others.join(', ')}` : '';
    yield { path: ['quality'], message: `${id} takes ${qualities.join(', ')}${elsewhere}` };
  }
}

/** Which sizes the model takes, and which model of its family takes this one, or else the nearest that it does take. */
function sizeBreach(id: string, model: ImageModel, size: string): Note {
  const takes = `${id} takes ${sizeInWords(model.size)}`;
  const others = imageModelsWhere((each) => each.family === model.family && takesSize(each.size, size));
  if (others.length > 0) return { path: ['size'], message: `${takes}; ${size} is for ${others.join(', ')}` };
  const nearest = nearestSize(model.size, size);
  return { path: ['size'], message: nearest ? `${takes}; the nearest is ${nearest}` : takes };
}

/** The common variant's qualities, for a model that no table lists. */
function* commonBreaches({ quality }: ImageSettings, action: ImageAction): Generator<Note> {
  const qualities: readonly string[] = commonQualities;
  if (action === 'generate' && quality !== undefined && !qualities.includes(quality)) {
    yield {
      path: ['quality'],
      message: `a model that the document does not list takes ${qualities.join(', ')}`,
    };
  }
}

/** Rules between the fields of the output. Without `output_format` the image is a PNG, as in the public API. */
function* formatBreaches(body: ImageSettings): Generator<Note> {
  const { background, output_format: format = imageFormats[0], output_compression: compression } = body;
  if (background === 'transparent' && format === 'jpeg') {
    yield { path: ['background'], message: 'transparent needs the format png or webp' };
  }
  if (compression !== undefined && format === 'png') {
    yield { path: ['output_compression'], message: 'a compression is only for the formats webp and jpeg' };
  }
  if (body.partial_images !== undefined && body.stream !== true) {
    yield { path: ['partial_images'], message: 'partial images come only in a stream' };
  }
}

/** Fills in what the documented rules imply and the user left open: partial images come in a stream. */
export function fillImageBody(body: Record<string, unknown>): Record<string, unknown> {
  const implied = body.partial_images !== undefined && body.stream === undefined;
  return implied ? { ...body, stream: true } : body;
}

/** What is allowed but likely not meant; shown as warnings before the request is sent. */
export function imageWarnings({ model: id, size, background }: ImageSettings): Note[] {
  const notes: Note[] = [];
  const model = imageModel(id);
  if (!model) {
    notes.push({
      path: ['model'],
      message: 'not an image model that the document lists; sent as it is',
      // One that stands whole in what was typed is a model of its own, not what was meant.
      known: Object.keys(imageModels).filter((known) => !id.startsWith(known)),
    });
  }
  if (background === 'transparent' && model?.background === 'preview') {
    notes.push({ path: ['background'], message: `transparent is in preview on ${id}` });
  }
  const { widthPx = 0, heightPx = 0 } = (size === undefined ? undefined : parseImageSize(size)) ?? {};
  if (model?.family === 'img' && widthPx * heightPx > EXPERIMENTAL_ABOVE_PIXELS) {
    notes.push({ path: ['size'], message: 'above 2560x1440 is experimental' });
  }
  return notes;
}
