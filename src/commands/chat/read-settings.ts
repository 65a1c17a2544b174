import type { ChatSettings, ChatTool } from '../../chat/chat.ts';
import { fieldsOf } from '../../chat/json-value.ts';
import type { Surface } from '../../chat/surface.ts';
import { usage } from '../../errors.ts';
import type { FlagValues } from '../../flags/flag.ts';
import { type JsonBodyDeps, readJsonBody } from '../../flags/json-body.ts';
import type { chatFlags } from './flags.ts';
import { readTools } from './read-tools.ts';

export type ChatFlags = FlagValues<typeof chatFlags>;

/**
 * What the flags ask for beside the conversation. Throws `usage` for what the surface does not document (naming
 * `--set`), flags that contradict each other, and files that cannot be read.
 */
export async function readSettings(
  flags: ChatFlags,
  surface: Surface,
  deps: JsonBodyDeps,
): Promise<ChatSettings> {
  const tools = flags.tool && (await readTools(flags.tool, deps));
  const settings: ChatSettings = {
    temperature: flags.temperature,
    topP: flags.topP,
    topK: flags.topK,
    stop: flags.stop,
    maxTokens: flags.maxTokens,
    compatMaxTokens: flags.compatMaxTokens,
    reasoningEffort: flags.reasoningEffort,
    thinking: flags.thinking,
    thinkingLevel: flags.thinkingLevel,
    showThoughts: flags.showThoughts,
    tools,
    toolChoice: checkedChoice(flags.toolChoice, tools),
    responseFormat: await readFormat(flags.responseFormat, deps),
    usage: flags.usage,
  };
  const [first] = surface.undocumented(settings);
  if (first) throw usage(`${first.flag}: not documented for --api ${surface.api}`, withSet(first.hint));
  if (flags.compatMaxTokens && flags.maxTokens === undefined) {
    throw usage(
      '--compat-max-tokens spells the limit of --max-tokens, and none is given',
      'add --max-tokens N',
    );
  }
  if (flags.thinking === 'off' && flags.reasoningEffort !== undefined && flags.reasoningEffort !== 'none') {
    throw usage(
      `--thinking off and --reasoning-effort ${flags.reasoningEffort} contradict each other`,
      'give one of them',
    );
  }
  return settings;
}

/** What a surface does not document can still be sent. */
const withSet = (hint: string): string =>
  hint.includes('--set ') ? hint : `${hint}; any other field goes through --set PATH=VALUE`;

function checkedChoice(
  choice: string | undefined,
  tools: readonly ChatTool[] | undefined,
): string | undefined {
  if (choice === undefined || ['auto', 'none', 'required'].includes(choice) || tools === undefined)
    return choice;
  const names = tools.map(({ name }) => name);
  if (names.includes(choice)) return choice;
  throw usage(`--tool-choice ${choice}: no such tool`, `one of auto, none, required, ${names.join(', ')}`);
}

async function readFormat(
  format: string | undefined,
  deps: JsonBodyDeps,
): Promise<ChatSettings['responseFormat']> {
  if (format === undefined || format === 'json_object') return format;
  return fieldsOf(await readJsonBody(format, deps, '--response-format'));
}
