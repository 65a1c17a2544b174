import type { ChatTool, ChatTurn } from '../../chat/chat.ts';
import { fieldsOf, itemsOf } from '../../chat/json-value.ts';
import { usage } from '../../errors.ts';
import { type JsonBodyDeps, readJsonFile } from '../../flags/json-body.ts';

/**
 * The tools in files: one or a list in each, as any of the three surfaces spells them.
 * Throws `usage` for a file that cannot be read, holds no tool, or two tools of one name.
 */
export async function readTools(files: readonly string[], deps: JsonBodyDeps): Promise<ChatTool[]> {
  const tools: ChatTool[] = [];
  for (const file of files) {
    const found = toolsIn(await readJsonFile(file, deps, '--tool'));
    const [first] = found;
    if (first === undefined || found.includes(undefined)) {
      throw usage(
        `--tool ${file}: not the description of a function`,
        'write {"name": …, "description": …, "parameters": {JSON schema}}, or a list of them',
      );
    }
    for (const tool of found) {
      if (tool === undefined) continue;
      if (tools.some(({ name }) => name === tool.name)) {
        throw usage(`--tool ${file}: there are two tools of the name ${tool.name}`, 'rename one of them');
      }
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

/** `ID=VALUE` -> the turn that answers a call. Throws `usage` for another form, or an ID given twice. */
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
    if (results.findIndex((other) => other.toolCallId === toolCallId) !== index) {
      throw usage(`--tool-result: two results for the call ${toolCallId}`, 'give one for each call');
    }
  }
  return results;
}
