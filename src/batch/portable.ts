import { leaves } from '../disk/confined-path.ts';
import { placeFiles } from '../flags/body-flags.ts';
import { flagName, mayStandIn } from '../flags/flag.ts';
import { type SaidBy, toldAs } from '../flags/yielding.ts';
import type { CreateFlags, Row } from './rows.ts';

// Checks that other machines may work on a row: its files are relative to a directory that all machines see, and it
// contains nothing that must stay on this machine.

/** Query parameters that sign a link: whoever has such a link can use it. */
const signing =
  /[?&]([\w-]*-)?(signature|sig|policy|token|credential|expires|key|auth|auth_key|key-pair-id)=|[?&]q-sign/i;
const inlineData = /\bdata:[a-z]+\/[a-z0-9.+-]+(;[a-z0-9=.+-]+)*,/i;

/**
 * The faults that keep a row from other machines, as `field: message`; empty if there are none. `hide` masks the API key.
 * `staying` lists profile defaults that apply only on this machine.
 */
export function unportable(row: Row, creates: CreateFlags, hide: (text: string) => string) {
  const faults: string[] = [];
  const staying: string[] = [];
  const { stored = [] }: SaidBy = row.flags;
  const flags = creates[row.command] ?? {};
  for (const key of Object.keys(row.flags)) {
    const flag = flagName(key);
    if (flags[key] === undefined || mayStandIn(flags[key], 'row')) continue;
    if (stored.includes(key)) staying.push(toldAs(flag, { stored }, row.command));
    else faults.push(`${flag.slice(2)}: is for this machine alone, and goes to no other`);
  }
  placeFiles(row.flags, flags, (file, flag) => {
    if (leaves(file))
      faults.push(
        `${flag.slice(2)}: ${file.slice(0, 80)}: other machines read files below --root, without ..`,
      );
    return file;
  });
  const { out } = row.flags;
  if (typeof out === 'string' && leaves(out))
    faults.push(`out: ${out.slice(0, 80)}: a worker saves below its own directory (gw worker -o)`);
  const text = JSON.stringify([row.flags, row.set, row.body]);
  if (inlineData.test(text))
    faults.push('a data: URI would put the content of a file on the queue; name the file');
  if (/https?:/i.test(text) && signing.test(text))
    faults.push('a signed link would stand on the queue; name a file, or put it into the asset library');
  if (hide(text) !== text) faults.push('the row holds the API key');
  return { faults, staying };
}
