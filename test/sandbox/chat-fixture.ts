import { expect } from 'vitest';
import type { Sandbox } from '../../src/sandbox/server.ts';
import { type Answer, ask, auth, key, sandbox } from './fixture.ts';

export const geoModel = 'geo-3.6-flash';
export const messagesModel = 'sandbox-chat-1';

/** A sandbox whose answers take no time. */
export const quick = (options: Parameters<typeof sandbox>[0] = {}) =>
  sandbox({ speed: Number.POSITIVE_INFINITY, slowGapMs: 1, ...options });

type Body = Record<string, unknown>;

const post = (url: string, headers: Record<string, string>, body: unknown): Promise<Answer> =>
  ask(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });

/** Asks a completions stream for its token usage. */
export const withUsage = { stream_options: { include_usage: true } };

export const messagesAuth = { 'x-api-key': key, 'provider-version': '2023-06-01' };
export const geoAuth = { 'x-geo-api-key': key };

/** A request on each surface: the smallest accepted body, with the fields of `over` added or replaced. */
export const completions = (at: Sandbox, over: Body = {}, headers: Record<string, string> = auth) =>
  post(`${at.baseUrl}/v1/chat/completions`, headers, {
    model: geoModel,
    messages: [{ role: 'user', content: 'hello there' }],
    ...over,
  });

export const messages = (at: Sandbox, over: Body = {}, headers: Record<string, string> = messagesAuth) =>
  post(`${at.baseUrl}/v1/messages`, headers, {
    model: messagesModel,
    max_tokens: 4096,
    messages: [{ role: 'user', content: 'hello there' }],
    ...over,
  });

export interface GeoOptions {
  readonly model?: string;
  readonly stream?: boolean;
  readonly query?: string;
  readonly headers?: Record<string, string>;
}

export const geo = (at: Sandbox, over: Body = {}, options: GeoOptions = {}) =>
  post(
    `${at.baseUrl}/v1beta/models/${options.model ?? geoModel}:${options.stream ? 'streamGenerateContent' : 'generateContent'}${options.query ?? ''}`,
    options.headers ?? geoAuth,
    { contents: [{ role: 'user', parts: [{ text: 'hello there' }] }], ...over },
  );

/** One question in the form of each surface, and the parts of its reply that tests read. */
export interface Surface {
  readonly name: string;
  /** Asks with a prompt, streamed or not. */
  readonly say: (at: Sandbox, prompt: string, stream: boolean) => Promise<Answer>;
  // biome-ignore lint/suspicious/noExplicitAny: replies are looked at field by field, each expectation is the check
  readonly text: (reply: any) => string | null | undefined;
  /** The whole reply, put together from the events of a stream as a client would. */
  readonly assemble: (events: readonly Event[]) => unknown;
}

export interface Event {
  readonly event: string | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: events are looked at field by field, each expectation is the check
  readonly data: any;
}

/** Reads a stream of events strictly: `event` and `data` lines, each event ended by a blank line. */
export function eventsOf(text: string): Event[] {
  expect.soft(text.endsWith('\n\n')).toBe(true);
  return text
    .slice(0, -2)
    .split('\n\n')
    .map((block) => {
      const [, event, data = ''] = /^(?:event: (\w+)\n)?data: ([^\n]*)$/.exec(block) ?? [];
      return { event, data: data === '[DONE]' ? data : JSON.parse(data) };
    });
}

export const surfaces: readonly Surface[] = [
  {
    name: 'completions',
    say: (at, prompt, stream) =>
      completions(at, {
        messages: [{ role: 'user', content: prompt }],
        ...(stream && { stream, ...withUsage }),
      }),
    text: (reply) => reply.choices[0].message.content,
    assemble: assembleCompletions,
  },
  {
    name: 'messages',
    say: (at, prompt, stream) =>
      messages(at, { messages: [{ role: 'user', content: prompt }], ...(stream && { stream }) }),
    text: (reply) => reply.content[0]?.text,
    assemble: assembleMessages,
  },
  {
    name: 'geo',
    say: (at, prompt, stream) => geo(at, { contents: [{ parts: [{ text: prompt }] }] }, { stream }),
    text: (reply) => reply.candidates[0].content.parts?.[0].text,
    assemble: assembleGeo,
  },
];

export function assembleCompletions(events: readonly Event[]): unknown {
  expect(events.at(-1)?.data).toBe('[DONE]');
  const chunks = events.slice(0, -1).map(({ data }) => data);
  const message: Body = { role: 'assistant', content: null };
  const calls: { id: string; type: string; function: { name: string; arguments: string } }[] = [];
  let finish: unknown;
  for (const { object, choices } of chunks) {
    expect(object).toBe('chat.completion.chunk');
    for (const { delta, finish_reason } of choices) {
      if (delta.content != null) message.content = `${message.content ?? ''}${delta.content}`;
      if (delta.reasoning_content)
        message.reasoning_content = `${message.reasoning_content ?? ''}${delta.reasoning_content}`;
      for (const { index, ...call } of delta.tool_calls ?? []) {
        const known = calls[index];
        if (known) known.function.arguments += call.function.arguments;
        else calls[index] = call;
      }
      finish ??= finish_reason;
    }
  }
  const { id, created, model } = chunks[0];
  return {
    id,
    object: 'chat.completion',
    created,
    model,
    choices: [
      {
        index: 0,
        message: { ...message, ...(calls.length > 0 && { tool_calls: calls }) },
        finish_reason: finish,
      },
    ],
    usage: chunks.at(-1).usage,
  };
}

export function assembleMessages(events: readonly Event[]): unknown {
  for (const { event, data } of events) expect(data.type).toBe(event);
  const { message } = events[0]?.data ?? {};
  // biome-ignore lint/suspicious/noExplicitAny: blocks of four shapes, each field is checked by the comparison
  const blocks: any[] = [];
  const inputs: string[] = [];
  for (const { data } of events) {
    if (data.type === 'content_block_start') blocks[data.index] = { ...data.content_block };
    if (data.type === 'content_block_delta') {
      const { delta } = data;
      const block = blocks[data.index];
      if (delta.type === 'text_delta') block.text += delta.text;
      else if (delta.type === 'thinking_delta') block.thinking += delta.thinking;
      else if (delta.type === 'signature_delta') block.signature += delta.signature;
      else inputs[data.index] = (inputs[data.index] ?? '') + delta.partial_json;
    }
    if (data.type === 'message_delta') Object.assign(message, data.delta, { usage: data.usage });
  }
  for (const [index, input] of inputs.entries()) if (input) blocks[index].input = JSON.parse(input);
  return { ...message, content: blocks };
}

export function assembleGeo(events: readonly Event[]): unknown {
  // biome-ignore lint/suspicious/noExplicitAny: parts of three shapes, each field is checked by the comparison
  const parts: any[] = [];
  for (const { data } of events) {
    for (const part of data.candidates[0].content.parts ?? []) {
      const last = parts.at(-1);
      if (last?.text !== undefined && part.text !== undefined && last.thought === part.thought)
        last.text += part.text;
      else parts.push({ ...part });
    }
  }
  const end = events.at(-1)?.data;
  const [{ finishReason }] = end.candidates;
  const content = parts.length > 0 ? { parts, role: 'model' } : { role: 'model' };
  return { ...end, candidates: [{ content, finishReason, index: 0 }] };
}
