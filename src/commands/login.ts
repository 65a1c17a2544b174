import { defineCommand } from '../command.ts';
import { originOf } from '../config/base-url.ts';
import { checkKey } from '../config/check-key.ts';
import { profileOf, updateConfig } from '../config/config-file.ts';
import { readKeyFile } from '../config/key-file.ts';
import { storeKey } from '../config/keys.ts';
import { parseStoredProfileName } from '../config/profile-name.ts';
import type { Context } from '../context.ts';
import { usage } from '../errors.ts';
import { on } from '../flags/flag.ts';
import { modelsList } from '../gateway/models.ts';

const flags = { withKey: on('read the key from stdin') } as const;

interface LoggedIn {
  readonly profile: string;
  readonly base_url: string;
  readonly models: number;
}

/** `gw login`: reads a key without echo, checks it with `GET /v1/models`, and stores it for that gateway only. */
export const login = defineCommand<typeof flags, LoggedIn>({
  flags,
  examples: [
    'gw sandbox serve --port 4010 --key demo & sleep 1; echo demo | gw login --profile demo --base-url http://127.0.0.1:4010 --with-key && kill $!',
  ],
  notes: ['The key is stored readable by this user only, and is sent to that address and to no other.'],
  sends: 'nothing',
  async run({ flags, globals }, ctx) {
    const settings = await ctx.settingsOfNewProfile();
    if (settings.sandbox) throw usage('the sandbox needs no login', 'use it with --sandbox');
    const profile = parseStoredProfileName(settings.profile.value, '--profile');
    const baseUrl = settings.gatewayUrl();
    const key = flags.withKey
      ? await readKeyFile('-', ctx.host)
      : globals.apiKeyFile
        ? await settings.key()
        : await askKey(baseUrl, ctx);
    ctx.io.hideSecret(key);
    const { client } = await ctx.gatewayWith({ baseUrl, key });
    const reply = await client.send(modelsList, {}, { signal: ctx.signal });
    await updateConfig(ctx.host, (config) => ({
      ...config,
      current: config.current ?? profile,
      profiles: { ...config.profiles, [profile]: { ...profileOf(config, profile), base_url: baseUrl } },
    }));
    await storeKey(ctx.host, profile, originOf(baseUrl), key);
    return { value: { profile, base_url: baseUrl, models: reply.value.data.length } };
  },
  human: ({ profile, base_url, models }) => `profile ${profile}: ${base_url}, ${models} models\n`,
});

async function askKey(baseUrl: string, { host }: Context): Promise<string> {
  if (!host.stdin.isTTY || !host.stderr.isTTY) {
    throw usage(
      'login asks for the key on a terminal, and this is none',
      'pipe it in: gw login --with-key < key.txt',
    );
  }
  const { readSecret } = await import('../io/read-secret.ts');
  return checkKey(await readSecret(host, `API key for ${originOf(baseUrl)}: `), 'the key');
}
