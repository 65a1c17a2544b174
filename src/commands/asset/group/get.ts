import { defineCommand } from '../../../command.ts';
import { resultOf } from '../../../gateway/asset-envelope.ts';
import { getGroup } from '../../../gateway/asset-group.ts';
import { AssetGroup } from '../../../gateway/asset-record.ts';
import { projectFlag } from '../flags.ts';
import { getRecords, recordJson, recordText, type SeenRecord } from '../get-records.ts';
import { given } from '../library-body.ts';
import { libraryIds } from '../library-ids.ts';

/** `gw asset group get ID…` */
export const get = defineCommand<typeof projectFlag, SeenRecord>({
  args: { name: 'ID', summary: 'group ID', required: true, many: true },
  flags: projectFlag,
  examples: ['gw asset group get "$(gw asset group list --sandbox -q --limit 1)" --sandbox'],
  sends: 'query',
  human: recordText,
  raw: recordJson,
  run: ({ args, flags: { project } }, ctx) =>
    getRecords(
      libraryIds(args),
      {
        endpoint: getGroup,
        input: (Id) => ({ body: given({ Id, ProjectName: project }) }),
        recordOf: (reply) => resultOf(AssetGroup, reply),
      },
      ctx,
    ),
});
