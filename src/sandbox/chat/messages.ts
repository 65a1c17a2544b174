import type { MessagesBody } from '../../gateway/chat/messages.ts';
import type { ReplyEvent, SandboxReply } from '../reply.ts';
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
  tokensForBudget,
  UNASKED_REASONING_TOKENS,
} from './input.ts';

type Message = MessagesBody['messages'][number];
type Path = readonly PropertyKey[];
type Block = Exclude<Message['content'], string>[number];

/** Reads a native messages body ("Native messages"); throws Refusal (400) if it breaks a rule. */
export async function readMessages(body: MessagesBody): Promise<Question> {
  chatModel(body.model, ({ endpointTypes }) => endpointTypes.includes('anthropic'));
  // Tools with a type run at the service; the document lists only client tools.
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

/** Reads one message; returns its tool results. */
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

/** `refusal` is the public word for a filtered answer; the document lists none. */
const stopReasons: Readonly<Record<Answer['end'], string>> = {
  done: 'end_turn',
  stop: 'stop_sequence',
  length: 'max_tokens',
  calls: 'tool_use',
  filter: 'refusal',
};

/** The reply of native messages, whole or as its sequence of events ("Native messages response"). */
export function messagesReply(
  body: MessagesBody,
  question: Question,
  answer: Answer,
  pace: Pace,
): SandboxReply {
  const blocks = blocksOf(answer);
  const head = { id: `msg_${answer.seed}`, type: 'message', role: 'assistant', model: question.model };
  const whole = {
    ...head,
    content: blocks.map((block) => block.whole),
    ...endOf(answer),
    usage: usageOf(question, answer),
  };
  const streamed = body.stream ? events(head, blocks, question, answer, pace) : undefined;
  return chatReply(whole, streamed, [answer], pace);
}

const endOf = (answer: Answer) => ({
  stop_reason: stopReasons[answer.end],
  stop_sequence: answer.stop ?? null,
});

function usageOf({ inputTokens }: Question, { thoughts, outputTokens }: Answer) {
  return {
    input_tokens: inputTokens,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: thoughts.length + outputTokens,
    ...(thoughts.length > 0 ? { output_tokens_details: { thinking_tokens: thoughts.length } } : {}),
  };
}

/** A block of the answer: the whole, its start in a stream, and the deltas that complete it. */
interface ReplyBlock {
  readonly whole: unknown;
  readonly start: unknown;
  readonly deltas: readonly { readonly delta: unknown; readonly tokens: number }[];
}

function blocksOf({ seed, thoughts, text, calls }: Answer): ReplyBlock[] {
  const blocks: ReplyBlock[] = [];
  if (thoughts.length > 0) {
    const signature = Buffer.from(`sandbox ${seed}`).toString('base64');
    blocks.push({
      whole: { type: 'thinking', thinking: thoughts.join(''), signature },
      start: { type: 'thinking', thinking: '', signature: '' },
      deltas: [
        ...thoughts.map((thinking) => ({ delta: { type: 'thinking_delta', thinking }, tokens: 1 })),
        { delta: { type: 'signature_delta', signature }, tokens: 0 },
      ],
    });
  }
  if (text.length > 0) {
    blocks.push({
      whole: { type: 'text', text: text.join('') },
      start: { type: 'text', text: '' },
      deltas: text.map((piece) => ({ delta: { type: 'text_delta', text: piece }, tokens: 1 })),
    });
  }
  for (const call of calls) {
    const head = { type: 'tool_use', id: call.id.replace('call_', 'toolu_'), name: call.name };
    const [, ...fragments] = tokensOfCall(call);
    blocks.push({
      whole: { ...head, input: call.arguments },
      start: { ...head, input: {} },
      deltas: ['', ...fragments].map((partial_json) => ({
        delta: { type: 'input_json_delta', partial_json },
        tokens: 1,
      })),
    });
  }
  return blocks;
}

function* events(
  head: Readonly<Record<string, unknown>>,
  blocks: readonly ReplyBlock[],
  question: Question,
  answer: Answer,
  pace: Pace,
): Generator<ReplyEvent> {
  let token = 0;
  const event = (type: string, rest: Readonly<Record<string, unknown>> = {}): ReplyEvent => ({
    text: `event: ${type}\ndata: ${JSON.stringify({ type, ...rest })}\n\n`,
    atMs: pace(token),
  });
  const usage = usageOf(question, { ...answer, thoughts: [], outputTokens: 1 });
  const begun = { ...head, content: [], stop_reason: null, stop_sequence: null, usage };
  yield event('message_start', { message: begun });
  yield event('ping');
  for (const [index, { start, deltas }] of blocks.entries()) {
    yield event('content_block_start', { index, content_block: start });
    for (const { delta, tokens } of deltas) {
      token += tokens;
      yield event('content_block_delta', { index, delta });
    }
    yield event('content_block_stop', { index });
  }
  yield event('message_delta', { delta: endOf(answer), usage: usageOf(question, answer) });
  yield event('message_stop');
}
