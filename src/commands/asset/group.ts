import { askLibrary } from '../../assets/ask-library.ts';
import { findGroup } from '../../assets/create-once.ts';
import { defineCommand, type Outcome, ShownRequest } from '../../command.ts';
import type { Context } from '../../context.ts';
import { GwError } from '../../errors.ts';
import { fromField } from '../../flags/body-flags.ts';
import type { JsonObject } from '../../flags/json-body.ts';
import {
  CreateGroupBody,
  createGroup,
  deleteGroup,
  getGroup,
  UpdateGroupBody,
  updateGroup,
} from '../../gateway/asset/actions.ts';
import { resultOf } from '../../gateway/asset/envelope.ts';
import { canonical, groupTypes } from '../../gateway/asset/fields.ts';
import { LibraryPage, ListGroupsBody, listAssets, listGroups } from '../../gateway/asset/list.ts';
import { LibraryRecord } from '../../gateway/asset/record.ts';
import { askFirst, refuseUnasked } from '../ask-first.ts';
import { create as createInLibrary, deleteFlags, lookCommand, remove, updateCommand } from './change.ts';
import {
  anyCaseFlag,
  bodyMaker,
  getRecords,
  idBodies,
  idLine,
  type LibraryResult,
  layOf,
  libraryId,
  libraryResult,
  projectFlag,
  recordJson,
  recordText,
  type SeenRecord,
} from './library.ts';
import { groupTable, type Listed, listFlags, listJson, listPages } from './list.ts';

const { shape: created } = CreateGroupBody;
const createFlags = {
  name: fromField(created.Name, 'NAME'),
  description: fromField(created.Description, 'TEXT'),
  type: anyCaseFlag(created.GroupType, groupTypes),
  ...projectFlag,
} as const;

export const create = defineCommand<typeof createFlags, LibraryResult>({
  flags: createFlags,
  examples: [
    'gw asset group create --sandbox --name foxes --description "winter shots"',
    'gw asset group create --sandbox --name faces --type LivenessFace --project film --json',
  ],
  sends: 'body',
  human: idLine,
  async run({ flags }, ctx) {
    const lay = layOf('Name', 'Description', 'GroupType', 'ProjectName');
    const body = (await bodyMaker(createGroup, lay, flags, ctx))();
    const filters = { '--type': body.GroupType, '--name': body.Name, '--project': body.ProjectName };
    const look = lookCommand('gw asset group list', filters, ctx);
    const request = { endpoint: createGroup, body, what: 'asset group', lookCommand: look };
    const created = await createInLibrary(request, findGroup, ctx);
    if (created instanceof ShownRequest) return { value: created };
    return { value: libraryResult('asset-group', created.id, '', created.reply, created.record) };
  },
});

const groupListFlags = { ...listFlags, sortBy: fromField(ListGroupsBody.shape.SortBy) } as const;

export const list = defineCommand<typeof groupListFlags, Listed<LibraryPage>>({
  flags: groupListFlags,
  examples: [
    'gw asset group list --sandbox',
    'gw asset group list --sandbox --type LivenessFace --page 1 --page-size 20 --json',
  ],
  notes: [
    'Without --type, AIGC groups are listed. A token belongs to the filters and the order that it came with.',
  ],
  sends: 'body',
  human: ({ page }) => groupTable(page.Items),
  raw: listJson,
  async *run({ flags }, ctx): AsyncGenerator<Outcome<Listed<LibraryPage>>> {
    yield* listPages(listGroups, flags, ctx);
  },
});

export const get = defineCommand<typeof projectFlag, SeenRecord>({
  args: { name: 'ID', summary: 'group ID', required: true, many: true },
  flags: projectFlag,
  examples: ['gw asset group get "$(gw asset group create --sandbox --name foxes)" --sandbox'],
  sends: 'body',
  human: recordText,
  raw: recordJson,
  async *run({ args, flags }, ctx) {
    const { ids, inputOf } = await idBodies(args, flags, ctx);
    yield* getRecords(ids, getGroup, inputOf, (reply) => resultOf(LibraryRecord, reply), ctx);
  },
});

const { shape: updated } = UpdateGroupBody;

/** `gw asset group update ID` changes only the given fields. */
export const update = updateCommand({
  family: 'asset-group',
  summary: 'group ID',
  flags: { name: fromField(updated.Name, 'NAME'), description: fromField(updated.Description, 'TEXT') },
  examples: [
    'gw asset group update "$(gw asset group create --sandbox --name foxes)" --sandbox --name "foxes, winter"',
  ],
  endpoint: updateGroup,
});

/** `gw asset group delete ID` is irreversible and makes the group's assets unusable, so it asks. */
export const groupDelete = defineCommand<typeof deleteFlags, LibraryResult>({
  args: { name: 'ID', summary: 'group ID', required: true },
  flags: deleteFlags,
  examples: ['gw asset group delete "$(gw asset group create --sandbox --name old)" --sandbox --yes'],
  notes: ['The assets in the group become unusable with it; how many there are is said first.'],
  sends: 'body',
  human: idLine,
  async run({ args, flags, globals }, ctx): Promise<Outcome<LibraryResult>> {
    const id = libraryId(args, ctx);
    const body = (await idBodies([id], flags, ctx)).bodyOf(id);
    refuseUnasked(`deleting group ${id} cannot be undone`, flags.yes, ctx);
    if (!globals.dryRun && !globals.curl) {
      const loss = lossText(await countAssets(body, ctx));
      if (flags.yes) ctx.io.note(`group ${id}: ${loss}`);
      else await askFirst(`Delete group ${id} for good? ${loss}.`, ctx);
    }
    return remove('asset-group', deleteGroup, body, ctx);
  },
});

function lossText(count: number | undefined): string {
  if (count === undefined) return 'how many assets become unusable could not be found out';
  return count === 1 ? '1 asset becomes unusable' : `${count === 0 ? 'no' : count} assets become unusable`;
}

/** The number of assets in a group; undefined if the gateway gives none. Throws `not_found` for a missing group. */
async function countAssets({ Id: id, ProjectName }: JsonObject, ctx: Context): Promise<number | undefined> {
  const { client } = await ctx.gateway();
  const { signal } = ctx;
  try {
    const group = await askLibrary(client, getGroup, { body: { Id: id, ProjectName } }, { signal });
    const type = canonical(groupTypes, resultOf(LibraryRecord, group.json).GroupType);
    if (type === undefined) return undefined;
    // A page with one asset contains the total.
    const body = { Filter: { GroupType: type, GroupIds: [id] }, PageNumber: 1, PageSize: 1, ProjectName };
    const list = await askLibrary(client, listAssets, { body }, { signal });
    return resultOf(LibraryPage, list.json).TotalCount ?? undefined;
  } catch (error) {
    if (!(error instanceof GwError) || error.kind === 'not_found' || error.kind === 'auth') throw error;
    ctx.io.warn(`the assets of group ${id} could not be counted: ${error.message}`);
    return undefined;
  }
}
