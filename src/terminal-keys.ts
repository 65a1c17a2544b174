import { spawnSync } from 'node:child_process';
import type { ShowBars } from './host.ts';

// Turns the terminal's echo off while bars are drawn, so that pressed keys do not show among them. The terminal keeps
// the keys for the next reader, and Ctrl-C and Ctrl-Z remain signals. While gw is stopped or in the background, the
// echo is as it was before.

/** A background process that changes the terminal would be stopped, so the script exits with this code. */
const IN_BACKGROUND = 9;
const FRONT = `s=$(cat /proc/$$/stat || ps -o state=,ppid=,pgid=,sess=,tty=,tpgid= -p $$)
set -- \${s##*) }; [ "$3" = "$6" ] || exit ${IN_BACKGROUND}; trap '' TSTP`;
/** Exits with 0 if the echo was on. */
const HIDE = 'for mode in $(stty -a); do [ "$mode" = echo ] && exec stty -echo; done; exit 1';
const SHOW = 'stty echo';

const held = new Set<ShowBars>();
let isHidden = false;

/** Turns the echo off and calls `show` when bars may be drawn. The returned function ends this. */
export function holdTerminal(show: ShowBars): () => void {
  if (held.size === 0) process.on('SIGTSTP', stop).on('SIGCONT', take).on('exit', giveBack);
  held.add(show);
  take();
  return () => {
    held.delete(show);
    if (held.size > 0) return;
    process.off('SIGTSTP', stop).off('SIGCONT', take).off('exit', giveBack);
    giveBack();
  };
}

function stop(): void {
  for (const show of held) show(false);
  giveBack();
  process.off('SIGTSTP', stop);
  // This returns when gw is continued, or at once if no shell could continue it.
  process.kill(process.pid, 'SIGTSTP');
  process.on('SIGTSTP', stop);
  take();
}

function take(): void {
  const status = onTerminal(HIDE);
  isHidden ||= status === 0;
  if (status !== IN_BACKGROUND) for (const show of held) show(true);
}

function giveBack(): void {
  if (isHidden) onTerminal(SHOW);
  isHidden = false;
}

/** Turns the echo on for a process that is about to be killed. */
export const showKeys = (): void => void onTerminal(SHOW);

/** Runs a shell command on this process's terminal if gw is in the foreground; returns its exit code. */
function onTerminal(line: string): number | null {
  if (process.platform === 'win32') return null;
  return spawnSync('/bin/sh', ['-c', `{\n${FRONT}\n${line}\n} </dev/tty`], {
    stdio: 'ignore',
    env: { PATH: '/usr/bin:/bin' },
    timeout: 1_000,
    killSignal: 'SIGKILL',
  }).status;
}
