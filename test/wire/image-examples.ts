import type { Example } from './alpha-examples.ts';

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

/** A request of a model with a small image, so that drawing costs little. */
const small = (model: string, fields: Readonly<Record<string, unknown>> = {}) => ({
  model,
  prompt: fox,
  size: '64x64',
  ...fields,
});

const ofAnImgModel = (model: string): Example[] => [
  { rule: `${model}: a prompt of 32,000 characters`, body: small(model, { prompt: 'x'.repeat(32_000) }) },
  { rule: `${model}: characters are code points`, body: small(model, { prompt: '🦊'.repeat(32_000) }) },
  {
    rule: `${model}: a prompt of 32,001 characters`,
    body: small(model, { prompt: 'x'.repeat(32_001) }),
    refused: /takes a prompt of up to 32000 characters; this one has 32001/,
  },
  { rule: `${model}: size auto`, body: { model, prompt: fox, size: 'auto' } },
  { rule: `${model}: size 1024x1024`, body: { model, prompt: fox, size: '1024x1024' } },
  { rule: `${model}: size 1536x1024`, body: { model, prompt: fox, size: '1536x1024' }, notPosted: true },
  { rule: `${model}: size 1024x1536`, body: { model, prompt: fox, size: '1024x1536' }, notPosted: true },
  { rule: `${model}: both divisible by 16`, body: small(model, { size: '1008x496' }) },
  {
    rule: `${model}: not divisible by 16`,
    body: small(model, { size: '1000x1000' }),
    refused: /divisible by 16.*the nearest is 1008x1008/,
  },
  { rule: `${model}: 3:1`, body: small(model, { size: '768x256' }) },
  { rule: `${model}: 1:3`, body: small(model, { size: '256x768' }) },
  {
    rule: `${model}: wider than 3:1`,
    body: small(model, { size: '784x256' }),
    refused: /from 1:3 to 3:1.*the nearest is 768x256/,
  },
  {
    rule: `${model}: taller than 1:3`,
    body: small(model, { size: '256x784' }),
    refused: /from 1:3 to 3:1.*the nearest is 256x768/,
  },
  { rule: `${model}: the maximum`, body: small(model, { size: '3840x2160' }), notPosted: true },
  { rule: `${model}: the maximum, upright`, body: small(model, { size: '2160x3840' }), notPosted: true },
  {
    rule: `${model}: over the longest edge`,
    body: small(model, { size: '3856x2160' }),
    refused: /at most 3840x2160; the nearest is 3840x21/,
  },
  {
    rule: `${model}: over the most pixels`,
    body: small(model, { size: '3840x2176' }),
    refused: /at most 3840x2160/,
  },
  {
    rule: `${model}: a preset of another family`,
    body: small(model, { size: '2K' }),
    refused: /auto or WIDTH/,
  },
  { rule: `${model}: quality low`, body: small(model, { quality: 'low' }) },
  { rule: `${model}: quality medium`, body: small(model, { quality: 'medium' }) },
  { rule: `${model}: quality high`, body: small(model, { quality: 'high' }) },
  { rule: `${model}: quality auto`, body: small(model, { quality: 'auto' }) },
  {
    rule: `${model}: quality hd`,
    body: small(model, { quality: 'hd' }),
    refused: /hd is for legacy-image-3/,
  },
  {
    rule: `${model}: quality standard`,
    body: small(model, { quality: 'standard' }),
    refused: /standard is for legacy-image-2, legacy-image-3/,
  },
  { rule: `${model}: n of 2`, body: small(model, { n: 2 }) },
  { rule: `${model}: n of 10`, body: small(model, { n: 10 }) },
  { rule: `${model}: n of 11`, body: small(model, { n: 11 }), refused: /n 11: a whole number from 1 to 10/ },
  { rule: `${model}: n of 0`, body: small(model, { n: 0 }), refused: /a whole number from 1 to 10/ },
  { rule: `${model}: half an image`, body: small(model, { n: 1.5 }), refused: /a whole number/ },
  { rule: `${model}: background opaque`, body: small(model, { background: 'opaque' }) },
  { rule: `${model}: background auto`, body: small(model, { background: 'auto' }) },
  {
    rule: `${model}: transparent png`,
    body: small(model, { background: 'transparent', output_format: 'png' }),
  },
  {
    rule: `${model}: transparent webp`,
    body: small(model, { background: 'transparent', output_format: 'webp' }),
  },
  {
    rule: `${model}: transparent jpeg`,
    body: small(model, { background: 'transparent', output_format: 'jpeg' }),
    refused: /background transparent: transparent needs the format png or webp/,
  },
  { rule: `${model}: compressed jpeg`, body: small(model, { output_format: 'jpeg', output_compression: 0 }) },
  {
    rule: `${model}: compressed webp`,
    body: small(model, { output_format: 'webp', output_compression: 100 }),
  },
  {
    rule: `${model}: half a percent, which "number 0-100" takes`,
    body: small(model, { output_format: 'webp', output_compression: 50.5 }),
  },
  {
    rule: `${model}: compressed png`,
    body: small(model, { output_format: 'png', output_compression: 50 }),
    refused: /only for webp and jpeg: name one of them as output_format/,
  },
  {
    rule: `${model}: compressed without a format`,
    body: small(model, { output_compression: 50 }),
    refused: /only for webp and jpeg: name one of them as output_format/,
  },
  {
    rule: `${model}: compression of 101`,
    body: small(model, { output_format: 'webp', output_compression: 101 }),
    refused: /a whole number from 0 to 100/,
  },
  {
    rule: `${model}: an unknown format`,
    body: small(model, { output_format: 'gif' }),
    refused: /one of png, jpeg, webp/,
  },
  { rule: `${model}: moderation low`, body: small(model, { moderation: 'low' }) },
  { rule: `${model}: moderation auto`, body: small(model, { moderation: 'auto' }) },
  {
    rule: `${model}: moderation off`,
    body: small(model, { moderation: 'off' }),
    refused: /one of low, auto/,
  },
  { rule: `${model}: no partial image`, body: small(model, { stream: true, partial_images: 0 }) },
  { rule: `${model}: three partial images`, body: small(model, { stream: true, partial_images: 3 }) },
  {
    rule: `${model}: four partial images`,
    body: small(model, { stream: true, partial_images: 4 }),
    refused: /a whole number from 0 to 3/,
  },
  {
    rule: `${model}: partial images without a stream`,
    body: small(model, { stream: false, partial_images: 2 }),
    refused: /only in a stream/,
  },
  {
    rule: `${model}: response_format`,
    body: small(model, { response_format: 'b64_json' }),
    refused: /must not be sent this parameter/,
  },
  {
    rule: `${model}: style`,
    body: small(model, { style: 'vivid' }),
    refused: /only legacy-image-3 takes a style/,
  },
  { rule: `${model}: user`, body: small(model, { user: 'customer-7' }) },
  { rule: `${model}: an input image edits`, body: small(model, { image: [url], input_fidelity: 'high' }) },
  { rule: `${model}: 16 input images`, body: small(model, { image: times(16, url) }) },
  {
    rule: `${model}: 17 input images`,
    body: small(model, { image: times(17, url) }),
    refused: /up to 16 input images, 17 given/,
  },
  {
    rule: `${model}: an input image without a list`,
    body: small(model, { image: url }),
    refused: /only a delta model takes a single one/,
  },
];

const ofLegacy = (model: string, size: string): Example[] => [
  { rule: `${model}: the smallest request`, body: { model, prompt: fox, size } },
  { rule: `${model}: quality standard`, body: { model, prompt: fox, size, quality: 'standard' } },
  { rule: `${model}: quality auto`, body: { model, prompt: fox, size, quality: 'auto' } },
  {
    rule: `${model}: quality high`,
    body: { model, prompt: fox, size, quality: 'high' },
    refused: /high is for img-2/,
  },
  { rule: `${model}: as a URL`, body: { model, prompt: fox, size, response_format: 'url' } },
  { rule: `${model}: as Base64`, body: { model, prompt: fox, size, response_format: 'b64_json' } },
  {
    rule: `${model}: an unknown response format`,
    body: { model, prompt: fox, size, response_format: 'base64' },
    refused: /one of url, b64_json/,
  },
  { rule: `${model}: user`, body: { model, prompt: fox, size, user: 'customer-7' } },
  ...(
    [
      ['background', 'opaque', /only img models take a background/],
      ['moderation', 'low', /only img models take a moderation/],
      ['output_format', 'png', /only img models let the format be chosen/],
      ['output_compression', 50, /only img models take a compression/],
      ['stream', true, /only img models stream/],
    ] as const
  ).map(([field, value, refused]) => ({
    rule: `${model}: ${field}`,
    body: { model, prompt: fox, size, [field]: value },
    refused,
  })),
  {
    rule: `${model}: partial_images`,
    body: { model, prompt: fox, size, stream: true, partial_images: 1 },
    refused: /only img models/,
  },
  { rule: `${model}: stream false is the default`, body: { model, prompt: fox, size, stream: false } },
  {
    rule: `${model}: size auto`,
    body: { model, prompt: fox, size: 'auto' },
    refused: /size auto: legacy-image-. takes/,
  },
];

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

const ofDelta = ({ model, presets, missing, least, most, tooFew, tooMany }: DeltaModel): Example[] => [
  { rule: `${model}: the smallest request`, body: { model, prompt: fox }, notPosted: true },
  ...presets.map((size) => ({
    rule: `${model}: ${size}`,
    body: { model, prompt: fox, size },
    notPosted: true as const,
  })),
  { rule: `${model}: ${missing[0]}`, body: { model, prompt: fox, size: missing[0] }, refused: missing[1] },
  {
    rule: `${model}: a lower-case preset`,
    body: { model, prompt: fox, size: '2k' },
    refused: /the nearest is 2K/,
  },
  {
    rule: `${model}: ${least}, the fewest pixels`,
    body: { model, prompt: fox, size: least },
    notPosted: true,
  },
  { rule: `${model}: ${most}, the most pixels`, body: { model, prompt: fox, size: most }, notPosted: true },
  {
    rule: `${model}: ${tooFew}, too few pixels`,
    body: { model, prompt: fox, size: tooFew },
    refused: /pixels/,
  },
  {
    rule: `${model}: ${tooMany}, too many pixels`,
    body: { model, prompt: fox, size: tooMany },
    refused: /pixels/,
  },
  { rule: `${model}: 16:1`, body: { model, prompt: fox, size: '8000x500' }, notPosted: true },
  { rule: `${model}: 1:16`, body: { model, prompt: fox, size: '500x8000' }, notPosted: true },
  {
    rule: `${model}: wider than 16:1`,
    body: { model, prompt: fox, size: '8016x500' },
    refused: /from 1:16 to 16:1/,
  },
  {
    rule: `${model}: size auto`,
    body: { model, prompt: fox, size: 'auto' },
    refused: /size auto: delta-image/,
  },
  { rule: `${model}: one reference as a text`, body: { model, prompt: fox, image: url }, notPosted: true },
  { rule: `${model}: one reference as Base64`, body: { model, prompt: fox, image: png }, notPosted: true },
  {
    rule: `${model}: references as a list`,
    body: { model, prompt: fox, image: [url, png] },
    notPosted: true,
  },
  {
    rule: `${model}: a reference that is a file name`,
    body: { model, prompt: fox, image: 'fox.png' },
    refused: /image fox.png: not a URL or a Base64 data URL/,
  },
  { rule: `${model}: n of 2`, body: { model, prompt: fox, n: 2 }, notPosted: true },
  { rule: `${model}: n of 11`, body: { model, prompt: fox, n: 11 }, refused: /from 1 to 10/ },
  {
    rule: `${model}: response_format`,
    body: { model, prompt: fox, response_format: 'b64_json' },
    notPosted: true,
  },
  {
    rule: `${model}: quality xhigh`,
    body: { model, prompt: fox, quality: 'xhigh' },
    refused: /xhigh is for img-2.5-sunburst/,
  },
  {
    rule: `${model}: background`,
    body: { model, prompt: fox, background: 'opaque' },
    refused: /only img models/,
  },
  { rule: `${model}: stream`, body: { model, prompt: fox, stream: true }, refused: /only img models stream/ },
  { rule: `${model}: style`, body: { model, prompt: fox, style: 'natural' }, refused: /only legacy-image-3/ },
];

export const imageExamples: readonly Example[] = [
  ...[...img2, ...img25].map((model) => ({
    rule: `${model}: the smallest request`,
    body: { model, prompt: fox },
  })),
  ...imgOfEachRow.flatMap(ofAnImgModel),
  ...img2.flatMap((model): Example[] => [
    {
      rule: `${model}: quality xhigh`,
      body: small(model, { quality: 'xhigh' }),
      refused: /img-2.* takes low, medium, high, auto; xhigh is for img-2.5-sunburst/,
    },
    { rule: `${model}: quality max`, body: small(model, { quality: 'max' }), refused: /max is for img-2.5/ },
  ]),
  ...img25.flatMap((model): Example[] => [
    { rule: `${model}: quality xhigh`, body: small(model, { quality: 'xhigh' }) },
    { rule: `${model}: quality max`, body: small(model, { quality: 'max' }) },
  ]),
  ...ofLegacy('legacy-image-2', '256x256'),
  ...['512x512', '1024x1024'].map((size) => ({
    rule: `legacy-image-2: ${size}`,
    body: { model: 'legacy-image-2', prompt: fox, size },
  })),
  {
    rule: 'legacy-image-2: a size of legacy-image-3',
    body: { model: 'legacy-image-2', prompt: fox, size: '1792x1024' },
    refused: /takes 256x256, 512x512 or 1024x1024; 1792x1024 is for legacy-image-3/,
  },
  {
    rule: 'legacy-image-2: a size of no legacy model',
    body: { model: 'legacy-image-2', prompt: fox, size: '500x500' },
    refused: /the nearest is 512x512/,
  },
  {
    rule: 'legacy-image-2: a prompt of 1,000 characters',
    body: { model: 'legacy-image-2', prompt: '🦊'.repeat(1000), size: '256x256' },
  },
  {
    rule: 'legacy-image-2: a prompt of 1,001 characters',
    body: { model: 'legacy-image-2', prompt: '🦊'.repeat(1001), size: '256x256' },
    refused: /up to 1000 characters; this one has 1001/,
  },
  { rule: 'legacy-image-2: n of 10', body: { model: 'legacy-image-2', prompt: fox, size: '256x256', n: 10 } },
  {
    rule: 'legacy-image-2: n of 11',
    body: { model: 'legacy-image-2', prompt: fox, size: '256x256', n: 11 },
    refused: /from 1 to 10/,
  },
  {
    rule: 'legacy-image-2: quality hd',
    body: { model: 'legacy-image-2', prompt: fox, quality: 'hd' },
    refused: /legacy-image-2 takes standard, auto; hd is for legacy-image-3/,
  },
  {
    rule: 'legacy-image-2: style',
    body: { model: 'legacy-image-2', prompt: fox, style: 'vivid' },
    refused: /only legacy-image-3/,
  },
  ...ofLegacy('legacy-image-3', '1024x1024'),
  ...['1792x1024', '1024x1792'].map((size) => ({
    rule: `legacy-image-3: ${size}`,
    body: { model: 'legacy-image-3', prompt: fox, size },
    notPosted: true as const,
  })),
  {
    rule: 'legacy-image-3: a size of legacy-image-2',
    body: { model: 'legacy-image-3', prompt: fox, size: '512x512' },
    refused: /512x512 is for legacy-image-2/,
  },
  {
    rule: 'legacy-image-3: a size of no legacy model',
    body: { model: 'legacy-image-3', prompt: fox, size: '1920x1080' },
    refused: /the nearest is 1792x1024/,
  },
  {
    rule: 'legacy-image-3: a prompt of 4,000 characters',
    body: { model: 'legacy-image-3', prompt: 'x'.repeat(4000) },
  },
  {
    rule: 'legacy-image-3: a prompt of 4,001 characters',
    body: { model: 'legacy-image-3', prompt: 'x'.repeat(4001) },
    refused: /up to 4000 characters/,
  },
  { rule: 'legacy-image-3: n of 1', body: { model: 'legacy-image-3', prompt: fox, n: 1 } },
  {
    rule: 'legacy-image-3: n of 2',
    body: { model: 'legacy-image-3', prompt: fox, n: 2 },
    refused: /legacy-image-3 makes 1 image a request/,
  },
  { rule: 'legacy-image-3: quality hd', body: { model: 'legacy-image-3', prompt: fox, quality: 'hd' } },
  { rule: 'legacy-image-3: style vivid', body: { model: 'legacy-image-3', prompt: fox, style: 'vivid' } },
  { rule: 'legacy-image-3: style natural', body: { model: 'legacy-image-3', prompt: fox, style: 'natural' } },
  {
    rule: 'legacy-image-3: an unknown style',
    body: { model: 'legacy-image-3', prompt: fox, style: 'bold' },
    refused: /one of vivid, natural/,
  },
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
  {
    rule: 'delta: too few pixels for every model names the nearest',
    body: { model: 'delta-image-4-5-251128', prompt: fox, size: '500x500' },
    refused: /3686400-16777216 pixels.*the nearest is 1920x1920/,
  },
  // the common variant, for a model without a table
  { rule: 'common: the smallest request', body: { model: 'sandbox-image-1', prompt: fox, size: '256x256' } },
  {
    rule: 'common: every parameter',
    body: {
      model: 'sandbox-image-1',
      prompt: fox,
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
    },
  },
  {
    rule: 'common: an image that is no URL',
    body: { model: 'sandbox-image-1', prompt: fox, image: ['fox.png'] },
    refused: /image.0 fox.png: not a URL or a Base64 data URL/,
  },
  {
    rule: 'common: Base64 that is cut',
    body: { model: 'sandbox-image-1', prompt: fox, image: [png.slice(0, -7)] },
    refused: /not a URL or a Base64 data URL/,
  },
  {
    rule: 'common: no image in the list',
    body: { model: 'sandbox-image-1', prompt: fox, image: [] },
  },
  {
    rule: 'common: input_fidelity is one of two',
    body: { model: 'sandbox-image-1', prompt: fox, image: [url], input_fidelity: 'medium' },
    refused: /one of high, low/,
  },
  {
    rule: 'common: quality xhigh',
    body: { model: 'sandbox-image-1', prompt: fox, quality: 'xhigh' },
    refused: /takes low, medium, high, auto/,
  },
  {
    rule: 'common: n of 11',
    body: { model: 'sandbox-image-1', prompt: fox, n: 11 },
    refused: /from 1 to 10/,
  },
  {
    rule: 'common: compression of -1',
    body: { model: 'sandbox-image-1', prompt: fox, output_compression: -1 },
    refused: /from 0 to 100/,
  },
  {
    rule: 'common: style',
    body: { model: 'sandbox-image-1', prompt: fox, style: 'vivid' },
    refused: /only legacy-image-3/,
  },
  { rule: 'a model is required', body: { prompt: fox }, refused: /model: is required/ },
  { rule: 'a prompt is required', body: { model: 'img-2' }, refused: /prompt: is required/ },
  { rule: 'a prompt may be of blanks', body: { model: 'img-2', prompt: ' \n' } },
  { rule: 'a prompt is a text', body: { model: 'img-2', prompt: 7 }, refused: /prompt 7: must be a text/ },
  { rule: 'a model is not empty', body: { model: '', prompt: fox }, refused: /model: is empty/ },
];
