import { SENSITIVE_OUTPUT_WORD } from './alpha/late-failure.ts';
import { SANDBOX_ASSET_START } from './alpha/references.ts';

/** What the embedded gateway does not imitate, a sentence each, for help texts. */
export const notImitated: readonly string[] = [
  'It makes no video from a prompt: each output is a short test clip, looped to the asked size, ratio and length.',
  'Outputs are 8-bit H.264 also where the service sends 10-bit H.265 (standard 2.0 4k, 2.5 1080p) or professional mov.',
  'Addresses of images, videos and audio are not fetched, so what they hold is not checked; Base64 images and audio are.',
  `There is no asset library: asset IDs that begin with ${SANDBOX_ASSET_START} exist, all others do not.`,
  `There is no content review; the word ${SENSITIVE_OUTPUT_WORD} in a prompt makes a task fail as one would.`,
  'The task type of 2.5 is guessed from the words edit, replace and extend in the prompt.',
  'Duration -1 gives 4-12 s by chance; ratio adaptive follows the first Base64 image, else it is 16:9.',
  'What a request leaves out becomes 720p, 16:9, 5 s, mp4 and no audio; the service may choose otherwise.',
  'There are no prices, balances or watermarks; seeds, tokens and search counts are plausible numbers only.',
  'Error types and codes are plausible where the document lists none.',
];
