// Literal request bodies of family A, copied from or written by hand after the gateway's document: what it accepts and
// what it refuses, rule by rule. Nothing here may be computed from the product's own tables.

export interface Example {
  readonly rule: string;
  readonly body: unknown;
  /** A pattern in the refusal that names the rule. When unset, the body is accepted. */
  readonly refused?: RegExp;
  /** The body is accepted but not sent: drawing its image takes seconds, or its Base64 data is no real medium. */
  readonly notPosted?: true;
}

const V20 = 'alpha-video-2-0-260128';
const FAST = 'alpha-video-2-0-fast-260128';
const MINI = 'alpha-video-2-0-mini-260615';
const V25 = 'alpha-video-2-5-260628';
export const text = { type: 'text', text: 'a fox in the snow' };
export const image = {
  type: 'image_url',
  image_url: { url: 'https://example.com/fox.png' },
  role: 'reference_image',
};
export const video = {
  type: 'video_url',
  video_url: { url: 'https://example.com/fox.mp4' },
  role: 'reference_video',
};
export const audio = {
  type: 'audio_url',
  audio_url: { url: 'https://example.com/fox.mp3' },
  role: 'reference_audio',
};
export const first = {
  type: 'image_url',
  image_url: { url: 'https://example.com/first.png' },
  role: 'first_frame',
};
export const last = {
  type: 'image_url',
  image_url: { url: 'https://example.com/last.png' },
  role: 'last_frame',
};
export const times = <T>(count: number, item: T): T[] => Array.from({ length: count }, () => item);
const wav = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=';
const png =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

export const alphaExamples: readonly Example[] = [
  // model, content
  { rule: 'the smallest request', body: { model: V25, content: [text] } },
  { rule: 'every model takes text: 2.0', body: { model: V20, content: [text] } },
  { rule: 'every model takes text: fast', body: { model: FAST, content: [text] } },
  { rule: 'every model takes text: mini', body: { model: MINI, content: [text] } },
  { rule: 'model is required', body: { content: [text] }, refused: /model: is required/ },
  {
    rule: 'model must be known',
    body: { model: 'alpha-video-3', content: [text] },
    refused: /not a model of family alpha/,
  },
  {
    rule: 'content is required',
    body: { model: V25 },
    refused: /content: (is required|a prompt or at least)/,
  },
  {
    rule: 'content may hold nothing, as the document does not forbid it',
    body: { model: V25, content: [] },
  },
  {
    rule: 'a prompt may be of blanks',
    body: { model: V25, content: [{ type: 'text', text: '  ' }] },
  },
  {
    rule: 'content types are four',
    body: { model: V25, content: [{ type: 'image', url: 'x' }] },
    refused: /type/,
  },
  {
    rule: 'a role fits its type',
    body: { model: V25, content: [text, { ...image, role: 'reference_video' }] },
    refused: /one of reference_image, first_frame, last_frame/,
  },
  // rule 1 and 2 for content
  { rule: '1: an image by URL', body: { model: V25, content: [text, image] } },
  {
    rule: '1: an image by asset URI',
    body: { model: V25, content: [text, { ...image, image_url: { url: 'asset://asset-sandbox-image-1' } }] },
  },
  {
    rule: '1: a video by asset URI',
    body: { model: V25, content: [text, { ...video, video_url: { url: 'asset://asset-sandbox-video-1' } }] },
  },
  {
    rule: '1: a scheme in capitals',
    body: { model: V25, content: [text, { ...image, image_url: { url: 'HTTPS://example.com/fox.png' } }] },
  },
  {
    rule: '1: a port that does not exist',
    body: {
      model: V25,
      content: [text, { ...image, image_url: { url: 'https://example.com:65536/a.png' } }],
    },
    refused: /not a URL, a Base64 data URI or asset/,
  },
  {
    rule: '1: Base64 that is cut',
    body: { model: V25, content: [text, { ...image, image_url: { url: 'data:image/png;base64,AAAAA' } }] },
    refused: /not a URL, a Base64 data URI or asset/,
  },
  {
    rule: '1: a video not by Base64',
    body: { model: V25, content: [text, { ...video, video_url: { url: 'data:video/mp4;base64,AAAA' } }] },
    refused: /videos are sent by address only/,
  },
  {
    rule: '1: a URL is http or https',
    body: { model: V25, content: [text, { ...image, image_url: { url: 'ftp://example.com/a.png' } }] },
    refused: /not a URL/,
  },
  {
    rule: '1: a URL has no newline',
    body: { model: V25, content: [text, { ...image, image_url: { url: 'https://example.com/a\n.png' } }] },
    refused: /not a URL/,
  },
  {
    rule: '1: no file: URL',
    body: { model: V25, content: [text, { ...image, image_url: { url: 'file:///etc/passwd' } }] },
    refused: /not a URL/,
  },
  {
    rule: '1: no file: URL of a video',
    body: { model: V25, content: [text, { ...video, video_url: { url: 'file:///etc/passwd' } }] },
    refused: /not a URL/,
  },
  {
    rule: '2: a bare asset ID',
    body: { model: V25, content: [text, { ...image, image_url: { url: 'asset-20260101-abcd' } }] },
    refused: /bare asset ID is rejected: write asset:\/\/asset-20260101-abcd/,
  },
  {
    rule: '2: an asset URI with nothing behind it',
    body: { model: V25, content: [text, { ...image, image_url: { url: 'asset://' } }] },
    refused: /not a URL/,
  },
  // rule 3
  {
    rule: '3: media are named by number',
    body: { model: V25, content: [{ type: 'text', text: 'the fox of image 1 runs' }, image] },
  },
  {
    rule: '3: no asset ID in the prompt',
    body: {
      model: V25,
      content: [
        { type: 'text', text: 'the fox of asset-sandbox-image-1 runs' },
        { ...image, image_url: { url: 'asset://asset-sandbox-image-1' } },
      ],
    },
    refused: /holds an asset ID/,
  },
  {
    rule: '3: no asset URI in the prompt',
    body: { model: V25, content: [{ type: 'text', text: 'like asset://a' }] },
    refused: /holds an asset ID/,
  },
  // rule 4
  {
    rule: '4: a first frame on 2.5, adaptive',
    body: { model: V25, content: [text, first], ratio: 'adaptive' },
  },
  {
    rule: '4: a first frame on 2.5, another ratio',
    body: { model: V25, content: [text, first], ratio: '16:9' },
    refused: /requires the ratio adaptive/,
  },
  {
    rule: '4: first and last frame on 2.5, adaptive',
    body: { model: V25, content: [text, first, last], ratio: 'adaptive' },
  },
  {
    rule: '4: first and last frame on 2.5, another ratio',
    body: { model: V25, content: [text, first, last], ratio: '1:1' },
    refused: /requires the ratio adaptive/,
  },
  {
    rule: '4: a first frame on 2.0, any of its ratios',
    body: { model: V20, content: [text, first], ratio: '16:9' },
  },
  {
    rule: '4: a last frame alone',
    body: { model: V20, content: [text, last] },
    refused: /a last frame needs a first frame/,
  },
  {
    rule: '4: one first frame',
    body: { model: V20, content: [text, first, first] },
    refused: /at most one first_frame/,
  },
  {
    rule: '4: one last frame',
    body: { model: V20, content: [text, first, last, last] },
    refused: /at most one last_frame/,
  },
  // rule 5, 6, 7, 8
  {
    rule: '5: editing',
    body: {
      model: V25,
      content: [text, video],
      omni_reference_task_type: 'edit',
      duration: -1,
      ratio: 'adaptive',
    },
  },
  {
    rule: '5: editing without a video',
    body: {
      model: V25,
      content: [text, image],
      omni_reference_task_type: 'edit',
      duration: -1,
      ratio: 'adaptive',
    },
    refused: /editing needs a reference video/,
  },
  {
    rule: '5: editing with a length',
    body: {
      model: V25,
      content: [text, video],
      omni_reference_task_type: 'edit',
      duration: 5,
      ratio: 'adaptive',
    },
    refused: /editing requires the duration -1/,
  },
  {
    rule: '5: editing with another ratio',
    body: {
      model: V25,
      content: [text, video],
      omni_reference_task_type: 'edit',
      duration: -1,
      ratio: '16:9',
    },
    refused: /editing requires the ratio adaptive/,
  },
  {
    rule: '6: extension with a length',
    body: {
      model: V25,
      content: [text, video],
      omni_reference_task_type: 'extend',
      duration: 30,
      ratio: 'adaptive',
    },
  },
  {
    rule: '6: extension, auto length',
    body: {
      model: V25,
      content: [text, video],
      omni_reference_task_type: 'extend',
      duration: -1,
      ratio: 'adaptive',
    },
  },
  {
    rule: '6: extension with another ratio',
    body: { model: V25, content: [text, video], omni_reference_task_type: 'extend', ratio: '9:16' },
    refused: /extension requires the ratio adaptive/,
  },
  {
    rule: '6: extension without a video',
    body: { model: V25, content: [text], omni_reference_task_type: 'extend', ratio: 'adaptive' },
    refused: /extension needs a reference video/,
  },
  {
    rule: '6: extension of 31 s',
    body: {
      model: V25,
      content: [text, video],
      omni_reference_task_type: 'extend',
      ratio: 'adaptive',
      duration: 31,
    },
    refused: /4-30/,
  },
  {
    rule: '7: task type auto',
    body: { model: V25, content: [text, video], omni_reference_task_type: 'auto' },
  },
  {
    rule: '7: task type reference',
    body: { model: V25, content: [text, image], omni_reference_task_type: 'reference' },
  },
  {
    rule: '7: reference without one',
    body: { model: V25, content: [text], omni_reference_task_type: 'reference' },
    refused: /reference needs at least one/,
  },
  {
    rule: '7: an unknown task type',
    body: { model: V25, content: [text], omni_reference_task_type: 'remix' },
    refused: /one of auto, reference, edit, extend/,
  },
  {
    rule: '7: no task type on 2.0',
    body: { model: V20, content: [text, video], omni_reference_task_type: 'auto' },
    refused: /not a setting of 2.0; auto is for 2.5/,
  },
  { rule: '8: -1 on 2.5', body: { model: V25, content: [text], duration: -1 } },
  { rule: '8: -1 on 2.0', body: { model: V20, content: [text], duration: -1 }, refused: /4-15 seconds/ },
  // rule 9
  { rule: '9: audio alone on 2.0', body: { model: V20, content: [audio] }, refused: /audio alone/ },
  { rule: '9: text and audio on 2.0', body: { model: V20, content: [text, audio] }, refused: /audio alone/ },
  { rule: '9: text, image and audio on 2.0', body: { model: V20, content: [text, image, audio] } },
  { rule: '9: audio alone on 2.5', body: { model: V25, content: [audio] } },
  { rule: '9: web search with text', body: { model: V20, content: [text], tools: [{ type: 'web_search' }] } },
  {
    rule: '9: web search with an image',
    body: { model: V20, content: [text, image], tools: [{ type: 'web_search' }] },
    refused: /text-only input/,
  },
  {
    rule: '9: web search on 2.5',
    body: { model: V25, content: [text], tools: [{ type: 'web_search' }] },
    refused: /for the 2.0 models/,
  },
  {
    rule: '9: another tool',
    body: { model: V20, content: [text], tools: [{ type: 'code' }] },
    refused: /web_search/,
  },
  {
    rule: '9: two tools',
    body: { model: V20, content: [text], tools: [{ type: 'web_search' }, { type: 'web_search' }] },
    refused: /./,
  },
  // durations
  { rule: 'duration 4 on 2.0', body: { model: V20, content: [text], duration: 4 } },
  { rule: 'duration 15 on 2.0', body: { model: V20, content: [text], duration: 15 } },
  { rule: 'duration 3 on 2.0', body: { model: V20, content: [text], duration: 3 }, refused: /4-15 seconds/ },
  {
    rule: 'duration 16 on 2.0',
    body: { model: V20, content: [text], duration: 16 },
    refused: /4-15 seconds/,
  },
  {
    rule: 'duration 16 on fast',
    body: { model: FAST, content: [text], duration: 16 },
    refused: /4-15 seconds/,
  },
  {
    rule: 'duration 16 on mini',
    body: { model: MINI, content: [text], duration: 16 },
    refused: /4-15 seconds/,
  },
  { rule: 'duration 30 on 2.5', body: { model: V25, content: [text], duration: 30 } },
  {
    rule: 'duration 31 on 2.5',
    body: { model: V25, content: [text], duration: 31 },
    refused: /4-30 seconds/,
  },
  { rule: 'duration 0 on 2.5', body: { model: V25, content: [text], duration: 0 }, refused: /4-30 seconds/ },
  {
    rule: 'duration -2 on 2.5',
    body: { model: V25, content: [text], duration: -2 },
    refused: /4-30 seconds/,
  },
  { rule: 'duration 5.5', body: { model: V25, content: [text], duration: 5.5 }, refused: /whole number/ },
  { rule: 'duration as text', body: { model: V25, content: [text], duration: '5' }, refused: /number/ },
  // resolutions
  { rule: '4k on 2.0', body: { model: V20, content: [text], resolution: '4k' } },
  { rule: '1080p on 2.0', body: { model: V20, content: [text], resolution: '1080p' } },
  { rule: '4k on fast', body: { model: FAST, content: [text], resolution: '4k' }, refused: /4k is for 2.0/ },
  {
    rule: '1080p on fast',
    body: { model: FAST, content: [text], resolution: '1080p' },
    refused: /takes 480p, 720p/,
  },
  {
    rule: '1080p on mini',
    body: { model: MINI, content: [text], resolution: '1080p' },
    refused: /takes 480p, 720p/,
  },
  { rule: '720p on mini', body: { model: MINI, content: [text], resolution: '720p' } },
  { rule: '1080p on 2.5', body: { model: V25, content: [text], resolution: '1080p' } },
  { rule: '4k on 2.5', body: { model: V25, content: [text], resolution: '4k' }, refused: /4k is for 2.0/ },
  {
    rule: '4K is not how it is spelled',
    body: { model: V20, content: [text], resolution: '4K' },
    refused: /did you mean 4k/,
  },
  {
    rule: '360p',
    body: { model: V20, content: [text], resolution: '360p' },
    refused: /one of 480p, 720p, 1080p, 4k/,
  },
  // ratios
  ...['21:9', '16:9', '4:3', '1:1', '3:4', '9:16'].map((ratio) => ({
    rule: `ratio ${ratio} on 2.0`,
    body: { model: V20, content: [text], ratio },
  })),
  { rule: 'ratio adaptive on 2.5', body: { model: V25, content: [text], ratio: 'adaptive' } },
  {
    rule: 'ratio adaptive on 2.0',
    body: { model: V20, content: [text], ratio: 'adaptive' },
    refused: /takes 21:9, 16:9/,
  },
  { rule: 'ratio 2:1', body: { model: V25, content: [text], ratio: '2:1' }, refused: /one of 21:9/ },
  // formats, switches
  { rule: 'mov on 2.5', body: { model: V25, content: [text], output_format: 'mov' } },
  { rule: 'mp4 on 2.5', body: { model: V25, content: [text], output_format: 'mp4' } },
  {
    rule: 'mov on 2.0',
    body: { model: V20, content: [text], output_format: 'mov' },
    refused: /not a setting of 2.0; mov is for 2.5/,
  },
  { rule: 'webm', body: { model: V25, content: [text], output_format: 'webm' }, refused: /one of mp4, mov/ },
  {
    rule: 'audio and watermark',
    body: { model: V25, content: [text], generate_audio: true, watermark: false },
  },
  {
    rule: 'generate_audio is a boolean',
    body: { model: V25, content: [text], generate_audio: 'yes' },
    refused: /true or false/,
  },
  {
    rule: 'watermark is a boolean',
    body: { model: V25, content: [text], watermark: 1 },
    refused: /true or false/,
  },
  { rule: 'last frame on 2.0', body: { model: V20, content: [text], return_last_frame: true } },
  {
    rule: 'last frame on 2.5',
    body: { model: V25, content: [text], return_last_frame: true },
    refused: /only the 2.0 models/,
  },
  // reference counts
  { rule: '9 images on 2.0', body: { model: V20, content: [text, ...times(9, image)] } },
  {
    rule: '10 images on 2.0',
    body: { model: V20, content: [text, ...times(10, image)] },
    refused: /up to 9 image files, 10 given/,
  },
  { rule: '3 videos on 2.0', body: { model: V20, content: [text, ...times(3, video)] } },
  {
    rule: '4 videos on 2.0',
    body: { model: V20, content: [text, ...times(4, video)] },
    refused: /up to 3 video files, 4 given/,
  },
  {
    rule: '4 audio files on 2.0',
    body: { model: V20, content: [text, image, ...times(4, audio)] },
    refused: /up to 3 audio files, 4 given/,
  },
  {
    rule: '15 references on 2.0',
    body: { model: V20, content: [text, ...times(9, image), ...times(3, video), ...times(3, audio)] },
  },
  { rule: '30 images on 2.5', body: { model: V25, content: [text, ...times(30, image)] } },
  {
    rule: '31 images on 2.5',
    body: { model: V25, content: [text, ...times(31, image)] },
    refused: /up to 30 image files, 31 given/,
  },
  {
    rule: '11 videos on 2.5',
    body: { model: V25, content: [text, ...times(11, video)] },
    refused: /up to 10 video files/,
  },
  {
    rule: '11 audio files on 2.5',
    body: { model: V25, content: [text, ...times(11, audio)] },
    refused: /up to 10 audio files/,
  },
  {
    rule: '50 references on 2.5',
    body: { model: V25, content: [text, ...times(30, image), ...times(10, video), ...times(10, audio)] },
  },
  {
    rule: '51 references on 2.5',
    body: { model: V25, content: [text, ...times(31, image), ...times(10, video), ...times(10, audio)] },
    refused: /up to 50 references, 51 given/,
  },
];

/** Base64 media that are well-formed but break a limit of 2.5: refused by the sandbox and by gw, which look inside. */
export const smallMedia = { png: `data:image/png;base64,${png}`, wav: `data:audio/wav;base64,${wav}` };
