import type { MessagesBody } from '../../gateway/chat/messages.ts';
import { field, textField } from './field.ts';
import { Input } from './input.ts';
import { chatModel } from './models.ts';
import type { Question, Reasoning, ToolOffer, ToolResult } from './question.ts';
import { tokensForBudget, UNASKED_REASONING_TOKENS } from './reasoning.ts';
import { checkedChoice, nameOfCall } from './tool-choice.ts';

type Message = MessagesBody['messages'][number];
type Path = readonly PropertyKey[];
type Block = Exclude<Message['content'], string>[number];

/** Reads a native messages body ("Native messages"); throws Refusal (400) where it breaks a rule. */
export async function readMessages(body: MessagesBody): Promise<Question> {
  chatModel(body.model, ({ endpointTypes }) => endpointTypes.includes('anthropic'));
  // Tools of a type of their own run at the service; the document lists client tools only.
  const tools: ToolOffer[] = (body.tools ?? [])
    .filter((tool) => tool.type === undefined || tool.type === 'custom')
    .map((tool) => ({ name: tool.name, parameters: tool.input_schema }));
  const input = new Input();
  input.json(body.tools);
  for (const text of typeof body.system === 'string'
    ? [body.system]
    : (body.system ?? []).map((block) => block.text)) {
    input.message(false);
    input.text(text);
  }
  const callNames = new Map<string, string>();
  let toolResults: ToolResult[] = [];
  for (const [nth, message] of body.messages.entries()) {
    input.message();
    toolResults = readMessage(message, nth, input, callNames);
  }
  return {
    ...(await input.seen()),
    model: body.model,
    tools,
    toolChoice: checkedChoice(readChoice(body.tool_choice), tools, ['tool_choice']),
    toolResults,
    json: undefined,
    maxTokens: body.max_tokens,
    stops: body.stop_sequences ?? [],
    reasoning: readReasoning(body.thinking),
  };
}

/** Reads one message; returns the tool results in it. */
function readMessage(
  { role, content }: Message,
  nth: number,
  input: Input,
  callNames: Map<string, string>,
): ToolResult[] {
  const blocks: readonly Block[] = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
  const texts: string[] = [];
  const results: ToolResult[] = [];
  for (const [at, block] of blocks.entries()) {
    const path = ['messages', nth, 'content', at];
    if (block.type === 'text') texts.push(block.text);
    else if (block.type === 'image') readImage(block, path, input);
    else if (block.type === 'tool_use') {
      callNames.set(block.id, block.name);
      input.json(block.input);
    } else if (block.type === 'tool_result') {
      const name = nameOfCall(callNames, block.tool_use_id, [...path, 'tool_use_id']);
      results.push({ name, content: readResult(block, path, input) });
    } else if (block.type === 'thinking') input.text(block.thinking);
  }
  if (role === 'user') input.userText(texts.join('\n'));
  else input.text(texts.join('\n'));
  return results;
}

function readImage(block: Extract<Block, { type: 'image' }>, path: Path, input: Input): void {
  const { source } = block;
  if (source.type === 'url') input.image(source.url, [...path, 'source', 'url']);
  else input.image(`data:${source.media_type};base64,${source.data}`, [...path, 'source', 'data']);
}

function readResult(block: Extract<Block, { type: 'tool_result' }>, path: Path, input: Input): string {
  const { content = '' } = block;
  const texts: string[] = [];
  for (const [at, part] of (typeof content === 'string' ? [] : content).entries()) {
    if (part.type === 'text') texts.push(part.text);
    else readImage(part, [...path, 'content', at], input);
  }
  const text = typeof content === 'string' ? content : texts.join('\n');
  input.text(text);
  return text;
}

function readChoice(choice: MessagesBody['tool_choice']): Question['toolChoice'] | undefined {
  const type = choice === undefined ? 'auto' : field(choice, 'type');
  if (type === 'auto' || type === 'any' || type === 'none') return type;
  const name = textField(choice, 'name');
  return type === 'tool' && name !== undefined ? { name } : undefined;
}

function readReasoning(thinking: MessagesBody['thinking']): Reasoning {
  if (!thinking) return { tokens: 0, shown: true };
  const { budget_tokens: budget } = thinking;
  return { tokens: budget === undefined ? UNASKED_REASONING_TOKENS : tokensForBudget(budget), shown: true };
}
