import { Command, CommanderError, Option } from 'commander';
import type { AnyCommand, CommandInput, Node } from './command.ts';
import { usage } from './errors.ts';
import { type Flag, type FlagSet, flagName, type GlobalFlags, globalFlags } from './flags/flag.ts';
import type { Style } from './io/style.ts';

// argv -> the command and its typed input. Only this file imports Commander.

/** The result of parsing argv, before anything runs. */
export interface Invocation {
  readonly path: readonly string[];
  readonly command: AnyCommand;
  readonly input: CommandInput<FlagSet>;
}

/** Thrown when help or the version is requested; `text` makes the text for stdout. */
export class HelpShown extends Error {
  constructor(readonly text: (style: Style) => string) {
    super('help');
  }
}

/** Commander takes every word with a dash for a flag; a leading NUL hides words like `-5` from it. */
const shielded = (word: string): string => (/^-+[^-a-z]/i.test(word) ? `\0${word}` : word);
const asTyped = (word: string): string => word.replace(/^\0(?=-)/, '');

class Typed {
  constructor(private readonly argv: readonly string[]) {}

  private readonly values = new Map<string, { raw: string; value: unknown }>();

  /** `-m=x` means x, as `--model=x` does. */
  valueOf = (raw: string, short?: string) =>
    asTyped(this.argv.includes(`-${short}${raw}`) ? raw.replace(/^=/, '') : raw);

  add(key: string, flag: Flag, raw: string | undefined, negated: boolean): void {
    const name = negated || flag.negativeOnly ? `--no-${flagName(key).slice(2)}` : flagName(key);
    const value = raw === undefined ? !(negated || flag.negativeOnly) : flag.parse(raw, name);
    const before = this.values.get(key);
    if (flag.list && before) {
      this.values.set(key, { raw: '', value: [...(before.value as unknown[]), ...(value as unknown[])] });
      return;
    }
    const shown = raw ?? String(value);
    if (before && before.raw !== shown)
      throw raw === undefined
        ? usage(
            `${flagName(key)} and --no-${flagName(key).slice(2)} contradict each other`,
            'give one of them',
          )
        : usage(`${name} was given twice with different values: ${before.raw} and ${shown}`, 'give it once');
    this.values.set(key, { raw: shown, value });
  }

  of(flags: FlagSet): Record<string, unknown> {
    const keys = Object.keys(flags).filter((key) => this.values.has(key));
    return Object.fromEntries(keys.map((key) => [key, this.values.get(key)?.value]));
  }
}

/** The command that the parser has reached, with its node. */
interface Reached {
  readonly command: Command;
  readonly node: Node;
  readonly path: readonly string[];
  readonly spec?: AnyCommand | undefined;
}

function addFlag(command: Command, key: string, flag: Flag, typed: Typed, isHidden = false): void {
  const short = flag.short ? `-${flag.short}, ` : '';
  const name = flagName(key);
  const value = flag.value ? (flag.optional ? ` [${flag.value}]` : ` <${flag.value}>`) : '';
  const add = (flags: string, negated: boolean) => {
    const option = new Option(flags).hideHelp(isHidden);
    command.addOption(option);
    command.on(`option:${option.name()}`, (raw: string | null | undefined) =>
      typed.add(key, flag, flag.value ? typed.valueOf(raw ?? '', flag.short) : undefined, negated),
    );
  };
  if (!flag.negativeOnly) add(`${short}${name}${value}`, false);
  if (flag.negatable) add(`--no-${name.slice(2)}`, true);
  if (flag.negativeOnly) add(`${short}--no-${name.slice(2)}`, false);
}

/**
 * argv (without node and script) -> the command to run. Loads only the commands on the way. Throws GwError `usage`
 * for an unknown command or flag, with a suggestion, and HelpShown for help.
 */
export async function parseArgv(
  argv: readonly string[],
  root: Node,
  { columns, version }: { readonly columns: number | undefined; readonly version: string },
): Promise<Invocation> {
  const typed = new Typed(argv);
  let found: Invocation | undefined;
  const keep = (invocation: Invocation) => {
    found = invocation;
  };
  const top = new Command(root.name)
    .exitOverride()
    .configureOutput({ writeOut: () => {}, writeErr: () => {}, outputError: () => {} })
    .configureHelp({ formatHelp: () => '' });

  /** The deepest command that the words have reached so far. */
  let deepest: Reached = { command: top, node: root, path: [] };
  const grow = (command: Command, node: Node, path: readonly string[], spec?: AnyCommand): void => {
    deepest = { command, node, path, spec };
    command.helpCommand(false).helpOption('-h, --help').enablePositionalOptions();
    command.addOption(new Option('-V, --version')).on('option:version', () => {
      throw new HelpShown(() => `${argv.includes('--json') ? JSON.stringify({ version }) : version}\n`);
    });
    const children = new Map((node.children ?? []).map((child) => [child.name, child]));
    // Options and commands that argv does not name are not added, which saves a millisecond per level.
    const next = argv[path.length] ?? '';
    const goesOn = children.has(next) && path.every((word, at) => word === argv[at]);
    for (const [key, flag] of goesOn ? [] : Object.entries(globalFlags))
      addFlag(command, key, flag, typed, !appliesTo(key, spec?.sends));
    for (const name of children.keys()) if (argv.includes(name)) command.command(name);
    command.hook('preSubcommand', async (_, sub) => {
      const child = children.get(sub.name());
      if (!child) return;
      const at = { command: sub, node: child, path: [...path, child.name] };
      grow(sub, child, at.path, child.load && (await equip(at, child.load, typed, keep)));
    });
    if (path.length > 0 && node.load) return;
    command.action(async () => {
      const [word] = command.args;
      if (word !== undefined) throw await unknown(word, node, path);
      const spec = await node.load?.();
      if (!spec) throw await helpOf(deepest, columns);
      const input = { args: [], flags: {}, globals: typed.of(globalFlags) as GlobalFlags };
      found = { path, command: spec, input };
    });
    command.argument('[command]').allowExcessArguments();
  };

  grow(top, root, []);
  try {
    await top.parseAsync(argv.map(shielded), { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.code === 'commander.helpDisplayed' || error.code === 'commander.help')
      throw await helpOf(deepest, columns);
    const { command, path, spec } = deepest;
    const long = command.options.flatMap((option) => (option.hidden ? [] : (option.long ?? [])));
    throw (await import('./argv-errors.ts')).fromCommander(error, path, spec, long);
  }
  if (!found) throw await helpOf(deepest, columns);
  checkSharedOptions(found);
  return found;
}

/** Adds flags and words to a command that is called; `found` receives its input. */
async function equip(
  { command, node, path }: Reached,
  load: NonNullable<Node['load']>,
  typed: Typed,
  found: (invocation: Invocation) => void,
): Promise<AnyCommand> {
  const spec = await load();
  for (const [key, flag] of Object.entries(spec.flags)) addFlag(command, key, flag, typed);
  if (spec.args) {
    const { name, required, many } = spec.args;
    const word = `${name}${many ? '...' : ''}`;
    command.argument(required ? `<${word}>` : `[${word}]`);
  }
  const takesNames = !spec.args && (node.children ?? []).length > 0;
  // Set even if false, because a command inherits this from its group.
  command.allowExcessArguments(takesNames);
  command.action(async () => {
    const [word] = command.args;
    if (takesNames && word !== undefined) throw await unknown(word, node, path);
    const input = {
      args: command.args.map(asTyped),
      flags: typed.of(spec.flags),
      globals: typed.of(globalFlags) as GlobalFlags,
    };
    found({ path, command: spec, input });
  });
  return spec;
}

/** The help page of a node, or of the subcommand that follows --help; an unknown subcommand is an error even here. */
async function helpOf(
  { node, path, command, spec }: Reached,
  columns: number | undefined,
  words = command.args.filter((each) => !each.startsWith('-')),
): Promise<HelpShown> {
  const [word, ...more] = spec?.args ? [] : words;
  const child = node.children?.find(({ name }) => name === word);
  const reached = child && { node: child, path: [...path, child.name], command, spec: await child.load?.() };
  if (reached) return helpOf(reached, columns, more);
  if (node.children && word !== undefined) throw await unknown(word, node, path);
  const { drawFrontPage, drawPage, examplesOf, pageOf } = await import('./help.ts');
  const examples = await examplesOf(node);
  return new HelpShown((style) =>
    path.length > 0
      ? drawPage({ ...pageOf(node, path, spec), examples }, { columns, style })
      : drawFrontPage(node, examples, '', { columns, style }),
  );
}

const unknown = async (word: string, ...place: [node: Node, path: readonly string[]]) =>
  (await import('./argv-errors.ts')).unknownCommand(asTyped(word), ...place);

/** Refuses shared options that have no meaning for this command, so that none is ignored silently. */
function checkSharedOptions({ command, input, path }: Invocation): void {
  const { globals } = input;
  for (const key of [...ofBodies, ...ofRequests]) {
    if (globals[key] === undefined || appliesTo(key, command.sends)) continue;
    const lacks = ofBodies.some((each) => each === key) ? 'request body' : 'request that could be shown';
    const instead = path.join(' ') === 'batch run' ? 'gw batch check sends nothing' : 'leave it out';
    throw usage(`${flagName(key)}: ${['gw', ...path].join(' ')} sends no ${lacks}`, instead);
  }
}

const ofBodies = ['set', 'body'] as const;
const ofRequests = ['dryRun', 'curl'] as const;

/** True if a shared option applies to a command; other options are neither shown nor accepted. */
function appliesTo(key: string, sends: AnyCommand['sends'] | undefined): boolean {
  if (ofBodies.some((each) => each === key)) return sends === undefined || sends === 'body';
  return !ofRequests.some((each) => each === key) || sends !== 'nothing';
}
