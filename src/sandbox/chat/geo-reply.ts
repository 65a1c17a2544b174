import { eventReply, jsonReply, type ReplyEvent, type SandboxReply } from '../reply.ts';
import type { Answer } from './answer.ts';
import { tokensOfCall } from './answer.ts';
import type { Pace } from './pace.ts';
import type { Question } from './question.ts';

const finishReasons: Readonly<Record<Answer['end'], string>> = {
  done: 'STOP',
  stop: 'STOP',
  length: 'MAX_TOKENS',
  calls: 'STOP',
  filter: 'SAFETY',
};

/** The reply of the Gemini-style endpoints, whole or as `data:` events ("Gemini-style response"). */
export function geoReply(question: Question, answer: Answer, pace: Pace, isStreamed: boolean): SandboxReply {
  const tail = { modelVersion: question.model, responseId: `resp-${answer.seed}` };
  const parts = [...partsOf(question, answer, 'whole')].map(({ part }) => part);
  const whole = {
    candidates: [candidate(parts, finishReasons[answer.end])],
    usageMetadata: usageOf(question, answer),
    ...tail,
  };
  if (!isStreamed) {
    return { ...jsonReply(200, whole), readyAfterMs: pace(answer.thoughts.length + answer.outputTokens) };
  }
  return eventReply(events(question, answer, pace, tail), whole);
}

/** A filtered or empty answer has no parts at all. */
const candidate = (parts: readonly unknown[], finishReason?: string) => ({
  content: parts.length > 0 ? { parts, role: 'model' } : { role: 'model' },
  ...(finishReason === undefined ? {} : { finishReason }),
  index: 0,
});

function usageOf({ inputTokens }: Question, { thoughts, outputTokens }: Answer) {
  return {
    promptTokenCount: inputTokens,
    ...(outputTokens > 0 ? { candidatesTokenCount: outputTokens } : {}),
    thoughtsTokenCount: thoughts.length,
    totalTokenCount: inputTokens + outputTokens + thoughts.length,
  };
}

/** The parts of an answer with the tokens each costs: text whole, or a part for each token. */
function* partsOf(
  { reasoning }: Question,
  { thoughts, text, calls }: Answer,
  cut: 'whole' | 'tokens',
): Generator<{ readonly part: unknown; readonly tokens: number }> {
  const pieces = (tokens: readonly string[]) =>
    cut === 'tokens' || tokens.length === 0 ? tokens : [tokens.join('')];
  if (reasoning.shown) {
    for (const thought of pieces(thoughts)) yield { part: { text: thought, thought: true }, tokens: 1 };
  }
  for (const piece of pieces(text)) yield { part: { text: piece }, tokens: 1 };
  for (const call of calls) {
    yield {
      part: { functionCall: { name: call.name, args: call.arguments } },
      tokens: tokensOfCall(call).length,
    };
  }
}

function* events(
  question: Question,
  answer: Answer,
  pace: Pace,
  tail: Readonly<Record<string, string>>,
): Generator<ReplyEvent> {
  let token = question.reasoning.shown ? 0 : answer.thoughts.length;
  const event = (fields: Readonly<Record<string, unknown>>): ReplyEvent => ({
    text: `data: ${JSON.stringify({ ...fields, ...tail })}\n\n`,
    atMs: pace(token),
  });
  // The last part waits, so that the finish reason and the usage come with it.
  let waiting: unknown[] = [];
  for (const { part, tokens } of partsOf(question, answer, 'tokens')) {
    if (waiting.length > 0) yield event({ candidates: [candidate(waiting)] });
    token += tokens;
    waiting = [part];
  }
  yield event({
    candidates: [candidate(waiting, finishReasons[answer.end])],
    usageMetadata: usageOf(question, answer),
  });
}
