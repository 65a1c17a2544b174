import { audio, type Example, first, image, last, text, times, video } from './alpha-examples.ts';

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
  { rule: 'the smallest request on H3', body: t2v },
  { rule: 'the smallest request on H3-Max', body: t2vMax },
  { rule: 'model is required', body: without('model'), refused: /model: is required/ },
  {
    rule: 'model must be known',
    body: { ...t2v, model: 'gamma-H4' },
    refused: /gamma-H4: not a model of family gamma; one of gamma-H3, gamma-H3-Max/,
  },
  {
    rule: 'a model is spelled as it is',
    body: { ...t2v, model: 'gamma-h3' },
    refused: /did you mean gamma-H3\?/,
  },
  { rule: 'model is a text', body: { ...t2v, model: 3 }, refused: /model 3: must be a text/ },
  // content: text in every scenario
  {
    rule: 'content is required',
    body: without('content'),
    refused: /content: is required|a prompt is required in every scenario/,
  },
  { rule: 'content is a list', body: { ...t2v, content: 'a fox' }, refused: /must be a list/ },
  { rule: 'content holds a text', body: { ...t2v, content: [] }, refused: /a prompt is required in every/ },
  { rule: 'a text is not empty', body: words(''), refused: /a prompt is required in every scenario/ },
  { rule: 'a text is more than blanks', body: words(' \n\t'), refused: /text item that is not empty/ },
  {
    rule: 'one text that is not empty will do',
    body: { ...t2v, content: [text, { type: 'text', text: '' }] },
  },
  { rule: 'several texts', body: { ...t2v, content: [text, text] } },
  {
    rule: 'a frame without a text',
    body: { ...rest, content: [first] },
    refused: /a prompt is required in every scenario/,
  },
  {
    rule: 'references without a text',
    body: { ...rest, content: [image, video, audio] },
    refused: /a prompt is required in every scenario/,
  },
  { rule: '7,000 characters', body: words('a'.repeat(7000)) },
  {
    rule: '7,001 characters',
    body: words('a'.repeat(7001)),
    refused: /has 7001 characters; a text item has at most 7000/,
  },
  { rule: '7,000 characters outside the basic plane', body: words('🦊'.repeat(7000)) },
  { rule: '7,001 of them', body: words('🦊'.repeat(7001)), refused: /has 7001 characters/ },
  {
    rule: 'two texts of 7,000 characters, each an item',
    body: { ...t2v, content: [words('a'.repeat(7000)).content[0], words('b'.repeat(7000)).content[0]] },
  },
  {
    rule: 'the second text is too long',
    body: { ...t2v, content: [text, words('a'.repeat(7001)).content[0]] },
    refused: /content\.1\.text a+…: has 7001/,
  },
  {
    rule: 'a text is a text',
    body: { ...t2v, content: [{ type: 'text', text: 5 }] },
    refused: /must be a text/,
  },
  {
    rule: 'a text has no role',
    body: { ...t2v, content: [{ ...text, role: 'reference_image' }] },
    refused: /a text item has no role/,
  },
  {
    rule: 'content types are four',
    body: { ...t2v, content: [text, { type: 'image', image_url: { url: 'https://example.com/a.png' } }] },
    refused: /not a known type of content item/,
  },
  // roles
  {
    rule: 'an image has one of three roles',
    body: { ...rest, content: [text, { ...image, role: 'reference_video' }] },
    refused: /one of reference_image, first_frame, last_frame/,
  },
  {
    rule: 'an image plays one of three roles',
    body: { ...rest, content: [text, { ...image, role: 'mask' }] },
    refused: /one of reference_image, first_frame, last_frame/,
  },
  {
    rule: 'a video is a reference',
    body: { ...rest, content: [text, { ...video, role: 'first_frame' }] },
    refused: /must be reference_video/,
  },
  {
    rule: 'audio is a reference',
    body: { ...rest, content: [text, { ...audio, role: 'reference_video' }] },
    refused: /must be reference_audio/,
  },
  // forms of a URL
  { rule: 'an image by URL', body: imageAt('https://example.com/fox.png?a=1') },
  { rule: 'an image by file reference', body: imageAt('gammafile://12345') },
  { rule: 'a video by file reference', body: videoAt('gammafile://file-1_a.b') },
  { rule: 'audio by file reference', body: audioAt('gammafile://12345') },
  ...['jpeg', 'jpg', 'png', 'webp', 'heic', 'heif'].map((type) => ({
    rule: `an image by Base64: ${type}`,
    body: imageAt(`data:image/${type};base64,AAAA`),
    notPosted: true as const,
  })),
  {
    rule: 'an image that is a GIF',
    body: imageAt('data:image/gif;base64,AAAA'),
    refused:
      /not a URL, gammafile:\/\/ID or a Base64 data URI of one of the image formats jpeg, png, webp, heic, heif/,
  },
  { rule: 'an image that is a BMP', body: imageAt('data:image/bmp;base64,AAAA'), refused: /image formats/ },
  { rule: 'an image that is a TIFF', body: imageAt('data:image/tiff;base64,AAAA'), refused: /image formats/ },
  { rule: 'a video by Base64: MP4', body: videoAt('data:video/mp4;base64,AAAA'), notPosted: true },
  { rule: 'a video by Base64: MOV', body: videoAt('data:video/quicktime;base64,AAAA'), notPosted: true },
  {
    rule: 'a video that is WebM',
    body: videoAt('data:video/webm;base64,AAAA'),
    refused: /video formats mp4, mov/,
  },
  { rule: 'audio by Base64: WAV', body: audioAt('data:audio/wav;base64,AAAA'), notPosted: true },
  { rule: 'audio by Base64: MP3', body: audioAt('data:audio/mpeg;base64,AAAA'), notPosted: true },
  {
    rule: 'audio that is Ogg',
    body: audioAt('data:audio/ogg;base64,AAAA'),
    refused: /audio formats wav, mp3/,
  },
  {
    rule: 'data of another kind than the item',
    body: imageAt('data:video/mp4;base64,AAAA'),
    refused: /image formats/,
  },
  { rule: 'a scheme in capitals', body: imageAt('HTTPS://example.com/fox.png') },
  {
    rule: 'a port that does not exist',
    body: imageAt('https://example.com:65536/fox.png'),
    refused: /not a URL, gammafile/,
  },
  {
    rule: 'Base64 that is cut',
    body: imageAt('data:image/png;base64,AAAAA'),
    refused: /not a URL, gammafile/,
  },
  { rule: 'data that is no Base64', body: imageAt('data:image/png,hello'), refused: /image formats/ },
  {
    rule: 'a bare file ID',
    body: imageAt('12345'),
    refused: /a bare file ID is not enough: write gammafile:\/\/12345/,
  },
  { rule: 'an asset of family A', body: imageAt('asset://asset-1'), refused: /not a URL, gammafile:\/\/ID/ },
  { rule: 'a file reference to nothing', body: imageAt('gammafile://'), refused: /not a URL/ },
  { rule: 'a file reference to a path', body: imageAt('gammafile://../x'), refused: /not a URL/ },
  { rule: 'no file: URL', body: imageAt('file:///etc/passwd'), refused: /not a URL/ },
  { rule: 'no javascript: URL', body: imageAt('javascript:alert(1)'), refused: /not a URL/ },
  { rule: 'a URL has no newline', body: imageAt('https://example.com/a\n.png'), refused: /not a URL/ },
  {
    rule: 'an image is not a bare text',
    body: { ...rest, content: [text, { ...image, image_url: 'https://example.com/fox.png' }] },
    refused: /image_url/,
  },
  // scenarios
  { rule: 'a first frame', body: { ...rest, content: [text, first] } },
  { rule: 'a last frame', body: { ...rest, content: [text, last] } },
  { rule: 'first and last frame', body: { ...rest, content: [text, first, last] } },
  { rule: 'a first frame on H3-Max', body: { ...restMax, content: [text, first] } },
  { rule: 'first and last frame on H3-Max', body: { ...restMax, content: [text, first, last] } },
  {
    rule: 'one first frame',
    body: { ...rest, content: [text, first, first] },
    refused: /at most one first_frame/,
  },
  {
    rule: 'one last frame',
    body: { ...rest, content: [text, first, last, last] },
    refused: /at most one last_frame/,
  },
  { rule: 'all kinds of references', body: { ...rest, content: [text, image, video, audio] } },
  { rule: 'audio alone', body: { ...rest, content: [text, audio] } },
  {
    rule: 'a first frame and a reference image',
    body: { ...rest, content: [text, first, image] },
    refused: /first.frame: cannot go with references/,
  },
  {
    rule: 'a last frame and a reference video',
    body: { ...rest, content: [text, last, video] },
    refused: /cannot go with references/,
  },
  {
    rule: 'both frames and reference audio',
    body: { ...rest, content: [text, first, last, audio] },
    refused: /cannot go with references/,
  },
  { rule: '9 images', body: { ...rest, content: [text, ...times(9, image)] } },
  {
    rule: '10 images',
    body: { ...rest, content: [text, ...times(10, image)] },
    refused: /gamma-H3 takes up to 9 reference images, 10 given/,
  },
  { rule: '3 videos', body: { ...rest, content: [text, ...times(3, video)] } },
  {
    rule: '4 videos',
    body: { ...rest, content: [text, ...times(4, video)] },
    refused: /up to 3 reference videos, 4 given/,
  },
  { rule: '3 audio files', body: { ...rest, content: [text, ...times(3, audio)] } },
  {
    rule: '4 audio files',
    body: { ...rest, content: [text, ...times(4, audio)] },
    refused: /up to 3 reference audio files, 4 given/,
  },
  {
    rule: 'every reference that there may be',
    body: { ...rest, content: [text, ...times(9, image), ...times(3, video), ...times(3, audio)] },
  },
  {
    rule: 'H3-Max with a reference image',
    body: { ...restMax, content: [text, image] },
    refused: /gamma-H3-Max takes no reference images: use gamma-H3$/,
  },
  {
    rule: 'H3-Max with a video',
    body: { ...restMax, content: [text, video] },
    refused: /gamma-H3-Max takes no reference videos: use gamma-H3$/,
  },
  {
    rule: 'H3-Max with audio',
    body: { ...restMax, content: [text, audio] },
    refused: /gamma-H3-Max takes no reference audio files: use gamma-H3$/,
  },
  // resolutions
  { rule: '2K on H3', body: { ...t2v, resolution: '2K' } },
  { rule: '480P on H3-Max', body: { ...t2vMax, resolution: '480P' } },
  {
    rule: 'resolution is required on H3',
    body: without('resolution'),
    refused: /resolution: is required: gamma-H3 takes 768P, 2K$/,
  },
  {
    rule: 'resolution is required on H3-Max',
    body: { ...without('resolution'), model: MAX },
    refused: /resolution: is required: gamma-H3-Max takes 480P, 768P$/,
  },
  {
    rule: '480P on H3',
    body: { ...t2v, resolution: '480P' },
    refused: /gamma-H3 takes 768P, 2K; 480P is for gamma-H3-Max/,
  },
  {
    rule: '2K on H3-Max',
    body: { ...t2vMax, resolution: '2K' },
    refused: /gamma-H3-Max takes 480P, 768P; 2K is for gamma-H3$/,
  },
  {
    rule: '768p is not how it is spelled',
    body: { ...t2v, resolution: '768p' },
    refused: /one of 480P, 768P, 2K; did you mean 768P\?/,
  },
  { rule: '2k is not how it is spelled', body: { ...t2v, resolution: '2k' }, refused: /did you mean 2K\?/ },
  { rule: '1080P', body: { ...t2v, resolution: '1080P' }, refused: /one of 480P, 768P, 2K/ },
  { rule: 'resolution null', body: { ...t2v, resolution: null }, refused: /one of 480P, 768P, 2K/ },
  // durations
  { rule: '4 s on H3', body: { ...t2v, duration: 4 } },
  { rule: '15 s on H3', body: { ...t2v, duration: 15 } },
  { rule: '5 s on H3-Max', body: { ...t2vMax, duration: 5 } },
  { rule: '15 s on H3-Max', body: { ...t2vMax, duration: 15 } },
  {
    rule: 'duration is required',
    body: without('duration'),
    refused: /duration: is required: gamma-H3 takes 4-15 seconds/,
  },
  { rule: '3 s on H3', body: { ...t2v, duration: 3 }, refused: /duration 3: gamma-H3 takes 4-15 seconds/ },
  { rule: '16 s on H3', body: { ...t2v, duration: 16 }, refused: /gamma-H3 takes 4-15 seconds/ },
  { rule: '4 s on H3-Max', body: { ...t2vMax, duration: 4 }, refused: /gamma-H3-Max takes 5-15 seconds/ },
  { rule: '16 s on H3-Max', body: { ...t2vMax, duration: 16 }, refused: /gamma-H3-Max takes 5-15 seconds/ },
  { rule: '-1 s', body: { ...t2v, duration: -1 }, refused: /4-15 seconds/ },
  { rule: '5.5 s', body: { ...t2v, duration: 5.5 }, refused: /whole number/ },
  { rule: 'duration as a text', body: { ...t2v, duration: '5' }, refused: /must be a number/ },
  // ratios
  ...['21:9', '16:9', '4:3', '1:1', '3:4', '9:16'].map((ratio) => ({
    rule: `text-to-video in ${ratio}`,
    body: { ...t2v, ratio },
  })),
  {
    rule: 'text-to-video without a ratio',
    body: without('ratio'),
    refused: /ratio: is required for text-to-video: one of 21:9, 16:9, 4:3, 1:1, 3:4, 9:16$/,
  },
  {
    rule: 'text-to-video on H3-Max without a ratio',
    body: { ...restMax, content: [text] },
    refused: /is required for text-to-video/,
  },
  {
    rule: 'text-to-video with adaptive',
    body: { ...t2v, ratio: 'adaptive' },
    refused: /ratio adaptive: text-to-video cannot use it: one of 21:9, 16:9/,
  },
  { rule: 'image-to-video with adaptive', body: { ...rest, content: [text, first], ratio: 'adaptive' } },
  { rule: 'references with adaptive', body: { ...rest, content: [text, image], ratio: 'adaptive' } },
  { rule: 'references in a ratio', body: { ...rest, content: [text, video], ratio: '9:16' } },
  { rule: 'ratio 2:1', body: { ...t2v, ratio: '2:1' }, refused: /one of adaptive, 21:9/ },
  // callback, watermark
  { rule: 'a callback', body: { ...t2v, callback_url: 'https://example.com/hook?id=1' } },
  { rule: 'a callback is a URL', body: { ...t2v, callback_url: 'example.com/hook' }, refused: /not a URL/ },
  {
    rule: 'a callback goes by http',
    body: { ...t2v, callback_url: 'ftp://example.com' },
    refused: /not a URL/,
  },
  { rule: 'a watermark', body: { ...t2v, aigc_watermark: true } },
  { rule: 'no watermark', body: { ...t2v, aigc_watermark: false } },
  {
    rule: 'a watermark is a boolean',
    body: { ...t2v, aigc_watermark: 'yes' },
    refused: /must be true or false/,
  },
];
