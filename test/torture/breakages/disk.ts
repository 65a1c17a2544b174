import type { Breakage } from './breakage.ts';

/** Breakages in the locks and appended lines on which the ledger, the settings and the sessions rest. */
export const disk: readonly Breakage[] = [
  {
    costs: 'the lock of a living process is taken over',
    find: 'if (isHeld(found, file)) return undefined;',
  },
  {
    costs: 'a lock that a dead process left holds for ever',
    find: 'return takeOver(file, found, own, step) ? lockOf(file, own, step) : undefined;',
    replace: 'return undefined;',
  },
  {
    costs: 'two processes take over one lock',
    find: 'if (now?.nonce !== stale.nonce || (now === UNREADABLE && isHeld(now, file))) return false; write(fresh, own);',
    replace: 'write(fresh, own);',
  },
  {
    costs: 'a process ID that was given out again keeps the lock of a dead one',
    find: "return now === undefined || started === '' || started.endsWith(':') || now === started;",
    replace: 'return true;',
  },
  {
    costs: 'a process that has ended counts as living until its parent looks',
    find: "if (now === 'ended') return false;",
  },
  {
    costs: 'a lock of another machine is taken away at once',
    find: 'return ageMs(file) < foreignLifeMs;',
    replace: 'return false;',
  },
  {
    costs: 'a lock is dated by the clock of the machine, and one that is being written taken away',
    find: 'const nowMs = fs.fstatSync(fd).mtimeMs; return',
    replace: 'const nowMs = Date.now(); return',
  },
  {
    costs: 'a lock that is being written is taken away',
    find: 'return ageMs(file) < unreadableLifeMs;',
    replace: 'return false;',
  },
  {
    costs: 'a lock is removed that is no longer this one',
    find: 'if (isOwn(file, own)) fs.unlinkSync(file);',
    replace: 'fs.unlinkSync(file);',
  },
  {
    costs: 'a line that was written short counts as written',
    find: 'if (written !== bytes.length) throw',
    replace: 'if (written < 0) throw',
  },
  {
    costs: 'a line is not on the disk when it counts as written',
    find: 'syncOrThrow(() => calls.fdatasyncSync(fd));',
  },
  {
    costs: 'a new journal loses its name in a crash',
    find: 'if (size === 0) syncOrThrow(() => syncDirectory(path.dirname(file), calls));',
  },
  {
    costs: 'a torn line takes the next one with it',
    find: "Buffer.concat(['\\n', json, '\\n']",
    replace: "Buffer.concat([json, '\\n']",
  },
  {
    costs: 'a line that spans two pieces of a long journal is lost',
    find: 'carried = filled.length - end - 1;',
    replace: 'carried = 0;',
  },
  {
    costs: 'a directory is open to others',
    find: 'const PRIVATE = 0o700;',
    replace: 'const PRIVATE = 0o755;',
  },
];
