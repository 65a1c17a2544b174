import type { ChatApi, ChatSettings } from '../../chat/chat.ts';
import type { Session } from '../../chat/session/session.ts';
import { loadSurface, type Surface } from '../../chat/surface.ts';
import type { Settings } from '../../config/settings.ts';
import { SLOW_ANSWER_SILENCE_MS } from '../../config/table.ts';
import type { Context } from '../../context.ts';
import { GwError, usage } from '../../errors.ts';
import { type JsonObject, readJsonBody } from '../../flags/json-body.ts';
import { readTextInput } from '../../media/text-input.ts';
import { type History, readHistory } from './read-history.ts';
import { type ChatFlags, readSettings } from './read-settings.ts';

/** Where a question starts from. */
export interface Start {
  readonly surface: Surface;
  readonly model: string | undefined;
  readonly system: string | undefined;
  readonly base: JsonObject;
  readonly history: History;
  readonly settings: ChatSettings;
  readonly session: Session | undefined;
  readonly silenceMs: number;
}

/**
 * What the flags, the body, the session and the profile say before anything is asked. Throws `usage` for what cannot be
 * read or does not go together.
 */
export async function readStart(flags: ChatFlags, ctx: Context): Promise<Start> {
  const { globals, host, signal } = ctx;
  const deps = { cwd: host.cwd, stdin: host.stdin, signal };
  const inForce = await ctx.settings();
  const session = await openNamedSession(flags, ctx);
  const surface = await loadSurface(flags.api ?? session?.settings.api ?? 'completions');
  const base = globals.body === undefined ? {} : await readJsonBody(globals.body, deps);
  const history = flags.messages === undefined ? {} : await readHistory(flags.messages, surface, deps);
  const system = flags.system === undefined ? undefined : await readTextInput(flags.system, '--system', deps);
  const known = session?.settings.api === surface.api ? session.settings.model : undefined;
  const ofBody = typeof base.model === 'string' ? base.model : undefined;
  return {
    surface,
    base,
    history,
    session,
    model: flags.model ?? ofBody ?? known ?? defaultModel(surface.api, inForce),
    system: system ?? history.system ?? session?.settings.system,
    settings: await readSettings(flags, surface, deps),
    silenceMs: inForce.timeoutMs.source === 'default' ? SLOW_ANSWER_SILENCE_MS : inForce.timeoutMs.value,
  };
}

async function openNamedSession(
  { session: named, continue: goesOn, new: fresh, messages }: ChatFlags,
  ctx: Context,
): Promise<Session | undefined> {
  if (goesOn && named !== undefined) {
    throw usage('--continue and --session both name the session', 'give one of them');
  }
  const session = goesOn ? await newestSession(ctx) : named;
  if (session === undefined) {
    if (fresh) throw usage('--new starts a session over, and none is named', 'name it with --session NAME');
    return undefined;
  }
  if (messages !== undefined) {
    const flag = goesOn ? '--continue' : '--session';
    throw usage(`${flag} and --messages both give the conversation`, 'give one of them');
  }
  const { openSession } = await import('../../chat/session/session.ts');
  return openSession(session, { fresh }, ctx);
}

async function newestSession({ host }: Context): Promise<string> {
  const { storedSessions } = await import('../../chat/session/session.ts');
  const [newest] = storedSessions(host);
  if (newest) return newest.name;
  throw new GwError('not_found', '--continue: there is no stored session', {
    hint: 'begin one with: gw chat --session NAME',
  });
}

/** The messages surface has no built-in default: the models it serves are not in the document. */
function defaultModel(api: ChatApi, { models }: Settings): string | undefined {
  return api === 'messages' && models.chat.source === 'default' ? undefined : models.chat.value;
}
