import { DEFAULT_PROJECT } from '../../gateway/asset/fields.ts';
import { Refusal } from '../reply.ts';
import type { World } from '../world.ts';
import { findAsset, type KeptAsset, keepAsset, statusOf } from './library.ts';

/**
 * An asset that a video request refers to ("Using an asset in a family A request"): it must exist, be `Active` and of the
 * type that its place takes. A video request names no project, so it uses the default one. Throws the Refusal that `refuse`
 * makes of the broken rule.
 * @param place `image_url`, `video_url` or `audio_url`
 */
export function checkAsset(
  id: string,
  place: string,
  world: World,
  refuse: (rule: string) => Refusal,
): KeptAsset {
  const asset = existing(id, world);
  if (!asset) throw refuse(`the asset ${id} does not exist`);
  const status = statusOf(asset, world.now());
  if (status !== 'Active') throw refuse(`the asset ${id} is ${status}, not Active`);
  if (`${asset.type.toLowerCase()}_url` !== place) {
    throw refuse(`the asset ${id} is of the type ${asset.type}`);
  }
  return asset;
}

function existing(id: string, world: World): KeptAsset | undefined {
  try {
    return findAsset(id, DEFAULT_PROJECT, world);
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}

/** Notes when assets were last used to submit a video task. */
export function markUsed(assets: readonly KeptAsset[], nowMs: number, world: World): void {
  for (const asset of assets) keepAsset({ ...asset, lastUsedAtMs: nowMs }, world);
}
