import type { Context } from '../../context.ts';
import { flagsOfBodies } from '../../flags/body-flags.ts';
import type { FlagOfPath } from '../../flags/breaches.ts';
import { everywhere, text } from '../../flags/flag.ts';
import { AlphaCreateBody, alphaCreate, assetIdOf } from '../../gateway/alpha/create.ts';
import { alphaModelId, alphaModels } from '../../gateway/alpha/models.ts';
import { fillAlphaBody } from '../../gateway/alpha/rules.ts';
import { alphaFamily } from '../../gateway/alpha/task.ts';
import { madeBy, placeContent, videoCreate } from './create.ts';
import { waitDeadlineMs } from './job-result.ts';

/** The main model of each version; its short name is the version. */
const longest = Object.values(alphaModels).filter(({ short, version }) => short === version);

/** `gw video alpha create` ("Family A: create task"). */
export const create = videoCreate({
  family: alphaFamily,
  about:
    `Create a video of ${madeBy(longest.map((model) => ({ ...model, name: model.short })))}, from words, frames ` +
    `or up to ${Math.max(...longest.map(({ references }) => references.total))} references; 2.5 edits and extends videos.`,
  fields: flagsOfBodies(
    [AlphaCreateBody],
    Object.values(alphaModels).map((model) => [model.short, model]),
  ),
  flags: {
    project: text('NAME', 'project of the asset:// references', { from: everywhere }),
  },
  endpointOf: () => alphaCreate,
  modelOf: ({ typed, base }, _, settings) => alphaModelId(typed ?? base ?? settings.models.alpha.value),
  knownModels: Object.keys(alphaModels),
  media: (modality, model) => ({
    takes: { url: true, base64: modality !== 'video', schemes: ['asset'] },
    limits: alphaModels[model]?.media[modality],
  }),
  totalReferenceS: (model) => alphaModels[model]?.totalReferenceS,
  place: placeContent,
  fill: (body) => fillAlphaBody({ ...body, model: alphaModelId(body.model) }),
  checkFirst: checkAssets,
  examples: [
    'gw video alpha create --sandbox "a paper boat at dawn" --wait',
    'gw video alpha create --sandbox "a fox in the snow" -m 2.0-fast --resolution 480p --duration 4 --wait -o clips/',
    'gw video alpha create --sandbox "a fox in the snow" --once shots/1 --wait',
    'gw video alpha create --sandbox "a fox in the snow" --first-frame https://example.com/fox.png --dry-run',
  ],
  notes: [
    'A first frame, --task-type edit and extend make the ratio of 2.5 adaptive; edit makes its duration -1. The prompt ' +
      'calls media "image 1", "video 1", "audio 1", by kind in the order of the flags. Videos go by address.',
  ],
});

const typeOfItem = { image_url: 'Image', video_url: 'Video', audio_url: 'Audio' } as const;

/**
 * Checks that the assets which a create refers to can be used, before anything is paid. It usually sends one request
 * for all of them, and none if there are no assets. Throws GwError `not_found` or `usage`, or the lookup's error.
 */
async function checkAssets(
  { content }: Readonly<Record<string, unknown>>,
  flagOf: FlagOfPath,
  ctx: Context,
  { project, ...how }: Parameters<typeof waitDeadlineMs>[0] & { readonly project?: string },
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
  const send = { signal: ctx.signal, deadlineMs: waitDeadlineMs(how, ctx) };
  await checkReferences(references, { client, project, send });
}
