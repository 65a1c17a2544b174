import { askLibrary } from '../../assets/ask-library.ts';
import { defineCommand, type Outcome } from '../../command.ts';
import type { Context } from '../../context.ts';
import { GwError, usage } from '../../errors.ts';
import { fromField, on } from '../../flags/flag.ts';
import type { JsonObject } from '../../flags/json-body.ts';
import { deleteAsset, UpdateAssetBody, updateAsset } from '../../gateway/asset/actions.ts';
import { NOT_FOUND_CODE } from '../../gateway/asset/envelope.ts';
import type { Endpoint } from '../../gateway/endpoint.ts';
import { showInstead } from '../show-instead.ts';
import {
  given,
  idBodies,
  idLine,
  type LibraryResult,
  libraryBody,
  libraryId,
  libraryIds,
  libraryResult,
  oneByOne,
  projectFlag,
} from './library.ts';

/** Sends an update. Throws `usage` where nothing would change. */
export async function sendUpdate(
  family: LibraryResult['family'],
  endpoint: Endpoint,
  body: JsonObject,
  ctx: Context,
): Promise<Outcome<LibraryResult>> {
  if (Object.keys(body).every((field) => field === 'Id' || field === 'ProjectName')) {
    const flags = family === 'asset' ? '--name' : '--name or --description';
    throw usage('nothing would change', `say what is new with ${flags}`);
  }
  const shown = await showInstead(endpoint, { body }, ctx);
  if (shown !== undefined) return { value: shown };
  const { client } = await ctx.gateway();
  const { json } = await askLibrary(client, endpoint, { body }, { signal: ctx.signal });
  return { value: libraryResult(family, String(body.Id), 'updated', json) };
}

/**
 * Sends a delete. One whose answer was lost is sent again, and then `ResourceNotFound` means that it is
 * done (promises, section 2); a 404 without that code may be of anybody on the way.
 */
export async function remove(
  family: LibraryResult['family'],
  endpoint: Endpoint,
  body: JsonObject,
  ctx: Context,
): Promise<Outcome<LibraryResult>> {
  const shown = await showInstead(endpoint, { body }, ctx);
  if (shown !== undefined) return { value: shown };
  const { client } = await ctx.gateway();
  let isLost = false;
  const onLost = () => {
    isLost = true;
  };
  const deleted = (record: unknown) => ({ value: libraryResult(family, String(body.Id), 'deleted', record) });
  try {
    return deleted((await askLibrary(client, endpoint, { body }, { signal: ctx.signal, onLost })).json);
  } catch (error) {
    if (!isLost || !(error instanceof GwError) || error.facts.code !== NOT_FOUND_CODE) throw error;
    ctx.io.note(`${String(body.Id)} is gone: the delete whose answer was lost has worked`);
    return deleted({});
  }
}

/** Asks before something irreversible; throws `usage` where nobody can be asked, or the answer is no. */
export async function askFirst(question: string, { host }: Pick<Context, 'host'>): Promise<void> {
  const { confirm } = await import('../../io/ask.ts');
  if (!(await confirm(host, question))) throw new GwError('usage', 'nothing was deleted');
}

/** Throws `usage` off a terminal without --yes, before anything is sent. */
export function refuseUnasked(
  what: string,
  yes: boolean | undefined,
  { globals, io }: Pick<Context, 'globals' | 'io'>,
): void {
  if (yes || globals.dryRun || globals.curl || (io.stdinIsTerminal && io.stderrIsTerminal)) return;
  throw usage(
    `deleting ${what} cannot be undone, and gw cannot ask here`,
    'give --yes to delete, or --dry-run to see it',
  );
}

const updateFlags = { name: fromField(UpdateAssetBody.shape.Name, 'NAME'), ...projectFlag } as const;

/** `gw asset update ID`: a new name. */
export const update = defineCommand<typeof updateFlags, LibraryResult>({
  args: { name: 'ID', summary: 'asset ID, or asset://ID', required: true },
  flags: updateFlags,
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

const deleteFlags = { yes: on('do not ask'), ...projectFlag } as const;

/** `gw asset delete ID…`: irreversible, so it asks. */
export const assetDelete = defineCommand<typeof deleteFlags, LibraryResult>({
  args: { name: 'ID', summary: 'asset ID, or asset://ID', required: true, many: true },
  flags: deleteFlags,
  examples: ['gw asset delete "$(gw asset list --sandbox -q --limit 1)" --sandbox --yes'],
  sends: 'body',
  human: idLine,
  async *run({ args, flags: { yes, project }, globals }, ctx): AsyncGenerator<Outcome<LibraryResult>> {
    const ids = libraryIds(args, ctx);
    const bodyOf = await idBodies(project, ctx);
    for (const id of ids) bodyOf(id);
    const what = ids.length === 1 ? `asset ${ids[0]}` : `${ids.length} assets`;
    refuseUnasked(what, yes, ctx);
    if (!yes && !globals.dryRun && !globals.curl) await askFirst(`Delete ${what} for good?`, ctx);
    yield* oneByOne(ids, (id) => remove('asset', deleteAsset, bodyOf(id), ctx));
  },
});
