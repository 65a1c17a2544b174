import type { ChatPart, ChatTurn } from '../chat.ts';
import { splitDataUri } from '../data-uri.ts';
import { argumentsOf, fieldsOf, given, itemsOf } from '../json-value.ts';

interface Content {
  readonly role: 'user' | 'model';
  readonly parts: unknown;
}

/** The turns in this surface's form; `before` is the conversation they follow, already in that form. */
export function contentsOf(turns: readonly ChatTurn[], before: readonly unknown[]): Content[] {
  const names = namesOfCalls(turns, before);
  const contents: Content[] = [];
  for (const turn of turns) {
    const content = contentOf(turn, names);
    const last = contents.at(-1);
    // All results of one round of calls stand in one content.
    if (turn.role === 'tool' && last && isResult(last)) {
      contents[contents.length - 1] = { ...last, parts: [...itemsOf(last.parts), ...itemsOf(content.parts)] };
    } else {
      contents.push(content);
    }
  }
  return contents;
}

const isResult = ({ parts }: Content): boolean =>
  itemsOf(parts).every((part) => fieldsOf(part).functionResponse !== undefined);

/** A result names the function that was called, and what came may have named its calls by ID. */
function namesOfCalls(turns: readonly ChatTurn[], before: readonly unknown[]): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const content of before) {
    for (const part of itemsOf(fieldsOf(content).parts)) {
      const { id, name } = fieldsOf(fieldsOf(part).functionCall);
      if (typeof id === 'string' && typeof name === 'string') names.set(id, name);
    }
  }
  for (const turn of turns) {
    if (turn.role === 'assistant') for (const { id, name } of turn.toolCalls ?? []) names.set(id, name);
  }
  return names;
}

function contentOf(turn: ChatTurn, names: ReadonlyMap<string, string>): Content {
  if (turn.role === 'user') return { role: 'user', parts: turn.parts.map(partOf) };
  if (turn.role === 'tool') {
    const name = turn.name ?? names.get(turn.toolCallId) ?? turn.toolCallId;
    // A call without an ID of its own goes by its name.
    const id = turn.toolCallId.startsWith(name) ? undefined : turn.toolCallId;
    const functionResponse = given({ id, name, response: responseOf(turn.content) });
    return { role: 'user', parts: [{ functionResponse }] };
  }
  if (turn.native?.api === 'geo') return { role: 'model', parts: turn.native.content };
  const calls = (turn.toolCalls ?? []).map(({ id, name, arguments: text }) => ({
    functionCall: given({ id: id.startsWith(name) ? undefined : id, name, args: argumentsOf(text) }),
  }));
  const said = turn.text === '' && calls.length > 0 ? [] : [{ text: turn.text }];
  return { role: 'model', parts: [...said, ...calls] };
}

/** A result is an object here; any other value is wrapped in one. */
function responseOf(content: string): unknown {
  try {
    const value: unknown = JSON.parse(content);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : { result: value };
  } catch {
    return { result: content };
  }
}

function partOf(part: ChatPart): unknown {
  if (part.type === 'text') return { text: part.text };
  const data = splitDataUri(part.url);
  if (data) return { inlineData: { mimeType: data.mime, data: data.base64 } };
  return { fileData: given({ mimeType: mimeOf(part.url), fileUri: part.url }) };
}

const mimes: Readonly<Record<string, string>> = {
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  png: 'image/png',
  webp: 'image/webp',
  gif: 'image/gif',
  heic: 'image/heic',
  heif: 'image/heif',
};

/** The type that an address's ending tells of. */
function mimeOf(url: string): string | undefined {
  const ending = /\.(\w+)$/.exec(new URL(url).pathname)?.[1]?.toLowerCase();
  return ending === undefined ? undefined : mimes[ending];
}
