import { isBareError } from '../../gateway/gateway-error.ts';
import { type Fields, fieldsOf, itemsOf, numberOf, textOf } from '../../gateway/json-value.ts';
import type { ChatUsage, ToolCall } from '../chat.ts';
import {
  argumentsText,
  CALL_BYTES,
  type Heard,
  type ReplyReader,
  StreamedError,
  spelledArguments,
} from '../surface.ts';

type Block = Record<string, unknown>;

/**
 * Reads native messages, whole or as events: message_start, then content_block_start, _delta and _stop for each block,
 * message_delta, message_stop, with ping or error in between.
 */
export class MessagesReader implements ReplyReader {
  finishReason: string | undefined;
  #usage: Record<string, unknown> = {};
  #message: Record<string, unknown> = {};
  #isOver = false;
  readonly #blocks = new Map<number, Block>();
  /** The streamed arguments of a call by block. */
  readonly #inputs = new Map<number, string>();

  constructor(private readonly keepWhole: boolean) {}

  event(value: unknown, heard: Heard): void {
    const event = fieldsOf(value);
    const { type, delta, usage } = event;
    switch (type) {
      case 'content_block_delta': {
        const { type: kind, text } = fieldsOf(delta);
        if (kind === 'text_delta') heard.hear('text', textOf(text));
        if (this.keepWhole || kind !== 'text_delta') this.#grow(event, heard);
        break;
      }
      case 'content_block_start':
        this.#open(event, heard);
        break;
      case 'message_start': {
        const { usage, ...message } = fieldsOf(event.message);
        this.#message = message;
        this.#count(usage);
        break;
      }
      case 'message_delta':
        this.#message = { ...this.#message, ...fieldsOf(delta) };
        this.finishReason = textOf(fieldsOf(delta).stop_reason) || this.finishReason;
        this.#count(usage);
        break;
      case 'message_stop':
        this.#isOver = true;
        break;
      case 'error':
        throw new StreamedError(event);
      default:
        if (event.error || isBareError(event)) throw new StreamedError(event);
    }
  }

  whole(reply: unknown, heard: Heard): void {
    const { content, stop_reason, usage, error } = fieldsOf(reply);
    if (error) throw new StreamedError(reply);
    for (const [index, block] of itemsOf(content).entries())
      this.#open({ index, content_block: block }, heard);
    this.finishReason = textOf(stop_reason) || undefined;
    this.#count(usage);
  }

  isFinished(): boolean {
    return this.#isOver || this.finishReason !== undefined;
  }

  get toolCalls(): readonly ToolCall[] {
    const calls = [...this.#blocks].filter(([, { type }]) => type === 'tool_use');
    return calls.map(([index, { id, name, input }]) => {
      const text = this.#inputs.get(index) || argumentsText(input);
      return { id: textOf(id), name: textOf(name), arguments: text };
    });
  }

  get usage(): ChatUsage {
    const inputTokens = numberOf(this.#usage.input_tokens);
    const outputTokens = numberOf(this.#usage.output_tokens);
    const cacheWrittenTokens = numberOf(this.#usage.cache_creation_input_tokens);
    const cacheReadTokens = numberOf(this.#usage.cache_read_input_tokens);
    return {
      inputTokens,
      cacheWrittenTokens,
      cacheReadTokens,
      outputTokens,
      reasoningTokens: numberOf(fieldsOf(this.#usage.output_tokens_details).thinking_tokens),
      totalTokens:
        inputTokens === undefined || outputTokens === undefined
          ? undefined
          : inputTokens + (cacheWrittenTokens ?? 0) + (cacheReadTokens ?? 0) + outputTokens,
    };
  }

  reply(): unknown {
    if (!this.keepWhole) return undefined;
    const { content: _, ...message } = this.#message;
    return { ...message, content: this.#content(), usage: this.#usage };
  }

  /** Thoughts carry a signature and must be sent back with the calls that followed. */
  native(): unknown {
    const isPlain = [...this.#blocks.values()].every(({ type }) => type === 'text' || type === 'tool_use');
    return this.keepWhole && !isPlain ? { api: 'messages', content: this.#content() } : undefined;
  }

  #content(): Block[] {
    return [...this.#blocks]
      .sort(([a], [b]) => a - b)
      .map(([index, block]) => {
        const input = this.#inputs.get(index);
        return input ? { ...block, input: spelledArguments(input) } : block;
      });
  }

  #open({ index, content_block: came }: Fields, heard: Heard): void {
    const at = numberOf(index) ?? this.#blocks.size;
    const block = { ...fieldsOf(came) };
    if (block.type === 'text') heard.hear('text', textOf(block.text));
    if (block.type === 'thinking') heard.hear('thinking', textOf(block.thinking));
    if (this.keepWhole || block.type === 'tool_use') this.#blocks.set(at, block);
    if (block.type === 'tool_use') heard.keep(CALL_BYTES + argumentsText(block.input).length);
  }

  /** Appends a delta to its field: `text`, `thinking`, `signature`; a call's arguments come as pieces of JSON. */
  #grow({ index, delta }: Fields, heard: Heard): void {
    const at = numberOf(index) ?? this.#blocks.size - 1;
    const block = this.#blocks.get(at);
    for (const [name, value] of Object.entries(fieldsOf(delta))) {
      if (name === 'type' || typeof value !== 'string') continue;
      if (name === 'thinking') heard.hear('thinking', value);
      if (name === 'partial_json') {
        this.#inputs.set(at, (this.#inputs.get(at) ?? '') + value);
        heard.keep(value.length);
      } else if (block && this.keepWhole) block[name] = textOf(block[name]) + value;
    }
  }

  #count(usage: unknown): void {
    for (const [name, value] of Object.entries(fieldsOf(usage)))
      if (value !== null || this.#usage[name] === undefined) this.#usage[name] = value;
  }
}
