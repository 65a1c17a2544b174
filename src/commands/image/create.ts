import { ImageGenerateBody, imageGenerate } from '../../gateway/image/generate.ts';
import { imageModel } from '../../gateway/image/models.ts';
import { fillImageBody, type ImageSettings, imageWarnings } from '../../gateway/image/rules.ts';
import { createFlags, flagKeyOf, typedFields } from './flags.ts';
import { imageCommand } from './image-command.ts';
import { qualityHelp, sizeHelp } from './limits-help.ts';
import { imageInputs } from './references.ts';
import { silenceNote } from './send-images.ts';

export const create = imageCommand({
  endpoint: imageGenerate,
  schema: ImageGenerateBody,
  flags: createFlags,
  promptIsOptional: false,
  takesForm: false,
  references: (flags) => imageInputs(flags.image ?? [], '--image'),
  body: ({ base, flags, prompt, model, media }) => ({
    ...base,
    model,
    ...(prompt !== undefined && { prompt }),
    ...typedFields(flags),
    ...(media.length > 0 && {
      image: imageField(
        media.map(({ url }) => url),
        model,
      ),
    }),
  }),
  fill: fillImageBody,
  warnings: (body) => {
    const parsed = ImageGenerateBody.safeParse(body);
    return parsed.success ? imageWarnings(parsed.data as ImageSettings) : [];
  },
  flagKeyOf: ([field]) => flagKeyOf(field),
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
    sizeHelp(),
    qualityHelp(),
    silenceNote,
  ],
});

/** A delta model takes a single reference as a text; every other request, and several references, a list. */
const imageField = (urls: readonly string[], model: string): string | readonly string[] =>
  imageModel(model)?.family === 'delta' && urls.length === 1 ? (urls[0] ?? '') : urls;
