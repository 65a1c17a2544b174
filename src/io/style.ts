// Colours show meaning, not decoration: the few tones of messages, tables and bars.
import type { Host } from '../host.ts';

export type Tone = 'bad' | 'caution' | 'good' | 'active' | 'faint' | 'strong';
export type Style = Readonly<Record<Tone, (text: string) => string>>;

const same = (text: string): string => text;

export const plainStyle: Style = {
  bad: same,
  caution: same,
  good: same,
  active: same,
  faint: same,
  strong: same,
};

/**
 * Whether messages on stderr are coloured, decided by the first that applies: `--no-color`, FORCE_COLOR (which also
 * colours a pipe), NO_COLOR, TERM=dumb, and whether stderr is a terminal.
 */
export function wantsColor(isTerminal: boolean, env: Host['env'], noColor: boolean): boolean {
  if (noColor) return false;
  const force = env.FORCE_COLOR?.toLowerCase();
  if (force !== undefined) return force !== '0' && force !== 'false';
  if (env.NO_COLOR !== undefined && env.NO_COLOR !== '') return false;
  return env.TERM !== 'dumb' && isTerminal;
}

/** Loads the colouring library; call it only if colour is on and something is coloured. */
export async function loadStyle(): Promise<Style> {
  const { Chalk } = await import('chalk');
  const chalk = new Chalk({ level: 1 });
  return {
    bad: (text) => chalk.red.bold(text),
    caution: (text) => chalk.yellow.bold(text),
    good: (text) => chalk.green(text),
    active: (text) => chalk.cyan(text),
    faint: (text) => chalk.dim(text),
    strong: (text) => chalk.bold(text),
  };
}

/** Loads the spinner library; the returned function gives the current frame. */
export async function loadSpinner(stream: Host['stderr']): Promise<() => string> {
  const { default: ora } = await import('ora');
  const quiet = { isEnabled: false, discardStdin: false, color: false, hideCursor: false } as const;
  const spinner = ora({ stream, ...quiet });
  return () => spinner.frame().trim();
}

/** All terminals but the Linux console and the old Windows one can show block characters. */
export function canShowUnicode({ platform, env }: Pick<Host, 'platform' | 'env'>): boolean {
  if (platform !== 'win32') return env.TERM !== 'linux';
  return env.WT_SESSION !== undefined || env.TERM_PROGRAM !== undefined || env.TERM === 'xterm-256color';
}
