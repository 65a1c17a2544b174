import { list } from '../../flags/flag.ts';
import { promptFlags } from '../../flags/job-flags.ts';
import { ImageNativeBody, imageNative } from '../../gateway/image/native.ts';
import { modelFlag, outputFlags } from './flags.ts';
import { imageCommand } from './image-command.ts';
import { imageInputs } from './references.ts';
import { silenceNote } from './send-images.ts';

const nativeFlags = {
  ...promptFlags,
  model: modelFlag,
  image: list('REF', 'image to edit or to go by: file, URL or data URI'),
  ...outputFlags,
} as const;

export const native = imageCommand({
  endpoint: imageNative,
  schema: ImageNativeBody,
  flags: nativeFlags,
  promptIsOptional: true,
  takesForm: false,
  references: (flags) => imageInputs(flags.image ?? [], '--image'),
  params: (model) => ({ model }),
  // The prompt and the images of the flags are one content, which replaces those of --body.
  body: ({ base, prompt, media }) => {
    const { model: _, ...rest } = base;
    const parts = [
      ...(prompt === undefined ? [] : [{ text: prompt }]),
      ...media.map(({ url }) => partOf(url)),
    ];
    return { ...rest, ...(parts.length > 0 && { contents: [{ role: 'user', parts }] }) };
  },
  fill: (body) => body,
  warnings: () => [],
  flagKeyOf: ([field]) => (field === 'contents' ? 'prompt' : undefined),
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

/** A part with the image: Base64 apart from its type, an address as it is. */
function partOf(url: string): Record<string, unknown> {
  if (!url.startsWith('data:')) return { fileData: { fileUri: url } };
  // No pattern over the whole: images are megabytes.
  const comma = url.indexOf(',');
  const mimeType = url.slice('data:'.length, comma).replace(/;.*$/, '');
  return { inlineData: { mimeType, data: url.slice(comma + 1) } };
}
