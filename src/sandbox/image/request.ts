import { imageFormats } from '../../gateway/image/models.ts';
import { SENSITIVE_PROMPT_WORD } from '../prompt-words.ts';
import { Refusal } from '../reply.ts';
import type { World } from '../world.ts';
import { type InputImage, shownInputs } from './inputs.ts';
import { familyOf } from './models.ts';
import type { ImageOrder } from './order.ts';
import { pixelsFor } from './size.ts';

/** The settings that a checked body of generation or editing has. */
export interface ImageSettings {
  readonly model: string;
  readonly prompt: string;
  readonly n?: number | undefined;
  readonly size?: string | undefined;
  readonly quality?: string | undefined;
  readonly background?: string | undefined;
  readonly output_format?: ImageOrder['format'] | undefined;
  readonly output_compression?: number | undefined;
  readonly response_format?: 'url' | 'b64_json' | undefined;
  readonly stream?: boolean | undefined;
  readonly partial_images?: number | undefined;
}

/** Throws the Refusal (400) of content moderation where the prompt asks for it. */
function moderate(prompt: string): void {
  if (!prompt.includes(SENSITIVE_PROMPT_WORD)) return;
  throw new Refusal(400, 'The request was refused by content moderation.', 'moderation_blocked');
}

const [defaultFormat] = imageFormats;

/** Decides all that a request leaves open. Throws Refusal (400) for what the sandbox cannot make. */
export async function orderOf(
  request: ImageSettings,
  images: readonly InputImage[],
  hasMask: boolean,
  world: World,
): Promise<ImageOrder> {
  const family = familyOf(request.model);
  moderate(request.prompt);
  const { quality = 'auto' } = request;
  return {
    model: request.model,
    prompt: request.prompt,
    ...pixelsFor(request, images[0]?.size),
    // Delta models have no setting for it.
    format: request.output_format ?? (family === 'delta' ? 'jpeg' : defaultFormat),
    quality: quality === 'auto' ? (family === 'legacy' ? 'standard' : 'high') : quality,
    background: request.background === 'transparent' ? 'transparent' : 'opaque',
    compression: request.output_compression ?? 100,
    count: request.n ?? 1,
    hasMask,
    ...(await shownInputs(images, world.wasmDir)),
  };
}
