// What a conversation is, whichever of the three surfaces carries it ("Chat completions", "Native messages",
// "Gemini-style generation"). Surfaces turn these into their own bodies and their replies into these.

export type ChatApi = 'completions' | 'messages' | 'geo';

export type ChatPart =
  | { readonly type: 'text'; readonly text: string }
  /** `url` is https or a Base64 data URI. */
  | { readonly type: 'image'; readonly url: string };

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** A JSON string, as the model wrote it. */
  readonly arguments: string;
}

/** One turn of a conversation; the system prompt is no turn but a setting. */
export type ChatTurn =
  | { readonly role: 'user'; readonly parts: readonly ChatPart[] }
  | { readonly role: 'assistant'; readonly text: string; readonly toolCalls?: readonly ToolCall[] }
  | { readonly role: 'tool'; readonly toolCallId: string; readonly name?: string | undefined; readonly content: string };

/** What a reply used, where the surface says so. */
export interface ChatUsage {
  readonly inputTokens?: number | undefined;
  readonly outputTokens?: number | undefined;
  readonly reasoningTokens?: number | undefined;
  readonly totalTokens?: number | undefined;
}

/** What comes of a reply, streamed or not, in the order it comes. */
export type ChatEvent =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'thinking'; readonly text: string }
  /** The event exactly as it came (`--json --stream`). */
  | { readonly type: 'raw'; readonly data: string };

/** A finished answer. */
export interface ChatAnswer {
  readonly text: string;
  readonly toolCalls: readonly ToolCall[];
  /** The surface's own word: `stop`, `end_turn`, `STOP`, `length`, … */
  readonly finishReason: string | undefined;
  readonly usage: ChatUsage;
  /** The reply as it came, or as it would have come unstreamed. */
  readonly reply: unknown;
}
