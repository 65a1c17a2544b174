import { askLibrary } from '../../assets/ask-library.ts';
import { defineCommand, type Outcome } from '../../command.ts';
import type { Context } from '../../context.ts';
import { GwError, shellQuote, usage } from '../../errors.ts';
import { fromField } from '../../flags/body-flags.ts';
import { lookAtBody, refuseOrWarn } from '../../flags/breaches.ts';
import { type FlagValues, flagName, list as listFlag, on } from '../../flags/flag.ts';
import type { JsonObject } from '../../flags/json-body.ts';
import type { WithStored } from '../../flags/yielding.ts';
import { resultOf } from '../../gateway/asset/envelope.ts';
import { assetStatuses, DEFAULT_GROUP_TYPE, groupTypes } from '../../gateway/asset/fields.ts';
import {
  LIST_MAX,
  LibraryPage,
  ListAssetsBody,
  listAssets,
  RestListQuery,
  restItems,
  restList,
} from '../../gateway/asset/list.ts';
import { type LibraryRecord, readAsset } from '../../gateway/asset/record.ts';
import { helpOf } from '../../gateway/body.ts';
import type { Endpoint } from '../../gateway/endpoint.ts';
import { isObject } from '../../host.ts';
import type { Reply } from '../../http/client.ts';
import { oneLine } from '../../io/escape.ts';
import type { Table } from '../../io/io.ts';
import { columnsOf } from '../../io/layout.ts';
import { compactJson, jsonOf, textsAt } from '../../json-text.ts';
import { showInstead } from '../show-instead.ts';
import {
  actionProjectFlag,
  anyCaseFlag,
  askOrShow,
  bodyMaker,
  countFlag,
  idListFlag,
  projectFlag,
  refuseActionFlags,
  typedFields,
  withoutPairs,
} from './library.ts';

const { shape } = ListAssetsBody;
const filter = shape.Filter.shape;

export const listFlags = {
  type: anyCaseFlag(filter.GroupType, groupTypes),
  name: fromField(filter.Name, 'TEXT'),
  groupId: idListFlag(filter.GroupIds),
  order: fromField(shape.SortOrder),
  limit: countFlag(shape.MaxResults),
  token: fromField(shape.NextToken, 'TOKEN'),
  page: countFlag(shape.PageNumber),
  pageSize: countFlag(shape.PageSize),
  all: on('every item, each page as it comes; one JSON object a line under --json'),
  ...projectFlag,
} as const;

const { limit, ...otherFlags } = listFlags;
const flags = {
  ...otherFlags,
  ...actionProjectFlag,
  status: listFlag('STATUS', helpOf(shape.Filter.shape.Statuses), { choices: assetStatuses }),
  sortBy: fromField(shape.SortBy),
  limit,
  rest: on('ask by the REST alias: newest first, with --name, --status, --limit and --offset'),
  offset: fromField(RestListQuery.shape.offset, 'N'),
} as const;
type Flags = FlagValues<typeof flags>;
type ListedAssets = Listed<Pick<LibraryPage, 'Items'> & Partial<LibraryPage>>;

/** For --json: the unchanged reply, or with --all one item a line with the gateway's own text where possible. */
export function listJson({ reply, page, all }: Listed<LibraryPage>): string | Uint8Array {
  if (!all) return reply.bytes;
  const found = textsAt(reply.text, 'Result', 'Items');
  const items = found.length === page.Items.length ? found : page.Items.map((item) => JSON.stringify(item));
  return items.map((item) => `${compactJson(item)}\n`).join('');
}

export const list = defineCommand<typeof flags, ListedAssets>({
  flags,
  examples: [
    'gw asset list --sandbox',
    'gw asset list --sandbox --status Active --name fox --sort-by UpdateTime',
    'gw asset list --sandbox --all --json',
    'gw asset list --sandbox --rest --limit 5 --json',
  ],
  notes: [
    'Without --type, assets in AIGC groups are listed; --type LivenessFace lists the others. --rest lists both. ' +
      'A token belongs to the filters and the order that it came with.',
  ],
  sends: 'body',
  human: ({ page }) => assetTable(page.Items),
  raw: listJson,
  async *run({ flags: given }, ctx): AsyncGenerator<Outcome<ListedAssets>> {
    const flags = withoutPairs(given, besideRest, ctx);
    if (flags.rest) return yield { ...(await listByRest(flags, ctx)) };
    if (flags.offset !== undefined)
      throw usage(`--offset ${flags.offset}: only --rest takes it`, 'use --page and --page-size, or --token');
    yield* listPages(listAssets, flags, ctx);
  },
});

const restFlags: readonly string[] = ['rest', 'name', 'status', 'limit', 'offset'];
const notOfRest = Object.keys(flags).filter((key) => !restFlags.includes(key));
const besideRest = notOfRest.map((key) => ['rest', key] as const);

async function listByRest(flags: Flags, ctx: Context): Promise<Outcome<ListedAssets>> {
  refuseActionFlags(flags.project, ctx);
  const other = notOfRest.find((key) => key in flags);
  if (other !== undefined)
    throw usage(
      `${flagName(other)}: --rest takes only ${restFlags.slice(1).map(flagName).join(', ')}`,
      'leave --rest out: the action takes them all',
    );
  const [status, ...others] = new Set(flags.status);
  if (others.length > 0)
    throw usage('--status: --rest takes one', 'leave --rest out: the action takes several');
  const { name, limit, offset } = flags;
  const said = Object.entries({ name, status, limit, offset }).filter(([, value]) => value !== undefined);
  const query = Object.fromEntries(said.map(([field, value]) => [field, String(value)]));
  const { breaches } = lookAtBody(RestListQuery, query, ([name]) => flagName(String(name)));
  refuseOrWarn(breaches, ctx.globals.validate === undefined, ctx.io);
  return askOrShow(restList, { query }, ctx, (reply) => {
    const Items = restItems(reply.json);
    const { total } = reply.json as { readonly total?: unknown };
    const shownTo = Number(offset ?? 0) + Items.length;
    if (typeof total === 'number' && Items.length > 0 && total > shownTo)
      ctx.io.note(`more follow (${total} in all): the same with --offset ${shownTo} goes on`);
    return { reply, page: { Items }, all: false };
  });
}

/** Flags of different paging modes ("Two modes cannot be mixed", "Pagination"). */
const twoModes = ['all', 'token', 'limit'].flatMap((key) => [
  ['page', key] as const,
  ['pageSize', key] as const,
]);

/** Merges the flags over the body of --body; each typed filter replaces the same filter there. */
function listBody(base: JsonObject, flags: WithStored): JsonObject {
  const { Filter = {} } = base;
  const typed = typedFields(flags, 'GroupType', 'Name', 'GroupIds', 'Statuses');
  return {
    ...base,
    // An invalid filter is kept, so that the schema reports it.
    Filter: isObject(Filter) ? { ...Filter, ...typed } : Filter,
    ...typedFields(flags, 'SortBy', 'SortOrder', 'MaxResults', 'NextToken', 'PageNumber', 'PageSize'),
    ...typedFields(flags, 'ProjectName'),
  };
}

/** Adds the required `Filter.GroupType`; with --all it sets the largest page size. */
function fillListBody({ Filter, ...rest }: JsonObject, all: boolean): JsonObject {
  if (all && (rest.PageNumber !== undefined || rest.PageSize !== undefined))
    throw usage('--all: it follows tokens and cannot be mixed with page numbers', 'leave one of them out');
  return {
    Filter: isObject(Filter) ? { GroupType: DEFAULT_GROUP_TYPE, ...Filter } : Filter,
    ...(all && { MaxResults: LIST_MAX }),
    ...rest,
  };
}

export interface Listed<P> {
  readonly reply: Reply;
  readonly page: P;
  readonly all: boolean;
}

/** Yields the requested page, or with --all every following page too, each as it arrives. */
export async function* listPages(
  endpoint: Endpoint,
  given: FlagValues<typeof listFlags>,
  ctx: Context,
): AsyncGenerator<Outcome<Listed<LibraryPage>>> {
  const flags = withoutPairs(given, twoModes, ctx);
  const { all = false } = flags;
  const first = (await bodyMaker(endpoint, listBody, flags, ctx, (body) => fillListBody(body, all)))();
  const shown = await showInstead(endpoint, { body: first }, ctx);
  if (shown !== undefined) return yield { value: shown };
  const { client } = await ctx.gateway();
  const seen = new Set<unknown>([first.NextToken]);
  for (let body = first; ; ) {
    const reply = await askLibrary(client, endpoint, { body }, { signal: ctx.signal });
    const page = resultOf(LibraryPage, reply.json);
    yield { value: { reply, page, all } };
    const { NextToken: token } = page;
    if (!all) return tellOfMore(page, body, ctx);
    if (!token) return;
    if (seen.has(token))
      throw new GwError('unavailable', 'the gateway gives the same token twice, so the list is not complete');
    seen.add(token);
    // "A token is bound to filter and sort options, so other parameters must stay unchanged."
    body = { ...body, NextToken: token };
  }
}

/** Says that there are more results, and how to get them in the paging mode in use. */
function tellOfMore(page: LibraryPage, { PageNumber, PageSize }: JsonObject, { io, globals }: Context): void {
  const { NextToken: token, TotalCount: total, Items } = page;
  // A typed --set beats a flag, so the --set is what has to change; a text such as 123 needs quotes there.
  const next = (field: string, flag: string, value: string | number) =>
    globals.set?.some((raw) => raw.startsWith(`${field}=`))
      ? `--set ${shellQuote(`${field}=${jsonOf(String(value)) === undefined ? value : JSON.stringify(value)}`)}`
      : `${flag} ${shellQuote(String(value))}`;
  if (typeof PageNumber === 'number' && typeof PageSize === 'number') {
    const isMore = typeof total === 'number' ? total > PageNumber * PageSize : token && Items.length > 0;
    if (!isMore) return;
    const count = typeof total === 'number' ? ` (${total} in all)` : '';
    io.note(`more follow${count}: run it again with ${next('PageNumber', '--page', PageNumber + 1)}`);
  } else if (token) {
    const text = `more follow: run it again with ${next('NextToken', '--token', token)}, or with --all for all of them`;
    // Long notes are cut, and a cut token is useless, so this uses `aside`.
    if (!io.mode.quiet) io.aside(`${oneLine(text, Number.POSITIVE_INFINITY)}\n`);
  }
}

const cell = (value: unknown): string =>
  value === undefined || value === null || value === '' ? '-' : String(value);

const assetTable = (assets: readonly LibraryRecord[]): Table => ({
  columns: columnsOf(['id', 'type', 'status'], ['name'], ['group', 'created', 'error']),
  rows: assets.map((asset) => {
    const { id, type, status, error } = readAsset(asset);
    const { AssetType, Name, GroupId, CreateTime } = asset;
    return { id, cells: [id, type ?? AssetType, status, Name, GroupId, CreateTime, error.code].map(cell) };
  }),
});

export const groupTable = (groups: readonly LibraryRecord[]): Table => ({
  columns: columnsOf(['id', 'type'], ['name'], ['description', 'created']),
  rows: groups.map(({ Id, GroupType, Name, Description, CreateTime }) => ({
    id: Id,
    cells: [Id, GroupType, Name, Description, CreateTime].map(cell),
  })),
});
