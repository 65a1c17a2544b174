import * as crypto from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import {
  appendLine,
  ensureDirectory,
  hasNoLinks,
  renameFile,
  syncDirectory,
} from '../disk/durable-directory.ts';
import { type Step, tryLock } from '../disk/lock-file.ts';
import { endOfLastLine, readLines } from '../disk/read-lines.ts';
import { errorCode, usage } from '../errors.ts';
import { removeContents } from './contents.ts';
import { formerPath, type Journal, journals, namesIn } from './journal-files.ts';
import { openIfThere } from './open-journals.ts';
import { jobOfLine } from './parse-line.ts';

// A journal is rewritten without a lock while other processes append to it. The former version stays readable under
// another name until every remaining line is durable in the new one, so that a crash loses nothing. A process that
// appends checks afterwards whether its file still has the name, and otherwise appends again.

/** Suffix of a new journal that is not in use yet. */
const FRESH = '.new';

type Keeps = (line: string) => boolean;

/**
 * Removes jobs from every journal; all other lines stay, including unreadable ones. Throws GwError `usage` while
 * another process does the same, and the system's error if a journal cannot be rewritten.
 */
export function removeJobs(
  { dir, locks, step }: { readonly dir: string; readonly locks: string; readonly step?: Step },
  keys: ReadonlySet<string>,
): void {
  if (keys.size === 0) return;
  ensureDirectory(locks);
  const lock = tryLock(path.join(locks, 'rewrite.lock'), step);
  if (!lock)
    throw usage('another gw is removing jobs from the ledger', 'wait for it to end, then run this again');
  try {
    // Remove new journals that a crashed rewrite left unused.
    for (const name of namesIn(dir))
      if (name.endsWith(FRESH)) fs.rmSync(path.join(dir, name), { force: true });
    const keeps = (line: string) => !keys.has(jobOfLine(line) ?? '');
    for (const journal of journals(dir)) rewriteJournal(journal, keeps, step);
    removeContents(dir);
  } finally {
    lock.release();
  }
}

/**
 * Removes the lines that `keeps` refuses from a journal. Only one process at a time may do this. Throws the system's
 * error, or GwError `usage` if there are no hard links; then all lines are still there.
 */
function rewriteJournal({ path: file, files }: Journal, keeps: Keeps, step: Step = () => {}): void {
  const nonce = crypto.randomBytes(6).toString('hex');
  const fresh = `${file}.${nonce}${FRESH}`;
  const formers = files.filter((each) => each !== file);
  let fd = openIfThere(file);
  try {
    step('copy the lines that stay');
    const copiedBytes = fd === undefined ? 0 : endOfLastLine(fd);
    const sources = formers.map((former) => ({ path: former, bytes: Number.POSITIVE_INFINITY }));
    if (fd !== undefined) sources.push({ path: file, bytes: copiedBytes });
    const copied = copyLines(fresh, sources, keeps);
    if (copied.dropped === 0 && formers.length === 0) return;
    if (fd === undefined) {
      step('name the new journal');
      // This fails if another process has made the journal again; the next rewrite finds both.
      fs.linkSync(fresh, file);
    } else {
      const former = formerPath(file, nonce);
      step('keep the former journal');
      keepAs(file, former);
      formers.push(former);
      syncDirectory(path.dirname(file));
      step('put the new journal in its place');
      // Windows cannot replace an open file, so the old one is closed and read by its other name.
      fs.closeSync(fd);
      fd = undefined;
      if (copied.kept > 0) renameFile(fresh, file);
      else fs.unlinkSync(file);
      fd = fs.openSync(former, 'r');
    }
    syncDirectory(path.dirname(file));
    step('append the rest');
    if (fd !== undefined) appendRest(fd, copiedBytes, file);
    step('remove the former journal');
    for (const former of formers) fs.unlinkSync(former);
    syncDirectory(path.dirname(file));
  } finally {
    if (fd !== undefined) fs.closeSync(fd);
    fs.rmSync(fresh, { force: true });
  }
}

/** Gives the file a second name. A copy would miss the lines that others append meanwhile. */
function keepAs(file: string, former: string): void {
  try {
    fs.linkSync(file, former);
  } catch (error) {
    if (!hasNoLinks(error)) throw error;
    throw usage(
      `no job was removed: ${path.dirname(file)} is on a file system without hard links (${errorCode(error)})`,
      'the ledger is as it was; where it takes too much room, move it to another disk and set GW_STATE_DIR',
    );
  }
}

const chunkBytes = 1 << 16;

/** Copies the remaining lines, from each file only up to its given length; durable when this returns. */
function copyLines(
  to: string,
  from: readonly { readonly path: string; readonly bytes: number }[],
  keeps: Keeps,
): { kept: number; dropped: number } {
  const counts = { kept: 0, dropped: 0 };
  const fd = fs.openSync(to, 'wx', 0o600);
  try {
    let block = '';
    for (const source of from) {
      for (const line of readLines(source.path, { endByte: source.bytes })) {
        const isKept = keeps(line);
        counts[isKept ? 'kept' : 'dropped'] += 1;
        if (!isKept) continue;
        block += `\n${line}\n`;
        if (block.length < chunkBytes) continue;
        fs.writeFileSync(fd, block);
        block = '';
      }
    }
    fs.writeFileSync(fd, block);
    fs.fsyncSync(fd);
  } finally {
    fs.closeSync(fd);
  }
  return counts;
}

/** Appends the bytes that others added to the old file while its lines were copied. */
function appendRest(former: number, fromByte: number, file: string): void {
  const rest = Buffer.alloc(Math.max(0, fs.fstatSync(former).size - fromByte));
  fs.readSync(former, rest, 0, rest.length, fromByte);
  if (rest.every((byte) => byte === 0x0a)) return;
  appendLine(file, rest);
}
