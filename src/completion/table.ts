import type { AnyCommand, Node } from '../command.ts';
import { type Completes, type Flag, flagName, globalFlags } from '../flags/flag.ts';
import { modelSheets } from '../gateway/model-facts/sheets.ts';

// The command tree as data for completion, made when gw is built, so that completing loads no command.

/** The spellings and values of one flag. */
export interface CompletionFlag {
  /** Alternatives such as `--watermark` and `--no-watermark`: giving one of them gives the flag. */
  readonly names: readonly string[];
  readonly short?: string;
  readonly summary: string;
  readonly takesValue?: true;
  /** True if one value can hold several, separated by commas. */
  readonly commas?: true;
  readonly list?: true;
  readonly choices?: readonly string[];
  readonly completes?: Completes;
}

export interface CompletionNode {
  readonly name: string;
  readonly summary: string;
  readonly children?: readonly CompletionNode[];
  /** Indexes into the table's list of flags, the command's own first. */
  readonly flags: readonly number[];
  /** For the words after the command: the choices of the first word, and the kind of each. */
  readonly args?: { readonly choices?: readonly string[]; readonly completes?: Completes };
}

export interface CompletionTable {
  readonly flags: readonly CompletionFlag[];
  /** The IDs of gw's own model tables. */
  readonly models: readonly string[];
  readonly root: CompletionNode;
}

const MAX_SUMMARY_CHARACTERS = 76;

/** Maps the placeholder of a value in help to the way to complete it. */
const completesByPlaceholder: readonly { readonly form: RegExp; readonly completes: Completes }[] = [
  { form: /^\[ID=\]REF$/, completes: 'named-file' },
  { form: /(^|\|)(FILE|PATH|REF)$/, completes: 'file' },
];

const everywhere: readonly CompletionFlag[] = [
  { names: ['--help'], short: 'h', summary: 'show this help' },
  { names: ['--version'], short: 'V', summary: 'print the version of gw' },
];

/** The table of a command tree; loads every command. */
export async function completionTable(program: Node): Promise<CompletionTable> {
  const flags: CompletionFlag[] = [];
  const places = new Map<string, number>();
  const place = (flag: CompletionFlag): number => {
    const text = JSON.stringify(flag);
    const known = places.get(text) ?? flags.push(flag) - 1;
    places.set(text, known);
    return known;
  };
  const nodeOf = async (node: Node): Promise<CompletionNode> => {
    const command = await node.load?.();
    // One child after the other, so that the same tree always gives the same table.
    const children: CompletionNode[] = [];
    for (const child of node.children ?? []) children.push(await nodeOf(child));
    const typed = [...Object.entries<Flag>(command?.flags ?? {}), ...sharedFlags(command)];
    return {
      name: node.name,
      summary: short(node.summary),
      ...(node.children && { children }),
      flags: [...typed.map(([key, flag]) => flagOf(key, flag)), ...everywhere].map(place),
      ...argsOf(command),
    };
  };
  const root = await nodeOf(program);
  return { flags, models: (await modelSheets()).map(({ id }) => id), root };
}

/** The shared options that have a meaning for this command. */
function sharedFlags(command: AnyCommand | undefined): [string, Flag][] {
  const without: Record<AnyCommand['sends'], readonly string[]> = {
    body: [],
    query: ['set', 'body'],
    nothing: ['set', 'body', 'dryRun', 'curl'],
  };
  const left = command ? without[command.sends] : [];
  return Object.entries<Flag>(globalFlags).filter(([key]) => !left.includes(key));
}

function flagOf(key: string, flag: Flag): CompletionFlag {
  const name = flagName(key);
  const opposite = `--no-${name.slice(2)}`;
  // A choice with a space would need quotes, which differ between shells.
  const offered = [...(flag.choices ?? []), ...(flag.offers ?? [])];
  const choices = offered.filter((choice) => !choice.includes(' '));
  const completes =
    flag.completes ??
    completesByPlaceholder.find(({ form }) => flag.value !== undefined && form.test(flag.value))?.completes;
  return {
    names: flag.negativeOnly ? [opposite] : flag.negatable ? [name, opposite] : [name],
    ...(flag.short && { short: flag.short }),
    summary: short(flag.summary),
    ...(flag.value !== undefined && { takesValue: true as const }),
    ...(flag.value?.includes(',') && { commas: true as const }),
    ...(flag.list && { list: true as const }),
    ...(choices.length > 0 && { choices }),
    ...(completes && { completes }),
  };
}

function argsOf(command: AnyCommand | undefined): Pick<CompletionNode, 'args'> {
  const { choices, completes } = command?.args ?? {};
  if (!choices && !completes) return {};
  return { args: { ...(choices && { choices }), ...(completes && { completes }) } };
}

/** The first clause of a summary, cut to the width of a menu line. */
function short(summary: string): string {
  const [first = ''] = summary.split('\n');
  const characters = [...first];
  if (characters.length <= MAX_SUMMARY_CHARACTERS) return first;
  return `${characters
    .slice(0, MAX_SUMMARY_CHARACTERS)
    .join('')
    .replace(/\s\S*$/, '')} …`;
}
