// A body that keeps a rule between fields and one that breaks it, written by hand from the document's sentence, for the rules
// that only warn and for those that no literal body of the other examples breaks alone. Nothing here may be computed from the
// product's own tables.

export interface RuleExample {
  readonly kept: unknown;
  readonly broken: unknown;
}

const url = (name: string) => `https://example.com/${name}`;
const text = { type: 'text', text: 'a fox in the snow' };
const image = { type: 'image_url', image_url: { url: url('a.png') }, role: 'reference_image' };
const first = { ...image, role: 'first_frame' };
const last = { ...image, role: 'last_frame' };
const bare = { type: 'image_url', image_url: { url: url('a.png') } };
const times = <T>(count: number, item: T): T[] => Array.from({ length: count }, () => item);

const v20 = { model: 'alpha-video-2-0-260128', content: [text] };
const v25 = { model: 'alpha-video-2-5-260628', content: [text] };

export const alphaRuleExamples: Readonly<Record<string, RuleExample>> = {
  'alpha.no-last-frame-of-2.5': {
    kept: { ...v20, return_last_frame: false },
    broken: { ...v25, return_last_frame: false },
  },
  'alpha.frames-beside-references': {
    kept: { ...v20, content: [text, first, last] },
    broken: { ...v20, content: [text, first, image] },
  },
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

export const gammaRuleExamples: Readonly<Record<string, RuleExample>> = {
  'gamma.frames-set-the-ratio': {
    kept: { ...h3, content: [text, first], ratio: 'adaptive' },
    broken: { ...h3, content: [text, first], ratio: '1:1' },
  },
  'gamma.media-without-a-role': {
    kept: { ...h3, content: [text, image] },
    broken: { ...h3, content: [text, bare] },
  },
};

const shots = 'shot 1, 2, a fox wakes; shot 2, 4, it runs;';
const seven =
  'shot 1, 1, a; shot 2, 1, b; shot 3, 1, c; shot 4, 1, d; shot 5, 1, e; shot 6, 1, f; shot 7, 1, g;';

export const betaTextRuleExamples: Readonly<Record<string, RuleExample>> = {
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
const base = { type: 'base_video', url: url('b.mp4') };
const element = { type: 'element', id: 'fox', element_id: 'e-1' };

export const betaO1RuleExamples: Readonly<Record<string, RuleExample>> = {
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
const delta = { ...fox, model: 'delta-image-5-0-pro-260628' };
const other = { ...fox, model: 'img-9' };

/** These examples hold for both image endpoints. */
const imageRuleExamples = {
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
  'image.input-images-of-other-models': {
    kept: { ...delta, image: times(16, one) },
    broken: { ...delta, image: times(17, one) },
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
  'image.quality-by-model-of-edit': {
    kept: { ...legacy2, ...toEdit, quality: 'high' },
    broken: { ...legacy2, ...toEdit, quality: 'max' },
  },
  'image.reply-format-of-edits': {
    kept: { ...legacy2, ...toEdit },
    broken: { ...legacy2, ...toEdit, response_format: 'url' },
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
  'geo.no-budget-is-unreliable': {
    kept: config({ thinkingBudget: 1 }),
    broken: config({ thinkingBudget: 0 }),
  },
} satisfies Record<string, RuleExample>;

/** These examples hold for a model that is not one of geo's. */
export const otherModelRuleExamples: Readonly<Record<string, RuleExample>> = {
  'geo.one-kind-of-part': geoRuleExamples['geo.one-kind-of-part'],
  'geo.thinking-config-of-others': { kept: said, broken: config({ includeThoughts: true }) },
};

const aigc = { Filter: { GroupType: 'AIGC' } };

/** These examples hold for lists of assets and of groups. */
export const assetListRuleExamples: Readonly<Record<string, RuleExample>> = {
  'asset.one-mode-of-paging': {
    kept: { ...aigc, MaxResults: 10, NextToken: 'abc' },
    broken: { ...aigc, PageNumber: 1, PageSize: 10, MaxResults: 10 },
  },
};
