import { spawnSync } from 'node:child_process';
import type { ShowBars } from './host.ts';

// A key that is pressed while bars are drawn is not shown among them: the terminal's echo is off until they are gone. The
// terminal keeps the key for whoever reads next, and Ctrl-C and Ctrl-Z stay signals. While gw is stopped or in the background
// after that, the terminal is as it was.

/** Whoever changes the terminal while another job has it is stopped. */
const IN_BACKGROUND = 9;
const FRONT = `s=$(cat /proc/$$/stat || ps -o state=,ppid=,pgid=,sess=,tty=,tpgid= -p $$)
set -- \${s##*) }; [ "$3" = "$6" ] || exit ${IN_BACKGROUND}; trap '' TSTP`;
/** Ends with 0 where the echo was on. */
const HIDE = 'for mode in $(stty -a); do [ "$mode" = echo ] && exec stty -echo; done; exit 1';
const SHOW = 'stty echo';

const held = new Set<ShowBars>();
let isHidden = false;

/** Holds the terminal for bars, which may be drawn from then on, until the function is called. */
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
  // Returns once gw goes on, and at once where no shell could let it go on.
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

/** Gives the echo back for a process that is about to be killed. */
export const showKeys = (): void => void onTerminal(SHOW);

/** Runs a line of the shell on this process's terminal, if that is in the foreground; gives its exit code. */
function onTerminal(line: string): number | null {
  if (process.platform === 'win32') return null;
  return spawnSync('/bin/sh', ['-c', `{\n${FRONT}\n${line}\n} </dev/tty`], {
    stdio: 'ignore',
    env: { PATH: '/usr/bin:/bin' },
    timeout: 1_000,
    killSignal: 'SIGKILL',
  }).status;
}
