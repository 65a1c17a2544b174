import { defineCommand } from '../../command.ts';
import { parseBaseUrl } from '../../config/base-url.ts';
import { profileOf, updateConfig, withSetting } from '../../config/config-file.ts';
import { parseStoredProfileName } from '../../config/profile-name.ts';
import { usage } from '../../errors.ts';
import { text } from '../../flags/flag.ts';
import { accountTypes } from '../../gateway/limits.ts';

const flags = { account: text('TYPE', 'account type, for its limits', { choices: accountTypes }) } as const;

/** `gw profile add NAME --base-url URL`: stores a gateway; its key comes with `gw login --profile NAME`. */
export const add = defineCommand<typeof flags, { profile: string; base_url: string }>({
  args: { name: 'NAME', summary: 'letters, digits, dots, dashes', required: true },
  flags,
  examples: ['gw profile add studio --base-url https://gateway.example.com --account enterprise'],
  sends: 'nothing',
  async run({ args: [name = ''], flags, globals }, ctx) {
    const profile = parseStoredProfileName(name, 'profile');
    if (globals.baseUrl === undefined)
      throw usage('profile add needs --base-url URL', "give the gateway's address");
    const baseUrl = parseBaseUrl(globals.baseUrl, '--base-url', {
      insecureHttp: globals.insecureHttp ?? false,
    });
    await updateConfig(ctx.host, (config) => {
      if (profileOf(config, profile))
        throw usage(
          `profile ${profile} is there already`,
          `change it with: gw config set NAME VALUE --profile ${profile}`,
        );
      const made = { base_url: baseUrl };
      return {
        ...config,
        profiles: {
          ...config.profiles,
          [profile]:
            flags.account === undefined ? made : withSetting(made, 'account', flags.account, ctx.host.cwd),
        },
      };
    });
    return { value: { profile, base_url: baseUrl } };
  },
  human: ({ profile, base_url }) =>
    `profile ${profile}: ${base_url}; store its key with: gw login --profile ${profile}\n`,
});
