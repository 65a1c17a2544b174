import { defineCommand } from '../../command.ts';
import { getAsset } from '../../gateway/asset/actions.ts';
import { showInstead } from '../show-instead.ts';
import { projectFlag } from './flags.ts';
import { idBodies } from './library-body.ts';
import { libraryIds } from './library-ids.ts';
import { idLine, type LibraryResult } from './result.ts';
import { waitFlags } from './wait-flags.ts';
import { waitOutcomes } from './wait-for.ts';

const { waitTimeout, interval } = waitFlags;
const flags = { waitTimeout, interval, ...projectFlag } as const;

/** `gw asset wait ID…`: until each is Active or Failed. */
export const wait = defineCommand<typeof flags, LibraryResult>({
  args: { name: 'ID', summary: 'asset ID, or asset://ID', required: true, many: true },
  flags,
  examples: [
    'gw asset wait "$(gw asset list --sandbox -q --limit 1)" --sandbox',
    'gw asset list --sandbox --all -q | xargs gw asset wait --sandbox --json',
  ],
  notes: [
    'Prints the ID of each that is Active, as it becomes so. One that has failed is exit 9, with its code.',
  ],
  sends: 'body',
  human: idLine,
  async *run({ args, flags, globals }, ctx) {
    const ids = libraryIds(args, ctx);
    const bodyOf = await idBodies(flags.project, ctx);
    for (const id of ids) bodyOf(id);
    if (!globals.dryRun && !globals.curl) return yield* waitOutcomes(ids, { ...flags, bodyOf }, ctx, false);
    for (const id of ids) {
      const value = await showInstead(getAsset, { body: bodyOf(id) }, ctx);
      if (value) yield { value };
    }
  },
});
