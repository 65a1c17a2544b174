import { defineCommand, type Outcome } from '../../../command.ts';
import { fromField } from '../../../flags/flag.ts';
import { resultOf } from '../../../gateway/asset/envelope.ts';
import { GroupPage, ListGroupsBody, listGroups } from '../../../gateway/asset/list.ts';
import { libraryBody } from '../library-body.ts';
import { groupTable } from '../library-table.ts';
import {
  fillListBody,
  flagOfListField,
  type Listed,
  listBody,
  listFlags,
  listJson,
  listPages,
} from '../list-pages.ts';

const flags = { ...listFlags, sortBy: fromField(ListGroupsBody.shape.SortBy) } as const;

/** `gw asset group list` */
export const list = defineCommand<typeof flags, Listed<GroupPage>>({
  flags,
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
  async *run({ flags }, ctx): AsyncGenerator<Outcome<Listed<GroupPage>>> {
    const body = await libraryBody(
      {
        schema: ListGroupsBody,
        over: (base) => listBody(base, flags),
        fill: fillListBody(flags.all),
        flagOf: flagOfListField,
      },
      ctx,
    );
    const pageOf = (reply: unknown) => resultOf(GroupPage, reply);
    yield* listPages(listGroups, body, { all: flags.all, pageOf }, ctx);
  },
});
