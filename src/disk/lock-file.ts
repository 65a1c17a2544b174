import * as crypto from 'node:crypto';
import * as fs from 'node:fs';
import * as os from 'node:os';
import { errorCode, usage } from '../errors.ts';
import { type Clock, once, quietly } from '../host.ts';
import { renameFile } from './durable-directory.ts';

// A lock is a file that names its holder. It is linked into place after its text is written, so that a killed process
// never leaves an empty lock. The lock of a dead process goes to the first process that makes a marker named after that
// very lock, so a newer lock is never replaced by mistake.

/** A process of another machine or container cannot be checked: its lock counts as abandoned after this time. */
const foreignLifeMs = 3_600_000;
/** On a disk without hard links an unreadable lock may be unfinished; after this time it counts as abandoned. */
const unreadableLifeMs = 10_000;

interface Holder extends ProcessIdentity {
  readonly nonce: string;
}

/** Represents the holder of an unreadable lock. */
const UNREADABLE: Holder = { pid: 0, host: '', started: '', nonce: 'unreadable' };

export interface LockFile {
  /** Removes the lock if this process still owns it. Never throws. */
  release(): void;
  /** False once another machine has taken the lock over. Throws the system's error if it cannot be read. */
  isOwn(): boolean;
  /** Passes the lock to a process that gw has started: it is held while that process lives, even if gw dies. */
  handTo(pid: number): void;
}

/**
 * Called with a name before each system call that other processes can notice. Code that locks, appends or rewrites
 * takes it as a parameter, so that a test can let another process act in between.
 */
export type Step = (name: string) => void;

/**
 * Takes the lock at a path; undefined if another living process holds it. Throws the system's error if the file cannot
 * be made.
 */
export function tryLock(file: string, step: Step = () => {}): LockFile | undefined {
  const own: Holder = { ...ownIdentity(), nonce: crypto.randomBytes(12).toString('hex') };
  step('read the lock');
  const found = readHolder(file);
  if (!found) return create(file, own, step) ? lockOf(file, own, step) : undefined;
  if (isHeld(found, file)) return undefined;
  return takeOver(file, found, own, step) ? lockOf(file, own, step) : undefined;
}

/** True if a living process holds the lock at a path. It does not take the lock. Throws the system's error. */
export function isLocked(file: string): boolean {
  const found = readHolder(file);
  return found !== undefined && isHeld(found, file, roughAgeMs);
}

/** Milliseconds since the last sign of life of a dead holder; undefined unless a lock is left behind. May throw. */
export const leftBehindMs = (file: string): number | undefined =>
  !readHolder(file) || isLocked(file) ? undefined : roughAgeMs(file);

/**
 * The holder of a lock, dead or alive: whether it runs on this machine, whether it is this process, and a sign that
 * changes while it lives. Undefined if there is no readable lock. Never throws.
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

/** The name of a lock's holder, for messages. */
export const holderName = (file: string): string => {
  const { pid, host, isHere } = lockHolder(file) ?? {};
  return pid === undefined ? 'another gw' : `another gw (process ${pid}${isHere ? '' : ` on ${host}`})`;
};

/** The hint when another gw holds something that this command needs. */
export const LET_GO = 'let that process go on (fg, or kill -CONT) or end it, and run this again';

/** The marker is itself a lock, so the marker of a dead process is taken over the same way and never just removed. */
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

/** Makes the lock; false if there already is one. Throws the system's error. */
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

function isHeld(found: Holder, file: string, ageMs = fileAgeMs): boolean {
  if (found === UNREADABLE) return ageMs(file) < unreadableLifeMs;
  if (!isOfThisMachine(found)) return ageMs(file) < foreignLifeMs;
  if (!isAlive(found) || released.has(found.nonce)) return false;
  if (processStart(found.pid) !== undefined || found.pid === process.pid) return true;
  // The system cannot tell whether the process ID was reused, so signs of life decide.
  return ageMs(file) < foreignLifeMs || beats(file);
}

/** True if the holder shows a sign of life while we wait: after the machine slept, the last sign may be old. */
function beats(file: string): boolean {
  const timeOf = () => fs.statSync(file, { throwIfNoEntry: false })?.mtimeMs;
  const before = timeOf();
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3 * BEAT_MS);
  return timeOf() !== before;
}

/**
 * The age of a file by the clock of its file system, measured with a second file written beside it: the clock of this
 * machine may differ from that of a file server or of another machine that shares the disk.
 */
function fileAgeMs(file: string): number {
  const probe = `${file}.now`;
  const fd = fs.openSync(probe, 'w', 0o600);
  try {
    fs.writeSync(fd, '.');
    const nowMs = fs.fstatSync(fd).mtimeMs;
    return sinceWritten(file, nowMs);
  } finally {
    fs.closeSync(fd);
    fs.rmSync(probe, { force: true });
  }
}

const sinceWritten = (file: string, nowMs: number): number =>
  Math.abs(nowMs - (fs.statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0));

/** The age for a caller that takes no lock: on a full or read-only disk, by the clock of this machine. */
const roughAgeMs = (file: string): number => quietly(() => fileAgeMs(file)) ?? sinceWritten(file, Date.now());

function readHolder(file: string): Holder | undefined {
  let text: string;
  try {
    text = fs.readFileSync(file, 'utf8');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw Object.assign(error as Error, { path: file });
  }
  const { pid, host, started, nonce }: Partial<Holder> = quietly(() => JSON.parse(text)) ?? {};
  if (typeof pid !== 'number' || typeof host !== 'string') return UNREADABLE;
  if (typeof started !== 'string' || typeof nonce !== 'string') return UNREADABLE;
  return /^[0-9a-f]{1,64}$/.test(nonce) ? { pid, host, started, nonce } : UNREADABLE;
}

const isOwn = (file: string, own: Holder): boolean => readHolder(file)?.nonce === own.nonce;

/** Nonces of released locks that this process could not remove, for example because the disk became read-only. */
const released = new Set<string>();

/** How often a holder updates the modification time of its lock, to show that it lives. */
const BEAT_MS = 1_000;

function lockOf(file: string, own: Holder, step: Step): LockFile {
  const beat = setInterval(() => {
    const now = new Date();
    // A missing lock is reported when it is released.
    fs.utimes(file, now, now, () => {});
  }, BEAT_MS).unref();
  return {
    isOwn: () => isOwn(file, own),
    handTo: (pid) => fs.writeFileSync(file, JSON.stringify({ ...own, pid, started: startOf(pid) })),
    release() {
      clearInterval(beat);
      step('release the lock');
      try {
        if (isOwn(file, own)) fs.unlinkSync(file);
      } catch {
        // A lock that cannot be removed is rewritten as held by nobody; this process knows by `released`.
        released.add(own.nonce);
        quietly(() => fs.writeFileSync(file, JSON.stringify({ ...own, pid: 0 })));
      }
    },
  };
}

/** The holder of a lock. The process ID alone is not enough, because the system reuses IDs. */
export interface ProcessIdentity {
  readonly pid: number;
  /** The host name, plus the PID namespace in a container or sandbox, where process IDs differ. */
  readonly host: string;
  /** Boot ID and start time of the process on Linux; a mark of the machine or an empty text elsewhere. */
  readonly started: string;
}

export const ownIdentity = (): ProcessIdentity => ({ pid: process.pid, host: hostOf(), started: ownStart() });

const startOf = (pid: number): string => processStart(pid) ?? markOfMachine();
/** Each lock asks for it, and `/proc` is slow to read, so it is read once. */
const ownStart = once(() => startOf(process.pid));

/**
 * Identifies a machine without boot IDs, even if its name changes: the creation time of a system folder in nanoseconds.
 * It replaces the boot ID; empty if no such folder exists.
 */
const markOfMachine = once((folders = ['/private/var/db', 'C:\\Windows']): string => {
  for (const folder of folders) {
    const stats = fs.statSync(folder, { bigint: true, throwIfNoEntry: false });
    if (stats) return `${stats.birthtimeNs}-${stats.ino}:`;
  }
  return '';
});

/** True if the holder's process ID refers to this machine. Names alone do not decide: they change with the network. */
export function isOfThisMachine(found: ProcessIdentity, own: ProcessIdentity = ownIdentity()): boolean {
  if (found.host === own.host) return true;
  const bootOf = ({ started }: ProcessIdentity) => started.split(':')[0] ?? '';
  const spaceOf = ({ host }: ProcessIdentity) => host.split(' ')[1];
  return bootOf(own) !== '' && bootOf(found) === bootOf(own) && spaceOf(found) === spaceOf(own);
}

/** The PID namespace of the machine itself (PROC_PID_INIT_INO of Linux). */
const MACHINES_OWN = 'pid:[4026531836]';
const bootId = once(() => fs.readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim());

/** The host name plus the PID namespace: two containers may share a host name and this directory. */
export function hostOf(readSpace = () => fs.readlinkSync('/proc/self/ns/pid')): string {
  const space = quietly(readSpace);
  return space === undefined || space === MACHINES_OWN ? os.hostname() : `${os.hostname()} ${space}`;
}

/** True if a process of this machine still runs; if its start time is unknown, its ID alone decides. */
export function isAlive({ pid, started }: ProcessIdentity): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM means that the process exists but belongs to another user; its start time tells whether it is the holder.
    if (errorCode(error) !== 'EPERM') return false;
  }
  const now = processStart(pid);
  if (now === 'ended') return false;
  return now === undefined || started === '' || started.endsWith(':') || now === started;
}

/** `BOOT:TICKS` of a process; `ended` for a zombie; undefined if the system does not tell. */
function processStart(pid: number): string | undefined {
  return quietly(() => {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The process name is in parentheses and may itself contain spaces and parentheses.
    const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return state === 'Z' || state === 'X' ? 'ended' : `${bootId()}:${fields[18]}`;
  });
}

const LOCK_WAIT_MS = 10_000;

/**
 * Takes the lock at a path as soon as no other process holds it. Throws GwError `usage` if that takes longer than 10 s,
 * and the system's error if the file cannot be made.
 */
export async function waitForLock(file: string, clock: Pick<Clock, 'steady' | 'sleep'>): Promise<LockFile> {
  const endMs = clock.steady() + LOCK_WAIT_MS;
  for (let pauseMs = 2; ; pauseMs = Math.min(pauseMs * 1.5, 50)) {
    const lock = tryLock(file);
    if (lock) return lock;
    if (clock.steady() >= endMs) throw usage(`${holderName(file)} has held ${file} for 10 s`, LET_GO);
    // The random factor keeps two waiting processes from retrying in step.
    await clock.sleep(pauseMs * (0.5 + Math.random()));
  }
}
