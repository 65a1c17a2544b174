import { MB, type MediaLimits, mediaFormats } from '../media-limits.ts';
import type { AssetType } from './fields.ts';

/** "Asset requirements": what a file must be to become `Active`; nothing of it can be seen from its address. */
export const assetLimits: Readonly<Record<AssetType, MediaLimits>> = {
  Image: {
    formats: mediaFormats.image,
    bytes: { max: 30 * MB, exclusive: true },
    edgePx: { min: 300, max: 6000, exclusive: true },
    aspect: { min: 0.4, max: 2.5, exclusive: true },
  },
  Video: {
    formats: mediaFormats.video,
    bytes: { max: 200 * MB },
    durationS: { min: 2, max: 30 },
    edgePx: { min: 300, max: 6000 },
    aspect: { min: 0.4, max: 2.5 },
    pixels: { min: 407_696, max: 8_295_044 },
    framesPerS: { min: 24, max: 60 },
  },
  Audio: {
    formats: mediaFormats.audio,
    bytes: { max: 15 * MB },
    durationS: { min: 2, max: 30 },
  },
};

/** What the service downloads of one asset, at most. */
export const ASSET_MAX_DOWNLOAD_BYTES = 200 * MB;
