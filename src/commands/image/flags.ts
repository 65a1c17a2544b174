import { usage } from '../../errors.ts';
import { type Flag, fromField, list, on, parsed, switchFromField, text } from '../../flags/flag.ts';
import { promptFlags, saveFlags } from '../../flags/job-flags.ts';
import { ImageEditBody } from '../../gateway/image/edit.ts';
import { ImageGenerateBody } from '../../gateway/image/generate.ts';
import { imageModels, imageModelsWhere } from '../../gateway/image/models.ts';

// The flags of `gw image create` and `edit`, and the fields of the body that they set.

const { shape } = ImageGenerateBody;

type NumberField = 'n' | 'output_compression' | 'partial_images';

/** A whole number; its range is the schema's business. */
function wholeNumber(field: NumberField): Flag<number> {
  return parsed('N', shape[field].description ?? '', (raw, flag) => {
    if (/^-?\d{1,9}$/.test(raw)) return Number(raw);
    throw usage(`${flag} ${raw}: not a whole number`, `write it in digits: ${shape[field].description}`);
  });
}

/** The choices of both endpoints; each body's schema says which of them it takes. */
const fieldFlags = {
  size: fromField(shape.size, 'SIZE'),
  n: wholeNumber('n'),
  background: fromField(shape.background),
  moderation: fromField(shape.moderation),
  format: fromField(shape.output_format),
  compression: wholeNumber('output_compression'),
  style: fromField(shape.style),
  responseFormat: fromField(shape.response_format),
  stream: switchFromField(shape.stream),
  partialImages: wholeNumber('partial_images'),
  inputFidelity: fromField(shape.input_fidelity),
  user: text('ID', shape.user.description ?? ''),
} as const;

export const modelFlag = text('MODEL', 'model ID (default: the setting models.image)', {
  short: 'm',
  choices: Object.keys(imageModels),
  completes: 'model:image',
});

/** Where images go and how they are shown; every image command has these. */
export const outputFlags = {
  out: {
    ...saveFlags.out,
    summary:
      'file, directory (ends in /) or pattern with {id} {model} {index} {date} {time} {ext} ' +
      '(default ./{id}.{ext}, with several images ./{id}-{index}.{ext}); - writes the one image to stdout',
  },
  force: saveFlags.force,
  preview: on('show the image in the terminal'),
} as const;

const settingFlags = {
  ...fieldFlags,
  keepPartials: on('save the partial images too, beside the final one'),
} as const;

export const createFlags = {
  ...promptFlags,
  model: modelFlag,
  image: list('REF', 'image to edit, or reference image (delta): file, URL or data URI'),
  quality: fromField(shape.quality, 'QUALITY'),
  ...settingFlags,
  ...outputFlags,
} as const;

export const editFlags = {
  ...promptFlags,
  model: { ...modelFlag, choices: imageModelsWhere((model) => model.edits) },
  image: list('REF', 'image to edit, 1-16: file, URL, data URI or file_id:ID'),
  mask: text('REF', 'mask of the edit: file, URL, data URI or file_id:ID'),
  multipart: {
    ...on('send local files as they are, not as Base64 (default where all images are local files)'),
    negatable: true,
  },
  quality: fromField(ImageEditBody.shape.quality, 'QUALITY'),
  ...settingFlags,
  ...outputFlags,
} as const;

/** Flags by the field that they set, where the names differ. */
const renamed: Readonly<Record<string, string>> = {
  format: 'output_format',
  compression: 'output_compression',
  responseFormat: 'response_format',
  partialImages: 'partial_images',
  inputFidelity: 'input_fidelity',
};
const fieldKeys = [...Object.keys(fieldFlags), 'quality'];

/** The fields of the body that flags have set. */
export function typedFields(flags: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const fields = fieldKeys
    .filter((key) => flags[key] !== undefined)
    .map((key) => [renamed[key] ?? key, flags[key]]);
  return Object.fromEntries(fields);
}

const keyOfField = new Map<string, string>([
  ...fieldKeys.map((key): [string, string] => [renamed[key] ?? key, key]),
  ['model', 'model'],
  ['prompt', 'prompt'],
  ['image', 'image'],
  ['images', 'image'],
  ['mask', 'mask'],
]);

/** The key of the flag that sets a field of the body, if there is one. */
export const flagKeyOf = (field: PropertyKey | undefined): string | undefined =>
  keyOfField.get(String(field));
