import { type Example, example, examplesOf } from './alpha-examples.ts';
import { img2, img25, imgOfEachRow, png, times } from './image-examples.ts';

// Literal JSON bodies of POST /v1/images/edits, written by hand after the gateway's document.

const byUrl = { image_url: 'https://example.com/fox.png' };
const byData = { image_url: png };
const byId = { file_id: 'file-fox' };
const hat = 'put a hat on the fox';

const edit = (model: string, fields: object = {}) => ({
  model,
  prompt: hat,
  images: [byUrl],
  size: model.startsWith('legacy') ? '256x256' : '64x64',
  ...fields,
});
const of = (model: string) => examplesOf(model, (fields) => edit(model, fields));

const ofAModel = (model: string): Example[] => {
  const row = of(model);
  return [
    row('an image by data URL', { images: [byData] }),
    row('an image by file ID', { images: [byId] }),
    row('16 images', { images: times(16, byUrl) }),
    row('17 images', { images: times(17, byUrl) }, /up to 16 input images, 17 given/),
    row('no image', { images: [] }),
    row(
      'an image with two sources',
      { images: [{ ...byUrl, ...byId }] },
      /images.0: holds exactly one of file_id and image_url/,
    ),
    row('an image without a source', { images: [byUrl, {}] }, /images.1: holds exactly one/),
    row('a mask by URL', { mask: byUrl }),
    row('a mask by file ID', { mask: byId }),
    row(
      'a mask with two sources',
      { mask: { ...byUrl, ...byId } },
      /mask: holds exactly one of file_id and image_url/,
    ),
    row('a mask without a source', { mask: {} }, /mask: holds exactly one/),
    row('a prompt of 32,000 characters', { prompt: 'x'.repeat(32_000) }),
    row('a prompt of 32,001 characters', { prompt: 'x'.repeat(32_001) }, /up to 32000 characters/),
    row('quality auto', { quality: 'auto' }),
    row('quality hd', { quality: 'hd' }, /one of low, medium, high, xhigh, max, auto/),
    row('n of 10', { n: 10 }),
    row('n of 11', { n: 11 }, /from 1 to 10/),
    row('input_fidelity', { input_fidelity: 'high' }),
    row('an unknown input_fidelity', { input_fidelity: 'max' }, /one of high, low/),
    row('user', { user: 'customer-7' }),
    row('style', { style: 'vivid' }, /only legacy-image-3/),
  ];
};

const ofAnImgModel = (model: string): Example[] => {
  const row = of(model);
  return [
    row('quality low', { quality: 'low' }),
    row('quality high', { quality: 'high' }),
    row('size auto', { size: 'auto' }),
    row('a size by rule', { size: '96x64' }),
    row('a size against the rule', { size: '100x100' }, /divisible by 16.*nearest is 96x96/),
    row('transparent webp', { background: 'transparent', output_format: 'webp' }),
    row('transparent jpeg', { background: 'transparent', output_format: 'jpeg' }, /png or webp/),
    row('compressed webp', { output_format: 'webp', output_compression: 50 }),
    row('compressed png', { output_format: 'png', output_compression: 50 }, /webp and jpeg/),
    row('moderation', { moderation: 'low' }),
    row('two partial images', { stream: true, partial_images: 2 }),
    row('four partial images', { stream: true, partial_images: 4 }, /from 0 to 3/),
    row('response_format', { response_format: 'url' }, /must not be sent this parameter/),
  ];
};

const legacy2 = of('legacy-image-2');

export const imageEditExamples: readonly Example[] = [
  ...[...img2, ...img25, 'legacy-image-2'].map((model) => of(model)('an image by URL')),
  ...[...imgOfEachRow, 'legacy-image-2'].flatMap(ofAModel),
  ...imgOfEachRow.flatMap(ofAnImgModel),
  ...img2
    .map(of)
    .flatMap((row) => [
      row('quality xhigh', { quality: 'xhigh' }, /xhigh is for img-2.5/),
      row('quality max', { quality: 'max' }, /max is for img-2.5/),
    ]),
  ...img25
    .map(of)
    .flatMap((row) => [row('quality xhigh', { quality: 'xhigh' }), row('quality max', { quality: 'max' })]),
  legacy2('512x512', { size: '512x512' }),
  legacy2('a size of img models', { size: '1536x1024' }, /takes 256x256, 512x512 or 1024x1024/),
  legacy2('as a URL', { response_format: 'url' }),
  legacy2('background', { background: 'opaque' }, /only img models/),
  legacy2('stream', { stream: true }, /only img models stream/),
  example(
    'legacy-image-3 does not edit',
    edit('legacy-image-3'),
    /model legacy-image-3: the edits endpoint takes the img models and legacy-image-2/,
  ),
  ...[
    'delta-image-4-0-250828',
    'delta-image-4-5-251128',
    'delta-image-5-0-lite-260128',
    'delta-image-5-0-pro-260628',
  ].map((model) => example(`${model} does not edit here`, edit(model), /delta models: generations/)),
  example('images are required', { model: 'img-2', prompt: hat }, /images?: is required/),
  example('a prompt is required', { model: 'img-2', images: [byUrl] }, /prompt: is required/),
  example(
    'an image is a URL or a data URL',
    edit('img-2', { images: [{ image_url: 'fox.png' }] }),
    /images.0.image_url fox.png: not a URL/,
  ),
];
