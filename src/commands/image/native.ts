import { flagsOfBodies } from '../../flags/body-flags.ts';
import { ImageGenerateBody } from '../../gateway/image/create.ts';
import { ImageOpenBody, imageNative } from '../../gateway/image/native.ts';
import { imageCommand } from './image-command.ts';
import { silenceNote } from './send-images.ts';

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
  // The prompt and the images of the flags are one content, which replaces those of --body.
  place: ({ base, prompt, media }) => {
    const { model: _, ...rest } = base;
    const parts = [
      ...(prompt === undefined ? [] : [{ text: prompt }]),
      ...media.map(({ url }) => partOf(url)),
    ];
    return { ...rest, ...(parts.length > 0 && { contents: [{ role: 'user', parts }] }) };
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

/** A part with the image: Base64 apart from its type, an address as it is. */
function partOf(url: string): Record<string, unknown> {
  if (!url.startsWith('data:')) return { fileData: { fileUri: url } };
  // No pattern over the whole: images are megabytes.
  const comma = url.indexOf(',');
  const mimeType = url.slice('data:'.length, comma).replace(/;.*$/, '');
  return { inlineData: { mimeType, data: url.slice(comma + 1) } };
}
