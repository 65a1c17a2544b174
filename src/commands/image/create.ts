import { flagsOfBodies } from '../../flags/body-flags.ts';
import { ImageGenerateBody, imageGenerate } from '../../gateway/image/create.ts';
import { type ImageModel, imageModel, imageModels } from '../../gateway/image/models.ts';
import { fillImageBody } from '../../gateway/image/rules.ts';
import { sizeInWords } from '../../gateway/image/size.ts';
import { imageCommand, partialFlags } from './image-command.ts';
import { silenceNote } from './send-images.ts';

export const create = imageCommand({
  command: 'image create',
  endpoint: imageGenerate,
  fields: flagsOfBodies([ImageGenerateBody]),
  flags: partialFlags,
  promptIsOptional: false,
  takesForm: false,
  schemes: [],
  place: ({ base, prompt, model, media }) => ({
    ...base,
    model,
    ...(prompt !== undefined && { prompt }),
    ...(media.length > 0 && {
      image: imageField(
        media.map(({ url }) => url),
        model,
      ),
    }),
  }),
  fill: fillImageBody,
  examples: [
    'gw image create --sandbox "a paper boat on a calm sea at dawn" -o boat.png',
    'gw image create --sandbox "a fox in the snow" -m img-2.5-flare --size 1536x1024 --quality max --format webp --n 2 -o foxes/',
    'gw image create --sandbox "a fox in the snow" --partial-images 2 --keep-partials',
    'gw image create --sandbox "the boat of image 1 at night" --image boat.png -m delta-image-5-0-pro-260628 --size 2K',
    'gw image create --sandbox "a stamp" --background transparent -o - > stamp.png',
  ],
  notes: [
    'With --image the request edits (img models) or follows the references (delta models). A model that is not listed ' +
      'is sent as it is, held to the rules that name no model.',
    'The sizes and qualities of each model: gw help image-sizes.',
    silenceNote,
  ],
});

/** A delta model takes a single reference as a text; every other request, and several references, a list. */
const imageField = (urls: readonly string[], model: string): string | readonly string[] =>
  imageModel(model)?.family === 'delta' && urls.length === 1 ? (urls[0] ?? '') : urls;

/** The sizes and qualities of each model, for `gw help image-sizes`. */
export const sizesHelp = (): readonly string[] => [
  `Sizes:\n${byModel((model) => sizeInWords(model.size))}`,
  `Qualities:\n${byModel((model) => model.qualities.join(', '))}`,
];

/** What each model takes of a thing, models that take the same together: `img-2, img-2-2026-04-21: low, medium`. */
function byModel(of: (model: ImageModel) => string): string {
  const ids = new Map<string, string[]>();
  for (const [id, model] of Object.entries(imageModels)) {
    const words = of(model);
    ids.set(words, [...(ids.get(words) ?? []), id]);
  }
  return [...ids].map(([words, names]) => `  ${names.join(', ')}: ${words}`).join('\n');
}
