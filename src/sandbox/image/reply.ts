import { randomBytes } from 'node:crypto';
import { imageFamily } from '../../gateway/image/job.ts';
import { countTokens } from '../chat/answer.ts';
import { type OutputFile, signedLink } from '../output-source.ts';
import { eventReply, jsonReply, type ReplyEvent, type SandboxReply } from '../reply.ts';
import type { World } from '../route.ts';
import type { SeenImage } from '../seen-image.ts';
import { encode } from './codecs.ts';
import type { Canvas } from './draw.ts';
import { drawOrder, familyOf, type ImageOrder, type ImageSettings, inSteps } from './order.ts';

/** The time for a request's images at speed 1, independent of their number. */
export const IMAGE_S = 4;

/** A prompt with this text gets its finished image before the partial ones. */
export const FINAL_FIRST_TEXT = 'final-first';

/** The document's values of `quality` in a response; legacy qualities are not among them. */
const shownQualities = ['low', 'medium', 'high', 'xhigh', 'max'];

interface ImageJob {
  readonly action: 'generation' | 'edit';
  readonly order: ImageOrder;
  readonly images: readonly SeenImage[];
  readonly request: ImageSettings;
}

/** The reply to a generation or an edit ("Image response"), whole or as events. */
export async function imageReply(job: ImageJob, world: World): Promise<SandboxReply> {
  const { order, request } = job;
  const id = newImageId();
  const family = familyOf(order.model);
  const asUrls = family !== 'img' && !request.stream && request.response_format !== 'b64_json';
  const imageTokens = job.images.reduce((sum, { tokens }) => sum + tokens, 0);
  const drawn = asUrls ? [] : await drawAll(order, request.stream ? (request.partial_images ?? 0) : 0, world);
  const about = {
    ...(family === 'img' && { background: order.background }),
    output_format: order.format,
    ...(shownQualities.includes(order.quality) && { quality: order.quality }),
    size: `${order.widthPx}x${order.heightPx}`,
  };
  const usage = usageOf(order, imageTokens, order.count, request.partial_images ?? 0);
  const revised = order.model === 'legacy-image-3' && {
    revised_prompt: `${order.prompt}, in plain letters on a soft gradient`,
  };
  const whole = {
    created: Math.floor(world.now() / 1000),
    ...about,
    data: asUrls
      ? linksOf(id, order, world).map((url) => ({ url, b64_json: '', ...revised }))
      : drawn.map(({ finished }) => ({ b64_json: finished, ...revised })),
    ...(family !== 'legacy' && { usage }),
  };
  const readyAfterMs = (IMAGE_S * 1000) / world.speed;
  if (!request.stream) return { ...jsonReply(200, whole), readyAfterMs, acceptedTaskId: id };
  return { ...eventReply(streamOf(job, drawn, { about, imageTokens }, world), whole), acceptedTaskId: id };
}

/** An image in Base64, with its partial images. */
interface Drawn {
  readonly finished: string;
  readonly unfinished: readonly string[];
}

/** Draws an order's images one after the other, because each needs about 30 MB while it is drawn. */
async function drawAll(order: ImageOrder, partials: number, world: World): Promise<Drawn[]> {
  const drawn: Drawn[] = [];
  for (let nth = 0; nth < order.count; nth++) {
    const canvas = drawOrder(order, nth);
    const file = async (shown: Canvas) => base64(await encode(shown, order, world.wasmDir));
    const unfinished: string[] = [];
    for (let step = 0; step < partials; step++) unfinished.push(await file(inSteps(canvas, step, partials)));
    drawn.push({ finished: await file(canvas), unfinished });
  }
  return drawn;
}

/**
 * The images as events: for each image, `partial_images` partial ones and the finished one. The document does not show
 * the form of the events; this is the public one.
 */
function* streamOf(
  { action, order }: ImageJob,
  drawn: readonly Drawn[],
  { about, imageTokens }: { readonly about: object; readonly imageTokens: number },
  world: World,
): Generator<ReplyEvent> {
  const createdAt = Math.floor(world.now() / 1000);
  const event = (name: string, fields: object, atMs: number): ReplyEvent => {
    const type = `image_${action}.${name}`;
    const json = JSON.stringify({ type, created_at: createdAt, ...about, ...fields });
    return { text: `event: ${type}\ndata: ${json}\n\n`, atMs };
  };
  const isFinalFirst = order.prompt.includes(FINAL_FIRST_TEXT);
  for (const { finished, unfinished } of drawn) {
    const partials = unfinished.length;
    const stepMs = (IMAGE_S * 1000) / (partials + 1) / world.speed;
    const usage = usageOf(order, imageTokens, 1, partials);
    const final = (atMs: number) => event('completed', { b64_json: finished, usage }, atMs);
    if (isFinalFirst) yield final(stepMs);
    for (const [step, b64_json] of unfinished.entries()) {
      yield event('partial_image', { b64_json, partial_image_index: step }, stepMs * (step + 1));
    }
    if (!isFinalFirst) yield final(stepMs * (partials + 1));
  }
}

const base64 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');

const kind = 'image';
const fileOf = (order: ImageOrder, nth: number) => `${nth + 1}.${order.format}`;

export const newImageId = (): string => `img-${randomBytes(12).toString('hex')}`;

/** Stores an order for the lifetime of its links, and returns a link for each image. */
export function linksOf(id: string, order: ImageOrder, world: World): string[] {
  const expiresAtMs = world.now() + imageFamily.linkLifeMs;
  world.store.put(kind, id, order, { expiresAtMs });
  return Array.from({ length: order.count }, (_, nth) =>
    signedLink(world, id, fileOf(order, nth), expiresAtMs),
  );
}

/** An image with a URL: it is drawn at each download, as often as requested, for 60 minutes. */
export function imageFile(id: string, name: string, world: World): OutputFile | undefined {
  const order = world.store.get(kind, id) as ImageOrder | undefined;
  const nth = Number.parseInt(name, 10) - 1;
  if (!order || !(nth >= 0 && nth < order.count) || name !== fileOf(order, nth)) return undefined;
  return {
    type: `image/${order.format}`,
    make: async (variant) => encode(drawOrder(order, nth, variant), order, world.wasmDir),
  };
}

/** Tokens of an image of 1024x1024 by quality; other sizes cost in proportion. The numbers are invented. */
const tokensAt: Readonly<Record<string, number>> = {
  low: 272,
  medium: 1056,
  high: 4160,
  xhigh: 6240,
  max: 8320,
};
const PARTIAL_TOKENS = 100;
const SQUARE_PX = 1024 * 1024;

/** The usage of `count` images of an order, each with this many partial images. */
export function usageOf(order: ImageOrder, inputImageTokens: number, count: number, partials: number) {
  const whole = (tokensAt[order.quality] ?? tokensAt.medium ?? 0) * (order.widthPx * order.heightPx);
  const textTokens = countTokens(order.prompt);
  const inputTokens = textTokens + inputImageTokens;
  const outputTokens = count * (Math.ceil(whole / SQUARE_PX) + partials * PARTIAL_TOKENS);
  return {
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    input_tokens_details: { image_tokens: inputImageTokens, text_tokens: textTokens },
    output_tokens_details: { image_tokens: outputTokens, text_tokens: 0 },
  };
}
