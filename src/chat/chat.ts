// The common form of a conversation on all three surfaces ("Chat completions", "Native messages", "Gemini-style
// generation"). Surfaces convert it to their own bodies, and their replies to it.

export const chatApis = ['completions', 'messages', 'geo'] as const;
export type ChatApi = (typeof chatApis)[number];

export type ChatPart =
  | { readonly type: 'text'; readonly text: string }
  /** `url` is https or a Base64 data URI. */
  | {
      readonly type: 'image';
      readonly url: string;
      /** The text that a printed request shows in its place. */
      readonly shown?: string;
    };

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** A JSON string, as the model wrote it. */
  readonly arguments: string;
}

/** One turn of a conversation; the system prompt is a setting, not a turn. */
export type ChatTurn =
  | { readonly role: 'user'; readonly parts: readonly ChatPart[] }
  | {
      readonly role: 'assistant';
      readonly text: string;
      readonly toolCalls?: readonly ToolCall[];
      /** The turn in the surface's own form, if the surface needs it back unchanged (signed thoughts). */
      readonly native?: { readonly api: ChatApi; readonly content: unknown };
    }
  | {
      readonly role: 'tool';
      readonly toolCallId: string;
      readonly name?: string | undefined;
      readonly content: string;
    };

/** A function that the model may call. */
export interface ChatTool {
  readonly name: string;
  readonly description?: string | undefined;
  /** JSON schema of the arguments. */
  readonly parameters?: Readonly<Record<string, unknown>> | undefined;
}

/** The settings of a request beside the conversation; an absent field is not sent. */
export interface ChatSettings {
  readonly temperature?: number | undefined;
  readonly topP?: number | undefined;
  readonly topK?: number | undefined;
  readonly stop?: readonly string[] | undefined;
  readonly maxTokens?: number | undefined;
  /** On completions, send the limit as `max_tokens`. */
  readonly compatMaxTokens?: boolean | undefined;
  readonly reasoningEffort?: string | undefined;
  /** A number is a budget in tokens. */
  readonly thinking?: 'adaptive' | 'off' | number | undefined;
  readonly thinkingLevel?: string | undefined;
  /** Request the model's thoughts, on surfaces where that is needed. */
  readonly showThoughts?: boolean | undefined;
  readonly tools?: readonly ChatTool[] | undefined;
  /** `auto`, `none`, `required`, or the name of a tool. */
  readonly toolChoice?: string | undefined;
  /** `json_object`, or a JSON schema that the answer follows. */
  readonly responseFormat?: 'json_object' | Readonly<Record<string, unknown>> | undefined;
  /** The number of answers (geo). */
  readonly candidates?: number | undefined;
  /** Thresholds of the model's own filter (geo). */
  readonly safety?: readonly { readonly category: string; readonly threshold: string }[] | undefined;
  /** Request usage figures, if streams send them only on request. */
  readonly usage?: boolean | undefined;
}

/** One question to a surface. */
export interface ChatRequest {
  readonly api: ChatApi;
  readonly model: string;
  readonly system?: string | undefined;
  readonly turns: readonly ChatTurn[];
  readonly settings?: ChatSettings | undefined;
  readonly stream: boolean;
  /** The final body, with `--body`, `--messages` and `--set` applied; it replaces a body made from the other fields. */
  readonly body?: Readonly<Record<string, unknown>> | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Longest silence between two events, in milliseconds. */
  readonly silenceMs?: number | undefined;
  /**
   * How much of a streamed answer is kept in memory: `whole` keeps `text`, `turn` and `reply` of the answer, `reply` only
   * that, and `calls` only tool calls, reason and usage, which allows a stream of any length.
   */
  readonly keep?: 'whole' | 'reply' | 'calls' | undefined;
  /** Also report each event of a stream unchanged. */
  readonly raw?: boolean | undefined;
}

/** The tokens that a reply used, if the surface says so. */
export interface ChatUsage {
  /** On native messages, without the tokens that were written to or read from the cache. */
  readonly inputTokens?: number | undefined;
  /** On completions and geo, the part of the input tokens that was cached, as in the public APIs of these names. */
  readonly cachedTokens?: number | undefined;
  readonly cacheWrittenTokens?: number | undefined;
  readonly cacheReadTokens?: number | undefined;
  readonly outputTokens?: number | undefined;
  readonly reasoningTokens?: number | undefined;
  readonly totalTokens?: number | undefined;
}

/** The parts of a reply in their order, streamed or not. */
export type ChatEvent =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'thinking'; readonly text: string }
  /** The data of an event exactly as it came (`--json --stream`). */
  | { readonly type: 'raw'; readonly data: string };

export type FurtherAnswer = Pick<ChatAnswer, 'text' | 'finishReason'>;

export interface ChatAnswer {
  /** Empty if it was not kept; `hasText` is true if there was any. */
  readonly text: string;
  readonly hasText: boolean;
  readonly toolCalls: readonly ToolCall[];
  /** Further answers to the same question, in order (`choices[1]`, a second candidate). */
  readonly further?: readonly FurtherAnswer[] | undefined;
  /** The surface's own word: `stop`, `end_turn`, `STOP`, `length`, … */
  readonly finishReason: string | undefined;
  readonly usage: ChatUsage;
  /** The answer as a turn, for the next request. */
  readonly turn: Extract<ChatTurn, { role: 'assistant' }>;
  /** The reply, or for a stream the equivalent whole reply; undefined if it was not kept. */
  readonly reply: unknown;
  /** The bytes of the reply in UTF-8, if it was not streamed. */
  readonly replyBytes?: Uint8Array | undefined;
}

/** The output limit if none is given, because the surface requires one. A thinking budget is added to it. */
export const DEFAULT_MAX_TOKENS = 4096;
