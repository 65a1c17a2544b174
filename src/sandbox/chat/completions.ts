import type { CompletionsBody } from '../../gateway/chat/completions.ts';
import { isGeoModel } from '../../gateway/chat/models.ts';
import type { ReplyEvent, SandboxReply } from '../reply.ts';
import { refuseField } from '../request-body.ts';
import { type Answer, chatReply, type Pace, tokensOfCall } from './answer.ts';
import {
  chatModel,
  checkedChoice,
  field,
  Input,
  nameOfCall,
  type Question,
  type Reasoning,
  type ToolOffer,
  type ToolResult,
  textField,
  tokensForEffort,
  UNASKED_REASONING_TOKENS,
} from './input.ts';

type Message = CompletionsBody['messages'][number];

/** Reads a chat completions body ("Chat completions"); throws Refusal (400) if it breaks a rule. */
export async function readCompletions(body: CompletionsBody): Promise<Question> {
  chatModel(body.model, ({ endpointTypes }) => endpointTypes.includes('openai'));
  // A tool of another kind is accepted but never called.
  const tools: ToolOffer[] = (body.tools ?? []).flatMap(({ type, function: offered }) =>
    type === 'function' ? [{ name: offered.name, parameters: offered.parameters }] : [],
  );
  const input = new Input();
  input.json(body.tools);
  const toolResults = readMessages(body.messages, input);
  return {
    ...(await input.seen()),
    model: body.model,
    tools,
    toolChoice: checkedChoice(readChoice(body.tool_choice), tools, ['tool_choice']),
    toolResults,
    json: readFormat(body.response_format),
    maxTokens: body.max_completion_tokens ?? body.max_tokens,
    stops: [],
    reasoning: readReasoning(body),
  };
}

/** Reads the messages in order; returns the tool results at the end. */
function readMessages(messages: readonly Message[], input: Input): ToolResult[] {
  const callNames = new Map<string, string>();
  let results: ToolResult[] = [];
  for (const [nth, message] of messages.entries()) {
    input.message();
    const text = readContent(message, nth, input);
    if (message.role === 'user') input.userText(text);
    else input.text(text);
    if (message.role === 'tool') {
      const name = nameOfCall(callNames, message.tool_call_id, ['messages', nth, 'tool_call_id']);
      results.push({ name, content: text });
      continue;
    }
    results = [];
    if (message.role !== 'assistant') continue;
    input.json(message.tool_calls);
    for (const call of message.tool_calls ?? []) callNames.set(call.id, call.function.name);
  }
  return results;
}

/** The text of a message with one part a line; images are added to the input. */
function readContent({ content }: Message, nth: number, input: Input): string {
  if (typeof content === 'string') return content;
  const texts: string[] = [];
  for (const [at, part] of (content ?? []).entries()) {
    if (part.type === 'text') texts.push(part.text);
    else if (part.type === 'image_url') {
      const path = ['messages', nth, 'content', at, 'image_url', 'url'];
      input.image(textField(part, 'image_url', 'url') ?? '', path);
    }
  }
  return texts.join('\n');
}

function readChoice(choice: CompletionsBody['tool_choice']): Question['toolChoice'] | undefined {
  if (choice === undefined || choice === 'auto') return 'auto';
  if (choice === 'required') return 'any';
  if (choice === 'none') return 'none';
  const name = textField(choice, 'function', 'name');
  return name === undefined ? undefined : { name };
}

function readFormat(format: CompletionsBody['response_format']): Question['json'] {
  if (format === undefined || format.type === 'text') return undefined;
  // Some clients put the schema beside this type.
  if (format.type === 'json_object') return { schema: field(format, 'schema') };
  const schema = format.type === 'json_schema' ? field(format, 'json_schema', 'schema') : undefined;
  if (schema !== undefined) return { schema };
  throw format.type === 'json_schema'
    ? refuseField(['response_format', 'json_schema', 'schema'], 'it is missing')
    : refuseField(['response_format', 'type'], 'text, json_object and json_schema are taken');
}

function readReasoning(body: CompletionsBody): Reasoning {
  const config = body.extra_body?.geo?.thinking_config;
  const path = ['extra_body', 'geo', 'thinking_config'];
  if (config && !isGeoModel(body.model)) throw refuseField(path, `not a setting of ${body.model}`);
  const { thinking_level: level, include_thoughts: shown = false } = config ?? {};
  const asked = tokensForEffort(body.reasoning_effort ?? level);
  if (level !== undefined && asked === undefined) {
    throw refuseField([...path, 'thinking_level'], 'not a thinking level');
  }
  return { tokens: asked ?? (isGeoModel(body.model) ? UNASKED_REASONING_TOKENS : 0), shown };
}

const finishReasons: Readonly<Record<Answer['end'], string>> = {
  done: 'stop',
  stop: 'stop',
  length: 'length',
  calls: 'tool_calls',
  filter: 'content_filter',
};

/** The reply of chat completions, whole or as `chat.completion.chunk` events ("Chat completion response"). */
export function completionsReply(
  body: CompletionsBody,
  question: Question,
  answer: Answer,
  pace: Pace,
  createdS: number,
): SandboxReply {
  const head = { id: `chatcmpl-${answer.seed}`, created: createdS, model: question.model };
  const whole = wholeReply(head, question, answer);
  const withUsage = body.stream_options?.include_usage === true;
  const events = body.stream ? chunks(head, question, answer, pace, withUsage) : undefined;
  return chatReply(whole, events, [answer], pace);
}

type Head = Readonly<{ id: string; created: number; model: string }>;

function wholeReply(head: Head, question: Question, answer: Answer) {
  const calls = answer.calls.map((call) => ({
    id: call.id,
    type: 'function',
    function: { name: call.name, arguments: JSON.stringify(call.arguments) },
  }));
  return {
    ...head,
    object: 'chat.completion',
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: calls.length > 0 ? null : answer.text.join(''),
          ...(question.reasoning.shown && answer.thoughts.length > 0
            ? { reasoning_content: answer.thoughts.join('') }
            : {}),
          ...(calls.length > 0 ? { tool_calls: calls } : {}),
        },
        finish_reason: finishReasons[answer.end],
      },
    ],
    usage: usageOf(question, answer),
  };
}

function usageOf({ inputTokens }: Question, { thoughts, outputTokens }: Answer) {
  const completion = thoughts.length + outputTokens;
  return {
    prompt_tokens: inputTokens,
    completion_tokens: completion,
    total_tokens: inputTokens + completion,
    completion_tokens_details: { reasoning_tokens: thoughts.length },
  };
}

/**
 * The answer as events. The document does not show the chunk's form; this is the public one.
 * @param withUsage send usage in a last chunk without choices, as `include_usage` requests
 */
function* chunks(
  head: Head,
  question: Question,
  answer: Answer,
  pace: Pace,
  withUsage: boolean,
): Generator<ReplyEvent> {
  let token = 0;
  const chunk = (choices: readonly unknown[], usage?: unknown): ReplyEvent => ({
    text: `data: ${JSON.stringify({
      ...head,
      object: 'chat.completion.chunk',
      choices,
      ...(usage === undefined ? {} : { usage }),
    })}\n\n`,
    atMs: pace(token),
  });
  const delta = (change: unknown) => chunk([{ index: 0, delta: change, finish_reason: null }]);

  yield delta({ role: 'assistant', content: answer.calls.length > 0 ? null : '' });
  for (const thought of answer.thoughts) {
    token++;
    if (question.reasoning.shown) yield delta({ reasoning_content: thought });
  }
  for (const text of answer.text) {
    token++;
    yield delta({ content: text });
  }
  for (const [index, call] of answer.calls.entries()) {
    const [name, ...fragments] = tokensOfCall(call);
    token++;
    yield delta({
      tool_calls: [{ index, id: call.id, type: 'function', function: { name, arguments: '' } }],
    });
    for (const fragment of fragments) {
      token++;
      yield delta({ tool_calls: [{ index, function: { arguments: fragment } }] });
    }
  }
  const last = [{ index: 0, delta: {}, finish_reason: finishReasons[answer.end] }];
  yield chunk(last);
  if (withUsage) yield chunk([], usageOf(question, answer));
  yield { text: 'data: [DONE]\n\n', atMs: pace(token) };
}
