import { flagsOfBodies } from '../../flags/body-flags.ts';
import { GammaCreateBody, gammaCreate } from '../../gateway/gamma/create.ts';
import { GAMMA_TOTAL_REFERENCE_S, gammaMedia, gammaModels } from '../../gateway/gamma/models.ts';
import { gammaFamily } from '../../gateway/gamma/task.ts';
import { madeBy, placeContent, videoCreate } from './create.ts';

/** `gw video gamma create` ("Family C endpoints"). No field is implied: the ratio follows the media that are given. */
export const create = videoCreate({
  family: gammaFamily,
  about: `Create a video of ${madeBy(Object.entries(gammaModels).map(([name, model]) => ({ ...model, name })))}, from words and first or last frames; gamma-H3 also follows pictures, videos and sounds, which may be local files.`,
  fields: flagsOfBodies([GammaCreateBody], Object.entries(gammaModels)),
  flags: {},
  endpointOf: () => gammaCreate,
  modelOf: ({ typed, base }, _, settings) => typed ?? base ?? settings.models.gamma.value,
  knownModels: Object.keys(gammaModels),
  media: (modality) => ({
    takes: { url: true, base64: true, schemes: ['gammafile'] },
    limits: gammaMedia[modality],
  }),
  totalReferenceS: () => GAMMA_TOTAL_REFERENCE_S,
  place: placeContent,
  examples: [
    'gw video gamma create --sandbox "a paper boat at dawn" --resolution 768P --duration 5 --ratio 16:9 --wait',
    'gw video gamma create --sandbox "a paper boat" --resolution 768P --duration 4 --ratio 16:9 --count 2 --wait -o boats/',
    'gw video gamma create --sandbox "the boat sails off" --first-frame https://example.com/boat.png --resolution 2K --duration 4',
    'gw video gamma create --sandbox "the fox runs" -m gamma-H3-Max --resolution 480P --duration 5 --ratio 1:1 --dry-run',
  ],
  notes: [
    '--resolution and --duration are always needed, and a prompt in every case. Text alone needs --ratio; with --first-frame ' +
      'or --last-frame the video follows the image; with --image, --video or --audio the ratio is adaptive unless given. ' +
      'Frames cannot go with references. What is over 64 MB as Base64 goes by URL or gammafile://ID.',
  ],
});
