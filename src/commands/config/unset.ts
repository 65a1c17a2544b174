import { defineCommand } from '../../command.ts';
import { settingNames } from '../../config/table.ts';
import { type ChangedSetting, changeSetting } from './change-setting.ts';

/** `gw config unset NAME`: takes one setting out of the profile in force. */
export const unset = defineCommand<Record<string, never>, ChangedSetting>({
  args: { name: 'NAME', summary: `one of ${settingNames.join(', ')}`, required: true, choices: settingNames },
  flags: {},
  examples: ['gw config unset timeout'],
  sends: 'nothing',
  run: async ({ args: [name = ''] }, ctx) => ({ value: await changeSetting(name, undefined, ctx) }),
  human: ({ profile, name }) => `${name} is not set any more (profile ${profile})\n`,
});
