import { createHash } from 'node:crypto';
import type { ImageGenerateBody } from '../../gateway/image/create.ts';
import { type ImageModelFamily, imageFormats, imageModel, imageModels } from '../../gateway/image/models.ts';
import { type ImageSize, parseImageSize } from '../../gateway/image/size.ts';
import { SENSITIVE_PROMPT_WORD } from '../faults.ts';
import { base64Bytes } from '../media-check.ts';
import { Refusal } from '../reply.ts';
import { refuseField } from '../request-body.ts';
import { type SeenImage, seeBytes, TILE_TOKENS } from '../seen-image.ts';
import { type Canvas, draw } from './draw.ts';

/** A request with all choices made: the same order gives the same pictures. It is plain JSON. */
export interface ImageOrder {
  readonly model: string;
  readonly prompt: string;
  readonly widthPx: number;
  readonly heightPx: number;
  readonly format: (typeof imageFormats)[number];
  /** The requested quality, or the resolved `auto`. */
  readonly quality: string;
  readonly background: 'transparent' | 'opaque';
  /** `output_compression`: 0-100. */
  readonly compression: number;
  readonly count: number;
  /** The input images in words: `PNG 320x200`. */
  readonly inputs: readonly string[];
  readonly hasMask: boolean;
}

/** The blocks along the longer edge of a stream's last partial image. */
const FINEST_BLOCKS = 48;

/**
 * Draws the picture `nth` (from 0) of an order.
 * @param variant 0, or a number that changes the picture's colours
 */
export const drawOrder = (order: ImageOrder, nth: number, variant = 0): Canvas =>
  draw({
    widthPx: order.widthPx,
    heightPx: order.heightPx,
    isTransparent: order.background === 'transparent',
    prompt: order.prompt,
    caption: captionOf(order, nth),
    seed: [order.prompt, nth, ...(variant === 0 ? [] : [variant])].join('\n'),
  });

/** A partial image, in blocks that get finer: `step` of `steps`, from 0. */
export function inSteps(canvas: Canvas, step: number, steps: number): Canvas {
  const blocks = FINEST_BLOCKS / 2 ** (steps - 1 - step);
  return canvas.inBlocks(Math.ceil(Math.max(canvas.width, canvas.height) / blocks));
}

function captionOf(order: ImageOrder, nth: number): string {
  const { model, widthPx, heightPx, quality, format, compression, count, inputs, hasMask } = order;
  const strength = format === 'png' ? '' : ` ${compression}`;
  const lines = [`${model}  ${widthPx}x${heightPx}  ${quality}  ${format}${strength}`];
  if (count > 1) lines.push(`image ${nth + 1} of ${count}`);
  const [first, ...others] = inputs;
  if (first !== undefined) {
    const more = others.length === 0 ? '' : ` and ${others.length} more`;
    lines.push(`from ${first}${more}${hasMask ? ', with a mask' : ''}`);
  }
  return lines.join('\n');
}

/** The common settings of a checked generation or edit. */
export type ImageSettings = Pick<ImageGenerateBody, 'model' | 'prompt'> &
  Partial<Omit<ImageGenerateBody, 'image'>>;

const [defaultFormat] = imageFormats;

/** Resolves everything that a request leaves open. Throws Refusal (400) if the sandbox cannot make it. */
export function orderOf(request: ImageSettings, images: readonly SeenImage[], hasMask: boolean): ImageOrder {
  const family = familyOf(request.model);
  if (request.prompt.includes(SENSITIVE_PROMPT_WORD))
    throw new Refusal(400, 'The request was refused by content moderation.', 'moderation_blocked');
  const { quality = 'auto' } = request;
  return {
    model: request.model,
    prompt: request.prompt,
    ...pixelsFor(request, images[0]?.size),
    // Delta models have no format setting.
    format: request.output_format ?? (family === 'delta' ? 'jpeg' : defaultFormat),
    quality: quality === 'auto' ? (family === 'legacy' ? 'standard' : 'high') : quality,
    background: request.background === 'transparent' ? 'transparent' : 'opaque',
    compression: request.output_compression ?? 100,
    count: request.n ?? 1,
    hasMask,
    inputs: shownInputs(images),
  };
}

/** IDs that begin like this stand for uploaded files; the document shows no way to upload one. */
export const KNOWN_FILE_ID_START = 'file-';

/** Reads an image given as a URL, a Base64 data URL or plain Base64; a URL is not downloaded. */
export async function seeUrl(url: string, path: readonly PropertyKey[]): Promise<SeenImage> {
  if (/^https?:/i.test(url)) return { words: `an address ${shortHash(url)}`, tokens: TILE_TOKENS };
  return seeBytes(base64Bytes(url) ?? Buffer.from(url, 'base64'), path);
}

/** Reads an image given as `file_id` or `image_url`. Throws Refusal (400) for an unknown file. */
export async function seeSource(
  source: { readonly file_id?: string | undefined; readonly image_url?: string | undefined },
  path: readonly PropertyKey[],
): Promise<SeenImage> {
  const { file_id: fileId, image_url: url } = source;
  if (fileId === undefined) return seeUrl(url ?? '', [...path, 'image_url']);
  if (!fileId.startsWith(KNOWN_FILE_ID_START))
    throw refuseField([...path, 'file_id'], `there is no file ${fileId}`);
  return { words: fileId, tokens: TILE_TOKENS };
}

const shortHash = (data: string | Uint8Array) => createHash('sha256').update(data).digest('hex').slice(0, 12);

/** The inputs of a request in words; the hash of the first one makes it recognisable in the picture. */
export const shownInputs = (images: readonly SeenImage[]): string[] =>
  images.map(({ words, bytes }, nth) => (nth === 0 && bytes ? `${words} sha256 ${shortHash(bytes)}` : words));

/** The sandbox's pixel sizes of the presets, within the limits of their models; the document states none. */
const presetEdgesPx = { '1K': 1024, '1.5K': 1536, '2K': 2048, '3K': 3072, '4K': 4096 } as const;

/** The presets for texts: `1K 1024x1024, 2K 2048x2048`. */
export const presetsInWords = Object.entries(presetEdgesPx)
  .map(([preset, edge]) => `${preset} ${edge}x${edge}`)
  .join(', ');

/** The largest image that the sandbox draws: the document's limit for any model. */
const MOST_PIXELS = 16_777_216;
/** The longest edge that every format supports (WebP: 14 bits), for models without documented sizes. */
const MOST_EDGE_PX = 16_383;
const DEFAULT_SIZE = '1024x1024';

const square: ImageSize = { widthPx: 1024, heightPx: 1024 };
const wide: ImageSize = { widthPx: 1536, heightPx: 1024 };
const tall: ImageSize = { widthPx: 1024, heightPx: 1536 };

const isPreset = (text: string): text is keyof typeof presetEdgesPx => Object.hasOwn(presetEdgesPx, text);

/** The pixels of an image for its `size`. Throws Refusal (400) for a size that is invalid or too large. */
function pixelsFor(
  request: { readonly model: string; readonly size?: string | undefined; readonly prompt: string },
  input: ImageSize | undefined,
): ImageSize {
  const model = imageModel(request.model);
  const text =
    request.size ?? model?.defaultSize ?? (model?.size.words.includes('auto') ? 'auto' : DEFAULT_SIZE);
  if (text === 'auto') return input ? shapedAs(input) : shapedByWords(request.prompt);
  const edgePx = isPreset(text) && presetEdgesPx[text];
  const size = edgePx ? { widthPx: edgePx, heightPx: edgePx } : parseImageSize(text);
  if (!size) throw refuseField(['size'], 'not auto, WIDTHxHEIGHT or a preset');
  if (size.widthPx * size.heightPx > MOST_PIXELS) {
    throw refuseField(['size'], `at most ${MOST_PIXELS} pixels are drawn`);
  }
  if (!model && Math.max(size.widthPx, size.heightPx) > MOST_EDGE_PX) {
    throw refuseField(['size'], `edges of at most ${MOST_EDGE_PX} pixels are drawn`);
  }
  return size;
}

function shapedAs({ widthPx, heightPx }: ImageSize): ImageSize {
  const aspect = widthPx / heightPx;
  if (aspect > 1.2) return wide;
  return aspect < 1 / 1.2 ? tall : square;
}

function shapedByWords(prompt: string): ImageSize {
  if (/\b(wide|landscape|panorama)\b/i.test(prompt)) return wide;
  return /\b(tall|portrait)\b/i.test(prompt) ? tall : square;
}

/** The pixels of a native image: the preset's number in an aspect ratio; both edges are divisible by 16. */
export function pixelsOfAspect(preset: string, ratio: string): ImageSize {
  if (!isPreset(preset)) {
    throw refuseField(['generationConfig', 'imageConfig', 'imageSize'], 'not a preset such as 1K, 2K or 4K');
  }
  const [, across, down] = /^([1-9]\d?):([1-9]\d?)$/.exec(ratio) ?? [];
  const aspect = Number(across) / Number(down);
  if (!(aspect >= 1 / 8 && aspect <= 8)) {
    throw refuseField(['generationConfig', 'imageConfig', 'aspectRatio'], 'not a ratio such as 16:9');
  }
  const edge = (share: number) => Math.floor((presetEdgesPx[preset] * Math.sqrt(share)) / 16) * 16;
  return { widthPx: edge(aspect), heightPx: edge(1 / aspect) };
}

/** A model of the sandbox's own, which no table of the document lists; it follows the common rules. */
export const SANDBOX_IMAGE_MODEL = 'sandbox-image-1';

/** A model of the sandbox's own whose native replies contain a URL instead of Base64. */
export const SANDBOX_IMAGE_URL_MODEL = 'sandbox-image-url-1';

const own = [SANDBOX_IMAGE_MODEL, SANDBOX_IMAGE_URL_MODEL];

export const sandboxImageModels: Readonly<Record<string, string>> = {
  ...Object.fromEntries(Object.entries(imageModels).map(([id, { family }]) => [id, family])),
  ...Object.fromEntries(own.map((id) => [id, 'sandbox'])),
};

/** Unlisted image model names, which the common rules allow. */
const unlisted = /(^|-)image(-|$)/;
/** Prefixes of the listed families: an unlisted name with such a prefix is a typing error. */
const listed = /^(img|legacy-image|delta-image)-/;

/** The family whose rules a model follows; throws Refusal (400) for a misspelled name or another kind of model. */
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
