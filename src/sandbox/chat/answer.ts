import { seededInt } from '../seeded.ts';
import { markdownSample, prose } from './prose.ts';
import type { Question, ToolOffer } from './question.ts';
import { sampleOf } from './schema-sample.ts';
import { tokensOf } from './tokens.ts';

/** A prompt with this text is refused by the content filter. */
export const SENSITIVE_TEXT = 'sensitive-text';

const MOST_WORDS = 100_000;
const SHOWN_PROMPT_WORDS = 12;
const CLOSING_WORDS = 28;

export interface Call {
  readonly id: string;
  readonly name: string;
  readonly arguments: unknown;
}

/** What the model says: everything in tokens, so that it can be counted, cut and paced. */
export interface Answer {
  /** Decides IDs: the same question has the same. */
  readonly seed: string;
  readonly thoughts: readonly string[];
  readonly text: readonly string[];
  readonly calls: readonly Call[];
  readonly end: 'done' | 'stop' | 'length' | 'calls' | 'filter';
  /** The stop sequence that ended it. */
  readonly stop: string | undefined;
  /** Tokens of text and calls, without the reasoning. */
  readonly outputTokens: number;
}

/** Answers a question; the same question always in the same way. */
export function answer(question: Question): Answer {
  const seed = seedOf(question);
  const nothing = { seed, thoughts: [], text: [], calls: [], stop: undefined, outputTokens: 0 };
  if (question.prompt.includes(SENSITIVE_TEXT)) return { ...nothing, end: 'filter' };

  const { maxTokens = Number.POSITIVE_INFINITY } = question;
  const thoughts = tokensOf(prose(`${seed} thought`, question.reasoning.tokens)).slice(0, maxTokens);
  const left = maxTokens - thoughts.length;
  if (left <= 0) return { ...nothing, thoughts, end: 'length' };

  const calls = toolsToCall(question).map((tool, nth) => ({
    id: `call_${seededInt(seed, 'call', String(nth)).toString(36)}${nth}`,
    name: tool.name,
    arguments: sampleOf(tool.parameters, seed),
  }));
  if (calls.length > 0) {
    const outputTokens = calls.reduce((sum, call) => sum + tokensOfCall(call).length, 0);
    if (outputTokens > left) return { ...nothing, thoughts, end: 'length', outputTokens: left };
    return { ...nothing, thoughts, calls, end: 'calls', outputTokens };
  }
  return { ...nothing, thoughts, ...said(question, seed, left) };
}

/** The tokens of a call: its name and its arguments, written as JSON. */
export const tokensOfCall = (call: Call): string[] => [
  call.name,
  ...tokensOf(JSON.stringify(call.arguments)),
];

const seedOf = (question: Question): string => {
  const { model, messages, prompt, images, toolResults } = question;
  return String(seededInt(JSON.stringify([model, messages, prompt, images, toolResults])));
};

/** The text, ended by a stop sequence or by the limit. */
function said(
  question: Question,
  seed: string,
  left: number,
): Pick<Answer, 'text' | 'end' | 'stop' | 'outputTokens'> {
  const whole = question.json ? JSON.stringify(jsonAnswer(question, seed)) : textAnswer(question, seed);
  const stop = firstStop(whole, question.stops);
  const all = tokensOf(stop === undefined ? whole : whole.slice(0, whole.indexOf(stop)));
  if (all.length > left) {
    return { text: all.slice(0, left), end: 'length', stop: undefined, outputTokens: left };
  }
  return { text: all, end: stop === undefined ? 'done' : 'stop', stop, outputTokens: all.length };
}

function firstStop(text: string, stops: readonly string[]): string | undefined {
  const found = stops.filter((stop) => stop !== '' && text.includes(stop));
  return found.sort((one, other) => text.indexOf(one) - text.indexOf(other))[0];
}

const jsonAnswer = ({ json, messages }: Question, seed: string): unknown =>
  json?.schema === undefined ? { answer: prose(seed, 7), messages } : sampleOf(json.schema, seed);

function textAnswer(question: Question, seed: string): string {
  const asked = /\b(\d{1,6}) words\b/i.exec(question.prompt)?.[1];
  if (asked !== undefined) return prose(seed, Math.min(Number(asked), MOST_WORDS));
  if (/\bmarkdown\b/i.test(question.prompt)) return markdownSample;
  return [...whatWasSeen(question), prose(seed, CLOSING_WORDS)].join(' ');
}

function* whatWasSeen({ messages, images, toolResults, prompt }: Question): Generator<string> {
  yield `I read ${messages} ${messages === 1 ? 'message' : 'messages'}.`;
  if (images.length > 0) {
    const each = images.map((image, nth) => `image ${nth + 1} is ${image.words}`).join(', ');
    yield `I saw ${images.length} ${images.length === 1 ? 'image' : 'images'}: ${each}.`;
  }
  for (const { name, content } of toolResults) yield `The tool ${name} said: ${firstWords(content)}.`;
  if (prompt.trim() !== '') yield `You wrote: "${firstWords(prompt)}".`;
}

function firstWords(text: string): string {
  const words = text.trim().slice(0, 1000).split(/\s+/);
  return words.length > SHOWN_PROMPT_WORDS
    ? `${words.slice(0, SHOWN_PROMPT_WORDS).join(' ')} …`
    : words.join(' ');
}

/**
 * The tools that are called: the forced one; those that the prompt names; where some must be called and none is
 * named, the first. None once their results are there.
 */
function toolsToCall({ tools, toolChoice, toolResults, prompt }: Question): readonly ToolOffer[] {
  if (toolResults.length > 0 || toolChoice === 'none') return [];
  if (typeof toolChoice === 'object') return tools.filter((tool) => tool.name === toolChoice.name);
  const named = tools.filter((tool) => isNamed(tool.name, prompt));
  return toolChoice === 'any' && named.length === 0 ? tools.slice(0, 1) : named;
}

/** Whether a prompt names a tool: `get_weather`, or the same words with blanks. */
function isNamed(name: string, prompt: string): boolean {
  const pattern = name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/[_-]/g, '[_ -]');
  return new RegExp(`(?<![\\w-])${pattern}(?![\\w-])`, 'i').test(prompt);
}
