import { defineCommand } from '../command.ts';
import { checkKey } from '../config/api-key.ts';
import { originOf, parseBaseUrl } from '../config/base-url.ts';
import { updateConfig, withProfile, withSetting } from '../config/change-config.ts';
import { profileOf, readConfig } from '../config/config-file.ts';
import { readKeyFile, removeKey, runKeyCommand, storeKey } from '../config/keys.ts';
import { parseStoredProfileName } from '../config/profile-name.ts';
import type { Context } from '../context.ts';
import { GwError, usage } from '../errors.ts';
import { filled, on } from '../flags/flag.ts';
import { modelsList } from '../gateway/models.ts';

const flags = {
  withKey: on('read the key from stdin'),
  keyCommand: filled(
    'COMMAND',
    'store this command in place of a key: it prints the key each time one is needed',
  ),
} as const;

interface LoggedIn {
  readonly profile: string;
  readonly base_url: string;
  readonly models: number;
}

const loginExample =
  'gw sandbox serve --port 4010 --key demo & sleep 1; echo demo | gw login --profile demo --base-url http://127.0.0.1:4010 --with-key && kill $!';

/** `gw login` reads an API key without echo, checks it with `GET /v1/models`, and stores it for that gateway only. */
export const login = defineCommand<typeof flags, LoggedIn>({
  strayWord: 'the address goes into --base-url; the key is asked for, or read from stdin with --with-key',
  flags,
  examples: [loginExample],
  notes: [
    'The key is stored readable by this user only, and is sent to that address and to no other. ' +
      'With --key-command no key is stored: the shell runs the command when a key is needed, for at most 10 s, and the ' +
      'first line of its output is the key.',
  ],
  async run({ flags: { withKey, keyCommand }, globals }, ctx) {
    const settings = await ctx.settingsOfNewProfile();
    if (settings.sandbox) throw usage('the sandbox needs no login', 'use it with --sandbox');
    const ways = { '--with-key': withKey, '--key-command': keyCommand, '--api-key-file': globals.apiKeyFile };
    const [first, second] = Object.entries(ways).flatMap(([way, isGiven]) => (isGiven ? [way] : []));
    if (second) throw usage(`${first} and ${second} are two ways to give the key`, 'leave one of them out');
    const profile = parseStoredProfileName(settings.profile.value, '--profile');
    const baseUrl = settings.baseUrl.value ?? (await askAddress(ctx));
    const hint = 'name it: gw login --base-url URL --with-key < key.txt';
    if (baseUrl === undefined) throw new GwError('auth', 'no gateway is configured', { hint });
    const { base_url: before = baseUrl } = profileOf(readConfig(ctx.host), profile) ?? {};
    if (settings.baseUrl.source === 'environment' && before !== baseUrl)
      ctx.io.note(`profile ${profile} has ${before}; GW_BASE_URL puts ${baseUrl} in its place`);
    const key = withKey
      ? await readKeyFile('-', ctx.host, '--with-key')
      : keyCommand
        ? await runKeyCommand(keyCommand, { ...ctx.host, env: settings.childEnvironment() })
        : globals.apiKeyFile
          ? await settings.key()
          : await askKey(baseUrl, ctx);
    ctx.io.hideSecret(key);
    const { client } = await ctx.gatewayWith({ baseUrl, key });
    const reply = await client.send(modelsList, {}, { signal: ctx.signal });
    await updateConfig(ctx.host, (config) => {
      const before = { ...profileOf(config, profile), base_url: baseUrl };
      const made = withSetting(before, 'key_command', keyCommand, ctx.host);
      return withProfile({ ...config, current: config.current ?? profile }, profile, made);
    });
    if (keyCommand) await removeKey(ctx.host, profile);
    else await storeKey(ctx.host, profile, originOf(baseUrl), key);
    return { value: { profile, base_url: baseUrl, models: reply.value.data.length } };
  },
  human: ({ profile, base_url, models }) => `profile ${profile}: ${base_url}, ${models} models\n`,
});

async function askAddress({ host, globals }: Context): Promise<string | undefined> {
  if (!host.stdin.isTTY || !host.stderr.isTTY) return undefined;
  const { readTyped } = await import('../io/ask.ts');
  const question = 'Address of the gateway, such as https://gateway.example.com: ';
  const typed = await readTyped(host, question, { echo: true });
  if (typed.trim() === '') return undefined;
  return parseBaseUrl(typed.trim(), 'the address', { insecureHttp: globals.insecureHttp ?? false });
}

async function askKey(baseUrl: string, { host }: Context): Promise<string> {
  if (!host.stdin.isTTY || !host.stderr.isTTY)
    throw usage(
      'login asks for the key on a terminal, and this is none',
      'pipe it in: gw login --with-key < key.txt',
    );
  const { readTyped } = await import('../io/ask.ts');
  return checkKey(await readTyped(host, `API key for ${originOf(baseUrl)}: `, { echo: false }), 'the input');
}

/** `gw logout` deletes the stored API key of a profile; its settings stay. */
export const logout = defineCommand<Record<string, never>, { profile: string }>({
  examples: [loginExample, 'gw logout --profile demo'],
  async run(_, ctx) {
    const settings = await ctx.settings();
    const profile = settings.profile.value;
    if (await removeKey(ctx.host, profile)) return { value: { profile } };
    const hasCommand = settings.rows.some(({ name, value }) => name === 'key_command' && value !== undefined);
    const hint = hasCommand
      ? `end its key command with: gw config unset key_command --profile ${profile}`
      : 'gw profile list shows the profiles, and which of them have a key';
    throw new GwError('not_found', `no key is stored for profile ${profile}`, { hint });
  },
  human: ({ profile }) => `the key of profile ${profile} is forgotten\n`,
});
