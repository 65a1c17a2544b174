import type { ChatUsage, ToolCall } from './chat.ts';

/** What an event of a stream, or a whole reply, says at once. */
export interface Heard {
  hear(kind: 'text' | 'thinking', words: string): void;
  /** Tells of what is kept even of an answer that is not kept whole: about so many bytes of tool calls. */
  keep(bytes: number): void;
}

/** What a tool call costs to keep beside its arguments: few enough calls that all can be gone through. */
export const CALL_BYTES = 4096;

/** An error that a stream told of in mid-stream, in the surface's own shape. */
export class StreamedError extends Error {
  override readonly name = 'StreamedError';
  constructor(
    /** The body of the error, as it would stand in an error reply. */
    readonly body: unknown,
  ) {
    super('the stream told of an error');
  }
}

/** Reads one reply of one surface and remembers what the verdict needs. */
export interface ReplyReader {
  /** Takes the data of one event. Throws StreamedError for an error event, SyntaxError for bad JSON. */
  event(data: string, heard: Heard): void;
  /** Takes a whole reply instead. */
  whole(reply: unknown, heard: Heard): void;
  /** Whether the surface has said that the answer is complete. */
  isFinished(): boolean;
  readonly toolCalls: readonly ToolCall[];
  readonly finishReason: string | undefined;
  readonly usage: ChatUsage;
  /** The reply as it would have come unstreamed; only where all is kept. */
  reply(): unknown;
  /** What the surface wants back in the next request; only where all is kept, and where plain text would not do. */
  native(): unknown;
}
