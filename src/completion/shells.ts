import { bash } from './scripts/bash.ts';
import { fish } from './scripts/fish.ts';
import { powershell } from './scripts/powershell.ts';
import { zsh } from './scripts/zsh.ts';

/** Each shell's completion script, and the name it has under completions/. */
export const shells = {
  bash: { script: bash, file: 'gw.bash' },
  zsh: { script: zsh, file: '_gw' },
  fish: { script: fish, file: 'gw.fish' },
  powershell: { script: powershell, file: 'gw.ps1' },
} as const;

export type Shell = keyof typeof shells;

export const shellNames = Object.keys(shells) as readonly Shell[];

/** The shell of a name or of a path such as $SHELL; undefined for one that there is no script for. */
export function shellOf(text: string): Shell | undefined {
  const name = text
    .split(/[\\/]/)
    .at(-1)
    ?.replace(/\.exe$/i, '')
    .toLowerCase();
  return shellNames.find((shell) => shell === (name === 'pwsh' ? 'powershell' : name));
}
