import * as fs from 'node:fs';
import * as path from 'node:path';
import { stateDir } from '../../config/dirs.ts';
import { readSwitch } from '../../config/environment.ts';
import { appendLine } from '../../disk/append-line.ts';
import { diskFault, isDiskFault } from '../../disk/disk-fault.ts';
import { ensureDirectory } from '../../disk/durable-directory.ts';
import { tryLock } from '../../disk/lock-file.ts';
import { readLines } from '../../disk/read-lines.ts';
import type { SessionContext } from '../session/session.ts';

const KEPT = 1_000;
/** Longer ones are documents, not lines that one goes back to. */
const MAX_CHARACTERS = 10_000;

/** The lines typed in conversations of this user, of all of them together. */
export interface History {
  /** Newest first. */
  readonly lines: readonly string[];
  /** Stores a line, the key replaced in it. A disk that fails is warned of once. */
  add(line: string): void;
}

/**
 * Opens the history in the state directory (0600). A history that cannot be read or written is no reason not to talk:
 * it is warned of. `GW_LEDGER_PROMPTS=off` keeps prompts off the disk here too.
 */
export function openHistory(ctx: SessionContext): History {
  if (readSwitch(ctx.host.env, 'GW_LEDGER_PROMPTS') === false) return { lines: [], add: () => {} };
  const dir = path.join(stateDir(ctx.host), 'chat');
  const file = path.join(dir, 'history.jsonl');
  let works = true;
  const tolerating = (work: () => void) => {
    try {
      if (works) work();
    } catch (error) {
      if (!isDiskFault(error)) throw error;
      works = false;
      ctx.io.warn(`the history ${file} cannot be used: ${diskFault(error).reason}`);
    }
  };
  let lines: string[] = [];
  tolerating(() => {
    ensureDirectory(dir);
    lines = readHistory(file);
    if (lines.length > 2 * KEPT) shorten(file, lines.slice(-KEPT));
  });
  return {
    lines: lines.slice(-KEPT).reverse(),
    add: (line) => {
      if (line.length > MAX_CHARACTERS) return;
      tolerating(() => appendLine(file, JSON.stringify(ctx.io.withoutSecrets(line))));
    },
  };
}

function readHistory(file: string): string[] {
  const lines: string[] = [];
  for (const line of readLines(file)) {
    try {
      const text: unknown = JSON.parse(line);
      if (typeof text === 'string' && text !== lines.at(-1)) lines.push(text);
    } catch {
      // A torn line is one line less to go back to.
    }
  }
  return lines;
}

/** Leaves the newest lines only; one that another process adds at this very moment may be lost. */
function shorten(file: string, lines: readonly string[]): void {
  const lock = tryLock(`${file}.lock`);
  if (lock === undefined) return;
  const fresh = `${file}.next`;
  try {
    fs.writeFileSync(fresh, lines.map((line) => `${JSON.stringify(line)}\n`).join(''), { mode: 0o600 });
    fs.renameSync(fresh, file);
  } finally {
    fs.rmSync(fresh, { force: true });
    lock.release();
  }
}
