import { isBareError } from '../../gateway/gateway-error.ts';
import { fieldsOf, itemsOf, numberOf, textOf } from '../../gateway/json-value.ts';
import type { ChatUsage, ToolCall } from '../chat.ts';
import {
  argumentsText,
  CALL_BYTES,
  FurtherAnswers,
  type Heard,
  type ReplyReader,
  StreamedError,
} from '../surface.ts';

type Part = Record<string, unknown>;

/** True for an ID that gw made from a call's name and position, because the call came without one. */
export const isOwnId = (id: string, name: string): boolean =>
  id.startsWith(name) && /^(-\d+)?$/.test(id.slice(name.length));

interface Candidate {
  /** True if the candidate came with an index of its own. */
  isNumbered: boolean;
  readonly fields: Record<string, unknown>;
  role: unknown;
  readonly parts: Part[];
}

/** Reads a Gemini-style reply; a stream's event has the same shape as a whole reply. */
export class GeoReader implements ReplyReader {
  finishReason: string | undefined;
  usage: ChatUsage = {};
  readonly toolCalls: ToolCall[] = [];
  readonly further = new FurtherAnswers();
  readonly #candidates = new Map<number, Candidate>();
  #top: Record<string, unknown> = {};

  constructor(private readonly keepWhole: boolean) {}

  whole(reply: unknown, heard: Heard): void {
    // Some services answer an unstreamed request with one list of all events.
    for (const each of [reply].flat()) this.event(each, heard);
  }

  isFinished(): boolean {
    return this.finishReason !== undefined;
  }

  reply(): unknown {
    if (!this.keepWhole) return undefined;
    const candidates = [...this.#candidates].map(([index, { isNumbered, fields, role, parts }]) => ({
      content: { parts, role },
      ...fields,
      ...(isNumbered && { index }),
    }));
    return { ...(candidates.length > 0 && { candidates }), ...this.#top };
  }

  /** The parts may contain signatures that must be sent back with the calls that followed. */
  native(): unknown {
    const parts = this.#candidates.get(0)?.parts ?? [];
    return parts.some(({ thoughtSignature }) => thoughtSignature !== undefined)
      ? { api: 'geo', content: parts }
      : undefined;
  }

  event(value: unknown, heard: Heard): void {
    const { candidates, error, ...top } = fieldsOf(value);
    if (error !== undefined && error !== null) throw new StreamedError(value);
    if (candidates === undefined && isBareError(value)) throw new StreamedError(value);
    const { usageMetadata, promptFeedback } = top;
    if (this.keepWhole && (candidates || usageMetadata || promptFeedback)) Object.assign(this.#top, top);
    if (usageMetadata) this.#count(fieldsOf(usageMetadata));
    this.finishReason = textOf(fieldsOf(promptFeedback).blockReason) || this.finishReason;
    for (const [place, each] of itemsOf(candidates).entries())
      this.#takeCandidate(fieldsOf(each), place, heard);
  }

  #takeCandidate({ index: at, content, ...fields }: Part, place: number, heard: Heard): void {
    // The document lists no index, so candidates are told apart by position.
    const index = numberOf(at) ?? place;
    const { parts, role } = fieldsOf(content);
    const { finishReason: reason } = fields;
    const came = itemsOf(parts).map(fieldsOf);
    if (index === 0) {
      this.finishReason = textOf(reason) || this.finishReason;
      for (const part of came) this.#hear(part, heard);
    } else {
      const words = came.map((part) => (part.thought === true ? '' : textOf(part.text)));
      this.further.add(index, words.join(''), reason, heard);
    }
    if (!this.keepWhole) return;
    const kept = this.#candidates.get(index) ?? { isNumbered: false, fields: {}, role: 'model', parts: [] };
    if (at !== undefined) kept.isNumbered = true;
    Object.assign(kept.fields, fields);
    if (typeof role === 'string') kept.role = role;
    for (const part of came) addPart(kept.parts, { ...part });
    this.#candidates.set(index, kept);
  }

  #hear({ text: words, thought, functionCall }: Readonly<Part>, heard: Heard): void {
    if (typeof words === 'string') heard.hear(thought === true ? 'thinking' : 'text', words);
    if (!functionCall) return;
    const { id, name: called, args } = fieldsOf(functionCall);
    const name = textOf(called);
    const text = argumentsText(args);
    heard.keep(CALL_BYTES + text.length);
    const count = this.toolCalls.filter((call) => call.name === name).length + 1;
    this.toolCalls.push({
      id: textOf(id) || (count === 1 ? name : `${name}-${count}`),
      name,
      arguments: text,
    });
  }

  #count(all: Readonly<Part>): void {
    const reasoningTokens = numberOf(all.thoughtsTokenCount);
    const shown = numberOf(all.candidatesTokenCount);
    this.usage = {
      inputTokens: numberOf(all.promptTokenCount),
      cachedTokens: numberOf(all.cachedContentTokenCount),
      // Unlike on other surfaces, the candidates' token count excludes thoughts.
      outputTokens:
        shown === undefined && reasoningTokens === undefined
          ? undefined
          : (shown ?? 0) + (reasoningTokens ?? 0),
      reasoningTokens,
      totalTokens: numberOf(all.totalTokenCount),
    };
  }
}

/** Joins consecutive pieces of one text or one thought into one part. */
function addPart(parts: Part[], part: Part): void {
  const last = parts.at(-1);
  const isPlain = ({ text, thought: _, ...rest }: Part) =>
    typeof text === 'string' && Object.keys(rest).length === 0;
  if (last && isPlain(last) && isPlain(part) && last.thought === part.thought) {
    last.text = textOf(last.text) + textOf(part.text);
  } else {
    parts.push(part);
  }
}
