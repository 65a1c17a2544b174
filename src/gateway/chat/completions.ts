import * as z from 'zod';
import type { Note } from '../body.ts';
import type { Endpoint } from '../endpoint.ts';
import { ChatErrorReply } from './error.ts';
import { isImageUrl } from './media.ts';
import { geoModel, geoModelsWhere, isGeoModel, reasoningEfforts, thinkingLevels } from './models.ts';

// `POST /v1/chat/completions` ("Chat completions", "Chat completion response").

type ObjectMaker = typeof z.looseObject | typeof z.strictObject;

/** Field names of other services that geo models answer with HTTP 400. */
export const refusedThinkingAliases = ['thinking', 'thinking_budget', 'reasoning'] as const;

/** The request body, loose (fields of `--set` pass) or strict (the sandbox refuses what the document does not list). */
function chatBody(object: ObjectMaker) {
  const part = z.discriminatedUnion('type', [
    object({ type: z.literal('text'), text: z.string() }),
    object({
      type: z.literal('image_url'),
      image_url: object({
        url: z.string().refine(isImageUrl, { error: 'an image is given by URL or Base64 data URL' }),
      }),
    }),
  ]);
  const content = z.union([z.string(), z.array(part).min(1, 'a message needs content')], {
    error: 'content is a text, or a list of text and image_url parts',
  });
  const toolCall = object({
    id: z.string(),
    type: z.literal('function'),
    function: object({ name: z.string(), arguments: z.string() }),
  });
  const message = z.discriminatedUnion('role', [
    object({ role: z.literal('system'), content }),
    object({ role: z.literal('user'), content }),
    object({
      role: z.literal('assistant'),
      content: content.nullish(),
      tool_calls: z.array(toolCall).optional(),
    }),
    object({ role: z.literal('tool'), tool_call_id: z.string().min(1), content }),
  ]);
  return object({
    model: z.string().min(1),
    messages: z.array(message).min(1, 'a conversation has at least one message'),
    temperature: z.number().optional(),
    max_completion_tokens: z.int().min(1, 'at least 1 token').optional(),
    max_tokens: z.int().min(1, 'at least 1 token').optional(),
    stream: z.boolean().optional(),
    // Not shown in the document; the public shape's way to have the figures in a stream (`--usage`).
    stream_options: object({ include_usage: z.boolean().optional() }).optional(),
    tools: z
      .array(
        object({
          type: z.literal('function'),
          function: object({
            name: z.string().min(1),
            description: z.string().optional(),
            parameters: z.looseObject({}).optional(),
          }),
        }),
      )
      .optional(),
    tool_choice: z.union([z.string().min(1), z.looseObject({})]).optional(),
    response_format: z.looseObject({ type: z.string() }).optional(),
    reasoning_effort: z.string().min(1).optional(),
    extra_body: object({
      geo: object({
        thinking_config: object({
          thinking_level: z.string().optional(),
          include_thoughts: z.boolean().optional(),
        }).optional(),
      }).optional(),
    }).optional(),
  }).superRefine((body, ctx) => {
    for (const { path, message } of completionsBreaches(body as CompletionsBody)) {
      ctx.addIssue({ code: 'custom', path: [...path], message });
    }
  });
}

/** The body of a chat completion, with every documented rule. */
export const CompletionsBody = chatBody(z.looseObject);
export type CompletionsBody = z.infer<ReturnType<typeof chatBody>>;

/** As {@link CompletionsBody}, refusing fields that the document does not list. */
export const CompletionsStrictBody = chatBody(z.strictObject);

/** The rules between fields and per model. */
function* completionsBreaches(body: CompletionsBody): Generator<Note> {
  if (body.max_tokens !== undefined && body.max_completion_tokens !== undefined) {
    yield {
      path: ['max_tokens'],
      message: 'only one of the two output limits may be sent, max_completion_tokens or max_tokens',
    };
  }
  if (!isGeoModel(body.model)) return;
  const { reasoning_effort: effort } = body;
  const thinking = body.extra_body?.geo?.thinking_config;
  if (effort !== undefined && thinking !== undefined) {
    yield {
      path: ['reasoning_effort'],
      message: 'does not go with extra_body.geo.thinking_config (a thinking level): send one of them',
    };
  }
  if (effort !== undefined) yield* effortBreaches(body.model, effort);
  const level = thinking?.thinking_level?.toLowerCase();
  if (level !== undefined && geoModel(body.model)?.refusedLevels.some((refused) => refused === level)) {
    yield {
      path: ['extra_body', 'geo', 'thinking_config', 'thinking_level'],
      message: `${body.model} refuses it; it takes ${thinkingLevels.filter((each) => each !== level).join(', ')}`,
    };
  }
  for (const alias of refusedThinkingAliases) {
    if ((body as Record<string, unknown>)[alias] !== undefined) {
      yield {
        path: [alias],
        message: 'geo models refuse this field: send reasoning_effort or extra_body.geo.thinking_config',
      };
    }
  }
}

function* effortBreaches(model: string, effort: string): Generator<Note> {
  const taken: readonly string[] = geoModel(model)?.efforts ?? reasoningEfforts;
  if (taken.includes(effort)) return;
  const others = geoModelsWhere(({ efforts }) => efforts.some((each) => each === effort));
  yield {
    path: ['reasoning_effort'],
    message: `${model} takes ${taken.join(', ')}${others ? `; ${effort} is for ${others}` : ''}`,
  };
}

/** What is allowed but likely not meant. */
export function completionsWarnings({ temperature }: CompletionsBody): Note[] {
  if (temperature === undefined || (temperature >= 0 && temperature <= 2)) return [];
  return [{ path: ['temperature'], message: 'usually 0-2, depending on the model' }];
}

/** What gw reads of a complete reply; each field is looked at again where it is used. */
export const CompletionsReply = z.union([z.looseObject({ choices: z.array(z.unknown()) }), ChatErrorReply]);

export const chatCompletions: Endpoint = {
  name: 'chat.completions',
  method: 'POST',
  path: '/v1/chat/completions',
  credential: 'bearer',
  resend: 'chat',
  body: CompletionsBody,
  reply: CompletionsReply,
};
