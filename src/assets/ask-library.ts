import { GwError, UnknownOutcome } from '../errors.ts';
import { getAsset } from '../gateway/asset/actions.ts';
import { assetErrorKind, resultOf } from '../gateway/asset/envelope.ts';
import { DEFAULT_PROJECT } from '../gateway/asset/fields.ts';
import { LIST_MAX, restItems, restList } from '../gateway/asset/list.ts';
import { LibraryRecord } from '../gateway/asset/record.ts';
import type { Endpoint } from '../gateway/endpoint.ts';
import type { Client, Reply, RequestInput, SendOptions } from '../http/client.ts';

/**
 * Sends a request of the asset library. Throws as `Client.send`; the message names the action, its code and its request
 * ID, and the document's table of codes ("Errors") decides the kind.
 */
export async function askLibrary<T>(
  client: Client,
  endpoint: Endpoint<T>,
  input: RequestInput,
  options: SendOptions,
): Promise<Reply<T>> {
  try {
    return await client.send(endpoint, input, options);
  } catch (error) {
    throw inLibraryWords(error, endpoint);
  }
}

function inLibraryWords(error: unknown, endpoint: Endpoint): unknown {
  if (!(error instanceof GwError) || error instanceof UnknownOutcome) return error;
  const { code, requestId } = error.facts;
  if (code === undefined) return error;
  const known = [code, requestId && `request ${requestId}`].filter(Boolean).join(', ');
  // The message names the action, because all actions share one path.
  const action = endpoint.name.slice(endpoint.name.indexOf('.') + 1);
  return new GwError(
    assetErrorKind(code) ?? error.kind,
    `${action}: ${error.message} [${known}]`,
    error.facts,
  );
}

/** A record of the library, and the reply that contained it. */
export interface SeenAsset {
  readonly asset: LibraryRecord;
  readonly reply: Reply;
}

/** The result of looking up one asset: its record, or an error. */
export type AssetLook = SeenAsset | { readonly error: GwError };

export interface LookRequest {
  readonly client: Client;
  /** The lookup body of an asset; needed if it contains more than the ID (its project, fields from --set). */
  readonly bodyOf?: ((id: string) => Readonly<Record<string, unknown>>) | undefined;
  readonly send: SendOptions;
}

/**
 * Looks up assets by ID with as few requests as the document allows. No request takes several IDs: a single asset is
 * requested directly; for several, one list of the newest hundred usually has them, and the others are requested one by
 * one. The list has no project parameter, so assets of other projects, and all assets if the body has more than the ID,
 * are also requested singly. An error for one asset does not stop the others, except that after a 429 the rest is not
 * looked up. Throws the GwError of a failed list, `auth`, or the signal's reason.
 */
export async function lookAtAssets(
  ids: readonly string[],
  request: LookRequest,
): Promise<ReadonlyMap<string, AssetLook>> {
  const looks = new Map<string, AssetLook>();
  if (ids.length > 1 && request.bodyOf === undefined) {
    const wanted = new Set(ids);
    for (const look of await newest(request)) {
      const { asset } = look;
      const isOfDefault = (asset.ProjectName ?? DEFAULT_PROJECT) === DEFAULT_PROJECT;
      if (wanted.has(asset.Id) && isOfDefault) looks.set(asset.Id, look);
    }
  }
  for (const id of ids) {
    if (looks.has(id)) continue;
    const look = await lookAtAsset(id, request);
    looks.set(id, look);
    if ('error' in look && look.error.kind === 'rate_limited') break;
  }
  return looks;
}

async function newest({ client, send }: LookRequest): Promise<readonly SeenAsset[]> {
  try {
    const reply = await askLibrary(client, restList, { query: { limit: String(LIST_MAX) } }, send);
    return restItems(reply.json).map((asset) => ({ asset, reply }));
  } catch (error) {
    // A gateway without the REST alias may still support the action.
    if (error instanceof GwError && (error.kind === 'not_found' || error.kind === 'rejected')) return [];
    throw error;
  }
}

async function lookAtAsset(id: string, { client, bodyOf, send }: LookRequest): Promise<AssetLook> {
  const body = bodyOf?.(id) ?? { Id: id };
  try {
    const reply = await askLibrary(client, getAsset, { body }, send);
    return { asset: resultOf(LibraryRecord, reply.json), reply };
  } catch (error) {
    if (error instanceof GwError && error.kind !== 'auth') return { error };
    throw error;
  }
}
