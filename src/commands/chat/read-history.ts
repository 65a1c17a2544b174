import type { ChatPart, ChatTurn, ToolCall } from '../../chat/chat.ts';
import { fieldsOf, itemsOf, textOf } from '../../chat/json-value.ts';
import type { Surface } from '../../chat/surface.ts';
import { usage } from '../../errors.ts';
import { type JsonBodyDeps, readJsonFile } from '../../flags/json-body.ts';

/** The conversation of `--messages`: as the surface's own list, or as turns where it had to be translated. */
export interface History {
  readonly own?: readonly unknown[];
  readonly turns?: readonly ChatTurn[];
  readonly system?: string;
}

/**
 * Reads `--messages FILE`: a list in the surface's own form, which is sent as it is, or in that of chat completions,
 * which every surface understands. Throws `usage` for a file that cannot be read or holds neither.
 */
export async function readHistory(file: string, surface: Surface, deps: JsonBodyDeps): Promise<History> {
  const named = `--messages ${file}`;
  const value = await readJsonFile(file, deps, '--messages');
  const list = Array.isArray(value)
    ? value
    : (fieldsOf(value).messages ?? fieldsOf(value)[surface.historyField]);
  if (!Array.isArray(list)) {
    throw usage(`${named}: holds no list of messages`, 'write [{"role": "user", "content": "…"}, …]');
  }
  if (list.length === 0) throw usage(`${named}: the list of messages is empty`);
  return isOwn(list, surface) ? { own: list } : translated(list, named);
}

/** Whether a list is in the surface's own form already. What both forms allow counts as own. */
function isOwn(list: readonly unknown[], { api }: Surface): boolean {
  if (api === 'completions') return true;
  if (api === 'geo') return list.every((item) => fieldsOf(item).parts !== undefined);
  return list.every((item) => {
    const { role, tool_calls, content } = fieldsOf(item);
    const hasImageUrl = itemsOf(content).some((part) => fieldsOf(part).type === 'image_url');
    return role !== 'system' && role !== 'tool' && tool_calls === undefined && !hasImageUrl;
  });
}

function translated(list: readonly unknown[], named: string): History {
  const system: string[] = [];
  const turns: ChatTurn[] = [];
  for (const [index, item] of list.entries()) {
    const { role, content, tool_calls, tool_call_id } = fieldsOf(item);
    const parts = partsOf(content, `${named}: message ${index + 1}`);
    const text = parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
    if (role === 'system') system.push(text);
    else if (role === 'user') turns.push({ role, parts });
    else if (role === 'assistant') {
      const toolCalls = itemsOf(tool_calls).map(callOf);
      turns.push({ role, text, ...(toolCalls.length > 0 && { toolCalls }) });
    } else if (role === 'tool' && typeof tool_call_id === 'string') {
      turns.push({ role, toolCallId: tool_call_id, content: text });
    } else {
      throw usage(
        `${named}: message ${index + 1} is of none of the roles system, user, assistant, tool`,
        'write it as chat completions do: {"role": "user", "content": "…"}',
      );
    }
  }
  return { turns, ...(system.length > 0 && { system: system.join('\n\n') }) };
}

function partsOf(content: unknown, named: string): ChatPart[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  if (content === null || content === undefined) return [];
  return itemsOf(content).map((part) => {
    const { type, text, image_url: image } = fieldsOf(part);
    const url = fieldsOf(image).url;
    if (type === 'text' && typeof text === 'string') return { type, text };
    if (type === 'image_url' && typeof url === 'string') return { type: 'image', url };
    throw usage(`${named} holds a part that is neither text nor image_url`);
  });
}

function callOf(value: unknown): ToolCall {
  const { id, function: called } = fieldsOf(value);
  const { name, arguments: text } = fieldsOf(called);
  return { id: textOf(id), name: textOf(name), arguments: textOf(text) };
}
