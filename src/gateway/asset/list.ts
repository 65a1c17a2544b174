import * as z from 'zod/mini';
import { described, type ObjectMaker, type Rule, whole, withRules } from '../body.ts';
import { filledText } from '../checks.ts';
import type { Endpoint } from '../endpoint.ts';
import { actionEndpoint } from './envelope.ts';
import {
  anyCase,
  assetStatuses,
  DEFAULT_GROUP_TYPE,
  groupTypes,
  LibraryId,
  MAX_NAME,
  projectField,
  textUpTo,
} from './fields.ts';
import { LibraryRecord } from './record.ts';

// Lists of assets and groups, page by page ("Pagination"), and the REST list.

export const LIST_MAX = 100;
/** The gateway's default for `MaxResults`. */
export const LIST_DEFAULT = 10;
/** Maximum of `PageNumber` times `PageSize`. */
const PAGED_ITEMS_MAX = 10_000;
const assetSortFields = ['CreateTime', 'UpdateTime', 'GroupId'] as const;
const groupSortFields = ['CreateTime', 'UpdateTime'] as const;
const sortOrders = ['Desc', 'Asc'] as const;

const from1to100 = whole({ min: 1, max: LIST_MAX }, `give a number from 1 to ${LIST_MAX}`);

const paging = {
  SortOrder: described(z.optional(z.enum(sortOrders)), 'which comes first (the service: Desc, the newest)'),
  MaxResults: described(
    z.optional(from1to100),
    `most items of one reply, 1-${LIST_MAX} (the service: ${LIST_DEFAULT})`,
  ),
  NextToken: described(
    z.optional(filledText()),
    'go on where another reply ended; everything else as it was then',
  ),
  PageNumber: described(
    z.optional(z.int().check(z.gte(1, 'pages are counted from 1'))),
    'page by number, from 1',
  ),
  PageSize: described(z.optional(from1to100), `items on a page, 1-${LIST_MAX}`),
  ProjectName: projectField,
};

const filter = {
  GroupType: described(anyCase(groupTypes), `what kind of groups is meant (default ${DEFAULT_GROUP_TYPE})`),
  Name: described(z.optional(textUpTo(MAX_NAME)), `whose name has this in it, up to ${MAX_NAME} characters`),
  GroupIds: described(z.optional(z.array(LibraryId)), 'only of this group'),
};

type Paged = z.infer<z.ZodMiniObject<typeof paging>>;

/** "Pagination". */
const pagingRules: readonly Rule<Paged>[] = [
  {
    name: 'asset.one-mode-of-paging',
    verdict: 'refuse',
    sentence: 'the two modes cannot be mixed',
    *check({ MaxResults, NextToken, PageNumber, PageSize }) {
      if (PageNumber === undefined && PageSize === undefined) return;
      if (NextToken !== undefined) {
        const message = 'a token and page numbers cannot be mixed; leave one of them out';
        yield { path: ['NextToken'], message };
      } else if (MaxResults !== undefined) {
        const message =
          'it belongs to the token mode and cannot be mixed with page numbers; the page size does its work';
        yield { path: ['MaxResults'], message };
      }
    },
  },
  {
    name: 'asset.number-and-size-of-a-page',
    verdict: 'refuse',
    sentence: 'PageNumber, PageSize … both required together',
    *check({ PageNumber, PageSize }) {
      if ((PageNumber === undefined) === (PageSize === undefined)) return;
      if (PageNumber === undefined) yield { path: ['PageNumber'], message: 'is needed with a page size' };
      else yield { path: ['PageSize'], message: 'is needed with a page number' };
    },
  },
  {
    name: 'asset.last-page',
    verdict: 'refuse',
    sentence: 'PageNumber x PageSize must not exceed 10000',
    *check({ PageNumber = 0, PageSize = 0 }) {
      if (PageNumber * PageSize <= PAGED_ITEMS_MAX) return;
      const message = `page ${PageNumber} of ${PageSize} items each is past item ${PAGED_ITEMS_MAX}, where pages end; tokens go on (--all)`;
      yield { path: ['PageNumber'], message };
    },
  },
];

const listAssetsFields = (object: ObjectMaker) =>
  object({
    Filter: object({
      ...filter,
      Statuses: described(z.optional(z.array(z.enum(assetStatuses))), 'only assets in this state'),
    }),
    SortBy: described(z.optional(z.enum(assetSortFields)), 'what to sort by (the service: CreateTime)'),
    ...paging,
  });
const listGroupsFields = (object: ObjectMaker) =>
  object({
    Filter: object(filter),
    SortBy: described(z.optional(z.enum(groupSortFields)), 'what to sort by (the service: CreateTime)'),
    ...paging,
  });

/** The bodies of the lists. */
export const ListAssetsBody = withRules(listAssetsFields, pagingRules);
export const ListGroupsBody = withRules(listGroupsFields, pagingRules);

/** `Result` of a list. */
export const LibraryPage = z.looseObject({
  // The gateway may send null for an empty list; a reply without `Items` does not prove that the list is empty.
  Items: z.pipe(
    z.nullable(z.array(LibraryRecord)),
    z.transform((items) => items ?? []),
  ),
  NextToken: z.nullish(z.string()),
  // `TotalCount` is only informative: a malformed one must not make the whole list unreadable.
  TotalCount: z.catch(z.nullish(z.number()), undefined),
});
export type LibraryPage = z.infer<typeof LibraryPage>;

export const listAssets: Endpoint = actionEndpoint('ListAssets', 'read', ListAssetsBody, LibraryPage);
export const listGroups: Endpoint = actionEndpoint('ListAssetGroups', 'read', ListGroupsBody, LibraryPage);

export const REST_LIST_DEFAULT = 20;

/** Query parameters of `GET /api/assets`; all are sent as text. */
export const RestListQuery = withRules((object) =>
  object({
    name: z.optional(z.string()),
    status: z.optional(z.enum(assetStatuses)),
    limit: z.optional(
      z.string().check(
        z.refine((text) => /^\d{1,3}$/.test(text) && from1to100.safeParse(+text).success, {
          error: `give a number from 1 to ${LIST_MAX}`,
        }),
      ),
    ),
    offset: described(
      z.optional(z.string().check(z.regex(/^\d{1,9}$/, 'give a whole number from 0 on'))),
      'how many assets to pass over (--rest)',
    ),
  }),
);

/** Reply of `GET /api/assets`: `data` is identical to `items`. */
const RestPage = z
  .looseObject({
    items: z.nullish(z.array(LibraryRecord)),
    data: z.nullish(z.array(LibraryRecord)),
  })
  .check(z.refine((page) => 'items' in page || 'data' in page, { error: 'the reply holds no list' }));

/** `GET /api/assets`: newest first. */
export const restList: Endpoint = {
  name: 'assets.list',
  method: 'GET',
  path: '/api/assets',
  resend: 'read',
  reply: RestPage,
};

/** The assets of a REST list. Throws a ZodError if the reply holds no list. */
export function restItems(reply: unknown): LibraryRecord[] {
  const { items, data } = RestPage.parse(reply);
  return items ?? data ?? [];
}
