// For every rule between fields: a body that keeps it and one that breaks it, written by hand from the document's sentence.
// Nothing here may be computed from the product's own tables.

export interface RuleExample {
  readonly kept: unknown;
  readonly broken: unknown;
}

const url = (name: string) => `https://example.com/${name}`;
const text = { type: 'text', text: 'a fox in the snow' };
const image = { type: 'image_url', image_url: { url: url('a.png') }, role: 'reference_image' };
const video = { type: 'video_url', video_url: { url: url('a.mp4') }, role: 'reference_video' };
const audio = { type: 'audio_url', audio_url: { url: url('a.mp3') }, role: 'reference_audio' };
const first = { ...image, role: 'first_frame' };
const last = { ...image, role: 'last_frame' };
const bare = { type: 'image_url', image_url: { url: url('a.png') } };
const times = <T>(count: number, item: T): T[] => Array.from({ length: count }, () => item);

const v20 = { model: 'alpha-video-2-0-260128', content: [text] };
const v25 = { model: 'alpha-video-2-5-260628', content: [text] };
const asset = { ...image, image_url: { url: 'asset://asset-20260101-ab' } };
const edit = {
  ...v25,
  content: [text, video],
  omni_reference_task_type: 'edit',
  ratio: 'adaptive',
  duration: -1,
};

export const alphaRuleExamples: Readonly<Record<string, RuleExample>> = {
  'alpha.model-is-known': { kept: v25, broken: { ...v25, model: 'alpha-video-3-0' } },
  'alpha.settings-by-model': {
    kept: { ...v20, resolution: '4k', duration: 15, ratio: '21:9' },
    broken: { ...v20, duration: -1 },
  },
  'alpha.last-frame-of-2.0': {
    kept: { ...v20, return_last_frame: true },
    broken: { ...v25, return_last_frame: true },
  },
  'alpha.no-last-frame-of-2.5': {
    kept: { ...v20, return_last_frame: false },
    broken: { ...v25, return_last_frame: false },
  },
  'alpha.reference-counts': {
    kept: { ...v20, content: [text, ...times(9, image), ...times(3, video), ...times(3, audio)] },
    broken: { ...v20, content: [text, ...times(10, image)] },
  },
  'alpha.one-of-each-frame': {
    kept: { ...v20, content: [text, first, last] },
    broken: { ...v20, content: [text, first, first] },
  },
  'alpha.last-frame-needs-a-first': {
    kept: { ...v20, content: [first, last] },
    broken: { ...v20, content: [text, last] },
  },
  'alpha.frames-beside-references': {
    kept: { ...v20, content: [text, first, last] },
    broken: { ...v20, content: [text, first, image] },
  },
  'alpha.audio-alone-on-2.0': {
    kept: { ...v20, content: [text, image, audio] },
    broken: { ...v20, content: [text, audio] },
  },
  'alpha.web-search': {
    kept: { ...v20, tools: [{ type: 'web_search' }] },
    broken: { ...v20, content: [text, image], tools: [{ type: 'web_search' }] },
  },
  'alpha.no-asset-id-in-the-prompt': {
    kept: { ...v20, content: [{ type: 'text', text: 'image 1 at night' }, asset] },
    broken: { ...v20, content: [{ type: 'text', text: 'asset-20260101-ab at night' }, asset] },
  },
  'alpha.frames-need-adaptive': {
    kept: { ...v25, content: [text, first], ratio: 'adaptive' },
    broken: { ...v25, content: [text, first], ratio: '16:9' },
  },
  'alpha.reference-needs-a-reference': {
    kept: { ...v25, content: [text, image], omni_reference_task_type: 'reference' },
    broken: { ...v25, content: [text, first], ratio: 'adaptive', omni_reference_task_type: 'reference' },
  },
  'alpha.edit-and-extend': { kept: edit, broken: { ...edit, content: [video] } },
  'alpha.numbering-in-the-prompt': {
    kept: { ...v25, content: [{ type: 'text', text: 'image 1 runs' }, image] },
    broken: { ...v25, content: [{ type: 'text', text: 'image 2 runs' }, image] },
  },
  'alpha.encoding-of-1080p-and-4k': {
    kept: { ...v20, resolution: '1080p' },
    broken: { ...v25, resolution: '1080p' },
  },
  'alpha.encoding-of-mov': {
    kept: { ...v25, output_format: 'mp4' },
    broken: { ...v25, output_format: 'mov' },
  },
  'alpha.media-without-a-role': {
    kept: { ...v25, content: [text, image] },
    broken: { ...v25, content: [text, bare] },
  },
};

const h3 = { model: 'gamma-H3', content: [text], resolution: '768P', duration: 5, ratio: '16:9' };
const h3Max = { ...h3, model: 'gamma-H3-Max' };

export const gammaRuleExamples: Readonly<Record<string, RuleExample>> = {
  'gamma.model-is-known': { kept: h3Max, broken: { ...h3, model: 'gamma-H4' } },
  'gamma.resolution-and-duration-are-required': {
    kept: h3,
    broken: { model: 'gamma-H3', content: [text], ratio: '16:9', resolution: '2K' },
  },
  'gamma.resolution-and-duration-by-model': {
    kept: { ...h3Max, resolution: '480P' },
    broken: { ...h3, resolution: '480P' },
  },
  'gamma.text-needs-a-ratio': { kept: h3, broken: { ...h3, ratio: 'adaptive' } },
  'gamma.text-length': {
    kept: { ...h3, content: [{ type: 'text', text: 'a'.repeat(7000) }] },
    broken: { ...h3, content: [{ type: 'text', text: 'a'.repeat(7001) }] },
  },
  'gamma.text-in-every-scenario': {
    kept: { ...h3, content: [first, text] },
    broken: { ...h3, content: [first] },
  },
  'gamma.references-by-model': {
    kept: { ...h3, content: [text, ...times(9, image)] },
    broken: { ...h3Max, content: [text, image] },
  },
  'gamma.one-of-each-frame': {
    kept: { ...h3, ratio: 'adaptive', content: [text, first, last] },
    broken: { ...h3, content: [text, last, last] },
  },
  'gamma.frames-or-references': {
    kept: { ...h3, content: [text, image, video] },
    broken: { ...h3, content: [text, first, image] },
  },
  'gamma.frames-set-the-ratio': {
    kept: { ...h3, content: [text, first], ratio: 'adaptive' },
    broken: { ...h3, content: [text, first], ratio: '1:1' },
  },
  'gamma.media-without-a-role': {
    kept: { ...h3, content: [text, image] },
    broken: { ...h3, content: [text, bare] },
  },
};

const prompt = 'a fox in the snow';
const shots = 'shot 1, 2, a fox wakes; shot 2, 4, it runs;';
const seven =
  'shot 1, 1, a; shot 2, 1, b; shot 3, 1, c; shot 4, 1, d; shot 5, 1, e; shot 6, 1, f; shot 7, 1, g;';

export const betaTextRuleExamples: Readonly<Record<string, RuleExample>> = {
  'beta.settings-of-text': {
    kept: { prompt, settings: { resolution: '4k', audio: 'native', multi_shot: true, duration: 3 } },
    broken: { prompt, settings: { duration: 16 } },
  },
  'beta.prompt-length': { kept: { prompt: 'a'.repeat(3072) }, broken: { prompt: 'a'.repeat(3073) } },
  'beta.shots-of-text': {
    kept: { prompt: seven, settings: { multi_shot: false } },
    broken: { prompt: seven, settings: { duration: 7 } },
  },
  'beta.shots-fill-the-duration-of-text': {
    kept: { prompt: shots, settings: { duration: 6 } },
    broken: { prompt: shots },
  },
  'beta.fractional-shots-of-text': {
    kept: { prompt: shots, settings: { duration: 6 } },
    broken: { prompt: 'shot 1, 2.5, a fox; shot 2, 2.5, it runs;' },
  },
  'beta.shot-syntax-of-text': {
    kept: { prompt: 'a shot of a fox' },
    broken: { prompt: 'shot 1, a fox runs; and more' },
  },
  'beta.prompt-length-recommended': {
    kept: { prompt: 'a'.repeat(2500) },
    broken: { prompt: 'a'.repeat(2501) },
  },
};

export const betaTurboRuleExamples: Readonly<Record<string, RuleExample>> = {
  'beta.settings-of-text-turbo': {
    kept: { prompt, settings: { resolution: '1080p', duration: 15 } },
    broken: { prompt, settings: { audio: 'off' } },
  },
  'beta.prompt-length': { kept: { prompt: 'é'.repeat(3072) }, broken: { prompt: 'é'.repeat(3073) } },
  'beta.shot-syntax-of-turbo': {
    kept: { prompt: shots, settings: { duration: 6 } },
    broken: { prompt: 'shot 1, 5, a fox; and more' },
  },
  'beta.shots-of-turbo': {
    kept: { prompt: `shot 1, 5, ${'a'.repeat(512)};` },
    broken: { prompt: `shot 1, 5, ${'a'.repeat(513)};` },
  },
  'beta.shots-fill-the-duration-of-turbo': {
    kept: { prompt: 'shot 1, 2, a; shot 2, 3, b;' },
    broken: { prompt: shots, settings: { duration: 10 } },
  },
  'beta.fractional-shots-of-turbo': {
    kept: { prompt: 'shot 1, 5, a fox;' },
    broken: { prompt: 'shot 1, 1.5, a fox; shot 2, 3.5, it runs;' },
  },
  'beta.prompt-length-recommended': {
    kept: { prompt: 'é'.repeat(2500) },
    broken: { prompt: 'é'.repeat(2501) },
  },
};

const words = { type: 'prompt', text: 'a fox in the snow' };
const wide = { settings: { aspect_ratio: '16:9' } };
const frame = { type: 'first_frame', url: url('a.png') };
const end = { type: 'last_frame', url: url('b.png') };
const refer = { type: 'refer_image', url: url('c.png') };
const feature = { type: 'feature_video', url: url('a.mp4') };
const base = { type: 'base_video', url: url('b.mp4') };
const element = { type: 'element', id: 'fox', element_id: 'e-1' };

export const betaO1RuleExamples: Readonly<Record<string, RuleExample>> = {
  'beta.settings-of-o1': {
    kept: { contents: [words], settings: { aspect_ratio: '1:1', resolution: '1080p', duration: 10 } },
    broken: { contents: [words], settings: { aspect_ratio: '1:1', duration: 11 } },
  },
  'beta.o1-prompt-length': {
    kept: { ...wide, contents: [{ type: 'prompt', text: 'a'.repeat(2500) }] },
    broken: { ...wide, contents: [{ type: 'prompt', text: 'a'.repeat(2501) }] },
  },
  'beta.o1-one-of-each-frame': {
    kept: { contents: [words, frame, end] },
    broken: { contents: [words, frame, frame] },
  },
  'beta.o1-last-frame-needs-a-first': {
    kept: { contents: [words, frame, end] },
    broken: { ...wide, contents: [words, end] },
  },
  'beta.o1-no-images-with-both-frames': {
    kept: { contents: [words, frame, refer] },
    broken: { contents: [words, frame, end, refer] },
  },
  'beta.o1-feature-video': {
    kept: { contents: [words, frame, feature] },
    broken: { contents: [words, frame, end, feature] },
  },
  'beta.o1-base-video': {
    kept: { contents: [words, base, refer] },
    broken: { contents: [words, frame, base] },
  },
  'beta.o1-element': {
    kept: { ...wide, contents: [words, element] },
    broken: { contents: [words, frame, element] },
  },
  'beta.o1-one-reference-video': {
    kept: { contents: [words, feature] },
    broken: { contents: [words, feature, base] },
  },
  'beta.o1-images-and-elements': {
    kept: { contents: [words, base, ...times(4, refer)] },
    broken: { contents: [words, base, ...times(5, refer)] },
  },
  'beta.o1-ids': {
    kept: { ...wide, contents: [words, { ...refer, id: 'fox' }, { ...refer, id: 'hen' }] },
    broken: { ...wide, contents: [words, { ...refer, id: 'fox' }, { ...refer, id: 'foxes' }] },
  },
  'beta.o1-aspect-ratio': { kept: { contents: [words, base] }, broken: { contents: [words, refer] } },
  'beta.o1-first-frame-alone': {
    kept: { contents: [words, frame], settings: { duration: 10 } },
    broken: { contents: [words, frame], settings: { duration: 7 } },
  },
  'beta.o1-custom-watermark': {
    kept: { ...wide, contents: [words], options: { watermark_info: { enabled: true } } },
    broken: { ...wide, contents: [words], options: { watermark_info: { text: 'mine' } } },
  },
  'beta.o1-original-sound': {
    kept: { contents: [words, base], settings: { audio: 'original' } },
    broken: { contents: [words], settings: { aspect_ratio: '1:1', audio: 'original' } },
  },
  'beta.o1-names-in-the-prompt': {
    kept: { ...wide, contents: [{ type: 'prompt', text: '@fox runs' }, element] },
    broken: { ...wide, contents: [{ type: 'prompt', text: '@hen runs' }, element] },
  },
};

export const betaOpenRuleExamples: Readonly<Record<string, RuleExample>> = {
  'beta.open-external-id': {
    kept: { options: { external_task_id: 'order-17' } },
    broken: { options: { external_task_id: 'order,17' } },
  },
  'beta.open-types': {
    kept: { prompt: 'a fox', settings: { duration: 5 } },
    broken: { prompt: 'a fox', settings: { duration: '5' } },
  },
};

export const betaListRuleExamples: Readonly<Record<string, RuleExample>> = {
  'beta.list-start-before-end': {
    kept: { start_time: '1790000000000', end_time: '1790000000001' },
    broken: { start_time: '1790000000000', end_time: '1790000000000' },
  },
  'beta.list-times-in-milliseconds': {
    kept: { start_time: '1790000000000' },
    broken: { start_time: '1790000000' },
  },
  'beta.list-filters': {
    kept: { filters: [{ key: 'product_type', values: ['try_on'] }] },
    broken: { filters: [{ key: 'status', values: ['queued'] }] },
  },
};

const fox = { model: 'img-2', prompt: 'a fox' };
const flare = { ...fox, model: 'img-2.5-flare' };
const legacy2 = { ...fox, model: 'legacy-image-2' };
const legacy3 = { ...fox, model: 'legacy-image-3' };
const delta = { ...fox, model: 'delta-image-5-0-pro-260628' };
const other = { ...fox, model: 'img-9' };

/** These examples hold for both image endpoints. */
const imageRuleExamples = {
  'image.fields-by-model': { kept: { ...fox, moderation: 'low' }, broken: { ...legacy2, moderation: 'low' } },
  'image.size-by-model': { kept: { ...fox, size: '2048x1024' }, broken: { ...legacy2, size: '2048x1024' } },
  'image.transparent-needs-png-or-webp': {
    kept: { ...flare, background: 'transparent', output_format: 'webp' },
    broken: { ...flare, background: 'transparent', output_format: 'jpeg' },
  },
  'image.compression-of-webp-and-jpeg': {
    kept: { ...fox, output_format: 'jpeg', output_compression: 50 },
    broken: { ...fox, output_format: 'png', output_compression: 50 },
  },
  'image.partial-images-in-a-stream': {
    kept: { ...fox, stream: true, partial_images: 2 },
    broken: { ...fox, partial_images: 2 },
  },
  'image.model-is-listed': { kept: fox, broken: other },
  'image.transparent-in-preview': {
    kept: { ...flare, background: 'transparent' },
    broken: { ...fox, background: 'transparent' },
  },
  'image.experimental-size': { kept: { ...fox, size: '2560x1440' }, broken: { ...fox, size: '3840x2160' } },
} satisfies Record<string, RuleExample>;

const one = url('a.png');

export const imageGenerateRuleExamples: Readonly<Record<string, RuleExample>> = {
  ...imageRuleExamples,
  'image.fields-of-delta-models': { kept: { ...delta, size: '2K' }, broken: { ...delta, n: 3 } },
  'image.fidelity-without-images': {
    kept: { ...fox, input_fidelity: 'high', image: [one] },
    broken: { ...fox, input_fidelity: 'high' },
  },
  'image.one-image-a-request': { kept: { ...fox, n: 10 }, broken: { ...legacy3, n: 2 } },
  'image.input-images-of-generate': {
    kept: { ...fox, image: times(16, one) },
    broken: { ...fox, image: times(17, one) },
  },
  'image.input-images-of-other-models': {
    kept: { ...delta, image: times(16, one) },
    broken: { ...delta, image: times(17, one) },
  },
  'image.prompt-length-of-generate': {
    kept: { ...legacy2, prompt: 'a'.repeat(1000) },
    broken: { ...legacy2, prompt: 'a'.repeat(1001) },
  },
  'image.quality-by-model-of-generate': {
    kept: { ...flare, quality: 'max' },
    broken: { ...fox, quality: 'max' },
  },
  'image.quality-of-the-common-variant': {
    kept: { ...other, quality: 'auto' },
    broken: { ...other, quality: 'hd' },
  },
  'image.references-in-a-list': { kept: { ...delta, image: one }, broken: { ...fox, image: one } },
  'image.form-of-a-reference': {
    kept: { ...fox, image: ['data:image/png;base64,AAAA'] },
    broken: { ...fox, image: ['fox.png'] },
  },
};

const toEdit = { images: [{ image_url: one }] };
const edited = Object.fromEntries(
  Object.entries(imageRuleExamples).map(([name, { kept, broken }]) => [
    name,
    { kept: { ...kept, ...toEdit }, broken: { ...broken, ...toEdit } },
  ]),
);

export const imageEditRuleExamples: Readonly<Record<string, RuleExample>> = {
  ...edited,
  'image.models-of-edits': { kept: { ...legacy2, ...toEdit }, broken: { ...delta, ...toEdit } },
  'image.input-images-of-edit': {
    kept: { ...fox, images: times(16, { image_url: one }) },
    broken: { ...fox, images: times(17, { image_url: one }) },
  },
  'image.prompt-length-of-edit': {
    kept: { ...legacy2, ...toEdit, prompt: 'a'.repeat(32_000) },
    broken: { ...fox, ...toEdit, prompt: 'a'.repeat(32_001) },
  },
  'image.quality-by-model-of-edit': {
    kept: { ...legacy2, ...toEdit, quality: 'high' },
    broken: { ...legacy2, ...toEdit, quality: 'max' },
  },
  'image.reply-format-of-edits': {
    kept: { ...legacy2, ...toEdit },
    broken: { ...legacy2, ...toEdit, response_format: 'url' },
  },
  'image.one-source': {
    kept: { ...fox, images: [{ file_id: 'file-1' }] },
    broken: { ...fox, images: [{ file_id: 'file-1', image_url: one }] },
  },
};

const flash = { model: 'geo-3.7-flash', messages: [{ role: 'user', content: 'hi' }] };
const thinking = (config: object) => ({ extra_body: { geo: { thinking_config: config } } });
const call = { id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{}' } };
const followUp = {
  ...flash,
  messages: [
    ...flash.messages,
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: 'call_1', content: '3 degrees' },
  ],
};
const toolNamed = (name: string) => ({ type: 'function', function: { name } });

export const completionsRuleExamples: Readonly<Record<string, RuleExample>> = {
  'completions.one-output-limit': {
    kept: { ...flash, max_completion_tokens: 10 },
    broken: { ...flash, max_completion_tokens: 10, max_tokens: 10 },
  },
  'completions.effort-or-thinking-config': {
    kept: { ...flash, ...thinking({ include_thoughts: true }) },
    broken: { ...flash, ...thinking({ include_thoughts: true }), reasoning_effort: 'low' },
  },
  'completions.effort-by-model': {
    kept: { ...flash, model: 'geo-3.6-flash', reasoning_effort: 'minimal' },
    broken: { ...flash, reasoning_effort: 'minimal' },
  },
  'completions.level-by-model': {
    kept: { ...flash, ...thinking({ thinking_level: 'low' }) },
    broken: { ...flash, ...thinking({ thinking_level: 'minimal' }) },
  },
  'completions.thinking-config-of-others': {
    kept: { ...flash, ...thinking({ thinking_level: 'low' }) },
    broken: { ...flash, ...thinking({ thinking_level: 'low' }), model: 'other-1' },
  },
  'completions.no-thinking-aliases': {
    kept: { ...flash, model: 'other-1', thinking_budget: 0 },
    broken: { ...flash, thinking_budget: 0 },
  },
  'completions.follow-up-with-its-tools': {
    kept: { ...followUp, tools: [toolNamed('get_weather')] },
    broken: { ...followUp, tools: [toolNamed('get_time')] },
  },
  'completions.usual-temperature': {
    kept: { ...flash, temperature: 2 },
    broken: { ...flash, temperature: 2.1 },
  },
};

const native = { model: 'm', max_tokens: 4096, messages: [{ role: 'user', content: 'hi' }] };
const enabled = (budget_tokens: number) => ({ thinking: { type: 'enabled', budget_tokens } });

export const messagesRuleExamples: Readonly<Record<string, RuleExample>> = {
  'messages.adaptive-without-a-budget': {
    kept: { ...native, thinking: { type: 'adaptive' } },
    broken: { ...native, thinking: { type: 'adaptive', budget_tokens: 2048 } },
  },
  'messages.enabled-with-a-budget': {
    kept: { ...native, ...enabled(1024) },
    broken: { ...native, ...enabled(1023) },
  },
  'messages.budget-below-the-limit': {
    kept: { ...native, ...enabled(4095) },
    broken: { ...native, ...enabled(4096) },
  },
  'messages.usual-temperature': {
    kept: { ...native, temperature: 1 },
    broken: { ...native, temperature: 1.1 },
  },
  'messages.sampling-with-thinking': {
    kept: { ...native, top_p: 0.5 },
    broken: { ...native, top_p: 0.5, ...enabled(1024) },
  },
};

const said = { contents: [{ parts: [{ text: 'hi' }] }] };
const config = (thinkingConfig: object) => ({ ...said, generationConfig: { thinkingConfig } });

/** These examples hold for geo-3.7-flash. */
export const geoRuleExamples = {
  'geo.one-kind-of-part': {
    kept: said,
    broken: { contents: [{ parts: [{ text: 'hi', fileData: { fileUri: url('a.png') } }] }] },
  },
  'geo.limit-by-its-name': {
    kept: { ...said, generationConfig: { maxOutputTokens: 10 } },
    broken: { ...said, generationConfig: { max_tokens: 10 } },
  },
  'geo.level-by-model': {
    kept: config({ thinkingLevel: 'LOW' }),
    broken: config({ thinkingLevel: 'MINIMAL' }),
  },
  'geo.no-budget-is-unreliable': {
    kept: config({ thinkingBudget: 1 }),
    broken: config({ thinkingBudget: 0 }),
  },
} satisfies Record<string, RuleExample>;

/** These examples hold for a model that is not one of geo's. */
export const otherModelRuleExamples: Readonly<Record<string, RuleExample>> = {
  'geo.one-kind-of-part': geoRuleExamples['geo.one-kind-of-part'],
  'geo.limit-by-its-name': geoRuleExamples['geo.limit-by-its-name'],
  'geo.thinking-config-of-others': { kept: said, broken: config({ includeThoughts: true }) },
};

const aigc = { Filter: { GroupType: 'AIGC' } };

/** These examples hold for lists of assets and of groups. */
export const assetListRuleExamples: Readonly<Record<string, RuleExample>> = {
  'asset.one-mode-of-paging': {
    kept: { ...aigc, MaxResults: 10, NextToken: 'abc' },
    broken: { ...aigc, PageNumber: 1, PageSize: 10, MaxResults: 10 },
  },
  'asset.number-and-size-of-a-page': {
    kept: { ...aigc, PageNumber: 1, PageSize: 100 },
    broken: { ...aigc, PageSize: 100 },
  },
  'asset.last-page': {
    kept: { ...aigc, PageNumber: 100, PageSize: 100 },
    broken: { ...aigc, PageNumber: 101, PageSize: 100 },
  },
};
