import { valueAt } from '../../gateway/body.ts';
import {
  geoModels,
  type ReasoningEffort,
  reasoningEfforts,
  type thinkingLevels,
} from '../../gateway/chat/models.ts';
import { type Fields, isObject, itemsOf } from '../../gateway/json-value.ts';
import { base64Bytes } from '../media-check.ts';
import { Refusal } from '../reply.ts';
import { refuseField } from '../request-body.ts';
import { type SeenImage, seeBytes, TILE_TOKENS } from '../seen-image.ts';
import { countTokens } from './answer.ts';

/** The token count of every message beside its text. */
const MESSAGE_TOKENS = 3;

/** Collects the content of a request while its messages are read in order. */
export class Input {
  readonly #images: Promise<SeenImage>[] = [];
  #messages = 0;
  #tokens = 0;
  /** The last user text that is not blank. */
  prompt = '';

  /** Counts a message; `isOne` is false for a system prompt that is outside the messages. */
  message(isOne = true): void {
    if (isOne) this.#messages++;
    this.#tokens += MESSAGE_TOKENS;
  }

  text(text: string): void {
    this.#tokens += countTokens(text);
  }

  /** The text of one user message, with all its parts. */
  userText(text: string): void {
    this.text(text);
    if (text.trim() !== '') this.prompt = text;
  }

  json(value: unknown): void {
    if (value !== undefined) this.text(JSON.stringify(value));
  }

  /** @param path the image's path in the body */
  image(url: string, path: readonly PropertyKey[]): void {
    const seen = seeImage(url, path);
    // The result is awaited in `seen()`; until then a rejection must not count as unhandled.
    seen.catch(() => {});
    this.#images.push(seen);
  }

  /** The collected content; throws Refusal (400) for the first invalid image. */
  async seen() {
    const images: SeenImage[] = [];
    for (const image of this.#images) images.push(await image);
    const imageTokens = images.reduce((sum, image) => sum + image.tokens, 0);
    return { messages: this.#messages, prompt: this.prompt, images, inputTokens: this.#tokens + imageTokens };
  }
}

/** A tool that the model may call. */
export interface ToolOffer {
  readonly name: string;
  /** The JSON schema of its arguments. */
  readonly parameters: unknown;
}

/** The result that the caller's program returned for a call. */
export interface ToolResult {
  readonly name: string;
  readonly content: string;
}

/** The content of a chat request, common to the three endpoints. */
export interface Question {
  readonly model: string;
  /** The number of messages in the conversation. */
  readonly messages: number;
  /** The text of the last turn. */
  readonly prompt: string;
  readonly images: readonly SeenImage[];
  readonly tools: readonly ToolOffer[];
  /** `any`: some tool must be called; a name: that tool. */
  readonly toolChoice: 'auto' | 'none' | 'any' | { readonly name: string };
  /** The results in the last turn; empty if it is a question. */
  readonly toolResults: readonly ToolResult[];
  /** Set if JSON is requested, with its schema if given. */
  readonly json: { readonly schema: unknown } | undefined;
  /** The output limit, including reasoning. */
  readonly maxTokens: number | undefined;
  readonly stops: readonly string[];
  readonly reasoning: Reasoning;
  readonly inputTokens: number;
}

/** The amount of reasoning before the answer, and whether the caller gets to see it. */
export interface Reasoning {
  readonly tokens: number;
  readonly shown: boolean;
}

/** As {@link seeBytes} for a Base64 data URI; any other URL is not downloaded. */
const seeImage = async (url: string, path: readonly PropertyKey[]): Promise<SeenImage> =>
  /^data:/i.test(url)
    ? seeBytes(base64Bytes(url) ?? new Uint8Array(), path)
    : { words: 'an address, not fetched', tokens: TILE_TOKENS };

/** The value at a path of a JSON value of unknown form; undefined if the path does not exist. */
export const field = (value: unknown, ...path: readonly PropertyKey[]): unknown => valueAt(value, path);

export const textField = (value: unknown, ...path: readonly (string | number)[]): string | undefined => {
  const found = field(value, ...path);
  return typeof found === 'string' ? found : undefined;
};

export const listField = (value: unknown, ...path: readonly string[]): readonly unknown[] =>
  itemsOf(field(value, ...path));

/** Checks a tool choice against the offered tools. Throws Refusal (400) naming the field. */
export function checkedChoice(
  choice: Question['toolChoice'] | undefined,
  tools: readonly ToolOffer[],
  path: readonly string[],
): Question['toolChoice'] {
  const refuse = (why: string) => refuseField(path, why);
  if (choice === undefined) throw refuse('not a choice that this endpoint knows');
  if (choice === 'any' && tools.length === 0) throw refuse('there is no tool to call');
  if (typeof choice === 'object' && !tools.some((tool) => tool.name === choice.name)) {
    throw refuse(`there is no tool ${choice.name}`);
  }
  return choice;
}

/** The tool that a result answers; throws Refusal (400) for a result without a call. */
export function nameOfCall(
  names: ReadonlyMap<string, string>,
  id: string,
  path: readonly PropertyKey[],
): string {
  const name = names.get(id);
  if (name !== undefined) return name;
  throw refuseField(path, `no earlier message has a call ${id}`);
}

/** Thought tokens for an effort or a thinking level; far fewer than the service's, because answers are short too. */
const tokensOfEffort: Readonly<Record<ReasoningEffort | (typeof thinkingLevels)[number], number>> = {
  none: 0,
  minimal: 4,
  low: 16,
  medium: 32,
  high: 64,
};

/** The thought tokens of a thinking model without any setting. */
export const UNASKED_REASONING_TOKENS = tokensOfEffort.medium;

/** The budget tokens per thought token. */
const BUDGET_PER_TOKEN = 32;

/** The thought tokens of a model that ignores a budget of 0. */
export const UNRELIABLE_REASONING_TOKENS = 8;

/** Thought tokens for a word such as `low` or `HIGH`; undefined for another word. */
export function tokensForEffort(word: string | undefined): number | undefined {
  const effort = reasoningEfforts.find((one) => one === word?.toLowerCase());
  return effort && tokensOfEffort[effort];
}

/** Thought tokens for a budget in tokens: proportional, and within the budget. */
export const tokensForBudget = (budget: number): number =>
  Math.min(budget, Math.max(1, Math.round(budget / BUDGET_PER_TOKEN)), tokensOfEffort.high);

// Public clients of the three formats spell some fields differently from the document. These functions rewrite them; a
// strict sandbox accepts only the document's spelling.

const mapList = (value: unknown, each: (item: unknown) => unknown): unknown =>
  Array.isArray(value) ? value.map(each) : value;
const change = (of: Fields, name: string, rewrite: (value: unknown) => unknown): Fields =>
  Object.hasOwn(of, name) ? { ...of, [name]: rewrite(of[name]) } : of;

/**
 * Chat completions: `developer` is the newer name of the role `system`, and `any` is a tool choice of other formats.
 * The document does not list the tool choices.
 */
export function respellCompletions(body: unknown, told: Set<string>): unknown {
  if (!isObject(body)) return body;
  const as = (ours: unknown, said: string) => {
    told.add(said);
    return ours;
  };
  const respellPart = (part: unknown) => {
    const url = textField(part, 'image_url');
    return url === undefined
      ? part
      : as({ ...(part as Fields), image_url: { url } }, 'a text as image_url.url');
  };
  const respellRole = (role: unknown) => (role === 'developer' ? as('system', 'developer as system') : role);
  const respellMessage = (message: unknown) =>
    isObject(message)
      ? change(change(message, 'role', respellRole), 'content', (content) => mapList(content, respellPart))
      : message;
  const respellChoice = (choice: unknown) => {
    if (choice === 'any') return as('required', 'any as required');
    const isKnown = /^(auto|none|required)$/.test(String(choice)) || field(choice, 'function') !== undefined;
    return isKnown ? choice : as('auto', 'another tool_choice as auto');
  };
  const read = change(body, 'messages', (messages) => mapList(messages, respellMessage));
  return change(read, 'tool_choice', respellChoice);
}

/** Native messages: thinking that is `disabled` is removed. */
export function respellMessages(body: unknown, told: Set<string>): unknown {
  if (!isObject(body)) return body;
  const { thinking: _, ...rest } = body;
  const isDisabled = field(body, 'thinking', 'type') === 'disabled';
  if (isDisabled) told.add('disabled thinking as none');
  return change(isDisabled ? rest : body, 'tool_choice', (choice) => {
    if (!isObject(choice) || /^(auto|any|none|tool)$/.test(String(choice.type))) return choice;
    told.add('another tool_choice as auto');
    return { type: 'auto' };
  });
}

const camelCase = (name: string) => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
/** Fields with values of the caller's own, whose inner names must not be rewritten. */
const opaque = new Set(['args', 'response', 'parameters', 'parametersJsonSchema', 'responseSchema']);

/** Gemini-style generation: names with underscores are accepted, and a JSON schema replaces the other kind. */
export function respellGeo(body: unknown, told: Set<string>): unknown {
  if (Array.isArray(body)) return body.map((item) => respellGeo(item, told));
  if (!isObject(body)) return body;
  const spelled = Object.entries(body).map(([written, value]) => {
    // The document explicitly refuses this name.
    const camel = written === 'max_tokens' ? written : camelCase(written);
    const name = camel === 'responseJsonSchema' ? 'responseSchema' : camel;
    if (name !== written) told.add(`${written} as ${name}`);
    return [name, opaque.has(name) ? value : respellGeo(value, told)] as const;
  });
  return change(Object.fromEntries(spelled), 'role', (role) => {
    if (role !== 'function' && role !== 'tool') return role;
    told.add(`${role} as user`);
    return 'user';
  });
}

/** The endpoint types by which a model can be called, and its owner. */
interface ChatModel {
  readonly ownedBy: string;
  readonly endpointTypes: readonly ('openai' | 'anthropic')[];
  /** True if the Gemini-style endpoints accept it; the document has no endpoint type for them. */
  readonly native: boolean;
}

/** A model of the sandbox's own, because the document names no model for native messages. */
export const SANDBOX_CHAT_MODEL = 'sandbox-chat-1';

const geo: ChatModel = { ownedBy: 'geo', endpointTypes: ['openai'], native: true };

export const chatModels: Readonly<Record<string, ChatModel>> = {
  ...Object.fromEntries(Object.keys(geoModels).map((id) => [id, geo])),
  [SANDBOX_CHAT_MODEL]: { ownedBy: 'sandbox', endpointTypes: ['openai', 'anthropic'], native: false },
};

/** The model of a request; throws Refusal (400) with the valid IDs if this endpoint does not serve it. */
export function chatModel(id: string, fits: (model: ChatModel) => boolean): ChatModel {
  const model = Object.hasOwn(chatModels, id) ? chatModels[id] : undefined;
  if (model && fits(model)) return model;
  const others = Object.entries(chatModels).filter(([, other]) => fits(other));
  const list = others.map(([other]) => other).join(', ');
  throw new Refusal(
    400,
    `Invalid parameter model: ${id} is not a model of this endpoint; ${list} ${others.length === 1 ? 'is' : 'are'}.`,
    'ModelNotFound',
  );
}
