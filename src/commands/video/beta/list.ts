import { defineCommand, type Outcome } from '../../../command.ts';
import { GwError, usage } from '../../../errors.ts';
import { checkBody, setOver } from '../../../flags/breaches.ts';
import { type FlagValues, flagName, list as listFlag, on, parsed, text, whole } from '../../../flags/flag.ts';
import { type Moment, parseMoment } from '../../../flags/moment.ts';
import { baseBody } from '../../../flags/prompt.ts';
import {
  BETA_LIST_DEFAULT,
  BETA_LIST_MAX,
  BetaListBody,
  type BetaPage,
  betaList,
  betaPageIn,
  betaProductTypes,
  betaStatuses,
} from '../../../gateway/beta/list.ts';
import { betaFamily } from '../../../gateway/beta/task.ts';
import type { Fields } from '../../../gateway/json-value.ts';
import type { Charge, TaskView } from '../../../gateway/task.ts';
import type { Table } from '../../../io/io.ts';
import { columnsOf } from '../../../io/layout.ts';
import { shortDuration } from '../../../io/quantity-text.ts';
import type { Listed } from '../../asset/list.ts';
import { showInstead } from '../../show-instead.ts';

const flags = {
  status: listFlag('STATUS', 'only tasks in this state', { choices: betaStatuses }),
  type: listFlag('TYPE', 'only tasks of this kind', { choices: betaProductTypes }),
  since: parsed(
    'TIME',
    'created since: a span back from now (7d), a date or Unix milliseconds (default 30d)',
    time,
  ),
  until: parsed('TIME', 'created until, written alike (default now)', time),
  limit: whole('N', `most tasks on one page, 1-${BETA_LIST_MAX} (the service: ${BETA_LIST_DEFAULT})`, {
    hint: `give a number from 1 to ${BETA_LIST_MAX}`,
  }),
  cursor: text('CURSOR', 'go on where another page ended; the time range is that of the first page'),
  all: on('every page, each as it comes'),
} as const;

type ListFlags = FlagValues<typeof flags>;

/** `gw video beta list` lists all tasks of the account, including those made elsewhere ("Cursor query"). */
export const list = defineCommand<typeof flags, Listed<BetaPage>>({
  flags,
  examples: [
    'gw video beta list --sandbox',
    'gw video beta list --sandbox --status succeeded --status failed --since 7d',
    'gw video beta list --sandbox --all --json',
  ],
  notes: [
    'Only asynchronous tasks are listed. Links to outputs are credentials and die: they are shown with --json only.',
  ],
  sends: 'body',
  async *run({ flags }, ctx): AsyncGenerator<Outcome<Listed<BetaPage>>> {
    const base = await baseBody(ctx);
    const flagsOf = (of: Fields) => (path: readonly PropertyKey[]) => flagOf(path, flags, of);
    let body = setOver(base, flagsOf, ctx)(listBody(base, flags, ctx.clock.now()));
    checkBody(BetaListBody, body, flagsOf(body), base, ctx)();
    const shown = await showInstead(betaList, { body }, ctx);
    if (shown !== undefined) return yield { value: shown };
    const { client } = await ctx.gateway();
    const seen = new Set(body.cursor === undefined ? [] : [String(body.cursor)]);
    for (;;) {
      const reply = await client.send(betaList, { body }, { signal: ctx.signal });
      const page = betaPageIn(reply.json) ?? { result: [] };
      const all = flags.all ?? false;
      yield { value: { reply, page, all } };
      const next = nextCursor(page, seen);
      if (next === undefined) return;
      if (!all) {
        const { runCommand } = await import('../../batch/flags.ts');
        const argv = ctx.argv.filter((word, at, all) => !setsPage(word, all[at + 1]));
        ctx.io.note(`more tasks follow: ${runCommand(['--cursor', next], { argv }, ofFirstPage)}`);
        return;
      }
      const { start_time: _start, end_time: _end, ...rest } = body;
      body = { ...rest, cursor: next };
    }
  },
  human: ({ page }, ctx) => taskTable(page.result, ctx.clock.now()),
  raw: ({ reply, page, all }) =>
    all ? page.result.map((record) => `${JSON.stringify(record)}\n`).join('') : reply.bytes,
});

function time(raw: string, flag: string): Moment {
  // Twelve digits of milliseconds fall in 1973; a shorter number was meant as seconds or as a year.
  return /^\d{12,15}$/.test(raw) ? () => Number(raw) : parseMoment(raw, flag);
}

/** Lays the flags over --body; a filter replaces the one with its key. Throws `usage` for an invalid time. */
function listBody(base: Fields, flags: ListFlags, nowMs: number): Record<string, unknown> {
  const { since, until, cursor } = flags;
  for (const key of ['since', 'until'] as const) {
    if (flags[key] === undefined || cursor === undefined) continue;
    throw usage(
      `${flagName(key)}: with --cursor the time range is the cursor's own`,
      'leave one of them out',
    );
  }
  const startMs = since?.(nowMs);
  const endMs = until?.(nowMs);
  if (startMs !== undefined && startMs >= (endMs ?? nowMs)) {
    const start = new Date(startMs).toISOString();
    throw usage(
      `--since: ${start} is not earlier than ${endMs === undefined ? 'now' : `--until, ${new Date(endMs).toISOString()}`}`,
    );
  }
  const filters = [
    ...(flags.status ? [{ key: 'status', values: [...new Set(flags.status)] }] : []),
    ...(flags.type ? [{ key: 'product_type', values: [...new Set(flags.type)] }] : []),
  ];
  const replaced = new Set(filters.map(({ key }) => key));
  const kept = (Array.isArray(base.filters) ? base.filters : []).filter(
    (filter: { key?: unknown } | null) => !replaced.has(String(filter?.key)),
  );
  // With --all the largest page size is used, so that as few requests as possible are sent.
  const limit = flags.limit ?? (flags.all && base.limit === undefined ? BETA_LIST_MAX : undefined);
  return {
    ...base,
    ...(startMs !== undefined && { start_time: String(startMs) }),
    ...(endMs !== undefined && { end_time: String(endMs) }),
    ...(cursor !== undefined && { cursor }),
    ...(limit !== undefined && { limit }),
    ...(filters.length > 0 && { filters: [...kept, ...filters] }),
  };
}

/** The cursor of the next page; undefined after the last. Throws `unavailable` if the gateway gives no usable cursor. */
function nextCursor({ next_cursor: next, has_more: hasMore }: BetaPage, seen: Set<string>) {
  if (hasMore === false || (!hasMore && !next)) return undefined;
  if (!next || seen.has(next)) {
    const what = next ? 'gives the same cursor twice' : 'says that more tasks follow and gives no cursor';
    throw new GwError('unavailable', `the gateway ${what}, so the list is not complete`, {
      hint: 'narrow it with --since and --until',
    });
  }
  seen.add(next);
  return next;
}

/** These flags say where the list begins; the cursor of the next page replaces them. */
const ofFirstPage = ['--cursor', '--since', '--until'];

/** True for the words of a --set that does the same. */
const setsPage = (word: string, next = ''): boolean =>
  /^(--set=)?(cursor|start_time|end_time)=/.test(word === '--set' ? next : word);

const flagOfField: Record<string, keyof ListFlags> = {
  start_time: 'since',
  end_time: 'until',
  cursor: 'cursor',
  limit: 'limit',
  status: 'status',
  product_type: 'type',
};

/** The flag that set a field; undefined if --body or --set gave it. */
function flagOf([field, index]: readonly PropertyKey[], flags: ListFlags, body: Fields) {
  const filters = field === 'filters' && Array.isArray(body.filters) ? body.filters : [];
  const filter = filters[Number(index)] as { key?: unknown } | null | undefined;
  const key = flagOfField[String(field === 'filters' ? filter?.key : field)];
  return key !== undefined && flags[key] !== undefined ? flagName(key) : undefined;
}

/** Task records of family B as a table that fits a terminal; links are left out because they are credentials. */
const taskTable = (records: readonly Fields[], nowMs: number): Table => ({
  columns: [
    ...columnsOf(['id', 'status'], []),
    { name: 'age', align: 'right', whole: true },
    ...columnsOf([], ['result', 'cost']),
  ],
  rows: records.map((record) => {
    const id = String(record.id ?? '-');
    const view = betaFamily.readTask(record, id);
    const cost = view.usage?.charges?.map(chargeText).join(', ') ?? '-';
    return {
      id,
      cells: [id, view.status || '-', ageText(record.create_time, nowMs), resultText(view), cost],
    };
  }),
});

/** Shows Unix milliseconds as an age; any other value is shown unchanged. */
const ageText = (value: unknown, nowMs: number): string =>
  typeof value === 'number' && value > 1e11 ? shortDuration(nowMs - value) : String(value ?? '-');

/** The outputs and usage of a task, or its error. */
function resultText({ outputs, usage, error, hasNoFiles }: TaskView): string {
  if (error?.message) return error.message;
  if (hasNoFiles) return 'element';
  const roles = outputs.map(({ role }) => role).join(', ') || '-';
  return usage?.outputS === undefined ? roles : `${roles} ${usage.outputS} s`;
}

const chargeText = ({ amount, unit, isTest }: Charge): string =>
  `${amount} ${unit}${isTest ? ' (test)' : ''}`;
