import { geoBodyFor, geoGenerate, geoStream } from '../../gateway/chat/geo.ts';
import type { ChatSettings } from '../chat.ts';
import { fieldsOf, given, itemsOf } from '../json-value.ts';
import { wrappedSchema } from '../response-format.ts';
import type { BodyRequest, JsonObject, Surface } from '../surface.ts';
import { contentsOf } from './contents.ts';
import { GeoReader } from './reader.ts';

// Gemini-style generation ("Gemini-style generation"). The parts other than text are not shown in the document; they
// are those of the public API of this style.

export const geo: Surface = {
  api: 'geo',
  historyField: 'contents',
  endpoint: (stream) => (stream ? geoStream : geoGenerate),
  // The model and the way of answering stand in the path.
  input: (model, { stream: _, model: __, ...body }) => ({
    params: { model },
    body,
  }),
  body,
  schema: geoBodyFor,
  undocumented: ({ reasoningEffort, compatMaxTokens, thinking }) => [
    ...(reasoningEffort === undefined
      ? []
      : [
          {
            flag: '--reasoning-effort',
            hint: 'say --thinking-level or --thinking here; any other field goes through --set PATH=VALUE',
          },
        ]),
    ...(compatMaxTokens
      ? [{ flag: '--compat-max-tokens', hint: '--max-tokens is maxOutputTokens here' }]
      : []),
    ...(thinking === 'adaptive'
      ? [
          {
            flag: '--thinking adaptive',
            hint: 'leave it out here, or say --thinking-level or a number of tokens',
          },
        ]
      : []),
  ],
  flagOf: (path) => {
    const [field, inner, deep] = path;
    if (field === 'contents' && typeof inner === 'number') return undefined;
    if (field === 'generationConfig') return flagOfField[String(deep ?? inner)] ?? flagOfField[String(inner)];
    return flagOfField[String(field)];
  },
  reader: (keepWhole) => new GeoReader(keepWhole),
};

const flagOfField: Record<string, string> = {
  systemInstruction: '--system',
  maxOutputTokens: '--max-tokens',
  temperature: '--temperature',
  topP: '--top-p',
  topK: '--top-k',
  stopSequences: '--stop',
  responseMimeType: '--response-format',
  responseSchema: '--response-format',
  thinkingLevel: '--thinking-level',
  thinkingBudget: '--thinking',
  includeThoughts: '--show-thoughts',
  tools: '--tool',
  toolConfig: '--tool-choice',
};

function body({ base = {}, system, turns, settings = {} }: BodyRequest): JsonObject {
  const contents = [...itemsOf(base.contents), ...contentsOf(turns, itemsOf(base.contents))];
  const before = fieldsOf(base.generationConfig);
  const config = given({
    maxOutputTokens: settings.maxTokens,
    temperature: settings.temperature,
    topP: settings.topP,
    topK: settings.topK,
    stopSequences: settings.stop,
    ...responseFormat(settings.responseFormat),
    thinkingConfig: thinkingConfig(settings, fieldsOf(before.thinkingConfig)),
  });
  return {
    ...base,
    ...given({
      contents: contents.length > 0 || base.contents === undefined ? contents : undefined,
      systemInstruction: system === undefined ? undefined : { parts: [{ text: system }] },
      generationConfig: Object.keys(config).length === 0 ? undefined : { ...before, ...config },
      tools: settings.tools && [{ functionDeclarations: settings.tools.map((tool) => given({ ...tool })) }],
      toolConfig: toolConfig(settings.toolChoice),
    }),
  };
}

function thinkingConfig(settings: ChatSettings, before: Readonly<JsonObject>): JsonObject | undefined {
  const { thinking, thinkingLevel, showThoughts } = settings;
  const config = given({
    thinkingBudget: thinking === 'off' ? 0 : typeof thinking === 'number' ? thinking : undefined,
    thinkingLevel: thinkingLevel?.toUpperCase(),
    includeThoughts: showThoughts,
  });
  return Object.keys(config).length === 0 ? undefined : { ...before, ...config };
}

function responseFormat(format: ChatSettings['responseFormat']): JsonObject {
  if (format === undefined) return {};
  return {
    responseMimeType: 'application/json',
    responseSchema: format === 'json_object' ? undefined : (wrappedSchema(format) ?? format),
  };
}

const modes: Readonly<Record<string, string>> = { auto: 'AUTO', none: 'NONE', required: 'ANY' };

function toolConfig(choice: string | undefined): JsonObject | undefined {
  if (choice === undefined) return undefined;
  const mode = modes[choice];
  return {
    functionCallingConfig: mode ? { mode } : { mode: 'ANY', allowedFunctionNames: [choice] },
  };
}
