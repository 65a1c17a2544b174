import { defineCommand } from '../../command.ts';
import type { SettingRow } from '../../config/settings.ts';

/** `gw config list`: each setting in force and where it comes from. */
export const list = defineCommand<Record<string, never>, SettingRow[]>({
  flags: {},
  examples: ['gw config list', 'gw config list --json'],
  sends: 'nothing',
  run: async (_, ctx) => ({ value: [...(await ctx.settings()).rows] }),
  human: (rows) => ({
    columns: [{ name: 'name', whole: true }, { name: 'value' }, { name: 'source' }],
    rows: rows.map(({ name, value, source }) => ({
      id: name,
      cells: [name, value === undefined ? '-' : String(value), source],
    })),
  }),
});
