import { isBareError } from '../../gateway/gateway-error.ts';
import { type Fields, fieldsOf, itemsOf, numberOf, textOf } from '../../gateway/json-value.ts';
import type { ChatUsage, ToolCall } from '../chat.ts';
import { grown, LongText } from '../long-text.ts';
import {
  argumentsText,
  CALL_BYTES,
  FurtherAnswers,
  type Heard,
  type ReplyReader,
  StreamedError,
} from '../surface.ts';

/** Joins the fragments of tool calls. Fragments of one call share an index, or follow the fragment with the ID. */
class Calls {
  readonly #calls: (Fields | undefined)[] = [];

  /** With `heard`, which counts the kept bytes, only the ID, name and arguments of a call are kept. */
  add(fragments: readonly unknown[], heard?: Heard): void {
    for (const [position, fragment] of fragments.entries()) {
      const { index, function: called, ...rest } = fieldsOf(fragment);
      const { name, arguments: text, ...others } = fieldsOf(called);
      const { length } = this.#calls;
      const isNew = textOf(rest.id) !== '' && !this.#calls.some((call) => call?.id === rest.id);
      const at = numberOf(index) ?? (isNew ? length : Math.max(length - 1, position));
      if (!Number.isInteger(at) || at < 0 || at > length + 1000) continue;
      if (!this.#calls[at]) heard?.keep(CALL_BYTES);
      const call = this.#calls[at] ?? {};
      const inner = fieldsOf(call.function);
      // Some services repeat the whole name in every fragment.
      const more = name === inner.name ? '' : textOf(name);
      const piece = text === undefined || text === null ? '' : argumentsText(text);
      heard?.keep(piece.length + more.length);
      this.#calls[at] = {
        ...call,
        ...(heard ? {} : rest),
        // The first fragment has the ID; later ones may have an empty one.
        id: call.id || rest.id,
        function: {
          ...inner,
          ...(heard ? {} : others),
          name: `${inner.name ?? ''}${more}`,
          arguments: `${inner.arguments ?? ''}${piece}`,
        },
      };
    }
  }

  all(): Fields[] {
    return this.#calls.filter((call) => call !== undefined);
  }
}

/**
 * Reads a chat completion. The document does not show the chunks of a stream, so they are read leniently as the public
 * `chat.completion.chunk`.
 */
export class CompletionsReader implements ReplyReader {
  finishReason: string | undefined;
  usage: ChatUsage = {};
  readonly further = new FurtherAnswers();
  readonly #calls = new Calls();
  readonly #rebuilder: CompletionRebuilder | undefined;

  constructor(keepWhole: boolean) {
    this.#rebuilder = keepWhole ? new CompletionRebuilder() : undefined;
  }

  event(value: unknown, heard: Heard): void {
    const { choices, usage, error } = fieldsOf(value);
    if (error || (choices === undefined && isBareError(value))) throw new StreamedError(value);
    if (choices || usage) this.#rebuilder?.add(fieldsOf(value));
    if (usage) this.#count(usage);
    for (const [place, choice] of itemsOf(choices).entries())
      this.#hear(choice, numberOf(fieldsOf(choice).index) ?? place, heard);
  }

  whole(reply: unknown, heard: Heard): void {
    this.event(reply, heard);
  }

  isFinished(): boolean {
    return this.finishReason !== undefined;
  }

  get toolCalls(): readonly ToolCall[] {
    return this.#calls.all().map(({ id, function: called }) => {
      const { name, arguments: text } = fieldsOf(called);
      return { id: textOf(id), name: textOf(name), arguments: textOf(text) };
    });
  }

  reply(): unknown {
    return this.#rebuilder?.reply();
  }

  /** Reports the first answer as it arrives; the others are reported after it. */
  #hear(choice: unknown, index: number, heard: Heard): void {
    const { delta, message, finish_reason: reason } = fieldsOf(choice);
    const { content, refusal, tool_calls, reasoning_content, reasoning } = fieldsOf(delta ?? message);
    const parts = itemsOf(content).map((part) => fieldsOf(part).text);
    const words = [content, ...parts, refusal].map(textOf).join('');
    if (index > 0) {
      this.further.add(index, words, reason, heard);
      return;
    }
    this.finishReason = textOf(reason) || this.finishReason;
    heard.hear('thinking', textOf(reasoning_content ?? reasoning));
    heard.hear('text', words);
    this.#calls.add(itemsOf(tool_calls), heard);
  }

  #count(usage: unknown): void {
    const { prompt_tokens_details: input, completion_tokens_details: output, ...all } = fieldsOf(usage);
    this.usage = {
      inputTokens: numberOf(all.prompt_tokens),
      cachedTokens: numberOf(fieldsOf(input).cached_tokens),
      outputTokens: numberOf(all.completion_tokens),
      reasoningTokens: numberOf(fieldsOf(output).reasoning_tokens),
      totalTokens: numberOf(all.total_tokens),
    };
  }
}

interface Choice {
  readonly index: number;
  readonly message: Record<string, unknown>;
  readonly rest: Record<string, unknown>;
  readonly calls: Calls;
}

/** Joins the chunks of a stream into the equivalent whole reply. */
export class CompletionRebuilder {
  #top: Record<string, unknown> = {};
  readonly #choices = new Map<number, Choice>();

  add({ choices, object: _, ...top }: Fields): void {
    for (const [name, value] of Object.entries(top)) if (value !== null) this.#top[name] = value;
    for (const [place, each] of itemsOf(choices).entries()) this.#addChoice(fieldsOf(each), place);
  }

  reply(): unknown {
    const { id, created, model, usage, ...others } = this.#top;
    const choices = [...this.#choices.values()]
      .sort((a, b) => a.index - b.index)
      .map(({ index, message, rest }) => ({ index, message, finish_reason: null, ...rest }));
    return { id, object: 'chat.completion', created, model, choices, usage, ...others };
  }

  #addChoice({ index: at, delta, message, ...rest }: Readonly<Record<string, unknown>>, place: number): void {
    const index = numberOf(at) ?? place;
    const choice = this.#choices.get(index) ?? {
      index,
      message: { role: 'assistant', content: null },
      rest: {},
      calls: new Calls(),
    };
    this.#choices.set(index, choice);
    for (const [name, value] of Object.entries(rest)) if (value !== null) choice.rest[name] = value;
    for (const [name, value] of Object.entries(fieldsOf(delta ?? message))) {
      if (name === 'tool_calls') choice.calls.add(itemsOf(value));
      choice.message[name] =
        name === 'tool_calls' ? choice.calls.all() : merged(choice.message[name], value, name);
    }
  }
}

/** Texts are appended; other values are replaced, but never by null. */
function merged(before: unknown, value: unknown, name: string): unknown {
  if (value === null) return before ?? null;
  if (typeof value !== 'string' || name === 'role') return value;
  return typeof before === 'string' || before instanceof LongText ? grown(before, value) : value;
}
