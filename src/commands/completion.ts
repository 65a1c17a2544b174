import * as fs from 'node:fs';
import * as path from 'node:path';
import { defineCommand } from '../command.ts';
import { type Shell, shellNames, shellOf, shells } from '../completion/shells.ts';
import { type EnvironmentVariable, readVariable } from '../config/environment.ts';
import type { Context } from '../context.ts';
import { diskFault, isDiskFault } from '../disk/disk-fault.ts';
import { ensureDirectory, replaceFile } from '../disk/durable-directory.ts';
import { shellQuote, usage } from '../errors.ts';
import { on } from '../flags/flag.ts';
import type { Host } from '../host.ts';

const flags = {
  install: on('write the script where the shell looks for it, and say how it is loaded'),
  force: on('with --install: overwrite a file that gw did not write'),
} as const;

interface Printed {
  readonly shell: Shell;
  readonly script: string;
}

/** `gw completion SHELL` prints a shell's completion script, or installs it. */
export const completion = defineCommand<typeof flags, Printed | Installed>({
  args: {
    name: 'SHELL',
    summary: `${shellNames.join(', ')}; with --install that of $SHELL when left out`,
    choices: shellNames,
  },
  flags,
  examples: ['gw completion bash', 'gw completion --install zsh', 'source <(gw completion bash)'],
  notes: [
    'To try it in a shell that runs: source <(gw completion bash), source <(gw completion zsh), ' +
      'gw completion fish | source, gw completion powershell | Out-String | Invoke-Expression.',
    'It offers commands, flags and their values, and what this machine knows: profiles, models of the last gw models, ' +
      'IDs of recent jobs. It asks no gateway and writes nothing.',
  ],
  async run({ args, flags }, ctx) {
    if (flags.force && !flags.install) throw usage('--force goes with --install', 'leave it out');
    const shell = chosenShell(args[0], flags.install === true, ctx);
    if (!flags.install) return { value: { shell, script: shells[shell].script } };
    const installed = installScript(shell, ctx.host, { force: flags.force === true });
    if (!ctx.io.mode.json) for (const line of installed.load) ctx.io.note(line);
    return { value: installed };
  },
  human: (result) =>
    'script' in result ? result.script : result.path === undefined ? '' : `${result.path}\n`,
});

function chosenShell(word: string | undefined, mayGuess: boolean, { host }: Context): Shell {
  const named = word ?? (mayGuess ? readVariable(host.env, 'SHELL') : undefined);
  if (named === undefined)
    throw usage(
      mayGuess ? 'SHELL is not set, so gw cannot tell which shell it is' : 'which shell?',
      `gw completion ${mayGuess ? '--install ' : ''}${shellNames.join(', or ')}`,
    );
  const shell = shellOf(named);
  if (shell !== undefined) return shell;
  const what = word === undefined ? `SHELL is ${JSON.stringify(named)}` : JSON.stringify(named);
  throw usage(`${what}: gw has completion for ${shellNames.join(', ')}`, 'name one of them');
}

interface Installed {
  readonly shell: Shell;
  /** Absent if the shell has no directory for scripts. */
  readonly path?: string;
  readonly written?: 'new' | 'replaced' | 'unchanged';
  /** The remaining steps for the user, one per line. */
  readonly load: readonly string[];
}

type InstallHost = Pick<Host, 'env' | 'homeDir'>;

/** A line in every script, which identifies a file as made by gw. */
const MARK = 'made by gw completion';

/**
 * Writes a shell's script, whole and readable by all, where the shell looks for it. It edits no start-up file. Throws
 * GwError `usage` if there is no home directory, if a file of another origin is in the way, or if the write fails.
 */
function installScript(shell: Shell, host: InstallHost, options: { readonly force: boolean }): Installed {
  if (shell === 'powershell')
    return {
      shell,
      load: [
        'PowerShell reads no directory of scripts: add this line to the file that $PROFILE names',
        'gw completion powershell | Out-String | Invoke-Expression',
      ],
    };
  const file = placeOf[shell](host);
  try {
    const written = place(file, shells[shell].script, options.force);
    return { shell, path: file, written, load: loadLines[shell](file) };
  } catch (error) {
    if (!isDiskFault(error)) throw error;
    const { reason, remedy } = diskFault(error);
    const hint = `${remedy}, or redirect gw completion ${shell} to a file`;
    throw usage(`${file} could not be written: ${reason}`, hint);
  }
}

type FileShell = Exclude<Shell, 'powershell'>;

const placeOf: Readonly<Record<FileShell, (host: InstallHost) => string>> = {
  bash: (host) =>
    path.join(
      absolute(host, 'BASH_COMPLETION_USER_DIR') ??
        path.join(absolute(host, 'XDG_DATA_HOME') ?? inHome(host, '.local', 'share'), 'bash-completion'),
      'completions',
      'gw',
    ),
  zsh: (host) => path.join(absolute(host, 'ZDOTDIR') ?? inHome(host), '.zfunc', '_gw'),
  fish: (host) =>
    path.join(absolute(host, 'XDG_CONFIG_HOME') ?? inHome(host, '.config'), 'fish', 'completions', 'gw.fish'),
};

const loadLines: Readonly<Record<FileShell, (file: string) => readonly string[]>> = {
  bash: (file) => [
    'bash with the package bash-completion reads it by itself, from the next shell on',
    `without that package add this line to ~/.bashrc: source ${shellQuote(file)}`,
  ],
  zsh: (file) => [
    `zsh reads it from the next shell on, if ~/.zshrc has this line before compinit: fpath=(${shellQuote(path.dirname(file))} $fpath)`,
    'and after it, unless it is there already: autoload -Uz compinit && compinit',
  ],
  fish: () => ['fish reads it by itself, from the next shell on'],
};

/** The directory in a variable; a relative path is ignored, as the XDG standard requires. */
function absolute({ env }: InstallHost, name: EnvironmentVariable): string | undefined {
  const dir = readVariable(env, name);
  return dir !== undefined && path.isAbsolute(dir) ? dir : undefined;
}

function inHome({ homeDir }: InstallHost, ...names: string[]): string {
  if (homeDir !== undefined && path.isAbsolute(homeDir)) return path.join(homeDir, ...names);
  const hint = 'set HOME, or redirect gw completion SHELL to a file';
  throw usage('there is no home directory (HOME is not set)', hint);
}

/** Replaces a file atomically; a link is followed, so that a linked file stays in its place. */
function place(file: string, text: string, force: boolean): NonNullable<Installed['written']> {
  const target = fs.existsSync(file) ? fs.realpathSync(file) : file;
  const old = textOf(target);
  if (old === text) return 'unchanged';
  if (old !== undefined && !old.includes(MARK) && !force)
    throw usage(
      `${file} is there already, and gw did not write it`,
      'move it away, or give --force to overwrite it',
    );
  ensureDirectory(path.dirname(target), 0o755);
  replaceFile(target, text, 0o644);
  return old === undefined ? 'new' : 'replaced';
}

/** The text of an existing file; a broken link or a special file counts as a file of another origin. */
function textOf(file: string): string | undefined {
  const stats = fs.lstatSync(file, { throwIfNoEntry: false });
  if (stats === undefined) return undefined;
  if (stats.isDirectory()) throw usage(`${file} is a directory`, 'move it away');
  return stats.isFile() ? fs.readFileSync(file, 'utf8') : '';
}
