import { GammaCreateBody, gammaCreate } from '../../../gateway/gamma/create.ts';
import { GAMMA_TOTAL_REFERENCE_S, gammaModels } from '../../../gateway/gamma/models.ts';
import { gammaWarnings } from '../../../gateway/gamma/rules.ts';
import { gammaFamily } from '../../../gateway/gamma/task.ts';
import { videoCreate } from '../create-video.ts';
import { gammaBody, gammaFlagOf, gammaFlags, gammaMediaInputs } from './body.ts';

export const create = videoCreate({
  family: gammaFamily,
  endpointOf: () => gammaCreate,
  schemaOf: () => GammaCreateBody,
  flags: gammaFlags,
  modelOf: (flags, base, settings) =>
    flags.model ?? (typeof base.model === 'string' ? base.model : settings.models.gamma.value),
  media: gammaMediaInputs,
  knownModels: Object.keys(gammaModels),
  totalReferenceS: () => GAMMA_TOTAL_REFERENCE_S,
  body: gammaBody,
  // Nothing is implied: the ratio follows the image, or is adaptive for references, without being sent.
  fill: (body) => body,
  warnings: (body) => {
    const parsed = GammaCreateBody.safeParse(body);
    return parsed.success ? gammaWarnings(parsed.data as GammaCreateBody) : [];
  },
  flagOf: gammaFlagOf,
  examples: [
    'gw video gamma create --sandbox "a paper boat at dawn" --resolution 768P --duration 5 --ratio 16:9 --wait',
    'gw video gamma create --sandbox "the boat sails off" --first-frame https://example.com/boat.png --resolution 2K --duration 4',
    'gw video gamma create --sandbox "the fox runs" -m gamma-H3-Max --resolution 480P --duration 5 --ratio 1:1 --dry-run',
  ],
  notes: [
    '--resolution and --duration are always needed, and a prompt in every case. Text alone needs --ratio; with --first-frame ' +
      'or --last-frame the video follows the image; with --image, --video or --audio the ratio is adaptive unless given. ' +
      'Frames cannot go with references. What is over 64 MB as Base64 goes by URL or gammafile://ID.',
  ],
});
