import { defineCommand } from '../../command.ts';
import type { SettingRow } from '../../config/settings.ts';
import { settingNames } from '../../config/table.ts';
import { GwError, usage } from '../../errors.ts';
import { nearest } from '../../flags/nearest.ts';

/** `gw config get NAME`: one setting in force, as `gw config list` shows it. */
export const get = defineCommand<Record<string, never>, SettingRow>({
  args: { name: 'NAME', summary: 'a name from gw config list', required: true, choices: settingNames },
  flags: {},
  examples: ['gw config get timeout', 'gw config get models.alpha'],
  sends: 'nothing',
  async run({ args }, ctx) {
    const [name = ''] = args;
    const rows = (await ctx.settings()).rows;
    const row = rows.find((candidate) => candidate.name === name);
    if (!row) {
      const near = nearest(
        name,
        rows.map((candidate) => candidate.name),
        1,
      );
      throw usage(
        `there is no setting ${name}`,
        near[0] ? `did you mean ${near[0]}?` : 'gw config list shows them all',
      );
    }
    if (row.value === undefined)
      throw new GwError('not_found', `${name} is not set`, {
        hint: `set it with: gw config set ${name} VALUE`,
      });
    return { value: row };
  },
  human: ({ value }) => `${value}\n`,
});
