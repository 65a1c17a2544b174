import type { CompletionsBody } from '../../gateway/chat/completions.ts';
import { isGeoModel } from '../../gateway/chat/models.ts';
import { refuseField } from '../request-body.ts';
import { field, textField } from './field.ts';
import { Input } from './input.ts';
import { chatModel } from './models.ts';
import type { Question, Reasoning, ToolOffer, ToolResult } from './question.ts';
import { tokensForEffort, UNASKED_REASONING_TOKENS } from './reasoning.ts';
import { checkedChoice, nameOfCall } from './tool-choice.ts';

type Message = CompletionsBody['messages'][number];

/** Reads a chat completions body ("Chat completions"); throws Refusal (400) where it breaks a rule. */
export async function readCompletions(body: CompletionsBody): Promise<Question> {
  chatModel(body.model, ({ endpointTypes }) => endpointTypes.includes('openai'));
  const tools: ToolOffer[] = (body.tools ?? []).map(({ function: { name, parameters } }) => ({
    name,
    parameters,
  }));
  const input = new Input();
  input.json(body.tools);
  const toolResults = readMessages(body.messages, input);
  const unknown = toolResults.find((result) => !tools.some(({ name }) => name === result.name));
  if (unknown)
    throw refuseField(['tools'], `a follow-up sends the same tools, and ${unknown.name} is missing`);
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

/** Reads the messages in order; returns the tool results that stand at the end. */
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

/** The text of a message, its parts a line each; images go to the input. */
function readContent({ content }: Message, nth: number, input: Input): string {
  if (typeof content === 'string') return content;
  const texts: string[] = [];
  for (const [at, part] of (content ?? []).entries()) {
    if (part.type === 'text') texts.push(part.text);
    else input.image(part.image_url.url, ['messages', nth, 'content', at, 'image_url', 'url']);
  }
  return texts.join('\n');
}

const choices: Readonly<Record<string, Question['toolChoice']>> = {
  auto: 'auto',
  none: 'none',
  required: 'any',
};

function readChoice(choice: CompletionsBody['tool_choice']): Question['toolChoice'] | undefined {
  if (choice === undefined) return 'auto';
  if (typeof choice === 'string') return Object.hasOwn(choices, choice) ? choices[choice] : undefined;
  const name = textField(choice, 'function', 'name');
  return name === undefined ? undefined : { name };
}

function readFormat(format: CompletionsBody['response_format']): Question['json'] {
  if (format === undefined || format.type === 'text') return undefined;
  if (format.type === 'json_object') return { schema: undefined };
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
