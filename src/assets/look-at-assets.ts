import { GwError } from '../errors.ts';
import { getAsset } from '../gateway/asset.ts';
import { resultOf } from '../gateway/asset-envelope.ts';
import { LIST_MAX, restItems, restList } from '../gateway/asset-list.ts';
import { Asset } from '../gateway/asset-record.ts';
import type { Client, SendOptions } from '../http/client.ts';
import { askLibrary } from './ask-library.ts';

/** What a look at one asset brought: its record as it came, or why there is none. */
export type AssetLook = { readonly asset: Asset } | { readonly error: GwError };

export interface LookRequest {
  readonly client: Client;
  /** As typed; the service's own default where absent. */
  readonly project?: string | undefined;
  readonly send: SendOptions;
}

/**
 * Looks at assets by their IDs with as few requests as the document allows. Nothing takes several IDs: one is asked for
 * by itself; for more, one list of the newest hundred has them as a rule, and those that it lacks are asked for one by
 * one. The list knows no projects, so assets of a named one are asked for one by one too.
 * Throws the GwError of a look-up that failed for all; what concerns one asset alone stands in its look.
 */
export async function lookAtAssets(
  ids: readonly string[],
  request: LookRequest,
): Promise<ReadonlyMap<string, AssetLook>> {
  const looks = new Map<string, AssetLook>();
  if (ids.length > 1 && request.project === undefined) {
    const wanted = new Set(ids);
    for (const asset of await newest(request)) if (wanted.has(asset.Id)) looks.set(asset.Id, { asset });
  }
  for (const id of ids) if (!looks.has(id)) looks.set(id, await lookAtAsset(id, request));
  return looks;
}

async function newest({ client, send }: LookRequest): Promise<readonly Asset[]> {
  return restItems((await askLibrary(client, restList, { query: { limit: String(LIST_MAX) } }, send)).json);
}

async function lookAtAsset(id: string, { client, project, send }: LookRequest): Promise<AssetLook> {
  const body = { Id: id, ...(project !== undefined && { ProjectName: project }) };
  try {
    return { asset: resultOf(Asset, (await askLibrary(client, getAsset, { body }, send)).json) };
  } catch (error) {
    if (error instanceof GwError && error.kind === 'not_found') return { error };
    throw error;
  }
}
