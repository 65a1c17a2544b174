import { askLibrary } from '../../assets/ask-library.ts';
import type { Outcome } from '../../command.ts';
import type { Context } from '../../context.ts';
import { GwError, usage } from '../../errors.ts';
import type { JsonObject } from '../../flags/json-body.ts';
import { NOT_FOUND_CODE } from '../../gateway/asset/envelope.ts';
import type { Endpoint } from '../../gateway/endpoint.ts';
import { showInstead } from '../show-instead.ts';
import { type LibraryResult, libraryResult } from './result.ts';

/** Sends an update. Throws `usage` where nothing would change. */
export async function update(
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
