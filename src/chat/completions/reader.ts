import { isBareError } from '../../gateway/gateway-error.ts';
import { type Fields, fieldsOf, itemsOf, numberOf, textOf } from '../../gateway/json-value.ts';
import type { ChatUsage, ToolCall } from '../chat.ts';
import { grown, LongText } from '../long-text.ts';
import {
  argumentsText,
  CALL_BYTES,
  FurtherTexts,
  type Heard,
  type ReplyReader,
  StreamedError,
} from '../surface.ts';

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
  readonly further = new FurtherTexts();
  readonly #calls: CallParts[] = [];
  readonly #rebuilder: CompletionRebuilder | undefined;

  constructor(keepWhole: boolean) {
    this.#rebuilder = keepWhole ? new CompletionRebuilder() : undefined;
  }

  event(value: unknown, heard: Heard): void {
    const { choices, usage, error } = fieldsOf(value);
    if (error || (choices === undefined && isBareError(value))) throw new StreamedError(value);
    this.#rebuilder?.add(fieldsOf(value));
    if (usage) this.#count(usage);
    for (const [place, choice] of itemsOf(choices).entries())
      this.#hearOne(choice, numberOf(fieldsOf(choice).index) ?? place, heard);
  }

  whole(reply: unknown, heard: Heard): void {
    this.event(reply, heard);
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

  /** The first answer is told as it comes; the others follow it. */
  #hearOne(choice: unknown, index: number, heard: Heard): void {
    if (index === 0) {
      this.#hear(choice, heard);
      return;
    }
    const { delta, message } = fieldsOf(choice);
    const { content } = fieldsOf(delta ?? message);
    if (typeof content === 'string') this.further.add(index, content, heard);
  }

  #hear(choice: unknown, heard: Heard): void {
    const { delta, message, finish_reason: reason } = fieldsOf(choice);
    if (typeof reason === 'string' && reason !== '') this.finishReason = reason;
    const { content, refusal, tool_calls, reasoning_content, reasoning } = fieldsOf(delta ?? message);
    heard.hear('thinking', textOf(reasoning_content ?? reasoning));
    heard.hear('text', textOf(content));
    for (const part of itemsOf(content)) heard.hear('text', textOf(fieldsOf(part).text));
    heard.hear('text', textOf(refusal));
    this.#addCalls(itemsOf(tool_calls), heard);
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
}

/** Puts the chunks of a stream together into the reply that would have come unstreamed. */
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
    return {
      id,
      object: 'chat.completion',
      created,
      model,
      choices,
      ...(usage !== undefined && { usage }),
      ...others,
    };
  }

  #addChoice({ index: at, delta, message, ...rest }: Readonly<Record<string, unknown>>, place: number): void {
    const index = numberOf(at) ?? place;
    const choice = this.#choices.get(index) ?? {
      index,
      message: { role: 'assistant', content: null },
      rest: {},
    };
    this.#choices.set(index, choice);
    for (const [name, value] of Object.entries(rest)) if (value !== null) choice.rest[name] = value;
    for (const [name, value] of Object.entries(fieldsOf(delta ?? message))) {
      choice.message[name] =
        name === 'tool_calls'
          ? mergeCalls(choice.message[name], value)
          : merged(choice.message[name], value, name);
    }
  }
}

/** Texts grow; anything else is replaced, and null never takes away what is there. */
function merged(before: unknown, value: unknown, name: string): unknown {
  if (value === null) return before ?? null;
  if (typeof value !== 'string' || name === 'role') return value;
  return typeof before === 'string' || before instanceof LongText ? grown(before, value) : value;
}

function mergeCalls(came: unknown, value: unknown): unknown {
  const calls = [...itemsOf(came)] as Record<string, unknown>[];
  for (const fragment of itemsOf(value)) {
    const { index, function: called, ...rest } = fieldsOf(fragment);
    const isNew = typeof rest.id === 'string' && rest.id !== '' && !calls.some((call) => call.id === rest.id);
    const at = Math.min(numberOf(index) ?? (isNew ? calls.length : calls.length - 1), calls.length);
    const call = calls[Math.max(at, 0)] ?? {};
    const { name, arguments: text, ...others } = fieldsOf(called);
    const inner = fieldsOf(call.function);
    const before = `${inner.name ?? ''}`;
    calls[Math.max(at, 0)] = {
      ...call,
      ...rest,
      // The first fragment names the call; later ones may carry an empty ID.
      ...(call.id ? { id: call.id } : {}),
      function: {
        ...inner,
        ...others,
        name: name === before ? before : `${before}${name ?? ''}`,
        arguments: `${inner.arguments ?? ''}${text ?? ''}`,
      },
    };
  }
  return calls;
}
