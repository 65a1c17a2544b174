import * as z from 'zod/mini';
import { base64Text, isWebUrl, type ObjectMaker, type Rule, withRules } from '../body.ts';
import { filled, filledText, modelId, outputLimit } from '../checks.ts';
import { type Endpoint, replyThat } from '../endpoint.ts';
import { isErrorReply } from '../gateway-error.ts';
import { fieldsOf } from '../json-value.ts';
import { anyKind, listOf, open } from '../open.ts';

// `POST /v1/messages` ("Native messages", "Native messages response"). The document does not show the content blocks of
// a request; they follow the public API of the same name.

/** Minimum of `thinking.budget_tokens`. */
export const MIN_THINKING_BUDGET = 1024;

const notSystem = z.refine((role) => role !== 'system', {
  error: 'a message is of user or assistant; the system prompt goes into the field system',
});

/** The request body: loose (fields of `--set` pass) or strict (the sandbox refuses what is not documented). */
function messagesBody(object: ObjectMaker) {
  const text = object({ type: z.literal('text'), text: z.string() });
  const image = object({
    type: z.literal('image'),
    source: z.discriminatedUnion('type', [
      object({
        type: z.literal('base64'),
        media_type: z.string().check(z.regex(/^image\/[a-z0-9.+-]+$/, 'not the type of an image')),
        data: base64Text(),
      }),
      object({ type: z.literal('url'), url: z.string().check(z.refine(isWebUrl, { error: 'not a URL' })) }),
    ]),
  });
  // The document shows the content blocks of a reply; of a request it shows text only.
  const known = {
    image,
    tool_use: object({
      type: z.literal('tool_use'),
      id: z.string(),
      name: z.string().check(z.minLength(1)),
      input: z.looseObject({}),
    }),
    tool_result: object({
      type: z.literal('tool_result'),
      tool_use_id: z.string().check(z.minLength(1)),
      content: z.optional(z.union([z.string(), listOf(anyKind(object, 'type', { text }, { image }))])),
      is_error: z.optional(z.boolean()),
    }),
    thinking: object({
      type: z.literal('thinking'),
      thinking: z.string(),
      signature: z.optional(z.string()),
    }),
    redacted_thinking: object({ type: z.literal('redacted_thinking'), data: z.string() }),
  };
  const block = anyKind(object, 'type', { text }, known);
  const content = z.union([z.string(), listOf(block).check(filled('a message needs content'))], {
    error: 'content is a text, or a list of blocks of a known type',
  });
  return object({
    model: modelId(),
    max_tokens: z.int().check(outputLimit),
    messages: z
      .array(
        object({ role: open(object, z.enum(['user', 'assistant']), z.string().check(notSystem)), content }),
      )
      .check(filled('a conversation has at least one message')),
    system: z.optional(z.union([z.string(), listOf(open(object, text))])),
    temperature: z.optional(z.number()),
    top_p: z.optional(z.number()),
    top_k: z.optional(z.int()),
    stop_sequences: z.optional(z.array(filledText())),
    stream: z.optional(z.boolean()),
    thinking: z.optional(
      object({ type: z.enum(['enabled', 'adaptive']), budget_tokens: z.optional(z.int()) }),
    ),
    tools: z.optional(
      listOf(
        open(
          object,
          z.looseObject({
            name: z.string().check(z.minLength(1)),
            description: z.optional(z.string()),
            input_schema: z.optional(z.looseObject({})),
          }),
        ),
      ),
    ),
    tool_choice: z.optional(open(object, z.looseObject({ type: z.string() }), z.looseObject({}))),
  });
}

export type MessagesBody = z.infer<ReturnType<typeof messagesBody>>;

const budgetPath = ['thinking', 'budget_tokens'] as const;

const messagesRules: readonly Rule<MessagesBody>[] = [
  {
    name: 'messages.adaptive-without-a-budget',
    verdict: 'refuse',
    sentence: 'Sending adaptive together with budget_tokens causes a parameter error.',
    *check({ thinking }) {
      if (thinking?.type !== 'adaptive' || thinking.budget_tokens === undefined) return;
      yield { path: budgetPath, message: 'adaptive thinking takes no budget' };
    },
  },
  {
    name: 'messages.enabled-with-a-budget',
    verdict: 'refuse',
    sentence: 'type enabled with budget_tokens (at least 1,024, normally below max_tokens)',
    *check({ thinking }) {
      if (thinking?.type !== 'enabled') return;
      const { budget_tokens: budget } = thinking;
      const least = `at least ${MIN_THINKING_BUDGET} tokens`;
      if (budget === undefined) {
        const message = `enabled thinking needs a budget of ${least}; adaptive needs none`;
        yield { path: budgetPath, message };
      } else if (budget < MIN_THINKING_BUDGET) {
        yield { path: budgetPath, message: `a thinking budget is ${least}` };
      }
    },
  },
  {
    name: 'messages.budget-below-the-limit',
    verdict: 'warn',
    sentence: 'normally below max_tokens',
    *check({ thinking, max_tokens: limit }) {
      if (thinking?.budget_tokens === undefined || thinking.budget_tokens < limit) return;
      const message = `the thinking budget counts toward max_tokens and is normally below it (${limit})`;
      yield { path: budgetPath, message };
    },
  },
  {
    name: 'messages.usual-temperature',
    verdict: 'warn',
    sentence: 'usually 0-1',
    *check({ temperature }) {
      if (temperature === undefined || (temperature >= 0 && temperature <= 1)) return;
      yield { path: ['temperature'], message: 'usually 0-1, depending on the model' };
    },
  },
  {
    name: 'messages.sampling-with-thinking',
    verdict: 'warn',
    sentence: 'Sampling parameters may be restricted or ignored when thinking is enabled.',
    *check({ temperature, top_p, top_k, thinking }) {
      for (const [path, value] of Object.entries({ temperature, top_p, top_k })) {
        if (!thinking || value === undefined) continue;
        yield { path: [path], message: 'may be restricted or ignored while thinking is enabled' };
      }
    },
  },
];

export const MessagesBody = withRules(messagesBody, messagesRules);

export const chatMessages: Endpoint = {
  name: 'chat.messages',
  method: 'POST',
  path: '/v1/messages',
  credential: 'messages',
  resend: 'chat',
  body: MessagesBody,
  // Fields are checked where they are used. `content` may be null in an answer without content.
  reply: replyThat((reply) => {
    const { content } = fieldsOf(reply);
    return content === null || Array.isArray(content) || isErrorReply(reply);
  }),
};
