import { Command, CommanderError, Option } from 'commander';
import type { AnyCommand, CommandInput, Node } from './command.ts';
import { usage } from './errors.ts';
import { type Flag, type FlagSet, flagName } from './flags/flag.ts';
import { type GlobalFlags, globalFlags } from './flags/global.ts';
import { nearest } from './flags/nearest.ts';

// argv -> the command that is meant and what was typed: the one adapter between commands and Commander.

/** Everything argv said, before anything is done about it. */
export interface Invocation {
  readonly path: readonly string[];
  readonly command: AnyCommand;
  readonly input: CommandInput<FlagSet>;
}

/** Thrown by parsing when help is asked for: the text for stdout. */
export class HelpShown extends Error {
  constructor(readonly text: string) {
    super('help');
  }
}

class Typed {
  private readonly values = new Map<string, { raw: string; value: unknown }>();

  add(key: string, flag: Flag, raw: string | undefined, negated: boolean): void {
    const name = negated || flag.negativeOnly ? `--no-${flagName(key).slice(2)}` : flagName(key);
    const value = raw === undefined ? !(negated || flag.negativeOnly) : flag.parse(raw, name);
    const before = this.values.get(key);
    if (flag.list && before) {
      this.values.set(key, { raw: '', value: [...(before.value as unknown[]), ...(value as unknown[])] });
      return;
    }
    const shown = raw ?? String(value);
    if (before && before.raw !== shown) {
      throw usage(
        raw === undefined
          ? `${flagName(key)} and --no-${flagName(key).slice(2)} contradict each other`
          : `${name} was given twice with different values: ${before.raw} and ${shown}`,
        'give it once',
      );
    }
    this.values.set(key, { raw: shown, value });
  }

  of(flags: FlagSet): Record<string, unknown> {
    const found: Record<string, unknown> = {};
    for (const key of Object.keys(flags)) {
      const typed = this.values.get(key);
      if (typed) found[key] = typed.value;
    }
    return found;
  }
}

const GLOBAL_GROUP = 'Options of every command:';

function addFlag(command: Command, key: string, flag: Flag, typed: Typed, shared?: 'shown' | 'hidden'): void {
  const short = flag.short ? `-${flag.short}, ` : '';
  const name = flagName(key);
  const value = flag.value ? ` <${flag.value}>` : '';
  const add = (flags: string, summary: string, negated: boolean) => {
    const option = new Option(flags, summary);
    if (shared) option.helpGroup(GLOBAL_GROUP);
    option.hideHelp(shared === 'hidden' || flag.hidden === true);
    command.addOption(option);
    command.on(`option:${option.name()}`, (raw: string | null | undefined) =>
      typed.add(key, flag, flag.value ? (raw ?? '') : undefined, negated),
    );
  };
  const choices =
    flag.choices && flag.value !== flag.choices.join('|') ? ` (${flag.choices.join(', ')})` : '';
  if (!flag.negativeOnly)
    add(`${short}${name}${value}`, `${flag.summary}${choices}${flag.list ? ' (repeatable)' : ''}`, false);
  if (flag.negatable) add(`--no-${name.slice(2)}`, `the opposite of ${name}`, true);
  if (flag.negativeOnly) add(`${short}--no-${name.slice(2)}`, flag.summary, false);
}

/**
 * argv (without node and script) -> what to run. Loads only the commands on the way.
 * Throws GwError `usage` for an unknown command or flag, with a suggestion, and HelpShown for help.
 */
export async function parseArgv(
  argv: readonly string[],
  root: Node,
  host: { readonly columns: number | undefined; readonly version: string },
): Promise<Invocation> {
  const typed = new Typed();
  let found: Invocation | undefined;
  let helpText = '';
  const top = new Command(root.name).exitOverride().configureOutput({
    writeOut: (text) => {
      helpText += text;
    },
    writeErr: () => {},
    outputError: () => {},
    getOutHelpWidth: () => helpWidth(host.columns),
    getOutHasColors: () => false,
  });

  /** The command whose words are being read. */
  let deepest = top;
  const grow = (command: Command, node: Node, path: readonly string[], sends?: AnyCommand['sends']): void => {
    deepest = command;
    command
      .description(node.summary)
      .helpCommand(false)
      .helpOption('-h, --help', 'show this help')
      .enablePositionalOptions();
    command
      .addOption(new Option('-V, --version', 'print the version of gw').helpGroup(GLOBAL_GROUP))
      .on('option:version', () => {
        throw new HelpShown(`${host.version}\n`);
      });
    // A group's help is a list of commands; the shared options stand in the help of gw itself and of each command.
    const shared = node.children && path.length > 0 ? 'hidden' : 'shown';
    for (const [key, flag] of Object.entries(globalFlags))
      addFlag(command, key, flag, typed, appliesTo(key, sends) ? shared : 'hidden');
    const children = new Map((node.children ?? []).map((child) => [child.name, child]));
    for (const child of children.values())
      command.command(child.name).description(child.summary).usage(usageOf(child));
    command.hook('preSubcommand', async (_, sub) => {
      const child = children.get(sub.name());
      if (!child) return;
      const childPath = [...path, child.name];
      const sends = child.load && (await equip(sub, child, child.load, childPath));
      grow(sub, child, childPath, sends);
    });
    if (!node.load) {
      command.action(() => {
        const word = command.args[0];
        if (word === undefined) throw new HelpShown(command.helpInformation());
        throw unknownCommand(word, [...children.keys()], path);
      });
      command.argument('[command]').allowExcessArguments();
      command.usage(`${node.children ? 'COMMAND ' : ''}[options]`);
    }
  };

  const equip = async (
    command: Command,
    node: Node,
    load: NonNullable<Node['load']>,
    path: readonly string[],
  ) => {
    const spec = await load();
    for (const [key, flag] of Object.entries(spec.flags)) addFlag(command, key, flag, typed);
    if (spec.args) {
      const { name, summary, required, many } = spec.args;
      const word = `${name}${many ? '...' : ''}`;
      command.argument(required ? `<${word}>` : `[${word}]`, summary);
    }
    command.usage(`${usageOf({ ...node, ...spec })}`);
    const example = spec.examples.map((line) => `  $ ${line}`).join('\n');
    const notes = (spec.notes ?? []).map((note) => `\n${wrapped(note, host.columns)}`).join('\n');
    command.addHelpText('after', `${notes}${notes && '\n'}\nExamples:\n${example}`);
    const children = spec.args ? [] : (node.children ?? []).map(({ name }) => name);
    if (children.length > 0) command.allowExcessArguments();
    command.action(() => {
      const [word] = command.args;
      if (children.length > 0 && word !== undefined) throw unknownCommand(word, children, path);
      const input = {
        args: command.args,
        flags: typed.of(spec.flags),
        globals: typed.of(globalFlags) as GlobalFlags,
      };
      found = { path, command: spec, input };
    });
    return spec.sends;
  };

  grow(top, root, []);
  try {
    await top.parseAsync([...argv], { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) {
      if (error.code === 'commander.helpDisplayed' || error.code === 'commander.help')
        throw new HelpShown(helpText);
      throw fromCommander(error, deepest);
    }
    throw error;
  }
  if (!found) throw new HelpShown(top.helpInformation());
  checkSharedOptions(found);
  return found;
}

/** A note in lines of the help's width; lines that are already broken stay as they are. */
function wrapped(note: string, columns: number | undefined): string {
  const width = helpWidth(columns);
  return note
    .split('\n')
    .flatMap((line) => line.match(new RegExp(`.{1,${width}}(?:\\s+|$)`, 'g')) ?? [line])
    .map((line) => line.trimEnd())
    .join('\n');
}

const helpWidth = (columns: number | undefined): number => Math.min(columns || 80, 120);

function usageOf(node: { readonly children?: unknown; readonly args?: AnyCommand['args'] }): string {
  if (node.children) return 'COMMAND [options]';
  const { name, required, many } = node.args ?? { name: '' };
  const word = name && `${name}${many ? '...' : ''}`;
  return word ? `[options] ${required ? word : `[${word}]`}` : '[options]';
}

function unknownCommand(word: string, known: readonly string[], path: readonly string[]) {
  const where = ['gw', ...path].join(' ');
  const [near] = nearest(word, known, 1);
  const hint = near ? `did you mean ${where} ${near}?` : `${where} takes ${known.join(', ')}`;
  return usage(`unknown command: ${where} ${word}`, `${hint}; see ${where} --help`);
}

/** Commander's message without its prefix; an unknown flag is named without its value, which may be a key. */
function fromCommander(error: CommanderError, { options }: Command) {
  const message = error.message.replace(/^error: /, '');
  const unknown = /^unknown option '(--[^='\n]*|-.)/s.exec(message)?.[1];
  if (unknown === undefined) return usage(message.split('\n')[0] ?? '', 'see --help');
  const long = options.flatMap((option) => (option.hidden ? [] : (option.long ?? [])));
  if (long.includes(unknown)) return usage(`${unknown} takes no value`, `write ${unknown} alone`);
  const [near] = unknown.length > 3 ? nearest(unknown, long, 1) : [];
  const hint = keyFlags.has(unknown.replaceAll('_', '-'))
    ? 'no flag takes the key, as it would show in the process list: set GW_API_KEY, or name a file with --api-key-file'
    : near
      ? `did you mean ${near}?`
      : 'see --help';
  return usage(`unknown option '${shownName(unknown)}'`, hint);
}

/** What people type who mean to give the key itself. */
const keyFlags: ReadonlySet<string> = new Set(['--api-key', '--key', '--token']);

/** A flag's name for a message; what was typed in its place may be anything. */
const shownName = (name: string): string => (name.length > 40 ? `${name.slice(0, 40)}…` : name);

/** Options of every command that have no meaning for this one are refused, never ignored. */
function checkSharedOptions({ command, input, path }: Invocation): void {
  const { globals } = input;
  for (const key of [...ofBodies, ...ofRequests]) {
    if (globals[key] === undefined || appliesTo(key, command.sends)) continue;
    const lacks = ofBodies.some((each) => each === key) ? 'request body' : 'request that could be shown';
    throw usage(`${flagName(key)}: gw ${path.join(' ')} sends no ${lacks}`, 'leave it out');
  }
}

const ofBodies = ['set', 'body'] as const;
const ofRequests = ['dryRun', 'curl'] as const;

/** Whether a shared option means something for a command; those that do not are neither shown nor taken. */
function appliesTo(key: string, sends: AnyCommand['sends'] | undefined): boolean {
  const isOf = (keys: readonly string[]) => keys.includes(key);
  if (isOf(ofBodies)) return sends === undefined || sends === 'body';
  return !isOf(ofRequests) || sends !== 'nothing';
}
