import { type Example, example, examplesOf, unposted } from './alpha-examples.ts';

// Literal request bodies of POST /v1/images/generations, written by hand after the gateway's document: what it accepts
// and what it refuses, rule by rule and model by model. Nothing here may be computed from the product's own tables.

export const png =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const url = 'https://example.com/fox.png';
const fox = 'a fox in the snow';
export const times = <T>(count: number, item: T): T[] => Array.from({ length: count }, () => item);

export const img2 = ['img-2', 'img-2-2026-04-21'];
export const img25 = [
  'img-2.5-sunburst',
  'img-2.5-sunburst-2026-09-08',
  'img-2.5-flare',
  'img-2.5-flare-2026-09-08',
];
/** One of each kind; the models of a kind share their limits. */
export const imgOfEachRow = ['img-2', 'img-2.5-flare'];

/** Examples of a model; `common` fields are in each body. */
const of = (model: string, common: object = {}, name = model) =>
  examplesOf(name, (fields) => ({ model, prompt: fox, ...common, ...fields }));
/** A small image, so that drawing costs little. */
const small = { size: '64x64' };

const ofAnImgModel = (model: string): Example[] => {
  const row = of(model, small);
  return [
    row('a prompt of 32,000 characters', { prompt: 'x'.repeat(32_000) }),
    row('characters are code points', { prompt: '🦊'.repeat(32_000) }),
    row(
      'a prompt of 32,001 characters',
      { prompt: 'x'.repeat(32_001) },
      /takes a prompt of up to 32000 characters; this one has 32001/,
    ),
    row('size auto', { size: 'auto' }),
    row('size 1024x1024', { size: '1024x1024' }),
    unposted(row('size 1536x1024', { size: '1536x1024' })),
    unposted(row('size 1024x1536', { size: '1024x1536' })),
    row('both divisible by 16', { size: '1008x496' }),
    row('not divisible by 16', { size: '1000x1000' }, /divisible by 16.*the nearest is 1008x1008/),
    row('3:1', { size: '768x256' }),
    row('1:3', { size: '256x768' }),
    row('wider than 3:1', { size: '784x256' }, /from 1:3 to 3:1.*the nearest is 768x256/),
    row('taller than 1:3', { size: '256x784' }, /from 1:3 to 3:1.*the nearest is 256x768/),
    unposted(row('the maximum', { size: '3840x2160' })),
    unposted(row('the maximum, upright', { size: '2160x3840' })),
    row('over the longest edge', { size: '3856x2160' }, /at most 3840x2160; the nearest is 3840x21/),
    row('over the most pixels', { size: '3840x2176' }, /at most 3840x2160/),
    row('a preset of another family', { size: '2K' }, /auto or WIDTH/),
    row('quality low', { quality: 'low' }),
    row('quality medium', { quality: 'medium' }),
    row('quality high', { quality: 'high' }),
    row('quality auto', { quality: 'auto' }),
    row('quality hd', { quality: 'hd' }, /hd is for legacy-image-3/),
    row('quality standard', { quality: 'standard' }, /standard is for legacy-image-2, legacy-image-3/),
    row('n of 2', { n: 2 }),
    row('n of 10', { n: 10 }),
    row('n of 11', { n: 11 }, /n 11: a whole number from 1 to 10/),
    row('n of 0', { n: 0 }, /a whole number from 1 to 10/),
    row('half an image', { n: 1.5 }, /a whole number/),
    row('background opaque', { background: 'opaque' }),
    row('background auto', { background: 'auto' }),
    row('transparent png', { background: 'transparent', output_format: 'png' }),
    row('transparent webp', { background: 'transparent', output_format: 'webp' }),
    row(
      'transparent jpeg',
      { background: 'transparent', output_format: 'jpeg' },
      /background transparent: transparent needs the format png or webp/,
    ),
    row('compressed jpeg', { output_format: 'jpeg', output_compression: 0 }),
    row('compressed webp', { output_format: 'webp', output_compression: 100 }),
    row('half a percent, which "number 0-100" takes', { output_format: 'webp', output_compression: 50.5 }),
    row(
      'compressed png',
      { output_format: 'png', output_compression: 50 },
      /only for webp and jpeg: name one of them as output_format/,
    ),
    row(
      'compressed without a format',
      { output_compression: 50 },
      /only for webp and jpeg: name one of them as output_format/,
    ),
    row(
      'compression of 101',
      { output_format: 'webp', output_compression: 101 },
      /a whole number from 0 to 100/,
    ),
    row('an unknown format', { output_format: 'gif' }, /one of png, jpeg, webp/),
    row('moderation low', { moderation: 'low' }),
    row('moderation auto', { moderation: 'auto' }),
    row('moderation off', { moderation: 'off' }, /one of low, auto/),
    row('no partial image', { stream: true, partial_images: 0 }),
    row('three partial images', { stream: true, partial_images: 3 }),
    row('four partial images', { stream: true, partial_images: 4 }, /a whole number from 0 to 3/),
    row('partial images without a stream', { stream: false, partial_images: 2 }, /only in a stream/),
    row('response_format', { response_format: 'b64_json' }, /must not be sent this parameter/),
    row('style', { style: 'vivid' }, /only legacy-image-3 takes a style/),
    row('user', { user: 'customer-7' }),
    row('an input image edits', { image: [url], input_fidelity: 'high' }),
    row('16 input images', { image: times(16, url) }),
    row('17 input images', { image: times(17, url) }, /up to 16 input images, 17 given/),
    row('an input image without a list', { image: url }, /only a delta model takes a single one/),
  ];
};

const ofLegacy = (model: string, size: string): Example[] => {
  const row = of(model, { size });
  return [
    row('the smallest request'),
    row('quality standard', { quality: 'standard' }),
    row('quality auto', { quality: 'auto' }),
    row('quality high', { quality: 'high' }, /high is for img-2/),
    row('as a URL', { response_format: 'url' }),
    row('as Base64', { response_format: 'b64_json' }),
    row('an unknown response format', { response_format: 'base64' }, /one of url, b64_json/),
    row('user', { user: 'customer-7' }),
    ...(
      [
        ['background', 'opaque', /only img models take a background/],
        ['moderation', 'low', /only img models take a moderation/],
        ['output_format', 'png', /only img models let the format be chosen/],
        ['output_compression', 50, /only img models take a compression/],
        ['stream', true, /only img models stream/],
      ] as const
    ).map(([field, value, refused]) => row(field, { [field]: value }, refused)),
    row('partial_images', { stream: true, partial_images: 1 }, /only img models/),
    row('stream false is the default', { stream: false }),
    row('size auto', { size: 'auto' }, /size auto: legacy-image-. takes/),
  ];
};

interface DeltaModel {
  readonly model: string;
  readonly presets: readonly string[];
  /** A preset that the model does not have, and a pattern that names the models with it. */
  readonly missing: readonly [string, RegExp];
  /** Sizes at the ends of the model's range of pixels, and just beyond them. */
  readonly least: string;
  readonly most: string;
  readonly tooFew: string;
  readonly tooMany: string;
}

const ofDelta = ({ model, presets, missing, least, most, tooFew, tooMany }: DeltaModel): Example[] => {
  const row = of(model);
  return [
    unposted(row('the smallest request')),
    ...presets.map((size) => unposted(row(size, { size }))),
    row(missing[0], { size: missing[0] }, missing[1]),
    row('a lower-case preset', { size: '2k' }, /the nearest is 2K/),
    unposted(row(`${least}, the fewest pixels`, { size: least })),
    unposted(row(`${most}, the most pixels`, { size: most })),
    row(`${tooFew}, too few pixels`, { size: tooFew }, /pixels/),
    row(`${tooMany}, too many pixels`, { size: tooMany }, /pixels/),
    unposted(row('16:1', { size: '8000x500' })),
    unposted(row('1:16', { size: '500x8000' })),
    row('wider than 16:1', { size: '8016x500' }, /from 1:16 to 16:1/),
    row('size auto', { size: 'auto' }, /size auto: delta-image/),
    unposted(row('one reference as a text', { image: url })),
    unposted(row('one reference as Base64', { image: png })),
    unposted(row('references as a list', { image: [url, png] })),
    row(
      'a reference that is a file name',
      { image: 'fox.png' },
      /image fox.png: not a URL or a Base64 data URL/,
    ),
    unposted(row('n of 2', { n: 2 })),
    row('n of 11', { n: 11 }, /from 1 to 10/),
    unposted(row('response_format', { response_format: 'b64_json' })),
    row('quality xhigh', { quality: 'xhigh' }, /xhigh is for img-2.5-sunburst/),
    row('background', { background: 'opaque' }, /only img models/),
    row('stream', { stream: true }, /only img models stream/),
    row('style', { style: 'natural' }, /only legacy-image-3/),
  ];
};

const [legacy2, legacy3] = [of('legacy-image-2'), of('legacy-image-3')];
/** A model without a table. */
const common = of('sandbox-image-1', {}, 'common');

export const imageExamples: readonly Example[] = [
  ...[...img2, ...img25].map((model) => of(model)('the smallest request')),
  ...imgOfEachRow.flatMap(ofAnImgModel),
  ...img2
    .map((model) => of(model, small))
    .flatMap((row) => [
      row(
        'quality xhigh',
        { quality: 'xhigh' },
        /img-2.* takes low, medium, high, auto; xhigh is for img-2.5-sunburst/,
      ),
      row('quality max', { quality: 'max' }, /max is for img-2.5/),
    ]),
  ...img25
    .map((model) => of(model, small))
    .flatMap((row) => [row('quality xhigh', { quality: 'xhigh' }), row('quality max', { quality: 'max' })]),
  ...ofLegacy('legacy-image-2', '256x256'),
  ...['512x512', '1024x1024'].map((size) => legacy2(size, { size })),
  legacy2(
    'a size of legacy-image-3',
    { size: '1792x1024' },
    /takes 256x256, 512x512 or 1024x1024; 1792x1024 is for legacy-image-3/,
  ),
  legacy2('a size of no legacy model', { size: '500x500' }, /the nearest is 512x512/),
  legacy2('a prompt of 1,000 characters', { prompt: '🦊'.repeat(1000), size: '256x256' }),
  legacy2(
    'a prompt of 1,001 characters',
    { prompt: '🦊'.repeat(1001), size: '256x256' },
    /up to 1000 characters; this one has 1001/,
  ),
  legacy2('n of 10', { size: '256x256', n: 10 }),
  legacy2('n of 11', { size: '256x256', n: 11 }, /from 1 to 10/),
  legacy2('quality hd', { quality: 'hd' }, /legacy-image-2 takes standard, auto; hd is for legacy-image-3/),
  legacy2('style', { style: 'vivid' }, /only legacy-image-3/),
  ...ofLegacy('legacy-image-3', '1024x1024'),
  ...['1792x1024', '1024x1792'].map((size) => unposted(legacy3(size, { size }))),
  legacy3('a size of legacy-image-2', { size: '512x512' }, /512x512 is for legacy-image-2/),
  legacy3('a size of no legacy model', { size: '1920x1080' }, /the nearest is 1792x1024/),
  legacy3('a prompt of 4,000 characters', { prompt: 'x'.repeat(4000) }),
  legacy3('a prompt of 4,001 characters', { prompt: 'x'.repeat(4001) }, /up to 4000 characters/),
  legacy3('n of 1', { n: 1 }),
  legacy3('n of 2', { n: 2 }, /legacy-image-3 makes 1 image a request/),
  legacy3('quality hd', { quality: 'hd' }),
  legacy3('style vivid', { style: 'vivid' }),
  legacy3('style natural', { style: 'natural' }),
  legacy3('an unknown style', { style: 'bold' }, /one of vivid, natural/),
  ...ofDelta({
    model: 'delta-image-4-0-250828',
    presets: ['1K', '2K', '4K'],
    missing: ['3K', /3K is for delta-image-5-0-lite-260128/],
    least: '960x960',
    most: '4096x4096',
    tooFew: '960x959',
    tooMany: '4096x4097',
  }),
  ...ofDelta({
    model: 'delta-image-4-5-251128',
    presets: ['2K', '4K'],
    missing: ['1K', /1K is for delta-image-4-0-250828/],
    least: '1920x1920',
    most: '4096x4096',
    tooFew: '1920x1919',
    tooMany: '4096x4097',
  }),
  ...ofDelta({
    model: 'delta-image-5-0-lite-260128',
    presets: ['2K', '3K', '4K'],
    missing: ['1.5K', /1.5K is for delta-image-5-0-pro-260628/],
    least: '1920x1920',
    most: '4096x4096',
    tooFew: '1920x1919',
    tooMany: '4096x4097',
  }),
  ...ofDelta({
    model: 'delta-image-5-0-pro-260628',
    presets: ['1K', '1.5K', '2K'],
    missing: ['4K', /4K is for delta-image-4-0-250828/],
    least: '960x960',
    most: '2312x2000',
    tooFew: '960x959',
    tooMany: '2312x2001',
  }),
  example(
    'delta: too few pixels for every model names the nearest',
    { model: 'delta-image-4-5-251128', prompt: fox, size: '500x500' },
    /3686400-16777216 pixels.*the nearest is 1920x1920/,
  ),
  common('the smallest request', { size: '256x256' }),
  common('every parameter', {
    image: [url, png],
    input_fidelity: 'low',
    size: '256x256',
    quality: 'high',
    n: 2,
    response_format: 'b64_json',
    background: 'opaque',
    output_format: 'webp',
    output_compression: 80,
    moderation: 'auto',
    stream: false,
    user: 'customer-7',
  }),
  common(
    'an image that is no URL',
    { image: ['fox.png'] },
    /image.0 fox.png: not a URL or a Base64 data URL/,
  ),
  common('Base64 that is cut', { image: [png.slice(0, -7)] }, /not a URL or a Base64 data URL/),
  common('no image in the list', { image: [] }),
  common('input_fidelity is one of two', { image: [url], input_fidelity: 'medium' }, /one of high, low/),
  common('quality xhigh', { quality: 'xhigh' }, /takes low, medium, high, auto/),
  common('n of 11', { n: 11 }, /from 1 to 10/),
  common('compression of -1', { output_compression: -1 }, /from 0 to 100/),
  common('style', { style: 'vivid' }, /only legacy-image-3/),
  example('a model is required', { prompt: fox }, /model: is required/),
  example('a prompt is required', { model: 'img-2' }, /prompt: is required/),
  example('a prompt may be of blanks', { model: 'img-2', prompt: ' \n' }),
  example('a prompt is a text', { model: 'img-2', prompt: 7 }, /prompt 7: must be a text/),
  example('a model is not empty', { model: '', prompt: fox }, /model: is empty/),
];
