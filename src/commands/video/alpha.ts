import type { Context } from '../../context.ts';
import { flagsOfBodies } from '../../flags/body-flags.ts';
import type { FlagOfPath } from '../../flags/breaches.ts';
import { AlphaCreateBody, alphaCreate } from '../../gateway/alpha/create.ts';
import { alphaModels } from '../../gateway/alpha/models.ts';
import { fillAlphaBody } from '../../gateway/alpha/rules.ts';
import { alphaFamily } from '../../gateway/alpha/task.ts';
import { assetIdOf } from '../../gateway/asset/fields.ts';
import { placeContent, videoCreate } from './create.ts';

/** The full ID of a model typed by its short name; anything else stays as typed. */
const modelId = (typed: string): string =>
  Object.entries(alphaModels).find(([, model]) => model.short === typed)?.[0] ?? typed;

/** `gw video alpha create` ("Family A: create task"). */
export const create = videoCreate({
  family: alphaFamily,
  fields: flagsOfBodies(
    [AlphaCreateBody],
    Object.values(alphaModels).map((model) => [model.short, model]),
  ),
  flags: {},
  endpointOf: () => alphaCreate,
  modelOf: ({ typed, base }, _, settings) => modelId(typed ?? base ?? settings.models.alpha.value),
  knownModels: Object.keys(alphaModels),
  media: (modality, model) => ({
    takes: { url: true, base64: modality !== 'video', schemes: ['asset'] },
    limits: alphaModels[model]?.media[modality],
  }),
  totalReferenceS: (model) => alphaModels[model]?.totalReferenceS,
  place: placeContent,
  fill: fillAlphaBody,
  checkFirst: checkAssets,
  examples: [
    'gw video alpha create --sandbox --prompt "a paper boat on a calm sea at dawn" --wait',
    'gw video alpha create --sandbox "a fox in the snow" -m 2.0-fast --resolution 480p --duration 4 --wait -o clips/',
    'gw video alpha create --sandbox "a fox in the snow" --once shots/1 --wait -o clips/',
    'gw video alpha create --sandbox "a fox in the snow" --first-frame https://example.com/fox.png --dry-run',
  ],
  notes: [
    'On 2.5 a first frame, --task-type edit and extend make the ratio adaptive, and edit makes the duration -1. ' +
      'In the prompt, media are called "image 1", "video 1", "audio 1", numbered per kind in the order of the flags ' +
      '(--first-frame, --last-frame, --image). Videos are sent by address only: put a local one into the asset library.',
    'asset://ID references are looked up first: each must exist in the default project, be Active, and be of the type that ' +
      'its flag takes; --no-validate and --dry-run do not look.',
  ],
});

const typeOfItem = { image_url: 'Image', video_url: 'Video', audio_url: 'Audio' } as const;

/**
 * Looks whether the assets that a create refers to can be used, before anything is paid: one look for all of them as a
 * rule, none where there are none. Throws GwError `not_found` or `usage`, or the error of the look.
 */
async function checkAssets(
  { content }: Readonly<Record<string, unknown>>,
  flagOf: FlagOfPath,
  ctx: Context,
): Promise<void> {
  if (!Array.isArray(content)) return;
  const references = (content as unknown[]).flatMap((item, at) => {
    const { type } = (item ?? {}) as { readonly type?: keyof typeof typeOfItem };
    if (type === undefined || !Object.hasOwn(typeOfItem, type)) return [];
    const url = (item as Record<string, { readonly url?: unknown } | null>)[type]?.url;
    const id = typeof url === 'string' ? assetIdOf(url) : undefined;
    if (id === undefined) return [];
    return [{ id, type: typeOfItem[type], named: flagOf(['content', at]) ?? `content.${at}` }];
  });
  if (references.length === 0) return;
  const { checkReferences } = await import('../../assets/check-references.ts');
  const { client } = await ctx.gateway();
  await checkReferences(references, { client, signal: ctx.signal });
}
