import { fieldsOf, itemsOf, numberOf } from '../json-value.ts';

export interface CompletionChunk {
  readonly choices?: readonly { readonly index?: unknown }[] | null;
  readonly usage?: unknown;
  readonly error?: unknown;
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

  add(chunk: CompletionChunk): void {
    const { choices, object: _, ...top } = chunk as Record<string, unknown>;
    for (const [name, value] of Object.entries(top)) if (value !== null) this.#top[name] = value;
    for (const each of itemsOf(choices)) this.#addChoice(fieldsOf(each));
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

  #addChoice({ index: at, delta, message, ...rest }: Readonly<Record<string, unknown>>): void {
    const index = numberOf(at) ?? 0;
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
  const grows = typeof before === 'string' && typeof value === 'string' && name !== 'role';
  return grows ? before + value : value;
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
