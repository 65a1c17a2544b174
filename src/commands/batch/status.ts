import { keysOf } from '../../batch/rows.ts';
import { defineCommand, type Outcome } from '../../command.ts';
import { gatewayName } from '../../context.ts';
import { usage } from '../../errors.ts';
import { on, text } from '../../flags/flag.ts';
import { redisFlags } from '../../flags/job-flags.ts';
import { oneLine } from '../../io/escape.ts';
import { columnsOf } from '../../io/layout.ts';
import { counted } from '../../io/quantity-text.ts';
import type { Job } from '../../ledger/event.ts';
import type { LogEntry } from '../../machines/row.ts';
import { Chains } from '../../shots/chains.ts';
import { staleRows, waitsFor } from '../../shots/row-outputs.ts';
import type { MachinesStatus } from '../machines/queue-status.ts';
import { manifestArgs, nameFlags, openRows, soundRows } from './flags.ts';
import { type KnownRow, knownRows } from './known-rows.ts';

const words = {
  saved: 'saved',
  running: 'running',
  unsaved: 'finished, not saved yet',
  failed: 'failed',
  unknown: 'of unknown outcome',
  not_sent: 'not sent',
  /** Further states: `stale` if its source was made again since, `waiting` if it waits for another row. */
  stale: 'stale',
  waiting: 'waiting',
};
type ShownState = keyof typeof words;

type RowLine = Readonly<Record<'row' | 'line', number> & Record<'id' | 'reason', string | null>> & {
  readonly row_key: string;
  readonly status: ShownState;
};

const flags = {
  ...nameFlags,
  ...redisFlags,
  row: text('ID', 'this row alone; with --redis what was done with it, when, by whom, at which attempt'),
  all: on('saved rows too'),
} as const;

/** The ledger's sums and rows (with --json single rows), the queue's figures, or the queue's log of one row. */
type Status = string | RowLine | RowLine[] | MachinesStatus | { readonly log: readonly LogEntry[] };

/** `gw batch status` shows the state of a manifest's rows by the ledger alone; with --redis by the queue. */
export const status = defineCommand<typeof flags, Status>({
  args: manifestArgs,
  flags,
  examples: [
    `printf 'command,id,prompt\\nimage create,boat,a paper boat\\n' > boats.csv && gw batch status boats.csv --sandbox`,
  ],
  notes: [
    'Reads the manifest and the ledger, or with --redis the queue, with its workers and slots; no request is made. The rows that ' +
      'are not saved are listed, each with its state, the ID of its job and the reason.',
  ],
  human(value) {
    if (typeof value === 'string') return value;
    if ('log' in value) return logTable(value.log);
    return 'slots' in value ? machinesText(value) : rowTable([value].flat());
  },
  async *run({ args, flags }, ctx): AsyncGenerator<Outcome<Status>> {
    const input = await openRows(args, flags, ctx);
    const only = flags.row === undefined ? undefined : keysOf([flags.row], input.name);
    try {
      if (flags.redis !== undefined) {
        if (flags.all)
          throw usage('--all: does not go with --redis', '--row ID tells what was done with one row');
        const { logOnMachines, statusOnMachines } = await import('../machines/queue-status.ts');
        const [key] = only?.unmet ?? [];
        if (key === undefined) return yield { value: await statusOnMachines(input, flags, ctx) };
        return yield { value: { log: await logOnMachines(key, flags, ctx) } };
      }
      const refusals = new Map<string, string | undefined>();
      const { known, elsewhere } = await knownRows(input.name, ctx, { refusals });
      const counts = new Map<ShownState, number>();
      const listed: RowLine[] = [];
      const chains = new Chains(input.creates);
      for await (const each of soundRows(input)) chains.add(each);
      const stale = staleRows(known);
      for await (const { row, line, key } of soundRows({ ...input, isWanted: only?.has })) {
        const of: Partial<KnownRow> = elsewhere.has(key) ? handedOver : (known.get(key) ?? {});
        const { state: ofJob = 'not_sent', id, reason: said } = of;
        const waits = ofJob === 'not_sent' ? waitsFor(key, chains, known) : undefined;
        const state = stale.has(key) ? 'stale' : (waits?.state ?? ofJob);
        const reason = waits?.reason ?? said ?? (ofJob === 'not_sent' ? refusals.get(key) : undefined);
        counts.set(state, (counts.get(state) ?? 0) + 1);
        if (state === 'saved' && !flags.all && !only) continue;
        listed.push({ row, line, row_key: key, status: state, id: id ?? null, reason: reason ?? null });
      }
      if (counts.size === 0 && !only) throw usage(`${input.manifest.named}: there is no row in it`);
      const [unmet] = only?.unmet ?? [];
      if (unmet !== undefined) throw usage(`--row ${unmet}: ${input.manifest.named} has no row of this key`);
      const gateway = gatewayName(await ctx.settings());
      const isElsewhere = ({ once, gateway: of }: Job) =>
        of !== gateway && once?.key.startsWith(`${input.name}/`) === true;
      if (counts.has('not_sent'))
        for (const job of await (await ctx.ledger()).find({ limit: 1, where: isElsewhere }))
          ctx.io.note(
            `rows of ${input.name} were made at another gateway (${job.gateway}): name it by --sandbox, --profile or --base-url`,
          );
      if (ctx.io.mode.json) return yield* listed.map((value) => ({ value }));
      const sums = Object.entries(words).map(
        ([state, word]) => counts.has(state as ShownState) && `${counts.get(state as ShownState)} ${word}\n`,
      );
      if (!only && !ctx.io.mode.quiet) yield { value: sums.filter(Boolean).join('') };
      yield { value: listed.filter(({ id }) => id !== null || !ctx.io.mode.quiet) };
    } finally {
      input.close();
    }
  },
});

const handedOver = { state: 'unknown', reason: 'handed over to other machines: ask with --redis' } as const;

const rowTable = (rows: readonly RowLine[]) => ({
  columns: [...columnsOf(['KEY', 'STATE'], ['ID']), { name: 'REASON', least: 36 }],
  rows: rows.map(({ row_key, status, id, reason }) => ({
    id: id ?? '',
    cells: [row_key, words[status], id ?? '-', reason ?? '-'],
  })),
});

/** The queue's counts without zeros. Text from Redis is untrusted and escaped. */
const machinesText = ({ counts, workers, slots, toSave, stands }: MachinesStatus): string => {
  const states = Object.entries(counts).filter(([, count]) => count > 0);
  const used = slots.filter(({ taken, waiting }) => taken + waiting > 0);
  return [
    ...states.map(([state, count]) => `${count} ${state.replaceAll('_', ' ')}`),
    ...(workers ? [`workers: ${workers.length === 0 ? 'none' : workers.join(', ')}`] : []),
    ...used.map(
      ({ pool, taken, of, waiting }) =>
        `slots of ${pool}: ${taken} of ${of}, ${counted(waiting, 'row waits', 'rows wait')}`,
    ),
    ...(toSave > 0 ? [`${toSave} outputs to save`] : []),
    ...stands.map(({ host, what }) => `${host}: ${what}`),
  ]
    .map((line) => `${oneLine(line, 4_000)}\n`)
    .join('');
};

const logTable = (log: readonly LogEntry[]) => ({
  columns: columnsOf(['TIME'], ['STEP', 'HOST', 'ATTEMPT', 'WHAT']),
  rows: log.map(({ t, step, host, attempt, id, message }) => ({
    id: step,
    cells: [new Date(t).toISOString(), step, host, String(attempt ?? ''), id ?? message ?? ''],
  })),
});

/** `gw batch cancel` takes rows that were not sent yet out of the queue. */
export const cancel = defineCommand({
  args: manifestArgs,
  flags: { ...nameFlags, ...redisFlags },
  examples: [
    `printf 'command,id,prompt\\nimage create,boat,a paper boat\\n' > b.csv && gw batch cancel b.csv --redis redis://127.0.0.1:6399 --sandbox || echo no Redis there`,
  ],
  notes: ['What was sent goes on; gw batch run with the same manifest puts what was taken out back.'],
  human: ({ cancelled, left }: { cancelled: number; left: number }) =>
    `${cancelled} taken out${left > 0 ? `, ${left} were sent or are over` : ''}\n`,
  async run({ args, flags }, ctx) {
    const input = await openRows(args, flags, ctx);
    try {
      const { cancelOnMachines } = await import('../machines/queue-status.ts');
      return { value: await cancelOnMachines(input.name, flags, ctx) };
    } finally {
      input.close();
    }
  },
});
