import { askLibrary } from '../../../assets/ask-library.ts';
import { defineCommand, type Outcome } from '../../../command.ts';
import type { Context } from '../../../context.ts';
import { GwError } from '../../../errors.ts';
import { on } from '../../../flags/flag.ts';
import { resultOf } from '../../../gateway/asset/envelope.ts';
import { canonical, groupTypes } from '../../../gateway/asset/fields.ts';
import { deleteGroup, getGroup } from '../../../gateway/asset/group.ts';
import { AssetPage, listAssets } from '../../../gateway/asset/list.ts';
import { AssetGroup } from '../../../gateway/asset/record.ts';
import { askFirst, refuseUnasked, remove } from '../change.ts';
import { projectFlag } from '../flags.ts';
import { given, idBodies } from '../library-body.ts';
import { libraryId } from '../library-ids.ts';
import { idLine, type LibraryResult } from '../result.ts';

const flags = { yes: on('do not ask'), ...projectFlag } as const;

/** `gw asset group delete ID`: irreversible, and its assets become unusable; it says how many, and asks. */
export const groupDelete = defineCommand<typeof flags, LibraryResult>({
  args: { name: 'ID', summary: 'group ID', required: true },
  flags,
  examples: ['gw asset group delete "$(gw asset group create --sandbox --name old)" --sandbox --yes'],
  notes: ['The assets in the group become unusable with it; how many there are is said first.'],
  sends: 'body',
  human: idLine,
  async run({ args, flags: { yes, project }, globals }, ctx): Promise<Outcome<LibraryResult>> {
    const id = libraryId(args, ctx);
    const body = (await idBodies(project, ctx))(id);
    refuseUnasked(`group ${id}`, yes, ctx);
    if (!globals.dryRun && !globals.curl) {
      const loss = lossText(await countAssets(id, project, ctx));
      if (yes) ctx.io.note(`group ${id}: ${loss}`);
      else await askFirst(`Delete group ${id} for good? ${loss}.`, ctx);
    }
    return remove('asset-group', deleteGroup, body, ctx);
  },
});

function lossText(count: number | undefined): string {
  if (count === undefined) return 'how many assets become unusable could not be found out';
  return count === 1 ? '1 asset becomes unusable' : `${count === 0 ? 'no' : count} assets become unusable`;
}

/** How many assets a group has; undefined where the gateway does not say. Throws `not_found` where there is no group. */
async function countAssets(
  id: string,
  project: string | undefined,
  ctx: Context,
): Promise<number | undefined> {
  const { client } = await ctx.gateway();
  const { signal } = ctx;
  const inProject = given({ ProjectName: project });
  try {
    const group = await askLibrary(client, getGroup, { body: { Id: id, ...inProject } }, { signal });
    const { GroupType } = resultOf(AssetGroup, group.json);
    const type = canonical(groupTypes, GroupType);
    if (type === undefined) return undefined;
    // A page of one asset tells the number of all.
    const body = { Filter: { GroupType: type, GroupIds: [id] }, PageNumber: 1, PageSize: 1, ...inProject };
    const list = await askLibrary(client, listAssets, { body }, { signal });
    return resultOf(AssetPage, list.json).TotalCount ?? undefined;
  } catch (error) {
    if (!(error instanceof GwError) || error.kind === 'not_found' || error.kind === 'auth') throw error;
    ctx.io.warn(`the assets of group ${id} could not be counted: ${error.message}`);
    return undefined;
  }
}
