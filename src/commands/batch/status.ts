import { readRows } from '../../batch/rows.ts';
import { defineCommand } from '../../command.ts';
import { usage } from '../../errors.ts';
import { manifestArgs, nameFlags, openRows } from './flags.ts';
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

/** `gw batch status`: where the rows of a manifest stand, by the ledger alone. */
export const status = defineCommand({
  args: manifestArgs,
  flags: nameFlags,
  examples: [
    `printf 'command,id,prompt\\nimage create,boat,a paper boat\\n' > boats.csv && gw batch status boats.csv --sandbox`,
  ],
  notes: ['Reads the manifest and the ledger; no request is made.'],
  sends: 'nothing',
  human: (counts: Counts) =>
    rowStates.flatMap((state) => (counts[state] > 0 ? `${counts[state]} ${words[state]}\n` : [])).join(''),
  async run({ args, flags }, ctx) {
    const input = await openRows(args, flags, ctx);
    try {
      const known = await knownRows(input.name, ctx);
      const counts = Object.fromEntries(rowStates.map((state) => [state, 0])) as Counts;
      counts.rows = 0;
      for await (const row of readRows(input)) {
        if ('faults' in row) {
          throw usage(
            `${input.manifest.named}:${row.line}: ${row.faults[0]}`,
            'gw batch check names every fault of it',
          );
        }
        counts.rows += 1;
        counts[known.get(row.key)?.state ?? 'not_sent'] += 1;
      }
      return { value: counts };
    } finally {
      input.close();
    }
  },
});
