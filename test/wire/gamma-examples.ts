import {
  audio,
  type Example,
  example,
  first,
  image,
  last,
  text,
  times,
  unposted,
  video,
} from './alpha-examples.ts';

// Literal request bodies of family C, copied from or written by hand after the gateway's document: what it accepts and
// what it refuses, rule by rule. Nothing here may be computed from the product's own tables.

const H3 = 'gamma-H3';
const MAX = 'gamma-H3-Max';
// Text-to-video needs these fields. Image-to-video and reference generation leave out the ratio.
const t2v = { model: H3, content: [text], resolution: '768P', duration: 5, ratio: '16:9' };
const t2vMax = { model: MAX, content: [text], resolution: '768P', duration: 5, ratio: '16:9' };
const rest = { model: H3, resolution: '768P', duration: 5 };
const restMax = { model: MAX, resolution: '768P', duration: 5 };
const words = (characters: string) => ({ ...t2v, content: [{ type: 'text', text: characters }] });
const imageAt = (url: string) => ({ ...rest, content: [text, { ...image, image_url: { url } }] });
const videoAt = (url: string) => ({ ...rest, content: [text, { ...video, video_url: { url } }] });
const audioAt = (url: string) => ({ ...rest, content: [text, { ...audio, audio_url: { url } }] });
const without = (field: string) => Object.fromEntries(Object.entries(t2v).filter(([name]) => name !== field));

export const gammaExamples: readonly Example[] = [
  // model
  example('the smallest request on H3', t2v),
  example('the smallest request on H3-Max', t2vMax),
  example('model is required', without('model'), /model: is required/),
  example(
    'model must be known',
    { ...t2v, model: 'gamma-H4' },
    /gamma-H4: not a model of family gamma; one of gamma-H3, gamma-H3-Max/,
  ),
  example('a model is spelled as it is', { ...t2v, model: 'gamma-h3' }, /did you mean gamma-H3\?/),
  example('model is a text', { ...t2v, model: 3 }, /model 3: must be a text/),
  // content: text in every scenario
  example(
    'content is required',
    without('content'),
    /content: is required|a prompt is required in every scenario/,
  ),
  example('content is a list', { ...t2v, content: 'a fox' }, /must be a list/),
  example('content holds a text', { ...t2v, content: [] }, /a prompt is required in every/),
  example('a text is not empty', words(''), /a prompt is required in every scenario/),
  example('a text is more than blanks', words(' \n\t'), /text item that is not empty/),
  example('one text that is not empty will do', { ...t2v, content: [text, { type: 'text', text: '' }] }),
  example('several texts', { ...t2v, content: [text, text] }),
  example('a frame without a text', { ...rest, content: [first] }, /a prompt is required in every scenario/),
  example(
    'references without a text',
    { ...rest, content: [image, video, audio] },
    /a prompt is required in every scenario/,
  ),
  example('7,000 characters', words('a'.repeat(7000))),
  example('7,001 characters', words('a'.repeat(7001)), /has 7001 characters; a text item has at most 7000/),
  example('7,000 characters outside the basic plane', words('🦊'.repeat(7000))),
  example('7,001 of them', words('🦊'.repeat(7001)), /has 7001 characters/),
  example('two texts of 7,000 characters, each an item', {
    ...t2v,
    content: [words('a'.repeat(7000)).content[0], words('b'.repeat(7000)).content[0]],
  }),
  example(
    'the second text is too long',
    { ...t2v, content: [text, words('a'.repeat(7001)).content[0]] },
    /content\.1\.text a+…: has 7001/,
  ),
  example('a text is a text', { ...t2v, content: [{ type: 'text', text: 5 }] }, /must be a text/),
  example(
    'a text has no role',
    { ...t2v, content: [{ ...text, role: 'reference_image' }] },
    /a text item has no role/,
  ),
  example(
    'content types are four',
    { ...t2v, content: [text, { type: 'image', image_url: { url: 'https://example.com/a.png' } }] },
    /not a known type of content item/,
  ),
  // roles
  example(
    'an image has one of three roles',
    { ...rest, content: [text, { ...image, role: 'reference_video' }] },
    /one of reference_image, first_frame, last_frame/,
  ),
  example(
    'an image plays one of three roles',
    { ...rest, content: [text, { ...image, role: 'mask' }] },
    /one of reference_image, first_frame, last_frame/,
  ),
  example(
    'a video is a reference',
    { ...rest, content: [text, { ...video, role: 'first_frame' }] },
    /must be reference_video/,
  ),
  example(
    'audio is a reference',
    { ...rest, content: [text, { ...audio, role: 'reference_video' }] },
    /must be reference_audio/,
  ),
  // forms of a URL
  example('an image by URL', imageAt('https://example.com/fox.png?a=1')),
  example('an image by file reference', imageAt('gammafile://12345')),
  example('a video by file reference', videoAt('gammafile://file-1_a.b')),
  example('audio by file reference', audioAt('gammafile://12345')),
  ...['jpeg', 'jpg', 'png', 'webp', 'heic', 'heif'].map((type) =>
    unposted(example(`an image by Base64: ${type}`, imageAt(`data:image/${type};base64,AAAA`))),
  ),
  example(
    'an image that is a GIF',
    imageAt('data:image/gif;base64,AAAA'),
    /not a URL, gammafile:\/\/ID or a Base64 data URI of one of the image formats jpeg, png, webp, heic, heif/,
  ),
  example('an image that is a BMP', imageAt('data:image/bmp;base64,AAAA'), /image formats/),
  example('an image that is a TIFF', imageAt('data:image/tiff;base64,AAAA'), /image formats/),
  unposted(example('a video by Base64: MP4', videoAt('data:video/mp4;base64,AAAA'))),
  unposted(example('a video by Base64: MOV', videoAt('data:video/quicktime;base64,AAAA'))),
  example('a video that is WebM', videoAt('data:video/webm;base64,AAAA'), /video formats mp4, mov/),
  unposted(example('audio by Base64: WAV', audioAt('data:audio/wav;base64,AAAA'))),
  unposted(example('audio by Base64: MP3', audioAt('data:audio/mpeg;base64,AAAA'))),
  example('audio that is Ogg', audioAt('data:audio/ogg;base64,AAAA'), /audio formats wav, mp3/),
  example('data of another kind than the item', imageAt('data:video/mp4;base64,AAAA'), /image formats/),
  example('a scheme in capitals', imageAt('HTTPS://example.com/fox.png')),
  example('a port that does not exist', imageAt('https://example.com:65536/fox.png'), /not a URL, gammafile/),
  example('Base64 that is cut', imageAt('data:image/png;base64,AAAAA'), /not a URL, gammafile/),
  example('data that is no Base64', imageAt('data:image/png,hello'), /image formats/),
  example('a bare file ID', imageAt('12345'), /a bare file ID is not enough: write gammafile:\/\/12345/),
  example('an asset of family A', imageAt('asset://asset-1'), /not a URL, gammafile:\/\/ID/),
  example('a file reference to nothing', imageAt('gammafile://'), /not a URL/),
  example('a file reference to a path', imageAt('gammafile://../x'), /not a URL/),
  example('no file: URL', imageAt('file:///etc/passwd'), /not a URL/),
  example('no javascript: URL', imageAt('javascript:alert(1)'), /not a URL/),
  example('a URL has no newline', imageAt('https://example.com/a\n.png'), /not a URL/),
  example(
    'an image is not a bare text',
    { ...rest, content: [text, { ...image, image_url: 'https://example.com/fox.png' }] },
    /image_url/,
  ),
  // scenarios
  example('a first frame', { ...rest, content: [text, first] }),
  example('a last frame', { ...rest, content: [text, last] }),
  example('first and last frame', { ...rest, content: [text, first, last] }),
  example('a first frame on H3-Max', { ...restMax, content: [text, first] }),
  example('first and last frame on H3-Max', { ...restMax, content: [text, first, last] }),
  example('one first frame', { ...rest, content: [text, first, first] }, /at most one first_frame/),
  example('one last frame', { ...rest, content: [text, first, last, last] }, /at most one last_frame/),
  example('all kinds of references', { ...rest, content: [text, image, video, audio] }),
  example('audio alone', { ...rest, content: [text, audio] }),
  example(
    'a first frame and a reference image',
    { ...rest, content: [text, first, image] },
    /first.frame: cannot go with references/,
  ),
  example(
    'a last frame and a reference video',
    { ...rest, content: [text, last, video] },
    /cannot go with references/,
  ),
  example(
    'both frames and reference audio',
    { ...rest, content: [text, first, last, audio] },
    /cannot go with references/,
  ),
  example('9 images', { ...rest, content: [text, ...times(9, image)] }),
  example(
    '10 images',
    { ...rest, content: [text, ...times(10, image)] },
    /gamma-H3 takes up to 9 reference images, 10 given/,
  ),
  example('3 videos', { ...rest, content: [text, ...times(3, video)] }),
  example('4 videos', { ...rest, content: [text, ...times(4, video)] }, /up to 3 reference videos, 4 given/),
  example('3 audio files', { ...rest, content: [text, ...times(3, audio)] }),
  example(
    '4 audio files',
    { ...rest, content: [text, ...times(4, audio)] },
    /up to 3 reference audio files, 4 given/,
  ),
  example('every reference that there may be', {
    ...rest,
    content: [text, ...times(9, image), ...times(3, video), ...times(3, audio)],
  }),
  example(
    'H3-Max with a reference image',
    { ...restMax, content: [text, image] },
    /gamma-H3-Max takes no reference images: use gamma-H3$/,
  ),
  example(
    'H3-Max with a video',
    { ...restMax, content: [text, video] },
    /gamma-H3-Max takes no reference videos: use gamma-H3$/,
  ),
  example(
    'H3-Max with audio',
    { ...restMax, content: [text, audio] },
    /gamma-H3-Max takes no reference audio files: use gamma-H3$/,
  ),
  // resolutions
  example('2K on H3', { ...t2v, resolution: '2K' }),
  example('480P on H3-Max', { ...t2vMax, resolution: '480P' }),
  example(
    'resolution is required on H3',
    without('resolution'),
    /resolution: is required: gamma-H3 takes 768P, 2K$/,
  ),
  example(
    'resolution is required on H3-Max',
    { ...without('resolution'), model: MAX },
    /resolution: is required: gamma-H3-Max takes 480P, 768P$/,
  ),
  example('480P on H3', { ...t2v, resolution: '480P' }, /gamma-H3 takes 768P, 2K; 480P is for gamma-H3-Max/),
  example(
    '2K on H3-Max',
    { ...t2vMax, resolution: '2K' },
    /gamma-H3-Max takes 480P, 768P; 2K is for gamma-H3$/,
  ),
  example(
    '768p is not how it is spelled',
    { ...t2v, resolution: '768p' },
    /one of 480P, 768P, 2K; did you mean 768P\?/,
  ),
  example('2k is not how it is spelled', { ...t2v, resolution: '2k' }, /did you mean 2K\?/),
  example('1080P', { ...t2v, resolution: '1080P' }, /one of 480P, 768P, 2K/),
  example('resolution null', { ...t2v, resolution: null }, /one of 480P, 768P, 2K/),
  // durations
  example('4 s on H3', { ...t2v, duration: 4 }),
  example('15 s on H3', { ...t2v, duration: 15 }),
  example('5 s on H3-Max', { ...t2vMax, duration: 5 }),
  example('15 s on H3-Max', { ...t2vMax, duration: 15 }),
  example('duration is required', without('duration'), /duration: is required: gamma-H3 takes 4-15 seconds/),
  example('3 s on H3', { ...t2v, duration: 3 }, /duration 3: gamma-H3 takes 4-15 seconds/),
  example('16 s on H3', { ...t2v, duration: 16 }, /gamma-H3 takes 4-15 seconds/),
  example('4 s on H3-Max', { ...t2vMax, duration: 4 }, /gamma-H3-Max takes 5-15 seconds/),
  example('16 s on H3-Max', { ...t2vMax, duration: 16 }, /gamma-H3-Max takes 5-15 seconds/),
  example('-1 s', { ...t2v, duration: -1 }, /4-15 seconds/),
  example('5.5 s', { ...t2v, duration: 5.5 }, /whole number/),
  example('duration as a text', { ...t2v, duration: '5' }, /must be a number/),
  // ratios
  ...['21:9', '16:9', '4:3', '1:1', '3:4', '9:16'].map((ratio) =>
    example(`text-to-video in ${ratio}`, { ...t2v, ratio }),
  ),
  example(
    'text-to-video without a ratio',
    without('ratio'),
    /ratio: is required for text-to-video: one of 21:9, 16:9, 4:3, 1:1, 3:4, 9:16$/,
  ),
  example(
    'text-to-video on H3-Max without a ratio',
    { ...restMax, content: [text] },
    /is required for text-to-video/,
  ),
  example(
    'text-to-video with adaptive',
    { ...t2v, ratio: 'adaptive' },
    /ratio adaptive: text-to-video cannot use it: one of 21:9, 16:9/,
  ),
  example('image-to-video with adaptive', { ...rest, content: [text, first], ratio: 'adaptive' }),
  example('references with adaptive', { ...rest, content: [text, image], ratio: 'adaptive' }),
  example('references in a ratio', { ...rest, content: [text, video], ratio: '9:16' }),
  example('ratio 2:1', { ...t2v, ratio: '2:1' }, /one of adaptive, 21:9/),
  // callback, watermark
  example('a callback', { ...t2v, callback_url: 'https://example.com/hook?id=1' }),
  example('a callback is a URL', { ...t2v, callback_url: 'example.com/hook' }, /not a URL/),
  example('a callback goes by http', { ...t2v, callback_url: 'ftp://example.com' }, /not a URL/),
  example('a watermark', { ...t2v, aigc_watermark: true }),
  example('no watermark', { ...t2v, aigc_watermark: false }),
  example('a watermark is a boolean', { ...t2v, aigc_watermark: 'yes' }, /must be true or false/),
];
