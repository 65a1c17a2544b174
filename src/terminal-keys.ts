import { spawnSync } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';

// A key that is pressed while bars are drawn is not shown among them: the terminal's echo is off until they are gone. The
// terminal keeps the key for whoever reads next, and Ctrl-C and Ctrl-Z stay signals.

const ENV = { PATH: '/usr/bin:/bin' };
/** Ends with 0 where the echo was on. */
const HIDE = 'for mode in $(stty -a); do [ "$mode" = echo ] && exec stty -echo; done; exit 1';
const SHOW = 'stty echo';

/** Turns the echo off, and on again after each stop (Ctrl-Z, `fg`); the function gives the echo back, once. */
export function hideKeys(): () => void {
  let isHidden = onTerminal(HIDE);
  const again = () => {
    isHidden = onTerminal(HIDE) || isHidden;
  };
  const show = () => {
    process.off('SIGCONT', again);
    process.off('exit', show);
    if (isHidden) onTerminal(SHOW);
    isHidden = false;
  };
  process.on('SIGCONT', again);
  process.once('exit', show);
  return show;
}

/** Gives the echo back for a process that is about to be killed. */
export const showKeys = (): void => void onTerminal(SHOW);

/** Runs a line of the shell on this process's terminal; false where that failed, or where another job has the terminal. */
function onTerminal(line: string): boolean {
  if (process.platform === 'win32' || !hasTerminal()) return false;
  try {
    const terminal = openSync('/dev/tty', 'r+');
    const { status } = spawnSync('/bin/sh', ['-c', line], {
      stdio: [terminal, 'ignore', 'ignore'],
      env: ENV,
    });
    closeSync(terminal);
    return status === 0;
  } catch {
    return false;
  }
}

/** Whether this process is in the terminal's foreground: any other that changes the terminal is stopped. */
function hasTerminal(): boolean {
  try {
    const stat = readFileSync('/proc/self/stat', 'utf8');
    const [, , group, , , foreground] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return group === foreground;
  } catch {
    const { stdout } = spawnSync('/bin/ps', ['-o', 'stat=', '-p', String(process.pid)], {
      env: ENV,
      encoding: 'utf8',
    });
    return stdout?.includes('+') ?? false;
  }
}
