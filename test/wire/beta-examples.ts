import { type Example, example } from './alpha-examples.ts';

// Literal request bodies of family B, copied from or written by hand after the gateway's document: what it accepts and
// what it refuses, rule by rule. Nothing here may be computed from the product's own tables.

interface BetaExample extends Example {
  /** The path of the create endpoint, below the base address. */
  readonly path: string;
}

const TEXT = '/text-to-video/beta-3.0';
const TURBO = '/text-to-video/beta-3.0-turbo';
const O1 = '/omni-video/beta-o1';

/** The words after `gw video beta create` that lead to each path. */
export const flagsOfPath: Readonly<Record<string, readonly string[]>> = {
  [TEXT]: [],
  [TURBO]: ['--turbo'],
  '/image-to-video/beta-3.0': ['--mode', 'image'],
  '/image-to-video/beta-3.0-turbo': ['--mode', 'image', '--turbo'],
  '/omni-video/beta-3.0-omni': ['--mode', 'omni'],
  '/motion-control/beta-3.0': ['--mode', 'motion'],
  [O1]: ['--mode', 'o1'],
};

const prompt = 'a fox in the snow';
const examplesAt =
  (path: string, name: string) =>
  (rule: string, body: unknown, refused?: RegExp): BetaExample => ({
    ...example(`${name}: ${rule}`, body, refused),
    path,
  });
const [text, turbo, o1] = [examplesAt(TEXT, 'text'), examplesAt(TURBO, 'turbo'), examplesAt(O1, 'o1')];

const words = { type: 'prompt', text: 'a fox in the snow' };
const first = { type: 'first_frame', url: 'https://example.com/first.png' };
const last = { type: 'last_frame', url: 'https://example.com/last.png' };
const image = (n: number) => ({ type: 'refer_image', url: `https://example.com/${n}.jpg` });
const feature = { type: 'feature_video', url: 'https://example.com/feature.mp4' };
const base = { type: 'base_video', url: 'https://example.com/base.mov' };
const element = (n: number) => ({ type: 'element', id: `hero${n}`, element_id: `el-20260101-${n}` });
/** A black image of 300x300 px, the smallest size that is accepted. */
const png =
  'iVBORw0KGgoAAAANSUhEUgAAASwAAAEsAQAAAABRBrPYAAAAIklEQVR42u3BMQEAAADCoPVPbQo/oAAAAAAAAAAAAAAAeBkttAABAZVTBAAAAABJRU5ErkJggg==';
const wide = { aspect_ratio: '16:9' };

const textExamples: BetaExample[] = [
  text('a prompt alone', { prompt }),
  text('no prompt', { settings: { duration: 5 } }, /prompt.*is required/),
  text('an empty prompt', { prompt: '' }),
  text('a prompt of blanks', { prompt: ' \n ' }),
  text('3,072 characters', { prompt: 'a'.repeat(3072) }),
  text('3,072 characters, each an emoji', { prompt: '🦊'.repeat(3072) }),
  text('3,073 characters', { prompt: 'a'.repeat(3073) }, /has 3073 characters, and may have at most 3072/),
  text('every documented setting', {
    prompt,
    settings: { multi_shot: true, audio: 'native', resolution: '4k', aspect_ratio: '9:16', duration: 15 },
    options: {
      callback_url: 'https://example.com/hook',
      external_task_id: 'order 17',
      watermark_info: { enabled: true },
    },
  }),
  text('no shots, no sound', { prompt, settings: { multi_shot: false, audio: 'off', duration: 3 } }),
  text(
    'sound of another mode',
    { prompt, settings: { audio: 'original' } },
    /original: beta text takes native, off; original is for o1/,
  ),
  text('a resolution that is none', { prompt, settings: { resolution: '480p' } }, /one of 720p, 1080p, 4k/),
  text('4K in another spelling', { prompt, settings: { resolution: '4K' } }, /did you mean 4k/),
  text('a ratio that is none', { prompt, settings: { aspect_ratio: '4:3' } }, /one of 16:9, 9:16, 1:1/),
  text('2 seconds', { prompt, settings: { duration: 2 } }, /3-15 seconds/),
  text('16 seconds', { prompt, settings: { duration: 16 } }, /3-15 seconds/),
  text('half a second', { prompt, settings: { duration: 5.5 } }, /whole number/),
  text('multi_shot as a word', { prompt, settings: { multi_shot: 'yes' } }, /true or false/),
  text('a callback that is no URL', { prompt, options: { callback_url: 'hook' } }, /not a URL/),
  text('an empty external ID', { prompt, options: { external_task_id: '' } }, /not empty/),
  text(
    'an external ID that could not be asked for',
    { prompt, options: { external_task_id: 'a,b' } },
    /no comma/,
  ),
  text(
    'a watermark that is no switch',
    { prompt, options: { watermark_info: { enabled: 1 } } },
    /true or false/,
  ),
];

const turboExamples: BetaExample[] = [
  turbo('a prompt alone', { prompt }),
  turbo('1080p', { prompt, settings: { resolution: '1080p', aspect_ratio: '1:1', duration: 15 } }),
  turbo('4k', { prompt, settings: { resolution: '4k' } }, /takes 720p, 1080p; 4k is for text/),
  turbo('multi_shot', { prompt, settings: { multi_shot: true } }, /not a setting of beta text --turbo/),
  turbo('audio', { prompt, settings: { audio: 'off' } }, /not a setting of beta text --turbo/),
  turbo('3,073 characters', { prompt: 'a'.repeat(3073) }, /at most 3072/),
  turbo('two shots that make the default duration', {
    prompt: 'shot 1, 2, a fox wakes; shot 2, 3, it runs;',
    settings: { duration: 5 },
  }),
  turbo('six shots of a second', {
    prompt: 'shot 1, 1, a; shot 2, 1, b; shot 3, 1, c; shot 4, 1, d; shot 5, 1, e; shot 6, 1, f;',
    settings: { duration: 6 },
  }),
  turbo(
    'seven shots',
    {
      prompt:
        'shot 1, 1, a; shot 2, 1, b; shot 3, 1, c; shot 4, 1, d; shot 5, 1, e; shot 6, 1, f; shot 7, 1, g;',
      settings: { duration: 7 },
    },
    /at most 6 shots, and 7 are given/,
  ),
  turbo(
    'shots of no length',
    { prompt: 'shot 1, 0, a fox; shot 2, 5, it runs;' },
    /shot 1 has the length "0": whole seconds, at least 1/,
  ),
  turbo(
    'shots of less than a second',
    { prompt: 'shot 1, 0.5, a fox; shot 2, 4.5, it runs;' },
    /shot 1 has the length "0.5"/,
  ),
  turbo(
    'shots longer than the video',
    { prompt: 'shot 1, 3, a fox; shot 2, 3, it runs;', settings: { duration: 5 } },
    /shots are 6 s together and the video 5 s/,
  ),
  turbo(
    'shots shorter than the video',
    { prompt: 'shot 1, 2, a fox; shot 2, 2, it runs;', settings: { duration: 10 } },
    /shots are 4 s together and the video 10 s/,
  ),
  turbo('a shot of 512 characters', {
    prompt: `shot 1, 5, ${'é'.repeat(512)};`,
    settings: { duration: 5 },
  }),
  turbo(
    'a shot of 513 characters',
    { prompt: `shot 1, 5, ${'é'.repeat(513)};` },
    /shot 1 has 513 characters/,
  ),
  turbo('a shot without words', { prompt: 'shot 1, 5, ;' }, /shot 1 has no words/),
  turbo('a shot without its length', { prompt: 'shot 1, a fox runs; shot 2, 5, b;' }, /not of the form/),
  turbo('shots not kept apart', { prompt: 'shot 1, 2, a fox shot 2, 3, it runs;' }, /";" is missing/),
  turbo('words after the last shot', { prompt: 'shot 1, 5, a fox; and more' }, /after shot 1/),
  turbo('the word shot in a prompt', { prompt: 'a shot of a fox, 5 seconds' }),
];

const o1Examples: BetaExample[] = [
  o1('a prompt and a ratio', { contents: [words], settings: wide }),
  o1('every documented setting', {
    contents: [words],
    settings: { audio: 'off', resolution: '1080p', aspect_ratio: '1:1', duration: 10 },
    options: {
      callback_url: 'https://example.com/hook',
      external_task_id: 'order-18',
      watermark_info: { enabled: false },
    },
  }),
  o1('no contents', { settings: wide }, /contents.*is required/),
  o1('empty contents', { contents: [], settings: wide }),
  o1('a type that is none', { contents: [{ type: 'text', text: 'a' }], settings: wide }, /not a known type/),
  o1('a prompt of 2,500 characters', {
    contents: [{ type: 'prompt', text: '狐'.repeat(2500) }],
    settings: wide,
  }),
  o1(
    'a prompt of 2,501 characters',
    { contents: [{ type: 'prompt', text: 'a'.repeat(2501) }], settings: wide },
    /has 2501 characters; a prompt item has at most 2500/,
  ),
  o1('an empty prompt', { contents: [{ type: 'prompt', text: ' ' }], settings: wide }),
  o1('a prompt without text', { contents: [{ type: 'prompt' }], settings: wide }, /is required/),
  o1(
    'an image without an address',
    { contents: [words, { type: 'refer_image' }], settings: wide },
    /is required/,
  ),
  o1('an image in Base64', {
    contents: [words, { type: 'first_frame', url: `data:image/png;base64,${png}` }],
  }),
  o1('an image in bare Base64', { contents: [words, { type: 'first_frame', url: png }] }),
  o1(
    'an image of another format',
    { contents: [words, { type: 'first_frame', url: 'data:image/gif;base64,R0lGODlh' }] },
    /JPG or PNG/,
  ),
  o1(
    'a video in Base64',
    { contents: [words, { type: 'base_video', url: 'data:video/mp4;base64,AAAA' }] },
    /by address only/,
  ),
  // settings
  o1('sound of the reference video', { contents: [words, base], settings: { audio: 'original' } }),
  o1(
    'sound of another mode',
    { contents: [words, base], settings: { audio: 'native' } },
    /beta o1 takes original, off; native is for text/,
  ),
  o1('4k', { contents: [words], settings: { ...wide, resolution: '4k' } }, /takes 720p, 1080p/),
  o1(
    'several shots',
    { contents: [words], settings: { ...wide, multi_shot: true } },
    /not a setting of beta o1; it is for text/,
  ),
  o1('3 seconds', { contents: [words], settings: { ...wide, duration: 3 } }),
  o1('2 seconds', { contents: [words], settings: { ...wide, duration: 2 } }, /3-10 seconds/),
  o1('11 seconds', { contents: [words], settings: { ...wide, duration: 11 } }, /3-10 seconds/),
  o1('no ratio with a first frame', { contents: [words, first] }),
  o1('no ratio with a feature video', { contents: [words, feature] }),
  o1('no ratio with a base video', { contents: [words, base] }),
  o1('no ratio with a prompt alone', { contents: [words] }, /without a first frame or a reference video/),
  o1('no ratio with images', { contents: [words, image(1)] }, /without a first frame or a reference video/),
  o1('no ratio with an element', { contents: [words, element(1)] }, /without a first frame/),
  o1(
    'a custom watermark',
    { contents: [words], settings: wide, options: { watermark_info: { enabled: true, text: 'mine' } } },
    /no custom watermark|Unrecognized key/,
  ),
  // frames
  o1('a first frame alone, 5 seconds', { contents: [words, first], settings: { duration: 5 } }),
  o1('a first frame alone, 10 seconds', { contents: [words, first], settings: { duration: 10 } }),
  o1('a first frame alone, 7 seconds', { contents: [words, first], settings: { duration: 7 } }, /5 or 10/),
  o1('a first frame and an image, 7 seconds', {
    contents: [words, first, image(1)],
    settings: { duration: 7 },
  }),
  o1('first and last frame, 7 seconds', { contents: [words, first, last], settings: { duration: 7 } }),
  o1('a last frame alone', { contents: [words, last], settings: wide }, /a last frame needs a first frame/),
  o1('two first frames', { contents: [words, first, first] }, /at most one first_frame/),
  o1('two last frames', { contents: [words, first, last, last] }, /at most one last_frame/),
  o1(
    'an image beside both frames',
    { contents: [words, first, last, image(1)] },
    /no other reference images/,
  ),
  // videos
  o1('a feature video and a first frame', { contents: [words, first, feature] }),
  o1('a feature video and both frames', { contents: [words, first, last, feature] }, /first frame only/),
  o1('a base video and a first frame', { contents: [words, first, base] }, /neither first nor last frame/),
  o1(
    'a base video and both frames',
    { contents: [words, first, last, base] },
    /neither first nor last frame/,
  ),
  o1('two feature videos', { contents: [words, feature, feature] }, /at most one reference video, 2 given/),
  o1('a feature and a base video', { contents: [words, feature, base] }, /at most one reference video/),
  // elements
  o1('an element', { contents: [words, element(1)], settings: wide }),
  o1('an element beside a video', { contents: [words, feature, element(1)] }),
  o1(
    'an element without an ID',
    { contents: [words, { type: 'element', element_id: 'el-1' }], settings: wide },
    /\.id: is required/,
  ),
  o1(
    'an element that is none',
    { contents: [words, { type: 'element', id: 'a' }], settings: wide },
    /element_id: is required/,
  ),
  o1(
    'an element and both frames',
    { contents: [words, first, last, element(1)] },
    /element does not go with/,
  ),
  o1('an element and a first frame', { contents: [words, first, element(1)] }, /element does not go with/),
  // counts
  o1('seven images', { contents: [words, ...[1, 2, 3, 4, 5, 6, 7].map(image)], settings: wide }),
  o1(
    'eight images',
    { contents: [words, ...[1, 2, 3, 4, 5, 6, 7, 8].map(image)], settings: wide },
    /at most 7 images and elements without a reference video, 8 given/,
  ),
  o1('four images and three elements', {
    contents: [words, ...[1, 2, 3, 4].map(image), ...[1, 2, 3].map(element)],
    settings: wide,
  }),
  o1(
    'five images and three elements',
    { contents: [words, ...[1, 2, 3, 4, 5].map(image), ...[1, 2, 3].map(element)], settings: wide },
    /at most 7 .*, 8 given/,
  ),
  o1('two images and two elements beside a video', {
    contents: [words, base, image(1), image(2), element(1), element(2)],
  }),
  o1(
    'three images and two elements beside a video',
    { contents: [words, base, image(1), image(2), image(3), element(1), element(2)] },
    /at most 4 images and elements beside a reference video, 5 given/,
  ),
  o1(
    'a first frame counts as an image',
    { contents: [words, first, feature, ...[1, 2, 3, 4].map(image)] },
    /at most 4 .*, 5 given/,
  ),
  // IDs
  o1('IDs that the prompt names', {
    contents: [
      { type: 'prompt', text: '@fox meets @owl' },
      { ...image(1), id: 'fox' },
      { ...element(1), id: 'owl' },
    ],
    settings: wide,
  }),
  o1(
    'one ID twice',
    { contents: [words, { ...image(1), id: 'fox' }, { ...image(2), id: 'fox' }], settings: wide },
    /two items have this ID/,
  ),
  o1(
    'an ID within another',
    { contents: [words, { ...image(1), id: 'a' }, { ...image(2), id: 'ab' }], settings: wide },
    /IDs must not contain one another/,
  ),
  o1(
    'an ID around another',
    { contents: [words, { ...image(1), id: 'foxy' }, { ...element(1), id: 'fox' }], settings: wide },
    /IDs must not contain one another/,
  ),
];

const openExamples: BetaExample[] = [
  '/image-to-video/beta-3.0',
  '/image-to-video/beta-3.0-turbo',
  '/omni-video/beta-3.0-omni',
  '/motion-control/beta-3.0',
].flatMap((path): BetaExample[] => [
  { rule: `${path}: any body`, path, body: { prompt, image: { anything: ['goes', 1, null] } } },
  {
    rule: `${path}: settings and options of the family`,
    path,
    body: {
      settings: { duration: 5, sound: 'loud' },
      options: { external_task_id: `mine-${path.replaceAll('/', '-')}` },
    },
  },
]);

export const betaExamples: readonly BetaExample[] = [
  ...textExamples,
  ...turboExamples,
  ...o1Examples,
  ...openExamples,
];
