import type { ChatRequest } from '../../chat/chat.ts';
import type { Context } from '../../context.ts';
import { breachesOf, refuseOrWarn } from '../../flags/breaches.ts';
import { applySets, type JsonObject } from '../../flags/json-body.ts';
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
  const own = history.own ? { ...base, [surface.historyField]: history.own } : base;
  const body = applySets(
    surface.body({ ...asked, settings, base: own, stream: flags.stream ?? true }),
    globals.set ?? [],
  );
  const model = typeof body.model === 'string' ? body.model : asked.model;
  const stream = surface.api === 'geo' ? (flags.stream ?? true) : body.stream === true;
  const validate = globals.validate === undefined;
  refuseOrWarn([...breachesOf(surface.schema(model), body, surface.flagOf)], validate, io);
  for (const { path, message } of surface.warnings(model, body)) {
    io.warn([surface.flagOf(path), message].filter(Boolean).join(': '));
  }
  const isEvents = io.mode.json && flags.stream === true && stream;
  return {
    ...asked,
    api: surface.api,
    model,
    stream,
    body,
    silenceMs,
    keep: session || (io.mode.json && !isEvents) ? 'whole' : 'calls',
    raw: isEvents,
  };
}
