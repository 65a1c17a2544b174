import {
  type ChatSettings,
  type ChatTool,
  type ChatTurn,
  chatApis,
  DEFAULT_MAX_TOKENS,
} from '../../chat/chat.ts';
import { flagOf, type JsonObject, refuseUndocumented, type Surface } from '../../chat/surface.ts';
import { GwError, usage } from '../../errors.ts';
import {
  alsoFrom,
  type FlagValues,
  list,
  on,
  oneOf,
  onOff,
  parsed,
  text,
  whole,
  withValue,
} from '../../flags/flag.ts';
import { promptFlags } from '../../flags/job-flags.ts';
import { applySets, type JsonBodyDeps, readJsonBody, readJsonFile } from '../../flags/json-body.ts';
import { type Said, type SaidBy, withoutYielding } from '../../flags/yielding.ts';
import { reasoningEfforts, thinkingLevels } from '../../gateway/chat/models.ts';
import { fieldsOf, itemsOf } from '../../gateway/json-value.ts';

export type ChatFlags = FlagValues<typeof chatFlags>;

/**
 * Reads the settings from the flags; without `--tool`, the session's tools are kept. Throws `usage` for a setting that
 * the surface does not document (naming `--set`), conflicting flags, and unreadable files.
 */
export async function readSettings(
  flags: ChatFlags & SaidBy,
  surface: Surface,
  deps: JsonBodyDeps & { readonly note: (text: string) => void },
  keptTools: readonly ChatTool[] | undefined,
): Promise<ChatSettings> {
  const tools = flags.tool ? await readTools(flags.tool, deps) : keptTools;
  const settings: ChatSettings & SaidBy = {
    ...flags,
    tools,
    toolChoice: checkedChoice(flags.toolChoice, tools),
    responseFormat: await readFormat(flags.responseFormat, deps),
    safety: flags.safety?.map(readSafety),
  };
  const { stored = [], maxTokens, thinking: mode, reasoningEffort: effort = 'none' } = settings;
  const isTyped = flags.api !== undefined && !stored.includes('api');
  const left = isTyped ? stored.filter((key) => yieldsTo(surface, key, settings, deps.note)) : [];
  const all = { ...settings, ...Object.fromEntries(left.map((key) => [key, undefined])) };
  refuseUndocumented(all, surface);
  const noLimit = '--compat-max-tokens spells the limit of --max-tokens, and none is given';
  if (all.compatMaxTokens && maxTokens === undefined && !stored.includes('compatMaxTokens'))
    throw usage(noLimit, 'add --max-tokens N');
  if (mode === 'off' && effort !== 'none')
    throw usage(`--thinking off and --reasoning-effort ${effort} contradict each other`, 'give one of them');
  return all;
}

/** Removes profile defaults that yield to typed or stored settings; `modelOf` returns the requested model. */
export function withoutYieldingIn(
  surface: Surface,
  flags: ChatFlags,
  modelOf: (flags: ChatFlags, base: JsonObject, sets: readonly string[]) => string | undefined,
  note: (text: string) => void,
  said: readonly Said[],
  base: JsonObject,
  sets: readonly string[],
): ChatFlags & SaidBy {
  const flagAt = (at: readonly PropertyKey[]) =>
    /^(system|api)$/.test(String(at[0])) ? `--${String(at[0])}` : flagOf(surface, at);
  const asked = ({ tool: _, ...settings }: ChatFlags, under: JsonObject, over: readonly string[]) => {
    const model = modelOf(settings, under, over) ?? 'any';
    const turns = [{ role: 'user', parts: [{ type: 'text', text: 'any' }] }] as const;
    const body = surface.body({ model, turns, settings: settings as object, base: under, stream: false });
    return { schema: surface.schema(model), fields: { flagAt }, body: applySets(body, over) };
  };
  return withoutYielding(flags, asked, note, said, base, sets);
}

/** True if a profile default is dropped because the typed surface does not document it. */
function yieldsTo(surface: Surface, key: string, settings: object, note: (text: string) => void): boolean {
  try {
    refuseUndocumented({ [key]: settings[key as keyof typeof settings] }, surface);
    return false;
  } catch (error) {
    if (!(error instanceof GwError)) throw error;
    note(`${error.message}; this default of the profile is left out`);
    return true;
  }
}

function checkedChoice(choice: string | undefined, tools: readonly ChatTool[] | undefined) {
  if (choice === undefined || ['auto', 'none', 'required'].includes(choice) || tools === undefined)
    return choice;
  const names = tools.map(({ name }) => name);
  if (names.includes(choice)) return choice;
  throw usage(`--tool-choice ${choice}: no such tool`, `one of auto, none, required, ${names.join(', ')}`);
}

async function readFormat(format: string | undefined, deps: JsonBodyDeps) {
  if (format === undefined || format === 'json_object') return format;
  return fieldsOf(await readJsonBody(format, deps, '--response-format'));
}

/** Parses `CATEGORY=LEVEL` into an item of `safetySettings`; the document lists no values. Throws `usage`. */
function readSafety(raw: string): { category: string; threshold: string } {
  const [, category, threshold] = /^([A-Za-z_]+)=([A-Za-z_]+)$/.exec(raw) ?? [];
  if (category !== undefined && threshold !== undefined) return { category, threshold };
  const cure = 'write --safety HARM_CATEGORY_HARASSMENT=BLOCK_ONLY_HIGH';
  throw usage(`${withValue('--safety', raw)}: not of the form CATEGORY=LEVEL`, cure);
}

const number = (summary: string) =>
  parsed('N', summary, (raw, flag) => {
    if (/^-?(\d+\.?\d*|\.\d+)$/.test(raw)) return Number(raw);
    throw usage(`${withValue(flag, raw)}: not a number`, `write it as 0.7`);
  });

const thinking = parsed('adaptive|N|off', 'thinking: adaptive, a budget of N tokens, or off', (raw, flag) => {
  if (raw === 'adaptive' || raw === 'off') return raw;
  if (/^\d{1,9}$/.test(raw)) return Number(raw);
  const fault = `${withValue(flag, raw)}: neither adaptive nor off nor a number of tokens`;
  throw usage(fault, 'write --thinking off, or with --api messages --thinking adaptive');
});

export const chatFlags = alsoFrom(['preset'], {
  api: oneOf(
    chatApis,
    'the endpoint (default completions): chat completions, native messages, or Gemini-style',
  ),
  model: text('MODEL', 'model ID', { short: 'm', completes: 'model:chat' }),
  ...promptFlags,
  system: text('TEXT', 'system prompt, sent as it stands; - is stdin'),
  systemFile: text('FILE', 'file that holds the system prompt; - is stdin', { from: [] }),
  image: list('REF', 'image for the prompt: file, URL, data URI, or - for a picture on stdin'),
  messages: text('FILE', 'the whole conversation as JSON, - is stdin; a prompt follows after it'),
  session: text('NAME', 'continue a stored conversation, or begin one', { completes: 'session' }),
  continue: on('continue the session that was talked in last'),
  new: on('start the session over; the old one is kept aside'),
  temperature: number('sampling temperature'),
  topP: number('nucleus sampling (messages, geo)'),
  topK: whole('N', 'sample from the K likeliest tokens (messages, geo)'),
  stop: list('TEXT', 'end the answer before this text (messages, geo)'),
  maxTokens: whole(
    'N',
    `output limit in tokens, reasoning included (messages require one: ${DEFAULT_MAX_TOKENS}, with a thinking budget on top)`,
  ),
  compatMaxTokens: on('spell the limit max_tokens (completions)'),
  reasoningEffort: text(
    reasoningEfforts.join('|'),
    'how much to reason, depending on the model (completions)',
    { choices: reasoningEfforts },
  ),
  thinking,
  thinkingLevel: {
    ...text(thinkingLevels.join('|'), 'how much to think (completions with a geo model, geo)', {
      choices: thinkingLevels,
    }),
    // The Gemini-style API writes these values in capitals.
    parse: (raw: string) => raw.toLowerCase(),
  },
  showThoughts: on("the model's thoughts on stderr"),
  tool: list('FILE', 'JSON description of a function that the model may call'),
  toolChoice: text('auto|none|required|NAME', 'which tool the model calls'),
  toolResult: list(
    'ID=VALUE',
    'what a called tool gave back; needs the conversation (--session or --messages)',
  ),
  responseFormat: text(
    'json_object|FILE',
    'answer in JSON, or by the JSON schema in a file (completions, geo)',
  ),
  candidates: whole('N', 'how many answers to give, all of which are printed (geo)'),
  safety: list('CATEGORY=LEVEL', "what the model's own filter lets pass (geo)"),
  stream: onOff('the answer as it comes (the default); with --json one event a line'),
  raw: on('the answer as it came, its Markdown not drawn on a terminal'),
  usage: on('token figures on stderr, cached tokens too'),
});

/**
 * Reads tools from files: one tool or a list per file, in the form of any of the three surfaces. Throws `usage` for a file
 * that cannot be read, holds no tool, or repeats a tool's name.
 */
async function readTools(files: readonly string[], deps: JsonBodyDeps): Promise<ChatTool[]> {
  const tools: ChatTool[] = [];
  for (const file of files) {
    const found = toolsIn(await readJsonFile(file, deps, '--tool'));
    const cure = 'write {"name": …, "description": …, "parameters": {JSON schema}}, or a list of them';
    if (found.length === 0 || found.includes(undefined))
      throw usage(`--tool ${file}: not the description of a function`, cure);
    for (const tool of found.filter((each) => each !== undefined)) {
      if (tools.some(({ name }) => name === tool.name))
        throw usage(`--tool ${file}: there are two tools of the name ${tool.name}`, 'rename one of them');
      tools.push(tool);
    }
  }
  return tools;
}

function toolsIn(value: unknown): (ChatTool | undefined)[] {
  if (Array.isArray(value)) return value.flatMap(toolsIn);
  const { function: inner, functionDeclarations } = fieldsOf(value);
  if (functionDeclarations !== undefined) return itemsOf(functionDeclarations).map(toolOf);
  return [toolOf(inner ?? value)];
}

function toolOf(value: unknown): ChatTool | undefined {
  const { name, description, parameters, input_schema } = fieldsOf(value);
  if (typeof name !== 'string' || name === '') return undefined;
  const schema = parameters ?? input_schema;
  return {
    name,
    ...(typeof description === 'string' && { description }),
    ...(typeof schema === 'object' && schema !== null && { parameters: fieldsOf(schema) }),
  };
}

/** Parses `ID=VALUE` into the turn that answers a call. Throws `usage` for another form or a repeated ID. */
export function readToolResults(typed: readonly string[]): Extract<ChatTurn, { role: 'tool' }>[] {
  const results = typed.map((raw) => {
    const at = raw.indexOf('=');
    if (at > 0) return { role: 'tool', toolCallId: raw.slice(0, at), content: raw.slice(at + 1) } as const;
    throw usage(
      `--tool-result ${raw.slice(0, 80)}: not of the form ID=VALUE`,
      'the ID stands in the call that gw printed',
    );
  });
  for (const [index, { toolCallId }] of results.entries()) {
    if (results.findIndex((other) => other.toolCallId === toolCallId) !== index)
      throw usage(`--tool-result: two results for the call ${toolCallId}`, 'give one for each call');
  }
  return results;
}
