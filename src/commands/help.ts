import { type AnyCommand, defineCommand } from '../command.ts';
import { environmentVariables } from '../config/environment.ts';
import { errorKinds, signalExitCodes } from '../errors.ts';
import { globalFlags } from '../flags/flag.ts';
import { drawTable, drawText, type Paper, rowOf } from '../help.ts';
import { helpTopics } from '../program.ts';

type Draw = (paper: Paper) => string;

const onlySending =
  'A command that sends no request refuses --dry-run, --curl, --no-validate, --set and --body; one that has no body, the last two.';

const paragraphs = (load: () => Promise<readonly string[]>) => async (): Promise<Draw> => {
  const texts = await load();
  return (paper) => drawText(texts, paper);
};

/** Each topic loads its data only when it is requested. */
const topics: Readonly<Record<string, () => Promise<Draw>>> = {
  options: async () => (paper) => {
    const table = drawTable(
      [
        ['-h, --help', 'show the help of a command'],
        ['-V, --version', 'print the version of gw'],
        ...Object.entries(globalFlags).map(rowOf),
      ],
      paper,
    );
    return `${table}\n${drawText([onlySending], paper)}`;
  },
  environment: async () => (paper) => drawTable(Object.entries(environmentVariables), paper),
  'exit-codes': async () => (paper) =>
    drawTable(
      [
        ['0', '', 'done'],
        ...Object.entries(errorKinds).map(([kind, { exitCode, meaning }]) => [
          String(exitCode),
          kind,
          meaning,
        ]),
        ...Object.entries(signalExitCodes).map(([signal, code]) => [
          String(code),
          'interrupted',
          `${signal}; every job created so far is in the ledger`,
        ]),
      ],
      paper,
    ),
  families: async () => (await explained()).families(),
  files: async () => (await explained()).files,
  placeholders: async () => (await explained()).placeholderTopic,
  settings: async () => (await explained()).settingsTopic,
  syntax: async () => (await explained()).syntax,
  storage: async () => (await explained()).storage,
  prices: async () => (await explained()).prices,
  trouble: async () => (await explained()).trouble,
  ci: async () => (await explained()).ci,
  machines: async () => (await explained()).machines,
  shots: async () => (await import('../shots/help-page.ts')).shots,
  agents: async () => (await explained()).agents,
  'asset-files': paragraphs(async () => [(await import('./asset/asset.ts')).requirementsHelp()]),
  'image-sizes': paragraphs(async () => (await import('./image.ts')).sizesHelp()),
  faults: paragraphs(async () => [(await import('../sandbox/faults.ts')).faultHelp.join('\n')]),
  'sandbox-limits': paragraphs(async () => {
    const { notImitated } = await import('../sandbox/not-imitated.ts');
    return [notImitated.map((line) => `- ${line}`).join('\n')];
  }),
};

const explained = () => import('./help/topics.ts');

export const help: AnyCommand = defineCommand<Record<string, never>, undefined>({
  args: {
    name: 'TOPIC',
    summary: `a command, or ${helpTopics.join(', ')}`,
    required: true,
    choices: [...helpTopics, 'man'],
    completes: 'command',
  },
  examples: ['gw help options', 'gw help exit-codes', 'gw help video alpha create'],
  async run({ args: [name = ''] }, ctx) {
    const { columns } = ctx.host.stdout;
    // The roff source for man itself, so it is not rendered and not listed as a topic: gw help man > gw.1
    if (name === 'man') {
      await ctx.io.out(await (await import('../man.ts')).manual(ctx.host.version));
      return {};
    }
    const topic = topics[name];
    if (!topic) throw new Error(`no text for the topic ${name}`);
    const draw = await topic();
    await ctx.io.outStyled((style) => draw({ columns, style }));
    return {};
  },
  human: () => '',
});
