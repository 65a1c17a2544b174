import type { AlphaContentItem, AlphaCreateBody } from '../../gateway/alpha/create.ts';
import { type AlphaModel, alphaModels } from '../../gateway/alpha/models.ts';
import { assetIdOf } from '../../gateway/asset/fields.ts';
import { mediumOf } from '../../gateway/content.ts';
import type { Modality } from '../../gateway/media-limits.ts';
import type { KeptAsset } from '../asset/library.ts';
import { checkAsset } from '../asset/usage.ts';
import { base64Bytes, readImageSize } from '../base64-image.ts';
import { checkMedia } from '../media-check.ts';
import { Refusal } from '../reply.ts';
import type { World } from '../world.ts';

const modalityOf = (item: AlphaContentItem) => item.type.replace('_url', '') as Modality;
const refuse = (nth: number, item: AlphaContentItem, rule: string) =>
  new Refusal(400, `Invalid parameter content[${nth}].${item.type}.url: ${rule}.`, 'InvalidParameter');

/**
 * Checks what a request refers to: assets must be usable, and media sent as Base64 must keep the model's limits ("Asset
 * limits per request"; none are stated for 2.0). Addresses are not fetched. Throws Refusal.
 * @returns the assets that it uses
 */
export async function checkReferences(body: AlphaCreateBody, world: World): Promise<KeptAsset[]> {
  const model = alphaModels[body.model];
  const assets: KeptAsset[] = [];
  let audioS = 0;
  for (const [nth, item] of body.content.entries()) {
    const url = mediumOf(item)?.url;
    if (url === undefined) continue;
    const assetId = assetIdOf(url);
    if (assetId !== undefined) {
      assets.push(checkAsset(assetId, item.type, world, (rule) => refuse(nth, item, rule)));
      continue;
    }
    const bytes = base64Bytes(url);
    const modality = modalityOf(item);
    const limits = model?.media[modality];
    if (!bytes || !limits) continue;
    const { durationS = 0 } = await checkMedia(modality, bytes, limits, (rule) => refuse(nth, item, rule));
    audioS += durationS;
    refuseLongAudio(audioS, model);
  }
  return assets;
}

/** The size of a request's first image, where it was sent as Base64 and can be read. */
export async function firstImageSize(
  content: readonly AlphaContentItem[],
): Promise<{ readonly width: number; readonly height: number } | undefined> {
  const first = content.find((item) => item.type === 'image_url');
  const bytes = base64Bytes((first && mediumOf(first)?.url) ?? '');
  return bytes && (await readImageSize(bytes));
}

function refuseLongAudio(audioS: number, model: AlphaModel | undefined): void {
  if (model?.totalReferenceS === undefined || audioS <= model.totalReferenceS) return;
  throw new Refusal(
    400,
    `Invalid parameter content: ${audioS.toFixed(1)} s of audio, at most ${model.totalReferenceS} s in total are taken.`,
    'InvalidParameter',
  );
}
