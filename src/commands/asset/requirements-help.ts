import { ASSET_MAX_DOWNLOAD_BYTES, assetLimits } from '../../gateway/asset/limits.ts';
import { MB, type MediaLimits, type Range } from '../../gateway/media-limits.ts';

const between = ({ min, max, exclusive }: Range) => `${min}-${max}${exclusive ? ' (exclusive)' : ''}`;

function limitsText({
  formats = [],
  bytes,
  durationS,
  edgePx,
  aspect,
  pixels,
  framesPerS,
}: MediaLimits): string {
  return [
    formats.join(', '),
    bytes && `${bytes.exclusive ? 'under' : 'up to'} ${bytes.max / MB} MB`,
    durationS && `${between(durationS)} s`,
    edgePx && `width and height ${between(edgePx)} px`,
    aspect && `ratio ${between(aspect)}`,
    pixels && `${between(pixels)} pixels`,
    framesPerS && `${between(framesPerS)} frames a second`,
  ]
    .filter(Boolean)
    .join('; ');
}

/** What a file must be to become `Active`, a line a type, from the table of the document. */
export const requirementsHelp = (): string =>
  [
    `What a file must be (of a URL nothing of it can be checked here; at most ${ASSET_MAX_DOWNLOAD_BYTES / MB} MB are downloaded):`,
    ...Object.entries(assetLimits).map(([type, limits]) => `  ${type}: ${limitsText(limits)}`),
  ].join('\n');
