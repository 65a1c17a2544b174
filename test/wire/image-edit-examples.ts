import type { Example } from './alpha-examples.ts';
import { img2, img25, imgOfEachRow, png, times } from './image-examples.ts';

// Literal JSON bodies of POST /v1/images/edits, written by hand after the gateway's document.

const byUrl = { image_url: 'https://example.com/fox.png' };
const byData = { image_url: png };
const byId = { file_id: 'file-fox' };
const hat = 'put a hat on the fox';

const edit = (model: string, fields: Readonly<Record<string, unknown>> = {}) => ({
  model,
  prompt: hat,
  images: [byUrl],
  size: model.startsWith('legacy') ? '256x256' : '64x64',
  ...fields,
});

const ofAModel = (model: string): Example[] => [
  { rule: `${model}: an image by data URL`, body: edit(model, { images: [byData] }) },
  { rule: `${model}: an image by file ID`, body: edit(model, { images: [byId] }) },
  { rule: `${model}: 16 images`, body: edit(model, { images: times(16, byUrl) }) },
  {
    rule: `${model}: 17 images`,
    body: edit(model, { images: times(17, byUrl) }),
    refused: /up to 16 input images, 17 given/,
  },
  { rule: `${model}: no image`, body: edit(model, { images: [] }) },
  {
    rule: `${model}: an image with two sources`,
    body: edit(model, { images: [{ ...byUrl, ...byId }] }),
    refused: /images.0: holds exactly one of file_id and image_url/,
  },
  {
    rule: `${model}: an image without a source`,
    body: edit(model, { images: [byUrl, {}] }),
    refused: /images.1: holds exactly one/,
  },
  { rule: `${model}: a mask by URL`, body: edit(model, { mask: byUrl }) },
  { rule: `${model}: a mask by file ID`, body: edit(model, { mask: byId }) },
  {
    rule: `${model}: a mask with two sources`,
    body: edit(model, { mask: { ...byUrl, ...byId } }),
    refused: /mask: holds exactly one of file_id and image_url/,
  },
  {
    rule: `${model}: a mask without a source`,
    body: edit(model, { mask: {} }),
    refused: /mask: holds exactly one/,
  },
  { rule: `${model}: a prompt of 32,000 characters`, body: edit(model, { prompt: 'x'.repeat(32_000) }) },
  {
    rule: `${model}: a prompt of 32,001 characters`,
    body: edit(model, { prompt: 'x'.repeat(32_001) }),
    refused: /up to 32000 characters/,
  },
  { rule: `${model}: quality auto`, body: edit(model, { quality: 'auto' }) },
  {
    rule: `${model}: quality hd`,
    body: edit(model, { quality: 'hd' }),
    refused: /one of low, medium, high, xhigh, max, auto/,
  },
  { rule: `${model}: n of 10`, body: edit(model, { n: 10 }) },
  { rule: `${model}: n of 11`, body: edit(model, { n: 11 }), refused: /from 1 to 10/ },
  { rule: `${model}: input_fidelity`, body: edit(model, { input_fidelity: 'high' }) },
  {
    rule: `${model}: an unknown input_fidelity`,
    body: edit(model, { input_fidelity: 'max' }),
    refused: /one of high, low/,
  },
  { rule: `${model}: user`, body: edit(model, { user: 'customer-7' }) },
  { rule: `${model}: style`, body: edit(model, { style: 'vivid' }), refused: /only legacy-image-3/ },
];

const ofAnImgModel = (model: string): Example[] => [
  { rule: `${model}: quality low`, body: edit(model, { quality: 'low' }) },
  { rule: `${model}: quality high`, body: edit(model, { quality: 'high' }) },
  { rule: `${model}: size auto`, body: edit(model, { size: 'auto' }) },
  { rule: `${model}: a size by rule`, body: edit(model, { size: '96x64' }) },
  {
    rule: `${model}: a size against the rule`,
    body: edit(model, { size: '100x100' }),
    refused: /divisible by 16.*nearest is 96x96/,
  },
  {
    rule: `${model}: transparent webp`,
    body: edit(model, { background: 'transparent', output_format: 'webp' }),
  },
  {
    rule: `${model}: transparent jpeg`,
    body: edit(model, { background: 'transparent', output_format: 'jpeg' }),
    refused: /png or webp/,
  },
  { rule: `${model}: compressed webp`, body: edit(model, { output_format: 'webp', output_compression: 50 }) },
  {
    rule: `${model}: compressed png`,
    body: edit(model, { output_format: 'png', output_compression: 50 }),
    refused: /webp and jpeg/,
  },
  { rule: `${model}: moderation`, body: edit(model, { moderation: 'low' }) },
  { rule: `${model}: two partial images`, body: edit(model, { stream: true, partial_images: 2 }) },
  {
    rule: `${model}: four partial images`,
    body: edit(model, { stream: true, partial_images: 4 }),
    refused: /from 0 to 3/,
  },
  {
    rule: `${model}: response_format`,
    body: edit(model, { response_format: 'url' }),
    refused: /must not be sent this parameter/,
  },
];

export const imageEditExamples: readonly Example[] = [
  ...[...img2, ...img25, 'legacy-image-2'].map((model) => ({
    rule: `${model}: an image by URL`,
    body: edit(model),
  })),
  ...[...imgOfEachRow, 'legacy-image-2'].flatMap(ofAModel),
  ...imgOfEachRow.flatMap(ofAnImgModel),
  ...img2.flatMap((model): Example[] => [
    {
      rule: `${model}: quality xhigh`,
      body: edit(model, { quality: 'xhigh' }),
      refused: /xhigh is for img-2.5/,
    },
    { rule: `${model}: quality max`, body: edit(model, { quality: 'max' }), refused: /max is for img-2.5/ },
  ]),
  ...img25.flatMap((model): Example[] => [
    { rule: `${model}: quality xhigh`, body: edit(model, { quality: 'xhigh' }) },
    { rule: `${model}: quality max`, body: edit(model, { quality: 'max' }) },
  ]),
  { rule: 'legacy-image-2: 512x512', body: edit('legacy-image-2', { size: '512x512' }) },
  {
    rule: 'legacy-image-2: a size of img models',
    body: edit('legacy-image-2', { size: '1536x1024' }),
    refused: /takes 256x256, 512x512 or 1024x1024/,
  },
  { rule: 'legacy-image-2: as a URL', body: edit('legacy-image-2', { response_format: 'url' }) },
  {
    rule: 'legacy-image-2: background',
    body: edit('legacy-image-2', { background: 'opaque' }),
    refused: /only img models/,
  },
  {
    rule: 'legacy-image-2: stream',
    body: edit('legacy-image-2', { stream: true }),
    refused: /only img models stream/,
  },
  {
    rule: 'legacy-image-3 does not edit',
    body: edit('legacy-image-3'),
    refused: /model legacy-image-3: the edits endpoint takes the img models and legacy-image-2/,
  },
  ...[
    'delta-image-4-0-250828',
    'delta-image-4-5-251128',
    'delta-image-5-0-lite-260128',
    'delta-image-5-0-pro-260628',
  ].map((model) => ({
    rule: `${model} does not edit here`,
    body: edit(model),
    refused: /delta models: generations/,
  })),
  { rule: 'images are required', body: { model: 'img-2', prompt: hat }, refused: /images?: is required/ },
  { rule: 'a prompt is required', body: { model: 'img-2', images: [byUrl] }, refused: /prompt: is required/ },
  {
    rule: 'an image is a URL or a data URL',
    body: edit('img-2', { images: [{ image_url: 'fox.png' }] }),
    refused: /images.0.image_url fox.png: not a URL/,
  },
];
