import { defineCommand } from '../command.ts';
import { environmentVariables } from '../config/environment.ts';
import { errorKinds, signalExitCodes, usage } from '../errors.ts';

const topics = {
  environment: () => rows(Object.entries(environmentVariables)),
  'exit-codes': () =>
    rows([
      ['0', '', 'done'],
      ...Object.entries(errorKinds).map(([kind, { exitCode, meaning }]) => [String(exitCode), kind, meaning]),
      ...Object.entries(signalExitCodes).map(([signal, code]) => [
        String(code),
        'interrupted',
        `${signal}; every job created so far is in the ledger`,
      ]),
    ]),
} as const;

/** `gw help environment` and `gw help exit-codes`; any other word is that command's --help. */
export const help = defineCommand<Record<string, never>, string>({
  args: {
    name: 'TOPIC',
    summary: Object.keys(topics).join(', '),
    required: true,
    choices: Object.keys(topics),
    completes: 'command',
  },
  flags: {},
  examples: ['gw help environment', 'gw help exit-codes'],
  sends: 'nothing',
  async run({ args }) {
    const [topic = ''] = args;
    const text = Object.entries(topics).find(([name]) => name === topic)?.[1];
    if (!text)
      throw usage(
        `no help on ${topic}`,
        `topics are ${Object.keys(topics).join(', ')}; gw --help lists the commands`,
      );
    return { value: text() };
  },
  human: (text) => text,
});

function rows(cells: readonly (readonly string[])[]): string {
  const widths =
    cells[0]?.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0))) ?? [];
  return cells
    .map(
      (row) =>
        `${row
          .map((cell, column) => cell.padEnd(widths[column] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}
