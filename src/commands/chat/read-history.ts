import type { ChatApi, ChatPart, ChatSettings, ChatTurn, ToolCall } from '../../chat/chat.ts';
import type { Session } from '../../chat/session/session.ts';
import { given, loadSurface, type Surface } from '../../chat/surface.ts';
import { readSwitch } from '../../config/environment.ts';
import type { Settings } from '../../config/settings.ts';
import { SLOW_ANSWER_SILENCE_MS } from '../../config/table.ts';
import type { Context } from '../../context.ts';
import { GwError, usage } from '../../errors.ts';
import {
  applySets,
  type JsonBodyDeps,
  type JsonObject,
  parseSet,
  readJsonFile,
} from '../../flags/json-body.ts';
import { baseBody } from '../../flags/prompt.ts';
import { type Said, type SaidBy, saidIn } from '../../flags/yielding.ts';
import { isImageUrl } from '../../gateway/body.ts';
import { fieldsOf, itemsOf, textOf } from '../../gateway/json-value.ts';
import { counted } from '../../io/quantity-text.ts';
import { readTypedText } from '../../media/text-input.ts';
import { type ChatFlags, readSettings, withoutYieldingIn } from './read-settings.ts';

/** The conversation of `--messages`: in the surface's own form, or as turns that were translated. */
interface History {
  readonly own?: readonly unknown[];
  /** The system prompt beside the list, in the surface's own form. */
  readonly ownSystem?: JsonObject;
  readonly turns?: readonly ChatTurn[];
  readonly system?: string;
}

/**
 * Reads `--messages FILE`: a list in the surface's own form, which is sent unchanged, or in the form of chat completions,
 * which every surface accepts here. A system prompt beside the list is read too. Throws `usage` for a file that cannot be
 * read, has neither form, or has any other field beside the list.
 */
async function readHistory(file: string, surface: Surface, deps: JsonBodyDeps): Promise<History> {
  const named = `--messages ${file}`;
  const value = await readJsonFile(file, deps, '--messages');
  const fields = Array.isArray(value) ? { messages: value } : fieldsOf(value);
  const field = fields.messages === undefined ? surface.historyField : 'messages';
  const { [field]: list, system, systemInstruction, ...others } = fields;
  if (!Array.isArray(list))
    throw usage(`${named}: holds no list of messages`, 'write [{"role": "user", "content": "…"}, …]');
  if (list.length === 0) throw usage(`${named}: the list of messages is empty`);
  const [other] = Object.keys(others);
  const beside = `${named}: holds ${other} beside ${field}, and only a system prompt is taken from there`;
  if (other !== undefined) throw usage(beside, '--body FILE takes whole bodies');
  const text = [system, systemInstruction].map(systemText).filter(Boolean).join('\n\n');
  if (!isOwn(list, surface)) return translated(list, named, text);
  const foreign = { completions: system ?? systemInstruction, messages: systemInstruction, geo: system }[
    surface.api
  ];
  if (foreign === undefined) return { own: list, ownSystem: given({ system, systemInstruction }) };
  if (surface.api !== 'completions') return { own: list, system: text };
  return { own: [...(text === '' ? [] : [{ role: 'system', content: text }]), ...list] };
}

/** The text of a system prompt that is a string, a list of blocks, or content with parts. */
function systemText(value: unknown): string {
  if (typeof value === 'string') return value;
  const parts = Array.isArray(value) ? value : itemsOf(fieldsOf(value).parts);
  return parts.map((part) => textOf(fieldsOf(part).text)).join('\n\n');
}

/** True if a list already has the surface's own form; a list valid in both forms counts as own. */
function isOwn(list: readonly unknown[], { api }: Surface): boolean {
  if (api === 'completions') return true;
  if (api === 'geo') return list.every((item) => fieldsOf(item).parts !== undefined);
  return list.every((item) => {
    const { role, tool_calls, content } = fieldsOf(item);
    const hasImageUrl = itemsOf(content).some((part) => fieldsOf(part).type === 'image_url');
    return !/^(system|developer|tool)$/.test(textOf(role)) && tool_calls === undefined && !hasImageUrl;
  });
}

function translated(list: readonly unknown[], named: string, before: string): History {
  const system: string[] = before === '' ? [] : [before];
  const turns: ChatTurn[] = [];
  for (const [index, item] of list.entries()) {
    const { role, content, tool_calls, tool_call_id } = fieldsOf(item);
    const parts = partsOf(content, `${named}: message ${index + 1}`);
    const text = parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
    if (role === 'system' || role === 'developer') system.push(text);
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

const elsewhere = 'only these are put into the form of another surface; --body FILE takes a body in its own';

function partsOf(content: unknown, named: string): ChatPart[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  if (content === null || content === undefined) return [];
  return itemsOf(content).map((part) => {
    const { type, text, image_url: image } = fieldsOf(part);
    const url = textOf(fieldsOf(image).url ?? image);
    if (type === 'text' && typeof text === 'string') return { type, text };
    if (type === 'image_url' && isImageUrl(url)) return { type: 'image', url };
    throw usage(`${named}: a part is neither text nor an image_url with a URL or Base64 data URL`, elsewhere);
  });
}

function callOf(value: unknown): ToolCall {
  const { id, function: called } = fieldsOf(value);
  const { name, arguments: text } = fieldsOf(called);
  return { id: textOf(id), name: textOf(name), arguments: textOf(text) };
}

/** A tool call; `name` is set only if a result may refer to it by name. */
interface CallRef {
  readonly id: string;
  readonly name?: string;
}

/** The tool calls and tool results in one message. */
export interface ToolUse {
  readonly calls: readonly CallRef[];
  readonly results: readonly string[];
}

/** The calls and results of a conversation, message by message: first the surface's own list, then the turns. */
export const toolUses = (own: readonly unknown[], turns: readonly ChatTurn[]): ToolUse[] => [
  ...own.map(toolUseOfMessage),
  ...turns.map(toolUseOfTurn),
];

function toolUseOfTurn(turn: ChatTurn): ToolUse {
  const calls = turn.role === 'assistant' ? (turn.toolCalls ?? []) : [];
  return { calls: calls.map(({ id }) => ({ id })), results: turn.role === 'tool' ? [turn.toolCallId] : [] };
}

function toolUseOfMessage(message: unknown): ToolUse {
  const { role, tool_calls, tool_call_id, content, parts } = fieldsOf(message);
  const calls: CallRef[] = itemsOf(tool_calls).map((call) => ({ id: textOf(fieldsOf(call).id) }));
  const results = role === 'tool' ? [textOf(tool_call_id)] : [];
  for (const block of itemsOf(content)) {
    const { type, id, tool_use_id } = fieldsOf(block);
    if (type === 'tool_use') calls.push({ id: textOf(id) });
    if (type === 'tool_result') results.push(textOf(tool_use_id));
  }
  for (const part of itemsOf(parts)) {
    const { functionCall, functionResponse } = fieldsOf(part);
    const called = fieldsOf(functionCall);
    const answered = fieldsOf(functionResponse);
    // A Gemini-style call may lack an ID; its result then refers to the name.
    const name = textOf(called.name);
    if (functionCall !== undefined) calls.push({ id: textOf(called.id) || name, name });
    if (functionResponse !== undefined) results.push(textOf(answered.id) || textOf(answered.name));
  }
  return { calls, results };
}

export interface Start {
  readonly surface: Surface;
  readonly model: string | undefined;
  readonly system: string | undefined;
  readonly base: JsonObject;
  readonly history: History;
  readonly settings: ChatSettings;
  readonly session: Session | undefined;
  /** The system prompt that a session keeps: also that of --body and --set. */
  readonly heldSystem: string | undefined;
  readonly silenceMs: number;
}

/**
 * Reads the conversation's start from flags, body, session and profile, before any question. Throws `usage` for
 * unreadable or conflicting input.
 */
export async function readStart(given: ChatFlags & SaidBy, ctx: Context): Promise<Start> {
  const { host, signal } = ctx;
  const deps = { cwd: host.cwd, stdin: host.stdin, signal, note: ctx.io.note };
  const inForce = await ctx.settings();
  const base = await baseBody(ctx);
  const session = await sessionOf(given, givesTurns(given, base, ctx), ctx);
  const held = session?.settings ?? {};
  // The surface of a stored session has priority over the profile's default.
  const api = given.stored?.includes('api') ? (held.api ?? given.api) : (given.api ?? held.api);
  const surface = await loadSurface(api ?? 'completions');
  const history = given.messages === undefined ? {} : await readHistory(given.messages, surface, deps);
  const sets = ctx.globals.set ?? [];
  const known = held.api === surface.api ? held.model : undefined;
  const by = given.continue ? '--continue' : '--session';
  const kept = Object.keys(held).filter((field) => field !== 'model' || known !== undefined);
  const said = [...saidIn(base, sets), ...systemSaid(history, base), ...kept.map((at): Said => [by, [at]])];
  const modelOf = ({ model: typed }: ChatFlags, under: JsonObject, over: readonly string[]) => {
    const ofModel = over.filter((raw) => raw.startsWith('model='));
    const { model } = applySets({ model: typed ?? under.model }, ofModel);
    return typeof model === 'string' ? model : (known ?? defaultModel(surface.api, inForce));
  };
  const flags = withoutYieldingIn(surface, given, modelOf, ctx.io.note, said, base, sets);
  const ofSystem = sets.filter((raw) => raw.startsWith('system'));
  const { system: own, systemInstruction: ofBody = own } = applySets(base, ofSystem);
  const typed = await readTypedText({ flag: '--system', text: flags.system, file: flags.systemFile }, deps);
  const system = typed ?? history.system ?? (ofBody === undefined ? held.system : undefined);
  const inBody = surface.api === 'completions' ? '' : systemText(ofBody);
  return {
    surface,
    base,
    history,
    session,
    model: modelOf(flags, base, sets),
    system,
    heldSystem: system ?? held.system ?? (inBody || undefined),
    settings: await readSettings(flags, surface, deps, base.tools === undefined ? held.tools : undefined),
    silenceMs: inForce.timeoutMs.source === 'default' ? SLOW_ANSWER_SILENCE_MS : inForce.timeoutMs.value,
  };
}

/** The places in the conversation that hold a system prompt. */
function systemSaid({ own, ownSystem = {}, system }: History, base: JsonObject): Said[] {
  const isTold = (list: unknown) => itemsOf(list).some((each) => fieldsOf(each).role === 'system');
  const isFiled = system !== undefined || Object.keys(ownSystem).length > 0 || isTold(own);
  return isFiled || isTold(base.messages) ? [[isFiled ? '--messages' : '--body', ['system']]] : [];
}

/** The flag that supplies turns, in place of a session. */
function givesTurns({ messages }: ChatFlags, base: JsonObject, { globals }: Context): string | undefined {
  const isTurns = (field = '') => ['messages', 'contents'].includes(field);
  if (messages !== undefined) return '--messages';
  if (Object.keys(base).some(isTurns)) return '--body';
  return globals.set?.some((raw) => isTurns(parseSet(raw).path[0])) ? '--set' : undefined;
}

/** The session to continue, or a new one that is stored, if a person sees the answer and no flag objects. */
async function sessionOf(
  { session: named, continue: goesOn, new: fresh }: ChatFlags,
  other: string | undefined,
  ctx: Context,
): Promise<Session | undefined> {
  if (goesOn && named !== undefined)
    throw usage('--continue and --session both name the session', 'give one of them');
  const name = goesOn ? await newestSession(ctx) : named;
  const { globals, io, host } = ctx;
  if (name === undefined) {
    if (fresh) throw usage('--new starts a session over, and none is named', 'name it with --session NAME');
    // A conversation from a file is kept in that file.
    const isFiled = other !== undefined || globals.body !== undefined;
    if (isFiled || globals.dryRun || globals.curl || !io.stderrIsTerminal) return undefined;
    if (readSwitch(host.env, 'GW_LEDGER_PROMPTS') === false || !(await ctx.settings()).keepTalks.value)
      return undefined;
    return (await import('../../chat/session/session.ts')).keptTalk(ctx);
  }
  const flag = goesOn ? '--continue' : '--session';
  if (other !== undefined) throw usage(`${flag} and ${other} both give the conversation`, 'give one of them');
  const { openSession } = await import('../../chat/session/session.ts');
  const opened = await openSession(name, { fresh }, ctx);
  const turns = counted(opened.turns.length, 'turn');
  const what = fresh ? `starts the talk ${name} over` : `goes on with the talk ${name}, ${turns} so far`;
  if (goesOn) io.note(`this ${what}`);
  return opened;
}

async function newestSession({ host }: Context): Promise<string> {
  const { storedSessions } = await import('../../chat/session/session.ts');
  const [newest] = storedSessions(host);
  if (newest) return newest.name;
  throw new GwError('not_found', '--continue: there is no talk to go on with', {
    hint: 'keep one under a name: gw chat --session NAME',
  });
}

/** The messages surface has no default model, because the document does not list the models it serves. */
const defaultModel = (api: ChatApi, { models }: Settings): string | undefined =>
  api === 'messages' && models.chat.source === 'default' ? undefined : models.chat.value;
