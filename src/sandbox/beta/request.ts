import { betaO1Media } from '../../gateway/beta/modes.ts';
import { betaFamily } from '../../gateway/beta/task.ts';
import { base64Bytes, readImageSize } from '../base64-image.ts';
import { nearestRatio } from '../clip.ts';
import { checkMedia } from '../media-check.ts';
import { refuseField } from '../request-body.ts';

/** What the sandbox reads of a create body of family B, whether the document shows that body or not. */
export interface BetaRequest {
  readonly prompt: string;
  readonly settings: Readonly<Record<string, unknown>>;
  /** Of a first frame that came as Base64. */
  readonly imageRatio?: string;
  readonly watermark: boolean;
  readonly externalId?: string;
  readonly callbackUrl?: string;
}

const objectOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** Reads a create body that has passed its schema; checks O1's Base64 images. Throws Refusal. */
export async function readBetaRequest(body: Readonly<Record<string, unknown>>): Promise<BetaRequest> {
  const options = objectOf(body.options);
  const items = Array.isArray(body.contents) ? body.contents.map(objectOf) : [];
  const prompt = [body.prompt, ...items.map(({ text }) => text)].map(textOf).filter(Boolean).join('\n');
  const imageRatio = await checkImages(items);
  const externalId = betaFamily.externalIds?.idOf(body);
  const callbackUrl = textOf(options.callback_url);
  return {
    prompt,
    settings: objectOf(body.settings),
    ...(imageRatio !== undefined && { imageRatio }),
    watermark: objectOf(options.watermark_info).enabled === true,
    ...(externalId !== undefined && { externalId }),
    ...(callbackUrl !== undefined && { callbackUrl }),
  };
}

const imageTypes: readonly unknown[] = ['first_frame', 'last_frame', 'refer_image'];

/** Checks the images of `contents` that came as Base64 ("O1 combination rules"); returns the first frame's ratio. */
async function checkImages(items: readonly Readonly<Record<string, unknown>>[]): Promise<string | undefined> {
  let ratio: string | undefined;
  for (const [nth, { type, url }] of items.entries()) {
    if (!imageTypes.includes(type) || typeof url !== 'string' || /^https?:/i.test(url)) continue;
    // O1 takes Base64 with and without the head of a data URI.
    const bytes = base64Bytes(url) ?? Buffer.from(url, 'base64');
    const refuse = (rule: string) => refuseField(['contents', nth, 'url'], rule);
    await checkMedia('image', bytes, betaO1Media.image, refuse);
    if (type !== 'first_frame') continue;
    const size = await readImageSize(bytes);
    if (size) ratio = nearestRatio(size.width, size.height);
  }
  return ratio;
}
