import { type GeoBody, geoModelRules } from '../../gateway/chat/geo.ts';
import { geoModel } from '../../gateway/chat/models.ts';
import type { ReplyEvent, SandboxReply } from '../reply.ts';
import { refuseField } from '../request-body.ts';
import { type Answer, chatReply, type Pace, tokensOfCall } from './answer.ts';
import {
  chatModel,
  checkedChoice,
  Input,
  listField,
  type Question,
  type ToolOffer,
  type ToolResult,
  textField,
  tokensForBudget,
  tokensForEffort,
  UNASKED_REASONING_TOKENS,
  UNRELIABLE_REASONING_TOKENS,
} from './input.ts';

/** The document states no limit; this is the public API's. */
const MOST_CANDIDATES = 8;

type Content = GeoBody['contents'][number];

/**
 * Reads the body of a Gemini-style request ("Gemini-style generation"); throws Refusal (400) if it breaks a rule.
 * @param model from the path
 */
export async function readGeo(model: string, body: GeoBody): Promise<Question> {
  chatModel(model, ({ native }) => native);
  for (const { verdict, check } of geoModelRules(model)) {
    if (verdict === 'warn') continue;
    for (const { path, message } of check(body, () => [])) throw refuseField(path, message);
  }
  const config = body.generationConfig;
  const thinking = config?.thinkingConfig;
  if ((config?.candidateCount ?? 1) > MOST_CANDIDATES) {
    throw refuseField(['generationConfig', 'candidateCount'], `at most ${MOST_CANDIDATES} are given here`);
  }
  const tools = readTools(body.tools);
  const input = new Input();
  input.json(body.tools);
  if (body.systemInstruction) {
    input.message(false);
    for (const part of body.systemInstruction.parts) input.text(part.text ?? '');
  }
  let toolResults: ToolResult[] = [];
  for (const [nth, content] of body.contents.entries()) {
    input.message();
    toolResults = readContent(content, nth, input);
  }
  return {
    ...(await input.seen()),
    model,
    ...readToolConfig(body.toolConfig, tools),
    toolResults,
    json: readFormat(config),
    maxTokens: config?.maxOutputTokens,
    stops: config?.stopSequences ?? [],
    reasoning: { tokens: reasoningTokens(model, thinking), shown: thinking?.includeThoughts === true },
  };
}

/** Reads one content; returns its function responses. */
function readContent({ role, parts }: Content, nth: number, input: Input): ToolResult[] {
  const texts: string[] = [];
  const results: ToolResult[] = [];
  for (const [at, part] of parts.entries()) {
    const path = ['contents', nth, 'parts', at];
    if (part.text !== undefined) texts.push(part.text);
    if (part.inlineData) {
      const { mimeType, data } = part.inlineData;
      input.image(`data:${mimeType};base64,${data}`, [...path, 'inlineData', 'data']);
    }
    if (part.fileData) input.image(part.fileData.fileUri, [...path, 'fileData', 'fileUri']);
    input.json(part.functionCall);
    if (part.functionResponse) {
      const { name, response } = part.functionResponse;
      input.json(response);
      results.push({ name, content: JSON.stringify(response) });
    }
  }
  if (role === 'model') input.text(texts.join('\n'));
  else input.userText(texts.join('\n'));
  return results;
}

/** The declared functions; tools of other kinds are accepted and never used. */
const readTools = (tools: GeoBody['tools']): ToolOffer[] =>
  (tools ?? []).flatMap((tool, nth) =>
    listField(tool, 'functionDeclarations').map((declared, at) => {
      const name = textField(declared, 'name');
      if (!name) throw refuseField(['tools', nth, 'functionDeclarations', at, 'name'], 'it is missing');
      const { parameters, parametersJsonSchema } = declared as Record<string, unknown>;
      return { name, parameters: parameters ?? parametersJsonSchema };
    }),
  );

const modes: Readonly<Record<string, Question['toolChoice']>> = { AUTO: 'auto', ANY: 'any', NONE: 'none' };

function readToolConfig(
  config: GeoBody['toolConfig'],
  tools: readonly ToolOffer[],
): Pick<Question, 'tools' | 'toolChoice'> {
  const mode = textField(config, 'functionCallingConfig', 'mode')?.toUpperCase() ?? 'AUTO';
  const allowed = listField(config, 'functionCallingConfig', 'allowedFunctionNames');
  const offered = allowed.length > 0 ? tools.filter(({ name }) => allowed.includes(name)) : tools;
  const choice = Object.hasOwn(modes, mode) ? modes[mode] : undefined;
  const path = ['toolConfig', 'functionCallingConfig', 'mode'];
  return { tools: offered, toolChoice: checkedChoice(choice, offered, path) };
}

function readFormat(config: GeoBody['generationConfig']): Question['json'] {
  // The document does not say which types exist, and which allow a schema.
  const { responseMimeType: type, responseSchema: schema } = config ?? {};
  return type === 'application/json' || schema !== undefined ? { schema } : undefined;
}

type ThinkingConfig = NonNullable<GeoBody['generationConfig']>['thinkingConfig'];

/** "Disabling thinking": a budget of 0 works on some models only; -1 lets the model decide. */
function reasoningTokens(model: string, config: ThinkingConfig): number {
  const { thinkingLevel, thinkingBudget } = config ?? {};
  if (thinkingBudget === 0) {
    return geoModel(model)?.budgetZero === 'works' ? 0 : UNRELIABLE_REASONING_TOKENS;
  }
  if (thinkingBudget !== undefined && thinkingBudget > 0) return tokensForBudget(thinkingBudget);
  const tokens = tokensForEffort(thinkingLevel);
  if (thinkingLevel !== undefined && tokens === undefined) {
    throw refuseField(['generationConfig', 'thinkingConfig', 'thinkingLevel'], 'not a thinking level');
  }
  return tokens ?? UNASKED_REASONING_TOKENS;
}

const finishReasons: Readonly<Record<Answer['end'], string>> = {
  done: 'STOP',
  stop: 'STOP',
  length: 'MAX_TOKENS',
  calls: 'STOP',
  filter: 'SAFETY',
};

/**
 * The reply of the Gemini-style endpoints, whole or as `data:` events ("Gemini-style response").
 * @param answers one per candidate
 */
export function geoReply(
  question: Question,
  answers: readonly [Answer, ...Answer[]],
  pace: Pace,
  isStreamed: boolean,
): SandboxReply {
  const tail = { modelVersion: question.model, responseId: `resp-${answers[0].seed}` };
  const whole = {
    candidates: answers.map((answer, index) => {
      const parts = [...partsOf(question, answer, 'whole')].map(({ part }) => part);
      return candidate(index, parts, finishReasons[answer.end]);
    }),
    usageMetadata: usageOf(question, answers),
    ...tail,
  };
  return chatReply(whole, isStreamed ? events(question, answers, pace, tail) : undefined, answers, pace);
}

/** A filtered or empty answer has no parts at all. */
const candidate = (index: number, parts: readonly unknown[], finishReason?: string) => ({
  content: parts.length > 0 ? { parts, role: 'model' } : { role: 'model' },
  ...(finishReason === undefined ? {} : { finishReason }),
  index,
});

function usageOf({ inputTokens }: Question, answers: readonly Answer[]) {
  const outputTokens = answers.reduce((sum, each) => sum + each.outputTokens, 0);
  const thoughtTokens = answers.reduce((sum, { thoughts }) => sum + thoughts.length, 0);
  return {
    promptTokenCount: inputTokens,
    ...(outputTokens > 0 ? { candidatesTokenCount: outputTokens } : {}),
    thoughtsTokenCount: thoughtTokens,
    totalTokenCount: inputTokens + outputTokens + thoughtTokens,
  };
}

/** The parts of an answer with their token counts: the text as a whole, or one part per token. */
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
  answers: readonly Answer[],
  pace: Pace,
  tail: Readonly<Record<string, string>>,
): Generator<ReplyEvent> {
  let token = 0;
  const event = (fields: Readonly<Record<string, unknown>>): ReplyEvent => ({
    text: `data: ${JSON.stringify({ ...fields, ...tail })}\n\n`,
    atMs: pace(token),
  });
  for (const [index, answer] of answers.entries()) {
    if (!question.reasoning.shown) token += answer.thoughts.length;
    // The last part is delayed, so that it carries the finish reason, and the last candidate's also the usage.
    let waiting: unknown[] = [];
    for (const { part, tokens } of partsOf(question, answer, 'tokens')) {
      if (waiting.length > 0) yield event({ candidates: [candidate(index, waiting)] });
      token += tokens;
      waiting = [part];
    }
    yield event({
      candidates: [candidate(index, waiting, finishReasons[answer.end])],
      ...(index === answers.length - 1 && { usageMetadata: usageOf(question, answers) }),
    });
  }
}
