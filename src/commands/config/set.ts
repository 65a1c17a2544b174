import { defineCommand, type Node } from '../../command.ts';
import { DEFAULTS, settingNames } from '../../config/table.ts';
import { usage } from '../../errors.ts';
import { program } from '../../program.ts';
import { type ChangedSetting, changeSetting } from './change-setting.ts';

/** `gw config set NAME VALUE`: changes one setting of the profile in force. */
export const set = defineCommand<Record<string, never>, ChangedSetting>({
  args: {
    name: 'NAME_AND_VALUE',
    summary: `one of ${settingNames.join(', ')}, and its value`,
    required: true,
    many: true,
    choices: settingNames,
  },
  flags: {},
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
  sends: 'nothing',
  async run({ args }, ctx) {
    const [name = '', value, ...more] = args;
    if (value === undefined || more.length > 0)
      throw usage('config set takes a name and one value', 'gw config set timeout 90s');
    if (name.startsWith(`${DEFAULTS}.`)) await checkOwnDefault(name, value);
    return { value: await changeSetting(name, value, ctx) };
  },
  human: ({ profile, name, value }) => `${name} = ${value} (profile ${profile})\n`,
});

/** `defaults.video.alpha.resolution`: the flag of a command. Throws `usage` where there is no such command or flag. */
async function checkOwnDefault(name: string, text: string): Promise<void> {
  const { checkDefault } = await import('../../presets.ts');
  const [, ...words] = name.split('.');
  const flag = words.pop();
  const path = words[0] === 'video' && words.at(-1) !== 'create' ? [...words, 'create'] : words;
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
