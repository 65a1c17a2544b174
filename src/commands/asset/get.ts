import { defineCommand } from '../../command.ts';
import { usage } from '../../errors.ts';
import { on } from '../../flags/flag.ts';
import { getAsset, restAsset } from '../../gateway/asset.ts';
import { resultOf } from '../../gateway/asset-envelope.ts';
import { Asset } from '../../gateway/asset-record.ts';
import { projectFlag } from './flags.ts';
import { getRecords, recordJson, recordText, type SeenRecord } from './get-records.ts';
import { given } from './library-body.ts';
import { libraryIds } from './library-ids.ts';

const flags = {
  rest: on('ask by the REST alias, which answers without the envelope'),
  ...projectFlag,
} as const;

/** `gw asset get ID…` */
export const get = defineCommand<typeof flags, SeenRecord>({
  args: { name: 'ID', summary: 'asset ID, or asset://ID', required: true, many: true },
  flags,
  examples: [
    'gw asset get "$(gw asset list --sandbox -q --limit 1)" --sandbox',
    'gw asset get "$(gw asset list --sandbox -q --limit 1)" --sandbox --rest --json',
  ],
  sends: 'query',
  human: recordText,
  raw: recordJson,
  run({ args, flags: { rest, project } }, ctx) {
    const ids = libraryIds(args);
    if (!rest) {
      const input = (Id: string) => ({ body: given({ Id, ProjectName: project }) });
      return getRecords(ids, { endpoint: getAsset, input, recordOf: (reply) => resultOf(Asset, reply) }, ctx);
    }
    refuseProject(project);
    const input = (id: string) => ({ params: { asset_id: id } });
    return getRecords(ids, { endpoint: restAsset, input, recordOf: (reply) => reply }, ctx);
  },
});

/** The REST look-ups know no projects. Throws `usage` where one is named. */
export function refuseProject(project: string | undefined): void {
  if (project === undefined) return;
  throw usage(
    `--project ${project}: GET /api/assets takes no project`,
    'leave --rest out: the action looks into one project',
  );
}
