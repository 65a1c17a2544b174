import * as fs from 'node:fs';
import * as os from 'node:os';
import { errorCode } from '../errors.ts';

/** Who holds a lock. A process ID alone is not enough: the system gives it out again. */
export interface ProcessIdentity {
  readonly pid: number;
  readonly host: string;
  /** Boot and start time of the process, where the system tells (Linux); an empty text elsewhere. */
  readonly started: string;
}

/** The running process. */
export function ownIdentity(): ProcessIdentity {
  return { pid: process.pid, host: os.hostname(), started: processStart(process.pid) ?? '' };
}

/** Whether a process of this machine still runs; where the start time is unknown, its ID decides. */
export function isAlive({ pid, started }: ProcessIdentity): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    return errorCode(error) === 'EPERM';
  }
  const now = processStart(pid);
  if (now === 'ended') return false;
  return now === undefined || started === '' || now === started;
}

/** `BOOT:TICKS` of a process; `ended` for one that only waits to be collected; undefined where the system does not tell. */
function processStart(pid: number): string | undefined {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name stands in parentheses and may itself hold spaces and parentheses.
    const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (state === 'Z' || state === 'X') return 'ended';
    const boot = fs.readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
    return `${boot}:${fields[18]}`;
  } catch {
    return undefined;
  }
}
