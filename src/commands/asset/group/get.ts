import { defineCommand } from '../../../command.ts';
import { resultOf } from '../../../gateway/asset/envelope.ts';
import { getGroup } from '../../../gateway/asset/group.ts';
import { AssetGroup } from '../../../gateway/asset/record.ts';
import { projectFlag } from '../flags.ts';
import { getRecords, recordJson, recordText, type SeenRecord } from '../get-records.ts';
import { idBodies } from '../library-body.ts';
import { libraryIds } from '../library-ids.ts';

/** `gw asset group get ID…` */
export const get = defineCommand<typeof projectFlag, SeenRecord>({
  args: { name: 'ID', summary: 'group ID', required: true, many: true },
  flags: projectFlag,
  examples: ['gw asset group get "$(gw asset group list --sandbox -q --limit 1)" --sandbox'],
  sends: 'body',
  human: recordText,
  raw: recordJson,
  async *run({ args, flags: { project } }, ctx) {
    const ids = libraryIds(args, ctx);
    const bodyOf = await idBodies(project, ctx);
    const input = (id: string) => ({ body: bodyOf(id) });
    const recordOf = (reply: unknown) => resultOf(AssetGroup, reply);
    yield* getRecords(ids, { endpoint: getGroup, input, recordOf }, ctx);
  },
});
