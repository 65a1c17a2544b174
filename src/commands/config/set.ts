import { defineCommand } from '../../command.ts';
import { settingNames } from '../../config/table.ts';
import { usage } from '../../errors.ts';
import { type ChangedSetting, changeSetting } from './change-setting.ts';

/** `gw config set NAME VALUE`: changes one setting of the profile in force. */
export const set = defineCommand<Record<string, never>, ChangedSetting>({
  args: {
    name: 'NAME_AND_VALUE',
    summary: `one of ${settingNames.join(', ')}, and its value`,
    required: true,
    many: true,
    choices: settingNames,
  },
  flags: {},
  examples: ['gw config set timeout 90s', 'gw config set models.alpha alpha-video-2-0-fast-260128'],
  sends: 'nothing',
  async run({ args }, ctx) {
    const [name = '', value, ...more] = args;
    if (value === undefined || more.length > 0)
      throw usage('config set takes a name and one value', 'gw config set timeout 90s');
    return { value: await changeSetting(name, value, ctx) };
  },
  human: ({ profile, name, value }) => `${name} = ${value} (profile ${profile})\n`,
});
