import { defineCommand, type Outcome } from '../../command.ts';
import { on } from '../../flags/flag.ts';
import { deleteAsset } from '../../gateway/asset/actions.ts';
import { askFirst, refuseUnasked, remove } from './change.ts';
import { projectFlag } from './flags.ts';
import { idBodies } from './library-body.ts';
import { libraryIds, oneByOne } from './library-ids.ts';
import { idLine, type LibraryResult } from './result.ts';

const flags = { yes: on('do not ask'), ...projectFlag } as const;

/** `gw asset delete ID…`: irreversible, so it asks. */
export const assetDelete = defineCommand<typeof flags, LibraryResult>({
  args: { name: 'ID', summary: 'asset ID, or asset://ID', required: true, many: true },
  flags,
  examples: ['gw asset delete "$(gw asset list --sandbox -q --limit 1)" --sandbox --yes'],
  sends: 'body',
  human: idLine,
  async *run({ args, flags: { yes, project }, globals }, ctx): AsyncGenerator<Outcome<LibraryResult>> {
    const ids = libraryIds(args, ctx);
    const bodyOf = await idBodies(project, ctx);
    for (const id of ids) bodyOf(id);
    const what = ids.length === 1 ? `asset ${ids[0]}` : `${ids.length} assets`;
    refuseUnasked(what, yes, ctx);
    if (!yes && !globals.dryRun && !globals.curl) await askFirst(`Delete ${what} for good?`, ctx);
    yield* oneByOne(ids, (id) => remove('asset', deleteAsset, bodyOf(id), ctx));
  },
});
