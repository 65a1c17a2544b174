import { defineCommand } from '../command.ts';
import { originOf, parseBaseUrl } from '../config/base-url.ts';
import { updateConfig, withProfile, withSetting } from '../config/change-config.ts';
import { profileOf, readConfig, storedSetting } from '../config/config-file.ts';
import { keyOrigin, removeKey } from '../config/keys.ts';
import { defaultProfile, parseStoredProfileName, sandboxProfile } from '../config/profile-name.ts';
import { profileInForce } from '../config/settings.ts';
import { usage } from '../errors.ts';
import { text, withValue } from '../flags/flag.ts';
import { accountTypes } from '../gateway/limits.ts';
import { columnsOf } from '../io/layout.ts';

const flags = { account: text('TYPE', 'account type, for its limits', { choices: accountTypes }) } as const;

/** `gw profile add NAME --base-url URL` stores a gateway; `gw login --profile NAME` adds its API key. */
export const add = defineCommand<typeof flags, { profile: string; base_url: string }>({
  args: { name: 'NAME', summary: 'a-z, 0-9, dots, dashes, underscores', required: true },
  flags,
  examples: ['gw profile add studio --base-url https://gateway.example.com --account enterprise'],
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
      const made = withSetting({ base_url: baseUrl }, 'account', flags.account, ctx.host);
      return withProfile(config, profile, made);
    });
    return { value: { profile, base_url: baseUrl } };
  },
  human: ({ profile, base_url }) =>
    `profile ${profile}: ${base_url}; store its key with: gw login --profile ${profile}\n`,
});

interface ProfileRow {
  readonly name: string;
  readonly current: boolean;
  readonly base_url: string | null;
  readonly account: string | null;
  readonly has_key: boolean;
}

/** `gw profile list` prints the stored gateways and the built-in one. */
export const list = defineCommand<Record<string, never>, ProfileRow[]>({
  examples: ['gw profile list'],
  async run(_, ctx) {
    const current = profileInForce(ctx.globals, ctx.host);
    const stored = Object.entries(readConfig(ctx.host).profiles).map(([name, profile]) => {
      const baseUrl = storedSetting(profile, 'base_url');
      const hasKey = () => baseUrl !== undefined && keyOrigin(ctx.host, name) === originOf(baseUrl);
      return {
        name,
        current: name === current,
        base_url: baseUrl ?? null,
        account: storedSetting(profile, 'account') ?? null,
        has_key: storedSetting(profile, 'key_command') !== undefined || hasKey(),
      };
    });
    const isUsed = current === sandboxProfile;
    const builtIn = { name: sandboxProfile, current: isUsed, base_url: null, account: null, has_key: true };
    return { value: [...stored, builtIn] };
  },
  human: (rows) => ({
    columns: columnsOf(['name'], ['current', 'gateway', 'account', 'key']),
    rows: rows.map((row) => ({
      id: row.name,
      cells: [
        row.name,
        row.current ? 'yes' : '-',
        row.base_url ?? (row.name === sandboxProfile ? 'built in' : '-'),
        row.account ?? '-',
        row.has_key ? 'yes' : 'none',
      ],
    })),
  }),
});

/** `gw profile remove NAME` removes a profile and its API key; its jobs stay in the ledger. */
export const remove = defineCommand<Record<string, never>, { profile: string }>({
  args: { name: 'NAME', summary: 'a name from gw profile list', required: true, completes: 'profile' },
  examples: ['gw profile add old --base-url https://gateway.example.com && gw profile remove old'],
  async run({ args: [name = ''] }, ctx) {
    await updateConfig(ctx.host, ({ current, ...config }) => {
      if (name === sandboxProfile) parseStoredProfileName(name, 'profile');
      if (!profileOf(config, name))
        throw usage(withValue('there is no profile', name), 'gw profile list shows them');
      const { [name]: _, ...profiles } = config.profiles;
      return { ...config, ...(current !== undefined && current !== name && { current }), profiles };
    });
    await removeKey(ctx.host, name);
    return { value: { profile: name } };
  },
  human: ({ profile }) => `profile ${profile} is removed\n`,
});

/** `gw profile use NAME` makes a profile the current one. */
export const use = defineCommand<Record<string, never>, { profile: string }>({
  args: { name: 'NAME', summary: 'a name from gw profile list', required: true, completes: 'profile' },
  examples: ['gw profile use sandbox'],
  async run({ args: [name = ''] }, ctx) {
    await updateConfig(ctx.host, (config) => {
      if (name !== sandboxProfile && name !== defaultProfile && !profileOf(config, name))
        throw usage(
          withValue('there is no profile', name),
          'gw profile list shows them; gw profile add makes one',
        );
      return { ...config, current: name };
    });
    return { value: { profile: name } };
  },
  human: ({ profile }) => `profile ${profile} is the current one\n`,
});
