import type { SeenImage } from './images.ts';

/** A tool that the model may call. */
export interface ToolOffer {
  readonly name: string;
  /** The JSON schema of its arguments. */
  readonly parameters: unknown;
}

/** What the caller's program answered to a call. */
export interface ToolResult {
  readonly name: string;
  readonly content: string;
}

/** What a chat request asks, whichever of the three endpoints it came to. */
export interface Question {
  readonly model: string;
  /** How many messages the conversation has. */
  readonly messages: number;
  /** The text of the last turn. */
  readonly prompt: string;
  readonly images: readonly SeenImage[];
  readonly tools: readonly ToolOffer[];
  /** `any`: some tool must be called; a name: that one. */
  readonly toolChoice: 'auto' | 'none' | 'any' | { readonly name: string };
  /** The results that the last turn brings; none where it is a question. */
  readonly toolResults: readonly ToolResult[];
  /** JSON is asked for, of this schema where there is one. */
  readonly json: { readonly schema: unknown } | undefined;
  /** The output limit, reasoning included. */
  readonly maxTokens: number | undefined;
  readonly stops: readonly string[];
  readonly reasoning: Reasoning;
  readonly inputTokens: number;
}

/** How long the model thinks before it answers, and whether the caller gets to read it. */
export interface Reasoning {
  readonly tokens: number;
  readonly shown: boolean;
}
