import { defineCommand } from '../../command.ts';
import { fromField } from '../../flags/flag.ts';
import { UpdateAssetBody, updateAsset } from '../../gateway/asset/actions.ts';
import { update as sendUpdate } from './change.ts';
import { projectFlag } from './flags.ts';
import { given, libraryBody } from './library-body.ts';
import { libraryId } from './library-ids.ts';
import { idLine, type LibraryResult } from './result.ts';

const flags = { name: fromField(UpdateAssetBody.shape.Name, 'NAME'), ...projectFlag } as const;

/** `gw asset update ID`: a new name. */
export const update = defineCommand<typeof flags, LibraryResult>({
  args: { name: 'ID', summary: 'asset ID, or asset://ID', required: true },
  flags,
  examples: ['gw asset update "$(gw asset list --sandbox -q --limit 1)" --sandbox --name "fox, front"'],
  sends: 'body',
  human: idLine,
  async run({ args, flags: { name, project } }, ctx) {
    const typed = given({ Id: libraryId(args, ctx), Name: name, ProjectName: project });
    const body = await libraryBody(
      {
        schema: UpdateAssetBody,
        over: (base) => ({ ...base, ...typed }),
        flagOf: { Name: '--name', ProjectName: '--project' },
      },
      ctx,
    );
    return sendUpdate('asset', updateAsset, body, ctx);
  },
});
