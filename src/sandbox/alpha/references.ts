import type { AlphaContentItem, AlphaCreateBody } from '../../gateway/alpha.ts';
import { type AlphaModel, alphaModels } from '../../gateway/alpha-models.ts';
import { mediaUrlOf } from '../../gateway/alpha-rules.ts';
import type { MediaLimits, Modality, Range } from '../../gateway/media-limits.ts';
import { base64Bytes, readImageSize } from '../base64-image.ts';
import { Refusal } from '../reply.ts';

/** Assets that exist in the embedded gateway: any ID that begins so, of any modality and always active. */
export const SANDBOX_ASSET_START = 'asset-sandbox-';

const modalityOf = (item: AlphaContentItem) => item.type.replace('_url', '') as Modality;
const refuse = (nth: number, item: AlphaContentItem, rule: string) =>
  new Refusal(400, `Invalid parameter content[${nth}].${item.type}.url: ${rule}.`, 'InvalidParameter');

/**
 * Checks what a request refers to: assets must exist, and media sent as Base64 must keep the model's limits ("Asset
 * limits per request"; none are stated for 2.0). Addresses are not fetched. Throws Refusal.
 */
export async function checkReferences(body: AlphaCreateBody): Promise<void> {
  const model = alphaModels[body.model];
  let audioS = 0;
  for (const [nth, item] of body.content.entries()) {
    const url = mediaUrlOf(item);
    if (url === undefined) continue;
    if (url.startsWith('asset://') && !url.startsWith(`asset://${SANDBOX_ASSET_START}`)) {
      const id = url.slice('asset://'.length);
      throw refuse(
        nth,
        item,
        `the asset ${id} does not exist here (IDs that begin with ${SANDBOX_ASSET_START} do)`,
      );
    }
    const bytes = base64Bytes(url);
    const limits = model?.media[modalityOf(item)];
    if (!bytes || !limits) continue;
    if (item.type === 'image_url') await checkImage(nth, item, bytes, limits);
    else audioS += await checkAudio(nth, item, bytes, limits);
    refuseLongAudio(audioS, model);
  }
}

/** The size of a request's first image, where it was sent as Base64 and can be read. */
export async function firstImageSize(
  content: readonly AlphaContentItem[],
): Promise<{ readonly width: number; readonly height: number } | undefined> {
  const first = content.find((item) => item.type === 'image_url');
  const bytes = base64Bytes((first && mediaUrlOf(first)) ?? '');
  return bytes && (await readImageSize(bytes));
}

const outside = (value: number, range: Range | undefined) =>
  range !== undefined &&
  (range.exclusive ? value <= range.min || value >= range.max : value < range.min || value > range.max);
const inWords = ({ min, max }: Range) => `${min}-${max}`;

function checkBytes(
  nth: number,
  item: AlphaContentItem,
  bytes: Uint8Array,
  { bytes: limit }: MediaLimits,
): void {
  if (!limit) return;
  if (bytes.length > limit.max || (limit.exclusive && bytes.length === limit.max)) {
    const most = `${limit.exclusive ? 'under' : 'up to'} ${limit.max} bytes`;
    throw refuse(nth, item, `${bytes.length} bytes, ${most} are taken`);
  }
}

async function checkImage(
  nth: number,
  item: AlphaContentItem,
  bytes: Uint8Array,
  limits: MediaLimits,
): Promise<void> {
  checkBytes(nth, item, bytes, limits);
  const size = await readImageSize(bytes);
  if (!size) throw refuse(nth, item, `not an image (${limits.formats?.join(', ')} are taken)`);
  const { width, height } = size;
  if (limits.edgePx && (outside(width, limits.edgePx) || outside(height, limits.edgePx))) {
    throw refuse(nth, item, `${width}x${height}; width and height must be ${inWords(limits.edgePx)} px`);
  }
  if (limits.aspect && outside(width / height, limits.aspect)) {
    throw refuse(nth, item, `${width}x${height}; width divided by height must be ${inWords(limits.aspect)}`);
  }
}

/** Checks one audio file and returns its length in seconds. */
async function checkAudio(
  nth: number,
  item: AlphaContentItem,
  bytes: Uint8Array,
  limits: MediaLimits,
): Promise<number> {
  checkBytes(nth, item, bytes, limits);
  const media = await import('mediabunny');
  const input = new media.Input({ formats: [media.WAVE, media.MP3], source: new media.BufferSource(bytes) });
  const durationS = await input.computeDuration().catch(() => undefined);
  if (durationS === undefined) throw refuse(nth, item, `not audio (${limits.formats?.join(', ')} are taken)`);
  if (limits.durationS && outside(durationS, limits.durationS)) {
    throw refuse(nth, item, `${durationS.toFixed(1)} s long, ${inWords(limits.durationS)} s are taken`);
  }
  return durationS;
}

function refuseLongAudio(audioS: number, model: AlphaModel | undefined): void {
  if (model?.totalReferenceS === undefined || audioS <= model.totalReferenceS) return;
  throw new Refusal(
    400,
    `Invalid parameter content: ${audioS.toFixed(1)} s of audio, at most ${model.totalReferenceS} s in total are taken.`,
    'InvalidParameter',
  );
}
