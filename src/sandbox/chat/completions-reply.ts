import type { CompletionsBody } from '../../gateway/chat/completions.ts';
import { eventReply, jsonReply, type ReplyEvent, type SandboxReply } from '../reply.ts';
import { type Answer, tokensOfCall } from './answer.ts';
import type { Pace } from './pace.ts';
import type { Question } from './question.ts';

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
  if (!body.stream) {
    const readyAfterMs = pace(answer.thoughts.length + answer.outputTokens);
    return { ...jsonReply(200, whole), readyAfterMs };
  }
  const alone = body.stream_options?.include_usage === true;
  return eventReply(chunks(head, question, answer, pace, alone), whole);
}

interface Head {
  readonly id: string;
  readonly created: number;
  readonly model: string;
}

function wholeReply(head: Head, question: Question, answer: Answer) {
  const calls = answer.calls.map((call) => ({
    id: call.id,
    type: 'function',
    function: { name: call.name, arguments: JSON.stringify(call.arguments) },
  }));
  return {
    id: head.id,
    object: 'chat.completion',
    created: head.created,
    model: head.model,
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
 * The answer as events. The document does not show the chunk's shape; this is the public one.
 * @param usageAlone the usage comes in a last chunk without choices, as `include_usage` asks; else with the finish reason
 */
function* chunks(
  head: Head,
  question: Question,
  answer: Answer,
  pace: Pace,
  usageAlone: boolean,
): Generator<ReplyEvent> {
  let token = 0;
  const chunk = (choices: readonly unknown[], usage?: unknown): ReplyEvent => ({
    text: `data: ${JSON.stringify({
      id: head.id,
      object: 'chat.completion.chunk',
      created: head.created,
      model: head.model,
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
  const usage = usageOf(question, answer);
  yield chunk(last, usageAlone ? undefined : usage);
  if (usageAlone) yield chunk([], usage);
  yield { text: 'data: [DONE]\n\n', atMs: pace(token) };
}
