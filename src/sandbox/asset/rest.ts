import { restAsset } from '../../gateway/asset/actions.ts';
import { DEFAULT_PROJECT } from '../../gateway/asset/fields.ts';
import { REST_LIST_DEFAULT, RestListQuery, restList } from '../../gateway/asset/list.ts';
import { jsonReply } from '../reply.ts';
import { checkBody } from '../request-body.ts';
import type { Call, Route } from '../route.ts';
import type { World } from '../world.ts';
import { allAssets, findAsset, statusOf } from './library.ts';
import { nameFits } from './pages.ts';
import { assetRecord } from './records.ts';

// The two look-ups without an envelope ("REST aliases"); they see the default project.

/** `GET /api/assets`, by creation time descending. Throws Refusal. */
function restPage({ url, passOver }: Call, world: World): object {
  const asked = Object.fromEntries(url.searchParams);
  passOver(checkBody({ strict: RestListQuery, loose: RestListQuery.loose() }, asked, world));
  const nowMs = world.now();
  const matches = allAssets(world)
    .filter(
      (asset) =>
        asset.project === DEFAULT_PROJECT &&
        nameFits(asset.name, asked.name) &&
        (asked.status === undefined || statusOf(asset, nowMs) === asked.status),
    )
    .sort((a, b) => b.createdAtMs - a.createdAtMs || (a.id < b.id ? 1 : -1));
  const offset = Number(asked.offset ?? 0);
  const items = matches
    .slice(offset, offset + Number(asked.limit ?? REST_LIST_DEFAULT))
    .map((asset) => assetRecord(asset, nowMs));
  return { items, data: items, total: matches.length };
}

export const restRoutes: readonly Route[] = [
  { endpoint: restList, answer: (call, world) => jsonReply(200, restPage(call, world)) },
  {
    endpoint: restAsset,
    answer: ({ params }, world) =>
      jsonReply(200, assetRecord(findAsset(params.asset_id ?? '', DEFAULT_PROJECT, world), world.now())),
  },
];
