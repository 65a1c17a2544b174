// What a conversation is, whichever of the three surfaces carries it ("Chat completions", "Native messages",
// "Gemini-style generation"). Surfaces turn these into their own bodies and their replies into these.

export const chatApis = ['completions', 'messages', 'geo'] as const;
export type ChatApi = (typeof chatApis)[number];

export type ChatPart =
  | { readonly type: 'text'; readonly text: string }
  /** `url` is https or a Base64 data URI. */
  | {
      readonly type: 'image';
      readonly url: string;
      /** What a request that is only shown says in its place. */
      readonly shown?: string;
    };

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** A JSON string, as the model wrote it. */
  readonly arguments: string;
}

/** One turn of a conversation; the system prompt is no turn but a setting. */
export type ChatTurn =
  | { readonly role: 'user'; readonly parts: readonly ChatPart[] }
  | {
      readonly role: 'assistant';
      readonly text: string;
      readonly toolCalls?: readonly ToolCall[];
      /** The turn in a surface's own form, where that surface wants it back as it came (signed thoughts). */
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

/** What was asked for beside the conversation; a field that is absent is not sent. */
export interface ChatSettings {
  readonly temperature?: number | undefined;
  readonly topP?: number | undefined;
  readonly topK?: number | undefined;
  readonly stop?: readonly string[] | undefined;
  readonly maxTokens?: number | undefined;
  /** Spell the limit `max_tokens` on completions. */
  readonly compatMaxTokens?: boolean | undefined;
  readonly reasoningEffort?: string | undefined;
  /** A number is a budget in tokens. */
  readonly thinking?: 'adaptive' | 'off' | number | undefined;
  readonly thinkingLevel?: string | undefined;
  /** Ask for the model's thoughts where they have to be asked for. */
  readonly showThoughts?: boolean | undefined;
  readonly tools?: readonly ChatTool[] | undefined;
  /** `auto`, `none`, `required`, or the name of a tool. */
  readonly toolChoice?: string | undefined;
  /** `json_object`, or a JSON schema that the answer follows. */
  readonly responseFormat?: 'json_object' | Readonly<Record<string, unknown>> | undefined;
  /** How many answers are asked for (geo). */
  readonly candidates?: number | undefined;
  /** What the model's own filter lets pass (geo). */
  readonly safety?: readonly { readonly category: string; readonly threshold: string }[] | undefined;
  /** Ask for the figures where a stream has to be asked for them. */
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
  /** The body in place of the one made of all this: `--body`, `--messages` and `--set` have been laid over it. */
  readonly body?: Readonly<Record<string, unknown>> | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Longest silence between two events, in milliseconds. */
  readonly silenceMs?: number | undefined;
  /**
   * How much of a streamed answer is kept in memory: `whole` for `text`, `turn` and `reply` of the answer, `reply` for
   * that alone, `calls` (tool calls, reason and usage only) for a stream of any length.
   */
  readonly keep?: 'whole' | 'reply' | 'calls' | undefined;
  /** Give each event of a stream as it came, beside what it says. */
  readonly raw?: boolean | undefined;
}

/** What a reply used, where the surface says so. */
export interface ChatUsage {
  /** Of native messages: those that were neither written to the cache nor read from it. */
  readonly inputTokens?: number | undefined;
  /** Of completions and geo: those of the input that were in the cache, as the public APIs of these names tell it. */
  readonly cachedTokens?: number | undefined;
  readonly cacheWrittenTokens?: number | undefined;
  readonly cacheReadTokens?: number | undefined;
  readonly outputTokens?: number | undefined;
  readonly reasoningTokens?: number | undefined;
  readonly totalTokens?: number | undefined;
}

/** What comes of a reply, streamed or not, in the order it comes. */
export type ChatEvent =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'thinking'; readonly text: string }
  /** The data of an event exactly as it came (`--json --stream`). */
  | { readonly type: 'raw'; readonly data: string };

export interface ChatAnswer {
  /** Empty where it was not kept; `hasText` tells whether there was any. */
  readonly text: string;
  readonly hasText: boolean;
  readonly toolCalls: readonly ToolCall[];
  /** The texts of further answers to the same question, in their order (`choices[1]`, a second candidate). */
  readonly furtherTexts?: readonly string[] | undefined;
  /** The surface's own word: `stop`, `end_turn`, `STOP`, `length`, … */
  readonly finishReason: string | undefined;
  readonly usage: ChatUsage;
  /** The answer as a turn, for the next request. */
  readonly turn: Extract<ChatTurn, { role: 'assistant' }>;
  /** The reply as it came, or as it would have come unstreamed; undefined where it was not kept. */
  readonly reply: unknown;
  /** The reply itself, in UTF-8, where it came whole. */
  readonly replyBytes?: Uint8Array | undefined;
}

/** The output limit that is sent where none was given: the surface requires one. A thinking budget is added to it. */
export const DEFAULT_MAX_TOKENS = 4096;
