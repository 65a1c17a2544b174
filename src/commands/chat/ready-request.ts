import type { ChatRequest } from '../../chat/chat.ts';
import { itemsOf } from '../../chat/json-value.ts';
import type { Context } from '../../context.ts';
import { lookAtBody, refuseOrWarn } from '../../flags/breaches.ts';
import { applySets, type JsonObject } from '../../flags/json-body.ts';
import { type ToolUse, toolUses } from './read-history.ts';
import type { ChatFlags } from './read-settings.ts';
import type { Start } from './read-start.ts';

/** A request as it will be sent, with every rule looked at. */
export function readyRequest(
  flags: ChatFlags,
  { surface, base, history, settings, session, silenceMs }: Start,
  asked: Pick<ChatRequest, 'model' | 'system' | 'turns' | 'signal'>,
  ctx: Context,
): ChatRequest & { readonly body: JsonObject } {
  const { globals, io } = ctx;
  const under =
    surface.api === 'completions' && settings.maxTokens !== undefined ? withoutLimits(base) : base;
  const own = history.own ? { ...under, ...history.ownSystem, [surface.historyField]: history.own } : under;
  const body = applySets(
    surface.body({ ...asked, settings, base: own, stream: flags.stream ?? true }),
    globals.set ?? [],
  );
  const model = typeof body.model === 'string' ? body.model : asked.model;
  const stream = surface.api === 'geo' ? (flags.stream ?? true) : body.stream === true;
  const validate = globals.validate === undefined;
  const uses = toolUses(itemsOf(own[surface.historyField]), asked.turns);
  const { breaches, oddities } = lookAtBody(surface.schema(model), body, surface.flagOf);
  const noTools = breaches.length === 0 ? missingTools(uses, body) : [];
  refuseOrWarn([...breaches, ...unansweredCalls(uses), ...noTools], validate, io);
  for (const { text, says } of oddities) io.warn(`${text} (${says})`);
  const isEvents = io.mode.json && flags.stream === true && stream;
  return {
    ...asked,
    api: surface.api,
    model,
    stream,
    body,
    silenceMs,
    keep: session ? 'whole' : io.mode.json && !isEvents ? 'reply' : 'calls',
    raw: isEvents,
  };
}

/** The limit has two spellings of which one may be sent: a typed one takes the place of whichever the body holds. */
function withoutLimits({
  max_tokens: _,
  max_completion_tokens: __,
  ...rest
}: Readonly<JsonObject>): JsonObject {
  return rest;
}

/** The results of all calls of a message come right after it ("Function calling"). */
function unansweredCalls(uses: readonly ToolUse[]): string[] {
  const missing = uses.flatMap(({ calls }, index) => {
    const after = uses.slice(index + 1);
    const end = after.findIndex(({ results }) => results.length === 0);
    const answered = new Set((end < 0 ? after : after.slice(0, end)).flatMap(({ results }) => results));
    return calls.filter(({ id, name }) => !answered.has(id) && !(name !== undefined && answered.has(name)));
  });
  if (missing.length === 0) return [];
  const ids = [...new Set(missing.map(({ id }) => id))];
  return [
    `${ids.join(', ')}: ${ids.length === 1 ? 'a tool call' : 'tool calls'} without a result right after; ` +
      'give each one with --tool-result ID=VALUE',
  ];
}

/** What follows a call goes "with the same tools" ("Function calling"). */
function missingTools(uses: readonly ToolUse[], { tools }: Readonly<JsonObject>): string[] {
  const usesTools = uses.some(({ calls, results }) => calls.length > 0 || results.length > 0);
  if (!usesTools || itemsOf(tools).length > 0) return [];
  return [
    '--tool: the conversation holds tool calls, and the request has no tools; give the same --tool files again',
  ];
}
