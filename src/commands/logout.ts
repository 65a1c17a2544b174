import { defineCommand } from '../command.ts';
import { removeKey } from '../config/keys.ts';
import { GwError } from '../errors.ts';

/** `gw logout`: forgets the stored key of a profile; its settings stay. */
export const logout = defineCommand<Record<string, never>, { profile: string }>({
  flags: {},
  examples: ['gw logout --profile demo'],
  sends: 'nothing',
  async run(_, ctx) {
    const profile = (await ctx.settings()).profile.value;
    if (!(await removeKey(ctx.host, profile))) {
      throw new GwError('not_found', `no key is stored for profile ${profile}`, {
        hint: 'gw profile list shows the profiles',
      });
    }
    return { value: { profile } };
  },
  human: ({ profile }) => `the key of profile ${profile} is forgotten\n`,
});
