import { flagsOfBodies } from '../../flags/body-flags.ts';
import { on } from '../../flags/flag.ts';
import { ImageEditBody, imageEdit } from '../../gateway/image/create.ts';
import { fillImageBody } from '../../gateway/image/rules.ts';
import { imageCommand, partialFlags } from './image-command.ts';
import { silenceNote } from './send-images.ts';

export const edit = imageCommand({
  command: 'image edit',
  endpoint: imageEdit,
  fields: flagsOfBodies([ImageEditBody]),
  flags: {
    multipart: {
      ...on('send local files as they are, not as Base64 (default where all images are local files)'),
      negatable: true,
    },
    ...partialFlags,
  },
  promptIsOptional: false,
  takesForm: true,
  schemes: ['file_id'],
  place: ({ base, prompt, model, media }) => {
    const sources = (kind: string) =>
      media.filter((each) => each.kind === kind).map(({ url }) => sourceOf(url));
    const images = sources('image');
    const [mask] = sources('mask');
    return {
      ...base,
      model,
      ...(prompt !== undefined && { prompt }),
      ...(images.length > 0 && { images }),
      ...(mask && { mask }),
    };
  },
  fill: fillImageBody,
  examples: [
    'gw image create --sandbox "a paper boat" -o paper.png && gw image edit --sandbox "fold it from newspaper" --image paper.png',
    'gw image edit --sandbox "put a hat on the fox" --image https://example.com/fox.png --mask file_id:file-hat-mask --dry-run',
  ],
  notes: [
    'Takes the img models and legacy-image-2. Local files are sent from disk as a form; a URL, a data URI or a ' +
      'file_id: makes the request JSON, with files as Base64. Sizes and qualities: gw help image-sizes.',
    silenceNote,
  ],
});

const FILE_ID = 'file_id:';

/** An image as the body names it: by the ID of a file that the gateway holds, or by a URL. */
const sourceOf = (url: string): Record<string, string> =>
  url.startsWith(FILE_ID) ? { file_id: url.slice(FILE_ID.length) } : { image_url: url };
