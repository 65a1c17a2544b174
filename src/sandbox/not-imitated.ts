import { failureWords, sampleStarts } from './asset/library.ts';
import { BETA_RECORD_DAYS, betaProducts, productWord } from './beta/plan.ts';
import { SENSITIVE_TEXT, TOKENS_PER_S } from './chat/answer.ts';
import { SANDBOX_CHAT_MODEL } from './chat/input.ts';
import { SENSITIVE_OUTPUT_WORD, SENSITIVE_PROMPT_WORD } from './faults.ts';
import {
  KNOWN_FILE_ID_START,
  presetsInWords,
  SANDBOX_IMAGE_MODEL,
  SANDBOX_IMAGE_URL_MODEL,
} from './image/order.ts';
import { FINAL_FIRST_TEXT, IMAGE_S } from './image/reply.ts';

/** Limits of the embedded gateway, a sentence each, for help texts. */
export const notImitated: readonly string[] = [
  'It makes no video from a prompt: each output is a short test clip, looped to the asked size, ratio and length.',
  'Outputs are 8-bit H.264 also where the service sends 10-bit H.265 (standard 2.0 4k, 2.5 1080p) or professional mov.',
  'Addresses of images, videos and audio are not fetched, so what they hold is not checked; what comes as Base64 is.',
  `URLs of assets are not fetched: one becomes Active unless its ending contradicts its type, or its path has one of the words ${Object.keys(failureWords).join(', ')}, each of which makes it fail with a code of its own.`,
  `Assets whose IDs begin with ${sampleStarts.join(', ')} are always there, Active and in no list; nothing changes them.`,
  'Deleting an asset group deletes its assets; videos and the REST look-ups see the default project of the asset library.',
  `There is no content review; the word ${SENSITIVE_OUTPUT_WORD} in a prompt makes a task fail as one would, ${SENSITIVE_PROMPT_WORD} has family C refuse it (422), and ${SENSITIVE_TEXT} in a chat meets a content filter.`,
  'The task type of 2.5 is guessed from the words edit, replace and extend in the prompt.',
  'Duration -1 gives 4-12 s by chance; ratio adaptive follows the first Base64 image, else it is 16:9.',
  'What a request leaves out becomes 720p, 16:9, 5 s, mp4 and no audio; the service may choose otherwise.',
  `Every endpoint of family B makes a video, unless words in the prompt ask for other outputs: ${betaProducts.map(productWord).join(', ')}.`,
  `Family B's bodies that the document does not show are taken as they come; its records are kept for ${BETA_RECORD_DAYS} days, and one task in five is never seen processing.`,
  'Codes of family B other than 0 are plausible ones, as are its bills: how a task was paid for depends on its ID, and 402 comes by a fault only.',
  'A cursor of family B keeps the time range of its first page; filters and limit are those of each request.',
  'Every gammafile:// reference exists; family C follows a first Base64 image, else its ratio is 16:9, and a link lives one hour.',
  'Status callbacks are posted once, only to http:// addresses on this machine and only by the server that took the task, while it runs; what they say is the record (family C: task_id and task).',
  'A chat model understands nothing: it says what it read and goes on in made-up words, always the same for the same request; "200 words" or "markdown" in the prompt gives so many words, or Markdown.',
  'A tool is called when the prompt names it or the tool choice forces it, with arguments made from its schema (patterns are not heeded); tools other than functions are never called.',
  `In chat a word is a token, a thinking model thinks for 4-64 of them, and ${TOKENS_PER_S} are written a second, times the speed.`,
  `Native messages take the model ${SANDBOX_CHAT_MODEL}, as the document names none; the Gemini-style endpoints take the geo models.`,
  'Where the document shows no shape in chat (chunks of a stream, tool and image parts, reasoning_content, refusal) it is the public one of that name; sampling settings change nothing.',
  'An image model draws nothing that the prompt means: a picture shows the words of its prompt, its settings and the size and hash of the first image it was made from, always the same for the same request; a mask, a style, an input fidelity and a moderation level change nothing.',
  `What an image request leaves out becomes png (delta: jpeg), opaque, quality high, an address except from img models; size auto is wide or tall where the prompt says so or the first image is, else square; presets are ${presetsInWords}. Any image takes ${IMAGE_S} s, divided by the speed.`,
  `A file_id that begins with ${KNOWN_FILE_ID_START} exists and shows as its ID, all others do not; image models that the document does not list are taken where their name holds "image", such as ${SANDBOX_IMAGE_MODEL}.`,
  `Native image bodies and replies and image events have the public shape; ${SANDBOX_IMAGE_URL_MODEL} answers natively with an address in place of Base64; ${FINAL_FIRST_TEXT} in the prompt of a stream puts the finished image before the unfinished ones.`,
  `The word ${SENSITIVE_PROMPT_WORD} in the prompt of an image is refused as moderation would (400; natively 200 without an image).`,
  'The balance has the public shape of a dashboard, with made-up amounts that nothing is taken from.',
  'There are no real prices, and no watermarks: a watermarked output differs from the clean one in its bytes only; seeds, tokens and search counts are plausible numbers only.',
  'Of a form over 16 MB it keeps the beginning of each later file: enough for its size, not for a small picture of it.',
  'Choices that the document names without a list (tool choice, response format, thinking level) are the public ones of that name, and another tool choice is read as auto; of candidates only the Gemini style has more than one, eight at most.',
  'Error types and codes are plausible where the document lists none.',
];
