import { Command, CommanderError, Option } from 'commander';
import type { AnyCommand, CommandInput, Node } from './command.ts';
import { usage } from './errors.ts';
import { type Flag, type FlagSet, flagName, type GlobalFlags, globalFlags } from './flags/flag.ts';
import { nearest } from './flags/nearest.ts';
import type { Style } from './io/style.ts';

// argv -> the command that is meant and what was typed: the one adapter between commands and Commander.

/** Everything argv said, before anything is done about it. */
export interface Invocation {
  readonly path: readonly string[];
  readonly command: AnyCommand;
  readonly input: CommandInput<FlagSet>;
}

/** Thrown by parsing when help or the version is asked for: the text for stdout. */
export class HelpShown extends Error {
  constructor(readonly text: (style: Style) => string) {
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

/** A command whose words are being read. */
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
      typed.add(key, flag, flag.value ? (raw ?? '') : undefined, negated),
    );
  };
  if (!flag.negativeOnly) add(`${short}${name}${value}`, false);
  if (flag.negatable) add(`--no-${name.slice(2)}`, true);
  if (flag.negativeOnly) add(`${short}--no-${name.slice(2)}`, false);
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
  const top = new Command(root.name)
    .exitOverride()
    .configureOutput({ writeOut: () => {}, writeErr: () => {}, outputError: () => {} })
    .configureHelp({ formatHelp: () => '' });

  /** The command whose words are being read. */
  let deepest: Reached = { command: top, node: root, path: [] };
  const grow = (command: Command, node: Node, path: readonly string[], spec?: AnyCommand): void => {
    deepest = { command, node, path, spec };
    command.helpCommand(false).helpOption('-h, --help').enablePositionalOptions();
    command.addOption(new Option('-V, --version')).on('option:version', () => {
      const { version } = host;
      throw new HelpShown(() => `${argv.includes('--json') ? JSON.stringify({ version }) : version}\n`);
    });
    const children = new Map((node.children ?? []).map((child) => [child.name, child]));
    // Options and commands that argv cannot mean here would only cost a millisecond a level.
    const next = argv[path.length] ?? '';
    const goesOn = children.has(next) && path.every((word, at) => word === argv[at]);
    for (const [key, flag] of goesOn ? [] : Object.entries(globalFlags))
      addFlag(command, key, flag, typed, !appliesTo(key, spec?.sends));
    for (const name of children.keys()) if (argv.includes(name)) command.command(name);
    command.hook('preSubcommand', async (_, sub) => {
      const child = children.get(sub.name());
      if (!child) return;
      const childPath = [...path, child.name];
      grow(sub, child, childPath, child.load && (await equip(sub, child, child.load, childPath)));
    });
    if (path.length > 0 && node.load) return;
    command.action(async () => {
      const [word] = command.args;
      if (word !== undefined) throw unknownCommand(word, node, path);
      const spec = await node.load?.();
      if (!spec) throw await helpOf(deepest);
      const input = { args: [], flags: {}, globals: typed.of(globalFlags) as GlobalFlags };
      found = { path, command: spec, input };
    });
    command.argument('[command]').allowExcessArguments();
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
      const { name, required, many } = spec.args;
      const word = `${name}${many ? '...' : ''}`;
      command.argument(required ? `<${word}>` : `[${word}]`);
    }
    const takesNames = !spec.args && (node.children ?? []).length > 0;
    // Said also where it is not so: a command takes this over from the group that it stands in.
    command.allowExcessArguments(takesNames);
    command.action(() => {
      const [word] = command.args;
      if (takesNames && word !== undefined) throw unknownCommand(word, node, path);
      const input = {
        args: command.args,
        flags: typed.of(spec.flags),
        globals: typed.of(globalFlags) as GlobalFlags,
      };
      found = { path, command: spec, input };
    });
    return spec;
  };

  /** The page of a node; a word that is no command of it is a mistake also beside --help. */
  const helpOf = async ({ node, path, command, spec }: Reached) => {
    const word = spec?.args ? undefined : command.args.find((each) => !each.startsWith('-'));
    if (node.children && word !== undefined) throw unknownCommand(word, node, path);
    const { drawFrontPage, drawPage, examplesOf, pageOf } = await import('./help.ts');
    const examples = await examplesOf(node);
    return new HelpShown((style) =>
      path.length > 0
        ? drawPage({ ...pageOf(node, path, spec), examples }, { columns: host.columns, style })
        : drawFrontPage(node, examples, '', { columns: host.columns, style }),
    );
  };

  grow(top, root, []);
  try {
    await top.parseAsync([...argv], { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.code === 'commander.helpDisplayed' || error.code === 'commander.help')
      throw await helpOf(deepest);
    throw fromCommander(error, deepest);
  }
  if (!found) throw await helpOf(deepest);
  checkSharedOptions(found);
  return found;
}

/** What people type for commands that are called otherwise. */
const otherCommands: Readonly<Record<string, string>> = {
  version: '--version',
  cost: 'jobs stats',
  costs: 'jobs stats',
  spend: 'jobs stats',
};

function unknownCommand(word: string, { children = [] }: Node, path: readonly string[]) {
  const where = ['gw', ...path].join(' ');
  const known = children.map(({ name }) => name);
  const ofJobs = children.find(({ name }) => name === 'jobs')?.children ?? [];
  const meant =
    path.length > 0
      ? undefined
      : ofJobs.some(({ name }) => name === word)
        ? `jobs ${word}`
        : otherCommands[word];
  const [near = meant] = meant === undefined ? nearest(word, known, 1) : [];
  const hint = near ? `did you mean ${where} ${near}?` : `${where} takes ${known.join(', ')}`;
  return usage(`unknown command: ${where} ${word}`, `${hint}; see ${where} --help`);
}

/** Commander's error as a sentence; what was typed in a flag's or a word's place may be a key, and is not shown. */
function fromCommander(error: CommanderError, { command, path, spec }: Reached) {
  const words = ['gw', ...path].join(' ');
  const message = error.message.replace(/^error: /, '');
  if (error.code === 'commander.excessArguments') {
    const most = spec?.args ? `only one ${spec.args.name}` : 'no words after it';
    return usage(`${words} takes ${most}`, spec?.strayWord ?? `see ${words} --help`);
  }
  if (error.code === 'commander.missingArgument')
    return usage(
      `${words} needs ${spec?.args?.name ?? 'a word'}`,
      `${spec?.args?.summary}; see ${words} --help`,
    );
  const [, valued, value] = /^option '(?:-., )?(--\S+) <(.*)>' argument missing/.exec(message) ?? [];
  if (valued !== undefined) return usage(`${valued} needs a value`, `write ${valued} ${value}`);
  const unknown = /^unknown option '(--[^='\n]*|-.)/s.exec(message)?.[1];
  if (unknown === undefined) return usage(message.split('\n')[0] ?? '', `see ${words} --help`);
  const long = command.options.flatMap((option) => (option.hidden ? [] : (option.long ?? [])));
  const opposite = `--no-${unknown.slice(2)}`;
  const or = long.includes(opposite) ? `, or ${opposite}` : '';
  if (long.includes(unknown)) return usage(`${unknown} takes no value`, `write ${unknown} alone${or}`);
  return usage(`unknown option '${shownName(unknown)}'`, hintFor(unknown.replaceAll('_', '-'), long));
}

function hintFor(unknown: string, long: readonly string[]): string {
  if (keyFlags.has(unknown)) {
    return 'no flag takes the key, as it would show in the process list: set GW_API_KEY, or name a file with --api-key-file';
  }
  const meant = otherNames[unknown];
  const ours = meant?.flags.find((name) => long.includes(name));
  if (ours !== undefined) return `here it is ${ours}`;
  if (meant?.without !== undefined) return meant.without;
  const [near] = unknown.length > 3 ? nearest(unknown, long, 1) : [];
  return near ? `did you mean ${near}?` : 'see --help';
}

/** What people type who mean to give the key itself. */
const keyFlags: ReadonlySet<string> = new Set(['--api-key', '--key', '--token']);

interface OtherName {
  /** What it is called here; the first that the command takes. */
  readonly flags: readonly string[];
  /** What to say where the command takes none of them. */
  readonly without?: string;
}
const oneEach: OtherName = {
  flags: ['--count', '--n'],
  without: 'one run makes one: run it again for another',
};
const shape: OtherName = { flags: ['--ratio', '--size'] };
const size: OtherName = { flags: ['--resolution', '--size'] };
const length: OtherName = { flags: ['--duration'] };
const target: OtherName = { flags: ['--out'] };
const picture: OtherName = { flags: ['--image', '--first-frame'] };
const limit: OtherName = { flags: ['--max-tokens', '--limit'] };

/** Names that other tools have for what is called otherwise here. */
const otherNames: Readonly<Record<string, OtherName>> = {
  '-n': oneEach,
  '--n': oneEach,
  '--count': oneEach,
  '--num': oneEach,
  '--number': oneEach,
  '--num-images': oneEach,
  '--num-outputs': oneEach,
  '--aspect': shape,
  '--aspect-ratio': shape,
  '--ar': shape,
  '--res': size,
  '--size': size,
  '--quality': { flags: ['--resolution'] },
  '--length': length,
  '--seconds': length,
  '--time': length,
  '--output': target,
  '--output-file': target,
  '--save': target,
  '--input': picture,
  '--input-image': picture,
  '--image-url': picture,
  '--reference': picture,
  '--start-image': { flags: ['--first-frame'] },
  '--start-frame': { flags: ['--first-frame'] },
  '--end-image': { flags: ['--last-frame'] },
  '--end-frame': { flags: ['--last-frame'] },
  '--max-completion-tokens': limit,
  '--max-output-tokens': limit,
  '--temp': { flags: ['--temperature'] },
  '--system-prompt': { flags: ['--system'] },
  '--host': { flags: ['--base-url'] },
  '--endpoint': { flags: ['--base-url'] },
  '--api-base': { flags: ['--base-url'] },
  '--yes': { flags: [], without: 'nothing is asked here: leave it out' },
  '--seed': {
    flags: [],
    without: 'no documented field takes a seed; --set seed=N sends one all the same',
  },
  '--negative-prompt': {
    flags: [],
    without: 'no documented field takes one; say in the prompt what to leave out',
  },
};

/** A flag's name for a message; what was typed in its place may be anything. */
const shownName = (name: string): string => (name.length > 40 ? `${name.slice(0, 40)}…` : name);

/** Options of every command that have no meaning for this one are refused, never ignored. */
function checkSharedOptions({ command, input, path }: Invocation): void {
  const { globals } = input;
  for (const key of [...ofBodies, ...ofRequests]) {
    if (globals[key] === undefined || appliesTo(key, command.sends)) continue;
    const lacks = ofBodies.some((each) => each === key) ? 'request body' : 'request that could be shown';
    throw usage(`${flagName(key)}: ${['gw', ...path].join(' ')} sends no ${lacks}`, 'leave it out');
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
