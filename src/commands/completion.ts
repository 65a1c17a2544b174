import { defineCommand } from '../command.ts';
import { type Installed, installScript } from '../completion/install.ts';
import { type Shell, shellNames, shellOf, shells } from '../completion/shells.ts';
import { readVariable } from '../config/environment.ts';
import type { Context } from '../context.ts';
import { usage } from '../errors.ts';
import { on } from '../flags/flag.ts';

const flags = {
  install: on('write the script where the shell looks for it, and say how it is loaded'),
  force: on('with --install: overwrite a file that gw did not write'),
} as const;

interface Printed {
  readonly shell: Shell;
  readonly script: string;
}

/** `gw completion SHELL`: the script for a shell, on stdout or in its place. */
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
  sends: 'nothing',
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
  if (named === undefined) {
    throw usage(
      mayGuess ? 'SHELL is not set, so the shell cannot be told' : 'which shell?',
      `gw completion ${mayGuess ? '--install ' : ''}${shellNames.join(', or ')}`,
    );
  }
  const shell = shellOf(named);
  if (shell !== undefined) return shell;
  const what = word === undefined ? `SHELL is ${JSON.stringify(named)}` : JSON.stringify(named);
  throw usage(`${what}: completion is there for ${shellNames.join(', ')}`, 'name one of them');
}
