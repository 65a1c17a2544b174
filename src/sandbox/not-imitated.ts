import { SENSITIVE_OUTPUT_WORD } from './alpha/late-failure.ts';
import { SANDBOX_ASSET_START } from './alpha/references.ts';
import { SENSITIVE_TEXT } from './chat/answer.ts';
import { SANDBOX_CHAT_MODEL } from './chat/models.ts';
import { TOKENS_PER_S } from './chat/pace.ts';

/** What the embedded gateway does not imitate, a sentence each, for help texts. */
export const notImitated: readonly string[] = [
  'It makes no video from a prompt: each output is a short test clip, looped to the asked size, ratio and length.',
  'Outputs are 8-bit H.264 also where the service sends 10-bit H.265 (standard 2.0 4k, 2.5 1080p) or professional mov.',
  'Addresses of images, videos and audio are not fetched, so what they hold is not checked; Base64 images and audio are.',
  `There is no asset library: asset IDs that begin with ${SANDBOX_ASSET_START} exist, all others do not.`,
  `There is no content review; the word ${SENSITIVE_OUTPUT_WORD} in a prompt makes a task fail as one would, and ${SENSITIVE_TEXT} in a chat meets a content filter.`,
  'The task type of 2.5 is guessed from the words edit, replace and extend in the prompt.',
  'Duration -1 gives 4-12 s by chance; ratio adaptive follows the first Base64 image, else it is 16:9.',
  'What a request leaves out becomes 720p, 16:9, 5 s, mp4 and no audio; the service may choose otherwise.',
  'A chat model understands nothing: it says what it read and goes on in made-up words, always the same for the same request; "200 words" or "markdown" in the prompt gives so many words, or Markdown.',
  'A tool is called when the prompt names it or the tool choice forces it, with arguments made from its schema (patterns are not heeded); tools other than functions are never called.',
  `In chat a word is a token, a thinking model thinks for 4-64 of them, and ${TOKENS_PER_S} are written a second, times the speed.`,
  `Native messages take the model ${SANDBOX_CHAT_MODEL}, as the document names none; the Gemini-style endpoints take the geo models.`,
  'Where the document shows no shape in chat (chunks of a stream, tool and image parts, reasoning_content, refusal) it is the public one of that name; sampling settings change nothing.',
  'There are no prices, balances or watermarks; seeds, tokens and search counts are plausible numbers only.',
  'Error types and codes are plausible where the document lists none.',
];
