import { profileOf, updateConfig, withSetting } from '../../config/config-file.ts';
import { parseStoredProfileName } from '../../config/profile-name.ts';
import type { Context } from '../../context.ts';

export interface ChangedSetting {
  readonly profile: string;
  readonly name: string;
  readonly value: string | null;
}

/** Sets one setting of the profile in force, or takes it out where there is no text. */
export async function changeSetting(
  name: string,
  text: string | undefined,
  ctx: Context,
): Promise<ChangedSetting> {
  const profile = parseStoredProfileName((await ctx.settings()).profile.value, 'profile');
  await updateConfig(ctx.host, (config) => ({
    ...config,
    profiles: {
      ...config.profiles,
      [profile]: withSetting(profileOf(config, profile) ?? {}, name, text, ctx.host.cwd),
    },
  }));
  return { profile, name, value: text ?? null };
}
