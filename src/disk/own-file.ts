import * as fs from 'node:fs';
import { usage } from '../errors.ts';
import { openRegular } from './small-file.ts';

/** A file that gw makes beside outputs, under a name of the user's: a report, a gallery. */
export interface OwnFile {
  readonly file: string;
  /** As it was typed, for messages. */
  readonly named: string;
  /** `a report that gw wrote` */
  readonly what: string;
  /** Whether a file that begins so is one. */
  readonly isOwn: (head: string) => boolean;
  /** How to give another name. */
  readonly hint: string;
}

/** Throws `usage` where anything stands that gw did not write as such a file: it replaces nothing else, and no link. */
export function refuseForeign({ file, named, what, isOwn, hint }: OwnFile): void {
  let there: fs.Stats | undefined;
  try {
    there = fs.lstatSync(file, { throwIfNoEntry: false });
  } catch {
    // What hinders a look hinders the writing too, which says so.
  }
  if (there === undefined || (there.isFile() && isOwn(headOf(file)))) return;
  throw usage(`${named}: is there already, and is not ${what}`, hint);
}

/** What tells a file of gw's stands within these first bytes. */
const HEAD_BYTES = 512;

function headOf(file: string): string {
  const { fd } = openRegular(file);
  try {
    const head = Buffer.alloc(HEAD_BYTES);
    return head.toString('utf8', 0, fs.readSync(fd, head, 0, HEAD_BYTES, 0));
  } finally {
    fs.closeSync(fd);
  }
}
