import type { ChatTurn } from '../chat.ts';
import { type BodyRequest, contentOf, type JsonObject } from '../surface.ts';

/** Converts a conversation to the messages of chat completions. */
export const messagesOf = ({ system, turns }: Pick<BodyRequest, 'system' | 'turns'>): JsonObject[] => [
  ...(system === undefined ? [] : [{ role: 'system', content: system }]),
  ...turns.map(message),
];

function message(turn: ChatTurn): JsonObject {
  if (turn.role === 'tool') return { role: 'tool', tool_call_id: turn.toolCallId, content: turn.content };
  if (turn.role === 'user') return { role: 'user', content: contentOf(turn.parts, imageUrl) };
  const calls = turn.toolCalls?.map(({ id, name, arguments: text }) => ({
    id,
    type: 'function',
    function: { name, arguments: text },
  }));
  if (!calls || calls.length === 0) return { role: 'assistant', content: turn.text };
  return { role: 'assistant', content: turn.text === '' ? null : turn.text, tool_calls: calls };
}

const imageUrl = (url: string) => ({ type: 'image_url', image_url: { url } });
