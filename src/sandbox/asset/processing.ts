import type { AssetType } from '../../gateway/asset/fields.ts';
import { assetTypeOfUrl } from '../../gateway/asset/url.ts';
import { seededInt } from '../seeded.ts';
import type { World } from '../world.ts';
import type { KeptAsset } from './library.ts';

/** Words in a URL's path that make the asset fail, and the code that it fails with ("Asset failure codes"). */
export const failureWords = {
  unavailable: { code: 'AssetURLUnavailable', message: 'The URL could not be downloaded.' },
  'too-large': { code: 'AssetTooLarge', message: 'The file is over the download cap of 200 MB.' },
  invalid: { code: 'InvalidAsset', message: 'The file does not meet the requirements.' },
  mismatch: { code: 'AssetTypeMismatch', message: 'The AssetType differs from the detected file type.' },
} as const;

/** How long the processing of a file takes at speed 1. */
const paceMs: Readonly<Record<AssetType, { readonly least: number; readonly spread: number }>> = {
  Image: { least: 4_000, spread: 4_000 },
  Audio: { least: 6_000, spread: 6_000 },
  Video: { least: 12_000, spread: 12_000 },
};

/** Decides when the processing of a new asset ends, and whether it fails: the URL is not fetched, its words say it. */
export function planProcessing(
  { id, type, url, createdAtMs }: Pick<KeptAsset, 'id' | 'type' | 'url' | 'createdAtMs'>,
  { speed }: Pick<World, 'speed'>,
): Pick<KeptAsset, 'readyAtMs' | 'failure'> {
  const { least, spread } = paceMs[type];
  const takesMs = Math.ceil((least + (seededInt(id, 'processing') % spread)) / speed);
  const failure = failureOf(type, url);
  return { readyAtMs: createdAtMs + takesMs, ...(failure && { failure }) };
}

function failureOf(type: AssetType, url: string): KeptAsset['failure'] {
  const { pathname } = new URL(url);
  const word = Object.entries(failureWords).find(([each]) => pathname.includes(each));
  if (word) return word[1];
  const detected = assetTypeOfUrl(url);
  return detected === undefined || detected === type ? undefined : failureWords.mismatch;
}
