import { defineCommand } from '../../command.ts';
import { configFilePath } from '../../config/config-file.ts';
import { stateDir } from '../../config/dirs.ts';

/** `gw config path`: where the configuration file is, and with --json the state directory too. */
export const path = defineCommand<Record<string, never>, { config: string; state: string }>({
  flags: {},
  examples: ['gw config path', 'gw config path --json'],
  sends: 'nothing',
  run: async (_, ctx) => ({ value: { config: configFilePath(ctx.host), state: stateDir(ctx.host) } }),
  human: ({ config }) => `${config}\n`,
});
