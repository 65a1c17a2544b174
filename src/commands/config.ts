import { resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { defineCommand, type Node } from '../command.ts';
import { updateConfig, withProfile, withSetting } from '../config/change-config.ts';
import { configFilePath, profileOf } from '../config/config-file.ts';
import { stateDir } from '../config/dirs.ts';
import { parseStoredProfileName } from '../config/profile-name.ts';
import { profileInForce, type SettingRow } from '../config/settings.ts';
import { DEFAULTS, settingNames } from '../config/table.ts';
import { type Context, commandFor } from '../context.ts';
import { GwError, usage } from '../errors.ts';
import { nearest } from '../flags/nearest.ts';
import type { Host } from '../host.ts';
import { columnsOf } from '../io/layout.ts';
import { program } from '../program.ts';

const nameArg = {
  name: 'NAME',
  summary: `one of ${settingNames.join(', ')}`,
  required: true,
  choices: settingNames,
  completes: 'setting',
} as const;

/** `gw config get NAME` prints one current setting, as `gw config list` shows it. */
export const get = defineCommand<Record<string, never>, SettingRow>({
  args: { ...nameArg, summary: 'a name from gw config list' },
  examples: ['gw config get timeout', 'gw config get models.alpha'],
  async run({ args: [name = ''] }, ctx) {
    const { rows } = await ctx.settings();
    const row = rows.find((candidate) => candidate.name === name);
    if (!row && !name.startsWith(`${DEFAULTS}.`))
      throw usage(`there is no setting ${JSON.stringify(name)}`, hintOfUnknown(name));
    if (row?.value !== undefined) return { value: row };
    const hint = `set it with: ${commandFor(name === 'key' ? 'gw login' : `gw config set ${name} VALUE`, ctx)}`;
    throw new GwError('not_found', `${name} is not set`, { hint });
  },
  human: ({ value }) => `${textOf(value)}\n`,
});

/** What to do about a name that is no setting. */
function hintOfUnknown(name: string): string {
  const [near] = nearest(name, settingNames);
  if (name === 'key') return 'gw login stores the API key';
  return near ? `did you mean ${near}?` : 'gw config list shows them all';
}

const textOf = (value: SettingRow['value']): string =>
  String(typeof value === 'boolean' ? (value ? 'on' : 'off') : (value ?? '-'));

export const list = defineCommand<Record<string, never>, SettingRow[]>({
  examples: ['gw config list', 'gw config list --json'],
  run: async (_, ctx) => ({ value: [...(await ctx.settings()).rows] }),
  human: (rows) => ({
    columns: columnsOf(['name'], ['value', 'source']),
    rows: rows.map(({ name, value, source }) => ({ id: name, cells: [name, textOf(value), source] })),
  }),
});

/** `gw config set NAME VALUE` changes one setting of the current profile. */
export const set = defineCommand<Record<string, never>, ChangedSetting>({
  args: { ...nameArg, name: 'NAME_AND_VALUE', summary: `${nameArg.summary}, and its value`, many: true },
  examples: [
    'gw config set timeout 90s',
    'gw config set budget.jobs 100/day',
    "gw config set budget.amount '50 CNY/day'",
    'gw config set models.alpha alpha-video-2-0-fast-260128',
    'gw config set defaults.video.alpha.resolution 720p',
  ],
  notes: [
    'defaults.COMMAND.FLAG is the value of a flag of that command where it is not typed; for video the command is create ' +
      '(defaults.video.alpha.resolution). It is checked by the flag of the command.',
    'prices is a JSON or YAML file of what models cost: img-2: {per_image: 0.2, currency: CNY}; for video per_second, a number ' +
      'or {720p: 0.12}, or per_million_tokens. Estimates and budget.amount go by it until the gateway bills.',
  ],
  async run({ args }, ctx) {
    const [name = '', value, ...more] = args;
    if (value === undefined || more.length > 0)
      throw usage('config set takes a name and one value', 'gw config set timeout 90s');
    if (name.startsWith(`${DEFAULTS}.`)) await checkOwnDefault(name, value);
    if (/^defaults\..*\.exec$/.test(name))
      ctx.io.note(`${name} holds for no row of a batch; the setting after_save holds for rows too`);
    const changed = await changeSetting(name, value, ctx);
    // A fault is only a warning here, because the file may be written later.
    await fileReaders[name]?.(value, ctx.host).catch(({ message }) => ctx.io.warn(message));
    return { value: changed };
  },
  human: ({ profile, name, value }) => `${name} = ${value} (profile ${profile})\n`,
});

/** Reads the file that a setting names; throws GwError if the next command could not use it. */
const fileReaders: Readonly<Record<string, (file: string, host: Host) => Promise<unknown>>> = {
  prices: async (file, { cwd }) => (await import('../jobs/price-file.ts')).readPriceFile(resolve(cwd, file)),
  cacert: async (value, host) =>
    (await import('../config/certificates.ts')).readCertificates(
      { cacert: { value, source: 'profile' } },
      host,
    ),
};

/** Checks a default such as `defaults.video.alpha.resolution`. Throws `usage` for an unknown command or flag. */
async function checkOwnDefault(name: string, text: string): Promise<void> {
  const { checkDefault } = await import('../presets.ts');
  const [, ...words] = name.split('.');
  const flag = words.pop();
  const path = words[0] === 'video' ? [...words, 'create'] : words;
  let node: Node | undefined = program;
  for (const word of path) node = node?.children?.find((child) => child.name === word);
  const command = path.length > 0 ? await node?.load?.() : undefined;
  if (flag === undefined || command === undefined || command.sends !== 'body')
    throw usage(
      `${name}: no command that has defaults`,
      'write defaults.COMMAND.FLAG, such as defaults.video.alpha.resolution or defaults.image.create.quality',
    );
  checkDefault(name, text, { path, command });
}

/** `gw config unset NAME` removes one setting from the current profile. */
export const unset = defineCommand<Record<string, never>, ChangedSetting>({
  args: nameArg,
  examples: ['gw config unset timeout'],
  run: async ({ args: [name = ''] }, ctx) => ({ value: await changeSetting(name, undefined, ctx) }),
  human: ({ profile, name }) => `${name} is not set any more (profile ${profile})\n`,
});

/** `gw config path` prints the path of the configuration file, with --json the state directory too. */
export const path = defineCommand<Record<string, never>, { config: string; state: string }>({
  examples: ['gw config path', 'gw config path --json'],
  run: async (_, ctx) => ({ value: { config: configFilePath(ctx.host), state: stateDir(ctx.host) } }),
  human: ({ config }) => `${config}\n`,
});

interface ChangedSetting {
  readonly profile: string;
  readonly name: string;
  readonly value: string | null;
}

async function changeSetting(name: string, text: string | undefined, ctx: Context): Promise<ChangedSetting> {
  const { globals, host, io } = ctx;
  // The settings are not resolved here, because an invalid stored value must not block its correction.
  const profile = parseStoredProfileName(profileInForce(globals, host), 'profile');
  await updateConfig(host, (config) => {
    const before = profileOf(config, profile) ?? {};
    const world = { ...globals, cwd: host.cwd, hint: hintOfUnknown(name) };
    const after = withSetting(before, name, text, world);
    if (text === undefined && isDeepStrictEqual(after, before)) io.note(`${name} was not set before`);
    return withProfile(config, profile, after);
  });
  return { profile, name, value: text ?? null };
}
