import { ImageEditBody, imageEdit } from '../../gateway/image/edit.ts';
import { fillImageBody, type ImageSettings, imageWarnings } from '../../gateway/image/rules.ts';
import { editFlags, flagKeyOf, typedFields } from './flags.ts';
import { imageCommand } from './image-command.ts';
import { imageInputs } from './references.ts';
import { silenceNote } from './send-images.ts';

export const edit = imageCommand({
  endpoint: imageEdit,
  schema: ImageEditBody,
  flags: editFlags,
  promptIsOptional: false,
  takesForm: true,
  references: (flags) => [
    ...imageInputs(flags.image ?? [], '--image', ['file_id']),
    ...imageInputs(flags.mask === undefined ? [] : [flags.mask], '--mask', ['file_id']),
  ],
  body: ({ base, flags, prompt, model, media }) => {
    const sources = (flag: string) =>
      media.filter(({ input }) => input.flag === flag).map(({ url }) => sourceOf(url));
    const images = sources('--image');
    const [mask] = sources('--mask');
    return {
      ...base,
      model,
      ...(prompt !== undefined && { prompt }),
      ...typedFields(flags),
      ...(images.length > 0 && { images }),
      ...(mask && { mask }),
    };
  },
  fill: fillImageBody,
  warnings: (body) => {
    const parsed = ImageEditBody.safeParse(body);
    return parsed.success ? imageWarnings(parsed.data as ImageSettings) : [];
  },
  flagKeyOf: ([field]) => flagKeyOf(field),
  examples: [
    'gw image create --sandbox "a paper boat" -o paper.png && gw image edit --sandbox "fold it from newspaper" --image paper.png',
    'gw image edit --sandbox "put a hat on the fox" --image https://example.com/fox.png --mask file_id:file-hat-mask --dry-run',
  ],
  notes: [
    'Takes the img models and legacy-image-2. Local files are sent from disk as a form; a URL, a data URI or a ' +
      'file_id: makes the request JSON, with files as Base64. Sizes and qualities: gw image create --help.',
    silenceNote,
  ],
});

const FILE_ID = 'file_id:';

/** An image as the body names it: by the ID of a file that the gateway holds, or by a URL. */
const sourceOf = (url: string): Record<string, string> =>
  url.startsWith(FILE_ID) ? { file_id: url.slice(FILE_ID.length) } : { image_url: url };
