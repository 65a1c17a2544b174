import { defineCommand } from '../../command.ts';
import { profileOf, updateConfig } from '../../config/config-file.ts';
import { removeKey } from '../../config/keys.ts';
import { usage } from '../../errors.ts';

/** `gw profile remove NAME`: removes a profile and its stored key; jobs stay in the ledger. */
export const remove = defineCommand<Record<string, never>, { profile: string }>({
  args: { name: 'NAME', summary: 'a name from gw profile list', required: true, completes: 'profile' },
  flags: {},
  examples: ['gw profile remove studio'],
  sends: 'nothing',
  async run({ args: [name = ''] }, ctx) {
    await updateConfig(ctx.host, ({ current, ...config }) => {
      if (!profileOf(config, name)) throw usage(`there is no profile ${name}`, 'gw profile list shows them');
      const { [name]: _, ...profiles } = config.profiles;
      return { ...config, ...(current !== undefined && current !== name && { current }), profiles };
    });
    await removeKey(ctx.host, name);
    return { value: { profile: name } };
  },
  human: ({ profile }) => `profile ${profile} is removed\n`,
});
