import { createOnce } from '../../../assets/create-once.ts';
import { findGroup } from '../../../assets/find-created.ts';
import { defineCommand } from '../../../command.ts';
import { fromField } from '../../../flags/flag.ts';
import { canonical, groupTypes } from '../../../gateway/asset/fields.ts';
import { CreateGroupBody, createGroup } from '../../../gateway/asset/group.ts';
import { showInstead } from '../../show-instead.ts';
import { anyCaseFlag, projectFlag } from '../flags.ts';
import { given, libraryBody } from '../library-body.ts';
import { lookCommand } from '../look-command.ts';
import { idLine, type LibraryResult, libraryResult } from '../result.ts';

const { shape } = CreateGroupBody;
const flags = {
  name: fromField(shape.Name, 'NAME'),
  description: fromField(shape.Description, 'TEXT'),
  type: anyCaseFlag(shape.GroupType, groupTypes),
  ...projectFlag,
} as const;

/** `gw asset group create` */
export const create = defineCommand<typeof flags, LibraryResult>({
  flags,
  examples: [
    'gw asset group create --sandbox --name foxes --description "winter shots"',
    'gw asset group create --sandbox --name faces --type LivenessFace --project film --json',
  ],
  sends: 'body',
  human: idLine,
  async run({ flags }, ctx) {
    const body = await libraryBody(
      {
        schema: CreateGroupBody,
        over: (base) => ({
          ...base,
          ...given({
            Name: flags.name,
            Description: flags.description,
            GroupType: canonical(groupTypes, flags.type) ?? flags.type,
            ProjectName: flags.project,
          }),
        }),
        flagOf: {
          Name: '--name',
          Description: '--description',
          GroupType: '--type',
          ProjectName: '--project',
        },
      },
      ctx,
    );
    const shown = await showInstead(createGroup, { body }, ctx);
    if (shown !== undefined) return { value: shown };
    const { client } = await ctx.gateway();
    const { clock, signal } = ctx;
    const created = await createOnce({
      client,
      endpoint: createGroup,
      body,
      clock,
      signal,
      note: (text) => ctx.io.note(text),
      what: 'asset group',
      find: findGroup({ client, body, clock, signal }),
      lookCommand: lookCommand(
        'gw asset group list',
        { '--type': body.GroupType, '--name': body.Name, '--project': body.ProjectName },
        ctx,
      ),
    });
    return { value: libraryResult('asset-group', created.id, '', created.record) };
  },
});
