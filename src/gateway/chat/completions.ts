import * as z from 'zod/mini';
import { isImageUrl, type ObjectMaker, type Rule, valueAt, withRules } from '../body.ts';
import { filled, filledText, modelId, outputLimit } from '../checks.ts';
import { type Endpoint, replyThat } from '../endpoint.ts';
import { isErrorReply } from '../gateway-error.ts';
import { fieldsOf } from '../json-value.ts';
import { anyKind, listOf, open } from '../open.ts';
import { geoModel, geoModels, isGeoModel, reasoningEfforts } from './models.ts';
import { thinkingRules } from './thinking.ts';

// `POST /v1/chat/completions` ("Chat completions", "Chat completion response").

/** The request body: loose (fields of `--set` pass) or strict (the sandbox refuses what is not documented). */
function chatBody(object: ObjectMaker) {
  // A field that the document names without its type, or does not name.
  const named = <S extends z.ZodMiniType>(known: S) => z.optional(open(object, known));
  const url = z
    .string()
    .check(z.refine(isImageUrl, { error: 'an image is given by URL or Base64 data URL' }));
  const shownImage = object({ url });
  const part = anyKind(object, 'type', {
    text: object({ type: z.literal('text'), text: z.string() }),
    image_url: object({
      type: z.literal('image_url'),
      // Some clients send the URL as a bare string instead of an object.
      image_url:
        object === z.strictObject ? shownImage : z.union([shownImage, open(object, shownImage, url)]),
    }),
  });
  const content = z.union([z.string(), listOf(part).check(filled('a message needs content'))], {
    error: 'content is a text, or a list of text and image_url parts',
  });
  const toolCall = object({
    id: z.string(),
    type: z.literal('function'),
    function: object({ name: z.string(), arguments: z.string() }),
  });
  const message = anyKind(object, 'role', {
    system: object({ role: z.literal('system'), content }),
    user: object({ role: z.literal('user'), content }),
    assistant: object({
      role: z.literal('assistant'),
      content: z.nullish(content),
      tool_calls: z.optional(z.array(toolCall)),
    }),
    tool: object({ role: z.literal('tool'), tool_call_id: filledText(), content }),
  });
  const tool = object({
    type: z.literal('function'),
    function: object({
      name: filledText(),
      description: z.optional(z.string()),
      parameters: z.optional(z.looseObject({})),
    }),
  });
  return object({
    model: modelId(),
    messages: z.array(message).check(filled('a conversation has at least one message')),
    temperature: z.optional(z.number()),
    max_completion_tokens: z.optional(z.number().check(outputLimit)),
    max_tokens: z.optional(z.number().check(outputLimit)),
    stream: z.optional(z.boolean()),
    // The document does not show this field; in the public API it adds token usage to a stream (`--usage`).
    stream_options: named(object({ include_usage: named(z.boolean()) })),
    tools: z.optional(listOf(anyKind(object, 'type', { function: tool }, {}, true))),
    tool_choice: z.optional(z.union([filledText(), z.looseObject({})])),
    response_format: z.optional(open(object, z.looseObject({ type: z.string() }), z.looseObject({}))),
    reasoning_effort: z.optional(filledText()),
    extra_body: z.optional(
      object({
        geo: z.optional(
          object({
            thinking_config: z.optional(
              object({ thinking_level: named(z.string()), include_thoughts: named(z.boolean()) }),
            ),
          }),
        ),
      }),
    ),
  });
}

export type CompletionsBody = z.infer<ReturnType<typeof chatBody>>;

const configPath = ['extra_body', 'geo', 'thinking_config'] as const;
const thinkingOf = (body: CompletionsBody) => body.extra_body?.geo?.thinking_config;

const completionsRules: readonly Rule<CompletionsBody>[] = [
  {
    name: 'completions.one-output-limit',
    verdict: 'refuse',
    sentence: 'use only one of the two limit fields per request',
    *check({ max_tokens: compat, max_completion_tokens: limit }) {
      if (compat === undefined || limit === undefined) return;
      const message = 'only one of the two output limits may be sent, max_completion_tokens or max_tokens';
      yield { path: ['max_tokens'], message };
    },
  },
  {
    name: 'completions.effort-or-thinking-config',
    verdict: 'refuse',
    sentence: 'Combining reasoning_effort with extra_body.geo.thinking_config returns HTTP 400.',
    *check(body) {
      if (!isGeoModel(body.model) || body.reasoning_effort === undefined || !thinkingOf(body)) return;
      const message = 'does not go with extra_body.geo.thinking_config (a thinking level): send one of them';
      yield { path: ['reasoning_effort'], message };
    },
  },
  {
    name: 'completions.effort-by-model',
    verdict: 'refuse',
    sentence: 'accepts none, minimal, low, medium, high … none and minimal return HTTP 400',
    *check({ model, reasoning_effort: effort }) {
      if (!isGeoModel(model) || effort === undefined) return;
      const taken: readonly string[] = geoModel(model)?.efforts ?? reasoningEfforts;
      if (taken.includes(effort)) return;
      const others = Object.keys(geoModels).filter((id) =>
        geoModel(id)?.efforts.some((each) => each === effort),
      );
      const elsewhere = others.length > 0 ? `; ${effort} is for ${others.join(', ')}` : '';
      yield { path: ['reasoning_effort'], message: `${model} takes ${taken.join(', ')}${elsewhere}` };
    },
  },
  ...thinkingRules<CompletionsBody>('completions', [...configPath, 'thinking_level'], ({ model }) => model),
  {
    name: 'completions.no-thinking-aliases',
    verdict: 'refuse',
    sentence:
      'The aliases thinking, top-level thinking_budget and reasoning return HTTP 400 for these models.',
    *check(body) {
      if (!isGeoModel(body.model)) return;
      const message = 'geo models refuse this field: send reasoning_effort or extra_body.geo.thinking_config';
      for (const alias of ['thinking', 'thinking_budget', 'reasoning'])
        if (valueAt(body, [alias]) !== undefined) yield { path: [alias], message };
    },
  },
  {
    name: 'completions.follow-up-with-its-tools',
    verdict: 'warn',
    sentence:
      'The follow-up request appends the assistant message and a message with role tool, tool_call_id and content, with the same tools.',
    *check({ messages, tools = [] }) {
      const offered = new Set(tools.map((tool) => tool.function?.name));
      const calls = messages.flatMap((message) =>
        message.role === 'assistant' ? (message.tool_calls ?? []) : [],
      );
      const results = messages.slice(messages.findLastIndex(({ role }) => role !== 'tool') + 1);
      const answered = new Set(results.map((message) => message.role === 'tool' && message.tool_call_id));
      const missing = calls.filter(({ id, function: { name } }) => answered.has(id) && !offered.has(name));
      for (const name of new Set(missing.map((call) => call.function.name))) {
        const message = `a follow-up sends the same tools, and ${name} is missing`;
        yield { path: ['tools'], message };
      }
    },
  },
  {
    name: 'completions.usual-temperature',
    verdict: 'warn',
    sentence: 'usually 0-2, model-dependent',
    *check({ temperature }) {
      if (temperature === undefined || (temperature >= 0 && temperature <= 2)) return;
      yield { path: ['temperature'], message: 'usually 0-2, depending on the model' };
    },
  },
];

export const CompletionsBody = withRules(chatBody, completionsRules);

export const chatCompletions: Endpoint = {
  name: 'chat.completions',
  method: 'POST',
  path: '/v1/chat/completions',
  resend: 'chat',
  body: CompletionsBody,
  // Only `choices` or an error is checked here; other fields are checked where they are used.
  reply: replyThat((reply) => Array.isArray(fieldsOf(reply).choices) || isErrorReply(reply)),
};
