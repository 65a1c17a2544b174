import { defineCommand } from '../../command.ts';
import { usage } from '../../errors.ts';
import { text } from '../../flags/flag.ts';
import { columnsOf } from '../../io/layout.ts';
import type { LogEntry } from '../../machines/row.ts';
import type { MachinesStatus } from '../machines/queue-status.ts';
import { manifestArgs, nameFlags, openRows, redisFlag, soundRows } from './flags.ts';
import { knownRows, type RowState, rowStates } from './known-rows.ts';

const words: Readonly<Record<RowState, string>> = {
  saved: 'saved',
  running: 'running',
  unsaved: 'finished, not saved yet',
  failed: 'failed',
  unknown: 'of unknown outcome',
  not_sent: 'not sent',
};

type Counts = Record<RowState, number> & { rows: number };

const flags = {
  ...nameFlags,
  redis: redisFlag,
  row: text('ID', 'with --redis: what was done with this row, when, by whom, at which attempt'),
} as const;

/** By the ledger, by the queue, or what the queue wrote down of one row. */
type Status = Counts | MachinesStatus | { readonly log: readonly LogEntry[] };

/** `gw batch status`: where the rows of a manifest stand, by the ledger alone; with --redis by the queue. */
export const status = defineCommand<typeof flags, Status>({
  args: manifestArgs,
  flags,
  examples: [
    `printf 'command,id,prompt\\nimage create,boat,a paper boat\\n' > boats.csv && gw batch status boats.csv --sandbox`,
  ],
  notes: [
    'Reads the manifest and the ledger, or with --redis the queue, with its workers and slots; no request is made.',
  ],
  human(value) {
    if ('log' in value) return logTable(value.log);
    if ('slots' in value) return machinesText(value);
    return rowStates
      .flatMap((state) => (value[state] > 0 ? `${value[state]} ${words[state]}\n` : []))
      .join('');
  },
  async run({ args, flags }, ctx) {
    if (flags.row !== undefined && flags.redis === undefined) {
      throw usage(
        '--row: goes with --redis',
        'gw jobs show tells of the job of a row that this machine made',
      );
    }
    const input = await openRows(args, flags, ctx);
    try {
      if (flags.redis !== undefined) {
        const { logOnMachines, statusOnMachines } = await import('../machines/queue-status.ts');
        if (flags.row === undefined) return { value: await statusOnMachines(input, flags.redis, ctx) };
        const key = flags.row.includes('/') ? flags.row : `${input.name}/${flags.row}`;
        return { value: { log: await logOnMachines(key, flags.redis, ctx) } };
      }
      const known = await knownRows(input.name, ctx);
      const counts = Object.fromEntries(rowStates.map((state) => [state, 0])) as Counts;
      counts.rows = 0;
      for await (const { key } of soundRows(input)) {
        counts.rows += 1;
        counts[known.get(key)?.state ?? 'not_sent'] += 1;
      }
      return { value: counts };
    } finally {
      input.close();
    }
  },
});

/** The words of the queue are its states; what is nothing is left out. */
const machinesText = ({ counts, workers, slots, toSave }: MachinesStatus): string => {
  const states = Object.entries(counts).filter(([, count]) => count > 0);
  const used = slots.filter(({ taken, waiting }) => taken + waiting > 0);
  return [
    ...states.map(([state, count]) => `${count} ${state.replaceAll('_', ' ')}`),
    ...(workers ? [`workers: ${workers.length === 0 ? 'none' : workers.join(', ')}`] : []),
    ...used.map(
      ({ pool, taken, of, waiting }) => `slots of ${pool}: ${taken} of ${of}, ${waiting} rows wait`,
    ),
    ...(toSave > 0 ? [`${toSave} outputs to save`] : []),
  ]
    .map((line) => `${line}\n`)
    .join('');
};

const logTable = (log: readonly LogEntry[]) => ({
  columns: columnsOf(['TIME'], ['STEP', 'HOST', 'ATTEMPT', 'WHAT']),
  rows: log.map(({ t, step, host, attempt, id, message }) => ({
    id: step,
    cells: [
      new Date(t).toISOString(),
      step,
      host,
      attempt === undefined ? '' : String(attempt),
      id ?? message ?? '',
    ],
  })),
});

const cancelFlags = { ...nameFlags, redis: redisFlag } as const;

/** `gw batch cancel`: rows that were not sent yet are taken out of the queue. */
export const cancel = defineCommand<
  typeof cancelFlags,
  { readonly cancelled: number; readonly left: number }
>({
  args: manifestArgs,
  flags: cancelFlags,
  examples: [
    `printf 'command,id,prompt\\nimage create,boat,a paper boat\\n' > b.csv && gw batch cancel b.csv --redis redis://127.0.0.1:6399 --sandbox || echo no Redis there`,
  ],
  notes: ['What was sent goes on; gw batch run with the same manifest puts what was taken out back.'],
  human: ({ cancelled, left }) =>
    `${cancelled} taken out${left > 0 ? `, ${left} were sent, are over or are not there` : ''}\n`,
  async run({ args, flags }, ctx) {
    const input = await openRows(args, flags, ctx);
    try {
      const { cancelOnMachines } = await import('../machines/queue-status.ts');
      return { value: await cancelOnMachines(input, flags.redis ?? '', ctx) };
    } finally {
      input.close();
    }
  },
});
