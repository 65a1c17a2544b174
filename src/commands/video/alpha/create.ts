import { AlphaCreateBody, alphaCreate } from '../../../gateway/alpha/create.ts';
import { alphaModels } from '../../../gateway/alpha/models.ts';
import { alphaWarnings, fillAlphaBody } from '../../../gateway/alpha/rules.ts';
import { alphaFamily } from '../../../gateway/alpha/task.ts';
import { videoCreate } from '../create-video.ts';
import { checkAssetReferences } from './asset-references.ts';
import { alphaBody, alphaFlagOf, alphaFlags, alphaMedia, alphaModelId } from './body.ts';

export const create = videoCreate({
  family: alphaFamily,
  endpointOf: () => alphaCreate,
  schemaOf: () => AlphaCreateBody,
  flags: alphaFlags,
  modelOf: (flags, base, settings) =>
    alphaModelId(flags.model ?? (typeof base.model === 'string' ? base.model : settings.models.alpha.value)),
  media: alphaMedia,
  knownModels: Object.keys(alphaModels),
  totalReferenceS: (model) => alphaModels[model]?.totalReferenceS,
  body: alphaBody,
  fill: fillAlphaBody,
  warnings: (body) => {
    const parsed = AlphaCreateBody.safeParse(body);
    return parsed.success ? alphaWarnings(parsed.data as AlphaCreateBody) : [];
  },
  checkFirst: checkAssetReferences,
  flagOf: alphaFlagOf,
  examples: [
    'gw video alpha create --sandbox --prompt "a paper boat on a calm sea at dawn" --wait',
    'gw video alpha create --sandbox "a fox in the snow" -m 2.0-fast --resolution 480p --duration 4 --wait -o clips/',
    'gw video alpha create --sandbox "a fox in the snow" --first-frame https://example.com/fox.png --dry-run',
  ],
  notes: [
    'On 2.5 a first frame, --task-type edit and extend make the ratio adaptive, and edit makes the duration -1. ' +
      'In the prompt, media are called "image 1", "video 1", "audio 1", numbered per kind in the order of the flags ' +
      '(--first-frame, --last-frame, --image). Videos are sent by address only: put a local one into the asset library.',
    'asset://ID references are looked up first: each must exist in the default project, be Active, and be of the type that ' +
      'its flag takes; --no-validate and --dry-run do not look.',
  ],
});
