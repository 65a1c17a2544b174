import { imageModel } from '../../gateway/image/models.ts';
import { type ImageSize, parseImageSize } from '../../gateway/image/size.ts';
import { refuseField } from '../request-body.ts';

/** What the presets are in pixels. The document does not say; each lies within the limits of the models that take it. */
export const presetEdgesPx = { '1K': 1024, '1.5K': 1536, '2K': 2048, '3K': 3072, '4K': 4096 } as const;

/** `1K 1024x1024, 2K 2048x2048`, for texts. */
export const presetsInWords = Object.entries(presetEdgesPx)
  .map(([preset, edge]) => `${preset} ${edge}x${edge}`)
  .join(', ');

/** The most that the sandbox draws: what the document allows any model. */
const MOST_PIXELS = 16_777_216;
/** The longest edge that each format can have (WebP: 14 bits), for models whose sizes the document leaves open. */
const MOST_EDGE_PX = 16_383;
const DEFAULT_SIZE = '1024x1024';

const square: ImageSize = { widthPx: 1024, heightPx: 1024 };
const wide: ImageSize = { widthPx: 1536, heightPx: 1024 };
const tall: ImageSize = { widthPx: 1024, heightPx: 1536 };

const isPreset = (text: string): text is keyof typeof presetEdgesPx => Object.hasOwn(presetEdgesPx, text);

/** How many pixels an image gets for its `size`. Throws Refusal (400) for one that the sandbox cannot read or draw. */
export function pixelsFor(
  request: { readonly model: string; readonly size?: string | undefined; readonly prompt: string },
  input: ImageSize | undefined,
): ImageSize {
  const model = imageModel(request.model);
  const text =
    request.size ?? model?.defaultSize ?? (model?.size.words.includes('auto') ? 'auto' : DEFAULT_SIZE);
  if (text === 'auto') return input ? shapedAs(input) : shapedByWords(request.prompt);
  const size = isPreset(text) ? squareOf(presetEdgesPx[text]) : parseImageSize(text);
  if (!size) throw refuseField(['size'], 'not auto, WIDTHxHEIGHT or a preset');
  if (size.widthPx * size.heightPx > MOST_PIXELS) {
    throw refuseField(['size'], `at most ${MOST_PIXELS} pixels are drawn`);
  }
  if (!model && Math.max(size.widthPx, size.heightPx) > MOST_EDGE_PX) {
    throw refuseField(['size'], `edges of at most ${MOST_EDGE_PX} pixels are drawn`);
  }
  return size;
}

const squareOf = (edgePx: number): ImageSize => ({ widthPx: edgePx, heightPx: edgePx });

/** The listed size that comes closest to the shape of an image. */
function shapedAs({ widthPx, heightPx }: ImageSize): ImageSize {
  const aspect = widthPx / heightPx;
  if (aspect > 1.2) return wide;
  return aspect < 1 / 1.2 ? tall : square;
}

function shapedByWords(prompt: string): ImageSize {
  if (/\b(wide|landscape|panorama)\b/i.test(prompt)) return wide;
  return /\b(tall|portrait)\b/i.test(prompt) ? tall : square;
}

/** The pixels of a native image: as many as a preset has, in an aspect ratio; both edges divide by 16. */
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
