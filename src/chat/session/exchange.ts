import { readLines } from '../../disk/read-lines.ts';
import { formatOf, refuseNewer } from '../../formats.ts';
import { isObject } from '../../host.ts';
import { jsonText } from '../../io/escape.ts';
import { jsonOf } from '../../json-text.ts';
import type { ChatApi, ChatPart, ChatTool, ChatTurn, ToolCall } from '../chat.ts';
import { chatApis } from '../chat.ts';
import { exactJson } from '../surface.ts';

/** The settings of a conversation; a later run continues with them unless flags change them. */
export interface SessionSettings {
  readonly api?: ChatApi | undefined;
  readonly model?: string | undefined;
  readonly system?: string | undefined;
  /** Stored because a turn after a tool call needs "the same `tools`" ("Function calling"). */
  readonly tools?: readonly ChatTool[] | undefined;
}

/** A question with all its answers: they are stored together or not at all. */
interface Exchange {
  readonly turns: readonly ChatTurn[];
  readonly settings: SessionSettings;
}

export function exchangeLine(exchange: Exchange, timeMs: number, hide: (text: string) => string): string {
  const { turns, settings } = exchange;
  return hide(jsonText({ v: formatOf('talks'), t: timeMs, ...settings, turns }));
}

/**
 * Parses one line; undefined for a damaged one. Throws GwError `usage` naming the file for a line of a newer format.
 */
function parseExchange(line: string, file: string): Exchange | undefined {
  const value = exactJson(line, jsonOf(line));
  if (!isObject(value) || typeof value.v !== 'number') return undefined;
  refuseNewer('talks', value.v, file);
  const { turns, api, model, system, tools } = value;
  if (!Array.isArray(turns) || !turns.every(isTurn)) return undefined;
  return {
    turns,
    settings: {
      ...(isApi(api) && { api }),
      ...(typeof model === 'string' && { model }),
      ...(typeof system === 'string' && { system }),
      ...(Array.isArray(tools) && { tools: tools.filter(isTool) }),
    },
  };
}

function isTurn(value: unknown): value is ChatTurn {
  if (!isObject(value)) return false;
  const { role, parts, text, toolCalls, toolCallId, content } = value;
  if (role === 'user') return Array.isArray(parts) && parts.every(isPart);
  if (role === 'tool') return typeof toolCallId === 'string' && typeof content === 'string';
  if (role !== 'assistant' || typeof text !== 'string') return false;
  return toolCalls === undefined || (Array.isArray(toolCalls) && toolCalls.every(isToolCall));
}

const isTool = (value: unknown): value is ChatTool => isObject(value) && typeof value.name === 'string';

const isPart = (value: unknown): value is ChatPart =>
  isObject(value) && typeof (value.type === 'text' ? value.text : value.url) === 'string';

const isToolCall = (value: unknown): value is ToolCall =>
  isObject(value) && [value.id, value.name, value.arguments].every((each) => typeof each === 'string');

const isApi = (value: unknown): value is ChatApi => chatApis.includes(value as ChatApi);

/**
 * All exchanges in a session's file, in order, and the number of unreadable lines; a missing file has none. Throws the
 * system's error, and GwError `usage` for a file of a newer format.
 */
export function readExchanges(file: string): { exchanges: Exchange[]; damaged: number } {
  const exchanges: Exchange[] = [];
  let damaged = 0;
  for (const line of readLines(file)) {
    const exchange = parseExchange(line, file);
    if (exchange === undefined) damaged += 1;
    else exchanges.push(exchange);
  }
  return { exchanges, damaged };
}
