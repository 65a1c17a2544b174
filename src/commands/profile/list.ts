import { defineCommand } from '../../command.ts';
import { originOf } from '../../config/base-url.ts';
import { readConfig, storedSetting } from '../../config/config-file.ts';
import { keyOrigin } from '../../config/keys.ts';
import { sandboxProfile } from '../../config/profile-name.ts';

interface ProfileRow {
  readonly name: string;
  readonly current: boolean;
  readonly base_url: string | null;
  readonly account: string | null;
  readonly has_key: boolean;
}

/** `gw profile list`: the stored gateways, and the built-in one. */
export const list = defineCommand<Record<string, never>, ProfileRow[]>({
  flags: {},
  examples: ['gw profile list'],
  sends: 'nothing',
  async run(_, ctx) {
    const current = (await ctx.settings()).profile.value;
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
    const builtIn = {
      name: sandboxProfile,
      current: current === sandboxProfile,
      base_url: null,
      account: null,
      has_key: true,
    };
    return { value: [...stored, builtIn] };
  },
  human: (rows) => ({
    columns: [
      { name: 'name', whole: true },
      { name: 'current' },
      { name: 'gateway' },
      { name: 'account' },
      { name: 'key' },
    ],
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
