import { isBareError } from '../../gateway/chat/error.ts';
import { parseJson } from '../../http/parse-json.ts';
import type { ChatUsage, ToolCall } from '../chat.ts';
import { argumentsText, fieldsOf, itemsOf, numberOf, textOf } from '../json-value.ts';
import { CALL_BYTES, type Heard, type ReplyReader, StreamedError } from '../reply-reader.ts';
import { type CompletionChunk, CompletionRebuilder } from './rebuild.ts';

interface Delta {
  readonly content?: unknown;
  readonly reasoning_content?: unknown;
  readonly reasoning?: unknown;
  readonly refusal?: unknown;
  readonly tool_calls?: unknown;
}

interface CallParts {
  id: string;
  name: string;
  arguments: string;
}

/**
 * Reads a chat completion. The document does not show the chunks of a stream; they are taken as the public
 * `chat.completion.chunk`, leniently.
 */
export class CompletionsReader implements ReplyReader {
  finishReason: string | undefined;
  usage: ChatUsage = {};
  readonly #calls: CallParts[] = [];
  readonly #rebuilder: CompletionRebuilder | undefined;

  constructor(keepWhole: boolean) {
    this.#rebuilder = keepWhole ? new CompletionRebuilder() : undefined;
  }

  event(data: string, heard: Heard): void {
    const chunk = parseJson(data) as CompletionChunk | null;
    if (typeof chunk !== 'object' || chunk === null) return;
    if (chunk.error !== undefined && chunk.error !== null) throw new StreamedError(chunk);
    if (chunk.choices === undefined && isBareError(chunk)) throw new StreamedError(chunk);
    this.#rebuilder?.add(chunk);
    if (chunk.usage) this.#count(chunk.usage);
    if (!Array.isArray(chunk.choices)) return;
    for (const choice of chunk.choices) {
      // Only the first of several answers is shown; the reply holds them all.
      if (choice?.index === undefined || choice.index === 0) this.#hear(choice, heard);
    }
  }

  whole(reply: unknown, heard: Heard): void {
    const { choices, usage, error } = fieldsOf(reply);
    if (error) throw new StreamedError(reply);
    if (usage) this.#count(usage);
    this.#hear(itemsOf(choices)[0], heard);
  }

  isFinished(): boolean {
    return this.finishReason !== undefined;
  }

  get toolCalls(): readonly ToolCall[] {
    return this.#calls.filter((call) => call !== undefined);
  }

  reply(): unknown {
    return this.#rebuilder?.reply();
  }

  native(): undefined {}

  #hear(choice: unknown, heard: Heard): void {
    const { delta, message, finish_reason: reason } = fieldsOf(choice);
    if (typeof reason === 'string' && reason !== '') this.finishReason = reason;
    const said = (delta ?? message) as Delta | null | undefined;
    if (typeof said !== 'object' || said === null) return;
    const thought = said.reasoning_content ?? said.reasoning;
    if (typeof thought === 'string') heard.hear('thinking', thought);
    if (typeof said.content === 'string') heard.hear('text', said.content);
    else if (said.content)
      for (const part of itemsOf(said.content)) heard.hear('text', textOf(fieldsOf(part).text));
    if (typeof said.refusal === 'string') heard.hear('text', said.refusal);
    if (said.tool_calls) this.#addCalls(itemsOf(said.tool_calls), heard);
  }

  /** Joins fragments: those of one call share an index, or follow the one that brought the ID. */
  #addCalls(fragments: readonly unknown[], heard: Heard): void {
    for (const [position, fragment] of fragments.entries()) {
      const { index, id, function: called } = fieldsOf(fragment);
      const { name, arguments: text } = fieldsOf(called);
      const isNew = typeof id === 'string' && id !== '' && !this.#calls.some((call) => call?.id === id);
      const at = numberOf(index) ?? (isNew ? this.#calls.length : Math.max(this.#calls.length - 1, position));
      if (!Number.isInteger(at) || at < 0 || at > this.#calls.length + 1000) continue;
      if (!this.#calls[at]) heard.keep(CALL_BYTES);
      this.#calls[at] ??= { id: '', name: '', arguments: '' };
      const call = this.#calls[at];
      call.id ||= textOf(id);
      // Some services send the whole name with every fragment.
      if (name !== call.name) call.name += textOf(name);
      const piece = text === undefined || text === null ? '' : argumentsText(text);
      call.arguments += piece;
      heard.keep(piece.length + textOf(name).length);
    }
  }

  #count(usage: unknown): void {
    const { prompt_tokens, completion_tokens, total_tokens, completion_tokens_details } = fieldsOf(usage);
    this.usage = {
      inputTokens: numberOf(prompt_tokens),
      outputTokens: numberOf(completion_tokens),
      reasoningTokens: numberOf(fieldsOf(completion_tokens_details).reasoning_tokens),
      totalTokens: numberOf(total_tokens),
    };
  }
}
