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

const completions: Omit<ChatExample, 'api'>[] = [
  { rule: 'the least', body: { model: flash, messages: hi } },
  {
    rule: 'every documented field',
    body: {
      model: flash,
      messages: [{ role: 'system', content: 'Be brief.' }, ...hi],
      temperature: 0.7,
      max_completion_tokens: 1024,
      stream: true,
      tools: [tool],
      tool_choice: 'auto',
      response_format: { type: 'json_object' },
      reasoning_effort: 'low',
    },
  },
  {
    rule: 'text and an image by URL and as data URL',
    body: {
      model: flash,
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'what is this?' },
            { type: 'image_url', image_url: { url: fox } },
            { type: 'image_url', image_url: { url: `data:image/png;base64,${pixel}` } },
          ],
        },
      ],
    },
  },
  {
    rule: 'a scheme in capitals',
    body: {
      model: flash,
      messages: [
        { role: 'user', content: [{ type: 'image_url', image_url: { url: 'HTTPS://example.com/fox.png' } }] },
      ],
    },
  },
  {
    rule: 'a port that cannot be',
    body: {
      model: flash,
      messages: [
        {
          role: 'user',
          content: [{ type: 'image_url', image_url: { url: 'https://example.com:65536/fox.png' } }],
        },
      ],
    },
    refused: 'messages.0.content',
  },
  {
    rule: 'Base64 with a character too many',
    body: {
      model: flash,
      messages: [
        { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAAA' } }] },
      ],
    },
    refused: 'messages.0.content',
  },
  {
    rule: 'the follow-up of a tool call',
    body: {
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
    },
  },
  { rule: 'native thinking controls', body: { model: flash, messages: hi, ...level('low') } },
  {
    rule: 'thoughts asked for',
    body: {
      model: flash,
      messages: hi,
      extra_body: { geo: { thinking_config: { include_thoughts: true } } },
    },
  },
  {
    rule: 'effort none where the budget can be 0',
    body: { model: flash, messages: hi, reasoning_effort: 'none' },
  },
  { rule: 'effort high on 3.7', body: { model: 'geo-3.7-flash', messages: hi, reasoning_effort: 'high' } },
  {
    rule: 'an effort of its own for another model',
    body: { model: 'm', messages: hi, reasoning_effort: 'xhigh' },
  },
  { rule: 'the compatibility limit', body: { model: flash, messages: hi, max_tokens: 10 } },
  { rule: 'no model', body: { messages: hi }, refused: 'model' },
  { rule: 'no messages', body: { model: flash }, refused: 'messages' },
  { rule: 'an empty conversation', body: { model: flash, messages: [] } },
  {
    rule: 'two output limits',
    body: { model: flash, messages: hi, max_tokens: 10, max_completion_tokens: 10 },
    refused: 'max_tokens',
  },
  {
    rule: 'effort together with a thinking config',
    body: { model: flash, messages: hi, reasoning_effort: 'low', ...level('low') },
    refused: 'reasoning_effort',
  },
  {
    rule: 'effort none on 3.7',
    body: { model: 'geo-3.7-flash', messages: hi, reasoning_effort: 'none' },
    refused: 'reasoning_effort',
  },
  {
    rule: 'effort minimal on 3.7',
    body: { model: 'geo-3.7-flash', messages: hi, reasoning_effort: 'minimal' },
    refused: 'reasoning_effort',
  },
  {
    rule: 'level minimal on 3.7',
    body: { model: 'geo-3.7-flash', messages: hi, ...level('minimal') },
    refused: 'extra_body.geo.thinking_config.thinking_level',
  },
  {
    rule: 'an unknown effort',
    body: { model: flash, messages: hi, reasoning_effort: 'max' },
    refused: 'reasoning_effort',
  },
  {
    rule: 'the alias thinking',
    body: { model: flash, messages: hi, thinking: { type: 'enabled' } },
    refused: 'thinking',
  },
  {
    rule: 'the alias thinking_budget',
    body: { model: flash, messages: hi, thinking_budget: 0 },
    refused: 'thinking_budget',
  },
  {
    rule: 'the alias reasoning',
    body: { model: flash, messages: hi, reasoning: { effort: 'low' } },
    refused: 'reasoning',
  },
  {
    rule: 'an image that is neither URL nor data URL',
    body: {
      model: flash,
      messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'fox.png' } }] }],
    },
    refused: 'messages',
  },
  { rule: 'a limit of 0', body: { model: flash, messages: hi, max_tokens: 0 } },
  {
    rule: 'a field that is not listed',
    body: { model: flash, messages: hi, top_k: 40 },
    refused: '',
    strictly: true,
  },
];

const messages: Omit<ChatExample, 'api'>[] = [
  { rule: 'the least', body: { model: 'sandbox-chat-1', max_tokens: 100, messages: hi } },
  {
    rule: 'every documented field',
    body: {
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
    },
  },
  {
    rule: 'an image and the follow-up of a tool call',
    body: {
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
    },
  },
  {
    rule: 'adaptive thinking',
    body: { model: 'sandbox-chat-1', max_tokens: 100, messages: hi, thinking: { type: 'adaptive' } },
  },
  { rule: 'no max_tokens', body: { model: 'm', messages: hi }, refused: 'max_tokens' },
  {
    rule: 'a system role inside',
    body: { model: 'm', max_tokens: 100, messages: [{ role: 'system', content: 'x' }, ...hi] },
    refused: 'messages',
  },
  {
    rule: 'a budget of 1,023',
    body: { model: 'm', max_tokens: 4096, messages: hi, thinking: { type: 'enabled', budget_tokens: 1023 } },
    refused: 'thinking.budget_tokens',
  },
  {
    rule: 'enabled without a budget',
    body: { model: 'm', max_tokens: 4096, messages: hi, thinking: { type: 'enabled' } },
    refused: 'thinking.budget_tokens',
  },
  {
    rule: 'a budget of max_tokens',
    body: { model: 'm', max_tokens: 2048, messages: hi, thinking: { type: 'enabled', budget_tokens: 2048 } },
  },
  {
    rule: 'adaptive with a budget',
    body: { model: 'm', max_tokens: 4096, messages: hi, thinking: { type: 'adaptive', budget_tokens: 2048 } },
    refused: 'thinking.budget_tokens',
  },
  {
    rule: 'a field that is not listed',
    body: { model: 'm', max_tokens: 100, messages: hi, metadata: { user_id: 'u' } },
    refused: '',
    strictly: true,
  },
];

const said = [{ role: 'user', parts: [{ text: 'hi' }] }];
const geo: Omit<ChatExample, 'api'>[] = [
  { rule: 'the least', model: flash, body: { contents: [{ parts: [{ text: 'hi' }] }] } },
  {
    rule: 'every documented field',
    model: flash,
    body: {
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
    },
  },
  {
    rule: 'an image and the follow-up of a call',
    model: flash,
    body: {
      contents: [
        {
          role: 'user',
          parts: [{ text: 'what is this?' }, { inlineData: { mimeType: 'image/png', data: pixel } }],
        },
        { role: 'model', parts: [{ functionCall: { name: 'get_weather', args: { city: 'Köln' } } }] },
        { role: 'user', parts: [{ functionResponse: { name: 'get_weather', response: { t: 21 } } }] },
      ],
      tools: [{ functionDeclarations: [{ name: 'get_weather' }] }],
    },
  },
  {
    rule: 'a budget of 0',
    model: flash,
    body: { contents: said, generationConfig: { thinkingConfig: { thinkingBudget: 0 } } },
  },
  {
    rule: 'LOW on 3.7',
    model: 'geo-3.7-flash',
    body: { contents: said, generationConfig: { thinkingConfig: { thinkingLevel: 'LOW' } } },
  },
  {
    rule: 'MINIMAL on 3.7',
    model: 'geo-3.7-flash',
    body: { contents: said, generationConfig: { thinkingConfig: { thinkingLevel: 'MINIMAL' } } },
    refused: 'generationConfig.thinkingConfig.thinkingLevel',
  },
  { rule: 'no contents', model: flash, body: {}, refused: 'contents' },
  { rule: 'a part with nothing in it', model: flash, body: { contents: [{ parts: [{}] }] } },
  {
    rule: 'a part that is two things',
    model: flash,
    body: { contents: [{ parts: [{ text: 'x', fileData: { fileUri: fox } }] }] },
  },
  {
    rule: 'max_tokens in place of maxOutputTokens',
    model: flash,
    body: { contents: said, max_tokens: 10 },
    refused: 'max_tokens',
  },
  {
    rule: 'max_tokens among the settings',
    model: flash,
    body: { contents: said, generationConfig: { max_tokens: 10 } },
    refused: 'generationConfig.max_tokens',
  },
];

export const chatExamples: readonly ChatExample[] = [
  ...completions.map((example) => ({ api: 'completions' as const, ...example })),
  ...messages.map((example) => ({ api: 'messages' as const, ...example })),
  ...geo.map((example) => ({ api: 'geo' as const, ...example })),
];
