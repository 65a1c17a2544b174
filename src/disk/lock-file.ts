import * as crypto from 'node:crypto';
import * as fs from 'node:fs';
import * as os from 'node:os';
import { errorCode, usage } from '../errors.ts';
import { type Clock, once } from '../host.ts';
import { renameFile } from './durable-directory.ts';

// A lock is a file that says who holds it. It gets its name by a link once its text is written, so that a kill never
// leaves one that says nothing. The lock of a dead process is taken over by whoever first makes a marker named after that
// very lock, so a newer lock is never replaced by mistake.

/** What a process of another machine or container cannot be asked: its lock counts as left behind after this time. */
const foreignLifeMs = 3_600_000;
/** On a disk without links a lock that says nothing readable is one being written, unless it is older than this. */
const unreadableLifeMs = 10_000;

interface Holder extends ProcessIdentity {
  readonly nonce: string;
}

/** Stands for whoever made a lock that says nothing readable. */
const UNREADABLE: Holder = { pid: 0, host: '', started: '', nonce: 'unreadable' };

export interface LockFile {
  /** Removes the lock, if it is still this one. Never throws. */
  release(): void;
  /** Lets the lock be held as long as that process lives, which gw has started, also where gw dies. */
  handTo(pid: number): void;
}

/**
 * Called before each system call that others can see, with its name; a parameter of what locks, appends and rewrites, so
 * that a test can let another process act in between.
 */
export type Step = (name: string) => void;

/**
 * Takes the lock at a path; undefined when another living process holds it. Throws the system's error where the file
 * cannot be made.
 */
export function tryLock(file: string, step: Step = () => {}): LockFile | undefined {
  const own: Holder = { ...ownIdentity(), nonce: crypto.randomBytes(12).toString('hex') };
  step('read the lock');
  const found = readHolder(file);
  if (!found) return create(file, own, step) ? lockOf(file, own, step) : undefined;
  if (isHeld(found, file)) return undefined;
  return takeOver(file, found, own, step) ? lockOf(file, own, step) : undefined;
}

/** Whether a living process holds the lock at a path; asking takes nothing. Throws the system's error. */
export function isLocked(file: string): boolean {
  const found = readHolder(file);
  return found !== undefined && isHeld(found, file);
}

/** How long ago the process that held a lock showed itself last, where it died with it, in milliseconds. Throws the system's error. */
export const leftBehindMs = (file: string): number | undefined =>
  !readHolder(file) || isLocked(file) ? undefined : ageMs(file);

/**
 * Who holds a lock, dead or alive: whether it is a process of this machine, and this very one, and what changes as long as it
 * lives. Undefined where nobody does. Never throws.
 */
export const lockHolder = (file: string) =>
  quietly(() => {
    const found = readHolder(file);
    if (!found || found === UNREADABLE) return undefined;
    const { pid, host, nonce } = found;
    const isHere = isOfThisMachine(found);
    const isSelf = isHere && pid === process.pid;
    return { pid, host, isHere, isSelf, sign: `${nonce} ${fs.statSync(file).mtimeMs}` };
  });

/** Who holds a lock, for a message. */
export const holderName = (file: string): string => {
  const { pid, host, isHere } = lockHolder(file) ?? {};
  return pid === undefined ? 'another gw' : `another gw (process ${pid}${isHere ? '' : ` on ${host}`})`;
};

/** What is to be done about another gw that holds what is wanted. */
export const LET_GO = 'let that process go on (fg, or kill -CONT) or end it, and run this again';

/** The marker is a lock too, so one whose maker died is taken over in the same way and never just removed. */
function takeOver(file: string, stale: Holder, own: Holder, step: Step): boolean {
  const name = `${file}.${stale.nonce}`;
  const marker = tryLock(name, step);
  if (!marker) return false;
  const fresh = `${name}.${own.nonce}`;
  try {
    step('read the stale lock again');
    const now = readHolder(file);
    if (now?.nonce !== stale.nonce || (now === UNREADABLE && isHeld(now, file))) return false;
    write(fresh, own);
    step('put the lock in its place');
    renameFile(fresh, file);
    return isOwn(file, own);
  } finally {
    fs.rmSync(fresh, { force: true });
    marker.release();
  }
}

/** Makes the lock unless there is one; whether it did. Throws the system's error. */
function create(file: string, own: Holder, step: Step): boolean {
  const whole = `${file}.${own.nonce}`;
  step('make the lock');
  try {
    write(whole, own);
    try {
      fs.linkSync(whole, file);
    } catch (error) {
      if (errorCode(error) === 'EEXIST') throw error;
      write(file, own);
    }
    return true;
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false;
    throw error;
  } finally {
    quietly(() => fs.unlinkSync(whole));
  }
}

/** Does what is of no use to anybody where it fails. */
export const quietly = <T>(act: () => T): T | undefined => {
  try {
    return act();
  } catch {
    return undefined;
  }
};

/** Writes a new file. Throws EEXIST where there is one, and leaves none that is not whole unless the process is killed. */
function write(file: string, holder: Holder): void {
  const fd = fs.openSync(file, 'wx', 0o600);
  try {
    fs.writeFileSync(fd, JSON.stringify(holder));
  } catch (error) {
    fs.rmSync(file, { force: true });
    throw error;
  } finally {
    fs.closeSync(fd);
  }
}

function isHeld(found: Holder, file: string): boolean {
  if (found === UNREADABLE) return ageMs(file) < unreadableLifeMs;
  if (!isOfThisMachine(found)) return ageMs(file) < foreignLifeMs;
  if (!isAlive(found) || released.has(found.nonce)) return false;
  if (processStart(found.pid) !== undefined || found.pid === process.pid) return true;
  // Nobody tells whether the process ID was given out again: then its holder shows no sign of life.
  return ageMs(file) < foreignLifeMs || beats(file);
}

/** Whether a holder shows a sign of life within a moment: after a sleep of the machine it is as late as who asks. */
function beats(file: string): boolean {
  const timeOf = () => fs.statSync(file, { throwIfNoEntry: false })?.mtimeMs;
  const before = timeOf();
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3 * BEAT_MS);
  return timeOf() !== before;
}

/**
 * How long ago a file was written by the clock of its file system, told by a file that is written beside it: the clock of
 * this machine may be years off the one of a file server, or of another machine that shares it.
 */
function ageMs(file: string): number {
  const probe = `${file}.now`;
  const fd = fs.openSync(probe, 'w', 0o600);
  try {
    fs.writeSync(fd, '.');
    const nowMs = fs.fstatSync(fd).mtimeMs;
    return Math.abs(nowMs - (fs.statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0));
  } finally {
    fs.closeSync(fd);
    fs.rmSync(probe, { force: true });
  }
}

function readHolder(file: string): Holder | undefined {
  let text: string;
  try {
    text = fs.readFileSync(file, 'utf8');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw Object.assign(error as Error, { path: file });
  }
  try {
    const { pid, host, started, nonce } = JSON.parse(text) as Partial<Holder>;
    if (typeof pid !== 'number' || typeof host !== 'string') return UNREADABLE;
    if (typeof started !== 'string' || typeof nonce !== 'string') return UNREADABLE;
    return /^[0-9a-f]{1,64}$/.test(nonce) ? { pid, host, started, nonce } : UNREADABLE;
  } catch {
    return UNREADABLE;
  }
}

const isOwn = (file: string, own: Holder): boolean => readHolder(file)?.nonce === own.nonce;

/** Nonces of this process's locks that were let go and could not be removed, as on a disk that turned read-only. */
const released = new Set<string>();

/** How often a holder shows that it lives: by the time of its lock. */
const BEAT_MS = 1_000;

function lockOf(file: string, own: Holder, step: Step): LockFile {
  const beat = setInterval(() => {
    const now = new Date();
    // A lock that is gone is told of when it is released.
    fs.utimes(file, now, now, () => {});
  }, BEAT_MS).unref();
  return {
    handTo: (pid) => fs.writeFileSync(file, JSON.stringify({ ...own, ...ownIdentity(pid) })),
    release() {
      clearInterval(beat);
      step('release the lock');
      try {
        if (isOwn(file, own)) fs.unlinkSync(file);
      } catch {
        // One that cannot be removed says that nobody holds it, and this very process never waits for itself.
        released.add(own.nonce);
        quietly(() => fs.writeFileSync(file, JSON.stringify({ ...own, pid: 0 })));
      }
    },
  };
}

/** Who holds a lock. A process ID alone is not enough: the system gives it out again. */
export interface ProcessIdentity {
  readonly pid: number;
  /** The machine; of a container or a sandbox, where process IDs are others, that too. */
  readonly host: string;
  /** Boot and start time of the process, where the system tells (Linux); an empty text elsewhere. */
  readonly started: string;
}

export function ownIdentity(pid = process.pid): ProcessIdentity {
  return { pid, host: hostOf(), started: processStart(pid) ?? markOfMachine() };
}

/**
 * What tells a machine without boot IDs from others, whatever its name is today: when its system's folder was made, to the
 * nanosecond. It stands where the boot ID stands elsewhere; an empty text where nothing tells.
 */
export const markOfMachine = once((folders = ['/private/var/db', 'C:\\Windows']): string => {
  for (const folder of folders) {
    const stats = fs.statSync(folder, { bigint: true, throwIfNoEntry: false });
    if (stats) return `${stats.birthtimeNs}-${stats.ino}:`;
  }
  return '';
});

/** Whether a process ID of that holder means a process here: the name of a machine changes with its network. */
export function isOfThisMachine(found: ProcessIdentity, own: ProcessIdentity = ownIdentity()): boolean {
  if (found.host === own.host) return true;
  const bootOf = ({ started }: ProcessIdentity) => started.split(':')[0] ?? '';
  const spaceOf = ({ host }: ProcessIdentity) => host.split(' ')[1];
  return bootOf(own) !== '' && bootOf(found) === bootOf(own) && spaceOf(found) === spaceOf(own);
}

/** The machine's own space of process IDs (PROC_PID_INIT_INO of Linux). */
const MACHINES_OWN = 'pid:[4026531836]';
const bootId = once(() => fs.readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim());

/** What a process ID names a process of: two containers may share the name of their machine, and this directory. */
export function hostOf(readSpace = () => fs.readlinkSync('/proc/self/ns/pid')): string {
  try {
    const space = readSpace();
    return space === MACHINES_OWN ? os.hostname() : `${os.hostname()} ${space}`;
  } catch {
    return os.hostname();
  }
}

/** Whether a process of this machine still runs; where the start time is unknown, its ID decides. */
export function isAlive({ pid, started }: ProcessIdentity): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    // A process of another user is one all the same; whether it is this one, its start tells.
    if (errorCode(error) !== 'EPERM') return false;
  }
  const now = processStart(pid);
  if (now === 'ended') return false;
  return now === undefined || started === '' || started.endsWith(':') || now === started;
}

/** `BOOT:TICKS` of a process; `ended` for one that only waits to be collected; undefined where the system does not tell. */
function processStart(pid: number): string | undefined {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name stands in parentheses and may itself hold spaces and parentheses.
    const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (state === 'Z' || state === 'X') return 'ended';
    return `${bootId()}:${fields[18]}`;
  } catch {
    return undefined;
  }
}

const LOCK_WAIT_MS = 10_000;

/**
 * Takes the lock at a path as soon as no other process holds it. Throws GwError `usage` where that takes longer than
 * 10 s, and the system's error where the file cannot be made.
 */
export async function waitForLock(file: string, clock: Pick<Clock, 'steady' | 'sleep'>): Promise<LockFile> {
  const endMs = clock.steady() + LOCK_WAIT_MS;
  for (let pauseMs = 2; ; pauseMs = Math.min(pauseMs * 1.5, 50)) {
    const lock = tryLock(file);
    if (lock) return lock;
    if (clock.steady() >= endMs) throw usage(`${holderName(file)} has held ${file} for 10 s`, LET_GO);
    // Two that wait must not stay in step.
    await clock.sleep(pauseMs * (0.5 + Math.random()));
  }
}
