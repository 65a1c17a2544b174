import type { MessagesBody } from '../../gateway/chat/messages.ts';
import { eventReply, jsonReply, type ReplyEvent, type SandboxReply } from '../reply.ts';
import { type Answer, tokensOfCall } from './answer.ts';
import type { Pace } from './pace.ts';
import type { Question } from './question.ts';

/** `refusal` is the public word for what a filter stopped; the document lists none. */
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
  const head = {
    id: `msg_${answer.seed}`,
    type: 'message',
    role: 'assistant',
    model: question.model,
  };
  const whole = {
    ...head,
    content: blocks.map((block) => block.whole),
    ...endOf(answer),
    usage: usageOf(question, answer),
  };
  if (!body.stream) {
    return { ...jsonReply(200, whole), readyAfterMs: pace(answer.thoughts.length + answer.outputTokens) };
  }
  return eventReply(events(head, blocks, question, answer, pace), whole);
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

/** A block of the answer: whole, as it begins in a stream, and the deltas that make the one of the other. */
interface Block {
  readonly whole: unknown;
  readonly start: unknown;
  readonly deltas: readonly { readonly delta: unknown; readonly tokens: number }[];
}

function blocksOf({ seed, thoughts, text, calls }: Answer): Block[] {
  const blocks: Block[] = [];
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
  blocks: readonly Block[],
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
