import { askLibrary } from '../../assets/ask-library.ts';
import { defineCommand, type Outcome } from '../../command.ts';
import type { Context } from '../../context.ts';
import { usage } from '../../errors.ts';
import { breachesOf, refuseOrWarn } from '../../flags/breaches.ts';
import { type FlagValues, flagName, fromField, list as listFlag, on } from '../../flags/flag.ts';
import { resultOf } from '../../gateway/asset/envelope.ts';
import { assetStatuses } from '../../gateway/asset/fields.ts';
import {
  AssetPage,
  ListAssetsBody,
  listAssets,
  RestListQuery,
  restItems,
  restList,
} from '../../gateway/asset/list.ts';
import { showInstead } from '../show-instead.ts';
import { refuseActionFlags } from './get.ts';
import { actionProjectFlag, given, libraryBody } from './library.ts';
import {
  assetTable,
  fillListBody,
  flagOfListField,
  type Listed,
  listBody,
  listFlags,
  listJson,
  listPages,
} from './list-pages.ts';

const { shape } = ListAssetsBody;
const { limit, ...otherFlags } = listFlags;
const flags = {
  ...otherFlags,
  ...actionProjectFlag,
  status: listFlag('STATUS', shape.Filter.shape.Statuses.description ?? '', { choices: assetStatuses }),
  sortBy: fromField(shape.SortBy),
  limit,
  rest: on('ask by the REST alias: newest first, with --name, --status, --limit and --offset'),
  offset: fromField(RestListQuery.shape.offset, 'N'),
} as const;
type Flags = FlagValues<typeof flags>;
type ListedAssets = Listed<Pick<AssetPage, 'Items'> & Partial<AssetPage>>;

/** `gw asset list` */
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
  async *run({ flags }, ctx): AsyncGenerator<Outcome<ListedAssets>> {
    if (flags.rest) return yield { ...(await listByRest(flags, ctx)) };
    if (flags.offset !== undefined) {
      throw usage(`--offset ${flags.offset}: only --rest takes it`, 'use --page and --page-size, or --token');
    }
    const body = await libraryBody(
      {
        schema: ListAssetsBody,
        over: (base) => listBody(base, flags),
        fill: fillListBody(flags.all),
        flagOf: flagOfListField,
      },
      ctx,
    );
    const pageOf = (reply: unknown) => resultOf(AssetPage, reply);
    yield* listPages(listAssets, body, { all: flags.all, pageOf }, ctx);
  },
});

const restFlags: readonly string[] = ['rest', 'name', 'status', 'limit', 'offset'];

async function listByRest(flags: Flags, ctx: Context): Promise<Outcome<ListedAssets>> {
  refuseActionFlags(flags.project, ctx);
  const other = Object.keys(flags).find((key) => !restFlags.includes(key));
  if (other !== undefined) {
    throw usage(
      `${flagName(other)}: --rest takes only ${restFlags.slice(1).map(flagName).join(', ')}`,
      'leave --rest out: the action takes them all',
    );
  }
  const [status, ...others] = new Set(flags.status);
  if (others.length > 0)
    throw usage('--status: --rest takes one', 'leave --rest out: the action takes several');
  const limit = flags.limit === undefined ? undefined : String(flags.limit);
  const query = given({ name: flags.name, status, limit, offset: flags.offset }) as Record<string, string>;
  const breaches = breachesOf(RestListQuery, query, ([name]) => flagName(String(name)));
  refuseOrWarn(breaches, ctx.globals.validate === undefined, ctx.io);
  const shown = await showInstead(restList, { query }, ctx);
  if (shown !== undefined) return { value: shown };
  const { client } = await ctx.gateway();
  const reply = await askLibrary(client, restList, { query }, { signal: ctx.signal });
  const Items = restItems(reply.json);
  const { total } = reply.json as { readonly total?: unknown };
  const shownTo = Number(flags.offset ?? 0) + Items.length;
  if (typeof total === 'number' && Items.length > 0 && total > shownTo) {
    ctx.io.note(`more follow (${total} in all): the same with --offset ${shownTo} goes on`);
  }
  return { value: { reply, page: { Items }, all: false } };
}
