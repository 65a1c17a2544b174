import { geoBodyFor, geoGenerate, geoStream } from '../../gateway/chat/geo.ts';
import { fieldsOf, fieldsOver, itemsOf, listOver, withOddModel } from '../../gateway/json-value.ts';
import { isObject } from '../../host.ts';
import type { ChatPart, ChatSettings, ChatTurn } from '../chat.ts';
import {
  argumentsOf,
  type BodyRequest,
  exactJson,
  given,
  type JsonObject,
  type Surface,
  splitDataUri,
  wrappedSchema,
} from '../surface.ts';
import { GeoReader, isOwnId } from './reader.ts';

// The surface "Gemini-style generation". The document does not show parts other than text; they follow the public API of
// this style.

export const geo: Surface = {
  api: 'geo',
  historyField: 'contents',
  endpoint: (stream) => (stream ? geoStream : geoGenerate),
  // The model and the streaming mode are in the path.
  input: (model, { stream: _, model: m, ...body }) => ({ params: { model }, body: withOddModel(body, m) }),
  body,
  schema: geoBodyFor,
  undocumented: {
    reasoningEffort: 'say --thinking-level or --thinking here',
    compatMaxTokens: '--max-tokens is maxOutputTokens here',
    thinking: (mode) =>
      mode === 'adaptive' ? 'leave it out here, or say --thinking-level or a number of tokens' : undefined,
  },
  flags: {
    model: '--model',
    systemInstruction: '--system',
    maxOutputTokens: '--max-tokens',
    temperature: '--temperature',
    topP: '--top-p',
    topK: '--top-k',
    stopSequences: '--stop',
    candidateCount: '--candidates',
    responseMimeType: '--response-format',
    responseSchema: '--response-format',
    thinkingLevel: '--thinking-level',
    thinkingBudget: '--thinking',
    includeThoughts: '--show-thoughts',
    tools: '--tool',
    toolConfig: '--tool-choice',
    safetySettings: '--safety',
  },
  reader: (keepWhole) => new GeoReader(keepWhole),
};

function body({ base = {}, model, system, turns, settings = {} }: BodyRequest): JsonObject {
  const contents = [...itemsOf(base.contents), ...contentsOf(turns, itemsOf(base.contents))];
  const config = given({
    maxOutputTokens: settings.maxTokens,
    temperature: settings.temperature,
    topP: settings.topP,
    topK: settings.topK,
    stopSequences: settings.stop,
    candidateCount: settings.candidates,
    ...responseFormat(settings.responseFormat),
    thinkingConfig: fieldsOver(fieldsOf(base.generationConfig).thinkingConfig, thinkingOf(settings)),
  });
  return {
    ...base,
    ...given({
      model,
      contents: listOver(base.contents, contents),
      systemInstruction: system === undefined ? undefined : { parts: [{ text: system }] },
      generationConfig: fieldsOver(base.generationConfig, config),
      tools: settings.tools && [{ functionDeclarations: settings.tools.map((tool) => given({ ...tool })) }],
      toolConfig: toolConfig(settings.toolChoice),
      safetySettings: settings.safety,
    }),
  };
}

const thinkingOf = ({ thinking, thinkingLevel, showThoughts }: ChatSettings): JsonObject =>
  given({
    thinkingBudget: thinking === 'off' ? 0 : typeof thinking === 'number' ? thinking : undefined,
    thinkingLevel: thinkingLevel?.toUpperCase(),
    includeThoughts: showThoughts,
  });

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
  return { functionCallingConfig: mode ? { mode } : { mode: 'ANY', allowedFunctionNames: [choice] } };
}

interface Content {
  readonly role: 'user' | 'model';
  readonly parts: unknown;
}

/** The turns in this surface's form; `before` is the earlier conversation, already in that form. */
function contentsOf(turns: readonly ChatTurn[], before: readonly unknown[]): Content[] {
  const names = namesOfCalls(turns, before);
  const contents: Content[] = [];
  for (const turn of turns) {
    const content = contentOf(turn, names);
    const last = contents.at(-1);
    // All results of one round of calls belong into one content.
    if (turn.role === 'tool' && last && isResult(last)) {
      contents[contents.length - 1] = { ...last, parts: [...itemsOf(last.parts), ...itemsOf(content.parts)] };
    } else {
      contents.push(content);
    }
  }
  return contents;
}

const isResult = ({ parts }: Content): boolean =>
  itemsOf(parts).every((part) => fieldsOf(part).functionResponse !== undefined);

/** A result names its function, but earlier calls may have been named by ID. */
function namesOfCalls(turns: readonly ChatTurn[], before: readonly unknown[]): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const content of before) {
    for (const part of itemsOf(fieldsOf(content).parts)) {
      const { id, name } = fieldsOf(fieldsOf(part).functionCall);
      if (typeof id === 'string' && typeof name === 'string') names.set(id, name);
    }
  }
  for (const turn of turns)
    if (turn.role === 'assistant') for (const { id, name } of turn.toolCalls ?? []) names.set(id, name);
  return names;
}

function contentOf(turn: ChatTurn, names: ReadonlyMap<string, string>): Content {
  if (turn.role === 'user') return { role: 'user', parts: turn.parts.map(partOf) };
  if (turn.role === 'tool') {
    const name = turn.name ?? names.get(turn.toolCallId) ?? turn.toolCallId;
    const id = isOwnId(turn.toolCallId, name) ? undefined : turn.toolCallId;
    const functionResponse = given({ id, name, response: responseOf(turn.content) });
    return { role: 'user', parts: [{ functionResponse }] };
  }
  if (turn.native?.api === 'geo') return { role: 'model', parts: turn.native.content };
  const calls = (turn.toolCalls ?? []).map(({ id, name, arguments: text }) => ({
    functionCall: given({ id: isOwnId(id, name) ? undefined : id, name, args: argumentsOf(text) }),
  }));
  const said = turn.text === '' && calls.length > 0 ? [] : [{ text: turn.text }];
  return { role: 'model', parts: [...said, ...calls] };
}

/** A result must be an object here; any other value is wrapped in one. */
function responseOf(content: string): unknown {
  const value = exactJson(content);
  return isObject(value) ? value : { result: value === undefined ? content : value };
}

function partOf(part: ChatPart): unknown {
  if (part.type === 'text') return { text: part.text };
  const data = splitDataUri(part.url);
  if (data) return { inlineData: { mimeType: data.mime, data: data.base64 } };
  return { fileData: given({ mimeType: mimeOf(part.url), fileUri: part.url }) };
}

/** The media type that a URL's file ending suggests. */
function mimeOf(url: string): string | undefined {
  const [, ending] = /\.(jpe?g|png|webp|gif|hei[cf])$/i.exec(new URL(url).pathname) ?? [];
  return ending && `image/${ending.toLowerCase().replace('jpg', 'jpeg')}`;
}
