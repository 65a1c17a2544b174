import * as fs from 'node:fs';
import { usage } from '../errors.ts';
import { quietly } from '../host.ts';
import { headOf, oddKind } from './small-file.ts';

/** A file that gw writes beside outputs under a name that the user chose: a report or a gallery. */
export interface OwnFile {
  readonly file: string;
  /** The name as the user typed it, for messages. */
  readonly named: string;
  /** The kind of file in messages: `a report that gw wrote`. */
  readonly what: string;
  /** True if a file that begins with `head` is of this kind. */
  readonly isOwn: (head: string) => boolean;
  /** How the user can choose another name. */
  readonly hint: string;
}

/** Throws `usage` if the name is taken by anything but a file of this kind, or by a link: gw replaces nothing else. */
export function refuseForeign({ file, named, what, isOwn, hint }: OwnFile): void {
  // If lstat fails, writing will fail too, with a proper message.
  const there = quietly(() => fs.lstatSync(file, { throwIfNoEntry: false }));
  if (there === undefined || (there.isFile() && isOwn(headOf(file, HEAD_BYTES).toString()))) return;
  throw usage(`${named}: is there already, and is ${oddKind(there) ?? `not ${what}`}`, hint);
}

/** The mark that identifies gw's own file is within these first bytes. */
const HEAD_BYTES = 512;
