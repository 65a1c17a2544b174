import type { ChatApi } from '../../src/chat/chat.ts';

/** A literal request body, and the rule of the document that it shows. */
export interface ChatExample {
  readonly api: ChatApi;
  readonly rule: string;
  /** The model in the path, for geo. */
  readonly model?: string;
  readonly body: unknown;
  /** The field at which the body is refused. */
  readonly refused?: string;
  /** Only the sandbox refuses the body, because gw lets unknown fields of `--set` pass. */
  readonly strictly?: true;
}

const examplesOf =
  (api: ChatApi, model?: string) =>
  (rule: string, body: unknown, refused?: string): ChatExample => ({
    api,
    rule,
    body,
    ...(model !== undefined && { model }),
    ...(refused !== undefined && { refused }),
  });
const strictly = (refused: ChatExample): ChatExample => ({ ...refused, strictly: true });

const hi = [{ role: 'user', content: 'hi' }];
const pixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const fox = 'https://example.com/fox.png';
const tool = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'Weather of a city',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
};

const flash = 'geo-3.6-flash';
const level = (thinking_level: string) => ({ extra_body: { geo: { thinking_config: { thinking_level } } } });

const imageAt = (address: string) => ({ type: 'image_url', image_url: { url: address } });
const asked = (fields: object = {}) => ({ model: flash, messages: hi, ...fields });
const askedOn37 = (fields: object) => ({ ...asked(fields), model: 'geo-3.7-flash' });
const looksAt = (address: string) => asked({ messages: [{ role: 'user', content: [imageAt(address)] }] });
const completions = examplesOf('completions');

const ofCompletions: readonly ChatExample[] = [
  completions('the least', asked()),
  completions('every documented field', {
    model: flash,
    messages: [{ role: 'system', content: 'Be brief.' }, ...hi],
    temperature: 0.7,
    max_completion_tokens: 1024,
    stream: true,
    tools: [tool],
    tool_choice: 'auto',
    response_format: { type: 'json_object' },
    reasoning_effort: 'low',
  }),
  completions('text and an image by URL and as data URL', {
    model: flash,
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'what is this?' },
          imageAt(fox),
          imageAt(`data:image/png;base64,${pixel}`),
        ],
      },
    ],
  }),
  completions('a scheme in capitals', looksAt('HTTPS://example.com/fox.png')),
  completions('a port that cannot be', looksAt('https://example.com:65536/fox.png'), 'messages.0.content'),
  completions(
    'Base64 with a character too many',
    looksAt('data:image/png;base64,AAAAA'),
    'messages.0.content',
  ),
  completions('the follow-up of a tool call', {
    model: flash,
    messages: [
      ...hi,
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          {
            id: 'call_1',
            type: 'function',
            function: { name: 'get_weather', arguments: '{"city":"Köln"}' },
          },
        ],
      },
      { role: 'tool', tool_call_id: 'call_1', content: '{"t":21}' },
    ],
    tools: [tool],
  }),
  completions('native thinking controls', asked(level('low'))),
  completions(
    'thoughts asked for',
    asked({ extra_body: { geo: { thinking_config: { include_thoughts: true } } } }),
  ),
  completions('effort none where the budget can be 0', asked({ reasoning_effort: 'none' })),
  completions('effort high on 3.7', askedOn37({ reasoning_effort: 'high' })),
  completions('an effort of its own for another model', {
    model: 'm',
    messages: hi,
    reasoning_effort: 'xhigh',
  }),
  completions('the compatibility limit', asked({ max_tokens: 10 })),
  completions('no model', { messages: hi }, 'model'),
  completions('no messages', { model: flash }, 'messages'),
  completions('an empty conversation', { model: flash, messages: [] }),
  completions('two output limits', asked({ max_tokens: 10, max_completion_tokens: 10 }), 'max_tokens'),
  completions(
    'effort together with a thinking config',
    asked({ reasoning_effort: 'low', ...level('low') }),
    'reasoning_effort',
  ),
  completions('effort none on 3.7', askedOn37({ reasoning_effort: 'none' }), 'reasoning_effort'),
  completions('effort minimal on 3.7', askedOn37({ reasoning_effort: 'minimal' }), 'reasoning_effort'),
  completions(
    'level minimal on 3.7',
    askedOn37(level('minimal')),
    'extra_body.geo.thinking_config.thinking_level',
  ),
  completions('an unknown effort', asked({ reasoning_effort: 'max' }), 'reasoning_effort'),
  completions('the alias thinking', asked({ thinking: { type: 'enabled' } }), 'thinking'),
  completions('the alias thinking_budget', asked({ thinking_budget: 0 }), 'thinking_budget'),
  completions('the alias reasoning', asked({ reasoning: { effort: 'low' } }), 'reasoning'),
  completions('an image that is neither URL nor data URL', looksAt('fox.png'), 'messages'),
  completions('a limit of 0', asked({ max_tokens: 0 })),
  strictly(completions('a field that is not listed', asked({ top_k: 40 }), '')),
];

const messages = examplesOf('messages');
const native = (fields: object) => ({ model: 'm', max_tokens: 4096, messages: hi, ...fields });

const ofMessages: readonly ChatExample[] = [
  messages('the least', { model: 'sandbox-chat-1', max_tokens: 100, messages: hi }),
  messages('every documented field', {
    model: 'sandbox-chat-1',
    max_tokens: 4096,
    messages: hi,
    system: 'Be brief.',
    temperature: 0.5,
    top_p: 0.9,
    top_k: 40,
    stop_sequences: ['END'],
    stream: true,
    thinking: { type: 'enabled', budget_tokens: 1024 },
    tools: [{ name: 'get_weather', description: 'Weather', input_schema: { type: 'object' } }],
    tool_choice: { type: 'auto' },
  }),
  messages('an image and the follow-up of a tool call', {
    model: 'sandbox-chat-1',
    max_tokens: 100,
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'what is this?' },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: pixel } },
        ],
      },
      {
        role: 'assistant',
        content: [{ type: 'tool_use', id: 'toolu_1', name: 'get_weather', input: { city: 'Köln' } }],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: '21 °C' }] },
    ],
    tools: [{ name: 'get_weather', input_schema: { type: 'object' } }],
  }),
  messages('adaptive thinking', {
    model: 'sandbox-chat-1',
    max_tokens: 100,
    messages: hi,
    thinking: { type: 'adaptive' },
  }),
  messages('no max_tokens', { model: 'm', messages: hi }, 'max_tokens'),
  messages(
    'a system role inside',
    { model: 'm', max_tokens: 100, messages: [{ role: 'system', content: 'x' }, ...hi] },
    'messages',
  ),
  messages(
    'a budget of 1,023',
    native({ thinking: { type: 'enabled', budget_tokens: 1023 } }),
    'thinking.budget_tokens',
  ),
  messages('enabled without a budget', native({ thinking: { type: 'enabled' } }), 'thinking.budget_tokens'),
  messages(
    'a budget of max_tokens',
    native({ max_tokens: 2048, thinking: { type: 'enabled', budget_tokens: 2048 } }),
  ),
  messages(
    'adaptive with a budget',
    native({ thinking: { type: 'adaptive', budget_tokens: 2048 } }),
    'thinking.budget_tokens',
  ),
  strictly(
    messages('a field that is not listed', native({ max_tokens: 100, metadata: { user_id: 'u' } }), ''),
  ),
];

const said = [{ role: 'user', parts: [{ text: 'hi' }] }];
const [geo36, geo37] = [examplesOf('geo', flash), examplesOf('geo', 'geo-3.7-flash')];
const config = (generationConfig: object) => ({ contents: said, generationConfig });

const ofGeo: readonly ChatExample[] = [
  geo36('the least', { contents: [{ parts: [{ text: 'hi' }] }] }),
  geo36('every documented field', {
    contents: said,
    systemInstruction: { parts: [{ text: 'Be brief.' }] },
    generationConfig: {
      maxOutputTokens: 1000,
      temperature: 1,
      topP: 0.9,
      topK: 40,
      stopSequences: ['END'],
      candidateCount: 1,
      responseMimeType: 'application/json',
      responseSchema: { type: 'object', properties: { city: { type: 'string' } } },
      thinkingConfig: { thinkingLevel: 'LOW', includeThoughts: true },
    },
    tools: [{ functionDeclarations: [{ name: 'get_weather', parameters: { type: 'object' } }] }],
    toolConfig: { functionCallingConfig: { mode: 'AUTO' } },
    safetySettings: [{ category: 'X', threshold: 'Y' }],
  }),
  geo36('an image and the follow-up of a call', {
    contents: [
      {
        role: 'user',
        parts: [{ text: 'what is this?' }, { inlineData: { mimeType: 'image/png', data: pixel } }],
      },
      { role: 'model', parts: [{ functionCall: { name: 'get_weather', args: { city: 'Köln' } } }] },
      { role: 'user', parts: [{ functionResponse: { name: 'get_weather', response: { t: 21 } } }] },
    ],
    tools: [{ functionDeclarations: [{ name: 'get_weather' }] }],
  }),
  geo36('a budget of 0', config({ thinkingConfig: { thinkingBudget: 0 } })),
  geo37('LOW on 3.7', config({ thinkingConfig: { thinkingLevel: 'LOW' } })),
  geo37(
    'MINIMAL on 3.7',
    config({ thinkingConfig: { thinkingLevel: 'MINIMAL' } }),
    'generationConfig.thinkingConfig.thinkingLevel',
  ),
  geo36('no contents', {}, 'contents'),
  geo36('a part with nothing in it', { contents: [{ parts: [{}] }] }),
  geo36('a part that is two things', { contents: [{ parts: [{ text: 'x', fileData: { fileUri: fox } }] }] }),
  geo36('max_tokens in place of maxOutputTokens', { contents: said, max_tokens: 10 }, 'max_tokens'),
  geo36('max_tokens among the settings', config({ max_tokens: 10 }), 'generationConfig.max_tokens'),
];

export const chatExamples: readonly ChatExample[] = [...ofCompletions, ...ofMessages, ...ofGeo];
