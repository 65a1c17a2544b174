import { defineCommand } from '../../../command.ts';
import { fromField } from '../../../flags/flag.ts';
import { UpdateGroupBody, updateGroup } from '../../../gateway/asset/group.ts';
import { update as sendUpdate } from '../change.ts';
import { projectFlag } from '../flags.ts';
import { given, libraryBody } from '../library-body.ts';
import { libraryId } from '../library-ids.ts';
import { idLine, type LibraryResult } from '../result.ts';

const { shape } = UpdateGroupBody;
const flags = {
  name: fromField(shape.Name, 'NAME'),
  description: fromField(shape.Description, 'TEXT'),
  ...projectFlag,
} as const;

/** `gw asset group update ID`: only what is given changes. */
export const update = defineCommand<typeof flags, LibraryResult>({
  args: { name: 'ID', summary: 'group ID', required: true },
  flags,
  examples: [
    'gw asset group update "$(gw asset group list --sandbox -q --limit 1)" --sandbox --name "foxes, winter"',
  ],
  sends: 'body',
  human: idLine,
  async run({ args, flags: { name, description, project } }, ctx) {
    const typed = given({
      Id: libraryId(args, ctx),
      Name: name,
      Description: description,
      ProjectName: project,
    });
    const body = await libraryBody(
      {
        schema: UpdateGroupBody,
        over: (base) => ({ ...base, ...typed }),
        flagOf: { Name: '--name', Description: '--description', ProjectName: '--project' },
      },
      ctx,
    );
    return sendUpdate('asset-group', updateGroup, body, ctx);
  },
});
