import { CompletionsBody, chatCompletions } from '../../gateway/chat/completions.ts';
import { isGeoModel } from '../../gateway/chat/models.ts';
import { fieldsOf, fieldsOver, itemsOf, listOver } from '../../gateway/json-value.ts';
import type { ChatSettings } from '../chat.ts';
import { type BodyRequest, bySet, given, type JsonObject, type Surface, wrappedSchema } from '../surface.ts';
import { messagesOf } from './messages.ts';
import { CompletionsReader } from './reader.ts';

// The surface of chat completions ("Chat completions", "Function calling").

export const completions: Surface = {
  api: 'completions',
  historyField: 'messages',
  endpoint: () => chatCompletions,
  input: (_, body) => ({ body }),
  body,
  schema: () => CompletionsBody,
  undocumented: {
    topP: bySet('top_p'),
    topK: bySet('top_k'),
    stop: bySet('stop'),
    candidates: bySet('n'),
    safety: bySet('safety_settings'),
    thinking: (mode) => (mode === 'off' ? undefined : 'say --reasoning-effort or --thinking-level here'),
  },
  flags: {
    model: '--model',
    temperature: '--temperature',
    max_completion_tokens: '--max-tokens',
    max_tokens: '--max-tokens',
    reasoning_effort: '--reasoning-effort',
    tools: '--tool',
    tool_choice: '--tool-choice',
    response_format: '--response-format',
    extra_body: '--thinking-level',
  },
  reader: (keepWhole) => new CompletionsReader(keepWhole),
};

function body({ base = {}, model, system, turns, settings = {}, stream }: BodyRequest): JsonObject {
  const history = itemsOf(base.messages);
  const told = history.filter((message) => system === undefined || fieldsOf(message).role !== 'system');
  const messages = [...messagesOf({ system, turns: [] }), ...told, ...messagesOf({ turns })];
  // The limit has two names, and only one may be sent: a typed limit replaces either in the body.
  const { max_tokens: _, max_completion_tokens: __, ...unlimited } = base;
  return {
    ...(settings.maxTokens === undefined ? base : unlimited),
    ...given({
      model,
      messages: listOver(base.messages, messages),
      temperature: settings.temperature,
      [settings.compatMaxTokens ? 'max_tokens' : 'max_completion_tokens']: settings.maxTokens,
      tools: settings.tools?.map((tool) => ({ type: 'function', function: given({ ...tool }) })),
      tool_choice: toolChoice(settings.toolChoice),
      response_format: responseFormat(settings.responseFormat),
      ...thinking(model, settings, base),
      stream: stream || base.stream !== undefined ? stream : undefined,
      // Public servers of this API send usage in a stream only on request.
      stream_options:
        stream && settings.usage ? fieldsOver(base.stream_options, { include_usage: true }) : undefined,
    }),
  };
}

function thinking(model: string, settings: ChatSettings, base: Readonly<JsonObject>): JsonObject {
  const { reasoningEffort, thinking: mode, thinkingLevel, showThoughts } = settings;
  const effort = reasoningEffort ?? (mode === 'off' ? 'none' : undefined);
  // Thoughts must be requested, but the service refuses that together with an effort.
  const asks =
    showThoughts && isGeoModel(model) && effort === undefined && base.reasoning_effort === undefined;
  const config = given({
    thinking_level: thinkingLevel?.toLowerCase(),
    include_thoughts: asks ? true : undefined,
  });
  if (Object.keys(config).length === 0) return { reasoning_effort: effort };
  const { geo } = fieldsOf(base.extra_body);
  const thinking_config = fieldsOver(fieldsOf(geo).thinking_config, config);
  const geoOver = { geo: fieldsOver(geo, { thinking_config }) };
  return { reasoning_effort: effort, extra_body: fieldsOver(base.extra_body, geoOver) };
}

function toolChoice(choice: string | undefined): unknown {
  if (choice === undefined || ['auto', 'none', 'required'].includes(choice)) return choice;
  return { type: 'function', function: { name: choice } };
}

function responseFormat(format: ChatSettings['responseFormat']): JsonObject | undefined {
  if (format === undefined) return undefined;
  if (format === 'json_object') return { type: 'json_object' };
  if (wrappedSchema(format)) return { ...format };
  const title = typeof format.title === 'string' ? format.title.replace(/[^\w-]/g, '_').slice(0, 64) : '';
  return { type: 'json_schema', json_schema: { name: title || 'answer', schema: format } };
}
