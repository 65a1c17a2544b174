import * as fs from 'node:fs';
import * as path from 'node:path';
import { ensureDirectory } from '../disk/durable-directory.ts';
import { type Step, tryLock } from '../disk/lock-file.ts';
import { usage } from '../errors.ts';
import { journals } from './journal-files.ts';
import { jobOfLine } from './parse-line.ts';
import { FRESH, rewriteJournal } from './rewrite-journal.ts';

/**
 * Takes jobs out of every journal; all other lines stay, those that cannot be read among them.
 * Throws GwError `usage` while another process does the same, and the system's error where a journal cannot be rewritten.
 */
export function removeJobs(
  { dir, locks, step }: { readonly dir: string; readonly locks: string; readonly step?: Step },
  keys: ReadonlySet<string>,
): void {
  if (keys.size === 0) return;
  ensureDirectory(locks);
  const lock = tryLock(path.join(locks, 'rewrite.lock'), step);
  if (!lock)
    throw usage('another gw is removing jobs from the ledger', 'Wait for it to end, then run this again.');
  try {
    forgetUnfinished(dir);
    const keeps = (line: string) => !keys.has(jobOfLine(line) ?? '');
    for (const journal of journals(dir)) rewriteJournal(journal, keeps, step);
  } finally {
    lock.release();
  }
}

/** What a crashed rewriting had not put to use. */
function forgetUnfinished(dir: string): void {
  if (!fs.existsSync(dir)) return;
  for (const name of fs.readdirSync(dir)) {
    if (name.endsWith(FRESH)) fs.rmSync(path.join(dir, name), { force: true });
  }
}
