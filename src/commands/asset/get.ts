import { defineCommand } from '../../command.ts';
import type { Context } from '../../context.ts';
import { usage } from '../../errors.ts';
import { on } from '../../flags/flag.ts';
import { getAsset, restAsset } from '../../gateway/asset/actions.ts';
import { resultOf } from '../../gateway/asset/envelope.ts';
import { Asset } from '../../gateway/asset/record.ts';
import {
  actionProjectFlag,
  getRecords,
  idBodies,
  libraryIds,
  recordJson,
  recordText,
  type SeenRecord,
} from './library.ts';

const flags = {
  rest: on('ask by the REST alias, which answers without the envelope'),
  ...actionProjectFlag,
} as const;

/** `gw asset get ID…` */
export const get = defineCommand<typeof flags, SeenRecord>({
  args: { name: 'ID', summary: 'asset ID, or asset://ID', required: true, many: true },
  flags,
  examples: [
    'gw asset get "$(gw asset list --sandbox -q --limit 1)" --sandbox',
    'gw asset get "$(gw asset list --sandbox -q --limit 1)" --sandbox --rest --json',
  ],
  sends: 'body',
  human: recordText,
  raw: recordJson,
  async *run({ args, flags: { rest, project } }, ctx) {
    if (!rest) {
      const ids = libraryIds(args, ctx);
      const bodyOf = await idBodies(project, ctx);
      const input = (id: string) => ({ body: bodyOf(id) });
      const recordOf = (reply: unknown) => resultOf(Asset, reply);
      return yield* getRecords(ids, { endpoint: getAsset, input, recordOf }, ctx);
    }
    refuseActionFlags(project, ctx);
    const input = (id: string) => ({ params: { asset_id: id } });
    yield* getRecords(libraryIds(args), { endpoint: restAsset, input, recordOf: (reply) => reply }, ctx);
  },
});

/** The REST look-ups know no projects and have no body. Throws `usage` where one is given. */
export function refuseActionFlags(project: string | undefined, { globals }: Pick<Context, 'globals'>): void {
  for (const key of ['set', 'body'] as const) {
    if (globals[key] !== undefined)
      throw usage(`--${key}: with --rest there is no request body`, 'leave it out');
  }
  if (project === undefined) return;
  throw usage(
    `--project ${project}: GET /api/assets takes no project`,
    'leave --rest out: the action looks into one project',
  );
}
