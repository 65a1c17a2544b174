import * as path from 'node:path';
import { flagName } from '../flags/flag.ts';
import { parseReference } from '../media/reference.ts';
import type { CreateFlags, Row } from './rows.ts';

// A row that other machines are to work on: it names its files from a directory that all of them see, and holds nothing
// that must not leave this one.

/** Words of a query that sign a link: whoever has it has what it points to. */
const signing =
  /[?&](x-amz-signature|x-goog-signature|x-oss-signature|signature|sig|token|expires)=|[?&]q-sign/i;
const inlineData = /\bdata:[a-z]+\/[a-z0-9.+-]+(;[a-z0-9=.+-]+)*,/i;

/** Why a row cannot be handed to other machines, as `field: message`; none where it can. `hide` masks the key. */
export function unportable(row: Row, creates: CreateFlags, hide: (text: string) => string): string[] {
  const faults: string[] = [];
  for (const [key, value] of Object.entries(row.flags)) {
    const name = flagName(key).slice(2);
    const isReference = creates[row.command]?.[key]?.value?.includes('REF') === true;
    for (const each of [value].flat()) {
      if (typeof each !== 'string') continue;
      const file = isReference ? fileOf(each, name) : each.startsWith('@') ? each.slice(1) : undefined;
      if (file !== undefined && leaves(file)) {
        faults.push(
          `${name}: ${file.slice(0, 80)}: a row for other machines names files below --root, without ..`,
        );
      }
    }
  }
  const { out } = row.flags;
  if (typeof out === 'string' && leaves(out)) {
    faults.push(
      `out: ${out.slice(0, 80)}: each worker saves below its own directory (gw worker -o names it)`,
    );
  }
  const text = JSON.stringify([row.flags, row.set, row.body]);
  if (inlineData.test(text))
    faults.push('a data: URI would put the content of a file on the queue; name the file');
  if (/https?:/i.test(text) && signing.test(text)) {
    faults.push('a signed link would stand on the queue; name a file, or put it into the asset library');
  }
  if (hide(text) !== text) faults.push('the row holds the API key');
  return faults;
}

/** Whether a path is absolute or goes out of where it begins. */
const leaves = (file: string): boolean =>
  path.posix.isAbsolute(file) || path.win32.isAbsolute(file) || file.split(/[\\/]/).includes('..');

/** The file that a reference names; undefined where it names none. */
function fileOf(raw: string, name: string): string | undefined {
  const [, rest = raw] = /^[\p{L}\p{N}_-]{1,64}=([\s\S]*)$/u.exec(raw) ?? [];
  const reference = parseReference(rest, `--${name}`);
  return reference.kind === 'file' ? reference.path : undefined;
}
