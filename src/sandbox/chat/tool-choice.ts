import { refuseField } from '../request-body.ts';
import type { Question, ToolOffer } from './question.ts';

/** A choice checked against the tools there are. Throws Refusal (400) that names the field. */
export function checkedChoice(
  choice: Question['toolChoice'] | undefined,
  tools: readonly ToolOffer[],
  path: readonly string[],
): Question['toolChoice'] {
  const refuse = (why: string) => refuseField(path, why);
  if (choice === undefined) throw refuse('not a choice that this endpoint knows');
  if (choice === 'any' && tools.length === 0) throw refuse('there is no tool to call');
  if (typeof choice === 'object' && !tools.some((tool) => tool.name === choice.name)) {
    throw refuse(`there is no tool ${choice.name}`);
  }
  return choice;
}

/** The tool that a result answers; throws Refusal (400) for a result of a call that was never made. */
export function nameOfCall(
  names: ReadonlyMap<string, string>,
  id: string,
  path: readonly PropertyKey[],
): string {
  const name = names.get(id);
  if (name !== undefined) return name;
  throw refuseField(path, `no earlier message has a call ${id}`);
}
