import * as z from 'zod/mini';
import { splitDataUri } from '../chat/surface.ts';
import { flagsOfBodies } from '../flags/body-flags.ts';
import { everywhere, on } from '../flags/flag.ts';
import { ImageEditBody, ImageGenerateBody, imageEdit, imageGenerate } from '../gateway/image/create.ts';
import { type ImageModel, imageModel, imageModels } from '../gateway/image/models.ts';
import { ImageOpenBody, imageNative } from '../gateway/image/native.ts';
import { fillImageBody } from '../gateway/image/rules.ts';
import { sizeInWords } from '../gateway/image/size.ts';
import { imageCommand, partialFlags } from './image/image-command.ts';
import { silenceNote } from './image/send-images.ts';

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
    ...(media.length > 0 && { image: imageField(media, model) }),
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

/** A delta model takes a single reference as a string; other models, and several references, need a list. */
function imageField(media: readonly { readonly url: string }[], model: string): string | readonly string[] {
  const [first = '', ...others] = media.map(({ url }) => url);
  return imageModel(model)?.family === 'delta' && others.length === 0 ? first : [first, ...others];
}

export const sizesHelp = (): readonly string[] => [
  `Sizes:\n${byModel((model) => sizeInWords(model.size))}`,
  `Qualities:\n${byModel((model) => model.qualities.join(', '))}`,
];

/** The values that each model accepts, with equal models together: `img-2, img-2-2026-04-21: low, medium`. */
function byModel(of: (model: ImageModel) => string): string {
  const ids = new Map<string, string[]>();
  for (const [id, model] of Object.entries(imageModels)) {
    const words = of(model);
    ids.set(words, [...(ids.get(words) ?? []), id]);
  }
  return [...ids].map(([words, names]) => `  ${names.join(', ')}: ${words}`).join('\n');
}

export const edit = imageCommand({
  command: 'image edit',
  endpoint: imageEdit,
  fields: flagsOfBodies([ImageEditBody]),
  flags: {
    multipart: {
      ...on('send local files as they are, not as Base64 (default where all images are local files)'),
      negatable: true,
      from: everywhere,
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

const sourceOf = (url: string): Record<string, string> =>
  url.startsWith(FILE_ID) ? { file_id: url.slice(FILE_ID.length) } : { image_url: url };

const { model } = flagsOfBodies([ImageGenerateBody]).flags;

export const native = imageCommand({
  command: 'image native',
  endpoint: imageNative,
  fields: flagsOfBodies([ImageOpenBody]),
  flags: { ...(model && { model }) },
  promptIsOptional: true,
  takesForm: false,
  schemes: [],
  params: (model) => ({ model }),
  place: ({ base, prompt, media }) => {
    const { model: _, contents, ...rest } = base;
    if (prompt === undefined && media.length === 0)
      return { ...rest, ...(contents !== undefined && { contents }) };
    const given: unknown[] = Array.isArray(contents) ? contents : [];
    const last = z
      .looseObject({ role: z.optional(z.literal('user')), parts: z.array(z.looseObject({})) })
      .safeParse(given.at(-1)).data;
    // In the user's last content of --body, a typed prompt replaces the texts, and typed images replace all else.
    const kept = (last?.parts ?? []).filter(({ text }) =>
      text === undefined ? media.length === 0 : prompt === undefined,
    );
    const images = media.map(({ url }) => partOf(url));
    const parts = [...(prompt === undefined ? [] : [{ text: prompt }]), ...kept, ...images];
    return { ...rest, contents: [...(last ? given.slice(0, -1) : given), { role: 'user', ...last, parts }] };
  },
  examples: [
    'gw image native --sandbox "a lighthouse in fog" -o lighthouse.png',
    'gw image native --sandbox "the same at night" --image lighthouse.png --set generationConfig.candidateCount=1',
    'gw image native --sandbox "a lighthouse" --image https://example.com/coast.jpg --dry-run',
  ],
  notes: [
    'POST /v1/models/MODEL:generateContent. The gateway does not document the body of this endpoint: gw sends the ' +
      'public shape (contents with text, inlineData for files, fileData for URLs), --body and --set send anything ' +
      'else, and the reply is read leniently, as Base64 parts or as an image URL.',
    silenceNote,
  ],
});

/** A content part for an image: Base64 with its type, or an address. A shown output has its label in place of Base64. */
function partOf(url: string): Record<string, unknown> {
  if (url.startsWith('job:')) return { inlineData: { data: url } };
  const data = splitDataUri(url);
  return data ? { inlineData: { mimeType: data.mime, data: data.base64 } } : { fileData: { fileUri: url } };
}
