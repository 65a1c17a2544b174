import type { AssetReference } from '../../../assets/check-references.ts';
import type { Context } from '../../../context.ts';
import type { FlagOfPath } from '../../../flags/breaches.ts';
import { assetIdOf } from '../../../gateway/asset/fields.ts';

const typeOfItem = { image_url: 'Image', video_url: 'Video', audio_url: 'Audio' } as const;

/** The `asset://` references of a create body that has passed its schema, or that --no-validate lets pass. */
export function assetReferences(
  body: Readonly<Record<string, unknown>>,
  flagOf: FlagOfPath,
): AssetReference[] {
  if (!Array.isArray(body.content)) return [];
  return (body.content as unknown[]).flatMap((item, at) => {
    const { type } = (item ?? {}) as { readonly type?: keyof typeof typeOfItem };
    if (type === undefined || !Object.hasOwn(typeOfItem, type)) return [];
    const url = (item as Record<string, { readonly url?: unknown } | null>)[type]?.url;
    const id = typeof url === 'string' ? assetIdOf(url) : undefined;
    if (id === undefined) return [];
    return [{ id, type: typeOfItem[type], named: flagOf(['content', at]) ?? `content.${at}` }];
  });
}

/**
 * Looks whether the assets that a create refers to can be used, before anything is paid: one look for all of them as a
 * rule, none where there are none. Throws GwError `not_found` or `usage`, or the error of the look.
 */
export async function checkAssetReferences(
  body: Readonly<Record<string, unknown>>,
  flagOf: FlagOfPath,
  ctx: Context,
): Promise<void> {
  const references = assetReferences(body, flagOf);
  if (references.length === 0) return;
  const { checkReferences } = await import('../../../assets/check-references.ts');
  const { client } = await ctx.gateway();
  await checkReferences(references, { client, signal: ctx.signal });
}
