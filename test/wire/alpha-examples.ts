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

export const example = (rule: string, body: unknown, refused?: RegExp): Example => ({
  rule,
  body,
  ...(refused && { refused }),
});
/** Examples whose rule begins with a name, of bodies that differ in some fields. */
export const examplesOf =
  (name: string, bodyOf: (fields: object) => unknown) =>
  (rule: string, fields: object = {}, refused?: RegExp): Example =>
    example(`${name}: ${rule}`, bodyOf(fields), refused);
export const unposted = (accepted: Example): Example => ({ ...accepted, notPosted: true });

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
const imageAt = (url: string) => ({ ...image, image_url: { url } });
const videoAt = (url: string) => ({ ...video, video_url: { url } });
export const times = <T>(count: number, item: T): T[] => Array.from({ length: count }, () => item);
const wav = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=';
const png =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const bodyOf =
  (model: string) =>
  (content: readonly unknown[], fields: object = {}) => ({
    model,
    content,
    ...fields,
  });
const [on20, onFast, onMini, on25] = [bodyOf(V20), bodyOf(FAST), bodyOf(MINI), bodyOf(V25)];

export const alphaExamples: readonly Example[] = [
  // model, content
  example('the smallest request', on25([text])),
  example('every model takes text: 2.0', on20([text])),
  example('every model takes text: fast', onFast([text])),
  example('every model takes text: mini', onMini([text])),
  example('model is required', { content: [text] }, /model: is required/),
  example('model must be known', { model: 'alpha-video-3', content: [text] }, /not a model of family alpha/),
  example('content is required', { model: V25 }, /content: (is required|a prompt or at least)/),
  example('content may hold nothing, as the document does not forbid it', on25([])),
  example('a prompt may be of blanks', on25([{ type: 'text', text: '  ' }])),
  example('content types are four', on25([{ type: 'image', url: 'x' }]), /type/),
  example(
    'a role fits its type',
    on25([text, { ...image, role: 'reference_video' }]),
    /one of reference_image, first_frame, last_frame/,
  ),
  // rule 1 and 2 for content
  example('1: an image by URL', on25([text, image])),
  example('1: an image by asset URI', on25([text, imageAt('asset://asset-sandbox-image-1')])),
  example('1: a video by asset URI', on25([text, videoAt('asset://asset-sandbox-video-1')])),
  example('1: a scheme in capitals', on25([text, imageAt('HTTPS://example.com/fox.png')])),
  example(
    '1: a port that does not exist',
    on25([text, imageAt('https://example.com:65536/a.png')]),
    /not a URL, a Base64 data URI or asset/,
  ),
  example(
    '1: Base64 that is cut',
    on25([text, imageAt('data:image/png;base64,AAAAA')]),
    /not a URL, a Base64 data URI or asset/,
  ),
  example(
    '1: a video not by Base64',
    on25([text, videoAt('data:video/mp4;base64,AAAA')]),
    /videos are sent by address only/,
  ),
  example('1: a URL is http or https', on25([text, imageAt('ftp://example.com/a.png')]), /not a URL/),
  example('1: a URL has no newline', on25([text, imageAt('https://example.com/a\n.png')]), /not a URL/),
  example('1: no file: URL', on25([text, imageAt('file:///etc/passwd')]), /not a URL/),
  example('1: no file: URL of a video', on25([text, videoAt('file:///etc/passwd')]), /not a URL/),
  example(
    '2: a bare asset ID',
    on25([text, imageAt('asset-20260101-abcd')]),
    /bare asset ID is rejected: write asset:\/\/asset-20260101-abcd/,
  ),
  example('2: an asset URI with nothing behind it', on25([text, imageAt('asset://')]), /not a URL/),
  // rule 3
  example('3: media are named by number', on25([{ type: 'text', text: 'the fox of image 1 runs' }, image])),
  example(
    '3: no asset ID in the prompt',
    on25([
      { type: 'text', text: 'the fox of asset-sandbox-image-1 runs' },
      imageAt('asset://asset-sandbox-image-1'),
    ]),
    /holds an asset ID/,
  ),
  example(
    '3: no asset URI in the prompt',
    on25([{ type: 'text', text: 'like asset://a' }]),
    /holds an asset ID/,
  ),
  // rule 4
  example('4: a first frame on 2.5, adaptive', on25([text, first], { ratio: 'adaptive' })),
  example(
    '4: a first frame on 2.5, another ratio',
    on25([text, first], { ratio: '16:9' }),
    /requires the ratio adaptive/,
  ),
  example('4: first and last frame on 2.5, adaptive', on25([text, first, last], { ratio: 'adaptive' })),
  example(
    '4: first and last frame on 2.5, another ratio',
    on25([text, first, last], { ratio: '1:1' }),
    /requires the ratio adaptive/,
  ),
  example('4: a first frame on 2.0, any of its ratios', on20([text, first], { ratio: '16:9' })),
  example('4: a last frame alone', on20([text, last]), /a last frame needs a first frame/),
  example('4: one first frame', on20([text, first, first]), /at most one first_frame/),
  example('4: one last frame', on20([text, first, last, last]), /at most one last_frame/),
  // rule 5, 6, 7, 8
  example(
    '5: editing',
    on25([text, video], { omni_reference_task_type: 'edit', duration: -1, ratio: 'adaptive' }),
  ),
  example(
    '5: editing without a video',
    on25([text, image], { omni_reference_task_type: 'edit', duration: -1, ratio: 'adaptive' }),
    /editing needs a reference video/,
  ),
  example(
    '5: editing with a length',
    on25([text, video], { omni_reference_task_type: 'edit', duration: 5, ratio: 'adaptive' }),
    /editing requires the duration -1/,
  ),
  example(
    '5: editing with another ratio',
    on25([text, video], { omni_reference_task_type: 'edit', duration: -1, ratio: '16:9' }),
    /editing requires the ratio adaptive/,
  ),
  example(
    '6: extension with a length',
    on25([text, video], { omni_reference_task_type: 'extend', duration: 30, ratio: 'adaptive' }),
  ),
  example(
    '6: extension, auto length',
    on25([text, video], { omni_reference_task_type: 'extend', duration: -1, ratio: 'adaptive' }),
  ),
  example(
    '6: extension with another ratio',
    on25([text, video], { omni_reference_task_type: 'extend', ratio: '9:16' }),
    /extension requires the ratio adaptive/,
  ),
  example(
    '6: extension without a video',
    on25([text], { omni_reference_task_type: 'extend', ratio: 'adaptive' }),
    /extension needs a reference video/,
  ),
  example(
    '6: extension of 31 s',
    on25([text, video], { omni_reference_task_type: 'extend', ratio: 'adaptive', duration: 31 }),
    /4-30/,
  ),
  example('7: task type auto', on25([text, video], { omni_reference_task_type: 'auto' })),
  example('7: task type reference', on25([text, image], { omni_reference_task_type: 'reference' })),
  example(
    '7: reference without one',
    on25([text], { omni_reference_task_type: 'reference' }),
    /reference needs at least one/,
  ),
  example(
    '7: an unknown task type',
    on25([text], { omni_reference_task_type: 'remix' }),
    /one of auto, reference, edit, extend/,
  ),
  example(
    '7: no task type on 2.0',
    on20([text, video], { omni_reference_task_type: 'auto' }),
    /not a setting of 2.0; auto is for 2.5/,
  ),
  example('8: -1 on 2.5', on25([text], { duration: -1 })),
  example('8: -1 on 2.0', on20([text], { duration: -1 }), /4-15 seconds/),
  // rule 9
  example('9: audio alone on 2.0', on20([audio]), /audio alone/),
  example('9: text and audio on 2.0', on20([text, audio]), /audio alone/),
  example('9: text, image and audio on 2.0', on20([text, image, audio])),
  example('9: audio alone on 2.5', on25([audio])),
  example('9: web search with text', on20([text], { tools: [{ type: 'web_search' }] })),
  example(
    '9: web search with an image',
    on20([text, image], { tools: [{ type: 'web_search' }] }),
    /text-only input/,
  ),
  example('9: web search on 2.5', on25([text], { tools: [{ type: 'web_search' }] }), /for the 2.0 models/),
  example('9: another tool', on20([text], { tools: [{ type: 'code' }] }), /web_search/),
  example('9: two tools', on20([text], { tools: [{ type: 'web_search' }, { type: 'web_search' }] }), /./),
  // durations
  example('duration 4 on 2.0', on20([text], { duration: 4 })),
  example('duration 15 on 2.0', on20([text], { duration: 15 })),
  example('duration 3 on 2.0', on20([text], { duration: 3 }), /4-15 seconds/),
  example('duration 16 on 2.0', on20([text], { duration: 16 }), /4-15 seconds/),
  example('duration 16 on fast', onFast([text], { duration: 16 }), /4-15 seconds/),
  example('duration 16 on mini', onMini([text], { duration: 16 }), /4-15 seconds/),
  example('duration 30 on 2.5', on25([text], { duration: 30 })),
  example('duration 31 on 2.5', on25([text], { duration: 31 }), /4-30 seconds/),
  example('duration 0 on 2.5', on25([text], { duration: 0 }), /4-30 seconds/),
  example('duration -2 on 2.5', on25([text], { duration: -2 }), /4-30 seconds/),
  example('duration 5.5', on25([text], { duration: 5.5 }), /whole number/),
  example('duration as text', on25([text], { duration: '5' }), /number/),
  // resolutions
  example('4k on 2.0', on20([text], { resolution: '4k' })),
  example('1080p on 2.0', on20([text], { resolution: '1080p' })),
  example('4k on fast', onFast([text], { resolution: '4k' }), /4k is for 2.0/),
  example('1080p on fast', onFast([text], { resolution: '1080p' }), /takes 480p, 720p/),
  example('1080p on mini', onMini([text], { resolution: '1080p' }), /takes 480p, 720p/),
  example('720p on mini', onMini([text], { resolution: '720p' })),
  example('1080p on 2.5', on25([text], { resolution: '1080p' })),
  example('4k on 2.5', on25([text], { resolution: '4k' }), /4k is for 2.0/),
  example('4K is not how it is spelled', on20([text], { resolution: '4K' }), /did you mean 4k/),
  example('360p', on20([text], { resolution: '360p' }), /one of 480p, 720p, 1080p, 4k/),
  // ratios
  ...['21:9', '16:9', '4:3', '1:1', '3:4', '9:16'].map((ratio) =>
    example(`ratio ${ratio} on 2.0`, on20([text], { ratio })),
  ),
  example('ratio adaptive on 2.5', on25([text], { ratio: 'adaptive' })),
  example('ratio adaptive on 2.0', on20([text], { ratio: 'adaptive' }), /takes 21:9, 16:9/),
  example('ratio 2:1', on25([text], { ratio: '2:1' }), /one of 21:9/),
  // formats, switches
  example('mov on 2.5', on25([text], { output_format: 'mov' })),
  example('mp4 on 2.5', on25([text], { output_format: 'mp4' })),
  example('mov on 2.0', on20([text], { output_format: 'mov' }), /not a setting of 2.0; mov is for 2.5/),
  example('webm', on25([text], { output_format: 'webm' }), /one of mp4, mov/),
  example('audio and watermark', on25([text], { generate_audio: true, watermark: false })),
  example('generate_audio is a boolean', on25([text], { generate_audio: 'yes' }), /true or false/),
  example('watermark is a boolean', on25([text], { watermark: 1 }), /true or false/),
  example('last frame on 2.0', on20([text], { return_last_frame: true })),
  example('last frame on 2.5', on25([text], { return_last_frame: true }), /only the 2.0 models/),
  // reference counts
  example('9 images on 2.0', on20([text, ...times(9, image)])),
  example('10 images on 2.0', on20([text, ...times(10, image)]), /up to 9 image files, 10 given/),
  example('3 videos on 2.0', on20([text, ...times(3, video)])),
  example('4 videos on 2.0', on20([text, ...times(4, video)]), /up to 3 video files, 4 given/),
  example('4 audio files on 2.0', on20([text, image, ...times(4, audio)]), /up to 3 audio files, 4 given/),
  example('15 references on 2.0', on20([text, ...times(9, image), ...times(3, video), ...times(3, audio)])),
  example('30 images on 2.5', on25([text, ...times(30, image)])),
  example('31 images on 2.5', on25([text, ...times(31, image)]), /up to 30 image files, 31 given/),
  example('11 videos on 2.5', on25([text, ...times(11, video)]), /up to 10 video files/),
  example('11 audio files on 2.5', on25([text, ...times(11, audio)]), /up to 10 audio files/),
  example(
    '50 references on 2.5',
    on25([text, ...times(30, image), ...times(10, video), ...times(10, audio)]),
  ),
  example(
    '51 references on 2.5',
    on25([text, ...times(31, image), ...times(10, video), ...times(10, audio)]),
    /up to 50 references, 51 given/,
  ),
];

/** Base64 media that are well-formed but break a limit of 2.5: refused by the sandbox and by gw, which look inside. */
export const smallMedia = { png: `data:image/png;base64,${png}`, wav: `data:audio/wav;base64,${wav}` };
