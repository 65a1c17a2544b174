import { chatMessages, MessagesBody, MIN_THINKING_BUDGET } from '../../gateway/chat/messages.ts';
import { fieldsOf, itemsOf, listOver } from '../../gateway/json-value.ts';
import { type ChatSettings, type ChatTurn, DEFAULT_MAX_TOKENS } from '../chat.ts';
import {
  argumentsOf,
  type BodyRequest,
  bySet,
  contentOf,
  given,
  type JsonObject,
  type Surface,
  splitDataUri,
} from '../surface.ts';
import { MessagesReader } from './reader.ts';

// The surface "Native messages". The document does not show the blocks of a request; they follow the public API of this
// name.

const onGeo = 'it is a flag of --api geo';
const sayThinking = 'say --thinking adaptive or --thinking N here';

export const messages: Surface = {
  api: 'messages',
  historyField: 'messages',
  endpoint: () => chatMessages,
  input: (_, body) => ({ body }),
  body,
  schema: () => MessagesBody,
  undocumented: {
    reasoningEffort: sayThinking,
    thinkingLevel: sayThinking,
    responseFormat: bySet('response_format'),
    candidates: onGeo,
    safety: onGeo,
    compatMaxTokens: '--max-tokens is spelled so here',
  },
  flags: {
    model: '--model',
    max_tokens: '--max-tokens',
    system: '--system',
    temperature: '--temperature',
    top_p: '--top-p',
    top_k: '--top-k',
    stop_sequences: '--stop',
    thinking: '--thinking',
    tools: '--tool',
    tool_choice: '--tool-choice',
  },
  reader: (keepWhole) => new MessagesReader(keepWhole),
};

function body({ base = {}, model, system, turns, settings = {}, stream }: BodyRequest): JsonObject {
  const { thinking: asked, ...others } = base;
  const budget = Number(settings.thinking ?? fieldsOf(asked).budget_tokens);
  const limit = DEFAULT_MAX_TOKENS + (budget >= MIN_THINKING_BUDGET ? budget : 0);
  return {
    ...(settings.thinking === 'off' ? others : base),
    ...given({
      model,
      max_tokens: settings.maxTokens ?? (base.max_tokens === undefined ? limit : undefined),
      messages: listOver(base.messages, [...itemsOf(base.messages), ...joinResults(turns.map(message))]),
      system,
      temperature: settings.temperature,
      top_p: settings.topP,
      top_k: settings.topK,
      stop_sequences: settings.stop,
      thinking: thinking(settings.thinking),
      tools: settings.tools?.map(({ name, description, parameters }) =>
        given({ name, description, input_schema: parameters ?? { type: 'object', properties: {} } }),
      ),
      tool_choice: toolChoice(settings.toolChoice),
      stream: stream || base.stream !== undefined ? stream : undefined,
    }),
  };
}

function thinking(mode: ChatSettings['thinking']): JsonObject | undefined {
  // Thinking is off by default, and the document has no value for that.
  if (mode === undefined || mode === 'off') return undefined;
  return mode === 'adaptive' ? { type: 'adaptive' } : { type: 'enabled', budget_tokens: mode };
}

function toolChoice(choice: string | undefined): JsonObject | undefined {
  if (choice === undefined) return undefined;
  if (choice === 'auto' || choice === 'none') return { type: choice };
  return choice === 'required' ? { type: 'any' } : { type: 'tool', name: choice };
}

interface Message {
  readonly role: 'user' | 'assistant';
  content: unknown;
}

function message(turn: ChatTurn): Message {
  if (turn.role === 'tool') {
    const result = { type: 'tool_result', tool_use_id: turn.toolCallId, content: turn.content };
    return { role: 'user', content: [result] };
  }
  if (turn.role === 'user') return { role: 'user', content: contentOf(turn.parts, image) };
  if (turn.native?.api === 'messages') return { role: 'assistant', content: turn.native.content };
  if (!turn.toolCalls?.length) return { role: 'assistant', content: turn.text };
  const calls = turn.toolCalls.map(({ id, name, arguments: text }) => ({
    type: 'tool_use',
    id,
    name,
    input: argumentsOf(text),
  }));
  return {
    role: 'assistant',
    content: [...(turn.text === '' ? [] : [{ type: 'text', text: turn.text }]), ...calls],
  };
}

/** All results of one round of calls, and the text after them, belong into one message. */
function joinResults(all: readonly Message[]): Message[] {
  const joined: Message[] = [];
  for (const each of all) {
    const last = joined.at(-1);
    if (last?.role !== 'user' || each.role !== 'user' || !holdsResult(last)) joined.push(each);
    else last.content = [...blocks(last.content), ...blocks(each.content)];
  }
  return joined;
}

const blocks = (content: unknown): readonly unknown[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : itemsOf(content);
const holdsResult = ({ content }: Message): boolean =>
  itemsOf(content).some((block) => (block as { type?: unknown }).type === 'tool_result');

const image = (url: string) => ({ type: 'image', source: source(url) });

function source(url: string): JsonObject {
  const data = splitDataUri(url);
  return data ? { type: 'base64', media_type: data.mime, data: data.base64 } : { type: 'url', url };
}
