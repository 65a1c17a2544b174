import { GwError, usage } from '../errors.ts';
import type { AssetType } from '../gateway/asset/fields.ts';
import { assetFailure, readAsset } from '../gateway/asset/record.ts';
import { type LookRequest, lookAtAssets } from './ask-library.ts';

interface AssetReference {
  readonly id: string;
  /** How the request uses the asset. */
  readonly type: AssetType;
  /** The flag or field with the reference, for messages. */
  readonly named: string;
}

/**
 * Checks that a request may use the assets it refers to: "the request fails when an asset does not exist, … is not yet
 * `Active`, or its type does not match the modality". One lookup usually covers all; assets of another project need one
 * each ("creating, querying and using an asset must use the same project"). Throws GwError `not_found`, or `usage` with
 * what to do, or the lookup's error.
 */
export async function checkReferences(
  references: readonly AssetReference[],
  { client, project, send }: Omit<LookRequest, 'bodyOf'> & { readonly project: string | undefined },
): Promise<void> {
  if (references.length === 0) return;
  const ids = [...new Set(references.map(({ id }) => id))];
  const bodyOf = project === undefined ? undefined : (id: string) => ({ Id: id, ProjectName: project });
  const looks = await lookAtAssets(ids, { client, bodyOf, send });
  for (const { id, type, named } of references) {
    const look = looks.get(id);
    if (look && 'error' in look && look.error.kind !== 'not_found') throw look.error;
    if (look === undefined || 'error' in look) {
      throw new GwError('not_found', `${named} asset://${id}: there is no such asset; nothing was sent`, {
        ...look?.error.facts,
        hint:
          project === undefined
            ? 'gw asset list shows those of your key; --project NAME takes those of another project than the default one'
            : `gw asset list --project ${project} shows those of the project`,
      });
    }
    const view = readAsset(look.asset);
    if (view.state !== 'succeeded') {
      const { code } = view.error;
      const anew = assetFailure(code)?.toDo ?? 'create it anew';
      throw usage(
        `${named} asset://${id}: this asset is ${view.status || 'not ready'}${code ? ` (${code})` : ''}, and only an Active one can be used`,
        view.state === 'running' ? `wait for it: gw asset wait ${id}` : anew,
      );
    }
    if (view.type !== undefined && view.type !== type) {
      throw usage(
        `${named} asset://${id}: this asset is of the type ${view.type}, and ${type} is needed here`,
        `give it with --${view.type.toLowerCase()}`,
      );
    }
  }
}
