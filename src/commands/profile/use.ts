import { defineCommand } from '../../command.ts';
import { profileOf, updateConfig } from '../../config/config-file.ts';
import { sandboxProfile } from '../../config/profile-name.ts';
import { usage } from '../../errors.ts';

/** `gw profile use NAME`: makes a profile the current one. */
export const use = defineCommand<Record<string, never>, { profile: string }>({
  args: { name: 'NAME', summary: 'a name from gw profile list', required: true, completes: 'profile' },
  flags: {},
  examples: ['gw profile use sandbox'],
  sends: 'nothing',
  async run({ args: [name = ''] }, ctx) {
    await updateConfig(ctx.host, (config) => {
      if (name !== sandboxProfile && !profileOf(config, name)) {
        throw usage(`there is no profile ${name}`, 'gw profile list shows them; gw profile add makes one');
      }
      return { ...config, current: name };
    });
    return { value: { profile: name } };
  },
  human: ({ profile }) => `profile ${profile} is the current one\n`,
});
