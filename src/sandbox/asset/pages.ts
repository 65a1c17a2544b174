import { createHmac } from 'node:crypto';
import type * as z from 'zod/mini';
import { canonical, groupTypes } from '../../gateway/asset/fields.ts';
import { LIST_DEFAULT, type ListAssetsBody } from '../../gateway/asset/list.ts';
import { isObject } from '../../gateway/json-value.ts';
import { Refusal } from '../reply.ts';
import type { World } from '../route.ts';
import {
  allAssets,
  allGroups,
  assetRecord,
  groupRecord,
  type KeptAsset,
  type KeptGroup,
  projectOf,
  statusOf,
} from './library.ts';

export type ListBody = z.infer<typeof ListAssetsBody>;

type Kept = Pick<KeptAsset, 'id' | 'name' | 'project' | 'createdAtMs' | 'updatedAtMs'> & {
  readonly groupId: string;
};

/** "Fuzzy": the words occur in the name, in any case. */
export const nameFits = (name: string, words: string | undefined): boolean =>
  words === undefined || name.toLowerCase().includes(words.toLowerCase());

export function assetPage(body: ListBody, world: World): object {
  const nowMs = world.now();
  const { Filter } = body;
  const type = canonical(groupTypes, Filter.GroupType);
  const groups = new Set(
    allGroups(world)
      .filter((group) => group.type === type)
      .map(({ id }) => id),
  );
  const fits = (asset: KeptAsset) =>
    groups.has(asset.groupId) &&
    (Filter.Statuses === undefined || Filter.Statuses.includes(statusOf(asset, nowMs)));
  return pageOf('ListAssets', allAssets(world).filter(fits), body, world, (asset) =>
    assetRecord(asset, nowMs),
  );
}

export function groupPage(body: ListBody, world: World): object {
  const type = canonical(groupTypes, body.Filter.GroupType);
  const groups = allGroups(world)
    .filter((group) => group.type === type)
    .map((group) => ({ ...group, groupId: group.id }));
  return pageOf('ListAssetGroups', groups, body, world, (group: KeptGroup) => groupRecord(group));
}

/** A page in either paging mode ("Pagination"). Throws Refusal for a token of another list. */
function pageOf<K extends Kept>(
  action: string,
  kept: readonly K[],
  body: ListBody,
  world: World,
  recordOf: (each: K) => object,
): object {
  const { Filter, SortBy = 'CreateTime', SortOrder = 'Desc', NextToken, PageNumber, PageSize } = body;
  const project = projectOf(body);
  const sign = SortOrder === 'Desc' ? -1 : 1;
  const keyOf = (each: Kept): Position => [
    SortBy === 'GroupId' ? each.groupId : SortBy === 'UpdateTime' ? each.updatedAtMs : each.createdAtMs,
    each.id,
  ];
  const matches = kept
    .filter(
      (each) =>
        each.project === project &&
        nameFits(each.name, Filter.Name) &&
        (Filter.GroupIds === undefined || Filter.GroupIds.includes(each.groupId)),
    )
    .map((each) => ({ each, key: keyOf(each) }))
    .sort((a, b) => sign * compare(a.key, b.key));
  if (PageNumber !== undefined && PageSize !== undefined) {
    const page = matches.slice((PageNumber - 1) * PageSize, PageNumber * PageSize);
    const Items = page.map(({ each }) => recordOf(each));
    return { Items, PageNumber, PageSize, TotalCount: matches.length };
  }
  const { MaxResults = LIST_DEFAULT } = body;
  const tokens = tokensOf(action, body, world);
  const after = NextToken === undefined ? undefined : tokens.read(NextToken);
  const left = after ? matches.filter(({ key }) => sign * compare(key, after) > 0) : matches;
  const page = left.slice(0, MaxResults);
  const last = page.at(-1);
  return {
    Items: page.map(({ each }) => recordOf(each)),
    ...(last && left.length > page.length && { NextToken: tokens.write(last.key) }),
  };
}

/** The end of a page: the value of the sort field, and the ID. */
type Position = readonly [string | number, string];

function compare([a, aId]: Position, [b, bId]: Position): number {
  if (a !== b) return a < b ? -1 : 1;
  return aId < bId ? -1 : aId > bId ? 1 : 0;
}

/** Tokens are bound to one list: "other parameters must stay unchanged or token validation fails". */
function tokensOf(action: string, { NextToken: _, ...bound }: ListBody, { store }: World) {
  const sealOf = (position: string) =>
    createHmac('sha256', store.secret)
      .update(JSON.stringify([action, sorted(bound), position]))
      .digest('base64url')
      .slice(0, 22);
  return {
    write(position: Position): string {
      const text = Buffer.from(JSON.stringify(position)).toString('base64url');
      return `${text}.${sealOf(text)}`;
    },
    read(token: string): Position {
      const [text = '', seal] = token.split('.');
      if (seal !== sealOf(text)) {
        throw new Refusal(
          400,
          'The NextToken does not belong to a list with these parameters.',
          'InvalidParameter.NextToken',
        );
      }
      return JSON.parse(Buffer.from(text, 'base64url').toString()) as Position;
    },
  };
}

/** Sorts the keys of an object, because the order of parameters does not matter. */
function sorted(value: unknown): unknown {
  if (!isObject(value)) return value;
  return Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, inner]) => [name, sorted(inner)]);
}
